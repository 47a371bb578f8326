"""One set of data, reduced to triangular factors as it streams in."""

from collections import Counter

import numpy as np

from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.diagnosis.finding import Finding
from inertial_estimation.identification.equations import EquationStack
from inertial_estimation.identification.identification_result import DataSummary
from inertial_estimation.identification.rows import RowModel
from inertial_estimation.identification.signal_block import SIGNALS, SignalBlock, finite_runs
from inertial_estimation.inputs.robot_streams import StreamCollector
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import Array

CHECKED_S = 30.0  # of the signals that are checked
CONSTANT_RANGE = 0.02  # a joint whose positions stay within this range does not move [rad, m]
REST_FORCE = 1.0  # a base whose specific force stays within this range neither moves nor tilts [m/s^2]
REST_WINDOW_S = 0.1  # window over which the specific force is averaged for that check


class DataSet:
    """Rows and statistics of the data pushed so far, of the robot with and without a load.

    Attributes:
        stack: The rows.
        unloaded: Whether data of the robot without the load are among them.
        samples: Finite samples.
        duration_s: Their time span, gaps left out [s].
        shortest_s: Length of the shortest segment that gives a row [s], 0 before the first one.
    """

    def __init__(self, model: RowModel, setup: RobotSetup) -> None:
        self._model, self._streams = model, StreamCollector(setup, CHECKED_S)
        self.stack = EquationStack(model.row_names, len(model.parameters.unknowns), pooled=model.pooled)
        self.unloaded, self.samples, self.duration_s, self.shortest_s = False, 0, 0.0, 0.0
        self._dropped: Counter[str] = Counter()
        n = setup.robot.n_joints
        self._q_range = np.full(n, np.inf), np.full(n, -np.inf)
        self._force_range = np.full(3, np.inf), np.full(3, -np.inf)

    def push(self, block: SignalBlock, *, unloaded: bool = False) -> None:
        """Take a segment of the robot with or without its load; samples that are not finite are left out.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a signal is missing or of another shape.
        """
        self.unloaded |= unloaded
        self.shortest_s = self._model.timing(block.step_s).shortest_s
        kept = 0
        for part in finite_runs(block):
            for rows in self._model.rows(part, unloaded=unloaded):
                self.stack.add(rows)
            self._look_at(part)
            kept += part.size
        if kept < block.size:
            self._dropped["not a number"] += block.size - kept

    def findings(self, config: RobotConfig) -> list[Finding]:
        """Return what is wrong with the first signals, of a robot with these parameters."""
        streams = self._streams.streams()
        return [] if streams is None else diagnose(streams, self._streams.setup, config).findings

    @property
    def constant_joints(self) -> tuple[str, ...]:
        """Joints that did not move."""
        low, high = self._q_range
        names = zip(self._streams.setup.robot.joint_names, high - low, strict=True)
        return tuple(name for name, width in names if width < CONSTANT_RANGE)

    @property
    def at_rest(self) -> bool:
        """Whether no joint and no base moved."""
        low, high = self._force_range
        still = len(self.constant_joints) == len(self._q_range[0])
        return still and not (high - low).max() > REST_FORCE

    def summary(self) -> DataSummary:
        """Return the summary of the data."""
        return DataSummary(self.samples, self.duration_s, self.stack.rows, dict(self._dropped))

    def _look_at(self, part: SignalBlock) -> None:
        self._streams.push_signals(part.stamps_ns, **{name: getattr(part, name) for name in SIGNALS})
        self.samples += part.size
        self.duration_s += part.size * part.step_s
        self._q_range = _widened(self._q_range, part.q)
        if part.f_I is not None:
            windows = np.array_split(part.f_I, max(int(part.size * part.step_s / REST_WINDOW_S), 1))
            means = np.array([window.mean(axis=0) for window in windows])
            self._force_range = _widened(self._force_range, means)


def _widened(bounds: tuple[Array, Array], rows: Array) -> tuple[Array, Array]:
    return np.minimum(bounds[0], rows.min(axis=0)), np.maximum(bounds[1], rows.max(axis=0))
