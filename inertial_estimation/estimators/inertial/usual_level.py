"""The usual level of the normalised innovation, against which suspect data stand out."""

from inertial_estimation.estimators.inertial.gate import InnovationGate

__all__ = ["UsualLevel"]

WINDOW = 5.0  # time constant of the level [s]
FIRST = 0.3  # time of data before there is a level [s]
LEAST_SHARE = 0.01  # of the number of rows: data without noise have no level of their own


class UsualLevel:
    """Mean of the normalised innovation squared over the last seconds without suspect data.

    The noise parameters of a robot are often conservative by a factor; a fault then stays far below the
    innovation gate but far above what the robot's sensors usually give.
    """

    def __init__(self, rows: int, gate: InnovationGate) -> None:
        """Start without a level.

        Args:
            rows: Number of rows, the expected NIS.
            gate: The innovation gate, whose bound is the largest limit.
        """
        self._rows = rows
        self._least = LEAST_SHARE * rows
        self._gate = gate
        self.reset()

    def reset(self) -> None:
        """Discard the level."""
        self._mean = 0.0
        self._seen = 0.0

    @property
    def is_known(self) -> bool:
        """Whether enough data have been seen."""
        return self._seen >= FIRST

    @property
    def variance(self) -> float:
        """Usual mean of the squared whitened innovations; the expected one while there is no level."""
        return max(self._mean, self._least) / self._rows if self.is_known else 1.0

    def feed(self, nis: float, dt: float) -> None:
        """Add the NIS of data that are not suspect.

        Args:
            nis: Normalised innovation squared.
            dt: Time since the last one [s].
        """
        self._seen = min(self._seen + dt, WINDOW)
        self._mean += min(dt / self._seen, 1.0) * (nis - self._mean) if self._seen > 0.0 else nis

    def accept(self, nis: float) -> None:
        """Take a level that has lasted as the usual one."""
        self._mean = nis

    def limit(self, factor: float) -> float:
        """Return a multiple of the level, at most the gate's bound, which holds while there is no level."""
        if not self.is_known:
            return self._gate.bound
        return min(factor * max(self._mean, self._least), self._gate.bound)
