"""Bodies on which a load cannot be told apart while the robot is at rest, from its model alone."""

import numpy as np

from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

POSTURES = (0.35, 0.5, 0.62)  # of the range of every joint
SAME = 1e-6  # sine of the largest angle between two spans of columns that count as one
LENGTH = 0.15  # lever at which a first moment weighs as much as a mass [m]


def load_classes(
    robot: RobotModel, measurement: DynamicsMeasurement, candidates: CandidateColumns
) -> tuple[int, ...]:
    """Return the number of each body's class, that of the first body in it.

    Two bodies are in one class if their columns span the same directions of the measured rows in several
    postures at rest: every load on one of them looks like some load on the other. A vertical joint between
    them (base and torso) has that effect, or joints whose torque is not measured. In motion they may differ.

    Args:
        robot: The robot.
        measurement: The measured rows.
        candidates: The bodies.
    """
    spans: list[list[Array]] = [[] for _link in candidates.links]
    for share in POSTURES:
        loads = measurement.causes(candidates, _at_rest(robot, share)).loads
        for i, columns in enumerate(loads):
            spans[i].append(_span(columns * ([1.0] + 3 * [1.0 / LENGTH])))
    classes: list[int] = []
    for i, span in enumerate(spans):
        classes.append(next((j for j in range(i) if classes[j] == j and _same(spans[j], span)), i))
    return tuple(classes)


def _at_rest(robot: RobotModel, share: float) -> MeasuredState:
    limits = joint_limits(robot)
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    q, zero = lower + share * (upper - lower), np.zeros(robot.n_joints)
    base = (np.array([0.0, 0.0, STANDARD_GRAVITY]), np.zeros(3), np.zeros(3)) if robot.floating_base else ()
    return MeasuredState(q, zero, zero, None, *base)


def _span(columns: Array) -> Array:
    """Return an orthonormal basis of the columns, shape (m, rank)."""
    U, values, _V = linear_algebra.svd(columns, full_matrices=False)
    basis: Array = U[:, values > SAME * max(float(values[0]), 1e-12)]
    return basis


def _same(one: list[Array], other: list[Array]) -> bool:
    return all(
        a.shape == b.shape and float(np.abs(b - a @ (a.T @ b)).max(initial=0.0)) < SAME
        for a, b in zip(one, other, strict=True)
    )
