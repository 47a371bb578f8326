"""Whether a fixed base is mounted as described: an arm on a wall, under a ceiling, on a slanted table."""

from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.cause import CauseKind
from inertial_estimation.bring_up.cause_words import (
    check_of,
    remedy_of,
    sentence_of,
    tilt_of,
    value_of,
)
from inertial_estimation.bring_up.finding import Finding, finding
from inertial_estimation.bring_up.force_rows import force_rows
from inertial_estimation.bring_up.inertia_findings import CERTAIN, possible
from inertial_estimation.bring_up.inertia_hypotheses import fit_forces
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.models.geometry_slopes import GravityTorques
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

EXPLAINS = 0.5  # of what the torques leave unexplained, at least
AHEAD = 1.1  # times the evidence of every other cause, a wrong sign of all efforts among them
WRONG = 5.0  # smaller tilts [deg] are compared with masses, as they do not mislead the checks of efforts


def base_mounting_findings(case: Case) -> list[Finding]:
    """Look for a gravity that points elsewhere in a fixed base, before the efforts are judged.

    Args:
        case: The recording, with correct positions.

    Returns:
        The finding, mended by the torques of the other gravity; nothing where the base is as described, or
        where a sign or a scale of the efforts explains them as well.
    """
    robot = case.setup.robot
    rows = None if robot.floating_base else force_rows(case.signals, case.setup)
    if rows is None:
        return []
    fit = fit_forces(rows, robot)
    mounting = next(cause for cause in fit.causes if cause.kind is CauseKind.MOUNTING)
    others = max(cause.evidence for cause in fit.causes if cause is not mounting)
    if not possible(mounting, fit) or mounting.evidence < max(CERTAIN, AHEAD * others):
        return []
    angle, _gravity = tilt_of(mounting)
    if angle < WRONG or mounting.explained < EXPLAINS:
        return []
    share = 100 * mounting.explained
    said = f"{sentence_of(mounting, rows)} explains {share:.0f} % of what the torques leave unexplained"
    mend = partial(_upright, robot=robot, change=mounting.amplitude)
    check, value, remedy = check_of(mounting), value_of(mounting), remedy_of(mounting)
    return [finding(*check, Verdict.WRONG, *value, said, remedy, mend=mend)]


def _upright(streams: RobotStreams, robot: RobotModel, change: Array) -> RobotStreams:
    """Take the torques of a change of gravity [m/s^2] from the efforts."""
    n, columns = streams.n_joints, GravityTorques(robot)
    values = streams.joints.values.copy()
    known = np.flatnonzero(np.isfinite(values[:, :n]).all(axis=1))
    for i in known.tolist():
        values[i, 2 * n :] -= columns.at(values[i, :n]) @ change
    return streams.with_joints(values)
