"""Verdict on one case: from what was put out, what health said and what is true."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.fault_campaign.fault import Fault
from benchmarks.fault_campaign.feed import HealthSample, Put, Record
from benchmarks.fault_campaign.outputs import Adapter
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel

GRACE_S = 0.25  # a wrong estimate may be called OK for so long, in which a fault is recognised
SILENT_OK_S = 0.35  # the same for an output that stops: inputs.timeout (0.1 s) and the grace
SILENT_S = 1.0  # an output that comes back later than this after the fault counts as silent
SHORT_S = 0.5  # published masses hold during faults up to this
MOVED = 0.02
WANDERING_S = 1.0  # before and after a fault, in which the range of the clean run's masses is determined
MOVED_WINDOW_S = 0.1  # after the fault: readings of the fault are still in the filter's window
INTERRUPTION_S = (0.02, 0.005)  # that a shared virtual machine may charge to one step, and to five
STAMP_ERROR_NS = NANOSECONDS  # an estimate stamped further from the clock than this carries a wrong stamp


@dataclass(frozen=True)
class Verdict:
    """What is wrong with one case; zero, empty or None where nothing is.

    Attributes:
        case: Name to repeat it.
        pipeline: Pipeline.
        kind: Kind of fault.
        scene: Scene.
        fault: What was done.
        duration_s: Of the fault [s].
        escape: Exception that left the pipeline, or how the process ended.
        over_time: Whether a limit of processor time, wall time or memory ended it.
        longest_s: Longest step [s of processor time].
        fifth_longest_s: Fifth longest step, which the machine's own interruptions do not reach [s].
        period_s: Period of the pipeline [s].
        non_finite: Results with a number that is not finite.
        inconsistent: First physical inconsistency.
        worst: Largest error of the estimates, in the adapter's unit.
        wrong_s: Longest time for which the estimate was wrong [s].
        wrong_ok_s: Longest time for which it was wrong while health was OK [s].
        silent_ok_s: Longest time without output while inputs arrived and health was OK [s].
        named: Whether, where it was wrong and health not OK, a stream concerned was named; None: not wrong.
        moved: Largest shift of a published mass during a short fault, as a share of the true one.
        silent: Whether the output came back later than 1 s after the fault, or not at all.
        recovery_s: Time from the end of the fault until output and error are as they should be [s]; None:
            not within the data.
        stamps_wrong: Results stamped more than 1 s away from the clock.
        stamps_back: Results stamped no later than the one before.
        diagnostics: Largest size of the health as text [characters].
        memory_kb: Growth of the resident memory [kB].
    """

    case: str
    pipeline: str
    kind: str
    scene: str
    fault: str
    duration_s: float
    escape: str = ""
    over_time: bool = False
    longest_s: float = 0.0
    fifth_longest_s: float = 0.0
    period_s: float = 1.0
    non_finite: int = 0
    inconsistent: str = ""
    worst: float = 0.0
    wrong_s: float = 0.0
    wrong_ok_s: float = 0.0
    silent_ok_s: float = 0.0
    named: bool | None = None
    moved: float = 0.0
    silent: bool = False
    recovery_s: float | None = None
    stamps_wrong: int = 0
    stamps_back: int = 0
    diagnostics: int = 0
    memory_kb: int = 0

    @property
    def late(self) -> bool:
        """Whether steps take longer than a period, beyond what a shared machine may charge to them."""
        longest = self.longest_s > self.period_s + INTERRUPTION_S[0]
        return longest or self.fifth_longest_s > self.period_s + INTERRUPTION_S[1]

    @property
    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of the finite results of a run.

    Attributes:
        arrivals_ns: When each was put out [ns], shape (n,).
        stamps_ns: Their stamps [ns], shape (n,).
        scene_ns: Their times on the clock of the scene, where the receiver's is stepped [ns], shape (n,).
        error: Error of each, shape (n,).
        estimates: The judged vectors, shape (n, k).
        published: Published masses, shape (n, m).
    """

    arrivals_ns: Array
    stamps_ns: Array
    scene_ns: Array
    error: Array
    estimates: Array
    published: Array


def errors_of(adapter: Adapter, puts: Sequence[Put], clean: Errors | None = None) -> Errors:
    """Return errors against the truth, or against the clean run where that is nearer.

    Args:
        adapter: The pipeline.
        puts: What was put out; without results, the arrays are empty.
        clean: The run without a fault; None: it is this one.
    """
    arrivals = np.array([put.arrival_ns for put in puts], dtype=np.int64)
    stamps = np.array([put.stamp_ns for put in puts], dtype=np.int64)
    clocks = np.array([put.clock_ns for put in puts], dtype=np.int64)
    if not puts:
        return Errors(arrivals, stamps, stamps, np.zeros(0), np.zeros((0, 1)), np.zeros((0, 0)))
    estimates = np.array([adapter.estimate(put.kept) for put in puts])
    published = np.array([adapter.published(put.kept) for put in puts])
    times = np.where(np.abs(stamps - clocks) > STAMP_ERROR_NS, clocks, stamps)
    error = _against_truth(adapter, estimates, times)
    # where the receiver's clock is stepped, stamps are those of data played again, or the scene's, shifted
    scene = times + arrivals - clocks
    error = np.minimum(error, _against_truth(adapter, estimates, scene))
    if clean is not None and len(clean.stamps_ns):
        error = np.minimum(error, adapter.error(estimates, clean.estimates[_nearest(clean, times)]))
    return Errors(arrivals, stamps, scene, error, estimates, published)


def _against_truth(adapter: Adapter, estimates: Array, times_ns: Array) -> Array:
    truth = adapter.truth(times_ns)
    return adapter.error(estimates, estimates if truth is None else truth)


def judge(case: str, adapter: Adapter, fault: Fault, record: Record, clean: Errors, **names: str) -> Verdict:
    """Judge one case.

    Args:
        case: Its name.
        adapter: The pipeline.
        fault: What was done.
        record: What was seen, from before the fault on.
        clean: The run without the fault.
        names: Pipeline, kind and scene.
    """
    finite = [put for put in record.puts if _finite(adapter, put.kept)]
    found = errors_of(adapter, finite, clean)
    expected = _expected(adapter, fault, found, clean)
    bad = (found.error > adapter.wrong) & expected
    after = found.arrivals_ns >= fault.begin_ns
    stamps = np.array([put.stamp_ns for put in record.puts], dtype=np.int64)
    clocks = np.array([put.clock_ns for put in record.puts], dtype=np.int64)
    recovery_s, silent = _recovery(adapter, fault, found, clean, expected)
    wrong_ok_s, named = _called_ok(found, bad & after, record.health, fault)
    return Verdict(
        case=case,
        fault=fault.text,
        duration_s=fault.duration_s,
        escape=record.escape,
        longest_s=record.longest_s[0],
        fifth_longest_s=record.longest_s[-1],
        period_s=adapter.period_s,
        non_finite=len(record.puts) - len(finite),
        inconsistent="; ".join(adapter.flaws([put.kept for put in finite])[:3]),
        worst=float(found.error[after].max(initial=0.0)),
        wrong_s=longest_run(found.arrivals_ns, bad & after),
        wrong_ok_s=wrong_ok_s,
        silent_ok_s=_silent_ok(record, fault, clean),
        named=named,
        moved=_moved(adapter, fault, found, clean, expected),
        silent=silent,
        recovery_s=recovery_s,
        stamps_wrong=int((np.abs(stamps - clocks) > STAMP_ERROR_NS).sum()),
        stamps_back=int((np.diff(stamps) <= 0).sum()),
        diagnostics=max((sample.size for sample in record.health), default=0),
        memory_kb=record.memory_kb,
        **names,
    )


def _finite(adapter: Adapter, kept: Any) -> bool:
    """Whether every number of a result is finite."""
    numbers = np.concatenate([np.ravel(value) for value in adapter.numbers(kept)])
    return bool(np.isfinite(numbers).all())


def _nearest(clean: Errors, stamps_ns: Array) -> Array:
    after = np.searchsorted(clean.stamps_ns, stamps_ns)
    found: Array = np.clip(after, 0, len(clean.stamps_ns) - 1)
    return found


def _expected(adapter: Adapter, fault: Fault, found: Errors, clean: Errors) -> Array:
    """Return where an estimate is expected to be right: where the clean run is, now and a fault earlier.

    After a fault at the start the estimator is behind by the fault's duration.
    """
    if not len(clean.stamps_ns):
        return np.ones(len(found.stamps_ns), dtype=bool)
    right = clean.error < adapter.recovered
    behind_ns = fault.end_ns - fault.begin_ns + round(GRACE_S * NANOSECONDS)
    earlier = _nearest(clean, found.stamps_ns - behind_ns)
    both: Array = right[_nearest(clean, found.stamps_ns)] & right[earlier]
    return both & right[_nearest(clean, found.scene_ns)]


def longest_run(times_ns: Array, bad: Array) -> float:
    """Return the longest run of bad results [s]."""
    found, begin = 0, None
    for time, is_bad in zip(times_ns.tolist(), bad.tolist(), strict=True):
        begin = (time if begin is None else begin) if is_bad else None
        found = max(found, time - begin) if begin is not None else found
    return found / NANOSECONDS


def _recovery(
    adapter: Adapter, fault: Fault, found: Errors, clean: Errors, expected: Array
) -> tuple[float | None, bool]:
    """Return when output and error are right again, and whether the output was silent for too long.

    Where the clean run has no output (an estimator that is starting) none is expected.
    """
    last_ns = fault.readings[-1].arrival_ns
    expected_ns = max(fault.end_ns, int(clean.arrivals_ns[0])) if len(clean.arrivals_ns) else last_ns
    later = found.arrivals_ns >= expected_ns
    if not later.any():
        enough = last_ns - expected_ns > SILENT_S * NANOSECONDS
        return (None if enough else 0.0), enough
    arrivals, error = found.arrivals_ns[later], found.error[later]
    gaps = np.diff(np.concatenate([[expected_ns], arrivals, [last_ns]]))
    silent = bool((gaps > SILENT_S * NANOSECONDS).any())
    if gaps[-1] > SILENT_S * NANOSECONDS:
        return None, True
    off = (error > adapter.recovered) & expected[later]
    if off[-1]:
        return None, silent
    first = int(len(off) - off[::-1].argmax()) if off.any() else 0
    return (int(arrivals[first]) - expected_ns) / NANOSECONDS, silent


def _called_ok(
    found: Errors, bad: Array, health: Sequence[HealthSample], fault: Fault
) -> tuple[float, bool | None]:
    """Return how long a wrong estimate was called OK [s], and whether a stream concerned was named."""
    longest, begin, named = 0, None, None
    for sample in health:
        newest = int(np.searchsorted(found.arrivals_ns, sample.arrival_ns, side="right")) - 1
        recent = newest >= 0 and sample.arrival_ns - found.arrivals_ns[newest] < 0.1 * NANOSECONDS
        wrong = bool(recent and bad[newest])
        if wrong and sample.level is HealthLevel.OK:
            begin = sample.arrival_ns if begin is None else begin
            longest = max(longest, sample.arrival_ns - begin)
        else:
            begin = None
        if wrong and sample.level is not HealthLevel.OK:
            named = bool(named) or any(_name(stream) in sample.text for stream in fault.streams)
    return longest / NANOSECONDS, named


def _name(stream: str) -> str:
    """Return how health calls a stream."""
    kind, _, which = stream.partition(":")
    names = {"imu": "imu/data", "joints": "joint_states", "wrench": f"{which}/wrench", "inertia": "inertia"}
    names |= {"orientation": "base_orientation"}
    return names.get(kind, kind)


def _silent_ok(record: Record, fault: Fault, clean: Errors) -> float:
    """Return the longest time without output, health OK, while the readings arrive [s]."""
    if not len(clean.arrivals_ns):
        return 0.0
    puts = [put.arrival_ns for put in record.puts]
    longest, begin = 0, None
    for sample in record.health:
        if sample.level is not HealthLevel.OK or sample.arrival_ns < fault.begin_ns:
            begin = None
            continue
        begin = sample.arrival_ns if begin is None else begin
        newest = int(np.searchsorted(puts, sample.arrival_ns, side="right")) - 1
        since = max(begin, puts[newest]) if newest >= 0 else begin
        longest = max(longest, sample.arrival_ns - since)
    return longest / NANOSECONDS


def _moved(adapter: Adapter, fault: Fault, found: Errors, clean: Errors, expected: Array) -> float:
    """Return how far published masses left the range of where they were and where the clean run is."""
    if fault.duration_s > SHORT_S or not found.published.size:
        return 0.0
    end_ns = fault.end_ns + MOVED_WINDOW_S * NANOSECONDS
    during = (found.arrivals_ns >= fault.begin_ns) & (found.arrivals_ns <= end_ns) & expected
    if not during.any():
        return 0.0
    masses = np.array(list(adapter.data.masses.values()))[: found.published.shape[1]]
    # to stand still is as good as to go on; without a fault the masses wander a little, too
    around_ns = round(WANDERING_S * NANOSECONDS)
    near = (clean.arrivals_ns >= fault.begin_ns - around_ns) & (clean.arrivals_ns <= end_ns + around_ns)
    usual = clean.published[near]
    before = found.arrivals_ns < fault.begin_ns
    held = found.published[before][-1:] if before.any() else usual[:1]
    usual = np.concatenate([usual, held])
    moved = found.published[during]
    outside = np.maximum(usual.min(axis=0) - moved, moved - usual.max(axis=0))
    return float(max(0.0, (outside / masses).max()))
