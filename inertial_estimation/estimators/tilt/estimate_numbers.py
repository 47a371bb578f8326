"""The numbers of a base estimate: where they are written, and the check of them before it is published."""

import math

from inertial_estimation.compilation import Column, MutableColumn, Table, inlined
from inertial_estimation.estimators.tilt.contact_weighing import FORCE, PROBABILITY
from inertial_estimation.estimators.tilt.tilt_uncertainty import rotation_covariance
from inertial_estimation.spatial.rotations import unit_quaternion
from inertial_estimation.spatial.vectors import Matrix, Vector, store, store_matrix

# Numbers of an estimate: quaternion x y z w, position [m], velocity [m/s] and angular velocity [rad/s], the
# vertical, gyroscope bias [rad/s], innovation [m/s], covariance by rows [rad^2]; then single ones: the
# variances of the bias [rad^2/s^2], whether the step had a contact velocity, whether gravity corrected it,
# whether the robot is at rest, and vertical force [N] of every contact and its probability.
QUATERNION, P, V, W, UP, BIAS, INNOVATION, COVARIANCE, VARIANCES, FLAGS, CONTACTS = (
    *(0, 4, 7, 10, 13, 16, 19),
    *(22, 31, 33, 36),
)
SINGLE = VARIANCES
UNIT_TOLERANCE = 1e-9  # of the squared norms of quaternion and tilt
FASTEST = 100.0  # speed of the base beyond which an estimate is not plausible [m/s]
FASTEST_TURN = 100.0  # its angular rate, likewise [rad/s]
DEFECTS = (
    "",
    "position or gyroscope bias of the base estimate is not finite",
    "the orientation of the base is not of unit norm",
    f"the base moves faster than {FASTEST:g} m/s",
    f"the base turns faster than {FASTEST_TURN:g} rad/s",
    "the covariance of the orientation is not positive definite",
)


@inlined
def write_estimate(
    R_WB: Matrix,
    motion: tuple[Vector, Vector, Vector],
    x2_B: Vector,
    bias: Vector,
    innovation: Vector,
    variances: tuple[tuple[float, float], tuple[float, float]],
    flags: tuple[float, float, float],
    triggers: Table,
    out: MutableColumn,
) -> None:
    """Write the numbers of an estimate.

    Args:
        R_WB: Orientation of the base in the world.
        motion: Its position [m], and velocity [m/s] and angular velocity [rad/s] in its own frame.
        x2_B: The vertical in the base frame.
        bias: Of the gyroscope [rad/s].
        innovation: Of the velocity [m/s].
        variances: Of tilt and yaw [rad^2], and of the bias, across and along the vertical [rad^2/s^2].
        flags: 1 or 0: whether the step had a contact velocity, gravity corrected it, the robot is at rest.
        triggers: Those of `ContactVelocity`.
        out: Written, `CONTACTS` and two numbers for each contact.
    """
    out[0], out[1], out[2], out[3] = unit_quaternion(R_WB)
    store(out, P, motion[0])
    store(out, V, motion[1])
    store(out, W, motion[2])
    store(out, UP, x2_B)
    store(out, BIAS, bias)
    store(out, INNOVATION, innovation)
    (tilt, yaw), (out[VARIANCES], out[VARIANCES + 1]) = variances
    store(out, FLAGS, flags)
    store_matrix(out, COVARIANCE, rotation_covariance(tilt, yaw, x2_B))
    n = len(triggers)
    for i in range(n):
        out[CONTACTS + i], out[CONTACTS + n + i] = triggers[i][FORCE], triggers[i][PROBABILITY]


@inlined
def first_defect(numbers: Column) -> int:
    """Return the index among `DEFECTS` of what is first not finite or physically inconsistent in an estimate.

    Args:
        numbers: Those of the estimate.

    Returns:
        0 for a sound estimate.
    """
    if not math.isfinite(_square(numbers, P, V) + _square(numbers, BIAS, INNOVATION)):
        return 1
    # A comparison with a value that is not finite fails, so each of these also detects NaN.
    if not abs(_square(numbers, QUATERNION, P) - 1.0) <= UNIT_TOLERANCE:
        return 2
    if not abs(_square(numbers, UP, BIAS) - 1.0) <= UNIT_TOLERANCE:
        return 2
    if not _square(numbers, V, W) <= FASTEST * FASTEST:
        return 3
    if not _square(numbers, W, UP) <= FASTEST_TURN * FASTEST_TURN:
        return 4
    a, b, c = numbers[COVARIANCE], numbers[COVARIANCE + 1], numbers[COVARIANCE + 2]
    d, e, f = numbers[COVARIANCE + 4], numbers[COVARIANCE + 5], numbers[COVARIANCE + 8]
    second = a * d - b * b  # leading principal minors (Sylvester's criterion)
    third = f * second - a * e * e + 2.0 * b * c * e - d * c * c
    across, along = numbers[VARIANCES], numbers[VARIANCES + 1]
    least, largest = min(across, along), max(across, along)
    if not (0.0 < a < math.inf and 0.0 < second < math.inf and 0.0 < third < math.inf):
        return 5
    return 0 if least > 0.0 and largest < math.inf else 5


@inlined
def _square(numbers: Column, first: int, end: int) -> float:
    total = 0.0
    for i in range(first, end):
        total += numbers[i] * numbers[i]
    return total
