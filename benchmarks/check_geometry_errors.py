"""Errors of geometry and zeros that are injected to judge `check`: mountings, offsets, constant efforts.

As in `benchmarks.check_errors`; drawn are joints and sensors of which the clean part determines the error.
"""

import numpy as np

from benchmarks.check_errors import Error, Part, Prepare
from inertial_estimation.bring_up.cause import Cause, CauseKind
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.models.geometry_slopes import GravityTorques
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3

OFFSET, IMU = np.radians([4.0, 9.0]), np.radians([5.0, 10.0])  # least and largest
TILT = np.radians([6.0, 180.0])
ZERO = np.array([0.08, 0.2])  # shares of the joint's effort limit
TOLD = 8.0  # standard deviations of the least error, in the clean part


def kinds_of_geometry() -> dict[str, Prepare]:
    """Return the kinds of error by name."""
    return {
        "position offset, 4 to 9 deg": _offset,
        "IMU tilted by 5 to 10 deg": _tilted,
        "effort zero, 8 to 20 % of the limit": _zero,
        "arm mounted otherwise, 6 to 180 deg": _mounted,
    }


def _told(part: Part, kind: CauseKind, least: float) -> list[Cause]:
    """Return the causes of a kind that are determined well enough for the least error to be seen."""
    report = part.clean.inertia
    if report is None or not report.holds or any(r.failed for r in part.clean.results):
        return []
    return [c for c in report.fit.causes if c.kind is kind and TOLD * c.sigma < least]


def _offset(part: Part, rng: np.random.Generator) -> Error | None:
    causes = _told(part, CauseKind.OFFSET, OFFSET[0])
    if not causes:
        return None
    name = str(rng.choice(sorted(cause.subject for cause in causes)))
    j = part.clean.case.robot.names.index(name)
    return Error(
        _plus(part, j, rng.uniform(*OFFSET) * rng.choice((-1.0, 1.0))), part.urdf, ("joint offset",), (name,)
    )


def _tilted(part: Part, rng: np.random.Generator) -> Error | None:
    if not _told(part, CauseKind.IMU, IMU[0]):
        return None
    axis = rng.normal(size=3)
    R = exp_so3(rng.uniform(*IMU) * axis / np.linalg.norm(axis))
    checks = ("IMU mounting", "accelerometer direction")
    return Error(part.streams.turned_imu(R, R), part.urdf, checks, ("imu/data",))


def _zero(part: Part, rng: np.random.Generator) -> Error | None:
    robot = part.clean.case.robot
    limits = dict(zip(robot.names, robot.effort.tolist(), strict=True))
    causes = _told(part, CauseKind.ZERO, np.inf)
    names = sorted(c.subject for c in causes if TOLD * c.sigma < ZERO[0] * limits[c.subject] < np.inf)
    if not names:
        return None
    name = str(rng.choice(names))
    zero = rng.uniform(*ZERO) * limits[name] * rng.choice((-1.0, 1.0))
    column = 2 * part.streams.n_joints + robot.names.index(name)
    return Error(_plus(part, column, zero), part.urdf, ("effort zero",), (name,))


def _mounted(part: Part, rng: np.random.Generator) -> Error | None:
    """Add the torques by which the gravity of a tilted base differs."""
    if not _told(part, CauseKind.MOUNTING, STANDARD_GRAVITY * TILT[0]):
        return None
    heading = rng.uniform(0.0, 2.0 * np.pi)
    axis = np.array([np.cos(heading), np.sin(heading), 0.0])
    described = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    change = exp_so3(rng.uniform(*TILT) * axis) @ described - described
    values, n = part.streams.joints.values.copy(), part.streams.n_joints
    columns = GravityTorques(part.clean.case.setup.robot)
    for i in np.flatnonzero(np.isfinite(values[:, :n]).all(axis=1)).tolist():
        values[i, 2 * n :] += columns.at(values[i, :n]) @ change
    return Error(part.streams.with_joints(values), part.urdf, ("base mounting",), ("description",))


def _plus(part: Part, column: int, constant: float) -> RobotStreams:
    values: Array = part.streams.joints.values.copy()
    values[:, column] += constant
    return part.streams.with_joints(values)
