"""Check of a base estimate before it is published."""

import math

from inertial_estimation.compilation import Column, Table, compiled, inlined, numbers
from inertial_estimation.signals import BaseEstimate

__all__ = ["estimate_defect"]

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


def estimate_defect(estimate: BaseEstimate) -> str:
    """Name what is not finite or physically inconsistent in an estimate.

    Args:
        estimate: The estimate of one step.

    Returns:
        A description; empty for a sound estimate.
    """
    state = estimate.state
    found = _first_defect(
        *(numbers(state.quaternion_xyzw), numbers(state.p_WB), numbers(state.v_WB_B), numbers(state.w_WB_B)),
        *(numbers(estimate.tilt_B), numbers(estimate.gyro_bias_I), numbers(estimate.tilt_covariance_B)),
        estimate.gyro_bias_variances,
    )
    return DEFECTS[found]


@compiled
def _first_defect(
    q: Column,
    p: Column,
    v: Column,
    w: Column,
    up: Column,
    bias: Column,
    covariance: Table,
    variances: tuple[float, float],
) -> int:
    """Return the index of the first defect among `DEFECTS`; 0 for a sound estimate."""
    if not math.isfinite(_square(p) + _square(bias)):
        return 1
    # A comparison with a value that is not finite fails, so each of these also detects NaN.
    if not abs(_square(q) - 1.0) <= UNIT_TOLERANCE or not abs(_square(up) - 1.0) <= UNIT_TOLERANCE:
        return 2
    if not _square(v) <= FASTEST * FASTEST:
        return 3
    if not _square(w) <= FASTEST_TURN * FASTEST_TURN:
        return 4
    a, b, c = covariance[0][0], covariance[0][1], covariance[0][2]
    d, e, f = covariance[1][1], covariance[1][2], covariance[2][2]
    second = a * d - b * b  # leading principal minors (Sylvester's criterion)
    third = f * second - a * e * e + 2.0 * b * c * e - d * c * c
    least, largest = min(variances[0], variances[1]), max(variances[0], variances[1])
    if not (0.0 < a < math.inf and 0.0 < second < math.inf and 0.0 < third < math.inf):
        return 5
    return 0 if least > 0.0 and largest < math.inf else 5


@inlined
def _square(values: Column) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i] * values[i]
    return total
