"""Columns and priors of all causes, and of what acts in any case: friction, zeros, tolerances."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inertial_estimation.bring_up.cause import CauseKind
from inertial_estimation.bring_up.force_rows import FRICTION, ForceRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

MASS_PRIOR = 0.5  # standard deviation of a wrong mass, of the link's mass
MASS_FLOOR = 0.02  # the same, at least this share of the robot's mass
MASS_TOLERANCE, COM_TOLERANCE = 0.03, 0.003  # of every mass, relative, and of every centre of mass [m]
LEAST_MASS = 0.002  # share of the robot's mass that a link has at least, for its tolerance
COM_PRIOR = 0.05  # of a wrong centre of mass, at the wrong mass's size [m]
OF_LINK, OF_ROBOT = 0.1, 0.01  # shares of the masses from which a change matters
WRONG_LINK, WRONG_ROBOT = 0.3, 0.05  # from which it is wrong, no tolerance of manufacture
SCALE_PRIOR, SCALE_TOLERANCE = 0.3, 0.03  # of the scale of a sensor that is wrong, and of each that is not
OF_SCALE, WRONG_SCALE = 0.05, 0.3
EFFORT_ZERO, OF_ZERO, WRONG_ZERO = 0.1, 0.03, 0.1  # of an effort, shares of the joint's effort limit
DIRECTION_PRIOR, DIRECTION_TOLERANCE = 0.1, 0.005  # of an IMU [rad]
OF_DIRECTION, WRONG_DIRECTION = 0.03, 0.07
GRAVITY_PRIOR, GRAVITY_TOLERANCE = 5.0, 0.05  # of a mounting [m/s^2]
OF_GRAVITY, WRONG_GRAVITY = 0.03 * 9.81, 0.07 * 9.81
OFFSET_PRIOR, OF_OFFSET, WRONG_OFFSET = 0.1, 0.02, 0.1  # of a joint position [rad]
STICTION = 0.04  # of friction terms, share of the joint's effort limit
STICTION_UNLIMITED = 0.1  # without a limit, share of the largest measured torque
MOVES, WHILE_MOVING = 0.05, 0.25  # speed [rad/s] from which stiction is no constant, and what is left of it
ARMATURE_PRIOR = 0.5  # of a rotor inertia: its torque at the prior over that of friction
ZERO_SHARE = 0.02  # of a sensor's zero, share of the weight
LEVER = 0.1  # of its moments [m]


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of one cause.

    Attributes:
        kind: What it is.
        subject: Link, contact or joint; "all" for all of them.
        columns: Which of the columns of all causes are its own.
        prior: Standard deviations of its amplitudes where it is the cause.
        tolerance: The same of the error that every description has; None: it has none.
        matters: Size from which it matters.
        wrong: Size from which it is wrong.
    """

    kind: CauseKind
    subject: str
    columns: slice
    prior: Array
    tolerance: Array | None
    matters: float
    wrong: float


@dataclass(frozen=True, eq=False)
class _Part:
    kind: CauseKind
    subject: str
    columns: Array
    prior: Array
    tolerance: Array | None
    bounds: tuple[float, float]


def nuisance_columns(rows: ForceRows, robot: RobotModel) -> tuple[Array, Array]:
    """Return columns of friction and sensor zeros with the standard deviations of their priors.

    Args:
        rows: The rows, N of m each.
        robot: The robot, for its mass and effort limits.

    Returns:
        Columns, shape (N, m, c), and deviations, shape (c,).
    """
    N, m = rows.left.shape
    friction = rows.friction.reshape(N, m, -1)
    rms = np.sqrt(np.mean(rows.friction**2, axis=(0, 1))) * math.sqrt(m)
    prior = _stiction(rows, robot)[:, None] / np.maximum(rms, [1.0, 1.0, 0.05, 0.2])
    prior[:, 0] *= np.maximum(_at_rest(rows), WHILE_MOVING)
    prior[:, 3] *= ARMATURE_PRIOR
    weight = 9.81 * robot.total_mass * ZERO_SHARE
    zeros = np.tile([weight] * 3 + [weight * LEVER] * 3, rows.zeros.shape[2] // 6)
    return np.concatenate((friction, rows.zeros), axis=2), np.concatenate((prior.ravel(), zeros))


def cause_columns(rows: ForceRows, robot: RobotModel) -> tuple[Array, list[Block]]:
    """Return the columns of all causes, shape (N, m, c), and what each of them is.

    Args:
        rows: The rows, N of m each.
        robot: The robot, for its effort limits.
    """
    N, m = rows.left.shape
    columns, blocks, first = [], [], 0
    for part in [*_masses(rows), *_sensors(rows, robot), *_geometry(rows)]:
        columns.append(part.columns.reshape(N, m, -1))
        own = slice(first, first + len(part.prior))
        blocks.append(Block(part.kind, part.subject, own, part.prior, part.tolerance, *part.bounds))
        first = own.stop
    return np.concatenate(columns, axis=2), blocks


def _masses(rows: ForceRows) -> Iterator[_Part]:
    total = float(rows.masses.sum())
    for i, link in enumerate(rows.links):
        described = float(rows.masses[i])
        mass = max(MASS_PRIOR * described, MASS_FLOOR * total)
        tolerance = max(described, LEAST_MASS * total) * np.array([MASS_TOLERANCE] + [COM_TOLERANCE] * 3)
        prior = np.array([mass] + [mass * COM_PRIOR] * 3)
        bounds = max(OF_LINK * described, OF_ROBOT * total), min(WRONG_LINK * described, WRONG_ROBOT * total)
        yield _Part(CauseKind.LINK, link, rows.loads[:, :, i], prior, tolerance, bounds)
    yield _scale(CauseKind.WHOLE, "all", rows.whole)


def _sensors(rows: ForceRows, robot: RobotModel) -> Iterator[_Part]:
    """Yield scales and zeros."""
    tolerance = np.array([SCALE_TOLERANCE])
    for i, contact in enumerate(rows.contacts):
        yield _scale(CauseKind.WRENCH, contact, rows.wrenches[:, :, i], tolerance)
    if len(rows.contacts) > 1:
        yield _scale(CauseKind.WRENCH, "all", rows.wrenches.sum(axis=2))
    limits = _stiction(rows, robot) / STICTION
    for i, joint in enumerate(rows.joints):
        yield _scale(CauseKind.EFFORT, joint, rows.gains[:, :, i], tolerance)
        bounds = OF_ZERO * limits[i], WRONG_ZERO * limits[i]
        prior = np.array([EFFORT_ZERO * limits[i]])
        yield _Part(CauseKind.ZERO, joint, rows.friction[:, :, i, :1], prior, None, bounds)
    if len(rows.joints) > 1:
        yield _scale(CauseKind.EFFORT, "all", rows.gains.sum(axis=2))


def _geometry(rows: ForceRows) -> Iterator[_Part]:
    if rows.gravity.shape[2]:
        prior, tolerance = np.full(3, GRAVITY_PRIOR), np.full(3, GRAVITY_TOLERANCE)
        bounds = OF_GRAVITY, WRONG_GRAVITY
        yield _Part(CauseKind.MOUNTING, "description", rows.gravity, prior, tolerance, bounds)
    first = rows.geometry.shape[2] - len(rows.turning)
    if first:
        prior, tolerance = np.full(3, DIRECTION_PRIOR), np.full(3, DIRECTION_TOLERANCE)
        bounds = OF_DIRECTION, WRONG_DIRECTION
        yield _Part(CauseKind.IMU, "imu/data", rows.geometry[:, :, :first], prior, tolerance, bounds)
    for j, joint in enumerate(rows.turning):
        column = rows.geometry[:, :, first + j]
        yield _Part(
            CauseKind.OFFSET, joint, column, np.array([OFFSET_PRIOR]), None, (OF_OFFSET, WRONG_OFFSET)
        )


def _scale(kind: CauseKind, subject: str, column: Array, tolerance: Array | None = None) -> _Part:
    return _Part(kind, subject, column, np.array([SCALE_PRIOR]), tolerance, (OF_SCALE, WRONG_SCALE))


def _stiction(rows: ForceRows, robot: RobotModel) -> Array:
    """Return the size of each measured joint's stiction [Nm], shape (j,)."""
    limits = dict(zip(robot.joint_names, np.array(robot.model.effortLimit[robot.n_base :]), strict=True))
    largest = float(np.abs(rows.gains).max(initial=1e-6))
    known = [limits[name] > 0.0 and math.isfinite(limits[name]) for name in rows.joints]
    return np.array(
        [
            STICTION * float(limits[name]) if limited else STICTION_UNLIMITED * largest
            for name, limited in zip(rows.joints, known, strict=True)
        ]
    )


def _at_rest(rows: ForceRows) -> Array:
    """Return the share of the rows in which each measured joint is slow, shape (j,)."""
    speed = np.abs(rows.friction[..., FRICTION - 2]).max(axis=1)
    share: Array = (speed < MOVES).mean(axis=0)
    return share
