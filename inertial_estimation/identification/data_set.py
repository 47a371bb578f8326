"""One set of data, reduced to triangular factors as it streams in."""

from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.row_stream import RowModel, RowStream
from inertial_estimation.identification.signal_block import SIGNALS, SignalBlock
from inertial_estimation.identification.signal_statistics import SignalStatistics, finite_runs

__all__ = ["DataSet"]


class DataSet:
    """Rows and statistics of the data pushed so far.

    Attributes:
        stack: The rows.
        checks: Of the signals against the robot's description.
        statistics: Of the signals.
    """

    def __init__(self, model: RowModel, checks: DataChecks, row_names: tuple[str, ...]) -> None:
        self._stream = RowStream(model)
        self.stack = EquationStack(row_names, model.to_unknowns.shape[1])
        self.checks = checks
        self.statistics = SignalStatistics(checks.robot.model)

    @property
    def shortest_s(self) -> float:
        """Length of the shortest stretch that gives a row [s], 0 before the first block."""
        return self._stream.shortest_s

    def push(self, block: SignalBlock) -> None:
        """Take a block; samples that are not finite are left out and counted.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a signal is missing or of another shape.
        """
        if not block.size:
            if not block.continues:
                self._stream.interrupt()
            return
        left, end_ns = block.size, block.start_ns
        for part in finite_runs(block):
            left -= part.size
            end_ns = int(part.stamps_ns[-1])
            for rows in self._stream.push(part):
                self.stack.add(rows)
            self.statistics.add(part)
            self.checks.push_signals(part.stamps_ns, **{name: getattr(part, name) for name in SIGNALS})
        if left:
            self.statistics.dropped["not a number"] += left
            if end_ns != int(block.stamps_ns[-1]):
                self._stream.interrupt()
