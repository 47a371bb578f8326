"""Agreement of gyroscope, accelerometer and contact velocity, judged by the observer's first stage.

The first stage determines the vertical from the accelerometer and the contact velocity within 0.2 s, carried
by the gyroscope. Its mean angle from the output tells by how much the output is wrong, and its length, which
is 1 for readings that agree, whether the specific force is that of a body in gravity. Two means are taken. A
slip turns the first stage for a moment, so that the quick mean has to allow for the gait; an error d of the
contact velocity at both ends of a time T turns the mean over T by d / (g0 T) only, so that the slow one shows
small errors that last: those of an output that is corrected too slowly for the gyroscope's bias.
"""

import math

from inertial_estimation.compilation import compiled, inlined, warm_up
from inertial_estimation.estimators.tilt.linear_stage import first_stage
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.usual_size import UsualSize
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, cross, norm, rotation

__all__ = ["Agreement"]

GAINS = (20.0, 100.0)  # of the stage that is compared with an observer that has none: both poles at 10 rad/s
MEMORY = 0.2  # time constant of the means [s]
SLOW_MEMORY = 1.0  # time constant of the slow mean of the turn [s]
STOOD = 1.0  # time with contact before that mean: in a gait with flight a stance begins at the output [s]
DRIFTED = math.radians(1.5)  # slow mean of the turn from which the output is wrong for longer than a slip,
DRIFTED_SHARE = 0.4  # or this share of the quick one's limit; slips leave up to 0.3 of it
TURN_LIMIT = math.radians(2.0)  # mean angle between first stage and output for which it is determined anew
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
        self._slow: Vector = ZERO
        self._stood = 0.0  # time since the last flight [s]
        self._state: tuple[Vector, Vector] | None = None

    @property
    def disagrees(self) -> bool:
        """Whether the readings contradict one another by more than they ever do on sound data."""
        return self.turned or self.stretched

    @property
    def reportable(self) -> bool:
        """Whether the output may be wrong."""
        return self.disagrees or self.drifted

    @property
    def drifted(self) -> bool:
        """Whether the output has been turned from the vertical of the first stage for seconds."""
        return self.slow_angle > max(DRIFTED, DRIFTED_SHARE * self._turns.limit)

    @property
    def slow_angle(self) -> float:
        """Angle between output and first stage, mean over seconds [rad]."""
        return math.asin(min(1.0, norm(self._slow)))

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

    def replaced(self, turn: float) -> None:
        """Begin with a new vertical; after a turn that no gait leaves, what was usual was that error.

        Args:
            turn: Angle between the vertical before and the new one [rad].
        """
        if turn > LARGEST_TURN * TURN_LIMIT:
            self.forget()
        else:
            self.reset()

    def learn(self, h: float) -> None:
        """Take the last step for sound data, whose usual size determines the limits.

        Args:
            h: Its duration [s].
        """
        self._turns.learn(h, norm(combine(self.turn, -1.0, self._slow)))  # an error that lasts is not usual
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
            self._state, self._slow, self._stood = None, ZERO, 0.0
            return
        self._stood += h
        x2, z = observer.x2, observer.x2_intermediate
        if z is None or held:
            begin = (y_v if z is None else observer.x1), x2
            z, x1 = _propagated(h, self._state or begin, w_I, f_I, y_v)
            self._state = x1, z
        else:
            self._state = observer.x1, z
        self.turn, self._slow, self.angle, self.length = _averaged(
            h, x2, z, (self.turn, self._slow), self.length
        )
        if held or self._stood < STOOD:  # the output is known to differ; or every stance begins with it
            self._slow = ZERO


@compiled
def _propagated(
    h: float, state: tuple[Vector, Vector], w_I: Vector, f_I: Vector, y_v: Vector
) -> tuple[Vector, Vector]:
    """Return vertical and velocity of a first stage with `GAINS` at the end of a step."""
    half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
    v, z, _innovation = first_stage(h, GAINS, half, state, f_I, y_v)
    return z, v


@compiled
def _averaged(
    h: float, x2: Vector, z: Vector, turns: tuple[Vector, Vector], length: float
) -> tuple[Vector, Vector, float, float]:
    """Return quick and slow mean of the turn, the quick one's angle and the mean error of the length."""
    size = norm(z)
    scale = 1.0 / max(size, 1e-3)
    a = cross(x2, z)
    a = (scale * a[0], scale * a[1], scale * a[2])
    turn, slow = _approached(turns[0], h / (h + MEMORY), a), _approached(turns[1], h / (h + SLOW_MEMORY), a)
    length += h / (h + MEMORY) * (size - 1.0 - length)
    return turn, slow, math.asin(min(1.0, norm(turn))), length


@inlined
def _approached(mean: Vector, share: float, a: Vector) -> Vector:
    return combine(mean, share, combine(a, -1.0, mean))
