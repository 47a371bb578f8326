"""The vertical carried by the gyroscope alone while the accelerometer contradicts gyroscope and feet."""

from inertial_estimation.compilation import MutableColumn, cells, compiled, zeros
from inertial_estimation.estimators.tilt.agreement import LENGTH, disagrees, restored
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, cross, store, vector_of

MEMORY = 0.2  # time constant of the corrections that can be taken back [s]
ESTABLISHED = 0.7  # time of agreement after which the vertical is believed rather than the accelerometer [s]
SHORTEST, LONGEST = 0.1, 8.0  # duration of a hold [s]
UNPROVEN = (
    0.8  # that where the specific force has the length of gravity: the vertical may be wrong instead [s]
)
GRAVITY_LENGTH = 0.02  # relative error up to which it has

# Numbers of the state: whether the gyroscope alone carries the vertical, and for how long [s]; time of
# agreement until now [s], and the recent corrections of the vertical [rad].
ACTIVE, ELAPSED, AGREED, TURNED, SIZE = 0, 1, 2, 3, 6


class ForceHold:
    """Takes the recent corrections of the vertical back, and lets the gyroscope carry it for a while.

    Attributes:
        row: Numbers of the state, for `advance_hold`.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin with a vertical that has not been confirmed yet.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self.reset()

    def reset(self) -> None:
        """Begin with a vertical that has not been confirmed yet."""
        for k in range(SIZE):
            self._cells[k] = 0.0

    @property
    def active(self) -> bool:
        """Whether the gyroscope alone carries the vertical."""
        return bool(self._cells[ACTIVE])

    @property
    def exhausted(self) -> bool:
        """Whether it has lasted so long that nothing confirms the vertical any more."""
        return bool(self._cells[ELAPSED] > LONGEST)


@compiled
def advance_hold(
    h: float, w: Vector, correction: Vector, sound: bool, agreement: MutableColumn, state: MutableColumn
) -> tuple[bool, Vector]:
    """Process one step, after the observer's.

    Args:
        h: Its duration [s].
        w: Its angular velocity [rad/s].
        correction: Mean angular velocity by which the observer turned the vertical in it [rad/s].
        sound: Whether the feet confirm the gyroscope, so that the accelerometer is wrong.
        agreement: Numbers of `Agreement`.
        state: Numbers of `ForceHold`; updated.

    Returns:
        Whether a hold begins, and then the rotation that takes the recent corrections back [rad].
    """
    agree = restored(agreement)
    if state[ACTIVE] > 0.0:
        state[ELAPSED] += h
        if state[ELAPSED] > UNPROVEN and abs(agreement[LENGTH]) < GRAVITY_LENGTH:
            # The length of the specific force does not justify it.
            state[ACTIVE], state[ELAPSED], state[AGREED] = 0.0, 0.0, 0.0
        if (state[ELAPSED] > SHORTEST and agree) or not sound:
            state[ACTIVE], state[ELAPSED] = 0.0, 0.0
        return False, ZERO
    before = vector_of(state, TURNED)
    t, keep = combine(before, -h, cross(w, before)), 1.0 - h / (h + MEMORY)
    x, y, z = (
        keep * t[0] + h * correction[0],
        keep * t[1] + h * correction[1],
        keep * t[2] + h * correction[2],
    )
    store(state, TURNED, (x, y, z))
    if not disagrees(agreement):
        state[AGREED] += h if agree else 0.0
        return False, ZERO
    if state[AGREED] < ESTABLISHED or not sound:
        state[AGREED] = 0.0
        return False, ZERO
    state[ACTIVE] = 1.0
    store(state, TURNED, ZERO)
    return True, (-x, -y, -z)
