"""Whether the numbers that are reported of links are finite and those of real bodies, beyond round-off."""

import math

from inertial_estimation.compilation import Column, Table, compiled

BEYOND_ROUND_OFF = 1e-9  # principal minors of the second moments, over powers of their trace


@compiled
def are_clearly_real(mass: float, com: Column, inertia: Table) -> bool:
    """Return whether the numbers are those of a body that is real beyond round-off.

    Its mass, and the second moments of mass, which are half the trace less the inertia, are positive
    (definite: Sylvester's criterion).

    Args:
        mass: Mass [kg].
        com: Its centre [m], shape (3,).
        inertia: About it [kg m^2], shape (3, 3).
    """
    xx, xy, xz = inertia[0, 0], inertia[0, 1], inertia[0, 2]
    yy, yz, zz = inertia[1, 1], inertia[1, 2], inertia[2, 2]
    half = 0.5 * (xx + yy + zz)  # the trace of the second moments
    a, b, c = half - xx, half - yy, half - zz
    second = a * b - xy * xy
    third = c * second - a * yz * yz - b * xz * xz - 2.0 * xy * xz * yz
    least = BEYOND_ROUND_OFF * half
    definite = a > least and second > least * half and third > least * half * half
    return definite and mass > 0.0 and math.isfinite(mass + com.sum() + third)


@compiled
def are_sound(values: Table, covariance: Table) -> bool:
    """Return whether the estimates of all links are finite, and what is published is clearly real.

    Args:
        values: Of n bodies, published, estimated and their differences from nominal, as `central_values`
            writes them, shape (3 n, 13).
        covariance: Covariances of mass, centre of mass and inertia one below the other, shape (10 n, 10).
    """
    n = len(values) // 3
    if not math.isfinite(covariance.sum()):
        return False
    for i in range(len(covariance)):
        if not covariance[i, i % 10] >= 0.0:
            return False
    for i in range(n):
        row = values[i]
        if not are_clearly_real(row[0], row[1:4], row[4:].reshape(3, 3)):
            return False
        if not math.isfinite(values[n + i].sum()):
            return False
    return True
