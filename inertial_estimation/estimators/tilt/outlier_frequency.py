"""How often readings are left out: a few that impacts explain are usual, frequent ones are a finding."""

import math

from inertial_estimation.signals import NANOSECONDS

__all__ = ["OutlierFrequency"]

FREQUENT = 4.0  # outliers of specific force or contact velocity in one second that are no longer usual
AFTER_CHANGE = 0.08  # time after a foot was set down or lifted in which it skids and the body rings [s]
LEFT_OUT = 0.2  # share of a second's contact velocities that such feet make wrong at most
GYRO, FORCE, VELOCITY = range(3)


class OutlierFrequency:
    """Counts outliers of gyroscope, specific force and contact velocity.

    Feet that strike and skid make the contact velocity jump at every step of a gait. Jumps just after a
    change of the contacts therefore do not count, unless they last for a large share of the time.
    """

    def __init__(self) -> None:
        self._seen = (0, 0, 0)
        self._frequency = [0.0, 0.0, 0.0]  # of each kind of outlier, in the last second
        self._counted_ns = [0, 0, 0]
        self._in_use: tuple[str, ...] = ()  # contacts at the last step
        self._changed_ns = 0  # stamp of their last change [ns]
        self._left_out = 0.0  # share of the last second in which contact velocities were left out

    def update(
        self,
        stamp_ns: int,
        h: float,
        counts: tuple[int, int, int],
        in_use: tuple[str, ...],
        *,
        left_out: bool,
        contradiction: bool,
    ) -> list[int]:
        """Process one step.

        Args:
            stamp_ns: Its stamp [ns].
            h: Its duration [s].
            counts: Numbers of outliers until now: rates, specific forces, contact velocities.
            in_use: Contacts in use.
            left_out: Whether the contact velocity was left out in this step.
            contradiction: Whether it has jumped by more than any impact makes it.

        Returns:
            The kinds of which there was an outlier that is to be reported: single rates, and of the others,
            which impacts cause too, frequent ones.
        """
        if in_use != self._in_use:
            self._in_use, self._changed_ns = in_use, stamp_ns
        self._left_out += h / (h + 1.0) * ((1.0 if left_out else 0.0) - self._left_out)
        if counts == self._seen:
            return []
        recent = stamp_ns - self._changed_ns < AFTER_CHANGE * NANOSECONDS
        explained = recent and self._left_out < LEFT_OUT
        found = []
        for kind, (n, seen) in enumerate(zip(counts, self._seen, strict=True)):
            if n == seen or (kind == VELOCITY and explained):
                continue
            elapsed = (stamp_ns - self._counted_ns[kind]) / NANOSECONDS
            self._counted_ns[kind] = stamp_ns
            self._frequency[kind] = self._frequency[kind] * math.exp(-max(elapsed, 0.0)) + n - seen
            if kind == GYRO or self._frequency[kind] > FREQUENT or contradiction:
                found.append(kind)
        self._seen = counts
        return found
