"""Scale of the accelerometer: by gravity at rest, by the first stage's vertical in motion."""

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import Vector, norm

__all__ = ["AccelerometerScale"]

REST_MEMORY = 1.0  # time constant at rest [s]
MOTION_MEMORY = 5.0  # time constant in motion [s]
LARGEST = 0.1  # error of scale beyond which the readings are taken for a fault and not for a scale


class AccelerometerScale:
    """Divides specific forces by the scale of the accelerometer.

    A scale in error leaves the direction of gravity as it is, but the specific force is then not that of a
    body in gravity, which is what the checks of the readings look for.

    Attributes:
        factor: Estimated scale of the readings.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again with a scale of one."""
        self.factor = 1.0

    def corrected(self, force: Vector) -> Vector:
        """Return a specific force divided by the scale [m/s^2]."""
        s = 1.0 / self.factor
        return s * force[0], s * force[1], s * force[2]

    def learn_at_rest(self, h: float, force: Vector) -> None:
        """Process the corrected specific force of a robot at rest.

        Args:
            h: Duration of the step [s].
            force: Specific force divided by the present scale [m/s^2].
        """
        self._learn(h, REST_MEMORY, norm(force) / STANDARD_GRAVITY - 1.0)

    def learn_in_motion(self, h: float, length: float) -> None:
        """Process the length of the vertical that specific force and contact velocity give.

        Args:
            h: Duration of the step [s].
            length: That length less one, for forces divided by the present scale.
        """
        self._learn(h, MOTION_MEMORY, length)

    def _learn(self, h: float, memory: float, error: float) -> None:
        if abs(self.factor * (1.0 + error) - 1.0) <= LARGEST:
            self.factor *= 1.0 + h / (h + memory) * error
