"""Motion on the unit sphere in closed form."""

import math

from inertial_estimation.compilation import inlined
from inertial_estimation.spatial.vectors import ZERO, Vector, cross, dot, norm, rotate


@inlined
def turn_towards(x: Vector, target: Vector, exposure: float) -> tuple[Vector, Vector]:
    """Move a unit vector by the exact flow of x' = S(S(x) y) x towards a fixed vector y.

    The angle t between the two obeys t' = -|y| sin(t), so tan(t/2) decays by exp(-|y| exposure): no
    step is too long. This is the second stage of (B 17) with exposure = gamma times the step.

    Args:
        x: Unit vector.
        target: Vector y of any length, fixed during the motion.
        exposure: Gain times duration.

    Returns:
        The moved vector, and the rotation vector that moved it [rad].
    """
    axis = cross(x, target)
    sine = norm(axis)
    if sine < 1e-15:  # aligned, or exactly opposite: an equilibrium either way
        return x, ZERO
    length = norm(target)
    angle = math.atan2(sine, dot(x, target))
    left = 2.0 * math.atan(math.tan(0.5 * angle) * math.exp(-length * exposure))
    scale = (angle - left) / sine
    turn = (scale * axis[0], scale * axis[1], scale * axis[2])
    return rotate(turn, x), turn
