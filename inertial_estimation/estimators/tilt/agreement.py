"""Agreement of gyroscope, accelerometer and contact velocity, judged by the observer's first stage.

The first stage determines the vertical from the accelerometer and the contact velocity within 0.2 s, carried
by the gyroscope. Its mean angle from the output tells by how much the output is wrong, and its length, which
is 1 for readings that agree, whether the specific force is that of a body in gravity. Two means are taken. A
slip turns the first stage for a moment, so that the quick mean has to allow for the gait; an error d of the
contact velocity at both ends of a time T turns the mean over T by d / (g0 T) only, so that the slow one shows
small errors that last: those of an output that is corrected too slowly for the gyroscope's bias.
"""

import math

from inertial_estimation.compilation import MutableColumn, cells, inlined, zeros
from inertial_estimation.estimators.tilt.linear_stage import first_stage
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    combine,
    cross,
    norm,
    rotation,
    store,
    vector_of,
)

GAINS = (20.0, 100.0)  # of the stage that is compared with an observer that has none: both poles at 10 rad/s
MEMORY = 0.2  # time constant of the means [s]
SLOW_MEMORY = 1.0  # time constant of the slow mean of the turn [s]
STOOD = 1.0  # time with contact before that mean: in a gait with flight a stance begins at the output [s]
DRIFTED = math.radians(1.5)  # slow mean of the turn from which the output is wrong for longer than a slip
TURN_LIMIT = math.radians(2.0)  # mean angle between first stage and output for which it is determined anew
LENGTH_LIMIT = 0.05  # mean error of the length: 0.5 m/s^2

# Numbers of the state: mean of sine and axis of the angle between first stage and output, in the IMU frame,
# the angle [rad], mean of the length of the first stage's vertical minus one, the slow mean of the turn, time
# since the last flight [s], whether the first stage is known, its velocity [m/s] and its vertical.
TURN, ANGLE, LENGTH, SLOW, STOOD_FOR, STAGE_KNOWN, STAGE_V, STAGE_Z, SIZE = 0, 3, 4, 5, 8, 9, 10, 13, 16


class Agreement:
    """State of the comparison of the output with the vertical of the first stage.

    Attributes:
        row: Numbers of the state, for the functions of this module.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin with full agreement.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self.reset()

    def reset(self) -> None:
        """Begin with full agreement."""
        for k in range(SIZE):
            self._cells[k] = 0.0

    @property
    def turn(self) -> Vector:
        """Mean of sine and axis of the angle between first stage and output, IMU frame."""
        return vector_of(self._cells, TURN)

    @property
    def angle(self) -> float:
        """The angle of that turn [rad]."""
        return float(self._cells[ANGLE])

    @property
    def slow_angle(self) -> float:
        """Angle between output and first stage, mean over seconds [rad]."""
        return _slow_angle(self._cells)

    @property
    def turned(self) -> bool:
        """Whether the output is turned from the vertical of the first stage."""
        return turned(self._cells)

    @property
    def stretched(self) -> bool:
        """Whether the specific force is not that of a body in gravity with this contact velocity."""
        return stretched(self._cells)

    @property
    def disagrees(self) -> bool:
        """Whether the readings contradict one another by more than they ever do on sound data."""
        return disagrees(self._cells)

    @property
    def drifted(self) -> bool:
        """Whether the output has been turned from the vertical of the first stage for seconds."""
        return drifted(self._cells)

    @property
    def reportable(self) -> bool:
        """Whether the output may be wrong."""
        return self.disagrees or self.drifted


@inlined
def turned(state: MutableColumn) -> bool:
    """Return whether the output is turned from the first stage's vertical, by the numbers of `Agreement`."""
    return bool(state[ANGLE] > TURN_LIMIT)


@inlined
def stretched(state: MutableColumn) -> bool:
    """Return whether the specific force is not that of a body in gravity, by the numbers of `Agreement`."""
    return bool(abs(state[LENGTH]) > LENGTH_LIMIT)


@inlined
def disagrees(state: MutableColumn) -> bool:
    """Return whether readings contradict one another more than sound ones, by the numbers of `Agreement`."""
    return turned(state) or stretched(state)


@inlined
def drifted(state: MutableColumn) -> bool:
    """Return whether the output has been turned for seconds, by the numbers of `Agreement`."""
    return bool(_slow_angle(state) > DRIFTED)


@inlined
def _slow_angle(state: MutableColumn) -> float:
    return math.asin(min(1.0, norm(vector_of(state, SLOW))))


@inlined
def agree(
    h: float,
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
    aided: bool,
    observer: tuple[Vector, Vector, Vector],
    staged: bool,
    state: MutableColumn,
) -> None:
    """Process one step, after the observer's.

    Args:
        h: Duration of the step [s].
        w_I: Angular velocity, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity from contacts with which the observer made the step [m/s]; used with contact only.
        aided: Whether there was contact.
        observer: Velocity [m/s], vertical and intermediate vertical of the observer after the step.
        staged: Whether the observer has an intermediate vertical, that of its first stage.
        state: Numbers of `Agreement`; updated.
    """
    if not aided:
        state[STAGE_KNOWN], state[STOOD_FOR] = 0.0, 0.0
        store(state, SLOW, ZERO)
        return
    state[STOOD_FOR] += h
    x1, x2, z = observer
    if not staged:
        begin = y_v, x2
        if state[STAGE_KNOWN] > 0.0:
            begin = vector_of(state, STAGE_V), vector_of(state, STAGE_Z)
        x1, z = _propagated(h, begin, w_I, f_I, y_v)
    store(state, STAGE_V, x1)
    store(state, STAGE_Z, z)
    state[STAGE_KNOWN] = 1.0
    _average(h, x2, z, state)
    if state[STOOD_FOR] < STOOD:  # every stance begins with the output
        store(state, SLOW, ZERO)


@inlined
def _propagated(
    h: float, begin: tuple[Vector, Vector], w_I: Vector, f_I: Vector, y_v: Vector
) -> tuple[Vector, Vector]:
    """Return velocity and vertical of a first stage with `GAINS` at the end of a step."""
    half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
    v, z, _innovation = first_stage(h, GAINS, half, begin, f_I, y_v)
    return v, z


@inlined
def _average(h: float, x2: Vector, z: Vector, state: MutableColumn) -> None:
    """Update quick and slow mean of the turn, the quick one's angle and the mean error of the length."""
    size = norm(z)
    scale = 1.0 / max(size, 1e-3)
    a = cross(x2, z)
    a = (scale * a[0], scale * a[1], scale * a[2])
    turn = _approached(vector_of(state, TURN), h / (h + MEMORY), a)
    store(state, TURN, turn)
    store(state, SLOW, _approached(vector_of(state, SLOW), h / (h + SLOW_MEMORY), a))
    state[LENGTH] += h / (h + MEMORY) * (size - 1.0 - state[LENGTH])
    state[ANGLE] = math.asin(min(1.0, norm(turn)))


@inlined
def _approached(mean: Vector, share: float, a: Vector) -> Vector:
    return combine(mean, share, combine(a, -1.0, mean))
