"""Standard gravity, and the velocity of the base computed from that of an IMU."""

from inertial_estimation.compilation import inlined
from inertial_estimation.spatial.vectors import Matrix, Vector, cross, times

STANDARD_GRAVITY = 9.80665


@inlined
def base_twist(
    v_WI_I: Vector,
    w_WI_I: Vector,
    R_BI: Matrix,
    p_BI: Vector,
    v_BI_B: Vector,
    w_BI_B: Vector,
) -> tuple[Vector, Vector]:
    """Transform the velocity of the IMU to the origin of the base.

    w_WB = R_BI w_WI - w_BI;  v_WB = R_BI v_WI - v_BI - w_WB x p_BI, all in the base frame.

    Args:
        v_WI_I: Velocity of the IMU in the world, IMU frame [m/s].
        w_WI_I: Angular velocity of the IMU in the world, IMU frame [rad/s].
        R_BI: Orientation of the IMU in the base.
        p_BI: Position of the IMU in the base [m].
        v_BI_B: Velocity of the IMU relative to the base, base frame [m/s]; zero where rigidly mounted.
        w_BI_B: Angular velocity of the IMU relative to the base, base frame [rad/s].

    Returns:
        Velocity of the base origin and angular velocity of the base, base frame [m/s, rad/s].
    """
    w = times(R_BI, w_WI_I)
    w_WB = (w[0] - w_BI_B[0], w[1] - w_BI_B[1], w[2] - w_BI_B[2])
    v = times(R_BI, v_WI_I)
    lever = cross(w_WB, p_BI)
    v_WB = (v[0] - v_BI_B[0] - lever[0], v[1] - v_BI_B[1] - lever[1], v[2] - v_BI_B[2] - lever[2])
    return v_WB, w_WB
