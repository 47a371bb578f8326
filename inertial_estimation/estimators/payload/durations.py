"""Comparison of a time summed over steps with a required duration."""

SUMMATION_TOLERANCE_S = 1e-6  # a sum of step lengths falls short of the exact duration by rounding


def has_lasted(elapsed: float, duration: float) -> bool:
    """Return whether a sum of steps has reached a duration, up to the rounding of the sum.

    Args:
        elapsed: Sum of the lengths of steps [s].
        duration: Duration to be reached [s].
    """
    return elapsed >= duration - SUMMATION_TOLERANCE_S
