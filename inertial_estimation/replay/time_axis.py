"""The time axis that all tables and figures of a replay share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array, seconds


@dataclass(frozen=True)
class TimeAxis:
    """Seconds since the start of the recording, by the clock of the stamps.

    Attributes:
        origin_ns: Stamp of the start of the recording [ns].
        begin_ns: Stamp from which on it was replayed [ns].
        end_ns: Stamp of its end [ns].
        hold_out_ns: Stamp from which on the inertial filter no longer learned [ns]; None: it always did.
    """

    origin_ns: int
    begin_ns: int
    end_ns: int
    hold_out_ns: int | None = None

    def of(self, stamps_ns: NDArray[np.int64]) -> Array:
        """Return the times of stamps [s], shape as given."""
        times: Array = seconds(stamps_ns - self.origin_ns)
        return times

    def at(self, stamp_ns: int) -> float:
        """Return the time of one stamp [s]."""
        return seconds(stamp_ns - self.origin_ns)

    def as_json(self) -> dict[str, Any]:
        """Return the axis for `metrics.json`."""
        held = None if self.hold_out_ns is None else self.at(self.hold_out_ns)
        return {
            "origin_stamp_ns": self.origin_ns,
            "begin_s": self.at(self.begin_ns),
            "end_s": self.at(self.end_ns),
            "hold_out_s": held,
        }
