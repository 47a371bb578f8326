"""One set of data, reduced to triangular factors as it streams in."""

from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.row_stream import RowModel, RowStream
from inertial_estimation.identification.signal_block import SIGNALS, SignalBlock
from inertial_estimation.identification.signal_statistics import SignalStatistics, finite_runs

__all__ = ["DataSet"]


class DataSet:
    """Rows and statistics of the data pushed so far, of the robot with and without a load.

    Attributes:
        stack: The rows.
        checks: Of the signals against the robot's description.
        statistics: Of the signals.
        unloaded: Whether data of the robot without the load are among them.
    """

    def __init__(
        self,
        model: RowModel,
        checks: DataChecks,
        row_names: tuple[str, ...],
        unloaded: RowModel | None = None,
    ) -> None:
        self._stream = RowStream(model)
        self._bare_stream = RowStream(unloaded or model)
        self.unloaded = False
        self.stack = EquationStack(row_names, model.to_unknowns.shape[1])
        self.checks = checks
        self.statistics = SignalStatistics(checks.robot.model)

    @property
    def shortest_s(self) -> float:
        """Length of the shortest stretch that gives a row [s], 0 before the first block."""
        return self._stream.shortest_s

    def push(self, block: SignalBlock, *, unloaded: bool = False) -> None:
        """Take a block; samples that are not finite are left out and counted.

        Args:
            block: The signals.
            unloaded: Whether the robot does not carry the load that is identified.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a signal is missing or of another shape.
        """
        stream = self._bare_stream if unloaded else self._stream
        self.unloaded |= unloaded
        if not block.size:
            if not block.continues:
                stream.interrupt()
            return
        left, end_ns = block.size, block.start_ns
        for part in finite_runs(block):
            left -= part.size
            end_ns = int(part.stamps_ns[-1])
            for rows in stream.push(part):
                self.stack.add(rows)
            self.statistics.add(part)
            self.checks.push_signals(part.stamps_ns, **{name: getattr(part, name) for name in SIGNALS})
        if left:
            self.statistics.dropped["not a number"] += left
            if end_ns != int(block.stamps_ns[-1]):
                stream.interrupt()
