"""Says when steps are made and none of them gives a result."""

from inertial_estimation.errors import listing
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample
from inertial_estimation.signals import seconds


class ResultWatch:
    """Notes the last step with a result, and which inputs the steps since then lacked.

    An input that comes in bursts further apart than `inputs.max_wait` lets steps through without it, which
    empties the windows that a pipeline averages over: each input is fresh, steps are made, and none of them
    gives a result.
    """

    def __init__(self) -> None:
        """Begin before the first step."""
        self._result_ns: int | None = None  # stamp of the last step with a result, or of the first step
        self._step_ns = 0
        self._lacked: tuple[str, ...] = ()  # inputs that the last incomplete step since then lacked

    def add(self, sample: AlignedSample, *, given: bool) -> None:
        """Note a step, and whether it has given a result."""
        if (
            given or self._result_ns is None or sample.stamp_ns < self._step_ns
        ):  # the first, or stamps went back
            self._result_ns = sample.stamp_ns
            self._lacked = ()
        self._step_ns = sample.stamp_ns
        if not given and not sample.complete:
            self._lacked = tuple(name for name, row in sample.rows.items() if row is None)

    def clear(self) -> None:
        """Begin anew."""
        self._result_ns, self._step_ns, self._lacked = None, 0, ()

    def note(self, limit: float) -> str:
        """Say for how long no step has given a result, and why; empty for not longer than a limit.

        Args:
            limit: Time of data [s].
        """
        if self._result_ns is None:
            return ""
        since = seconds(self._step_ns - self._result_ns)
        if since <= limit:
            return ""
        late = f"{listing(self._lacked)} came later than 'inputs.max_wait' allows"
        why = late if self._lacked else "the readings of its windows are not complete"
        return f"no estimate for {since:.2f} s of data: {why}"
