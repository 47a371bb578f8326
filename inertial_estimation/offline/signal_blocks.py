"""A recording as a stream of uniformly sampled segments; memory does not grow with its length."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.identification.rows import SignalBlock
from inertial_estimation.inputs.alignment import AlignedSample, Continuity, Steps
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import IMU, SensorAxes
from inertial_estimation.inputs.stream import DropReason
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.recordings.robot_streams import clock_offset_ns, connect
from inertial_estimation.replay.metrics import interpolated
from inertial_estimation.signals import NANOSECONDS, Array, seconds

LONGEST_S = 60.0  # longest segment [s]; a longer one is divided, which loses the rows near the division
WAIT_S = 1.5  # timeout of the inputs: a silence after which joint states do not wait for an input [s]
REPORT_MESSAGES = 2000  # number of messages between two calls of `progress`
FEWEST_ROWS_FOR_STEP = 200  # number of samples from which the step is computed
GAPS = "gaps, where a new segment begins"


class BlockStream:
    """Reads a recording once in the order of its log times and yields segments without gaps.

    Messages are processed as online (`RobotInputs`): joint states in parts, units, clocks, frames, delays,
    even stamps. IMU and wrenches are interpolated at the times of the joint states; samples without one of
    them are counted and left out. The others are resampled linearly with a uniform step. Velocities are the
    measured ones; if there are none, positions are differentiated later, more accurately, over windows that
    include later samples.

    Attributes:
        name: Name of the recording.
        samples: Number of samples yielded so far.
    """

    def __init__(
        self,
        recording: Recording,
        topics: RecordedTopics,
        setup: RobotSetup,
        config: RobotConfig,
        needs: JointNeeds,
        *,
        max_gap_s: float | None = None,
    ) -> None:
        """Connect the topics.

        Args:
            recording: The recording.
            topics: Topics of the inputs.
            setup: The robot; blocks contain the readings of its IMU and its contacts.
            config: Parameters of the robot: delays, limits, corrections.
            needs: Joint signals that blocks contain besides positions.
            max_gap_s: Longest gap that is interpolated [s]; None: that of `config`.

        Raises:
            RecordingError: If a topic is missing or of another type.
        """
        self.name, self.samples = recording.name, 0
        self._recording, self._setup = recording, setup
        self._velocities, self._efforts = needs.velocities, bool(needs.efforts)
        self._contacts = setup.contact_names
        gap = config.inputs.timeout if max_gap_s is None else max_gap_s
        waiting = replace(config.inputs, timeout=WAIT_S, joint_velocity="measured")
        self._inputs = RobotInputs(setup, replace(config, inputs=waiting), Steps(JOINTS, max_gap=gap), needs)
        self._axes = SensorAxes(setup, self._inputs.contacts)
        self._left_out: Counter[str] = Counter()
        self._grid = _Grid(round(gap * NANOSECONDS))
        self._takers = connect(self._inputs, recording, topics)

    @property
    def dropped(self) -> Mapping[str, int]:
        """Readings left out, by reason."""
        found = {}
        for name, stream in self._inputs.streams.items():
            for reason, count in stream.drops.counts.items():
                text = stream.drops.examples[reason] if reason is DropReason.UNUSABLE else reason.value
                found[f"{name}: {text}"] = count
        return {**found, **self._left_out, **({f"{JOINTS}: {GAPS}": n} if (n := self._grid.gaps) else {})}

    @property
    def remarks(self) -> list[str]:
        """Unusual properties of readings that are used, a sentence each."""
        streams = self._inputs.streams.items()
        return [f"{name}: {text}" for name, one in streams for text in one.notes]

    def blocks(self, progress: Callable[[float], None] | None = None) -> Iterator[SignalBlock]:
        """Yield the blocks.

        Args:
            progress: Called repeatedly with the time of the recording that has been processed [s].

        Raises:
            RecordingError: If there are no usable joint states, or no time at which all inputs are there.
        """
        recording = self._recording
        offset_ns = clock_offset_ns(recording, self._takers)
        for number, message in enumerate(recording.unread(list(self._takers))):
            self._takers[message.topic](message.content, message.log_ns + offset_ns)
            for sample in self._inputs.ready():
                yield from self._blocks(self._complete(sample))
            if number % REPORT_MESSAGES == 0 and progress is not None:
                progress(seconds(message.log_ns - recording.start_ns))
        yield from self._blocks(self._grid.rest())
        if not self.samples:
            raise RecordingError(self._nothing())

    def _complete(self, sample: AlignedSample) -> Iterator["_Segment"]:
        """Put a sample into the grid if no input is missing; yield segments that are complete."""
        joints = self._inputs.joints
        for name in sample.missing:
            self._left_out[f"{JOINTS}: no {name} at its time"] += 1
        if sample.missing or joints is None:
            yield from self._grid.rest()
            return
        _n, q, v, tau = joints.columns
        used = [q, *([v] if self._velocities else []), *([tau] if tau is not None else [])]
        parts = [sample.driver[columns] for columns in used]
        parts += [row for name in [IMU] if (row := sample.rows.get(name)) is not None]
        if self._contacts:
            wrenches = np.array([sample.rows[f"{name}/wrench"] for name in self._contacts])
            parts.append(self._axes.turned(wrenches, parts[0]).ravel())
        if sample.continuity is not Continuity.CONTINUOUS:
            yield from self._grid.rest()
        yield from self._grid.push(sample.time_ns, np.concatenate(parts))

    def _blocks(self, segments: Iterable["_Segment"]) -> Iterator[SignalBlock]:
        """Yield segments of the grid as blocks."""
        n, m = self._setup.robot.n_joints, len(self._contacts)
        imu = 3 if IMU in self._inputs.streams else 0
        widths = {"q": n, "v": n * self._velocities, "tau": n * self._efforts}
        widths |= {"f_I": imu, "w_I": imu, "wrenches": 6 * m}
        for start_ns, step_ns, rows in segments:
            ends = np.cumsum(list(widths.values()))[:-1]
            columns = dict(zip(widths, np.split(rows, ends, axis=1), strict=True))
            signals = {name: np.ascontiguousarray(one) for name, one in columns.items() if widths[name]}
            if m:
                signals["wrenches"] = signals["wrenches"].reshape(-1, m, 6)
            self.samples += len(rows)
            yield SignalBlock(start_ns, seconds(step_ns), **signals)

    def _nothing(self) -> str:
        streams, dropped = self._inputs.streams.items(), self.dropped
        kept = [f"{name} {stream.received - stream.drops.total}" for name, stream in streams]
        why = [f"{reason} ({count})" for reason, count in dropped.items()]
        examples = list(filter(None, self._inputs.streams[JOINTS].drops.examples.values()))
        reasons = (*dropped, *examples)
        lacking = self._velocities and any("velocity" in text for text in reasons)
        hints = ["`inertial-estimation check` finds other units, and what else does not fit"]
        if not why:
            hints.append(
                "lock joints that it lacks (locked_joints), or add their topic (joint_states.topics)"
            )
        if lacking:
            hints.append("without joint velocities, 'smoothing.differentiate: position' needs none")
        hints += examples[:1]
        good = f"'{self.name}' gives no sample: good readings {listing(kept)}; left out {listing(why)}"
        return "; ".join((good, *hints))


_Segment = tuple[int, float, Array]
"""Time of the first row [ns], time between rows [ns], and the rows."""


class _Grid:
    """Resamples rows with their median step by linear interpolation; after a gap a new segment begins."""

    def __init__(self, gap_ns: int) -> None:
        """Begin without rows; `gap_ns` is the longest time between rows that is interpolated [ns]."""
        self._gap_ns, self._step_ns, self.gaps = gap_ns, 0.0, 0
        self._times, self._rows = list[int](), list[Array]()

    def push(self, time_ns: int, row: Array) -> Iterator[_Segment]:
        """Append a row, later than all before; yield the segment that is complete, if any."""
        if self._times:
            is_gap = time_ns - self._times[-1] > self._gap_ns
            self.gaps += is_gap
            if is_gap or time_ns - self._times[0] >= LONGEST_S * NANOSECONDS:
                yield from self.rest()
        self._times.append(time_ns)
        self._rows.append(row)

    def rest(self) -> Iterator[_Segment]:
        """Yield the rows that are left as a segment, and begin a new one."""
        times, rows = np.array(self._times, dtype=np.int64), np.array(self._rows)
        self._times, self._rows = [], []
        if not self._step_ns and len(times) > 1:
            self._step_ns = float(np.median(np.diff(times[:FEWEST_ROWS_FOR_STEP])))
        if self._step_ns and len(times):
            after = (times - times[0]).astype(float)
            count = int(after[-1] / self._step_ns + 1e-9) + 1
            steps = np.round(np.arange(count) * self._step_ns)
            yield int(times[0]), self._step_ns, interpolated(steps, after, rows)
