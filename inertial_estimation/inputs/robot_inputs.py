"""All inputs of one robot: from messages or values to aligned samples and health."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean
from inertial_estimation.inputs.alignment import AlignedSample, Aligner, Steps
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.field_map import FieldMap
from inertial_estimation.inputs.joints import JOINTS, JointInput, JointNeeds
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    ORIENTATION_TYPES,
    MessageReader,
)
from inertial_estimation.inputs.sensors import (
    IMU,
    LARGEST_RATE,
    ContactInput,
    ContactSource,
    ImuInput,
    RawScale,
)
from inertial_estimation.inputs.stream import (
    PERIODIC,
    REPORTED_NS,
    ClockGroup,
    DropReason,
    Stream,
    StreamSpec,
    number_range,
    vector_range,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, BaseState, Health, HealthLevel, seconds
from inertial_estimation.spatial.rotations import rotation_from_quaternion

BASE_STATE, YAW_REFERENCE = "base_state", "yaw_reference"
BASE_SPEED = 20.0  # largest along one axis [m/s]
LEAST_QUATERNION, LARGEST_QUATERNION = 0.25, 1e6  # range of the largest component of a usable quaternion

Readers = dict[tuple[str, bool], MessageReader]  # by topic, and whether its messages are custom ones
Store = Callable[..., Any]  # takes a value, its arrival [ns] and header.frame_id


class RobotInputs:
    """The inputs of one pipeline.

    Readings are pushed as values, or as messages through `connect`; unusable ones are dropped and counted.
    The arrival is the time at which the middleware received a message or it was recorded, on the clock of
    the stamps; 0, as a simulated clock has before its first message, means unknown. `topics` has, for each
    topic, the message types it may have and the function that stores their values.
    """

    def __init__(
        self,
        setup: RobotSetup,
        config: RobotGeometryConfig,
        steps: Steps,
        joints: JointNeeds | None,
        *,
        sources: Mapping[str, ContactSource] | None = None,
        await_contacts: bool = True,
        base_state: bool = False,
        yaw_reference: bool = False,
    ) -> None:
        """Set up the streams of a robot.

        Samples contain rows of the IMU, if there is one, of the joints (`joints` None: none), of contacts by
        their `sources` (None: wrenches of all), and of the base state if requested (twist, then vertical and
        x axis of the world in the base frame, 12 numbers). Steps wait for all of these, for contacts only if
        `await_contacts`; they do not wait for yaw references.

        Raises:
            ConfigurationError: If parameters do not fit the robot.
        """
        robot, inputs = setup.robot, config.inputs
        self.clocks = clocks = ClockGroup()
        self.imu = None if setup.imu is None else ImuInput(robot, setup.imu.frame, config, clocks)
        self.joints = None if joints is None else JointInput(robot, config, clocks, joints)
        given = dict.fromkeys(setup.contact_names, ContactSource.WRENCH) if sources is None else sources
        raw = [name for name in setup.contact_names if given.get(name) is ContactSource.RAW_FORCE]
        scale = RawScale(raw, STANDARD_GRAVITY * robot.total_mass)
        self.contacts = {
            one.name: ContactInput(
                *(robot, one, source, config, clocks, scale if one.name in raw else None),
                awaited=await_contacts,
            )
            for one in setup.contacts
            if (source := given.get(one.name, ContactSource.NONE)).width
        }
        streams = [one.stream for one in (self.imu, self.joints, *self.contacts.values()) if one is not None]
        motion = ("velocity", "m/s", BASE_SPEED), ("angular velocity", "rad/s", LARGEST_RATE)
        axes = ("vertical", "", 2.0), ("heading", "", 2.0)
        specs = [StreamSpec(BASE_STATE, 12, vector_range(*motion, *axes))] if base_state else []
        quaternion = number_range(-2.0, 2.0, "part of the quaternion", count=4)
        specs += [StreamSpec(YAW_REFERENCE, 4, quaternion, required=False)] if yaw_reference else []
        streams += [Stream(spec, inputs, clocks) for spec in specs]
        self.streams = {stream.spec.name: stream for stream in streams}
        others = [stream for stream in streams if stream.spec.name != steps.driver]
        self.aligner = Aligner(self.streams[steps.driver], others, inputs, steps)
        self.setup = setup
        # Called with each complete sample while the windows around it are still in the buffers.
        self.reduce: Callable[[AlignedSample], Any] | None = None
        self._samples: list[AlignedSample] = []
        self._stores: dict[str, Store] = {
            one.stream.spec.name: one.push
            for one in (self.imu, self.joints, *self.contacts.values())
            if one is not None
        }
        for name in self.streams.keys() & {BASE_STATE, YAW_REFERENCE}:
            self._stores[name] = partial(self._store_orientation, self.streams[name])
        self._maps = [FieldMap.find(name) for name in inputs.map]
        self.topics = self._topics(config.joint_states.topics)

    def push(self, name: str, value: Any, arrival_ns: int = 0, *more: str) -> None:
        """Take a value of an input, given the name of its stream (imu/data); unknown inputs are ignored.

        An arrival of 0 is unknown [ns]. `more` is header.frame_id and, for joint states, the publisher.
        """
        if name in self._stores:
            self._stores[name](value, arrival_ns, *more)
            self._collect()

    def _store_orientation(self, stream: Stream, sample: Any, arrival_ns: int, _frame: str = "") -> None:
        row: Array = sample.quaternion_xyzw
        if not LEAST_QUATERNION <= np.abs(row).max() <= LARGEST_QUATERNION:
            stream.refuse(DropReason.NO_DIRECTION, "", arrival_ns or sample.stamp_ns)
            return
        if isinstance(sample, BaseState):
            R_WB = rotation_from_quaternion(row)
            row = np.concatenate((sample.v_WB_B, sample.w_WB_B, R_WB[2], R_WB[0]))
        stream.push(sample.stamp_ns, row, arrival_ns)

    def _topics(self, joint_topics: Sequence[str]) -> dict[str, tuple[tuple[str, ...], Store]]:
        """Return the message types of each topic and the function that stores its values."""
        types = {IMU: (IMU_TYPE,), BASE_STATE: (ODOMETRY_TYPE,), YAW_REFERENCE: ORIENTATION_TYPES}
        types |= {contact.stream.spec.name: contact.source.types for contact in self.contacts.values()}
        topics = {name: (types[name], store) for name, store in self._stores.items() if name in types}
        if self.joints is not None:
            push = self.joints.push
            topics |= {one: ((JOINT_STATE_TYPE,), partial(push, source=one)) for one in joint_topics}
        contacts = {name: contact.stream.spec.name for name, contact in self.contacts.items()}
        for one in self._maps:
            stores: dict[str, Store] = {}
            if one.joint_names and self.joints is not None:
                stores["joints"] = partial(self.joints.push, source=one.topic)
                topics = {name: found for name, found in topics.items() if name not in joint_topics}
            own = {key: contacts.get(name) for key, name in one.contacts_of(self.setup.contacts).items()}
            for key, name in (own | ({"imu": IMU} if one.has_imu else {})).items():
                if name in self._stores:
                    if name not in topics:
                        raise ConfigurationError(f"two maps of 'inputs.map' have the input '{name}'")
                    stores[key] = topics.pop(name)[1]
            if one.topic in topics:
                raise ConfigurationError(f"'inputs.map' has the topic '{one.topic}' of another input")
            topics[one.topic] = (one.message_type,), partial(_store_mapped, one, stores)
        return topics

    def connect(
        self,
        topic: str,
        message_type: str,
        deserialize: Callable[[bytes], Any] | None = None,
        readers: Readers | None = None,
    ) -> Callable[[Any, int], None]:
        """Return a function that takes the messages of a topic (of `topics`) with their arrivals [ns].

        It accepts serialised messages and values. Custom messages are deserialised by `deserialize`. Inputs
        of several pipelines that share `readers` decode each message once.

        Raises:
            ConfigurationError: If there is no such topic, or it cannot have messages of this type.
        """
        if topic not in self.topics:
            raise ConfigurationError(f"no input '{topic}'{did_you_mean(topic, self.topics, 'there are')}")
        types, store = self.topics[topic]
        if message_type not in types:
            fit = [source.described for source in ContactSource if message_type in source.types]
            hint = f"; set contact.source: {' or '.join(fit)}" if fit and topic.endswith("/wrench") else ""
            expected = f"expected {' or '.join(types)}{hint}"
            raise ConfigurationError(f"topic '{topic}' has type {message_type}, {expected}")
        mapped, readers = any(topic == one.topic for one in self._maps), {} if readers is None else readers
        convert = (lambda msg: msg) if mapped else None
        reader = readers.setdefault((topic, mapped), MessageReader(message_type, deserialize, convert))
        of_joints = not mapped and self.joints is not None  # any other topic is one of several joint states
        stream = self.streams.get(topic, self.streams[JOINTS] if of_joints else self.aligner.driver)
        if topic in self.streams:
            stream.clock.by_arrival = stream.by_arrival or not reader.stamped

        def take(message: Any, arrival_ns: int) -> None:
            try:
                store(reader.read(message), arrival_ns, reader.frame_id)
            except MeasurementError as error:
                stream.refuse(DropReason.UNUSABLE, str(error), arrival_ns)
            self._collect()

        return take

    def _collect(self) -> None:
        for sample in self.aligner.ready():
            reduced = None if self.reduce is None else self.reduce(sample)
            self._samples.append(sample if reduced is None else sample._replace(reduced=reduced))

    @property
    def waiting(self) -> bool:
        """Whether there are samples that have not been returned."""
        return bool(self._samples)

    def ready(self) -> list[AlignedSample]:
        """Return the samples that are complete, in order of time; each is returned once."""
        samples, self._samples = self._samples, []
        return samples

    def health(self, now_ns: int) -> list[Health]:
        """Return the health of each input at a time on the clock of the stamps [ns]."""
        timeout = self.aligner.timeout
        of_joints = [] if self.joints is None else self.joints.notes(now_ns, timeout)
        quiet = {c.stream.spec.name for c in self.contacts.values() if c.source is not ContactSource.WRENCH}
        repeated = repeats([s for name, s in self.streams.items() if name not in quiet])
        said = self.aligner.late(), {JOINTS: "; ".join(of_joints)}, repeated
        return [
            stream_health(stream, now_ns, timeout, [notes.get(name, "") for notes in said])
            for name, stream in self.streams.items()
        ]

    def reset(self) -> None:
        """Discard all readings; counters are kept."""
        self.aligner.reset()
        if self.joints is not None:
            self.joints.reset()
        self._samples.clear()


def _store_mapped(
    mapped: FieldMap, stores: Mapping[str, Store], msg: Any, arrival_ns: int, _frame: str
) -> None:
    for name, value in mapped.values(msg, arrival_ns).items():
        if name in stores:
            stores[name](value, arrival_ns)


def joints_alone(robot: RobotModel, config: RobotGeometryConfig, needs: JointNeeds) -> RobotInputs:
    """Return inputs that consist of the corrected joint states of a robot only."""
    return RobotInputs(RobotSetup(robot, (), None), config, Steps(JOINTS), needs)


AHEAD_S = 0.5  # by which stamps may be ahead of the clock: clocks of two machines differ [s]
REPEATED = 10  # least number of identical rows that is reported
REPEATED_NS = round(0.3 * NANOSECONDS)  # span in which all rows are identical


def stream_health(stream: Stream, now_ns: int, timeout: float, notes: Sequence[str]) -> Health:
    """Return the health of an input at a time [ns], one sentence for each cause; notes are appended.

    The input is lost once its newest reading is older than the timeout [s].
    """
    drops, clock, newest = stream.drops, stream.clock, stream.ring.newest_ns
    remarks = stream.notes
    times_ns, _rows = stream.ring.newest(PERIODIC)
    period = float(np.diff(times_ns).mean()) / NANOSECONDS if len(times_ns) == PERIODIC else 0.0
    age, message, level = 0.0 if newest is None else seconds(now_ns - newest), "", HealthLevel.OK
    if newest is None:
        level = HealthLevel.STALE if stream.spec.required else HealthLevel.OK
        message = f"none usable: {drops.summary}" if drops.total else "waiting for the first reading"
        level = max(level, HealthLevel.WARN) if drops.total else level
    elif age > timeout and not stream.spec.holds:
        level = HealthLevel.ERROR if stream.spec.required else HealthLevel.WARN
        message = f"lost: last reading {age:.2f} s ago, limit {timeout:g} s"
        if clock.odd is not None and clock.last_ns is not None:
            message += f"; its stamps are now {seconds(clock.odd.last_ns - clock.last_ns):+.2f} s off"
        elif drops.total and drops.arrival_ns == stream.arrival_ns:
            message += f"; readings arrive but are dropped: {drops.summary}"
        elif seconds(now_ns - stream.arrival_ns) <= timeout:
            message = f"lost: readings arrive {age:.2f} s after their stamps, limit {timeout:g} s: "
            message += f"are they of another clock (inputs.arrival: [{stream.input}], use_sim_time)?"
    elif drops.total and stream.arrival_ns - drops.arrival_ns < REPORTED_NS:
        remarks.append(f"{drops.total} of {stream.received} readings dropped, last: {drops.summary}")
    if age < -AHEAD_S:
        remarks.append(
            f"its stamps are {-age:.2f} s ahead of the clock: are they of another one (use_sim_time)?"
        )
    found = [text for text in (message, *remarks, *notes) if text]
    if found and not message:
        level = HealthLevel.WARN
    values = {
        "received": str(stream.received),
        **drops.values(),
        "rate [Hz]": f"{1.0 / period:.1f}" if period else "unknown",
        "stamps": "made even (they come in bursts)" if clock.even.even else "as they come",
        **({} if newest is None else {"age [s]": f"{age:.3f}"}),
    }
    return Health(stream.spec.name, level, "; ".join(found) or "arriving", values)


def repeats(streams: Sequence[Stream]) -> dict[str, str]:
    """Return a sentence for each input whose recent rows are identical while those of others change.

    The given inputs have noise, so that their rows do not repeat. No reading is dropped for it.
    """
    latest = max((stream.ring.newest_ns or 0 for stream in streams), default=0)
    windows = {stream.spec.name: stream.ring.window(latest - REPEATED_NS, latest)[1] for stream in streams}
    rows = {name: rows for name, rows in windows.items() if len(rows) >= REPEATED}
    still = [name for name, values in rows.items() if (values == values[0]).all()]
    stuck = "repeats exactly while others change: is it stuck?"
    return dict.fromkeys(still, stuck) if len(still) < len(rows) else {}
