"""Joint states: by name, in parts from several publishers or topics, joined into rows in the model's order."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.inputs.alignment import Aligner
from inertial_estimation.inputs.clocks import ClockGroup
from inertial_estimation.inputs.config import JOINT_UNITS, InputConfig, RobotInputConfig, unit_factors
from inertial_estimation.inputs.joint_checks import JointChecks
from inertial_estimation.inputs.joint_names import JointNames, JointOrder
from inertial_estimation.inputs.joint_velocity import JointVelocity
from inertial_estimation.inputs.possible import DropReason, Fault, joint_range
from inertial_estimation.inputs.stream import Stream, StreamSpec
from inertial_estimation.models.joint_corrections import JointCorrections
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, JointReading, seconds

JOINTS = "joint_states"
MOST_KNOWN = 256  # orders of names that are remembered
MOST_PARTS = 16  # sets of joints that messages have
RIVAL_DIFFERENCE = 0.02  # of two publishers' positions of a joint, from which they contradict [rad or m]
RIVAL_AGE_NS = NANOSECONDS // 20  # between readings that are compared
TURN = 2.0 * math.pi  # [rad]


class JointRow(NamedTuple):
    """Columns of a row of n joints: positions [rad or m], velocities [rad/s or m/s], efforts [Nm or N] if there."""

    n: int
    effort: bool

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return (2 + self.effort) * self.n

    @property
    def q(self) -> slice:
        """Positions."""
        return slice(0, self.n)

    @property
    def v(self) -> slice:
        """Velocities."""
        return slice(self.n, 2 * self.n)

    @property
    def tau(self) -> slice | None:
        """Efforts; None where the row has none."""
        return slice(2 * self.n, 3 * self.n) if self.effort else None


class JointPart:
    """The joints that one set of messages has, with a stream of its own.

    Attributes:
        joints: Indices of its joints in the model.
        names: Their names.
        places: Columns of its numbers in a row of all joints.
        source: Topic of its messages.
        stream: Its rows.
        velocity: Where velocities come from.
        checks: What was found of its positions.
    """

    def __init__(
        self,
        robot: RobotModel,
        config: RobotInputConfig,
        corrections: JointCorrections | None,
        clocks: ClockGroup,
        joints: NDArray[np.int64],
        source: str,
        name: str,
        *,
        effort: bool,
    ) -> None:
        """Begin without a row; the name is that of the stream, other arguments are those of `JointInput`."""
        m = len(joints)
        self.joints, self.source = joints, source
        self.names = tuple(robot.joint_names[j] for j in joints)
        self.places = np.concatenate([joints + k * robot.n_joints for k in range(2 + effort)])
        self.velocity, self.checks = (
            kind(self.names, config.inputs) for kind in (JointVelocity, JointChecks)
        )
        plausible, delay = joint_range(robot, list(joints), effort=effort), config.inputs.joint_delay
        spec = StreamSpec(name, (2 + effort) * m, plausible, delay, steady=slice(0, m))
        self.stream = Stream(spec, config.inputs, clocks)
        self.stream.finish = self._finish
        self._turning = np.flatnonzero(np.isin(joints, robot.continuous_joints))
        self._measured = config.inputs.joint_velocity == "measured"
        factors = unit_factors(config.joint_states.units, JOINT_UNITS)
        angles = np.isin(joints, robot.turning_joints)
        quantities = ("position", "velocity", "effort")[: 2 + effort]
        scale = np.concatenate([np.where(angles, factors.get(what, 1.0), 1.0) for what in quantities])
        offset = np.zeros(len(scale))
        if corrections is not None:
            offset[:m] = corrections.offset[joints]
            scale[2 * m :] *= corrections.gain[joints] if effort else 1.0
        self._scale = (
            None if (scale == 1.0).all() else scale
        )  # from the numbers that are sent, then the offset
        self._offset = offset if offset.any() else None

    def push(self, reading: JointReading, order: JointOrder, arrival_ns: int) -> bool:
        """Take a joint state that has these joints; return whether it is stored."""
        m, width, places = len(self.joints), self.stream.spec.width, order.places
        row = np.empty(width)
        reading.position.take(places, out=row[:m])
        if reading.velocity is not None:
            reading.velocity.take(places, out=row[m : 2 * m])
        elif self._measured:
            why = "it has no velocity; 'inputs.joint_velocity: auto' derives it from positions"
            return self.stream.refuse(DropReason.UNFIT, why, arrival_ns)
        else:
            row[m : 2 * m] = math.nan
        if width > 2 * m:
            if reading.effort is None:
                why = "it has no effort, but joint torques are needed"
                return self.stream.refuse(DropReason.UNFIT, why, arrival_ns)
            reading.effort.take(places, out=row[2 * m :])
        if self._scale is not None:
            row *= self._scale
        if self._offset is not None:
            row += self._offset
        return self.stream.push(reading.stamp_ns, row, arrival_ns)

    def _finish(self, time_ns: int, row: Array) -> Fault | None:
        """Check positions against velocities, and derive those that are not measured."""
        m, ring, turning = len(self.joints), self.stream.ring, self._turning
        q, v = row[:m], row[m : 2 * m]
        if len(turning) and len(ring):  # angles follow those before, without whole turns
            q[turning] -= TURN * np.round((q[turning] - ring.rows[ring.end - 1, turning]) / TURN)
        fault = self.checks.fault(time_ns, q, v) or self.velocity.complete(time_ns, q, v)
        if fault is None:
            if not v.dot(v) >= 0.0:
                return DropReason.NOT_FINITE, f"velocity of {self.names[int(np.isnan(v).argmax())]} is nan"
            self.checks.follow(v)
        return fault

    def reset(self) -> None:
        """Forget all joint states."""
        self.stream.clear()
        self.velocity.reset()
        self.checks.reset()


class JointInput:
    """Joint states as one stream of rows of all joints.

    Messages with all joints of the model give the rows as they are. Messages with some of them are parts: each has its
    own times, and a row is made at each time of the largest part, with the others interpolated there. A joint that
    several sets of messages have belongs to the first that came, while that arrives.

    Attributes:
        columns: Columns of a row.
        stream: The rows of all joints.
        parts: Sets of joints that have come.
    """

    def __init__(
        self,
        robot: RobotModel,
        config: RobotInputConfig,
        clocks: ClockGroup,
        corrections: JointCorrections | None = None,
        *,
        effort: bool = False,
        partial: bool = False,
    ) -> None:
        """Begin without a joint state.

        Args:
            robot: The model.
            config: Parameters of the inputs.
            clocks: Those of the inputs of the robot.
            corrections: Offsets of positions and gains of efforts; None: none.
            effort: Whether rows have efforts.
            partial: Whether rows may lack joints, which are then NaN.
        """
        self.columns = JointRow(robot.n_joints, effort)

        def make(joints: NDArray[np.int64], source: str, name: str) -> JointPart:
            return JointPart(robot, config, corrections, clocks, joints, source, name, effort=effort)

        self._make: Callable[[NDArray[np.int64], str, str], JointPart] = make
        self._names = JointNames(robot, config.joint_names)
        self._whole = make(np.arange(robot.n_joints), JOINTS, JOINTS)
        self.stream, self.parts = self._whole.stream, list[JointPart]()
        self._known: dict[tuple[str, tuple[str, ...]], tuple[JointOrder, JointPart]] = {}
        self._last: tuple[str, tuple[str, ...]] = ("", ())
        self._join = _Join(self._whole, config.inputs, partial=partial)

    def push(self, reading: JointReading, arrival_ns: int, source: str = JOINTS) -> bool:
        """Take a joint state; return whether it is stored.

        Args:
            reading: The joint state.
            arrival_ns: Its arrival [ns].
            source: Topic of its message, or what else tells its publisher.
        """
        last, names = self._last, reading.names
        key = last if names is last[1] and source == last[0] else (source, names)
        known = self._known.get(key)
        if known is None:
            try:
                known = self._of(names, source, arrival_ns)
            except MeasurementError as error:
                return self.stream.refuse(DropReason.UNFIT, str(error), arrival_ns)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        self._last = key
        stored = known[1].push(reading, known[0], arrival_ns)
        if len(self.parts) > 1 or self.parts[0] is not self._whole:
            self._join.update(known[1], arrival_ns)
        return stored

    def _of(self, names: tuple[str, ...], source: str, arrival_ns: int) -> tuple[JointOrder, JointPart]:
        """Return the part that names belong to; a new one may change which part has which joint."""
        order = self._names.order(names)
        self.stream.remarks["names"] = order.remark
        for part in self.parts:
            if part.source == source and np.array_equal(part.joints, order.joints):
                return order, part
        if len(self.parts) >= MOST_PARTS:
            raise MeasurementError(f"joint states come with more than {MOST_PARTS} sets of joints")
        if len(order.joints) == self.columns.n and self._whole not in self.parts:
            part = self._whole
        else:
            has = listing([self._whole.names[j] for j in order.joints], limit=2)
            part = self._make(order.joints, source, f"{source} part {len(self.parts) + 1} ({has})")
        part.source = source
        self.parts.append(part)
        self._join.share(self.parts, arrival_ns)
        return order, part

    @property
    def velocity_source(self) -> str:
        """Where the velocities of the last joint states come from, for people."""
        return "; ".join(dict.fromkeys(part.velocity.source for part in self.parts)) or "not known yet"

    def notes(self, now_ns: int, timeout: float) -> list[str]:
        """Say what is odd about joint states: names, joints that no message has, parts that have ended, rivals.

        Args:
            now_ns: The caller's time on the clock of the arrivals [ns].
            timeout: Age from which a part has ended [s].
        """
        notes = [*(part.checks.remark for part in self.parts), self._join.rivals]
        had = {int(j) for part in self.parts for j in part.joints}
        lacking = [name for j, name in enumerate(self._whole.names) if j not in had]
        if self.parts and lacking:
            what = (
                f"no message has {listing(lacking, limit=6)}: lock them if they do not move (locked_joints)"
            )
            notes.append(f"{what}, or name the topic that has them in joint_states.topics")
        for part in self.parts if len(self.parts) > 1 else ():
            age = seconds(now_ns - part.stream.arrival_ns)
            if age > timeout:
                notes.append(
                    f"{listing(part.names, limit=6)} ended {age:.2f} s ago (messages on {part.source})"
                )
        return [note for note in notes if note]

    def reset(self) -> None:
        """Forget all joint states."""
        for part in {self._whole, *self.parts}:
            part.reset()


class _Join:
    """Joins parts of joint states into rows of all joints.

    Attributes:
        rivals: Two parts that have a joint with different values, for people; empty without any.
    """

    def __init__(self, whole: JointPart, config: InputConfig, *, partial: bool) -> None:
        self._whole, self._config, self._partial = whole, config, partial
        self._lost_ns = round(NANOSECONDS * (config.timeout + config.max_wait))
        self._parts: list[JointPart] = []
        self._owners = np.full(len(whole.joints), -1)  # number of the part that each joint is taken from
        self._aligner: Aligner | None = None  # None: the rows of the whole part are used
        self._copies: list[
            tuple[str, NDArray[np.int64], NDArray[np.int64]]
        ] = []  # from columns of a part's row
        self.rivals = ""

    def share(self, parts: list[JointPart], arrival_ns: int) -> None:
        """Give each joint to the first part that has it and arrives; the largest part gives the times."""
        self._parts = parts
        lost = [part.stream.received > 0 and self._ended(part, arrival_ns) for part in parts]
        self._owners[:] = -1
        for k in sorted(range(len(parts)), key=lost.__getitem__):
            own = parts[k].joints
            self._owners[own] = np.where(self._owners[own] < 0, k, self._owners[own])
        owned = [int((self._owners == k).sum()) for k in range(len(parts))]
        used = [k for k in sorted(range(len(parts)), key=lambda k: (lost[k], -owned[k])) if owned[k]]
        if [parts[k] for k in used] == [self._whole]:
            self._aligner = None
            return
        streams = [parts[k].stream for k in used]
        self._aligner, self._copies = Aligner(streams[0], streams[1:], self._config), []
        for k in used:
            fields = len(parts[k].places) // len(parts[k].joints)
            columns = np.flatnonzero(np.tile(self._owners[parts[k].joints] == k, fields))
            self._copies.append((parts[k].stream.spec.name, columns, parts[k].places[columns]))

    def _ended(self, part: JointPart, arrival_ns: int) -> bool:
        return arrival_ns - part.stream.arrival_ns > self._lost_ns

    def update(self, part: JointPart, arrival_ns: int) -> None:
        """Join what has come after a reading of a part, which may take over joints of parts that have ended."""
        others = [
            self._parts[k] for k in set(self._owners[part.joints].tolist()) if self._parts[k] is not part
        ]
        for other in others:
            self._compare(part, other)
        if self._aligner is not None:
            others += [p for p in self._parts if p.stream is self._aligner.driver]
        if any(self._ended(other, arrival_ns) for other in others):
            self.share(self._parts, arrival_ns)
        if self._aligner is not None:
            self._append(self._aligner, arrival_ns)

    def _compare(self, part: JointPart, owner: JointPart) -> None:
        """Note that two parts have different values of a joint."""
        own, time = part.stream.ring, part.stream.ring.newest_ns
        row = None if time is None else owner.stream.ring.latest(time, RIVAL_AGE_NS)
        if row is None:
            return
        _joints, a, b = np.intersect1d(part.joints, owner.joints, return_indices=True)
        first, second = row[b], own.rows[own.end - 1][a]
        worst = int(np.abs(first - second).argmax())
        if abs(first[worst] - second[worst]) > RIVAL_DIFFERENCE:
            self.rivals = (
                f"{part.names[a[worst]]} is published twice with different values, {first[worst]:.3g} rad by "
                f"{owner.source} (with {len(owner.joints)} joints), which is used, and {second[worst]:.3g} rad by "
                f"{part.source} (with {len(part.joints)})"
            )

    def _append(self, aligner: Aligner, arrival_ns: int) -> None:
        """Append the rows that have become ready to those of all joints."""
        stream = self._whole.stream
        for sample in aligner.ready():
            row = np.full(stream.spec.width, math.nan)
            rows = {aligner.driver.spec.name: sample.driver, **sample.rows}
            for name, columns, places in self._copies:
                part_row = rows[name]
                if part_row is not None:
                    row[places] = part_row[columns]
            stream.received += self._whole not in self._parts
            stream.arrival_ns = arrival_ns
            newest = stream.ring.newest_ns
            if newest is not None and sample.time_ns <= newest:
                stream.ring.clear()
            if self._partial or not np.isnan(row).any():
                stream.ring.append(sample.time_ns, sample.stamp_ns, row)
            elif any(self._ended(part, arrival_ns) for part in self._parts):
                stream.drop(DropReason.UNFIT, "joints lack of which messages have ended")
