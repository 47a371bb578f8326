"""Runs one step of a pipeline for each aligned sample, with the time since the last step."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample, Continuity
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.result_watch import ResultWatch
from inertial_estimation.estimators.inputs.step_failures import StepFailures
from inertial_estimation.signals import seconds

ResultT = TypeVar("ResultT")
CONTAINED = (ArithmeticError, ValueError, InertialEstimationError)  # of data, not of programs


class ReadySteps(NamedTuple):
    """Steps that are to be executed, with what they need of the inputs.

    Attributes:
        samples: The aligned inputs of each.
        read: What has been read for each; the exception where that has failed.
        fresh: Whether the result of each is to be returned.
    """

    samples: list[AlignedSample]
    read: list[Any]
    fresh: list[bool]


class Events(Protocol[ResultT]):
    """What happens once and is told by one result, which may be withheld because an input is stale."""

    def keep(self, results: list[ResultT]) -> None:
        """Keep the events of results that are withheld."""

    def completed(self, result: ResultT) -> ResultT:
        """Return a result to be published, with an event that was kept."""

    def reset(self) -> None:
        """Forget what was kept: the data begin anew."""


class Stepper(Generic[ResultT]):
    """Runs the steps of a pipeline for the samples that an aligner has completed.

    Before a step that follows a gap or a restart, a callback lets the pipeline discard state that is no
    longer valid. The stepper stores the time of the last step: a pipeline reads `elapsed` and calls
    `advance` if it executes the step, so a step skipped for a missing input lengthens the next one.

    A step that fails is contained: data outside the range of the arithmetic raise an error (overflow, a
    matrix that is not positive definite), or give a result with a defect. Nothing of such a step is returned,
    the pipeline discards the state that the step may have damaged, and `health_note` reports it. Programming
    errors (TypeError, AttributeError and the like) are raised.

    Attributes:
        aligner: The buffers the pipeline pushes its readings into.
        failures: Number of failed steps, and the reason of the last one.
    """

    def __init__(
        self,
        aligner: SignalAligner,
        *,
        on_step: Callable[..., ResultT | None],
        on_restart: Callable[[], None],
        on_gap: Callable[[], None] | None = None,
        on_failure: Callable[[], None] | None = None,
        defect: Callable[[ResultT], str] | None = None,
        events: Events[ResultT] | None = None,
        on_ready: Callable[[AlignedSample], Any] | None = None,
    ) -> None:
        """Begin before the first step.

        Args:
            aligner: The buffers.
            on_step: Executes one step, of a sample and what `on_ready` has returned for it if that is given;
                returns None where there is no result.
            on_restart: Called before a step whose stamps went back; not before the first one.
            on_gap: Called before a step for which every input was missing for longer than a jump; None where
                all state stays valid.
            on_failure: Called after a failed step; None calls `on_restart`.
            defect: Names what is not finite or physically inconsistent in a result, empty if nothing; None
                accepts every result.
            events: Keeps events of results that are withheld; None where results tell none.
            on_ready: Reads all that a step needs of the inputs, so that it may be executed once there are
                later readings; None where it is executed before.
        """
        self.aligner = aligner
        self.failures = StepFailures()
        self._results = ResultWatch()
        self._on_step, self._on_ready = on_step, on_ready
        self._on_gap = on_gap
        self._on_restart = on_restart
        self._on_failure = on_failure or on_restart
        self._defect, self._events = defect, events
        self._begun = False
        self._last_ns: int | None = None

    def tick(self, now_ns: int) -> list[ResultT]:
        """Execute every step that is ready.

        Args:
            now_ns: Current time on the clock of the stamps [ns]; used only to detect stale inputs.

        Returns:
            The results in order of their stamps; none while an input is stale, and none that is stale itself
            since it is caught up with.
        """
        ready = self.begin(now_ns)
        return [] if ready is None else self.finish(ready)

    def begin(self, now_ns: int) -> ReadySteps | None:
        """Return the steps that are ready, to be executed by `finish`; None where there are none.

        Args:
            now_ns: As for `tick`.
        """
        ready = self.aligner.pop_ready()
        if not ready:  # after most messages of a node
            return None
        read = ready if self._on_ready is None else [self._read(sample) for sample in ready]
        if self.aligner.missing(now_ns):
            return ReadySteps(ready, read, [False] * len(ready))
        if not self.aligner.is_stale(ready[0], now_ns):  # the oldest
            return ReadySteps(ready, read, [True] * len(ready))
        return ReadySteps(ready, read, [not self.aligner.is_stale(sample, now_ns) for sample in ready])

    def finish(self, ready: ReadySteps) -> list[ResultT]:
        """Execute steps, and return results as `tick` does.

        Args:
            ready: The steps, in the order in which `begin` has returned them.
        """
        fresh: list[ResultT] = []
        withheld: list[ResultT] = []
        for sample, read, is_fresh in zip(*ready, strict=True):
            result = self._step(sample, read)
            if result is not None:
                (fresh if is_fresh else withheld).append(result)
        events = self._events
        if events is None:
            return fresh
        if withheld:
            events.keep(withheld)
        return [events.completed(result) for result in fresh]

    def _read(self, sample: AlignedSample) -> Any:
        assert self._on_ready is not None
        try:
            return self._on_ready(sample)
        except CONTAINED as error:
            return error

    def elapsed(self, sample: AlignedSample) -> float | None:
        """Return the time from the last executed step to a sample [s]; None if there is no earlier step."""
        return None if self._last_ns is None else seconds(sample.time_ns - self._last_ns)

    def advance(self, sample: AlignedSample) -> None:
        """Record that the step of a sample is executed."""
        self._last_ns = sample.time_ns

    def interrupt(self) -> None:
        """Treat the next step as the first."""
        self._last_ns = None

    def health_note(self, now_ns: int) -> str:
        """Report the failed steps of the last 10 s of data, and steps that give no result.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].

        Returns:
            Number of failures and the reason of the last one, and since when no step has given a result where
            that is longer than `inputs.timeout`; empty without either.
        """
        notes = (self.failures.note(now_ns), self._results.note(self.aligner.limits.timeout))
        return "; ".join(filter(None, notes))

    def clear(self) -> None:
        """Discard all readings and the time of the last step; failures stay counted."""
        self.aligner.clear()
        self._results.clear()
        self._forget_events()
        self._begun = False
        self._last_ns = None

    def _forget_events(self) -> None:
        if self._events is not None:
            self._events.reset()

    def _step(self, sample: AlignedSample, read: Any) -> ResultT | None:
        if sample.continuity is not Continuity.CONTINUOUS:
            self._last_ns = None
            if sample.continuity is Continuity.AFTER_GAP:
                if self._on_gap is not None:
                    self._on_gap()
            elif self._begun:
                self._forget_events()
                self._on_restart()
        self._begun = True
        self.failures.advance(sample.stamp_ns)
        return self._contained(sample, read)

    def _contained(self, sample: AlignedSample, read: Any) -> ResultT | None:
        """Execute a step; where it fails, let the pipeline discard its state and return None."""
        try:
            if isinstance(read, Exception):
                raise read
            result = self._on_step(sample) if self._on_ready is None else self._on_step(sample, read)
            reason = "" if result is None or self._defect is None else self._defect(result)
        except CONTAINED as error:
            result, reason = None, f"{type(error).__name__}: {error}"
        if not reason:
            self._results.add(sample, given=result is not None)
            return result
        self.failures.add(sample.stamp_ns, reason)
        self._last_ns = None
        self._on_failure()
        return None
