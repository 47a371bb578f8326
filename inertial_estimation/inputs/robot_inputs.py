"""All inputs of one robot, from messages or values to aligned samples and health; steps that run on them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from inertial_estimation.errors import (
    ConfigurationError,
    InertialEstimationError,
    MeasurementError,
    did_you_mean,
    listing,
)
from inertial_estimation.inputs.alignment import AlignedSample, Aligner, Continuity, Steps
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.field_map import FieldMap
from inertial_estimation.inputs.health import UnitDetector, repeats, stream_health
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
from inertial_estimation.signals import (
    Array,
    BaseState,
    Health,
    ImuSample,
    JointReading,
    WrenchSample,
    seconds,
)
from inertial_estimation.spatial.rotations import rotation_from_quaternion

BASE_STATE, YAW_REFERENCE = "base_state", "yaw_reference"
BASE_SPEED = 20.0  # largest along one axis [m/s]
LEAST_QUATERNION, LARGEST_QUATERNION = 0.25, 1e6  # of the largest component, for a direction


Readers = dict[tuple[str, bool], MessageReader]  # by topic, and whether its messages are mapped
Store = Callable[..., Any]  # of a value, its arrival [ns] and the frame in its header


class RobotInputs:
    """The inputs of one pipeline.

    Readings are pushed as values, or as messages through `connect`; what cannot be used is dropped and
    counted. Arrivals are on the clock of the stamps: when the middleware received a message, or when it was
    recorded; 0, as the clock of a simulation has before its first message: not known. `topics` has the types
    of the messages that each topic may have, and what stores their values.
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

        Steps have a row of its IMU if it has one, of what is needed of its joints (None: no row), of contacts
        by their sources (None: wrenches of all), and of the base state if it is asked for (its twist, then
        the vertical and the x axis of the world in its frame, 12 numbers). They wait for these, but not for
        yaw references, nor for contacts that are not to be awaited.

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
        self.setup, self._units = setup, UnitDetector(robot, config)
        # What a sample needs of the windows around it, read before later readings come; any time of `ready`.
        self.reduce: Callable[[AlignedSample], Any] | None = None
        self._samples: list[AlignedSample] = []
        self._stores: dict[str, Store] = {
            one.stream.spec.name: one.push
            for one in (self.imu, self.joints, *self.contacts.values())
            if one is not None
        }
        for name in self.streams.keys() & {BASE_STATE, YAW_REFERENCE}:
            self._stores[name] = partial(self._store_orientation, self.streams[name])
        self._maps = {one.topic: one for one in map(FieldMap.find, inputs.map)}
        self.topics = self._topics(config.joint_states.topics)

    def push(self, name: str, value: Any, arrival_ns: int = 0, *more: str) -> None:
        """Take a value of an input by its name (that of its stream, "<contact>/wrench"), if there is such.

        Its arrival [ns] is 0 where it is not known. More is the frame in the header of its message, and of a
        joint state the name of its publisher.
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
        """Return the types of messages of each topic, and what stores a value, its arrival and its frame."""
        types = {IMU: (IMU_TYPE,), BASE_STATE: (ODOMETRY_TYPE,), YAW_REFERENCE: ORIENTATION_TYPES}
        types |= {contact.stream.spec.name: contact.source.types for contact in self.contacts.values()}
        topics = {name: (types[name], store) for name, store in self._stores.items() if name in types}
        if self.joints is not None:
            push = self.joints.push
            topics |= {one: ((JOINT_STATE_TYPE,), partial(push, source=one)) for one in joint_topics}
        for one in self._maps.values():
            stores: dict[str, Store] = {}
            if one.has_imu and (imu := topics.pop(IMU, None)) is not None:
                stores["imu"] = imu[1]
            if one.joint_names and self.joints is not None:
                stores["joints"] = partial(self.joints.push, source=one.topic)
                topics = {name: found for name, found in topics.items() if name not in joint_topics}
            for own, contact_name in one.contacts_of(self.setup.contacts).items():
                if (taken := self.contacts.get(contact_name)) is not None:
                    stores[own] = topics.pop(taken.stream.spec.name)[1]
            topics[one.topic] = (one.message_type,), partial(_store_mapped, one, stores)
        return topics

    def connect(
        self,
        topic: str,
        message_type: str,
        deserialize: Callable[[bytes], Any] | None = None,
        readers: Readers | None = None,
    ) -> Callable[[Any, int], None]:
        """Return what takes the messages of a topic of `topics`, with their arrivals [ns].

        It takes their bytes, messages or values. Messages are built from bytes by `deserialize` where these
        are not decoded here. Inputs of several pipelines that share readers read each message once.

        Raises:
            ConfigurationError: If there is no such topic, or it may not have messages of this type.
        """
        if topic not in self.topics:
            raise ConfigurationError(f"no input '{topic}'{did_you_mean(topic, self.topics, 'there are')}")
        types, store = self.topics[topic]
        if message_type not in types:
            fit = [source.described for source in ContactSource if message_type in source.types]
            hint = f"; set contact.source: {' or '.join(fit)}" if fit and topic.endswith("/wrench") else ""
            expected = f"expected {' or '.join(types)}{hint}"
            raise ConfigurationError(f"topic '{topic}' has type {message_type}, {expected}")
        mapped, readers = topic in self._maps, {} if readers is None else readers
        convert = (lambda msg: msg) if mapped else None
        reader = readers.setdefault((topic, mapped), MessageReader(message_type, deserialize, convert))
        stream = self.streams.get(topic, self.aligner.driver)
        if topic in self.streams:
            stream.clock.by_arrival = stream.by_arrival or not reader.stamped

        def take(message: Any, arrival_ns: int) -> None:
            try:
                store(reader.read(message), arrival_ns, reader.frame_id)
            except MeasurementError as error:
                stream.refuse(DropReason.UNFIT, str(error), arrival_ns)
            self._collect()

        return take

    def _collect(self) -> None:
        for sample in self.aligner.ready():
            reduced = None if self.reduce is None else self.reduce(sample)
            self._samples.append(sample if reduced is None else sample._replace(reduced=reduced))

    @property
    def waiting(self) -> bool:
        """Whether samples have become ready."""
        return bool(self._samples)

    def ready(self) -> list[AlignedSample]:
        """Return the samples that have become ready, in order of time; each is returned once."""
        samples, self._samples = self._samples, []
        return samples

    def units(self) -> dict[str, str]:
        """Say which inputs are in other units than the parameters say, with what mends it, by their names."""
        found = {} if self.imu is None else {IMU: self._units.imu(*self.imu.stream.raw())}
        if self.joints is not None:
            parts = self.joints.parts
            of_parts = (self._units.joints(part.joints, *part.stream.raw()) for part in parts)
            found[JOINTS] = next(filter(None, of_parts), "")
        return {name: sentence for name, sentence in found.items() if sentence}

    def health(self, now_ns: int) -> list[Health]:
        """Report the state of each input, at the caller's time on the clock of the stamps [ns]."""
        timeout = self.aligner.timeout
        notes = {name: [sentence] for name, sentence in self.units().items()}
        for name, sentence in self.aligner.late().items():
            notes.setdefault(name, []).append(sentence)
        if self.joints is not None:
            notes.setdefault(JOINTS, []).extend(self.joints.notes(now_ns, timeout))
        quiet = {c.stream.spec.name for c in self.contacts.values() if c.source is not ContactSource.WRENCH}
        for name, sentence in repeats([s for name, s in self.streams.items() if name not in quiet]).items():
            notes.setdefault(name, []).append(sentence)
        return [stream_health(s, now_ns, timeout, notes.get(name, [])) for name, s in self.streams.items()]

    def reset(self) -> None:
        """Forget all readings; counters stay."""
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


ResultT = TypeVar("ResultT")
CONTAINED = (ArithmeticError, ValueError, InertialEstimationError)  # of data, not of programs
LONGEST_REASON = 200  # characters that are kept


class Stepper(Generic[ResultT]):
    """Runs the steps of a pipeline for the samples of its inputs.

    A step that fails is contained: data outside the range of the arithmetic raise an error or give a result
    with a defect. Nothing of it is returned, the pipeline discards the state that it may have damaged, and
    `health_note` reports it. Programming errors are raised.
    """

    def __init__(
        self,
        inputs: RobotInputs,
        *,
        on_step: Callable[[AlignedSample], ResultT | None],
        on_restart: Callable[[], None],
        on_gap: Callable[[], None] = lambda: None,
        on_failure: Callable[[], None] | None = None,
        defect: Callable[[ResultT], str] = lambda _result: "",
    ) -> None:
        """Begin before the first step.

        `on_step` executes one step (None: no result). `on_restart` is called before one for which no earlier
        state is valid, but the first, `on_gap` before one after a gap of all inputs, `on_failure` (None:
        `on_restart`) after one that failed. `defect` says what is wrong with a result that must not be
        published.
        """
        self.inputs, self.failures = inputs, 0
        self._on_step, self._on_restart, self._on_gap = on_step, on_restart, on_gap
        self._on_failure, self._defect = on_failure or on_restart, defect
        self._reason, self._failed_ns = "", 0
        self._last_ns: int | None = None  # time of the last executed step
        self._sample: AlignedSample | None = None  # the last one
        self._result_ns = 0  # stamp of the last one with a result, or of the first

    def tick(self, now_ns: int) -> list[ResultT]:
        """Execute every step that is ready; return their results in order of their stamps.

        A result that is older now [ns] than a fresh reading and what a step may wait for is withheld: a
        backlog is caught up with, not published.
        """
        fresh: list[ResultT] = []
        for sample in self.inputs.ready():
            result = self.step(sample)
            if result is not None and not self.inputs.aligner.is_stale(sample.stamp_ns, now_ns):
                fresh.append(result)
        return fresh

    def elapsed(self, sample: AlignedSample) -> float | None:
        """Return the time from the last executed step to a sample [s]; None if there is no earlier step."""
        return None if self._last_ns is None else seconds(sample.time_ns - self._last_ns)

    def advance(self, sample: AlignedSample) -> None:
        """Record that the step of a sample is executed; a step that is skipped lengthens the next one."""
        self._last_ns = sample.time_ns

    def step(self, sample: AlignedSample) -> ResultT | None:
        """Execute the step of one sample; return its result, None if it has none or has failed."""
        if sample.continuity is not Continuity.CONTINUOUS:
            self._last_ns = None
            if sample.continuity is Continuity.AFTER_GAP:
                self._on_gap()
            elif self._sample is not None:
                self._on_restart()
        result: ResultT | None = None
        try:
            result = self._on_step(sample)
            reason = "" if result is None else self._defect(result)
        except CONTAINED as error:
            reason = f"{type(error).__name__}: {error}"
        if reason:
            result = self._last_ns = None
            self.failures += 1
            self._reason, self._failed_ns = reason[:LONGEST_REASON], sample.stamp_ns
            self._on_failure()
        if result is not None or self._sample is None or sample.stamp_ns < self._sample.stamp_ns:
            self._result_ns = sample.stamp_ns
        self._sample = sample
        return result

    def health_note(self, now_ns: int) -> str:
        """Report steps that failed in the 10 s before a time [ns], and that no step gives a result."""
        notes, age = [], now_ns - self._failed_ns
        if self._reason and age < REPORTED_NS:
            ago = f"last {max(seconds(age), 0.0):.1f} s ago"
            notes.append(f"restarted {self.failures} times after a failed step, {ago}: {self._reason}")
        since = 0.0 if self._sample is None else seconds(self._sample.stamp_ns - self._result_ns)
        if self._sample is not None and since > self.inputs.aligner.timeout:
            lacks = f": {listing(self._sample.missing)} missing" if self._sample.missing else ""
            notes.append(f"no estimate for {since:.2f} s of data{lacks}")
        return "; ".join(notes)

    def clear(self) -> None:
        """Discard all readings and the time of the last step; failures stay counted."""
        self.inputs.reset()
        self._last_ns = self._sample = None


class TakesReadings:
    """Base of a pipeline whose readings are pushed as values; inputs that it does not need are ignored.

    Attributes:
        inputs: What takes the readings, as values or as messages.
    """

    inputs: RobotInputs

    def push_imu(self, sample: ImuSample) -> None:
        """Take a reading of the IMU."""
        self.inputs.push(IMU, sample)

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state, joints by name in any order, of all joints or some."""
        self.inputs.push(JOINTS, reading)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact.

        Raises:
            MeasurementError: If there is no such contact.
        """
        names = self.inputs.setup.contact_names
        if contact not in names:
            raise MeasurementError(f"no contact '{contact}'{did_you_mean(contact, names, 'there are')}")
        if contact in self.inputs.contacts:
            self.inputs.push(self.inputs.contacts[contact].stream.spec.name, sample)


def joints_alone(robot: RobotModel, config: RobotGeometryConfig, needs: JointNeeds) -> RobotInputs:
    """Return inputs of the corrected joint states of a robot alone."""
    return RobotInputs(RobotSetup(robot, (), None), config, Steps(JOINTS), needs)
