"""Initial vertical: the mean of the accelerometer during the startup."""

from inertial_estimation.spatial.vectors import ZERO, Vector, add, norm, rotate


class StartupAverage:
    """Sums accelerometer readings, each rotated into the present IMU frame by the gyroscope.

    Attributes:
        force: Sum of the specific forces in the present IMU frame [m/s^2]; its direction is the vertical.
    """

    def __init__(self, duration: float) -> None:
        """Begin without a reading.

        Args:
            duration: Time to average over [s].
        """
        self._duration = duration
        self.reset()

    def reset(self) -> None:
        """Discard all readings."""
        self.force = ZERO
        self._elapsed = 0.0
        self._steps = 0

    def add(self, h: float, force_I: Vector, rate_I: Vector) -> None:
        """Add one reading.

        Args:
            h: Time since the reading before [s]; ignored at the first.
            force_I: Specific force [m/s^2].
            rate_I: Angular rate, mean over the step [rad/s].
        """
        if self._steps > 0:
            self._elapsed += h
            turn = (-h * rate_I[0], -h * rate_I[1], -h * rate_I[2])
            self.force = add(rotate(turn, self.force), force_I)
        else:
            self.force = force_I
        self._steps += 1

    @property
    def done(self) -> bool:
        """Whether the readings span the duration and give a direction."""
        return self._elapsed >= self._duration and norm(self.force) != 0.0
