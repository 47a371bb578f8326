"""Values collected over time and sent to the viewer's file in blocks, so that memory stays bounded."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import rerun as rr

from inertial_estimation.signals import NANOSECONDS

TIMELINE = "time"  # since the start of the recording
ROWS_PER_BLOCK = 256


@dataclass
class _Rows:
    """Rows of one entity that wait to be sent."""

    send: Callable[[list[Any]], Any]
    times_s: list[float] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


class Columns:
    """Collects rows by entity; a full block of an entity is sent in one piece."""

    def __init__(self, stream: rr.RecordingStream, origin_ns: int) -> None:
        """Start without rows.

        Args:
            stream: Where the blocks go.
            origin_ns: Stamp that is zero on the time line [ns].
        """
        self._stream = stream
        self._origin_ns = origin_ns
        self._rows: dict[str, _Rows] = {}

    def add(self, entity: str, stamp_ns: int, value: Any, columns: Callable[[list[Any]], Any]) -> None:
        """Add one row.

        Args:
            entity: Path of the entity.
            stamp_ns: Its time [ns].
            value: The row.
            columns: Makes Rerun's columns of a list of rows; the same for all rows of an entity.
        """
        rows = self._rows.get(entity)
        if rows is None:
            rows = self._rows[entity] = _Rows(columns)
        rows.times_s.append((stamp_ns - self._origin_ns) / NANOSECONDS)
        rows.values.append(value)
        if len(rows.values) >= ROWS_PER_BLOCK:
            self._send(entity, rows)

    def scalar(self, entity: str, stamp_ns: int, value: float) -> None:
        """Add a value of a time series, which is finite."""
        self.add(entity, stamp_ns, value, _scalars)

    def flush(self) -> None:
        """Send all rows that wait."""
        for entity, rows in self._rows.items():
            if rows.values:
                self._send(entity, rows)

    def _send(self, entity: str, rows: _Rows) -> None:
        times = rr.TimeColumn(TIMELINE, duration=np.array(rows.times_s))
        self._stream.send_columns(entity, [times], rows.send(rows.values))
        rows.times_s.clear()
        rows.values.clear()


def _scalars(values: list[float]) -> Any:
    return rr.Scalars.columns(scalars=values)
