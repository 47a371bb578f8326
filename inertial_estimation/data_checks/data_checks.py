"""All checks of the data of a robot, fed reading by reading, offline and in a node alike."""

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.aligned_signals import AlignedSignals
from inertial_estimation.data_checks.check_result import CheckResult, Verdict, health_of
from inertial_estimation.data_checks.checked_inputs import CheckedInputs
from inertial_estimation.data_checks.data_table import (
    CheckedRobot,
    DataTable,
    PredictedWindow,
    WindowPredictor,
)
from inertial_estimation.data_checks.data_window import DataWindow, RawWindow, reduced
from inertial_estimation.data_checks.effort_checks import effort_stages
from inertial_estimation.data_checks.imu_checks import accelerometer_checks, gyroscope_checks
from inertial_estimation.data_checks.position_checks import position_checks, velocity_checks
from inertial_estimation.data_checks.staged_judgement import FIRST_NS, StagedJudgement
from inertial_estimation.data_checks.stream_checks import name_checks, stamp_checks
from inertial_estimation.data_checks.window_collector import WINDOW_NS, WindowCollector
from inertial_estimation.data_checks.wrench_checks import wrench_checks
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    Health,
    ImuSample,
    JointReading,
    WrenchSample,
    seconds,
)

FEWEST_WINDOWS = 16  # 4 s of data of a node, 1.6 s of a recording
FEWEST_STATIC = 8  # of a node, for the checks that need no motion
MOST_WINDOWS = 240  # of a recording, spread over all of it
NODE_WINDOWS = 60  # of a node: the last minute
DENSE_WINDOWS = 20  # the first ones of a node, four a second
SPARSE_PERIOD_NS = NANOSECONDS  # from window to window of a node after that
Check = Callable[[DataTable, CheckedRobot], list[CheckResult]]


class DataChecks:
    """Checks raw readings against the robot's description.

    Readings are reduced to short windows, of which a bounded number is kept: the last minute in a node, or
    windows spread evenly over a whole recording.

    Attributes:
        robot: What is known of the robot.
        inputs: What is kept of every reading.
        deferred: Whether the owner calls `work` where time is free; else joint states do the work.
    """

    def __init__(self, setup: RobotSetup, config: RobotConfig, *, whole_recording: bool = False) -> None:
        """Prepare for a robot.

        Args:
            setup: The robot, its contacts and its IMU.
            config: Its parameters, for delays, offsets and gains.
            whole_recording: Whether to judge all data pushed so far rather than the last minute.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If offsets or gains do not fit the robot.
        """
        self.robot = CheckedRobot.of(setup)
        self._collector = WindowCollector(setup, config)
        if whole_recording:
            self._collector.period_ns = WINDOW_NS
        self._predictor = WindowPredictor(setup)
        gap_s = config.inputs.max_gap
        self.inputs = CheckedInputs(setup.contact_names, gap_s, forgets=not whole_recording)
        self.deferred = False
        self._whole = whole_recording
        self._windows: deque[PredictedWindow] = deque(maxlen=None if whole_recording else NODE_WINDOWS)
        self._judging = StagedJudgement(self._stages)
        self._wanted: tuple[tuple[int, int], tuple[int, int]] | None = None
        self._config = config
        self._others: DataChecks | None = None
        self._say_what_is_wanted()

    def are_like(self, others: "DataChecks") -> bool:
        """Return whether checks are of the same robot with the same parameters."""
        same = self._whole == others._whole and self._config == others._config
        return same and self.robot.model.model == others.robot.model.model

    def leave_to(self, others: "DataChecks") -> None:
        """Leave all judgements to the checks of another pipeline, which see the same readings.

        Args:
            others: Those checks, which are like these.
        """
        self._others = others
        for one in self.inputs:
            one.stop_counting()

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state, as it was sent."""
        self.inputs.push_joints(reading)
        self.see_joints(reading)

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        self.inputs.push_imu(sample)
        self.see_imu(sample.stamp_ns, np.concatenate((sample.specific_force_I, sample.angular_rate_I)))

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact; one that the robot does not have is ignored."""
        if contact in self.inputs.wrenches:
            self.inputs.push_wrench(contact, sample)
            self.see_wrench(contact, sample.stamp_ns, sample.wrench_F)

    def see_joints(self, reading: JointReading) -> None:
        """See a joint state that `inputs` has taken; needed where `inputs` want it alone."""
        if self._others is not None:
            return
        self._collector.push_joints(reading)
        if not self.deferred:
            self.work(reading.stamp_ns)
        self._say_what_is_wanted()

    def is_due(self, stamp_ns: int) -> bool:
        """Return whether there is something to do at a stamp [ns]."""
        return bool(self._collector.complete) or self._judging.is_due(stamp_ns)

    def work(self, stamp_ns: int) -> None:
        """Do a part of what there is to do: up to two milliseconds.

        Args:
            stamp_ns: Stamp of the newest reading [ns].
        """
        if self._collector.complete:
            self._add(self._collector.complete.popleft())
        elif self._judging.is_due(stamp_ns):
            with _quiet():
                self._judging.advance(stamp_ns)

    def see_imu(self, stamp_ns: int, row: Array) -> None:
        """See an IMU reading that `inputs` have taken; needed where they want it alone.

        Args:
            stamp_ns: Its stamp [ns].
            row: Specific force and angular rate, shape (6,).
        """
        if self._others is None:
            self._collector.push_imu(stamp_ns, row)

    def see_wrench(self, contact: str, stamp_ns: int, wrench_F: Array) -> None:
        """See a wrench of a contact that `inputs` have taken; needed where they want it alone.

        Args:
            contact: Name of the contact.
            stamp_ns: Its stamp [ns].
            wrench_F: Force and moment, shape (6,).
        """
        if self._others is None:
            self._collector.push_wrench(contact, stamp_ns, wrench_F)

    def push_signals(self, stamps_ns: NDArray[np.int64], **signals: Array | None) -> None:
        """Take aligned signals, positions and efforts corrected, instead of single readings.

        Args:
            stamps_ns: Stamps [ns], shape (m,).
            **signals: q, v, tau, f_I, w_I, wrenches as in `DataWindow` with m rows each; None where not
                measured.
        """
        continuous = self.robot.model.continuous_joints
        aligned = AlignedSignals.of(stamps_ns, signals, len(self.robot.contacts))
        for window in aligned.windows(self._collector.period_ns, continuous):
            self._predict(window)

    def results(self) -> list[CheckResult]:
        """Judge the data.

        A check that needs another input is left out while that one is wrong: torques cannot be predicted by
        positions in degrees.

        Returns:
            Results in the order in which the errors are to be mended; empty while there are fewer than
            `FEWEST_WINDOWS` windows and no joint is missing.
        """
        if self._others is not None:
            return self._others.results()
        with _quiet():
            return [*self.inputs.results(), *(result for stage in self._stages() for result in stage)]

    def health(self) -> Health:
        """Return the last judgement; it is renewed at most once a minute, more often at the beginning.

        A joint state, or a call of `work`, executes at most one stage of a judgement, so that no step of a
        node waits for all of them. Errors that a stage finds are returned without waiting for the later ones.
        """
        if self._others is not None:
            return self._others.health()
        age = self._judging.age_ns(self._windows[-1].data.stamp_ns) if self._windows else None
        if age is None:
            if self._collector.missing:
                return health_of(name_checks(self._collector.missing))
            return health_of([], "waiting for data")
        waiting = f"{seconds(age):.0f} s of data, the first check is after {seconds(FIRST_NS):g} s"
        return health_of([*self.inputs.results(), *self._judging.results], waiting)

    def _say_what_is_wanted(self) -> None:
        """Let the inputs know which readings of them belong to a window, or advance a judgement."""
        inputs, collector = self.inputs, self._collector
        advances = self._judging.in_progress and not self.deferred
        idle = (0, 0) if advances else collector.idle_span_ns
        span = collector.span_ns
        if (idle, span) == self._wanted:
            return
        self._wanted = idle, span
        inputs.joints.want(*idle, outside=True)
        for one in (inputs.imu, *inputs.wrenches.values()):
            one.want(*span)

    def _add(self, raw: RawWindow) -> None:
        """Reduce a window, and begin a judgement if one is due."""
        with _quiet():
            window = reduced(raw, self.robot.model.continuous_joints)
        if window is not None:
            self._predict(window)
            if not self._whole:
                self._judging.begin_if_due(window.stamp_ns)

    def _predict(self, window: DataWindow) -> None:
        with _quiet():
            self._windows.append(self._predictor.predicted(window))
        if not self._whole and len(self._windows) >= DENSE_WINDOWS:
            self._collector.period_ns = SPARSE_PERIOD_NS
        if self._whole and len(self._windows) > 2 * MOST_WINDOWS:
            self._windows = deque(list(self._windows)[::2])
            self._collector.period_ns *= 2

    def _stages(self) -> Iterator[list[CheckResult]]:
        """Judge the data of this moment, the efforts last, in stages that are short."""
        windows, named = list(self._windows), name_checks(self._collector.missing)
        early = len(windows) < FEWEST_WINDOWS
        if early and (self._whole or len(windows) < FEWEST_STATIC):
            yield _failed(named)
            if windows and not self._whole:  # positions outside of their limits are so in the first one
                yield _failed(position_checks(DataTable.of(windows, self.robot.model), self.robot))
            return
        found = [*named, *stamp_checks(one.statistics for one in self.inputs)]
        yield _failed(found) if early else found
        table, robot = DataTable.of(windows, self.robot.model), self.robot
        yield []
        for check in _sensor_checks(floating=robot.model.floating_base, early=early):
            results = check(table, robot)
            yield _failed(results) if early else results
            if check is not velocity_checks and _wrong(results):
                return
        if not early:
            yield from effort_stages(table, robot)


def _sensor_checks(*, floating: bool, early: bool) -> list[Check]:
    """Return the checks that efforts rely on, in an order in which each relies on those before.

    Early ones are those of gross errors that show at rest and in any motion.
    """
    if early:
        return [position_checks, *([accelerometer_checks, wrench_checks] if floating else [])]
    moving = [accelerometer_checks, gyroscope_checks, wrench_checks]
    return [position_checks, velocity_checks, *(moving if floating else [])]


def _quiet() -> np.errstate:
    """Numbers out of range, which the checks judge, are no warnings of numpy."""
    return np.errstate(all="ignore")


def _failed(results: list[CheckResult]) -> list[CheckResult]:
    return [result for result in results if result.failed]


def _wrong(results: list[CheckResult]) -> bool:
    return any(result.verdict is Verdict.WRONG for result in results)
