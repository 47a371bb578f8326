"""Statistics of the signals of an identification, and their finite stretches."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.identification_result import DataSummary
from inertial_estimation.identification.signal_block import SIGNALS, SignalBlock
from inertial_estimation.models.robot_model import RobotModel

CONSTANT_RANGE = 0.02  # a joint whose positions stay within this range does not move [rad, m]
REST_FORCE = 1.0  # a base whose specific force stays within this range neither moves nor tilts [m/s^2]
REST_WINDOW_S = 0.1  # window over which the specific force is averaged for that check


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


def finite_runs(block: SignalBlock) -> Iterator[SignalBlock]:
    """Yield the stretches of a block in which every signal is finite.

    Args:
        block: Samples, which may contain NaN.

    Yields:
        The block itself if all samples are finite, otherwise its finite parts; all but the first are marked
            as not continuing.
    """
    signals = [values for name in SIGNALS if (values := getattr(block, name)) is not None]
    good = np.ones(block.size, dtype=bool)
    for values in signals:
        good &= np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if good.all():
        yield block
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(int)))
    for first, end in edges.reshape(-1, 2).tolist():
        yield block.part(first, end, continues=block.continues and first == 0)
