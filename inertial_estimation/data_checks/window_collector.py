"""Cuts short windows out of the raw readings of a recording, one after the other."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.data_window import FEWEST_SAMPLES, RawWindow
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array, JointReading

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

    def __init__(self, setup: RobotSetup, config: RobotConfig) -> None:
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
