"""The inputs of a robot as arrays, from a recording, a running pipeline or aligned signals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.joints import JOINTS, JointRow
from inertial_estimation.inputs.sensors import IMU, ContactSource
from inertial_estimation.inputs.stream import DropReason, Stream
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array

FEWEST = 20  # readings of a stream that is diagnosed
LARGEST = 1e9  # value of any signal in any unit (1000 Nm in uNm); squares stay finite
IMU_AXES = tuple(f"{quantity} {axis}" for quantity in ("specific force", "angular rate") for axis in "xyz")
WRENCH_AXES = tuple(f"{quantity} {axis}" for quantity in ("force", "moment") for axis in "xyz")
CHECKED_S = 30.0  # length of the part of a recording, from its first reading, that is diagnosed


class StreamNotes(NamedTuple):
    """What the inputs noted about a stream while they received it."""

    received: int = 0
    dropped: Mapping[DropReason, int] = {}
    unset: bool = False  # stamps are zero: times are arrivals
    even: bool = False  # stamps come in bursts: times are evenly spaced
    clock_s: float = 0.0  # correction of stamps on another clock [s]
    restarts: int = 0  # how often stamps went back and the rows were discarded
    not_finite: str = ""  # what was no number in the last reading that was dropped for that

    @classmethod
    def of(cls, taken: Stream, restarts: int = 0) -> "StreamNotes":
        """Return the notes of an input whose rows were discarded `restarts` times."""
        clock = taken.clock
        offset = clock.offset_ns / NANOSECONDS if clock.votes else 0.0
        drops, even = taken.drops, clock.even.even
        said = drops.examples.get(DropReason.NOT_FINITE, "")
        return cls(taken.received, dict(drops.counts), clock.unset, even, offset, restarts, said)


@dataclass(frozen=True, eq=False)
class StreamRows:
    """Rows of one sensor in order of time."""

    times_ns: Times  # times of measurement [ns], increasing, shape (m,)
    values: Array  # shape (m, c)
    notes: StreamNotes = StreamNotes()

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.times_ns)

    @property
    def rate(self) -> float:
        """Rate of the readings [Hz]; 0 for fewer than two."""
        return NANOSECONDS / float(np.median(np.diff(self.times_ns))) if self.size > 1 else 0.0

    @property
    def lack(self) -> Array:
        """Share of readings in which each value is not finite or beyond `LARGEST`, shape (c,)."""
        share: Array = 1.0 - (np.abs(self.values) < LARGEST).mean(axis=0)
        return share

    def whole(self) -> "StreamRows":
        """Return the readings with all values that most readings have; all readings if these are few."""
        known = np.abs(self.values) < LARGEST
        kept = known[:, known.mean(axis=0) > 0.5].all(axis=1)
        kept |= np.count_nonzero(kept) < FEWEST
        return replace(self, times_ns=self.times_ns[kept], values=np.where(known, self.values, np.nan)[kept])

    def with_values(self, values: Array) -> "StreamRows":
        """Return a stream with other values, shape (m, c), at the same times."""
        return replace(self, values=values)


@dataclass(frozen=True, eq=False)
class RobotStreams:
    """The inputs of a robot."""

    # positions, velocities and efforts in the model's order, corrected by the offsets and gains of the
    # parameter file; NaN where not sent, 3 n columns
    joints: StreamRows
    imu: StreamRows | None  # specific force [m/s^2] and angular rate [rad/s], 6 columns; None without IMU
    wrenches: Mapping[str, StreamRows]  # of contacts with wrenches [N, Nm], 6 columns
    loads: Mapping[str, StreamRows] = field(default_factory=dict)  # of contacts with one value: force z only
    shares: bool = False  # whether some loads have no unit and are shares of the weight
    missing: tuple[str, ...] = ()  # joints of the model that no joint state contains
    # topics of the parameter file that the recording lacks or that have another type
    absent: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        found: Mapping[str, StreamRows],
        setup: RobotSetup,
        sources: Mapping[str, ContactSource],
        missing: tuple[str, ...] = (),
    ) -> "RobotStreams":
        """Assign rows by the names of their inputs; those of contacts without wrenches become loads."""
        rows = {name: found[f"{name}/wrench"] for name in sources if f"{name}/wrench" in found}
        loads = dict[str, StreamRows]()
        for name in [one for one in rows if sources[one] is not ContactSource.WRENCH]:
            unit = STANDARD_GRAVITY * setup.robot.total_mass if sources[name] is ContactSource.SWITCH else 1.0
            loads[name] = (stream := rows.pop(name)).with_values(stream.values * unit * np.eye(6)[2])
        shares = any(sources[name] is not ContactSource.FORCE for name in loads)
        return cls(found[JOINTS], found.get(IMU), rows, loads, shares, missing)

    @property
    def by_name(self) -> dict[str, StreamRows]:
        """All streams by the name of their input; without joints if the robot has none."""
        alone = not self.missing and bool(np.isnan(self.joints.values).all())
        found = {} if alone else {JOINTS: self.joints}
        if self.imu is not None:
            found[IMU] = self.imu
        return found | {f"{contact}/wrench": stream for contact, stream in self.wrenches.items()}

    @property
    def n_joints(self) -> int:
        """Number of joints of the model."""
        return int(self.joints.values.shape[1]) // 3

    def whole(self) -> "RobotStreams":
        """Return the inputs that have any valid values, with their complete readings."""
        empty = {name for name, stream in self.by_name.items() if (stream.lack == 1.0).all()}
        wrenches = {c: stream for c, stream in self.wrenches.items() if f"{c}/wrench" not in empty}
        kept = replace(self, imu=None if IMU in empty else self.imu, wrenches=wrenches)
        return kept.changed(lambda _name, stream: stream.whole())

    def changed(self, change: Callable[[str, StreamRows], StreamRows]) -> "RobotStreams":
        """Return the streams after applying a function of name and stream to each of them."""
        return replace(
            self,
            joints=change(JOINTS, self.joints),
            imu=None if self.imu is None else change(IMU, self.imu),
            wrenches={name: change(f"{name}/wrench", stream) for name, stream in self.wrenches.items()},
            loads={name: change(f"{name}/wrench", stream) for name, stream in self.loads.items()},
        )


def channels(name: str, joint_names: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns of an input."""
    if name == JOINTS:
        return [f"{what} of {joint}" for what in ("position", "velocity", "effort") for joint in joint_names]
    return IMU_AXES if name == IMU else WRENCH_AXES


def joint_rows(rows: Array, columns: JointRow) -> Array:
    """Return rows of positions, velocities and efforts (NaN if there are none), shape (m, 3 n)."""
    tau = np.full((len(rows), columns.n), np.nan) if columns.tau is None else rows[:, columns.tau]
    return np.hstack((rows[:, columns.q], rows[:, columns.v], tau))


class StreamCollector:
    """Collects rows of the inputs of a robot.

    Attributes:
        setup: The robot.
        notes: Notes about the streams, by name.
        sources: Source of the rows of each contact.
    """

    def __init__(self, setup: RobotSetup, most_s: float) -> None:
        """Start without a row; rows later than `most_s` after the first one are ignored [s]."""
        self.notes: dict[str, StreamNotes] = {}
        self.sources: Mapping[str, ContactSource] = dict.fromkeys(setup.contact_names, ContactSource.WRENCH)
        self.setup, self._most_ns = setup, round(most_s * NANOSECONDS)
        self._rows: dict[str, list[tuple[Times, Array]]] = {}
        self._begin_ns: int | None = None

    @property
    def duration_s(self) -> float:
        """Time between the first and the last row of the joint states [s]."""
        times = [piece[0] for piece in self._rows.get(JOINTS, ())]
        return float(times[-1][-1] - times[0][0]) / NANOSECONDS if times else 0.0

    def push(self, name: str, times_ns: Times, rows: Array) -> None:
        """Append rows of an input, given its name; joint states have positions, velocities and efforts."""
        if self._begin_ns is None and name == JOINTS and len(times_ns):
            self._begin_ns = int(times_ns[0])
        if self._begin_ns is None or not len(times_ns):
            return
        kept = (times_ns >= self._begin_ns) & (times_ns <= self._begin_ns + self._most_ns)
        if kept.any():
            self._rows.setdefault(name, []).append((times_ns[kept].copy(), rows[kept].copy()))

    def streams(self) -> RobotStreams | None:
        """Return the collected streams; None without enough joint states."""
        found = {name: _joined(pieces, self.notes.get(name)) for name, pieces in self._rows.items()}
        found = {name: stream for name, stream in found.items() if stream.size >= FEWEST}
        return RobotStreams.of(found, self.setup, self.sources) if JOINTS in found else None


def _joined(pieces: list[tuple[Times, Array]], notes: StreamNotes | None) -> StreamRows:
    times = np.concatenate([piece[0] for piece in pieces])
    rows = np.concatenate([piece[1] for piece in pieces])
    increasing = np.concatenate(([True], np.diff(times) > 0)) & (times >= np.maximum.accumulate(times))
    return StreamRows(times[increasing], rows[increasing], notes or StreamNotes())
