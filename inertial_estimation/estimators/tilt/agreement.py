"""Agreement of gyroscope, accelerometer and contact velocity, judged by the observer's first stage.

The first stage determines the vertical from the accelerometer and the contact velocity within 0.2 s, carried
by the gyroscope. Its mean angle from the output tells by how much the output is wrong, and its length, which
is 1 for readings that agree, whether the specific force is that of a body in gravity.
"""

import math

from inertial_estimation.compilation import compiled, warm_up
from inertial_estimation.estimators.tilt.linear_stage import first_stage
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.usual_size import UsualSize
from inertial_estimation.spatial.vectors import ZERO, Vector, cross, norm, rotation

__all__ = ["Agreement"]

GAINS = (20.0, 100.0)  # of the stage that is compared with an observer that has none: both poles at 10 rad/s
MEMORY = 0.2  # time constant of the means [s]
REPORTED_TURN = math.radians(1.7)  # mean angle between first stage and output that is reported
TURN_LIMIT = math.radians(2.0)  # that for which the output is determined anew
REPORTED_SHARE = REPORTED_TURN / TURN_LIMIT
LENGTH_LIMIT = 0.05  # mean error of the length: 0.5 m/s^2
USUAL = 4.0  # limits follow this many times the usual size,
LARGEST_TURN, LARGEST_LENGTH = 6.0, 3.0  # up to this many times those above
RESTORED_TURN, RESTORED_LENGTH = math.radians(1.3), 0.03  # below which they agree again


class Agreement:
    """Mean difference between the vertical of the first stage and the output.

    Attributes:
        turn: Mean of sine and axis of the angle between them, IMU frame.
        angle: The angle [rad].
        length: Mean of the length of the first stage's vertical minus one.
    """

    def __init__(self) -> None:
        self._turns = UsualSize(TURN_LIMIT, USUAL, LARGEST_TURN * TURN_LIMIT)
        self._lengths = UsualSize(LENGTH_LIMIT, USUAL, LARGEST_LENGTH * LENGTH_LIMIT)
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Begin with full agreement."""
        self.turn: Vector = ZERO
        self.angle = 0.0
        self.length = 0.0
        self._state: tuple[Vector, Vector] | None = None

    @property
    def disagrees(self) -> bool:
        """Whether the readings contradict one another by more than they ever do on sound data."""
        return self.turned or self.stretched

    @property
    def reportable(self) -> bool:
        """Whether the output may be wrong."""
        return self.angle > REPORTED_SHARE * self._turns.limit or self.stretched

    @property
    def turned(self) -> bool:
        """Whether the output is turned from the vertical of the first stage."""
        return self.angle > self._turns.limit

    @property
    def stretched(self) -> bool:
        """Whether the specific force is not that of a body in gravity with this contact velocity."""
        return abs(self.length) > self._lengths.limit

    @property
    def restored(self) -> bool:
        """Whether the readings agree, by narrower limits."""
        turn, length = self._turns.scale * RESTORED_TURN, self._lengths.scale * RESTORED_LENGTH
        return self.angle < turn and abs(self.length) < length

    def forget(self) -> None:
        """Begin with full agreement and without a usual size."""
        self.reset()
        self._turns.reset()
        self._lengths.reset()

    def learn(self, h: float) -> None:
        """Take the last step for sound data, whose usual size determines the limits.

        Args:
            h: Its duration [s].
        """
        self._turns.learn(h, self.angle)
        self._lengths.learn(h, abs(self.length))

    def update(
        self,
        h: float,
        w_I: Vector,
        f_I: Vector,
        y_v: Vector | None,
        observer: TiltObserver[object],
        *,
        held: bool,
    ) -> None:
        """Process one step, after the observer's.

        Args:
            h: Duration of the step [s].
            w_I: Angular velocity, mean over the step [rad/s].
            f_I: Specific force, mean over the step [m/s^2].
            y_v: Velocity from contacts with which the observer made the step [m/s]; None without contact.
            observer: The observer after the step.
            held: Whether the observer made it without this specific force.
        """
        if y_v is None:
            self._state = None
            return
        x2, z = observer.x2, observer.x2_intermediate
        if z is None or held:
            begin = (y_v if z is None else observer.x1), x2
            z, x1 = _propagated(h, self._state or begin, w_I, f_I, y_v)
            self._state = x1, z
        else:
            self._state = observer.x1, z
        self.turn, self.angle, self.length = _averaged(h, x2, z, self.turn, self.length)


@compiled
def _propagated(
    h: float, state: tuple[Vector, Vector], w_I: Vector, f_I: Vector, y_v: Vector
) -> tuple[Vector, Vector]:
    """Return vertical and velocity of a first stage with `GAINS` at the end of a step."""
    half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
    v, z, _innovation = first_stage(h, GAINS, half, state, f_I, y_v)
    return z, v


@compiled
def _averaged(h: float, x2: Vector, z: Vector, turn: Vector, length: float) -> tuple[Vector, float, float]:
    """Return the means of the turn, of its angle and of the error of the length after a step."""
    size = norm(z)
    share = h / (h + MEMORY)
    a, scale = cross(x2, z), 1.0 / max(size, 1e-3)
    turn = (
        turn[0] + share * (scale * a[0] - turn[0]),
        turn[1] + share * (scale * a[1] - turn[1]),
        turn[2] + share * (scale * a[2] - turn[2]),
    )
    return turn, math.asin(min(1.0, norm(turn))), length + share * (size - 1.0 - length)
