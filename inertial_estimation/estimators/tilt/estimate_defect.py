"""Check of a base estimate before it is published."""

import math

from inertial_estimation.signals import BaseEstimate

__all__ = ["estimate_defect"]

UNIT_TOLERANCE = 1e-9  # of the squared norms of quaternion and tilt
FASTEST = 100.0  # speed of the base beyond which an estimate is not plausible [m/s]
FASTEST_TURN = 100.0  # its angular rate, likewise [rad/s]


def estimate_defect(estimate: BaseEstimate) -> str:
    """Name what is not finite or physically inconsistent in an estimate.

    Args:
        estimate: The estimate of one step.

    Returns:
        A description; empty for a sound estimate.
    """
    state = estimate.state
    q, up, p, v, w = state.quaternion_xyzw, estimate.tilt_B, state.p_WB, state.v_WB_B, state.w_WB_B
    bias = estimate.gyro_bias_I
    if not math.isfinite(float(p.dot(p) + bias.dot(bias))):
        return "position or gyroscope bias of the base estimate is not finite"
    # A comparison with a value that is not finite fails, so each of these also detects NaN.
    if not abs(float(q.dot(q)) - 1.0) <= UNIT_TOLERANCE or not abs(float(up.dot(up)) - 1.0) <= UNIT_TOLERANCE:
        return "the orientation of the base is not of unit norm"
    if not float(v.dot(v)) <= FASTEST * FASTEST:
        return f"the base moves faster than {FASTEST:g} m/s"
    if not float(w.dot(w)) <= FASTEST_TURN * FASTEST_TURN:
        return f"the base turns faster than {FASTEST_TURN:g} rad/s"
    if not all(0.0 < variance < math.inf for variance in (*estimate.gyro_bias_variances, *_minors(estimate))):
        return "the covariance of the orientation is not positive definite"
    return ""


def _minors(estimate: BaseEstimate) -> tuple[float, float, float]:
    """Leading principal minors of the covariance of the orientation (Sylvester's criterion)."""
    (a, b, c), (_, d, e), (_, _, f) = estimate.tilt_covariance_B.tolist()
    second = a * d - b * b
    return a, second, f * second - a * e * e + 2.0 * b * c * e - d * c * c
