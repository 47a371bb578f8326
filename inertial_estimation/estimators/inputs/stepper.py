"""One step of a pipeline for each aligned sample: what it follows, and how much time has passed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from inertial_estimation.estimators.inputs.alignment import AlignedSample, Continuity, SignalAligner
from inertial_estimation.signals import seconds

__all__ = ["Stepper"]

ResultT = TypeVar("ResultT")


class Stepper(Generic[ResultT]):
    """Turns what an aligner has ready into the steps of a pipeline.

    Before a step that follows a gap or a restart the pipeline forgets what no longer holds. The time of
    the last step is kept here: a pipeline asks `elapsed` and, where it makes the step, calls `advance`, so
    that a step left out for want of an input lengthens the next one.

    Attributes:
        aligner: The buffers the pipeline pushes its readings into.
    """

    def __init__(
        self,
        aligner: SignalAligner,
        *,
        on_step: Callable[[AlignedSample], ResultT | None],
        on_restart: Callable[[], None],
        on_gap: Callable[[], None] | None = None,
    ) -> None:
        """Begin before the first step.

        Args:
            aligner: The buffers.
            on_step: Makes one step; returns None where it has no result.
            on_restart: Called before a step whose stamps went back; not before the first one.
            on_gap: Called before a step for which every input was gone for longer than a jump; None where
                everything known still holds.
        """
        self.aligner = aligner
        self._on_step = on_step
        self._on_gap = on_gap
        self._on_restart = on_restart
        self._begun = False
        self._last_ns: int | None = None

    def tick(self, now_ns: int) -> list[ResultT]:
        """Make every step that is ready.

        Args:
            now_ns: Time now on the clock of the stamps [ns]; decides only whether an input is stale.

        Returns:
            The results in order of their stamps; none while an input is stale.
        """
        results = self.steps()
        return [] if results and self.aligner.missing(now_ns) else results

    def steps(self) -> list[ResultT]:
        """Make every step that is ready, whether or not an input is stale now."""
        results: list[ResultT] = []
        for sample in self.aligner.pop_ready():
            result = self._step(sample)
            if result is not None:
                results.append(result)
        return results

    def elapsed(self, sample: AlignedSample) -> float | None:
        """Return the time from the last step made to a sample [s]; None where there is none before it."""
        return None if self._last_ns is None else seconds(sample.time_ns - self._last_ns)

    def advance(self, sample: AlignedSample) -> None:
        """Note that the step of a sample is made."""
        self._last_ns = sample.time_ns

    def interrupt(self) -> None:
        """Let the next step follow none."""
        self._last_ns = None

    def clear(self) -> None:
        """Forget all readings and steps, as at the start."""
        self.aligner.clear()
        self._begun = False
        self._last_ns = None

    def _step(self, sample: AlignedSample) -> ResultT | None:
        if sample.continuity is not Continuity.CONTINUOUS:
            self._last_ns = None
            if sample.continuity is Continuity.AFTER_GAP:
                if self._on_gap is not None:
                    self._on_gap()
            elif self._begun:
                self._on_restart()
        self._begun = True
        return self._on_step(sample)
