"""All checks of the data of a robot: of a whole recording, or of some windows of its readings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.checked_inputs import CheckedInputs
from inertial_estimation.data_checks.data_table import (
    CheckedRobot,
    DataTable,
    PredictedWindow,
    WindowPredictor,
)
from inertial_estimation.data_checks.data_window import FEWEST_SAMPLES, DataWindow, RawWindow, reduced
from inertial_estimation.data_checks.effort_checks import effort_checks
from inertial_estimation.data_checks.imu_checks import accelerometer_checks, gyroscope_checks
from inertial_estimation.data_checks.position_checks import position_checks, velocity_checks
from inertial_estimation.data_checks.stream_checks import name_checks, stamp_checks
from inertial_estimation.data_checks.wrench_checks import wrench_checks
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotGeometryConfig, RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, WrenchSample

WINDOW_NS = 100_000_000  # averages noise, short against a gait; ten samples at 100 Hz
LONGEST_NS = NANOSECONDS  # a slow input may lengthen a window up to this
SLACK_NS = 50_000_000  # the other inputs may arrive later than the joint states by this
MOST_SAMPLES = 2000  # of one input in a window; a burst beyond it is left out


class WindowCollector:
    """Collects one window after another.

    Attributes:
        missing: Joints of the model that the last joint state did not have.
        period_ns: Time from window to window [ns]; may be raised.
    """

    def __init__(self, setup: RobotSetup, config: RobotGeometryConfig) -> None:
        self.missing: tuple[str, ...] = ()
        self.period_ns = WINDOW_NS
        self._robot = setup.robot
        self._contacts = setup.contact_names
        self._corrections = joint_corrections(config.joint_offsets, config.drive_gains, setup.robot)
        self._delays = config.inputs
        self._names: tuple[str, ...] | None = None
        self._order: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._begin_ns: int | None = None
        self._next_ns: int | None = None
        self._clear()

    def push_joints(self, reading: JointReading) -> RawWindow | None:
        """Take a joint state, which opens and closes the windows; return the one that it closes."""
        stamp = reading.stamp_ns
        begin, due = self._begin_ns, self._next_ns
        if begin is None:
            if due is not None and due - self.period_ns - LONGEST_NS < stamp < due:
                return None
            self._begin_ns = begin = stamp
            self._clear()
        age = stamp - begin
        if not 0 <= age <= 2 * LONGEST_NS:  # a jump of the stamps, or a gap
            self._begin_ns, self._next_ns = None, stamp + 1
            return None
        if age < WINDOW_NS or (len(self._rows) <= FEWEST_SAMPLES and age < LONGEST_NS):
            self._keep(reading)
            return None
        if age < WINDOW_NS + SLACK_NS:
            return None
        self._begin_ns, self._next_ns = None, begin + self.period_ns
        return self._closed()

    @property
    def _span_ns(self) -> tuple[int, int]:
        """First stamp of the window that is open, and the one behind its last; equal where none is [ns]."""
        begin = self._begin_ns
        return (0, 0) if begin is None else (begin, begin + WINDOW_NS)

    def push_imu(self, stamp_ns: int, row: Array) -> None:
        """Take specific force and angular rate, shape (6,)."""
        begin, end = self._span_ns
        if begin <= stamp_ns < end and len(self._imu) < MOST_SAMPLES:
            self._imu.append((stamp_ns, row))

    def push_wrench(self, contact: str, stamp_ns: int, wrench_F: Array) -> None:
        """Take the wrench of one of the contacts, shape (6,)."""
        begin, end = self._span_ns
        rows = self._wrenches[contact]
        if begin <= stamp_ns < end and len(rows) < MOST_SAMPLES:
            rows.append(wrench_F)

    def _clear(self) -> None:
        self._rows: list[tuple[int, Array]] = []
        self._imu: list[tuple[int, Array]] = []
        self._wrenches: dict[str, list[Array]] = {name: [] for name in self._contacts}

    def _keep(self, reading: JointReading) -> None:
        if reading.names != self._names:
            where = {name: i for i, name in enumerate(reading.names)}
            self.missing = tuple(name for name in self._robot.joint_names if name not in where)
            self._names = reading.names
            self._order = np.array([where.get(name, -1) for name in self._robot.joint_names], dtype=np.int64)
        if self.missing or len(self._rows) >= MOST_SAMPLES:
            return
        order, n = self._order, len(self._order)
        row = np.full(3 * n, np.nan)
        if reading.velocity is not None:
            row[n : 2 * n] = reading.velocity[order]
        with np.errstate(all="ignore"):  # numbers out of range are judged, they are no warnings of numpy
            row[:n] = reading.position[order] + self._corrections.offset
            if reading.effort is not None:
                row[2 * n :] = reading.effort[order] * self._corrections.gain
        self._rows.append((reading.stamp_ns, row))

    def _closed(self) -> RawWindow | None:
        """Return the window that ends; None where it has no joint state."""
        if not self._rows:
            return None
        stamps, rows = zip(*self._rows, strict=True)
        return RawWindow(
            stamps_ns=stamps,
            joints=np.array(rows),
            imu_stamps_ns=[row[0] for row in self._imu],
            imu=np.array([row for _stamp, row in self._imu]).reshape(-1, 6),
            wrenches=[np.array(self._wrenches[name]).reshape(-1, 6) for name in self._contacts],
        )


@dataclass(frozen=True, eq=False)
class AlignedSignals:
    """Signals of m samples.

    Attributes:
        stamps_ns: Increasing stamps [ns], shape (m,).
        joints: Positions, velocities and efforts, NaN where not measured, shape (m, 3 n).
        imu: Specific force and angular rate, shape (m, 6), or (0, 6) without.
        wrenches: Of each contact, shape (m, k, 6), or (0, k, 6) without.
    """

    stamps_ns: NDArray[np.int64]
    joints: Array
    imu: Array
    wrenches: Array

    @classmethod
    def of(
        cls, stamps_ns: NDArray[np.int64], signals: Mapping[str, Array | None], contacts: int
    ) -> "AlignedSignals":
        """Arrange signals by name (q, v, tau, f_I, w_I, wrenches), None where not measured."""
        q = signals["q"]
        assert q is not None, "the joint positions are always measured"
        unknown = np.full_like(q, np.nan)
        joints = [values if (values := signals[name]) is not None else unknown for name in ("q", "v", "tau")]
        f_I, w_I, wrenches = signals["f_I"], signals["w_I"], signals["wrenches"]
        imu = np.hstack((f_I, w_I)) if f_I is not None and w_I is not None else np.zeros((0, 6))
        if wrenches is None or wrenches.shape[1] != contacts:
            wrenches = np.zeros((0, contacts, 6))
        return cls(stamps_ns, np.hstack(joints), imu, wrenches)

    def windows(self, period_ns: int, continuous: NDArray[np.int64]) -> Iterator[DataWindow]:
        """Yield windows at a period.

        Args:
            period_ns: Time from window to window [ns].
            continuous: Indices of joints without limits, shape (c,).
        """
        stamps = self.stamps_ns
        for begin_ns in range(int(stamps[0]), int(stamps[-1]) - WINDOW_NS + 2, period_ns):
            first, end = np.searchsorted(stamps, (begin_ns, begin_ns + WINDOW_NS)).tolist()
            imu = self.imu[first:end]
            raw = RawWindow(
                stamps_ns=stamps[first:end].tolist(),
                joints=self.joints[first:end],
                imu_stamps_ns=stamps[first:end].tolist() if len(imu) else [],
                imu=imu,
                wrenches=list(self.wrenches[first:end].transpose(1, 0, 2)),
            )
            window = reduced(raw, continuous)
            if window is not None:
                yield window


FEWEST_WINDOWS = 16  # 1.6 s of a recording
MOST_WINDOWS = 240  # spread over all of it
Check = Callable[[DataTable, CheckedRobot], list[CheckResult]]


class DataChecks:
    """Checks raw readings against the robot's description.

    Readings are reduced to short windows, spread evenly over all of them, of which a bounded number is kept.

    Attributes:
        robot: What is known of the robot.
        inputs: What is kept of every reading.
    """

    def __init__(self, setup: RobotSetup, config: RobotGeometryConfig) -> None:
        """Prepare for a robot.

        Args:
            setup: The robot, its contacts and its IMU.
            config: Its parameters, for delays, offsets and gains.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If offsets or gains do not fit the robot.
        """
        self.robot = CheckedRobot.of(setup)
        self.inputs = CheckedInputs(setup.contact_names, config.inputs.max_gap)
        self._collector = WindowCollector(setup, config)
        self._predictor = WindowPredictor(setup)
        self._windows: list[PredictedWindow] = []

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state, as it was sent."""
        self.inputs.push_joints(reading)
        window = self._collector.push_joints(reading)
        if window is not None:
            self.push_window(window)

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        self.inputs.push_imu(sample)
        row = np.concatenate((sample.specific_force_I, sample.angular_rate_I))
        self._collector.push_imu(sample.stamp_ns, row)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact; one that the robot does not have is ignored."""
        if contact in self.inputs.wrenches:
            self.inputs.push_wrench(contact, sample)
            self._collector.push_wrench(contact, sample.stamp_ns, sample.wrench_F)

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

    def push_window(self, raw: RawWindow) -> None:
        """Take the readings of one window, positions and efforts corrected, instead of single readings."""
        with _quiet():
            window = reduced(raw, self.robot.model.continuous_joints)
        if window is not None:
            self._predict(window)

    def results(self) -> list[CheckResult]:
        """Judge the data.

        A check that needs another input is left out while that one is wrong: torques cannot be predicted by
        positions in degrees.

        Returns:
            Results in the order in which the errors are to be mended; those of the windows are missing while
            there are fewer than `FEWEST_WINDOWS`, but for joints that are.
        """
        with _quiet():
            return [*self.inputs.results(), *self._judged()]

    def _predict(self, window: DataWindow) -> None:
        with _quiet():
            self._windows.append(self._predictor.predicted(window))
        if len(self._windows) > 2 * MOST_WINDOWS:
            self._windows = self._windows[::2]
            self._collector.period_ns *= 2

    def _judged(self) -> list[CheckResult]:
        """Judge the windows, the efforts last."""
        found = name_checks(self._collector.missing)
        if len(self._windows) < FEWEST_WINDOWS:
            return [result for result in found if result.failed]
        found += stamp_checks(one.statistics for one in self.inputs)
        table = DataTable.of(self._windows, self.robot.model)
        moving: list[Check] = [accelerometer_checks, gyroscope_checks, wrench_checks]
        of_base = moving if self.robot.model.floating_base else []
        for check in (position_checks, velocity_checks, *of_base):
            results = check(table, self.robot)
            found += results
            if check is not velocity_checks and any(r.verdict is Verdict.WRONG for r in results):
                return found
        return [*found, *effort_checks(table, self.robot)]


def _quiet() -> np.errstate:
    """Numbers out of range, which the checks judge, are no warnings of numpy."""
    return np.errstate(all="ignore")
