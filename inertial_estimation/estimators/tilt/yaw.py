"""Full orientation from an exact tilt: yaw from a reference (TRIAD) or by integrating the rate."""

from dataclasses import dataclass

from inertial_estimation.compilation import compiled
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import Matrix, Vector, align_rows, cross, rotate


@dataclass(frozen=True)
class YawConfig:
    """Source of the yaw; the tilt of the reference is not used."""

    use_reference: bool = parameter(
        True, "Whether the yaw is taken from the yaw reference while that arrives.", runtime=True
    )
    timeout: float = parameter(
        0.1,
        "Age of the yaw reference beyond which the yaw is integrated from the gyroscope instead.",
        unit="s",
        lower=1e-3,
        upper=10.0,
        runtime=True,
    )


@compiled
def turned(h: float, w_WB_B: Vector, x2_B: Vector, R_WB: Matrix) -> Matrix:
    """Turn an orientation by the measured rate, then by the smallest rotation that makes its tilt exact.

    With an orientation from a reference, `align_rows` alone gives its yaw and the exact tilt; the yaw is
    therefore continuous when the reference stops.

    Args:
        h: Duration of the step [s].
        w_WB_B: Angular velocity of the base, mean over the step, base frame [rad/s].
        x2_B: The vertical in the base frame at the end of the step.
        R_WB: Orientation of the base in the world at the begin.

    Returns:
        Orientation at the end.
    """
    back = (-h * w_WB_B[0], -h * w_WB_B[1], -h * w_WB_B[2])
    # Rows of R_WB are the world axes in the base frame, so they rotate opposite to the base.
    first, third = rotate(back, R_WB[0]), rotate(back, R_WB[2])
    return align_rows((first, cross(third, first), third), x2_B)
