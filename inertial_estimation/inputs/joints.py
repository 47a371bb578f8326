"""Joint states: by name, in parts from several publishers or topics, joined into rows in the model's order."""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.inputs.alignment import Aligner
from inertial_estimation.inputs.clocks import ClockGroup
from inertial_estimation.inputs.config import JOINT_UNITS, RobotInputConfig, unit_factors
from inertial_estimation.inputs.joint_checks import JointChecks
from inertial_estimation.inputs.joint_names import JointNames, JointOrder
from inertial_estimation.inputs.joint_velocity import JointVelocity, without_turns
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
        columns: Columns of its rows.
        places: Columns of its numbers in a row of all joints.
        stream: Its rows.
        velocity: Where velocities come from.
        checks: What was found of its positions.
        source: Topic of its messages.
    """

    def __init__(
        self,
        robot: RobotModel,
        config: RobotInputConfig,
        corrections: JointCorrections | None,
        order: JointOrder,
        clocks: ClockGroup,
        *,
        effort: bool,
        source: str,
    ) -> None:
        """Begin without a row; arguments are those of `JointInput`, and the joints."""
        joints, n, m = order.joints, robot.n_joints, len(order.joints)
        self.joints, self.source = joints, source
        self.names = tuple(robot.joint_names[j] for j in joints)
        self.columns = JointRow(m, effort)
        self.places = np.concatenate([joints + k * n for k in range(2 + effort)])
        self.velocity = JointVelocity(self.names, config.inputs)
        self.checks = JointChecks(self.names, config.inputs)
        name = JOINTS if m == n else f"{source} ({listing(self.names, limit=2)})"
        self.stream = Stream(
            StreamSpec(
                name,
                self.columns.width,
                joint_range(config.inputs.range, robot, list(joints), effort=effort),
                config.inputs.joint_delay,
                steady=self.columns.q,
            ),
            config.inputs,
            clocks,
        )
        self.stream.finish = self._finish
        self._turning = np.flatnonzero(np.isin(joints, robot.continuous_joints))
        self._measured = config.inputs.joint_velocity == "measured"
        self._scale, self._offset = self._conversion(robot, config, corrections)

    def _conversion(
        self, robot: RobotModel, config: RobotInputConfig, corrections: JointCorrections | None
    ) -> tuple[Array | None, Array | None]:
        """Return factors and offsets from the numbers sent to those of a row; None: there is nothing to do."""
        factors = unit_factors(config.joint_states.units, JOINT_UNITS)
        turning = np.isin(self.joints, robot.turning_joints)
        quantities = ["position", "velocity", "effort"][: 2 + self.columns.effort]
        scale = np.concatenate([np.where(turning, factors.get(what, 1.0), 1.0) for what in quantities])
        offset = np.zeros(len(scale))
        if corrections is not None:
            offset[self.columns.q] = corrections.offset[self.joints]
            if self.columns.tau is not None:
                scale[self.columns.tau] *= corrections.gain[self.joints]
        return (None if (scale == 1.0).all() else scale), (offset if offset.any() else None)

    def push(self, reading: JointReading, order: JointOrder, arrival_ns: int) -> bool:
        """Take a joint state that has these joints; return whether it is stored."""
        m, places, (velocity, effort) = self.columns.n, order.places, (reading.velocity, reading.effort)
        row = np.empty(self.columns.width)
        reading.position.take(places, out=row[:m])
        if velocity is not None:
            velocity.take(places, out=row[m : 2 * m])
        elif self._measured:
            why = "the joint state has no velocity; 'inputs.joint_velocity: auto' derives it from positions"
            return self.stream.refuse(DropReason.UNFIT, why, arrival_ns)
        else:
            row[m : 2 * m] = math.nan
        if self.columns.effort:
            if effort is None:
                why = "the joint state has no effort, but joint torques are needed"
                return self.stream.refuse(DropReason.UNFIT, why, arrival_ns)
            effort.take(places, out=row[2 * m :])
        if self._scale is not None:
            row *= self._scale
        if self._offset is not None:
            row += self._offset
        return self.stream.push(reading.stamp_ns, row, arrival_ns)

    def _finish(self, time_ns: int, row: Array) -> Fault | None:
        """Check positions against velocities, and derive those that are not measured."""
        m, ring = self.columns.n, self.stream.ring
        q, v = row[:m], row[m : 2 * m]
        if len(self._turning) and len(ring):
            without_turns(q, ring.rows[ring.end - 1], self._turning)
        fault = self.checks.fault(time_ns, q, v) or self.velocity.complete(time_ns, q, v)
        if fault is None and not v.dot(v) >= 0.0:
            which = self.names[int(np.isnan(v).argmax())]
            return DropReason.NOT_FINITE, f"velocity of {which} is nan"
        return fault

    def reset(self) -> None:
        """Forget all joint states."""
        self.stream.clear()
        self.velocity.reset()
        self.checks.reset()


class JointInput:
    """Joint states as one stream of rows of all joints.

    Messages with all joints of the model give the rows as they are. Messages with some of them are parts: each has
    its own times, and a row is made at each time of the largest part, with the others interpolated there. A joint
    that several sets of messages have belongs to the first that came, while that arrives.

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
        self._robot, self._config, self._partial = robot, config, partial
        self._names = JointNames(robot, config.joint_names)
        self.columns = JointRow(robot.n_joints, effort)
        everything = np.arange(robot.n_joints)

        def make(order: JointOrder, source: str) -> JointPart:
            return JointPart(robot, config, corrections, order, clocks, effort=effort, source=source)

        self._make = make
        self._whole = make(JointOrder(everything, everything, ""), JOINTS)
        self.stream = self._whole.stream
        self.parts: list[JointPart] = []
        self._known: dict[tuple[str, tuple[str, ...]], tuple[JointOrder, JointPart]] = {}
        self._last: tuple[str, tuple[str, ...]] = ("", ())
        self._join: _Join | None = None

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
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        self._last = key
        order, part = known
        stored = part.push(reading, order, arrival_ns)
        if self._join is None:
            return stored
        self._join.update(part, arrival_ns)
        for row, time_ns, stamp_ns in self._join.rows(self.stream, partial=self._partial):
            self.stream.ring.append(time_ns, stamp_ns, row)
        return stored

    def _of(self, names: tuple[str, ...], source: str, arrival_ns: int) -> tuple[JointOrder, JointPart]:
        """Return the part that names belong to; a new one changes which part has which joint."""
        order = self._names.order(names)
        if order.remark:
            self.stream.remarks["names"] = f"{order.remark}; joint_names.prefix sets it"
        for part in self.parts:
            if part.source == source and np.array_equal(part.joints, order.joints):
                return order, part
        if len(self.parts) >= MOST_PARTS:
            raise MeasurementError(f"joint states come with more than {MOST_PARTS} sets of joints")
        first_whole = len(order.joints) == self.columns.n and self._whole not in self.parts
        part = self._whole if first_whole else self._make(order, source)
        part.source = source
        self.parts.append(part)
        if self._join is None and (len(self.parts) > 1 or part is not self._whole):
            self._join = _Join(self.columns, self._config, self._whole)
        if self._join is not None:
            self._join.share(self.parts, arrival_ns)
        return order, part

    @property
    def lacking(self) -> tuple[str, ...]:
        """Joints of the model that no message has had."""
        had = {int(j) for part in self.parts for j in part.joints}
        return tuple(name for j, name in enumerate(self._robot.joint_names) if j not in had)

    @property
    def velocity_source(self) -> str:
        """Where the velocities of the last joint states come from, for people."""
        sources = dict.fromkeys(part.velocity.source for part in self.parts)
        return "; ".join(sources) if sources else "not known yet"

    @property
    def name_changes(self) -> int:
        """Number of times that names have come which were not known."""
        return max(self._names.changes - len(self.parts), 0)

    def notes(self, now_ns: int, timeout: float) -> list[str]:
        """Say what is odd about joint states: names, joints that are in no message, parts that have ended, rivals.

        Args:
            now_ns: The caller's time on the clock of the arrivals [ns].
            timeout: Age from which a part has ended [s].
        """
        notes = [part.checks.remark for part in self.parts if part.checks.remark]
        if self.parts and self.lacking:
            notes.append(
                f"no message has {listing(self.lacking, limit=6)}: lock them if they do not move (locked_joints), or "
                "name the topic that has them in joint_states.topics"
            )
        for part in self.parts:
            age = seconds(now_ns - part.stream.arrival_ns)
            if len(self.parts) > 1 and age > timeout:
                notes.append(f"{listing(part.names, limit=6)} ended {age:.2f} s ago (messages on {part.source})")
        return notes + ([self._join.rivals] if self._join is not None and self._join.rivals else [])

    def reset(self) -> None:
        """Forget all joint states."""
        self._whole.reset()
        for part in self.parts:
            part.reset()


class _Join:
    """Joins parts of joint states into rows of all joints.

    Attributes:
        rivals: Two parts that have a joint with different values, for people; empty without any.
    """

    def __init__(self, columns: JointRow, config: RobotInputConfig, whole: JointPart) -> None:
        self._columns, self._inputs, self._whole = columns, config.inputs, whole
        self._lost_ns = round(NANOSECONDS * (config.inputs.timeout + config.inputs.max_wait))
        self._parts: list[JointPart] = []
        self._owners = np.full(columns.n, -1)
        self._aligner: Aligner | None = None  # of more than one part
        self._copies: list[tuple[str, Array, Array]] = []  # names, columns of the part, columns of the row
        self.rivals = ""

    def share(self, parts: list[JointPart], arrival_ns: int) -> None:
        """Give each joint to the first part that has it and arrives; the largest part gives the times."""
        self._parts = parts
        self._owners[:] = -1
        lost = [arrival_ns - part.stream.arrival_ns > self._lost_ns for part in parts]
        lost[-1] = lost[-1] and bool(parts[-1].stream.received)
        for number in sorted(range(len(parts)), key=lambda k: lost[k]):
            joints = parts[number].joints
            self._owners[joints] = np.where(self._owners[joints] < 0, number, self._owners[joints])
        owned = [int((self._owners == number).sum()) for number in range(len(parts))]
        used = [k for k in sorted(range(len(parts)), key=lambda k: (lost[k], -owned[k])) if owned[k]]
        self._aligner = None
        if parts[used[0]] is self._whole and len(used) == 1:
            return  # its rows are those of all joints
        streams = [parts[k].stream for k in used]
        self._aligner = Aligner(streams[0], streams[1:], self._inputs)
        self._copies = []
        for k in used:
            columns = np.flatnonzero(np.tile(self._owners[parts[k].joints] == k, 2 + self._columns.effort))
            self._copies.append((parts[k].stream.spec.name, columns, parts[k].places[columns]))

    def update(self, part: JointPart, arrival_ns: int) -> None:
        """Let a part take over joints whose part has ended; compare it with parts that have the same joints."""
        number = self._parts.index(part)
        others = [k for k in set(self._owners[part.joints].tolist()) if k != number]
        driver = None if self._aligner is None else self._aligner.driver
        ended = driver is not None and arrival_ns - driver.arrival_ns > self._lost_ns
        for k in others:
            ended = ended or arrival_ns - self._parts[k].stream.arrival_ns > self._lost_ns
            self._compare(part, self._parts[k])
        if ended:
            self.share(self._parts, arrival_ns)

    def _compare(self, part: JointPart, owner: JointPart) -> None:
        """Note that two parts have different values of a joint."""
        own, other = part.stream.ring, owner.stream.ring
        time = own.newest_ns
        row = None if time is None else other.latest(time, RIVAL_AGE_NS)
        if time is None or row is None:
            return
        joints, a, b = np.intersect1d(part.joints, owner.joints, return_indices=True)
        first, second = row[b], own.rows[own.end - 1][a]
        worst = int(np.abs(first - second).argmax())
        if abs(first[worst] - second[worst]) > RIVAL_DIFFERENCE:
            self.rivals = (
                f"{part.names[a[worst]]} is published twice with different values ({first[worst]:.3g} and "
                f"{second[worst]:.3g} rad): by {owner.source} with {len(owner.joints)} joints, which is used, and by "
                f"{part.source} with {len(part.joints)}"
            )

    def rows(self, stream: Stream, *, partial: bool) -> list[tuple[Array, int, int]]:
        """Return the rows that are complete, with times and stamps [ns], after those of a stream.

        Args:
            stream: Where they go; cleared where times go back, and counts rows that lack joints.
            partial: Whether rows may lack joints, which are then NaN.
        """
        if self._aligner is None:
            return []
        found = []
        for sample in self._aligner.ready():
            row = np.full(self._columns.width, np.nan)
            rows = {self._copies[0][0]: sample.driver, **sample.rows}
            for name, columns, places in self._copies:
                part_row = rows[name]
                if part_row is not None:
                    row[places] = part_row[columns]
            newest = stream.ring.newest_ns
            if newest is not None and sample.time_ns <= newest:
                stream.ring.clear()
            stream.received += self._whole not in self._parts
            stream.arrival_ns = self._aligner.driver.arrival_ns
            if partial or not np.isnan(row).any():
                found.append((row, sample.time_ns, sample.stamp_ns))
            else:
                lacks = [n for n, missing in zip(self._whole.names, np.isnan(row), strict=False) if missing]
                stream.drop(DropReason.UNFIT, f"the joint states lack {listing(lacks, limit=6)}")
        return found
