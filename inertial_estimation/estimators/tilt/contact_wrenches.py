"""Wrenches of all contacts at one step, from the inputs of a pipeline."""

from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.compilation import numbers
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.rows import WRENCH_WIDTH
from inertial_estimation.signals import Array


class ContactWrenches:
    """Collects one wrench for each contact.

    Attributes:
        missing: Names of the inputs of a planner that were missing at the last step.
    """

    def __init__(self, streams: Sequence[str], *, planned: bool) -> None:
        """Begin without a wrench.

        Args:
            streams: Name of each contact's input; none where the forces come from joint torques.
            planned: Whether a planner gives the wrenches. Those are held until the next ones: it may itself
                wait for the base state of this step.
        """
        self.missing: list[str] = []
        self._planned = planned
        self._table = np.zeros((len(streams), WRENCH_WIDTH))
        self._places = list(zip(self._table, streams, strict=True))

    def take(self, sample: AlignedSample, aligner: SignalAligner, timeout: float, *, used: bool) -> bool:
        """Take the wrenches of a step; return whether none is missing.

        Args:
            sample: The aligned inputs.
            aligner: Where they come from.
            timeout: Age up to which the wrenches of a planner are held [s].
            used: Whether all other inputs are there; otherwise the table keeps its wrenches.
        """
        rows: Mapping[str, Array | None] = sample.rows
        if self._planned:
            streams, time_ns = [stream for _place, stream in self._places], sample.time_ns
            rows = {stream: aligner.latest(stream, time_ns, timeout) for stream in streams}
            self.missing = [stream for stream, wrench in rows.items() if wrench is None]
        for _place, stream in self._places:
            if rows[stream] is None:
                return False
        if used:
            for place, stream in self._places:
                place[:] = rows[stream]
        return True

    @property
    def table(self) -> Array | None:
        """A row for each contact, as `compilation.numbers`, until the next step; None without contacts."""
        return numbers(self._table) if self._places else None
