"""The minimum-jerk blend between two values at rest."""

from typing import TypeVar

from inertial_estimation.signals import Array

ShareT = TypeVar("ShareT", float, Array)


def minimum_jerk(u: ShareT) -> ShareT:
    """Return s(u) = 10 u^3 - 15 u^4 + 6 u^5, from 0 to 1 with zero first and second derivatives at both ends.

    Args:
        u: Share of the duration in [0, 1], a number or an array.

    Returns:
        Share of the way, of the same shape.
    """
    return u**3 * (10.0 - 15.0 * u + 6.0 * u * u)


def minimum_jerk_derivatives(u: ShareT) -> tuple[ShareT, ShareT, ShareT]:
    """Return s(u) of `minimum_jerk` with its first and second derivative with respect to u.

    Args:
        u: Share of the duration in [0, 1], a number or an array.

    Returns:
        s, ds/du and d2s/du2, each of the same shape.
    """
    return (
        minimum_jerk(u),
        30.0 * u * u * (1.0 - u) ** 2,
        60.0 * u * (1.0 - u) * (1.0 - 2.0 * u),
    )
