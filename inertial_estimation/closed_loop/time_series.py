"""Numbers recorded tick by tick."""

from collections.abc import Mapping

import numpy as np

from inertial_estimation.signals import Array


class TimeSeries:
    """Named numbers against time.

    Attributes:
        names: Names of the columns, the time first.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._rows: list[tuple[float, ...]] = []

    def add(self, time_s: float, **values: float) -> None:
        """Append one row at a time [s]; every row has the same names."""
        names = ("time", *values)
        self.names = self.names or names
        assert names == self.names
        self._rows.append((time_s, *values.values()))

    @property
    def last_time_s(self) -> float:
        """Time of the last row [s]; minus infinity before the first."""
        return self._rows[-1][0] if self._rows else -np.inf

    def columns(self) -> Mapping[str, Array]:
        """Return every column by name, shape (n,) each."""
        table = np.array(self._rows, dtype=np.float64).reshape(-1, len(self.names))
        return dict(zip(self.names, table.T, strict=True))


def rms(values: Array) -> float:
    """Return the root of the mean square; NaN for no values."""
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else float("nan")
