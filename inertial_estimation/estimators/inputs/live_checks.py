"""The data of a running pipeline against the robot's description: judged after the start, and on request.

Nothing is done between two steps. Where health is asked for, short windows are copied out of the buffers of
the inputs; once there are enough, one call judges all of them, which a node lets another process execute.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, health_of
from inertial_estimation.data_checks.checked_inputs import IMU_AXES, WRENCH_AXES
from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.data_checks.data_window import RawWindow
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_stream import InputStream
from inertial_estimation.estimators.inputs.rows import IMU, JOINTS, WRENCH_WIDTH, JointRow
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
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


@dataclass(frozen=True, eq=False)
class LiveInput:
    """The last readings of one input.

    Attributes:
        stamps_ns: Last stamps [ns].
        disordered: Number of stamps until now that are before, and equal to, their predecessor.
        times_ns: Times of the rows [ns], shape (m,).
        rows: Its rows, shape (m, width).
    """

    stamps_ns: Sequence[int]
    disordered: tuple[int, int]
    times_ns: NDArray[np.int64]
    rows: Array

    @classmethod
    def of(cls, stream: InputStream) -> "LiveInput":
        """Copy the last readings of an input."""
        times, rows = stream.buffer.kept_times[-MOST_ROWS:], stream.buffer.kept[-MOST_ROWS:].copy()
        counts = tuple(stream.drops.count(r) for r in (DropReason.BACKWARD_STAMP, DropReason.EQUAL_STAMP))
        stamps = stream.regulator.stamps_ns or times.tolist()
        return cls(stamps, (counts[0], counts[1]), times, rows)


class LiveChecks:
    """Checks what a pipeline uses of its inputs.

    Attributes:
        execute: Executes the call that judges; returns what returns the results, or None until it has them.
    """

    def __init__(
        self,
        setup: RobotSetup,
        config: RobotConfig,
        aligner: SignalAligner,
        joints: JointRow,
        *,
        imu: bool,
        wrenches: Mapping[str, str],
    ) -> None:
        """Begin without data.

        Args:
            setup: The robot, its contacts and its IMU.
            config: Its parameters.
            aligner: The aligned inputs.
            joints: Layout of the rows of joint states.
            imu: Whether the IMU is among the inputs.
            wrenches: Names of the inputs of sensed wrenches, by contact.
        """
        self.execute: Execution = at_once
        self._robot, self._aligner, self._layout = (setup, config), aligner, joints
        self._imu, self._wrenches = imu, dict(wrenches)
        self.begin()

    def begin(self) -> None:
        """Check the data that come from now on, until there are enough."""
        self._windows: list[RawWindow] = []
        self._next_ns = self._aligner.buffer(JOINTS).newest_ns  # where the next window begins
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
        times = self._aligner.buffer(JOINTS).kept_times
        if not len(times):
            return
        oldest, newest = int(times[0]), int(times[-1])
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
            names = (JOINTS, *([IMU] if self._imu else []), *self._wrenches.values())
            inputs = {name: LiveInput.of(self._aligner.stream(name)) for name in names}
            judge = partial(judged, *self._robot, self._layout, self._wrenches, self._windows, inputs)
            self._pending, self._windows = self.execute(judge), self._windows[:1]

    def _window(self, begin_ns: int) -> RawWindow:
        """Copy the readings of one window."""
        span = begin_ns, begin_ns + WINDOW_NS
        stamps, joints = self._rows(JOINTS, span)
        imu_stamps, imu = self._rows(IMU, span) if self._imu else ([], np.zeros((0, 6)))
        wrenches = [
            self._rows(self._wrenches[contact], span)[1]
            if contact in self._wrenches
            else np.zeros((0, WRENCH_WIDTH))
            for contact in self._robot[0].contact_names
        ]
        return RawWindow(stamps, np.hstack(_parts(joints, self._layout)), imu_stamps, imu, wrenches)

    def _rows(self, name: str, span_ns: tuple[int, int]) -> tuple[list[int], Array]:
        """Return times and rows of an input in a span of time [ns], the end excluded."""
        buffer = self._aligner.buffer(name)
        times = buffer.kept_times
        first, end = np.searchsorted(times, span_ns).tolist()
        every = max(1, -(-(end - first) // MOST_SAMPLES))
        return times[first:end:every].tolist(), buffer.kept[first:end:every].copy()


def _parts(rows: Array, layout: JointRow) -> list[Array]:
    """Return positions, velocities and efforts in rows of joint states; NaN where they are not used."""
    efforts = np.full((len(rows), layout.n), np.nan) if layout.tau is None else rows[:, layout.tau]
    return [rows[:, layout.q], rows[:, layout.v], efforts]


def judged(
    setup: RobotSetup,
    config: RobotConfig,
    layout: JointRow,
    wrenches: Mapping[str, str],
    windows: Sequence[RawWindow],
    inputs: Mapping[str, LiveInput],
) -> Results:
    """Judge data of a pipeline.

    Args:
        setup: The robot, its contacts and its IMU.
        config: Its parameters.
        layout: Of the rows of joint states.
        wrenches: Names of the inputs of sensed wrenches, by contact.
        windows: Short windows of all inputs.
        inputs: Last readings of each input.
    """
    checks = DataChecks(setup, config)
    for window in windows:
        checks.push_window(window)
    checked = {JOINTS: checks.inputs.joints, IMU: checks.inputs.imu}
    checked |= {name: checks.inputs.wrenches[contact] for contact, name in wrenches.items()}
    for name, one in inputs.items():
        statistics = checked[name].statistics
        for stamp_ns in one.stamps_ns:
            statistics.push(stamp_ns)
        statistics.count += sum(one.disordered)
        statistics.backward, statistics.repeated = one.disordered
        if name == JOINTS:
            checked[name].push_rows(one.times_ns, _parts(one.rows, layout), setup.robot.joint_names)
        else:
            checked[name].push_rows(one.times_ns, [one.rows], IMU_AXES if name == IMU else WRENCH_AXES)
    return checks.results()
