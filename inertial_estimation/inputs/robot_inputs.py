"""All inputs of one robot: what a pipeline holds, from messages or values to aligned samples and health."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.inputs.alignment import AlignedSample, Aligner
from inertial_estimation.inputs.clocks import ClockGroup
from inertial_estimation.inputs.config import STANDARD_GRAVITY, RobotInputConfig
from inertial_estimation.inputs.contacts import ContactInput, ContactSource, RawScale
from inertial_estimation.inputs.field_map import FieldMap
from inertial_estimation.inputs.health import stream_health
from inertial_estimation.inputs.imu import IMU, ImuInput
from inertial_estimation.inputs.joints import JOINTS, JointInput
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    ORIENTATION_TYPES,
    MessageReader,
)
from inertial_estimation.inputs.possible import DropReason, base_state_range, quaternion_range
from inertial_estimation.inputs.repeats import repeats
from inertial_estimation.inputs.stream import Stream, StreamSpec
from inertial_estimation.inputs.units import UnitDetector
from inertial_estimation.models.joint_corrections import JointCorrections
from inertial_estimation.models.robot_config import RobotSetup, check_contact
from inertial_estimation.signals import (
    Array,
    BaseState,
    ContactSample,
    Health,
    ImuSample,
    JointReading,
    OrientationSample,
    WrenchSample,
)
from inertial_estimation.spatial.rotations import rotation_from_quaternion

BASE_STATE, YAW_REFERENCE = "base_state", "yaw_reference"
LEAST_QUATERNION, LARGEST_QUATERNION = 0.25, 1e6  # of the largest component, for a direction
UNIT_ROWS = 1024  # newest rows that the units are told from
Push = Callable[[Any, int], None]  # takes a message or its bytes, and its arrival [ns]


class RobotInputs:
    """The inputs of one pipeline.

    Attributes:
        imu: The IMU; None where it is not used.
        joints: Joint states; None likewise.
        contacts: Contacts with a topic, by name.
        streams: All streams by name.
        aligner: Aligns them.
        topics: Types of messages that each topic may have.
    """

    def __init__(
        self,
        setup: RobotSetup,
        config: RobotInputConfig,
        *,
        driver: str = IMU,
        rate: float = 0.0,
        half_window: float = 0.0,
        imu: bool = True,
        joints: bool = True,
        efforts: bool = False,
        partial_joints: bool = False,
        sources: Mapping[str, ContactSource] | None = None,
        base_state: bool = False,
        yaw_reference: bool = False,
        corrections: JointCorrections | None = None,
        maps: Sequence[FieldMap] = (),
    ) -> None:
        """Set up the streams.

        Args:
            setup: The robot.
            config: Parameters of the inputs.
            driver: Input whose readings are the steps: `IMU` or `JOINTS`.
            rate: Highest rate of samples [Hz]; driver rows in between are averaged. 0: every row is a sample.
            half_window: Time beyond a step up to which the inputs must have arrived [s], for windows.
            imu: Whether the IMU is used, where the robot has one.
            joints: Whether joint states are used.
            efforts: Whether rows of joint states have efforts.
            partial_joints: Whether they may lack joints (NaN) of which no messages come.
            sources: Where each contact's readings come from; None: wrenches of all contacts.
            base_state: Whether a base state is an input.
            yaw_reference: Whether reference orientations are an input; no step waits for them.
            corrections: Offsets of joint positions and gains of efforts.
            maps: Custom messages.

        Raises:
            ConfigurationError: If parameters do not fit the robot.
        """
        robot, inputs, clocks = setup.robot, config.inputs, ClockGroup(config.inputs)
        self.imu = ImuInput(robot, setup.imu.frame, config, clocks) if imu and setup.imu is not None else None
        self.joints = (
            JointInput(robot, config, clocks, corrections, effort=efforts, partial=partial_joints) if joints else None
        )
        self.contacts = _contacts(setup, config, clocks, sources)
        found = [self.imu, self.joints, *self.contacts.values()]
        streams = [one.stream for one in found if one is not None]
        if base_state:
            streams.append(Stream(StreamSpec(BASE_STATE, 9, base_state_range(inputs.range)), inputs, clocks))
        if yaw_reference:
            spec = StreamSpec(YAW_REFERENCE, 4, quaternion_range(), required=False)
            streams.append(Stream(spec, inputs, clocks))
        self.streams = {stream.spec.name: stream for stream in streams}
        if driver not in self.streams:
            raise ConfigurationError(f"no input '{driver}' to drive the steps, there are {listing(self.streams)}")
        others = [stream for stream in streams if stream is not self.streams[driver]]
        self.aligner = Aligner(self.streams[driver], others, inputs, rate, half_window)
        self._setup, self._config, self._maps = setup, config, {one.topic.strip("/"): one for one in maps}
        self.topics = self._topics()
        self._units = UnitDetector(robot, config)
        self._pushes: dict[str, Push] = {}
        self._samples: list[AlignedSample] = []

    # Values.

    def push_imu(self, sample: ImuSample, arrival_ns: int | None = None, frame_id: str = "") -> None:
        """Take a reading of the IMU; see `push_joints`."""
        if self.imu is not None:
            self.imu.push(sample, sample.stamp_ns if arrival_ns is None else arrival_ns, frame_id)
            self._samples += self.aligner.ready()

    def push_joints(self, reading: JointReading, arrival_ns: int | None = None, source: str = JOINTS) -> None:
        """Take a joint state.

        Args:
            reading: The joint state.
            arrival_ns: Its arrival, on the clock of the stamps [ns]; None: not known.
            source: Topic of its message, or what else tells its publisher.
        """
        if self.joints is not None:
            self.joints.push(reading, reading.stamp_ns if arrival_ns is None else arrival_ns, source)
            self._samples += self.aligner.ready()

    def push_contact(
        self,
        contact: str,
        sample: WrenchSample | ContactSample,
        arrival_ns: int | None = None,
        frame_id: str = "",
    ) -> None:
        """Take the wrench, force or switch of one contact; see `push_joints`.

        Raises:
            MeasurementError: If there is no such contact.
        """
        known = self.contacts.get(contact)
        if known is None:
            check_contact(contact, self._setup.contact_names)
            return
        known.push(sample, sample.stamp_ns if arrival_ns is None else arrival_ns, frame_id)
        self._samples += self.aligner.ready()

    def push_base_state(self, state: BaseState, arrival_ns: int | None = None) -> None:
        """Take a base state: rows of velocity, angular velocity and the vertical, all in the base frame."""
        self._push_orientation(BASE_STATE, state, arrival_ns)

    def push_yaw_reference(self, sample: OrientationSample, arrival_ns: int | None = None) -> None:
        """Take a reference orientation of the base: rows of its quaternion."""
        self._push_orientation(YAW_REFERENCE, sample, arrival_ns)

    def _push_orientation(self, name: str, sample: Any, arrival_ns: int | None) -> None:
        stream = self.streams.get(name)
        if stream is None:
            return
        arrival = sample.stamp_ns if arrival_ns is None else arrival_ns
        quaternion: Array = sample.quaternion_xyzw
        if not LEAST_QUATERNION <= np.abs(quaternion).max() <= LARGEST_QUATERNION:
            stream.refuse(DropReason.NO_DIRECTION, "", arrival)
            return
        row = quaternion.copy()
        if name == BASE_STATE:
            row = np.concatenate((sample.v_WB_B, sample.w_WB_B, rotation_from_quaternion(quaternion)[2]))
        stream.push(sample.stamp_ns, row, arrival)
        self._samples += self.aligner.ready()

    # Messages.

    def _topics(self) -> dict[str, tuple[str, ...]]:
        """Return the types of messages that each topic may have."""
        topics: dict[str, tuple[str, ...]] = {name: (one.message_type,) for name, one in self._maps.items()}
        mapped = list(self._maps.values())
        if self.imu is not None and not any(one.imu for one in mapped):
            topics[IMU] = (IMU_TYPE,)
        if self.joints is not None and not any(one.joints for one in mapped):
            topics |= dict.fromkeys(self._config.joint_states.topics, (JOINT_STATE_TYPE,))
        names, frames = self._setup.contact_names, [contact.frame for contact in self._setup.contacts]
        given = {name for one in mapped for name in one.contacts_of(names, frames).values()}
        topics |= {c.stream.spec.name: c.source.types for name, c in self.contacts.items() if name not in given}
        for name, types in ((BASE_STATE, (ODOMETRY_TYPE,)), (YAW_REFERENCE, ORIENTATION_TYPES)):
            topics |= {name: types} if name in self.streams else {}
        return topics

    def connect(
        self, topic: str, message_type: str, deserialize: Callable[[bytes], Any] | None = None
    ) -> Push:
        """Return what takes the messages of a topic, or their bytes, and their arrivals [ns].

        Args:
            topic: One of `topics`.
            message_type: Type of its messages.
            deserialize: Builds a message from its bytes, for types and encodings that are not decoded here.

        Raises:
            ConfigurationError: If there is no such topic, or it may not have such messages.
        """
        types = self.topics.get(topic)
        if types is None:
            raise ConfigurationError(f"no input '{topic}'{did_you_mean(topic, self.topics, 'there are')}")
        if message_type not in types:
            hint = next((s.value for s in ContactSource if message_type in s.types), "")
            hint = f"; set contact.source: {hint}" if hint and topic.endswith("/wrench") else ""
            raise ConfigurationError(
                f"topic '{topic}' has type {message_type}, expected {' or '.join(types)}{hint}"
            )
        mapped = self._maps.get(topic)
        reader = MessageReader(message_type, deserialize, None if mapped is None else mapped.values)
        push = self._push_of(topic, reader)
        stream = self.streams.get(JOINTS if topic in self._config.joint_states.topics else topic)
        if stream is not None and not reader.stamped:
            stream.clock.by_arrival = True

        def take(message: Any, arrival_ns: int) -> None:
            try:
                value = reader.read(message)
            except MeasurementError as error:
                if stream is None:
                    raise
                stream.refuse(DropReason.UNFIT, str(error), arrival_ns)
            else:
                push(value, arrival_ns)

        self._pushes[topic] = take
        return take

    def _push_of(self, topic: str, reader: MessageReader) -> Push:
        """Return what takes the values of a topic."""
        if topic in self._maps:
            names, frames = self._setup.contact_names, [contact.frame for contact in self._setup.contacts]
            contacts = self._maps[topic].contacts_of(names, frames)

            def push_mapped(values: Any, arrival_ns: int) -> None:
                if values.imu is not None:
                    self.push_imu(values.imu, arrival_ns)
                if values.joints is not None:
                    self.push_joints(values.joints, arrival_ns, topic)
                for name, contact in contacts.items():
                    self.push_contact(contact, values.contacts[name], arrival_ns)

            return push_mapped
        if topic == IMU:
            return lambda value, arrival_ns: self.push_imu(value, arrival_ns, reader.frame_id)
        if topic == BASE_STATE:
            return self.push_base_state
        if topic == YAW_REFERENCE:
            return self.push_yaw_reference
        for name, contact in self.contacts.items():
            if contact.stream.spec.name == topic:
                return lambda value, arrival_ns, n=name: self.push_contact(n, value, arrival_ns, reader.frame_id)
        return lambda value, arrival_ns: self.push_joints(value, arrival_ns, topic)

    def push_message(self, topic: str, message: Any, arrival_ns: int) -> None:
        """Take a message, or its bytes, of a topic that has been connected."""
        self._pushes[topic](message, arrival_ns)

    # Samples and health.

    def ready(self) -> list[AlignedSample]:
        """Return the samples that have become ready, in order of time; each is returned once."""
        samples, self._samples = self._samples, []
        return samples

    def missing(self, now_ns: int) -> list[str]:
        """Name the required inputs that never arrived or are older than `inputs.timeout`."""
        return self.aligner.missing(now_ns)

    def units(self) -> dict[str, str]:
        """Say which inputs are in other units than the parameters say, with what mends it, by their names."""
        told = {} if self.imu is None else {IMU: self._units.imu(*self.imu.stream.raw(UNIT_ROWS))}
        if self.joints is not None:
            said = [self._units.joints(part.joints, *part.stream.raw(UNIT_ROWS)) for part in self.joints.parts]
            told[JOINTS] = next(filter(None, said), "")
        return {name: sentence for name, sentence in told.items() if sentence}

    def health(self, now_ns: int) -> list[Health]:
        """Report the state of each input.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        notes = self.notes(now_ns)
        timeout, required = self.aligner.timeout, {s.spec.name for s in self.streams.values() if s.spec.required}
        return [
            stream_health(stream, now_ns, timeout, notes.get(name, []), required=name in required)
            for name, stream in self.streams.items()
        ]

    def notes(self, now_ns: int) -> dict[str, list[str]]:
        """Return what is odd about each input although it is used, a sentence a cause."""
        notes = {name: [said] for name, said in self.units().items()}
        if self.joints is not None:
            notes.setdefault(JOINTS, []).extend(self.joints.notes(now_ns, self.aligner.timeout))
        quiet = [c.stream for c in self.contacts.values() if c.source is not ContactSource.WRENCH]
        for name, said in repeats([s for s in self.streams.values() if s not in quiet]).items():
            notes.setdefault(name, []).append(said)
        return notes

    def reset(self) -> None:
        """Forget all readings; counters stay."""
        self.aligner.clear()
        if self.joints is not None:
            self.joints.reset()
        self._samples.clear()


def _contacts(
    setup: RobotSetup,
    config: RobotInputConfig,
    clocks: ClockGroup,
    sources: Mapping[str, ContactSource] | None,
) -> dict[str, ContactInput]:
    """Return the contacts that have a topic, by name."""
    given = dict.fromkeys(setup.contact_names, ContactSource.WRENCH) if sources is None else sources
    raw = [name for name in setup.contact_names if given.get(name) is ContactSource.RAW_FORCE]
    scale = RawScale(raw, STANDARD_GRAVITY * setup.robot.total_mass)
    found = {}
    for contact in setup.contacts:
        source = given.get(contact.name, ContactSource.NONE)
        if source.width:
            own = scale if contact.name in raw else None
            found[contact.name] = ContactInput(setup.robot, contact, source, config, clocks, own)
    return found
