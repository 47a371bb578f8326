"""How often readings are left out: a few that impacts explain are usual, frequent ones are a finding."""

import math

from inertial_estimation.compilation import MutableColumn, cells, inlined, zeros
from inertial_estimation.signals import NANOSECONDS, Array

FREQUENT = 4.0  # outliers of specific force or contact velocity in one second that are no longer usual
AFTER_CHANGE = 0.08  # time after a foot was set down or lifted in which it skids and the body rings [s]
LEFT_OUT_SHARE = 0.2  # share of a second's contact velocities that such feet make wrong at most
GYRO, FORCE, VELOCITY = range(3)

# Numbers of the state: share of the last second in which contact velocities were left out, the contacts that
# were in use at the last step, a bit for each, and how many outliers of each kind there were until then.
LEFT_OUT, IN_USE, SEEN, SIZE = 0, 1, 2, 5


class OutlierFrequency:
    """Counts outliers of gyroscope, specific force and contact velocity.

    Feet that strike and skid make the contact velocity jump at every step of a gait. Jumps just after a
    change of the contacts therefore do not count, unless they last for a large share of the time.

    Attributes:
        row: Numbers of the state, for the functions of this module.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin without an outlier.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self._frequency = [0.0, 0.0, 0.0]  # of each kind of outlier, in the last second
        self._counted_ns = [0, 0, 0]
        self._changed_ns = 0  # stamp of the last change of the contacts [ns]

    def change_contacts(self, stamp_ns: int) -> None:
        """Note that other contacts are in use than at the step before.

        Args:
            stamp_ns: Stamp of the step [ns].
        """
        self._changed_ns = stamp_ns

    def count(self, stamp_ns: int, counts: tuple[float, float, float], *, contradiction: bool) -> list[int]:
        """Count the outliers of a step that had some.

        Args:
            stamp_ns: Its stamp [ns].
            counts: Numbers of outliers until now: rates, specific forces, contact velocities.
            contradiction: Whether a contact velocity has jumped by more than any impact makes it.

        Returns:
            The kinds of which there was an outlier that is to be reported: single rates, and of the others,
            which impacts cause too, frequent ones.
        """
        numbers = self._cells
        recent = stamp_ns - self._changed_ns < AFTER_CHANGE * NANOSECONDS
        explained = recent and numbers[LEFT_OUT] < LEFT_OUT_SHARE
        found = []
        for kind, n in enumerate(counts):
            seen, numbers[SEEN + kind] = numbers[SEEN + kind], n
            if n == seen or (kind == VELOCITY and explained):
                continue
            elapsed = (stamp_ns - self._counted_ns[kind]) / NANOSECONDS
            self._counted_ns[kind] = stamp_ns
            self._frequency[kind] = self._frequency[kind] * math.exp(-max(elapsed, 0.0)) + n - seen
            if kind == GYRO or self._frequency[kind] > FREQUENT or contradiction:
                found.append(kind)
        return found


@inlined
def contacts_changed(used: float, state: MutableColumn) -> bool:
    """Return whether other contacts are in use than at the step before.

    Args:
        used: The contacts in use, a bit for each.
        state: Numbers of `OutlierFrequency`; updated.
    """
    changed: bool = used != state[IN_USE]
    state[IN_USE] = used
    return changed


@inlined
def outliers_seen(h: float, left_out: bool, counts: tuple[float, float, float], state: MutableColumn) -> bool:
    """Return whether there was an outlier in a step, so that it has to be counted.

    Args:
        h: Duration of the step [s].
        left_out: Whether the contact velocity was left out in it.
        counts: Numbers of outliers until now: rates, specific forces, contact velocities.
        state: Numbers of `OutlierFrequency`; updated.
    """
    state[LEFT_OUT] += h / (h + 1.0) * ((1.0 if left_out else 0.0) - state[LEFT_OUT])
    return counts != (state[SEEN], state[SEEN + 1], state[SEEN + 2])
