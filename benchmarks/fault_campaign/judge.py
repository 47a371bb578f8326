"""Verdict on one case: from what was put out, what health said and what is true."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.fault_campaign.fault import KINDS, Fault
from benchmarks.fault_campaign.feed import Output, Record
from benchmarks.fault_campaign.pipelines import Adapter, flaws
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel

WRONG_OK_S = 0.25  # health may be OK for so long, in which a fault is recognised, while an estimate is wrong
# or there is none (that is, none in the last HELD_S)
SILENT_S = 1.0  # without output while the streams that suffice for one arrive, whatever health says
MOVED = 0.02  # published masses hold within this share of the true ones ...
SHORT_S = 0.5  # ... during faults up to this length
LATE_S = (0.02, 0.005)  # beyond the period: longest and fifth longest step, charged by a shared machine
HELD_S = 0.1  # an output is used for so long where no other follows
DIAGNOSTICS_LIMIT = 20_000  # [characters]
COLUMNS = {
    "escapes": "an exception left push, tick or health, or a limit of time or memory ended the case",
    "inconsistent": "a result is not finite, or physically inconsistent",
    "wrongly_ok": f"wrong by 2 deg or 10 % of a mass while health is OK for more than {WRONG_OK_S} s",
    "moved": f"published masses moved by more than {MOVED:.0%} in a fault of up to {SHORT_S} s",
    "silent": f"no output for {SILENT_S} s with inputs that suffice, {HELD_S + WRONG_OK_S} s with health OK",
    "not_recovered": "not within 1 deg, 5 % of a mass, or not in control, at the end of the data",
    "late": f"longest or fifth longest step longer than a period by {LATE_S} s, also when repeated",
    "unnamed": "the estimate is wrong and health is not OK, but never names the input",
    "diagnostics": f"diagnostics of {DIAGNOSTICS_LIMIT} characters",
}
HIDDEN_COLUMNS = ("escapes", "inconsistent", "silent", "late", "diagnostics")  # of faults that no data reveal

TOPICS = {"imu": "imu/data", "joints": "joint_states", "wrench": "{}/wrench"}  # how health calls streams
WANDERING_S = 1.0  # before and after a fault, in which the range of the clean run's masses is determined
MOVED_WINDOW_S = 0.1  # after the fault: its messages are still in the filter's window
STAMP_ERROR_NS = NANOSECONDS  # an estimate stamped further from the clock than this carries a wrong stamp


@dataclass(frozen=True)
class Verdict:
    """What is wrong with one case; zero, empty or None where nothing is."""

    case: str  # name to repeat it
    pipeline: str
    kind: str
    scene: str
    fault: str  # what was done
    duration_s: float  # of the fault
    escape: str = ""  # exception that left the pipeline, or how the process ended
    over_period_s: tuple[float, float] = (0.0, 0.0)  # longest and fifth longest step less the period
    inconsistent: str = ""  # first results that are not finite or physically inconsistent
    time_wrong_s: float = 0.0  # total time in which what is published was wrong
    wrong_ok_s: float = 0.0  # longest time for which an estimate was wrong while health was OK
    silent_s: float = 0.0  # longest time without output while the streams that suffice for one arrived
    silent_ok_s: float = 0.0  # the same with health OK, whatever arrived, less HELD_S
    named: bool | None = None  # whether an input concerned was named when wrong and not OK; None: not wrong
    moved: float = 0.0  # largest shift of a published mass during a short fault, share of the true one
    recovery_s: float | None = None  # from the end of the fault until right; None: not within the data
    diagnostics: int = 0  # largest size of the health as text [characters]

    @property
    def hidden(self) -> bool:
        """Whether the data cannot reveal the fault in principle."""
        return self.kind in KINDS and KINDS[self.kind].is_hidden(self.pipeline)

    @property
    def failures(self) -> list[str]:
        """Columns in which the case fails; those that need the fault to be recognised if it can be."""
        failed = {
            "escapes": bool(self.escape),
            "inconsistent": bool(self.inconsistent),
            "wrongly_ok": self.wrong_ok_s > WRONG_OK_S,
            "moved": self.moved > MOVED,
            "silent": self.silent_s > SILENT_S or self.silent_ok_s > WRONG_OK_S,
            "not_recovered": self.recovery_s is None and not self.escape,
            "late": any(over > most for over, most in zip(self.over_period_s, LATE_S, strict=True)),
            "unnamed": self.named is False,
            "diagnostics": self.diagnostics > DIAGNOSTICS_LIMIT,
        }
        return [name for name in COLUMNS if failed[name] and (not self.hidden or name in HIDDEN_COLUMNS)]


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of the n finite results of a run; arrays of shape (n,)."""

    arrivals_ns: Array  # when each was put out
    stamps_ns: Array  # their stamps
    scene_ns: Array  # their times on the clock of the scene, where the receiver's is stepped
    error: Array
    published_error: Array  # of what is published
    estimates: Array  # the judged vectors, shape (n, k)

    @property
    def period_s(self) -> float:
        """Median period of the results [s]."""
        return float(np.median(np.diff(self.stamps_ns))) / NANOSECONDS

    def nearest(self, stamps_ns: Array) -> Array:
        """Return which results are the first ones not before some times, shape (m,)."""
        return np.clip(np.searchsorted(self.stamps_ns, stamps_ns), 0, len(self.stamps_ns) - 1)


def errors_of(adapter: Adapter, outputs: Sequence[Output], clean: Errors | None = None) -> Errors:
    """Return errors against the truth, or against the run without a fault where that is nearer."""
    if not outputs:
        none = np.zeros(0)
        return Errors(none, none, none, none, none, np.zeros((0, 1)))
    arrivals, clocks, stamps = (np.array(c, dtype=np.int64) for c in list(zip(*outputs, strict=True))[:3])
    estimates = np.array([output.estimate for output in outputs])
    times = np.where(np.abs(stamps - clocks) > STAMP_ERROR_NS, clocks, stamps)
    # where the receiver's clock is stepped, stamps are those of data played again, or the scene's, shifted
    scene = times + arrivals - clocks
    truths = [adapter.truth(times), adapter.truth(scene)]
    if clean is not None:
        truths.append(clean.estimates[clean.nearest(times)])
    known = [truth for truth in truths if truth is not None] or [estimates]
    public = adapter.published(estimates)
    return Errors(
        *(arrivals, stamps, scene),
        error=np.min([adapter.error(estimates, truth) for truth in known], axis=0),
        published_error=np.min([adapter.error(public, adapter.published(truth)) for truth in known], axis=0),
        estimates=estimates,
    )


def judge(
    adapter: Adapter, fault: Fault, record: Record, clean: Errors, informing: Sequence[str], **names: str
) -> Verdict:
    """Judge a case, given its names (case, pipeline, kind, scene) and the streams that suffice for output."""
    wrong, right = adapter.wrong, adapter.right
    found = errors_of(adapter, [o for o in record.outputs if np.isfinite(o.estimate).all()], clean)
    expected = _expected(right, fault, found, clean)
    counted = expected & (found.arrivals_ns >= fault.begin_ns)
    wrong_ok_s, silent_ok_s, named = _health(found, counted & (found.error > wrong), record, clean, fault)
    held_s = np.minimum(np.diff(found.arrivals_ns, append=found.arrivals_ns[-1:]) / NANOSECONDS, HELD_S)
    return Verdict(
        fault=fault.text,
        duration_s=fault.duration_s,
        escape=record.escape,
        over_period_s=(record.longest_s[0] - clean.period_s, record.longest_s[-1] - clean.period_s),
        inconsistent="; ".join(flaws([output.content for output in record.outputs])[:3]),
        time_wrong_s=float(held_s[counted & (found.published_error > wrong)].sum()),
        wrong_ok_s=wrong_ok_s,
        silent_s=_silent_s(found, fault, clean, informing),
        silent_ok_s=silent_ok_s,
        named=named,
        moved=_moved(adapter, fault, found, clean, expected),
        recovery_s=_recovery_s(right, fault, found, clean, expected),
        diagnostics=max((sample.size for sample in record.health), default=0),
        **names,
    )


def _expected(right: float, fault: Fault, found: Errors, clean: Errors) -> Array:
    """Return where an estimate is expected to be right: where the clean run is, now and a fault earlier.

    After a fault at the start the estimator is behind by the fault's duration.
    """
    is_right = clean.error < right
    behind_ns = fault.end_ns - fault.begin_ns + round(WRONG_OK_S * NANOSECONDS)
    times = (found.stamps_ns, found.stamps_ns - behind_ns, found.scene_ns)
    return np.all([is_right[clean.nearest(stamps_ns)] for stamps_ns in times], axis=0)


def _recovery_s(right: float, fault: Fault, found: Errors, clean: Errors, expected: Array) -> float | None:
    """Return when output and error are right again [s]; None: not within the data."""
    last_ns, end_ns = fault.messages[-1].arrival_ns, max(fault.end_ns, int(clean.arrivals_ns[0]))
    later = found.arrivals_ns >= end_ns
    arrivals, off = found.arrivals_ns[later], (found.error[later] > right) & expected[later]
    if last_ns - (int(arrivals[-1]) if len(arrivals) else end_ns) > SILENT_S * NANOSECONDS:
        return None
    if not len(arrivals):
        return 0.0
    first = len(off) - int(off[::-1].argmax()) if off.any() else 0
    return None if first == len(off) else (int(arrivals[first]) - end_ns) / NANOSECONDS


def _silent_s(found: Errors, fault: Fault, clean: Errors, informing: Sequence[str]) -> float:
    """Return the longest time without output while the streams that suffice for one arrive [s]."""
    harmed = any(stream.startswith(tuple(informing)) for stream in fault.streams)
    begin_ns = max(fault.end_ns if harmed else fault.begin_ns, int(clean.arrivals_ns[0]))
    arrivals = found.arrivals_ns[found.arrivals_ns >= begin_ns]
    ends = np.concatenate([[begin_ns], arrivals, [max(begin_ns, fault.messages[-1].arrival_ns)]])
    return float(np.diff(ends).max() / NANOSECONDS)


def _health(
    found: Errors, bad: Array, record: Record, clean: Errors, fault: Fault
) -> tuple[float, float, bool | None]:
    """Return how long health was OK with a wrong estimate, and with none [s]; whether it named an input."""
    begin_ns = max(fault.begin_ns, int(clean.arrivals_ns[0]))
    samples = [sample for sample in record.health if sample.arrival_ns >= begin_ns]
    at = np.array([sample.arrival_ns for sample in samples], dtype=np.int64)
    ok = np.array([sample.level is HealthLevel.OK for sample in samples], dtype=bool)
    arrivals, newest = np.append(0, found.arrivals_ns), np.searchsorted(found.arrivals_ns, at, side="right")
    fresh = at - arrivals[newest] < HELD_S * NANOSECONDS
    wrong = np.append(False, bad)[newest] & fresh
    texts = [sample.text for sample, warned in zip(samples, wrong & ~ok, strict=True) if warned]
    parts = [stream.partition(":") for stream in fault.streams]
    topics = [TOPICS.get(kind, kind).format(which) for kind, _, which in parts]
    named = any(topic in text for text in texts for topic in topics)
    return longest_run(at, wrong & ok), longest_run(at, ok & ~fresh), named if texts else None


def longest_run(times_ns: Array, holds: Array) -> float:
    """Return the longest time for which something holds at successive times [s]."""
    changes = np.flatnonzero(np.diff(holds, prepend=False, append=False)).reshape(-1, 2)
    return max(((times_ns[end - 1] - times_ns[begin]) / NANOSECONDS for begin, end in changes), default=0.0)


def _moved(adapter: Adapter, fault: Fault, found: Errors, clean: Errors, expected: Array) -> float:
    """Return how far published masses left the range of where they were and where the clean run is."""
    end_ns = fault.end_ns + MOVED_WINDOW_S * NANOSECONDS
    during = (found.arrivals_ns >= fault.begin_ns) & (found.arrivals_ns <= end_ns) & expected
    if not len(adapter.masses) or fault.duration_s > SHORT_S or not during.any():
        return 0.0
    published = adapter.published(found.estimates)
    # to stand still is as good as to go on; without a fault the masses wander a little, too
    around_ns = round(WANDERING_S * NANOSECONDS)
    near = (clean.arrivals_ns >= fault.begin_ns - around_ns) & (clean.arrivals_ns <= end_ns + around_ns)
    before = published[found.arrivals_ns < fault.begin_ns][-1:]
    clean_masses = np.concatenate([adapter.published(clean.estimates)[near], before])
    low, high = clean_masses.min(axis=0), clean_masses.max(axis=0)
    outside = np.maximum(low - published[during], published[during] - high)
    return float(max(0.0, (outside / adapter.masses).max()))
