"""Scale of the accelerometer: by gravity at rest, by the first stage's vertical in motion."""

from inertial_estimation.compilation import MutableColumn, cells, inlined, zeros
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector, norm

REST_MEMORY = 1.0  # time constant at rest [s]
MOTION_MEMORY = 5.0  # time constant in motion [s]
LARGEST = 0.1  # error of scale beyond which the readings are taken for a fault and not for a scale
FACTOR, SIZE = range(2)  # numbers of the state


class AccelerometerScale:
    """Divides specific forces by the scale of the accelerometer.

    A scale in error leaves the direction of gravity as it is, but the specific force is then not that of a
    body in gravity, which is what the checks of the readings look for.

    Attributes:
        row: Numbers of the state, for the functions of this module.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin with a scale of one.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self.reset()

    def reset(self) -> None:
        """Begin again with a scale of one."""
        self._cells[FACTOR] = 1.0

    @property
    def factor(self) -> float:
        """Estimated scale of the readings."""
        return float(self._cells[FACTOR])


@inlined
def corrected_force(force: Vector, state: MutableColumn) -> Vector:
    """Return a specific force divided by the scale [m/s^2].

    Args:
        force: Specific force as it is read [m/s^2].
        state: Numbers of `AccelerometerScale`.
    """
    s = 1.0 / state[FACTOR]
    return s * force[0], s * force[1], s * force[2]


@inlined
def learn_scale_at_rest(h: float, force: Vector, state: MutableColumn) -> None:
    """Process the corrected specific force of a robot at rest.

    Args:
        h: Duration of the step [s].
        force: Specific force divided by the present scale [m/s^2].
        state: Numbers of `AccelerometerScale`.
    """
    _learn(h, REST_MEMORY, norm(force) / STANDARD_GRAVITY - 1.0, state)


@inlined
def learn_scale_in_motion(h: float, length: float, state: MutableColumn) -> None:
    """Process the length of the vertical that specific force and contact velocity give.

    Args:
        h: Duration of the step [s].
        length: That length less one, for forces divided by the present scale.
        state: Numbers of `AccelerometerScale`.
    """
    _learn(h, MOTION_MEMORY, length, state)


@inlined
def _learn(h: float, memory: float, error: float, state: MutableColumn) -> None:
    if abs(state[FACTOR] * (1.0 + error) - 1.0) <= LARGEST:
        state[FACTOR] *= 1.0 + h / (h + memory) * error
