"""A recording as a stream of uniformly sampled blocks, in memory that does not grow with it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.inputs.alignment import AlignedSample, Continuity
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.inputs.wrench_axes import SensorAxes
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.recordings.connection import clock_offset_ns, connect
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.replay.metrics import interpolated
from inertial_estimation.signals import NANOSECONDS, Array, seconds

BLOCK_S = 10.0  # length of a block [s]
WAIT_S = 1.5  # of silence from which no joint state waits for an input; else for half of it [s]
MOST_DROPPED_AT_START = 1000  # joint states dropped without a good one, after which the recording is given up
REPORT_MESSAGES = 2000  # messages between two reports of the progress
CHUNK_ROWS = 2000  # samples that are collected before they are resampled
FEWEST_ROWS_FOR_STEP = 200  # samples to find a step from
GAPS = "gaps, where a new stretch begins"


class BlockStream:
    """Reads a recording once in the order of its log and yields blocks.

    Messages are taken as online (`RobotInputs`): joint states in parts, units, clocks, frames, delays, even
    stamps. Joint states set the times, at which the IMU and wrenches are interpolated; samples that lack one
    are counted and left out. What remains is resampled onto one step, linearly. Velocities are those
    measured: where there are none, positions are differentiated later, and better, over a window that looks
    ahead as well.

    Attributes:
        name: Of the recording.
        samples: Samples yielded so far.
    """

    def __init__(
        self,
        recording: Recording,
        topics: RecordedTopics,
        setup: RobotSetup,
        config: RobotConfig,
        *,
        velocities: bool = False,
        efforts: bool = True,
        max_gap_s: float | None = None,
        block_s: float = BLOCK_S,
    ) -> None:
        """Connect the topics.

        Args:
            recording: The recording.
            topics: Topics of the inputs.
            setup: The robot; blocks hold the readings of its IMU and its contacts.
            config: Parameters of the robot: delays, limits, corrections.
            velocities: Whether blocks hold joint velocities.
            efforts: Whether they hold joint torques.
            max_gap_s: Widest gap that is interpolated over [s]; None: that of `config`.
            block_s: Length of a block [s].

        Raises:
            RecordingError: If a topic is missing or of another type.
        """
        self.name, self.samples = recording.name, 0
        self._recording, self._setup = recording, setup
        self._velocities, self._efforts = velocities, efforts
        self._contacts = setup.contact_names
        gap = config.inputs.timeout if max_gap_s is None else max_gap_s
        waiting = replace(config.inputs, timeout=WAIT_S, joint_velocity="measured")
        self._inputs = RobotInputs(
            setup,
            replace(config, inputs=waiting),
            driver=JOINTS,
            imu=setup.imu is not None,
            max_gap=gap,
            velocities=velocities,
            efforts=efforts,
            corrections=joint_corrections(config.joint_offsets, config.drive_gains, setup.robot),
        )
        self._axes = SensorAxes(setup, self._inputs)
        self._left_out: Counter[str] = Counter()
        self._grid = _Grid(round(gap * NANOSECONDS), block_s)
        self._takers = connect(self._inputs, recording, topics)

    @property
    def dropped(self) -> Mapping[str, int]:
        """Readings left out, by reason."""
        found = {}
        for name, stream in self._inputs.streams.items():
            for reason, count in stream.drops.counts.items():
                text = stream.drops.examples[reason] if reason is DropReason.UNFIT else reason.value
                found[f"{name}: {text}"] = count
        malformed = getattr(self._recording, "malformed", {})
        found |= {f"{topic}: malformed": n for topic, n in malformed.items() if n}
        return {**found, **self._left_out, **({f"{JOINTS}: {GAPS}": n} if (n := self._grid.gaps) else {})}

    @property
    def remarks(self) -> list[str]:
        """What is odd about readings that are used, a sentence each."""
        streams = self._inputs.streams.items()
        return [f"{name}: {text}" for name, one in streams for text in one.remarks.values() if text]

    def blocks(self, progress: Callable[[float], None] | None = None) -> Iterator[SignalBlock]:
        """Yield the blocks.

        Args:
            progress: Called now and then with the seconds of the recording done.

        Raises:
            RecordingError: If there are no usable joint states, or no time at which all inputs are there.
        """
        recording, joints = self._recording, self._inputs.streams[JOINTS]
        offset_ns = clock_offset_ns(recording, self._takers)
        for number, message in enumerate(recording.unread(list(self._takers))):
            self._takers[message.topic](message, message.log_ns + offset_ns)
            for sample in self._inputs.ready():
                yield from map(self._block, self._complete(sample))
            if number % REPORT_MESSAGES == 0 and progress is not None:
                progress(seconds(message.log_ns - recording.start_ns))
            if joints.drops.total >= MOST_DROPPED_AT_START and not len(joints.ring):
                break
        yield from map(self._block, self._grid.rest())
        if not self.samples:
            raise RecordingError(self._nothing())

    def _complete(self, sample: AlignedSample) -> Iterator["_Piece"]:
        """Put a sample into the grid if it lacks nothing; yield what the grid has made."""
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

    def _block(self, piece: "_Piece") -> SignalBlock:
        """Return rows of the grid as a block."""
        n, columns = self._setup.robot.n_joints, iter(piece.rows.T)

        def take(width: int) -> Array:
            return np.ascontiguousarray(np.array([next(columns) for _ in range(width)]).T)

        q = take(n)
        v = take(n) if self._velocities else None
        tau = take(n) if self._efforts else None
        f_I, w_I = (take(3), take(3)) if IMU in self._inputs.streams else (None, None)
        m = len(self._contacts)
        wrenches = take(6 * m).reshape(-1, m, 6) if m else None
        self.samples += len(q)
        return SignalBlock(
            piece.start_ns, seconds(piece.step_ns), piece.continues, q, v, tau, f_I, w_I, wrenches
        )

    def _nothing(self) -> str:
        streams, dropped = self._inputs.streams.items(), self.dropped
        kept = [f"{name} {stream.received - stream.drops.total}" for name, stream in streams]
        why = [f"{reason} ({count})" for reason, count in dropped.items()]
        said = (*dropped, *self._inputs.streams[JOINTS].drops.examples.values())
        lacking = self._velocities and any("velocity" in text for text in said)
        hints = [f"{name}: {said}" for name, said in self._inputs.units().items()]
        if lacking:
            hints.append("without joint velocities, 'smoothing.differentiate: position' needs none")
        good = f"'{self.name}' gives no sample: good readings {listing(kept)}; left out {listing(why)}"
        return "; ".join((good, *hints))


class _Piece(NamedTuple):
    """Rows of the grid, one after another."""

    start_ns: int  # time of the first one
    step_ns: float
    continues: bool  # whether the first is one step after the last of the piece before
    rows: Array


class _Grid:
    """Resamples rows onto their median step, by linear interpolation; a wide gap begins a new stretch.

    How many rows are resampled at once does not change the result.
    """

    def __init__(self, gap_ns: int, block_s: float) -> None:
        """Begin without a row; neighbours at most a gap [ns] apart are interpolated between."""
        self._gap_ns, self._block_s = gap_ns, block_s
        self.step_ns, self.gaps = 0.0, 0  # not known before there are some rows; number of gaps
        self._times, self._rows = list[int](), list[Array]()  # not yet resampled, and the last one that is
        self._origin, self._index = 0, 0  # time of the first sample of a stretch [ns]; number of the next one
        self._made, self._size, self._begun = list[Array](), 0, 0  # of the next piece; number of its first

    def push(self, time_ns: int, row: Array) -> Iterator[_Piece]:
        """Take a row after those before; yield pieces that are complete."""
        if self._times and time_ns - self._times[-1] > self._gap_ns:
            self.gaps += 1
            yield from self.rest()
        self._times.append(time_ns)
        self._rows.append(row)
        if len(self._times) >= CHUNK_ROWS:
            yield from self._resample()

    def rest(self) -> Iterator[_Piece]:
        """Yield what is left, and begin a new stretch."""
        if self._times:
            yield from self._resample()
            yield from self._piece()
        self._times, self._rows, self._index, self._begun = [], [], 0, 0

    def _resample(self) -> Iterator[_Piece]:
        times = np.array(self._times, dtype=np.int64)
        if not self.step_ns:
            self.step_ns = float(np.median(np.diff(times[:FEWEST_ROWS_FOR_STEP]))) if len(times) > 1 else 0.0
        if not self.step_ns:
            return
        if not self._index:
            self._origin = self._times[0]
        rows, most = np.array(self._rows), max(round(self._block_s * NANOSECONDS / self.step_ns), 1)
        count = int((self._times[-1] - self._origin) / self.step_ns + 1e-9) + 1 - self._index
        steps = np.round((self._index + np.arange(count)) * self.step_ns).astype(np.int64)
        made = interpolated(steps.astype(float), (times - self._origin).astype(float), rows)
        self._index += count
        self._times, self._rows = self._times[-1:], self._rows[-1:]
        while len(made):
            room = most - self._size
            self._made.append(made[:room])
            self._size += len(self._made[-1])
            made = made[room:]
            if self._size == most:
                yield from self._piece()

    def _piece(self) -> Iterator[_Piece]:
        if self._made:
            start_ns = self._origin + round(self._begun * self.step_ns)
            yield _Piece(start_ns, self.step_ns, self._begun > 0, np.concatenate(self._made))
        self._begun += self._size
        self._made, self._size = [], 0


def split_block(block: SignalBlock, time_ns: int) -> tuple[SignalBlock | None, SignalBlock | None]:
    """Cut a block in two: samples before a time, and from it on.

    Args:
        block: The block.
        time_ns: Where to cut [ns].

    Returns:
        The two parts, None where empty; the second, if both are there, continues nothing.
    """
    at = int(np.searchsorted(block.stamps_ns, time_ns))
    if at == 0:
        return None, block
    if at == block.size:
        return block, None
    before = block.part(0, at, continues=block.continues)
    return before, block.part(at, block.size, continues=False)
