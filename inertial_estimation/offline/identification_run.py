"""Runs an identification on streamed recordings, and keeps a segment of each for figures."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.errors import InconsistentInertiaError, MeasurementError, RecordingError, listing
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    DataSummary,
    IdentificationReport,
    MethodResult,
    RowError,
)
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.signal_blocks import BlockStream
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import NANOSECONDS, Array, seconds

SHOWN_S = 10.0  # length of the part of the data that is drawn


@dataclass(frozen=True, eq=False)
class TorqueTrace:
    """Rows measured and predicted over a segment of a recording.

    Attributes:
        recording: Name of the recording.
        times_s: Time after the recording's first sample [s], shape (k,).
        row_names: Names of the rows, m of them.
        measured: Measured, smoothed [Nm, N], shape (k, m).
        nominal: Predicted by the nominal parameters, shape (k, m).
        identified: Predicted by the identified ones, shape (k, m).
    """

    recording: str
    times_s: Array
    row_names: tuple[str, ...]
    measured: Array
    nominal: Array
    identified: Array


@dataclass(frozen=True, eq=False)
class IdentificationRun:
    """Results of an identification from recordings.

    Attributes:
        report: All numbers.
        urdf: Description with the chosen method's bodies in place; None where one is inconsistent.
        refusal: Why there is no description; empty where there is one.
        model: The chosen method's bodies with their posterior.
        training: A segment of the fitted data, None where it gives no rows.
        validation: A segment of the other data, None where it gives no rows.
    """

    report: IdentificationReport
    urdf: str | None
    refusal: str
    model: EstimatedModel
    training: TorqueTrace | None
    validation: TorqueTrace | None

    @property
    def result(self) -> MethodResult:
        """The chosen method's result."""
        return self.report.methods[self.report.chosen]


def block_stream(
    recording: Recording, topics: RecordedTopics, identifier: Identifier, config: IdentificationConfig
) -> BlockStream:
    """Return the stream of blocks an identification needs of a recording.

    Gaps are interpolated over as online, but never over more than half the window of the smoothing, which
    would then see a line made up.

    Raises:
        RecordingError: If a topic is missing or of another type.
    """
    gap = min(config.robot.inputs.timeout, 0.5 * config.smoothing.window)
    return BlockStream(
        recording,
        topics,
        identifier.row_model.sensed,
        config.robot,
        velocities=identifier.row_model.need_velocity,
        efforts=identifier.row_model.need_effort,
        max_gap_s=gap,
    )


def run_identification(
    identifier: Identifier,
    training: Sequence[BlockStream],
    validation: Sequence[BlockStream] = (),
    *,
    methods: Sequence[str],
    chosen: str = "",
    unloaded: Sequence[BlockStream] = (),
    split_s: float | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> IdentificationRun:
    """Stream recordings through an identification.

    Args:
        identifier: An identifier without data.
        training: Streams that are fitted.
        validation: Streams to judge by.
        methods: Names of the methods.
        chosen: The one whose result is written; empty: the first.
        unloaded: Streams of the robot without the load that is identified, fitted as well.
        split_s: Duration of every training stream that is fitted; the rest is used for validation [s].
        progress: Called now and then with a recording's name and the seconds of it done.

    Raises:
        RecordingError: If a recording has no usable data, or none on one side of the split.
        ~inertial_estimation.errors.InertialEstimationError: If the identifier raises one.
    """
    origins: dict[str, int] = {}
    figures = _Liveliest(origins), _Liveliest(origins)  # of the fitted data, and of those to judge by
    for stream in (*training, *unloaded, *validation):
        sides, bare = [0, 0], stream in unloaded
        judges = stream in validation
        for block, later in _divided(stream.blocks(_of(progress, stream)), None if judges else split_s):
            later |= judges
            identifier.push(block, unloaded=bare, validation=later)
            if not bare:
                figures[later].look_at(block, stream.name)
            sides[later] += block.size
        if split_s is not None and not all(sides):
            raise RecordingError(
                f"--split at {split_s:g} s leaves {sides[0]} samples of '{stream.name}' to fit and "
                f"{sides[1]} to validate by, expected some of both"
            )
    report = _completed(
        identifier.report(methods, chosen), (*training, *unloaded), validation, split_s is not None
    )
    result = report.methods[report.chosen]
    urdf, refusal = _description(identifier, report)
    traces = (figure.trace(identifier, result) for figure in figures)
    return IdentificationRun(report, urdf, refusal, identifier.model(result), *traces)


def nominal_error(rows: Sequence[RowError]) -> float:
    """Return the relative error of the nominal parameters, over the rows of `MethodResult.relative_error`.

    Args:
        rows: Errors of every row over one set of data.

    Returns:
        Norm of measured minus predicted over norm of measured; NaN without rows.
    """
    chosen = [row for row in rows if row.row not in BASE_ROWS] or list(rows)
    measured = math.hypot(*(row.rms_measured for row in chosen))
    return math.hypot(*(row.rms_nominal for row in chosen)) / measured if measured > 0.0 else math.nan


def _of(progress: Callable[[str, float], None] | None, stream: BlockStream) -> Callable[[float], None] | None:
    return None if progress is None else lambda done_s: progress(stream.name, done_s)


def _divided(blocks: Iterator[SignalBlock], split_s: float | None) -> Iterator[tuple[SignalBlock, bool]]:
    """Yield blocks and whether they follow the split; all later ones do, even if the clock jumps back."""
    cut_ns, behind = None, False
    for block in blocks:
        if split_s is None or behind:
            yield block, behind
            continue
        if cut_ns is None:
            cut_ns = block.start_ns + round(split_s * NANOSECONDS)
        at = int(np.searchsorted(block.stamps_ns, cut_ns))
        if at > 0:
            yield block.part(0, at), False
        if at < block.size:
            behind = True
            yield block.part(at, block.size), True


class _Liveliest:
    """Keeps only the part of the data with the most motion, so that memory does not grow with them."""

    def __init__(self, origins: dict[str, int]) -> None:
        """Begin with none; `origins` holds the first stamp of every recording and is added to [ns]."""
        self._block: SignalBlock | None = None
        self._motion = -1.0
        self._name = ""
        self._origins = origins

    def look_at(self, block: SignalBlock, name: str) -> None:
        """Take a block of a recording of a name."""
        self._origins.setdefault(name, block.start_ns)
        size = max(round(SHOWN_S / block.step_s), 1)
        for first in range(0, block.size, size):
            part = block.part(first, first + size)
            motion = float(np.sum(np.diff(part.q, axis=0) ** 2))
            if motion > self._motion:
                self._block, self._motion, self._name = part, motion, name

    def trace(self, identifier: Identifier, method: MethodResult) -> TorqueTrace | None:
        """Return the rows of that part; None where it gives none."""
        if self._block is None:
            return None
        try:
            rows = identifier.rows(self._block)
        except MeasurementError:  # too short to draw
            return None
        times: Array = seconds(rows.stamps_ns - self._origins[self._name])
        names, nominal = identifier.row_model.row_names, rows.predicted(np.zeros(len(method.x)))
        return TorqueTrace(self._name, times, names, rows.measured, nominal, rows.predicted(method.x))


def _completed(
    report: IdentificationReport,
    training: Sequence[BlockStream],
    validation: Sequence[BlockStream],
    split: bool,
) -> IdentificationReport:
    """Add the dropped readings of the streams; with a split, those of both sides count as fitted data."""
    judged, warnings = report.validation, report.warnings
    if judged is None and (validation or split):
        warnings = (*warnings, "the data to validate by are too short to give a row")
    if judged is not None and not split:
        judged = _dropped(judged, validation)
    return replace(report, training=_dropped(report.training, training), validation=judged, warnings=warnings)


def _dropped(summary: DataSummary, streams: Sequence[BlockStream]) -> DataSummary:
    total = Counter(summary.dropped)
    for stream in streams:
        total.update(stream.dropped)
    return replace(summary, dropped=dict(total))


def _description(identifier: Identifier, report: IdentificationReport) -> tuple[str | None, str]:
    """Return the identified description, or the reason why there is none and methods that have one."""
    chosen = report.methods[report.chosen]
    try:
        return identifier.urdf(chosen), ""
    except InconsistentInertiaError as error:
        consistent = [name for name, result in report.methods.items() if result.consistent]
        ran = f"; of the methods that ran, these are consistent: {listing(consistent)}" if consistent else ""
        return None, f"no identified.urdf: {error}{ran}"
