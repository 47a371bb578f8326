"""Judges the data of a node from time to time, in stages that are short."""

from collections.abc import Callable, Iterator

from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.signals import NANOSECONDS

FIRST_NS = 5 * NANOSECONDS // 2  # of data before a node looks for gross errors; twice as many for all others
STAGE_PERIOD_NS = 20_000_000  # least time between two stages of a judgement
REFRESH_NS = 60 * NANOSECONDS  # longest time between two judgements of a node
Stages = Iterator[list[CheckResult]]


class StagedJudgement:
    """The judgements of a node: the first ones after a few seconds, then one a minute.

    Attributes:
        results: Of the last judgement, and errors that a stage of the present one has found.
    """

    def __init__(self, stages: Callable[[], Stages]) -> None:
        """Have no result yet.

        Args:
            stages: Begins to judge the data of this moment; each stage gives its results.
        """
        self.results: list[CheckResult] = []
        self._begin_stages = stages
        self._stages: Stages | None = None
        self._found: list[CheckResult] = []
        self._stage_ns = 0  # stamp of the last stage
        self._first_ns: int | None = None
        self._due_ns = 0

    @property
    def in_progress(self) -> bool:
        """Whether a judgement has begun and is not complete."""
        return self._stages is not None

    def age_ns(self, stamp_ns: int) -> int | None:
        """Return the length of the data up to a stamp [ns]; None before any."""
        return None if self._first_ns is None else max(stamp_ns - self._first_ns, 0)

    def begin_if_due(self, stamp_ns: int) -> None:
        """Begin a judgement if one is due at the stamp of the newest data [ns]."""
        if self._first_ns is None:  # positions outside of their limits are so in the first data
            self._first_ns = stamp_ns
        elif stamp_ns < self._first_ns:
            self._first_ns, self._due_ns = stamp_ns, FIRST_NS
        age = stamp_ns - self._first_ns
        if age >= self._due_ns:
            self._stages, self._found, self._stage_ns = self._begin_stages(), [], 0
            self._due_ns = age + min(max(age, FIRST_NS), REFRESH_NS)

    def is_due(self, stamp_ns: int) -> bool:
        """Return whether a stage is due at a stamp [ns]: the last one is some milliseconds ago."""
        return self._stages is not None and abs(stamp_ns - self._stage_ns) >= STAGE_PERIOD_NS

    def advance(self, stamp_ns: int) -> None:
        """Execute the next stage.

        Args:
            stamp_ns: Stamp of the newest reading [ns].
        """
        assert self._stages is not None, "no judgement is in progress"
        self._stage_ns = stamp_ns
        stage = next(self._stages, None)
        if stage is None:
            self._stages, self.results = None, self._found
            return
        self._found.extend(stage)
        if not self.results or any(result.failed for result in stage):
            self.results = list(self._found)
