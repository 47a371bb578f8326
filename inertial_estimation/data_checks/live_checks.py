"""The data of a running pipeline against the robot's description: judged after the start, and on request.

Nothing is done between two steps. Where health is asked for, short windows are copied out of the rings of the
inputs; once there are enough, one call judges all of them, which a node lets another process execute.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from inertial_estimation.data_checks.check_result import CheckResult, health_of
from inertial_estimation.data_checks.checked_inputs import IMU_AXES, WRENCH_AXES
from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.data_checks.data_window import RawWindow
from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.joints import JOINTS, JointRow
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import IMU, ContactSource
from inertial_estimation.inputs.stream import Stream
from inertial_estimation.models.robot_config import RobotGeometryConfig, RobotSetup, WrenchAxes
from inertial_estimation.signals import NANOSECONDS, Array, Health

WINDOW_NS = 100_000_000  # averages noise, short against a gait; ten samples at 100 Hz
PERIOD_NS = 250_000_000  # from window to window
SLACK_NS = 50_000_000  # the other inputs may arrive later than the joint states by this
WINDOWS = 20  # that are judged: five seconds
MOST_AT_ONCE = 5  # windows that are copied at once
MOST_SAMPLES = 50  # of one input in a window; of faster inputs every second sample, or fewer
MOST_ROWS = 500  # of one input, in which values that are held are sought

Results: TypeAlias = list[CheckResult]
Execution: TypeAlias = Callable[[Callable[[], Results]], Callable[[], Results | None]]


def at_once(call: Callable[[], Results]) -> Callable[[], Results | None]:
    """Execute a call; return what returns its results."""
    results = call()
    return lambda: results


class LastReadings(NamedTuple):
    """The last readings of one input, at most `MOST_ROWS`."""

    stamps: Times  # [ns], shape (m,)
    disordered: tuple[int, int]  # stamps until now that are before, and equal to, their predecessor
    times: Times  # of measurement [ns], shape (m,)
    rows: Array  # shape (m, width)

    @classmethod
    def of(cls, stream: Stream) -> "LastReadings":
        """Copy them."""
        ring, counts = stream.ring, stream.drops.counts
        last = slice(max(ring.begin, ring.end - MOST_ROWS), ring.end)
        back, same = (counts.get(r, 0) for r in (DropReason.BACKWARD_STAMP, DropReason.EQUAL_STAMP))
        return cls(ring.stamps[last].copy(), (back, same), ring.times[last].copy(), ring.rows[last].copy())


class LiveChecks:
    """Checks what a pipeline uses of its inputs.

    Attributes:
        execute: Executes the call that judges; returns what returns the results, or None until it has them.
    """

    def __init__(self, setup: RobotSetup, config: RobotGeometryConfig, inputs: RobotInputs) -> None:
        """Begin without data of the inputs of a robot, among which are joint states."""
        self.execute: Execution = at_once
        self._robot, self._inputs = (setup, config), inputs
        self.begin()

    def begin(self) -> None:
        """Check the data that come from now on, until there are enough."""
        self._windows: list[RawWindow] = []
        self._next_ns = self._inputs.streams[JOINTS].ring.newest_ns  # where the next window begins
        self._pending: Callable[[], Results | None] | None = None
        self._results: Results | None = None

    def health(self) -> Health:
        """Go on with the checks; return what they have found."""
        if self._pending is None and self._results is None:
            self._collect()
        if self._pending is not None:
            self._results = self._pending()
            self._pending = self._pending if self._results is None else None
        if self._results is not None:
            return health_of(self._results)
        if not self._windows:
            return health_of([], "waiting for data")
        if self._pending is not None:
            return health_of([], "the data are being checked")
        age, enough = (PERIOD_NS * n / NANOSECONDS for n in (len(self._windows), WINDOWS))
        return health_of([], f"{age:.0f} s of data, they are checked after {enough:g} s")

    def _collect(self) -> None:
        """Copy the windows that are complete; begin the judgement once there are enough."""
        ring = self._inputs.streams[JOINTS].ring
        newest = ring.newest_ns
        if newest is None:
            return
        oldest = int(ring.time[ring.begin])
        if self._next_ns is None or self._next_ns - newest > NANOSECONDS:  # or a clock that was set back
            self._windows, self._next_ns = [], oldest
        begin = max(self._next_ns, oldest)
        for _ in range(MOST_AT_ONCE):
            if begin + WINDOW_NS + SLACK_NS > newest or len(self._windows) == WINDOWS:
                break
            self._windows.append(self._window(begin))
            begin += PERIOD_NS
        self._next_ns = begin
        if len(self._windows) == WINDOWS:
            joints, wrenches = self._inputs.joints, self._wrenches()
            assert joints is not None
            checked = {
                name: self._inputs.streams[name]
                for name in (JOINTS, IMU, *wrenches.values())
                if name in self._inputs.streams
            }
            last = {name: LastReadings.of(stream) for name, stream in checked.items()}
            judge = partial(judged, *self._robot, joints.columns, wrenches, self._windows, last)
            self._pending, self._windows = self.execute(judge), self._windows[:1]

    def _wrenches(self) -> dict[str, str]:
        """Return the names of the inputs of wrenches in the axes of their sensors, by contact."""
        contacts = self._inputs.contacts.values()
        sensed = [c for c in contacts if c.source is ContactSource.WRENCH and c.axes is WrenchAxes.SENSOR]
        return {contact.name: contact.stream.spec.name for contact in sensed}

    def _window(self, begin_ns: int) -> RawWindow:
        """Copy the readings of one window."""
        times, joints = self._rows(JOINTS, begin_ns)
        imu_times, imu = self._rows(IMU, begin_ns)
        wrenches, names = self._wrenches(), self._robot[0].contact_names
        rows = [self._rows(wrenches.get(contact, ""), begin_ns)[1] for contact in names]
        assert self._inputs.joints is not None
        parts = np.hstack(_parts(joints, self._inputs.joints.columns))
        return RawWindow(times.tolist(), parts, imu_times.tolist(), imu, rows)

    def _rows(self, name: str, begin_ns: int) -> tuple[Times, Array]:
        """Return times [ns] and rows of an input in a window; none of one that there is not."""
        if name not in self._inputs.streams:
            return np.zeros(0, dtype=np.int64), np.zeros((0, 6))
        times, rows = self._inputs.aligner.window(name, begin_ns, begin_ns + WINDOW_NS - 1)
        every = max(1, -(-len(times) // MOST_SAMPLES))
        return times[::every].copy(), rows[::every].copy()


def _parts(rows: Array, columns: JointRow) -> list[Array]:
    """Return positions, velocities and efforts in rows of joint states; NaN where they are not used."""
    efforts = np.full((len(rows), columns.n), np.nan) if columns.tau is None else rows[:, columns.tau]
    return [rows[:, columns.q], rows[:, columns.v], efforts]


def judged(
    setup: RobotSetup,
    config: RobotGeometryConfig,
    columns: JointRow,
    wrenches: Mapping[str, str],
    windows: Sequence[RawWindow],
    inputs: Mapping[str, LastReadings],
) -> Results:
    """Judge data of a pipeline.

    Args:
        setup: The robot, its contacts and its IMU.
        config: Its parameters.
        columns: Of the rows of joint states.
        wrenches: Names of the inputs of sensed wrenches, by contact.
        windows: Short windows of all inputs.
        inputs: Last readings of each input.
    """
    checks = DataChecks(setup, config)
    for window in windows:
        checks.push_window(window)
    checked = {JOINTS: checks.inputs.joints, IMU: checks.inputs.imu}
    checked |= {name: checks.inputs.wrenches[contact] for contact, name in wrenches.items()}
    for name, last in inputs.items():
        statistics = checked[name].statistics
        for stamp_ns in last.stamps.tolist():
            statistics.push(stamp_ns)
        statistics.count += sum(last.disordered)
        statistics.backward, statistics.repeated = last.disordered
        if name == JOINTS:
            checked[name].push_rows(last.times, _parts(last.rows, columns), setup.robot.joint_names)
        else:
            checked[name].push_rows(last.times, [last.rows], IMU_AXES if name == IMU else WRENCH_AXES)
    return checks.results()
