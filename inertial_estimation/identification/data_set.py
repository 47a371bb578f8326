"""One set of data, reduced to triangular factors as it streams in."""

from collections import Counter

import numpy as np

from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.diagnosis.finding import Finding
from inertial_estimation.diagnosis.streams import StreamCollector
from inertial_estimation.identification.block_scatter import BlockScatter
from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.identification_result import DataSummary
from inertial_estimation.identification.row_stream import RowModels, RowStream
from inertial_estimation.identification.signal_block import SIGNALS, SignalBlock, finite_runs
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.models.robot_model import RobotModel

CHECKED_S = 30.0  # of the signals that are checked
CONSTANT_RANGE = 0.02  # a joint whose positions stay within this range does not move [rad, m]
REST_FORCE = 1.0  # a base whose specific force stays within this range neither moves nor tilts [m/s^2]
REST_WINDOW_S = 0.1  # window over which the specific force is averaged for that check


class DataSet:
    """Rows and statistics of the data pushed so far, of the robot with and without a load.

    Attributes:
        stack: The rows in the unknowns.
        scatter: Their scatter over blocks of time.
        freed: Rows and scatter in further unknowns, those of links that are held; None for none.
        streams: The first signals, which are checked against the robot's description.
        statistics: Of the signals.
        unloaded: Whether data of the robot without the load are among them.
    """

    def __init__(self, models: RowModels, setup: RobotSetup, freed: RowModels | None = None) -> None:
        self._collectors = [RowCollector(one) for one in (models, freed) if one is not None]
        self.unloaded = False
        self.stack, self.scatter = self._collectors[0].stack, self._collectors[0].scatter
        self.freed = self._collectors[1] if freed is not None else None
        self.streams = StreamCollector(setup, CHECKED_S)
        self.statistics = SignalStatistics(setup.robot)

    @property
    def shortest_s(self) -> float:
        """Length of the shortest stretch that gives a row [s], 0 before the first block."""
        return self._collectors[0].stream(unloaded=False).shortest_s

    def push(self, block: SignalBlock, *, unloaded: bool = False) -> None:
        """Take a block; samples that are not finite are left out and counted.

        Args:
            block: The signals.
            unloaded: Whether the robot does not carry the load that is identified.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a signal is missing or of another shape.
        """
        self.unloaded |= unloaded
        if not block.size:
            if not block.continues:
                self._interrupt(unloaded)
            return
        left, end_ns = block.size, block.start_ns
        for part in finite_runs(block):
            left -= part.size
            end_ns = int(part.stamps_ns[-1])
            for collector in self._collectors:
                collector.push(part, unloaded)
            self.statistics.add(part)
            self.streams.push_signals(part.stamps_ns, **{name: getattr(part, name) for name in SIGNALS})
        if left:
            self.statistics.dropped["not a number"] += left
            if end_ns != int(block.stamps_ns[-1]):
                self._interrupt(unloaded)

    def findings(self, config: RobotConfig) -> list[Finding]:
        """Return what is wrong with the first signals, of a robot with these parameters."""
        streams = self.streams.streams()
        return [] if streams is None else diagnose(streams, self.streams.setup, config).findings

    def _interrupt(self, unloaded: bool) -> None:
        for collector in self._collectors:
            collector.stream(unloaded).interrupt()


class RowCollector:
    """Collects rows in one set of unknowns.

    Attributes:
        stack: The rows.
        scatter: Their scatter over blocks of time.
    """

    def __init__(self, models: RowModels) -> None:
        unknowns = models.loaded.to_unknowns.shape[1]
        self.stack = EquationStack(models.row_names, unknowns)
        self.scatter = BlockScatter(len(models.row_names), unknowns, pooled=models.pooled)
        self._loaded = RowStream(models.loaded)
        self._unloaded = RowStream(models.unloaded or models.loaded)

    def stream(self, unloaded: bool) -> RowStream:
        """Return what turns data with or without the load into rows."""
        return self._unloaded if unloaded else self._loaded

    def push(self, part: SignalBlock, unloaded: bool) -> None:
        """Take signals without a gap.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a signal is missing or of another shape.
        """
        for rows in self.stream(unloaded).push(part):
            self.stack.add(rows)
            self.scatter.add(rows)


class SignalStatistics:
    """Running summary of the signals of one set of data.

    Attributes:
        samples: Samples taken.
        duration_s: Their time span, gaps left out [s].
        dropped: Samples left out, by reason.
    """

    def __init__(self, robot: RobotModel) -> None:
        self._robot = robot
        self.samples = 0
        self.duration_s = 0.0
        self.dropped: Counter[str] = Counter()
        self._low, self._high = np.full(robot.n_joints, np.inf), np.full(robot.n_joints, -np.inf)
        self._force_low, self._force_high = np.full(3, np.inf), np.full(3, -np.inf)

    def add(self, block: SignalBlock) -> None:
        """Take the finite samples of a block into account."""
        self.samples += block.size
        self.duration_s += block.size * block.step_s
        if block.size:
            self._low = np.minimum(self._low, block.q.min(axis=0))
            self._high = np.maximum(self._high, block.q.max(axis=0))
            if block.f_I is not None:
                windows = np.array_split(block.f_I, max(int(block.size * block.step_s / REST_WINDOW_S), 1))
                means = np.array([window.mean(axis=0) for window in windows])
                self._force_low = np.minimum(self._force_low, means.min(axis=0))
                self._force_high = np.maximum(self._force_high, means.max(axis=0))

    @property
    def constant_joints(self) -> tuple[str, ...]:
        """Joints that did not move."""
        names = zip(self._robot.joint_names, self._high - self._low, strict=True)
        return tuple(name for name, width in names if width < CONSTANT_RANGE)

    @property
    def at_rest(self) -> bool:
        """Whether no joint and no base moved."""
        still = len(self.constant_joints) == self._robot.n_joints
        return still and not (self._force_high - self._force_low).max() > REST_FORCE

    def summary(self, stack: EquationStack) -> DataSummary:
        """Return the summary of the data."""
        return DataSummary(self.samples, self.duration_s, stack.rows, stack.left_out, dict(self.dropped))
