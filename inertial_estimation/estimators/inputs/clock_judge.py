"""Decides whether a stamp that does not continue those of its stream is a stray or a jump of the clock."""

from collections.abc import Sequence
from enum import Enum

from inertial_estimation.estimators.inputs.clock_candidate import ClockCandidate
from inertial_estimation.estimators.inputs.input_stream import InputStream
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.signals import NANOSECONDS, Array, seconds

READINGS_TO_BELIEVE = 3  # consecutive readings that agree with one another
PERIODS_OF_SILENCE = 3  # of the clock before, after which it counts as stopped
SILENCE_NS = NANOSECONDS // 20  # by which a clock has stopped that no other stream contradicts
STEP_BACK_NS = 11 * NANOSECONDS // 20  # of all clocks, before what has been learned is discarded for it
LONG_SILENCE_NS = 3 * NANOSECONDS // 10  # by which it has stopped without another stream as a witness


class Verdict(Enum):
    """What a stamp that does not continue those of its stream means.

    Attributes:
        HELD: Not yet decided, or a stray; the reading is not used now.
        REJOINS: The stream was silent while others went on.
        ALONE: The clock of this stream has jumped.
        ALL: The clocks of all streams that arrive have jumped.
    """

    HELD = "held"
    REJOINS = "rejoins"
    ALONE = "alone"
    ALL = "all"


class ClockJudge:
    """Judges the stamps of each stream by its own last stamp; other streams are witnesses.

    A stamp that steps back, or ahead by more than `step_ns` and ahead of all other streams, is that of a
    candidate (`ClockCandidate`). It is accepted where the candidate has several readings and

    - the clock before is silent, and another stream has the candidate's time, or every other stream has a
      candidate at the same time, or no other stream was heard on its clock before for `LONG_SILENCE_NS`; or
    - all step back, which discards what has been learned, and stay there for `STEP_BACK_NS`; or
    - both clocks are heard (two publishers), another stream has the candidate's time, and none the other.

    Attributes:
        step_ns: Longest step that needs no witness [ns].
    """

    def __init__(self, watched: Sequence[InputStream], config: InputConfig) -> None:
        """Begin.

        Args:
            watched: The streams whose clocks have to agree.
            config: `jump`, `max_gap`.
        """
        self._watched = tuple(watched)
        self._jump_ns = round(config.jump * NANOSECONDS)
        self.step_ns = min(round(config.max_gap * NANOSECONDS), self._jump_ns)
        self._keep = False

    def judge(self, target: InputStream, stamp_ns: int, row: Array) -> Verdict:
        """Judge a stamp that does not follow the last one of its stream by at most `step_ns`.

        Args:
            target: The stream; its candidate is updated.
            stamp_ns: The stamp [ns].
            row: The reading's numbers, shape (width,).
        """
        last = target.last_stamp_ns
        assert last is not None, "the first stamp of a stream has none to differ from"
        others = [stream for stream in self._watched if stream is not target]
        step = stamp_ns - last
        if step <= 0 and (self._keep or step >= -self.step_ns):
            _drop_backward(target, step)
            return Verdict.HELD
        candidate = target.hold(stamp_ns, row, tuple(stream.last_stamp_ns for stream in others))
        if step > 0 and self._any_near(others, stamp_ns, behind_ns=self._jump_ns):
            return Verdict.REJOINS
        if not self._believed(target, candidate):
            return Verdict.HELD
        return self._decide(target, candidate, last, others)

    def _believed(self, target: InputStream, candidate: ClockCandidate) -> bool:
        """Whether a candidate has enough readings: more than the clock before it, up to a few."""
        needed = min(len(target.buffer) + 1, READINGS_TO_BELIEVE)
        return candidate.count >= needed

    def _decide(
        self, target: InputStream, candidate: ClockCandidate, last: int, others: list[InputStream]
    ) -> Verdict:
        near = self._any_near(others, candidate.last_ns, behind_ns=self.step_ns)
        if near and not self._any_near(others, last, behind_ns=self.step_ns):
            return Verdict.ALONE
        if not target.spec.required:
            return Verdict.ALONE if self._stopped(target, candidate, SILENCE_NS) else Verdict.HELD
        if not self._stopped(target, candidate, 0):
            return Verdict.HELD
        if near:
            return Verdict.ALONE if self._stopped(target, candidate, SILENCE_NS) else Verdict.HELD
        back = candidate.first_ns < last
        if others and all(self._jumped_too(stream, candidate.last_ns) for stream in others):
            return Verdict.ALL if self._stopped(target, candidate, back * STEP_BACK_NS) else Verdict.HELD
        quiet = candidate.last_ns - candidate.quiet_since_ns
        alone = not others and not back
        silence_ns = SILENCE_NS if alone else STEP_BACK_NS if back else LONG_SILENCE_NS
        if self._stopped(target, candidate, silence_ns):
            return Verdict.ALL if alone or quiet >= LONG_SILENCE_NS else Verdict.HELD
        return Verdict.HELD

    def _stopped(self, target: InputStream, candidate: ClockCandidate, silence_ns: int) -> bool:
        """Whether the clock before has been silent for a time, for several of its periods and readings."""
        if len(target.buffer) < READINGS_TO_BELIEVE:
            return True
        if len(candidate.held) < READINGS_TO_BELIEVE:
            return False
        periods = PERIODS_OF_SILENCE * target.buffer.last_step_ns
        return candidate.silence_ns >= max(silence_ns, min(periods, LONG_SILENCE_NS))

    def _any_near(self, others: list[InputStream], stamp_ns: int, *, behind_ns: int) -> bool:
        """Whether another stream is at a time: at most `step_ns` before it, at most `behind_ns` after it."""
        for stream in others:
            last = stream.last_stamp_ns
            if last is not None and -self.step_ns <= last - stamp_ns <= behind_ns:
                return True
        return False

    def _jumped_too(self, stream: InputStream, stamp_ns: int) -> bool:
        """Whether a stream has a candidate at a time, or never had a clock."""
        if stream.last_stamp_ns is None:
            return True
        candidate = stream.candidate
        if candidate is None or not self._believed(stream, candidate):
            return False
        return abs(candidate.last_ns - stamp_ns) <= self._jump_ns and self._stopped(stream, candidate, 0)


def _drop_backward(target: InputStream, step_ns: int) -> None:
    """Count a reading whose stamp is that of the one before, or earlier by a step [ns]."""
    if step_ns == 0:
        target.drop(DropReason.EQUAL_STAMP)
    else:
        target.drop(DropReason.BACKWARD_STAMP, f"{seconds(-step_ns):.3f} s back")
