"""The inputs of one step: rows of several streams at one time, and how they lie in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.construction import made_of_checked
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.signals import Array


class Continuity(Enum):
    """Relation of a sample to the one before.

    Attributes:
        CONTINUOUS: The sample follows without a gap.
        AFTER_GAP: Every input was missing for longer than a jump, or the clock was set back. State that does
            not change during a gap (inertias, gyroscope bias) is still valid.
        RESTARTED: The sample is the first, or stamps went back and the driver does not show that the motion
            goes on (a recording or simulation begins anew); no earlier state is valid.
    """

    CONTINUOUS = "continuous"
    AFTER_GAP = "after a gap"
    RESTARTED = "restarted"


@dataclass(frozen=True, slots=True, eq=False)
class AlignedSample:
    """All inputs at the time of one driver row.

    Attributes:
        stamp_ns: Stamp of the driver row as received [ns], which the outputs carry.
        time_ns: Regularised stamp minus the delay of the driver [ns], over which the pipelines integrate.
        driver_row: Mean of the driver rows since the last step, shape (width,); empty without `numbers`.
        rows: Row of each other stream at that time; None where missing (not arrived, or in a gap); empty
            without `numbers`.
        continuity: Relation to the sample before.
        complete: Whether no required stream is missing.
    """

    stamp_ns: int
    time_ns: int
    driver_row: Array
    rows: Mapping[str, Array | None]
    continuity: Continuity
    complete: bool


aligned_sample = made_of_checked(AlignedSample)


@dataclass(frozen=True, eq=False)
class SampleLayout:
    """Where the numbers of a step lie, one row after the other.

    Attributes:
        width: Number of them.
        driver: Those of the driver.
        columns: Those of each other stream that steps need, by its name.
        nothing: Rows of these streams without numbers.
    """

    width: int
    driver: slice
    columns: tuple[tuple[str, slice], ...]
    nothing: Mapping[str, Array]

    @classmethod
    def of(cls, driver: StreamSpec, required: Sequence[StreamSpec], *, numbers: bool) -> "SampleLayout":
        """Lay out the rows; all of them are empty without `numbers`."""
        widths = [spec.width if numbers else 0 for spec in (driver, *required)]
        ends = np.cumsum(widths).tolist()
        columns = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
        names = [spec.name for spec in required]
        nothing = dict.fromkeys(names, np.empty(0))
        return cls(ends[-1], columns[0], tuple(zip(names, columns[1:], strict=True)), nothing)
