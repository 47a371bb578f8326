"""Common parts of the pipelines: steps on the samples of their inputs, and readings pushed as values."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from inertial_estimation.errors import InertialEstimationError, MeasurementError, did_you_mean, listing
from inertial_estimation.inputs.alignment import AlignedSample, Continuity
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.inputs.stream import REPORTED_NS
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample, seconds

ResultT = TypeVar("ResultT")
CONTAINED = (ArithmeticError, ValueError, InertialEstimationError)  # errors that bad data can cause
LONGEST_REASON = 200  # characters of the text of an error that are kept


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

        `on_step` executes one step (None: no result). `on_restart` is called before a step (except the first)
        for which no earlier state is valid, `on_gap` before a step after a gap of all inputs, `on_failure`
        (None: `on_restart`) after a step that failed. `defect` returns why a result must not be published.
        """
        self.inputs, self.failures = inputs, 0
        self._on_step, self._on_restart, self._on_gap = on_step, on_restart, on_gap
        self._on_failure, self._defect = on_failure or on_restart, defect
        self._reason, self._failed_ns = "", 0
        self._last_ns: int | None = None  # time of the last executed step
        self._sample: AlignedSample | None = None  # the last sample
        self._result_ns = 0  # stamp of the last sample with a result, before it of the first sample

    def tick(self, now_ns: int) -> list[ResultT]:
        """Execute every step that is ready; return their results in order of their stamps.

        At `now_ns` [ns], a result older than `inputs.timeout` plus the longest delay of a step is withheld:
        the steps of a backlog are executed, but their results are not published.
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
        """Record that the step of a sample is executed; after one that is not, the next step is longer."""
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
        """Report a step that failed in the 10 s before a time [ns], or that steps give no result."""
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
        """Discard all readings and the time of the last step; the count of failures is kept."""
        self.inputs.reset()
        self._last_ns = self._sample = None


class TakesReadings:
    """Base of a pipeline whose readings are pushed as values; inputs that it does not need are ignored.

    Attributes:
        config: The parameters in force.
        inputs: Inputs of the pipeline, which take readings as values or as messages.
    """

    config: Any
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

    def set_parameter(self, name: str, value: object) -> None:
        """Change one parameter while running.

        Args:
            name: Its dotted name.
            value: Its new value.

        Raises:
            ConfigurationError: If it does not exist, cannot change at run time, or the value is bad.
        """
        config = replace_runtime_value(self.config, name, value)
        self._hand_on(config)
        self.config = config

    def _hand_on(self, config: Any) -> None:
        """Pass a changed config on to the parts of the pipeline."""
