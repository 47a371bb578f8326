"""Joint states matched by name, in parts from several publishers or topics, joined into rows of the model."""

import functools
import itertools
import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.inputs.alignment import Aligner, Continuity, Steps
from inertial_estimation.inputs.config import (
    JOINT_UNITS,
    WAIT_SHARE,
    InputConfig,
    JointNameConfig,
    RobotGeometryConfig,
    unit_factors,
)
from inertial_estimation.inputs.stream import (
    ClockGroup,
    DropReason,
    Fault,
    Ring,
    RowRange,
    Stream,
    StreamSpec,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import possible_positions, urdf_limits, without_stops
from inertial_estimation.models.local_polynomials import end_slope_weights
from inertial_estimation.models.robot_config import joint_corrections
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, JointReading, seconds

POSITION_MARGIN = 1.0  # by which positions may exceed the limits of the URDF [rad or m]
UNLIMITED = 1e4  # largest position of a joint without limits, and velocity that is not needed, in any unit
VELOCITY_FACTOR, LEAST_VELOCITY = 3.0, 30.0  # largest velocity: in limits of the URDF; at least [rad/s, m/s]
FREE_VELOCITY = 100.0  # largest velocity of a joint without a limit [rad/s or m/s]
EFFORT_FACTOR, LEAST_LEVER = 4.0, 0.5  # largest effort: in limits of the URDF; at least weight times [m]
FREE_LEVER = 10.0  # largest effort of a joint without a limit: weight times [m]
JUMP = 0.1  # difference of positions from which two joint states contradict each other [rad or m]
JUMP_LAG = 0.1  # largest lag between a position and its velocity [s]
LARGEST_ACCELERATION = 200.0  # of a joint between two joint states [rad/s^2 or m/s^2]
VELOCITY_WINDOW_NS = NANOSECONDS // 50  # span of positions for a derived velocity; a longer one adds lag
FEWEST_SAMPLES = 5  # for a derivative: at an equal rate three leave 2.3 times the noise
TRAVEL_AT_ZERO_VELOCITY = 0.01  # travel that shows that velocities of zero are not measured [rad or m]


def contradiction(
    stored: Ring, time_ns: int, state: Array, needed: NDArray[np.bool_], longest_ns: int
) -> int | None:
    """Return the joint whose position contradicts the last stored joint state; None if there is none.

    Positions a time h apart agree if |dq - h (v + v') / 2| <= d + t (|v| + |v'|) + a h^2 / 2, with h times
    the largest velocity more where velocities are unknown. After `longest_ns` any position is accepted: of
    two publishers the first one is used, and an encoder that has slipped is used again after this time.

    Args:
        stored: Previous rows, which begin with positions and velocities.
        time_ns: Time of the joint state [ns].
        state: Its positions [rad, m] and velocities [rad/s, m/s], NaN where not measured, shape (2 m,).
        needed: Whether each joint is needed, shape (m,); others may have any position.
        longest_ns: Time after which positions are not compared [ns].
    """
    newest, m = stored.newest_ns, len(state) // 2
    if newest is None or not 0 < time_ns - newest <= longest_ns:
        return None
    before, h = stored.rows[stored.end - 1], seconds(time_ns - newest)
    change = state[:m] - before[:m]
    if change.dot(change) <= JUMP * JUMP:
        return None
    both = np.stack((before[m : 2 * m], state[m:]))
    v, unknown = np.nan_to_num(both), np.isnan(both).all(axis=0)
    off = np.abs(change - 0.5 * h * v.sum(axis=0)) - JUMP_LAG * np.abs(v).sum(axis=0)
    off = np.where(needed, np.nan_to_num(off) - h * LEAST_VELOCITY * unknown, 0.0)
    worst = int(off.argmax())
    return worst if off[worst] > JUMP + 0.5 * LARGEST_ACCELERATION * h * h else None


class JointVelocities:
    """Derives the velocities of joints that are not measured.

    A velocity is the slope, at the newest sample, of a least-squares parabola through the positions of the
    last `VELOCITY_WINDOW_NS`: exact for constant velocity and acceleration, without lag; -0.1 j W^2 for a
    jerk j; noise sigma_q of n positions becomes about 13.9 sigma_q / (W sqrt(n)). There is none before the
    samples span the window (a shorter one is far noisier, as W^-1.5, and a zero would mean rest); after a gap
    of `inputs.timeout` the window starts anew. With `inputs.joint_velocity` "measured" all velocities are
    used as sent, with "derived" all are derived, with "auto" those that are not sent or NaN, and all of them
    once every velocity was exactly zero while a joint moved.

    Attributes:
        positions: Positions from which they are derived.
    """

    def __init__(self, names: tuple[str, ...], config: InputConfig) -> None:
        """Start without a joint state of the named joints."""
        self._names, self._policy = names, config.joint_velocity
        self._gap_ns = round(NANOSECONDS * config.timeout)
        self.positions = Ring(len(names), 512)
        self._all, self._none = np.ones(len(names), dtype=bool), np.zeros(len(names), dtype=bool)
        self.reset()

    def reset(self) -> None:
        """Discard all joint states."""
        self.positions.clear()
        self._derived: NDArray[np.bool_] = self._none  # joints whose last velocity was derived
        self._still: Array | None = None  # positions at the first of the last velocities that were all zero
        self._fake = False  # whether zeros are sent in place of velocities that are not measured

    def complete(self, time_ns: int, q: Array, v: Array) -> Fault | None:
        """Derive velocities that are not measured, or return why a joint state must not be used.

        Args:
            time_ns: Time [ns].
            q: Positions, angles without whole turns [rad, m], shape (m,).
            v: Velocities [rad/s, m/s], NaN where not measured, shape (m,).
        """
        self._derived = derived = self._absent(q, v)
        if derived is self._none and self._still is None and not len(self.positions):
            return None
        newest = self.positions.newest_ns
        if newest is not None and not 0 < time_ns - newest <= self._gap_ns:
            self.positions.clear()
        self.positions.append(time_ns, time_ns, q)
        return None if derived is self._none else self._derive(time_ns, v, derived)

    def _derive(self, time_ns: int, v: Array, derived: NDArray[np.bool_]) -> Fault | None:
        """Derive the velocities of some joints, or return why there are none."""
        times, rows = self.positions.window(time_ns - VELOCITY_WINDOW_NS, time_ns)
        if len(times) < FEWEST_SAMPLES:
            times, rows = self.positions.newest(FEWEST_SAMPLES)
        spanned = len(times) < len(self.positions) or time_ns - times[0] >= VELOCITY_WINDOW_NS
        if len(times) < FEWEST_SAMPLES or not spanned:
            window = f"{seconds(VELOCITY_WINDOW_NS):g} s"
            return DropReason.NO_VELOCITY, f"it is derived from {window} of positions"
        v[derived] = (end_slope_weights(seconds(times - times[-1])) @ rows)[derived]
        return None

    def _absent(self, q: Array, v: Array) -> NDArray[np.bool_]:
        """Return which joints have no measured velocity."""
        if self._policy != "auto":
            return self._all if self._policy == "derived" else self._none
        square = np.vdot(v, v)  # NaN if one of them is
        if square != 0.0:
            self._still, self._fake = None, False
            return self._none if square > 0.0 else np.isnan(v)
        if self._still is None:
            self._still = q.copy()
        self._fake = self._fake or bool((np.abs(q - self._still) > TRAVEL_AT_ZERO_VELOCITY).any())
        return self._all if self._fake else self._none

    @property
    def source(self) -> str:
        """Source of the velocities of the last joint state, as text."""
        names = [self._names[j] for j in np.flatnonzero(self._derived)]
        why = ", those sent are all zero" if self._fake else ""
        return f"derived from positions: {listing(names, limit=6)}{why}" if names else "measured"


JOINTS = "joint_states"
MOST_LISTED = 6  # names in an error
MOST_KNOWN = 256  # lists of names whose order is cached
MOST_PARTS = 16  # distinct sets of joints in messages
NO_VELOCITY = "not sent or nan; 'inputs.joint_velocity: auto' derives it from positions"
NO_EFFORT = "it has no effort, but joint torques are needed (contact.source: joint_torques, or torque_rows)"
RIVAL_AGE_NS = NANOSECONDS // 20  # longest gap that is interpolated to compare two publishers


class OtherJointsError(MeasurementError):
    """A joint state contains no joint of the model."""


class JointOrder(NamedTuple):
    """Joints of the model that a joint state contains, and where."""

    joints: NDArray[np.int64]  # indices in the model, ascending
    places: NDArray[np.int64]  # position of each of them among the entries of the joint state
    remark: str = ""  # sentence about changes to the names, such as a prefix that was removed


class JointNames:
    """Matches the names of joint states with the joints of a model."""

    def __init__(self, robot: RobotModel, config: JointNameConfig) -> None:
        """Check the parameters against the model.

        Raises:
            ConfigurationError: If the map or the order names a joint that the model does not have.
        """
        self._joints = {name: j for j, name in enumerate(robot.joint_names)}
        self._prefixes: dict[str, str] = {}  # prefix of each joint in previous messages
        self._prefix, self._order = config.prefix, config.order
        self._map = dict(entry.partition("=")[::2] for entry in config.map)
        for name in (*self._map.values(), *config.order):
            if name not in self._joints:
                hint = did_you_mean(name, robot.joint_names, "the model has")
                raise ConfigurationError(f"'joint_names' has '{name}', which is no joint of the model{hint}")

    def order(self, names: tuple[str, ...]) -> JointOrder:
        """Return which joints of the model a joint state contains, and where.

        Raises:
            MeasurementError: If its names are all empty and no order is given, or name a joint twice.
            OtherJointsError: If it contains no joint of the model.
        """
        if not any(names):
            names = self._without_names(len(names))
        sent, remark = [self._map.get(name, name.removeprefix(self._prefix)) for name in names], ""
        if not any(name in self._joints for name in sent):
            sent, remark = self._without_prefix(sent)
        places = {name: place for place, name in enumerate(sent)}
        twice = [name for name in self._joints if sent.count(name) > 1] if len(places) < len(sent) else []
        if twice:
            raise MeasurementError(f"the joint state names {listing(twice)} more than once")
        joints = [name for name in self._joints if name in places]
        if not joints:
            hint = did_you_mean(names[0], self._joints, "the model has", limit=MOST_LISTED) if names else ""
            has = listing(names, limit=MOST_LISTED)
            raise OtherJointsError(f"the joint state has no joint of the model, it has {has}{hint}")
        numbers = np.array([[self._joints[name], places[name]] for name in joints], dtype=np.int64).T
        return JointOrder(numbers[0], numbers[1].copy(), remark)

    def _without_names(self, count: int) -> tuple[str, ...]:
        if not count or len(self._order) == count:
            return self._order[:count]
        has = f"'joint_names.order' has {len(self._order)}" if self._order else "set joint_names.order"
        raise MeasurementError(f"the joint state has {count} positions and no names: {has}")

    def _without_prefix(self, sent: list[str]) -> tuple[list[str], str]:
        """Return names without their most frequent prefix of joints of the model, and a remark about it."""
        ends = [name.removesuffix(joint) for joint in self._joints for name in sent if name.endswith(joint)]
        prefix = max(ends, key=ends.count, default="")
        if ends.count(prefix) < min(2, len(sent)):
            return sent, ""
        names = [name.removeprefix(prefix) for name in sent]
        known = {self._prefixes.setdefault(name, prefix) for name in names if name in self._joints}
        known |= {other for other in ends if ends.count(other) == ends.count(prefix)}
        if len(known) > 1:
            found = listing(f"'{one}'" for one in sorted(known))
            raise MeasurementError(f"the joints of the model are there with {found}: set joint_names.prefix")
        return names, f"joint names have the prefix '{prefix}', which is removed (joint_names.prefix)"


class JointRow(NamedTuple):
    """Columns of a row of n joints: positions [rad, m], velocities [rad/s, m/s], efforts [Nm, N] or None."""

    n: int
    q: slice
    v: slice
    tau: slice | None


class JointNeeds(NamedTuple):
    """What a pipeline needs of joint states."""

    velocities: bool = True  # derive those that are not sent; False: as sent, else NaN
    efforts: bool | Collection[int] = False  # of all joints, or of these indices; others may have any value
    joints: Collection[int] | None = None  # indices of joints without which there is no row; None: all
    partial: bool = False  # whether rows may lack needed joints and efforts that no message has (NaN)
    effort_gaps: bool = False  # whether efforts may be missing


def joint_range(
    robot: RobotModel, joints: Sequence[int], needed: Sequence[NDArray[np.bool_]], needs: JointNeeds
) -> RowRange:
    """Return the range of positions, velocities (NaN: not measured) and, if needed, efforts of some joints.

    `needed` has masks of shape (m,): of needed joints and, with efforts, of joints whose effort is needed.
    Anything else may have any value.
    """
    limits, weight = urdf_limits(robot).of(joints), STANDARD_GRAVITY * robot.total_mass
    lower, upper = (end[list(joints)] for end in possible_positions(robot))
    highest = np.where(np.isfinite(upper), upper + POSITION_MARGIN, UNLIMITED)
    lowest = np.where(np.isfinite(lower), lower - POSITION_MARGIN, -UNLIMITED)
    speed = np.maximum(VELOCITY_FACTOR * limits.velocity, LEAST_VELOCITY)
    speed = np.where(np.isfinite(speed), speed, FREE_VELOCITY) if needs.velocities else np.inf + speed
    strength = np.maximum(EFFORT_FACTOR * limits.effort, LEAST_LEVER * weight)
    strength = np.where(np.isfinite(strength), strength, FREE_LEVER * weight)
    parts = [("position", "rad", lowest, highest), ("velocity", "rad/s", -speed, speed)]
    parts += [("effort", "Nm", -strength, strength)] * (len(needed) - 1)
    names = [f"{what} of {robot.joint_names[j]}" for what, _unit, _low, _high in parts for j in joints]
    units = [unit for _what, unit, _low, _high in parts for _ in joints]
    free = ~np.concatenate((needed[0], *needed))
    low, high = (np.concatenate([part[end] for part in parts]) for end in (2, 3))
    low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
    free[len(joints) : None if needs.effort_gaps else 2 * len(joints)] = True
    return RowRange(low, high, names, units, np.flatnonzero(free))


class JointPart:
    """The joints of messages with one set of names, as a stream of their own."""

    def __init__(
        self,
        robot: RobotModel,
        config: RobotGeometryConfig,
        clocks: ClockGroup,
        needs: JointNeeds,
        joints: NDArray[np.int64],
        source: str,
        name: str,
    ) -> None:
        """Start without a row of joints with these indices, from a topic, as a stream of a name."""
        m, effort = len(joints), needs.efforts is not False
        self.joints, self.source = joints, source  # indices in the model; topic of the messages
        self.names = tuple(robot.joint_names[j] for j in joints)
        # Columns of its entries in a row of all joints.
        self.places = np.concatenate([joints + k * robot.n_joints for k in range(2 + effort)])
        self.velocities = JointVelocities(self.names, config.inputs)
        self._judged = needed = np.isin(joints, joints if needs.joints is None else list(needs.joints))
        measured = np.isin(joints, joints if isinstance(needs.efforts, bool) else list(needs.efforts))
        of_parts = [needed, needed & measured] if effort else [needed]
        plausible = joint_range(robot, list(joints), of_parts, needs)
        delay = config.inputs.joint_delay
        spec = StreamSpec(name, (2 + effort) * m, plausible, delay, steady=slice(0, m), part_of=JOINTS)
        self.stream = Stream(spec, config.inputs, clocks)
        self.stream.finish, self._gap_ns = self._finish, round(NANOSECONDS * config.inputs.timeout)
        self._turning = np.flatnonzero(without_stops(robot)[joints])
        self._with_velocities = needs.velocities
        factors = unit_factors(config.joint_states.units, JOINT_UNITS)
        angles = np.isin(joints, robot.turning_joints)
        quantities = ("position", "velocity", "effort")[: 2 + effort]
        self._scale = np.concatenate([np.where(angles, factors.get(what, 1.0), 1.0) for what in quantities])
        corrections = joint_corrections(config.joint_offsets, config.drive_gains, robot)
        self._offset = corrections.offset[joints]
        self._scale[2 * m :] *= corrections.gain[joints] if effort else 1.0
        # Columns of needed efforts, and of efforts that must not all be missing.
        self._efforts = 2 * m + np.flatnonzero(measured & needed & effort)
        self._needed = self._efforts[: 0 if needs.partial or needs.effort_gaps else None]

    def push(self, reading: JointReading, order: JointOrder, arrival_ns: int) -> bool:
        """Take a joint state with these joints; return whether it is stored."""
        m, row = len(self.joints), np.empty(self.stream.spec.width)
        row.fill(math.nan)
        for k, values in enumerate((reading.position, reading.velocity, reading.effort)):
            if values is not None and k * m < len(row):
                row[k * m : (k + 1) * m] = values[order.places]
        needed = self._needed
        if len(needed) and math.isnan(row[needed[0]]) and np.isnan(row[needed]).all():
            return self.stream.refuse(DropReason.UNUSABLE, NO_EFFORT, arrival_ns)
        row *= self._scale
        row[:m] += self._offset
        return self.stream.push(reading.stamp_ns, row, arrival_ns)

    def _finish(self, time_ns: int, row: Array) -> Fault | None:
        """Check positions against velocities, and derive velocities that are not measured."""
        m, ring, turning = len(self.joints), self.stream.ring, self._turning
        q, v = row[:m], row[m : 2 * m]
        newest, efforts = ring.newest_ns, row[self._efforts]
        lacking = math.isnan(np.vdot(efforts, efforts))
        if lacking and newest is not None and time_ns - newest <= self._gap_ns:
            lost = self._efforts[np.isnan(efforts) & ~np.isnan(ring.rows[ring.end - 1, self._efforts])]
            if len(lost):  # efforts that are sent now and then are lost; those never sent are not measured
                return DropReason.NOT_FINITE, f"effort of {self.names[lost[0] - 2 * m]} is nan"
        before = ring if len(ring) else self.velocities.positions
        if len(turning) and len(before):  # unwrap the angles of joints without stops
            q[turning] -= math.tau * np.round((q[turning] - before.rows[before.end - 1, turning]) / math.tau)
        if not self._with_velocities and not np.vdot(v, v) < UNLIMITED**2:
            v[~(np.abs(v) < UNLIMITED)] = math.nan
        jumps = contradiction(ring, time_ns, row[: 2 * m], self._judged, self._gap_ns)
        if jumps is not None:
            values = f"{ring.rows[ring.end - 1, jumps]:.3g} and then {q[jumps]:.3g} rad"
            jumped = f"position of {self.names[jumps]} is {values}: two publishers, or an encoder that slips?"
            return DropReason.CONTRADICTION, jumped
        if not self._with_velocities:
            return None
        fault = self.velocities.complete(time_ns, q, v)
        if fault is None and math.isnan(np.vdot(v, v)):
            name = self.names[int(np.isnan(v).argmax())]
            return DropReason.NOT_FINITE, f"velocity of {name}: {NO_VELOCITY}"
        return fault

    def reset(self) -> None:
        """Discard all joint states."""
        self.stream.reset()
        self.velocities.reset()


class JointInput:
    """Joint states as one stream of rows of all joints.

    Messages with all joints of the model are rows as they are. Messages with some of them are parts with
    their own times: there is a row at each time of the largest part, at which the others are interpolated.
    A joint whose position is NaN counts as absent from a message. A joint that several parts have is taken
    from the largest part that arrives. Rows do not wait for joints that are not needed.
    """

    def __init__(
        self, robot: RobotModel, config: RobotGeometryConfig, clocks: ClockGroup, needs: JointNeeds
    ) -> None:
        """Start without a joint state."""
        n, effort = robot.n_joints, needs.efforts is not False
        self.columns = JointRow(n, slice(n), slice(n, 2 * n), slice(2 * n, 3 * n) if effort else None)
        self._part, self._clocks = functools.partial(JointPart, robot, config, clocks, needs), clocks
        self._names, self._config = JointNames(robot, config.joint_names), config.inputs
        self._needed = sorted(range(n) if needs.joints is None else needs.joints)
        self._partial = needs.partial
        self._whole = self._part(np.arange(n), JOINTS, JOINTS)
        self.stream, self.parts = self._whole.stream, list[JointPart]()
        # Order and part of messages by source and names; None if they contain no joint of the model.
        self._known: dict[tuple[str, tuple[str, ...]], tuple[JointOrder, JointPart] | None] = {}
        # Parts that have ended; parts in use, the first of which defines the times of rows; their aligner,
        # None while a single part has all joints.
        self._ended, self._used = set[JointPart](), list[JointPart]()
        self._aligner: Aligner | None = None

    def push(self, reading: JointReading, arrival_ns: int, _frame: str = "", source: str = JOINTS) -> bool:
        """Take a joint state with its arrival [ns] and topic or publisher; return whether it is stored."""
        reading, lacking = _with_positions(reading)
        arrival_ns, key = arrival_ns or reading.stamp_ns, (source, reading.names)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            try:
                self._known[key] = self._of(reading.names, source)
            except OtherJointsError as error:
                if not self.parts:
                    return self.stream.refuse(DropReason.UNUSABLE, str(error), arrival_ns)
                self._known[key] = None
            except MeasurementError as error:
                return self.stream.refuse(DropReason.UNUSABLE, str(error), arrival_ns)
        known = self._known[key]
        if known is None:  # such as a gripper, whose driver uses the same topic
            return False
        order, part = known
        stored = part.push(reading, order, arrival_ns)
        if self.parts != [self._whole]:
            self._join(arrival_ns)
        if lacking and part not in self._used and part is not self._whole:
            return self.stream.drop(DropReason.NOT_FINITE, f"position of {lacking} is nan")
        return stored

    def _of(self, names: tuple[str, ...], source: str) -> tuple[JointOrder, JointPart]:
        """Return the order of names and the part that they belong to, which is created if it is new."""
        order = self._names.order(names)
        if order.remark:
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
            part = self._part(order.joints, source, f"{source} part {len(self.parts) + 1} ({has})")
            part.stream.drops, part.stream.remarks = self.stream.drops, self.stream.remarks
        part.source = source
        self.parts.append(part)
        self._choose()
        return order, part

    def _join(self, arrival_ns: int) -> None:
        """Append rows of all joints for which every part has arrived."""
        lost_ns = (1.0 + WAIT_SHARE) * NANOSECONDS * self._config.timeout
        ended = {part for part in self.parts if 0 < part.stream.arrival_ns < arrival_ns - lost_ns}
        if ended != self._ended:
            self._ended = ended
            self._choose()
        for sample in self._aligner.ready() if self._aligner is not None else ():
            row, rows = np.full(self.stream.spec.width, math.nan), [sample.driver, *sample.rows.values()]
            for part, own in zip(reversed(self._used), reversed(rows), strict=True):
                if own is not None:
                    row[part.places] = own
            if self._whole not in self.parts:  # whose own messages the counters count
                self.stream.received, self.stream.arrival_ns = self.stream.received + 1, arrival_ns
            newest = self.stream.ring.newest_ns
            if newest is not None and sample.time_ns <= newest:
                if sample.continuity is not Continuity.AFTER_GAP:
                    continue  # this time was joined before another part became the first
                self.stream.ring.clear()  # the clock of the previous first part was ahead
            if self._partial or not np.isnan(row[self._needed]).any():
                self.stream.ring.append(sample.time_ns, sample.stamp_ns, row)
            elif not ended.isdisjoint(self._used):
                self.stream.drop(DropReason.UNUSABLE, "some joints have no messages any more")

    def _choose(self) -> None:
        """Choose the parts in use: arriving ones before ended ones, larger ones first, then the earliest."""
        used, lacking = list[JointPart](), set(self._needed)
        for part in self._in_order():
            used += [] if lacking.isdisjoint(part.joints.tolist()) else [part]
            lacking = lacking.difference(part.joints.tolist())
        if used != self._used:
            self._used, self._aligner = used, None
            if used and used != [self._whole]:
                first, *others = (part.stream for part in used)
                self._aligner = Aligner(first, others, self._config, Steps(first.spec.name))

    def _in_order(self) -> list[JointPart]:
        """Return the parts in order of preference."""
        sizes = {part: (np.isin(self._needed, part.joints).sum(), len(part.joints)) for part in self.parts}
        return sorted(self.parts, key=lambda part: (part not in self._ended, *sizes[part]), reverse=True)

    @property
    def velocity_source(self) -> str:
        """Source of the velocities of the last joint states, as text."""
        return "; ".join(dict.fromkeys(part.velocities.source for part in self.parts)) or "not known yet"

    def notes(self, now_ns: int, timeout: float) -> list[str]:
        """Return sentences about rival publishers, parts late or silent for a timeout [s], absent joints."""
        ages = {part: seconds(now_ns - part.stream.arrival_ns) for part in self._in_order()}
        arrive = [part for part, age in ages.items() if age <= timeout]
        notes = [_rivals(*pair) for pair in itertools.combinations(arrive, 2)]
        notes += dict.fromkeys(part.stream.clock_note for part in arrive if part is not self._whole)
        late = {} if self._aligner is None else self._aligner.late()
        notes += [f"{name} {sentence}" for name, sentence in late.items()]
        had = {name for part in self.parts for name in part.names}
        lacking = [name for j in self._needed if (name := self._whole.names[j]) not in had]
        if self.parts and lacking:
            remedy = "lock them if they are still (locked_joints), or add their topic to joint_states.topics"
            notes.append(f"no message has {listing(lacking, limit=6)}: {remedy}")
        arriving = {name for part in arrive for name in part.names}
        for part, age in ages.items() if arriving else ():
            ended = [name for name in part.names if name not in arriving]
            if ended:
                what = f"{listing(ended, limit=6)} ended {age:.2f} s ago (messages on {part.source})"
                notes.append(f"{what}: has a driver ended, or changed their names?")
        return [note for note in notes if note]

    def reset(self) -> None:
        """Discard all joint states and parts."""
        for part in self.parts:
            if part is not self._whole:
                self._clocks.streams.remove(part.stream)
        self._whole.reset()
        self.parts, self._ended, self._used, self._aligner = [], set(), [], None
        self._known.clear()


def _with_positions(reading: JointReading) -> tuple[JointReading, str]:
    """Return a message without joints whose position is NaN, and the name of one of these, if any."""
    if not math.isnan(np.vdot(reading.position, reading.position)):  # which overflows without a warning
        return reading, ""
    absent = np.isnan(reading.position)
    if absent.all():
        return reading, ""
    names = tuple(name for name, none in zip(reading.names, absent, strict=True) if not none)
    velocity, effort = (x if x is None else x[~absent] for x in (reading.velocity, reading.effort))
    measured = JointReading(reading.stamp_ns, names, reading.position[~absent], velocity, effort)
    return measured, reading.names[int(absent.argmax())]


def _rivals(used: JointPart, other: JointPart) -> str:
    """Return a sentence about a joint that has different values in two parts at one time, or nothing."""
    joints, a, b = np.intersect1d(used.joints, other.joints, return_indices=True)
    newest = min(part.stream.ring.newest_ns or 0 for part in (used, other))
    first, second = (part.stream.ring.at(newest, RIVAL_AGE_NS) for part in (used, other))
    if not len(joints) or first is None or second is None:
        return ""
    worst = int(np.nan_to_num(np.abs(first[a] - second[b])).argmax())
    if not abs(first[a[worst]] - second[b[worst]]) > JUMP:
        return ""
    by, not_by = (
        f"{row[k[worst]]:.3g} rad by {part.source} ({len(part.joints)} joints)"
        for part, row, k in ((used, first, a), (other, second, b))
    )
    return f"{used.names[a[worst]]} has two publishers that differ: {by}, which is used, and {not_by}"
