"""The usual size of a quantity that is small on sound data, from which the limit of its check follows."""

import math

__all__ = ["UsualSize"]

MEMORY = 3.0  # time constant of the mean square [s]; several steps of a gait


class UsualSize:
    """Limit of a quantity: a least one, and a multiple of the root mean square over the last seconds.

    On a robot that stands or walks with firm feet the least limit holds. In a trot feet slip and strike at
    every step, and the same quantity is several times larger without any fault. What exceeds the limit counts
    with the size of the limit only, so that a fault raises its own limit slowly, and never beyond the largest
    one.

    Attributes:
        limit: Present limit.
    """

    def __init__(self, least: float, factor: float, largest: float) -> None:
        """Begin with the least limit.

        Args:
            least: Lowest limit.
            factor: Times the root mean square.
            largest: Highest limit.
        """
        self._least, self._largest, self._factor = least, largest, factor
        self.reset()

    def reset(self) -> None:
        """Begin again with the least limit."""
        self.limit = self._least
        self._square = 0.0

    @property
    def scale(self) -> float:
        """The present limit over the least one."""
        return self.limit / self._least

    def learn(self, h: float, size: float) -> None:
        """Process the size of one step of sound data.

        Args:
            h: Duration of the step [s].
            size: Not negative.
        """
        size = min(size, self.limit)
        self._square += h / (h + MEMORY) * (size * size - self._square)
        usual = self._factor * math.sqrt(self._square)
        self.limit = min(max(self._least, usual), self._largest)
