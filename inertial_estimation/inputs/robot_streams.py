"""The inputs of a robot as arrays: rows of a recording, of a running pipeline, or of aligned signals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.joints import JOINTS, JointRow
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.inputs.stream import DropReason, Stream
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array

FEWEST = 20  # readings of a stream that is judged
CHECKED_S = 30.0  # of a recording, from its first reading, whose data are checked


class StreamNotes(NamedTuple):
    """What the inputs saw of a stream while its rows came."""

    received: int = 0
    dropped: Mapping[DropReason, int] = {}
    unset: bool = False  # its stamps are zero: rows are at their arrival
    even: bool = False  # its stamps come in bursts and have been made even
    clock_s: float = 0.0  # by which its stamps were moved, as they are of another clock [s]
    restarts: int = 0  # how often its rows began anew, as stamps went back

    @classmethod
    def of(cls, taken: Stream, restarts: int = 0) -> "StreamNotes":
        """Return what an input has seen, whose rows began anew so often."""
        clock = taken.clock
        offset = clock.offset_ns / NANOSECONDS if clock.votes else 0.0
        return cls(taken.received, dict(taken.drops.counts), clock.unset, clock.even.even, offset, restarts)


@dataclass(frozen=True, eq=False)
class StreamRows:
    """Rows of one sensor in the order of their times of measurement."""

    times_ns: Times  # of measurement [ns], increasing, shape (m,)
    values: Array  # shape (m, c)
    notes: StreamNotes = StreamNotes()  # what was seen while they came

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.times_ns)

    def with_values(self, values: Array) -> "StreamRows":
        """Return the stream with other values at the same times, shape (m, c)."""
        return replace(self, values=values)


@dataclass(frozen=True, eq=False)
class RobotStreams:
    """The inputs of a robot."""

    # positions, velocities and efforts in the model's order with offsets and gains of the parameter file
    # applied, NaN where not sent, 3 n columns
    joints: StreamRows
    imu: StreamRows | None  # specific force [m/s^2] and angular rate [rad/s], 6 columns; None without
    wrenches: Mapping[str, StreamRows]  # of each contact that has some [N, Nm], 6 columns
    loads: Mapping[str, StreamRows] = field(default_factory=dict)  # of switches, numbers: z alone
    missing: tuple[str, ...] = ()  # joints of the model that no joint state has
    # topics that the parameter file expects and the recording lacks or has of another type
    absent: tuple[str, ...] = ()

    @property
    def by_name(self) -> dict[str, StreamRows]:
        """All streams by the name of their input; no joints where none are known and none are missing."""
        alone = not self.missing and bool(np.isnan(self.joints.values).all())
        found = {} if alone else {JOINTS: self.joints}
        if self.imu is not None:
            found[IMU] = self.imu
        return found | {f"{contact}/wrench": stream for contact, stream in self.wrenches.items()}

    @property
    def n_joints(self) -> int:
        """Number of joints of the model."""
        return int(self.joints.values.shape[1]) // 3

    def changed(self, change: Callable[[str, StreamRows], StreamRows]) -> "RobotStreams":
        """Return the streams with each one replaced by what a function of its name and itself returns."""
        return replace(
            self,
            joints=change(JOINTS, self.joints),
            imu=None if self.imu is None else change(IMU, self.imu),
            wrenches={name: change(f"{name}/wrench", stream) for name, stream in self.wrenches.items()},
            loads={name: change(f"{name}/wrench", stream) for name, stream in self.loads.items()},
        )


def joint_rows(rows: Array, columns: JointRow) -> Array:
    """Return rows of positions, velocities and efforts, NaN where there are none, shape (m, 3 n)."""
    tau = np.full((len(rows), columns.n), np.nan) if columns.tau is None else rows[:, columns.tau]
    return np.hstack((rows[:, columns.q], rows[:, columns.v], tau))


class StreamCollector:
    """Collects rows of the inputs of a robot until there are enough.

    Attributes:
        setup: The robot.
        notes: What is known of the streams besides their rows, by name.
    """

    def __init__(self, setup: RobotSetup, most_s: float) -> None:
        """Begin without a row; rows after a time [s] since the first one are not taken."""
        self.notes: dict[str, StreamNotes] = {}
        self.setup, self._most_ns = setup, round(most_s * NANOSECONDS)
        self._rows: dict[str, list[tuple[Times, Array]]] = {}
        self._begin_ns: int | None = None

    @property
    def duration_s(self) -> float:
        """Time between the first and the last row of the joint states [s]."""
        times = [piece[0] for piece in self._rows.get(JOINTS, ())]
        return float(times[-1][-1] - times[0][0]) / NANOSECONDS if times else 0.0

    def push(self, name: str, times_ns: Times, rows: Array) -> None:
        """Take rows of an input by its name; of joint states positions, velocities and efforts."""
        if self._begin_ns is None and name == JOINTS and len(times_ns):
            self._begin_ns = int(times_ns[0])
        if self._begin_ns is None or not len(times_ns):
            return
        kept = (times_ns >= self._begin_ns) & (times_ns <= self._begin_ns + self._most_ns)
        if kept.any():
            self._rows.setdefault(name, []).append((times_ns[kept].copy(), rows[kept].copy()))

    def streams(self) -> RobotStreams | None:
        """Return what was collected; None without enough joint states."""
        found = {name: _joined(pieces, self.notes.get(name)) for name, pieces in self._rows.items()}
        found = {name: stream for name, stream in found.items() if stream.size >= FEWEST}
        if JOINTS not in found:
            return None
        names = self.setup.contact_names
        wrenches = {c: found[f"{c}/wrench"] for c in names if f"{c}/wrench" in found}
        return RobotStreams(found[JOINTS], found.get(IMU), wrenches)


def _joined(pieces: list[tuple[Times, Array]], notes: StreamNotes | None) -> StreamRows:
    times = np.concatenate([piece[0] for piece in pieces])
    rows = np.concatenate([piece[1] for piece in pieces])
    increasing = np.concatenate(([True], np.diff(times) > 0)) & (times >= np.maximum.accumulate(times))
    return StreamRows(times[increasing], rows[increasing], notes or StreamNotes())
