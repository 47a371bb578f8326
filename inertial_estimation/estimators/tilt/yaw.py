"""Full orientation from an exact tilt: yaw from a reference (TRIAD) or by integrating the rate."""

from dataclasses import dataclass

from inertial_estimation.compilation import compiled, warm_up
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import IDENTITY, Matrix, Vector, align_rows, cross, rotate

__all__ = ["YawConfig", "YawTracker"]


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


class YawTracker:
    """Orientation of the base whose tilt is given at every step.

    Attributes:
        R_WB: Orientation of the base in the world.
        referenced: Whether the last step took the yaw from a reference.
    """

    def __init__(self) -> None:
        warm_up()
        self.reset((0.0, 0.0, 1.0))

    def reset(self, x2_B: Vector) -> None:
        """Begin with a tilt and zero yaw.

        Args:
            x2_B: The vertical in the base frame.
        """
        self.R_WB: Matrix = align_rows(IDENTITY, x2_B)
        self.referenced = False

    def step(self, h: float, w_WB_B: Vector, x2_B: Vector, R_reference: Matrix | None = None) -> None:
        """Advance by one step.

        Without a reference R_WB is integrated from the measured rate; with one its yaw is that of the
        reference. The smallest rotation then makes the tilt exact (`align_rows`). The yaw is therefore
        continuous when the reference stops.

        Args:
            h: Duration of the step [s].
            w_WB_B: Angular velocity of the base, mean over the step, base frame [rad/s].
            x2_B: The vertical in the base frame at the end of the step.
            R_reference: Orientation of the base from an external reference; None integrates the rate.
        """
        self.referenced = R_reference is not None
        if R_reference is not None:
            self.R_WB = align_rows(R_reference, x2_B)
            return
        self.R_WB = _turned(h, w_WB_B, x2_B, self.R_WB)


@compiled
def _turned(h: float, w_WB_B: Vector, x2_B: Vector, R_WB: Matrix) -> Matrix:
    """Return an orientation turned by the measured rate, with the given tilt."""
    back = (-h * w_WB_B[0], -h * w_WB_B[1], -h * w_WB_B[2])
    # Rows of R_WB are the world axes in the base frame, so they rotate opposite to the base.
    first, third = rotate(back, R_WB[0]), rotate(back, R_WB[2])
    return align_rows((first, cross(third, first), third), x2_B)
