"""Runs one step of a pipeline for each aligned sample: gaps, restarts, failures contained, backlogs withheld."""

from collections.abc import Callable
from typing import Generic, TypeVar

from inertial_estimation.errors import InertialEstimationError, listing
from inertial_estimation.inputs.alignment import AlignedSample, Continuity
from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.signals import seconds

ResultT = TypeVar("ResultT")
CONTAINED = (ArithmeticError, ValueError, InertialEstimationError)  # of data, not of programs
LONGEST_REASON = 200  # characters that are kept


class Stepper(Generic[ResultT]):
    """Runs the steps of a pipeline for the samples of its inputs.

    A step that fails is contained: data outside the range of the arithmetic raise an error (overflow, a matrix that is
    not positive definite), or give a result with a defect. Nothing of it is returned, the pipeline discards the state
    that it may have damaged, and `health_note` reports it. Programming errors are raised.

    Attributes:
        inputs: The inputs of the pipeline.
        failures: Number of failed steps.
    """

    def __init__(
        self,
        inputs: RobotInputs,
        *,
        on_step: Callable[[AlignedSample], ResultT | None],
        on_restart: Callable[[], None],
        on_gap: Callable[[], None] | None = None,
        on_failure: Callable[[], None] | None = None,
        defect: Callable[[ResultT], str] = lambda _result: "",
        on_withheld: Callable[[ResultT], None] = lambda _result: None,
    ) -> None:
        """Begin before the first step.

        Args:
            inputs: The inputs.
            on_step: Executes one step; returns None where there is no result.
            on_restart: Called before a step for which no earlier state is valid; not before the first one.
            on_gap: Called before a step after a gap of all inputs; None where all state stays valid.
            on_failure: Called after a step that failed; None: `on_restart`.
            defect: Says what is wrong with a result that must not be published; empty: nothing.
            on_withheld: Called with results that are older than may be published.
        """
        self.inputs, self.failures = inputs, 0
        self._on_step, self._on_restart, self._on_gap = on_step, on_restart, on_gap
        self._on_failure, self._defect, self._on_withheld = on_failure or on_restart, defect, on_withheld
        self._reason, self._failed_ns = "", 0
        self._last_ns: int | None = None  # time of the last executed step
        self._sample: AlignedSample | None = None  # the last one
        self._result_ns = 0  # stamp of the last one with a result, or of the first

    def tick(self, now_ns: int) -> list[ResultT]:
        """Execute every step that is ready.

        Args:
            now_ns: Current time on the clock of the stamps [ns]; it only decides which results are too old.

        Returns:
            Results in order of their stamps, without those that are older than a fresh reading and what a step may wait
            for: a backlog is caught up with, not published.
        """
        fresh: list[ResultT] = []
        for sample in self.inputs.ready():
            result = self._step(sample)
            if result is not None:
                stale = self.inputs.aligner.is_stale(sample, now_ns)
                (self._on_withheld if stale else fresh.append)(result)
        return fresh

    def elapsed(self, sample: AlignedSample) -> float | None:
        """Return the time from the last executed step to a sample [s]; None if there is no earlier step."""
        return None if self._last_ns is None else seconds(sample.time_ns - self._last_ns)

    def advance(self, sample: AlignedSample) -> None:
        """Record that the step of a sample is executed; a step that is skipped lengthens the next one."""
        self._last_ns = sample.time_ns

    def _step(self, sample: AlignedSample) -> ResultT | None:
        if sample.continuity is not Continuity.CONTINUOUS:
            self._last_ns = None
            if sample.continuity is Continuity.RESTARTED and self._sample is not None:
                self._on_restart()
            elif sample.continuity is Continuity.AFTER_GAP and self._on_gap is not None:
                self._on_gap()
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
        """Report steps that failed in the 10 s before a time [ns], and that no step gives a result; empty: neither."""
        notes, age = [], now_ns - self._failed_ns
        if self._reason and age < REPORTED_NS:
            ago = f"last {max(seconds(age), 0.0):.1f} s ago"
            notes.append(f"restarted {self.failures} times after a failed step, {ago}: {self._reason}")
        since = 0.0 if self._sample is None else seconds(self._sample.stamp_ns - self._result_ns)
        if self._sample is not None and since > self.inputs.aligner.timeout:
            lacks = self._sample.missing
            notes.append(
                f"no estimate for {since:.2f} s of data" + (f": {listing(lacks)} missing" if lacks else "")
            )
        return "; ".join(notes)

    def clear(self) -> None:
        """Discard all readings and the time of the last step; failures stay counted."""
        self.inputs.reset()
        self._last_ns = self._sample = None
