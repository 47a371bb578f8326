"""Verdict on one case: from what was put out, what health said and what is true."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.fault_campaign.fault import Fault
from benchmarks.fault_campaign.feed import HealthSample, Output, Record
from benchmarks.fault_campaign.kinds import KINDS
from benchmarks.fault_campaign.pipelines import Adapter, flaws
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel

WRONG = {"tilt": 2.0, "inertial": 10.0, "payload": 10.0, "controller": 0.5}  # error [deg, %, %, damping]
RECOVERED = {
    "tilt": 1.0,
    "inertial": 5.0,
    "payload": 5.0,
    "controller": 0.5,
}  # error within which it is right
WRONG_OK_S = 0.25  # a wrong estimate may be called OK for so long, in which a fault is recognised
SILENT_OK_S = 0.35  # the same for an output that stops: inputs.timeout (0.1 s) and that time
SILENT_S = 1.0  # without output while the streams that suffice for one arrive, whatever health says
MOVED = 0.02  # published masses hold within this share of the true ones ...
SHORT_S = 0.5  # ... during faults up to this length
LATE_S = (0.02, 0.005)  # beyond the period: longest and fifth longest step, charged by a shared machine
DIAGNOSTICS_LIMIT = 20_000  # [characters]
MEMORY_LIMIT_KB = 50_000  # growth of the resident memory
BOUNDS = f"""\
- escapes: an exception left push, tick or health, or a limit of time or memory ended the case
- inconsistent: a result is not finite, or physically inconsistent
- wrongly_ok: wrong by more than {WRONG["tilt"]:g} deg or {WRONG["inertial"]:g} % of a mass while health is OK for more than {WRONG_OK_S} s
- moved: published masses moved by more than {100 * MOVED:g} % in a fault of up to {SHORT_S} s
- silent: no output for {SILENT_S:g} s while inputs that suffice arrive, or for {SILENT_OK_S} s with health OK
- not_recovered: not within {RECOVERED["tilt"]:g} deg, {RECOVERED["inertial"]:g} % of a mass, or not in control, at the end of the data
- late: the longest step is longer than a period by {1e3 * LATE_S[0]:g} ms, or the fifth longest by {1e3 * LATE_S[1]:g} ms, twice
- unnamed: the estimate is wrong and health is not OK, but never names the input
- memory: diagnostics of more than {DIAGNOSTICS_LIMIT} characters, or {MEMORY_LIMIT_KB} kB more memory
- time_wrong_s: total time in which what is published is wrong [s], mean of the counted cases
"""
COLUMNS = tuple(line[2:].partition(":")[0] for line in BOUNDS.splitlines())[:-1]
HIDDEN_COLUMNS = ("escapes", "inconsistent", "silent", "late", "memory")  # of faults that no data reveal

WANDERING_S = 1.0  # before and after a fault, in which the range of the clean run's masses is determined
MOVED_WINDOW_S = 0.1  # after the fault: its messages are still in the filter's window
HELD_S = 0.1  # a user acts on an output for so long where no other follows
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
        longest_s: How much longer than a period the longest and fifth longest step took [s of processor time].
        inconsistent: First results that are not finite or physically inconsistent.
        worst: Largest error of the estimates, in the adapter's unit.
        time_wrong_s: Total time in which what is published was wrong [s].
        wrong_ok_s: Longest time for which an estimate was wrong while health was OK [s].
        silent_s: Longest time without output while the streams that suffice for one arrived [s].
        silent_ok_s: Longest time without output while health was OK [s].
        named: Whether, where it was wrong and health not OK, a stream concerned was named; None: not wrong.
        moved: Largest shift of a published mass during a short fault, as a share of the true one.
        recovery_s: From the end of the fault until output and error are right [s]; None: not within the data.
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
    longest_s: tuple[float, float] = (0.0, 0.0)
    inconsistent: str = ""
    worst: float = 0.0
    time_wrong_s: float = 0.0
    wrong_ok_s: float = 0.0
    silent_s: float = 0.0
    silent_ok_s: float = 0.0
    named: bool | None = None
    moved: float = 0.0
    recovery_s: float | None = None
    diagnostics: int = 0
    memory_kb: int = 0

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
            "silent": self.silent_s > SILENT_S or self.silent_ok_s > SILENT_OK_S,
            "not_recovered": self.recovery_s is None and not self.escape,
            "late": self.longest_s[0] > LATE_S[0] or self.longest_s[1] > LATE_S[1],
            "unnamed": self.named is False,
            "memory": self.diagnostics > DIAGNOSTICS_LIMIT or self.memory_kb > MEMORY_LIMIT_KB,
        }
        return [name for name in COLUMNS if failed[name] and (not self.hidden or name in HIDDEN_COLUMNS)]


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of the finite results of a run, n of them.

    Attributes:
        arrivals_ns: When each was put out [ns], shape (n,).
        stamps_ns: Their stamps [ns], shape (n,).
        scene_ns: Their times on the clock of the scene, where the receiver's is stepped [ns], shape (n,).
        error: Error of each, shape (n,).
        published_error: Error of what is published, shape (n,).
        estimates: The judged vectors, shape (n, k).
    """

    arrivals_ns: Array
    stamps_ns: Array
    scene_ns: Array
    error: Array
    published_error: Array
    estimates: Array

    @property
    def period_s(self) -> float:
        """Median period of the results [s]."""
        return float(np.median(np.diff(self.stamps_ns))) / NANOSECONDS

    def nearest(self, stamps_ns: Array) -> Array:
        """Return which results are the first ones not before some times, shape (m,)."""
        return np.clip(np.searchsorted(self.stamps_ns, stamps_ns), 0, len(self.stamps_ns) - 1)


def errors_of(adapter: Adapter, outputs: Sequence[Output], clean: Errors | None = None) -> Errors:
    """Return errors against the truth, or against the clean run where that is nearer.

    Args:
        adapter: The pipeline.
        outputs: What was put out.
        clean: The run without a fault; None: it is this one.
    """
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
    """Judge one case.

    Args:
        adapter: The pipeline.
        fault: What was done.
        record: What was seen, from before the fault on.
        clean: The run without the fault.
        informing: Streams that suffice for an estimate, by the beginning of their names.
        names: Case, pipeline, kind and scene.
    """
    wrong, recovered = WRONG[names["pipeline"]], RECOVERED[names["pipeline"]]
    finite = [output for output in record.outputs if output.content.is_finite]
    found = errors_of(adapter, finite, clean)
    after = found.arrivals_ns >= fault.begin_ns
    expected = _expected(recovered, fault, found, clean)
    wrong_ok_s, named = _called_ok(found, (found.error > wrong) & expected & after, record.health, fault)
    broken = len(record.outputs) - len(finite)
    inconsistent = [f"{broken} not finite"] if broken else []
    inconsistent += flaws([output.content for output in finite])
    return Verdict(
        fault=fault.text,
        duration_s=fault.duration_s,
        escape=record.escape,
        longest_s=(record.longest_s[0] - clean.period_s, record.longest_s[-1] - clean.period_s),
        inconsistent="; ".join(inconsistent[:3]),
        worst=float(found.error[after].max(initial=0.0)),
        time_wrong_s=_total_s(found.arrivals_ns, (found.published_error > wrong) & expected & after),
        wrong_ok_s=wrong_ok_s,
        silent_s=_silent_s(found, fault, clean, informing),
        silent_ok_s=_silent_ok_s(record, fault),
        named=named,
        moved=_moved(adapter, fault, found, clean, expected),
        recovery_s=_recovery_s(recovered, fault, found, clean, expected),
        diagnostics=max((sample.size for sample in record.health), default=0),
        memory_kb=record.memory_kb,
        **names,
    )


def _expected(recovered: float, fault: Fault, found: Errors, clean: Errors) -> Array:
    """Return where an estimate is expected to be right: where the clean run is, now and a fault earlier.

    After a fault at the start the estimator is behind by the fault's duration.
    """
    right = clean.error < recovered
    behind_ns = fault.end_ns - fault.begin_ns + round(WRONG_OK_S * NANOSECONDS)
    times = (found.stamps_ns, found.stamps_ns - behind_ns, found.scene_ns)
    return np.all([right[clean.nearest(stamps_ns)] for stamps_ns in times], axis=0)


def longest_run(times_ns: Array, bad: Array) -> float:
    """Return the longest run of bad results [s]."""
    found, begin = 0, None
    for time, is_bad in zip(times_ns.tolist(), bad.tolist(), strict=True):
        begin = (time if begin is None else begin) if is_bad else None
        found = max(found, time - begin) if begin is not None else found
    return found / NANOSECONDS


def _total_s(times_ns: Array, bad: Array) -> float:
    """Return the total time of bad results, each held until the next one or for a short time [s]."""
    held_s = np.minimum(np.diff(times_ns, append=times_ns[-1:]) / NANOSECONDS, HELD_S)
    return float(held_s[bad].sum())


def _recovery_s(
    recovered: float, fault: Fault, found: Errors, clean: Errors, expected: Array
) -> float | None:
    """Return when output and error are right again [s]; None: not within the data."""
    last_ns, end_ns = fault.messages[-1].arrival_ns, max(fault.end_ns, int(clean.arrivals_ns[0]))
    later = found.arrivals_ns >= end_ns
    arrivals, off = found.arrivals_ns[later], (found.error[later] > recovered) & expected[later]
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


def _silent_ok_s(record: Record, fault: Fault) -> float:
    """Return the longest time without output, health OK, while messages arrive [s]."""
    outputs = np.array([output.arrival_ns for output in record.outputs])
    longest, begin = 0, None
    for sample in record.health:
        if sample.level is not HealthLevel.OK or sample.arrival_ns < fault.begin_ns:
            begin = None
            continue
        begin = sample.arrival_ns if begin is None else begin
        newest = int(np.searchsorted(outputs, sample.arrival_ns, side="right")) - 1
        since = max(begin, int(outputs[newest])) if newest >= 0 else begin
        longest = max(longest, sample.arrival_ns - since)
    return longest / NANOSECONDS


def _called_ok(
    found: Errors, bad: Array, health: Sequence[HealthSample], fault: Fault
) -> tuple[float, bool | None]:
    """Return how long a wrong estimate was called OK [s], and whether a stream concerned was named."""
    longest, begin, named = 0, None, None
    for sample in health:
        newest = int(np.searchsorted(found.arrivals_ns, sample.arrival_ns, side="right")) - 1
        recent = newest >= 0 and sample.arrival_ns - found.arrivals_ns[newest] < HELD_S * NANOSECONDS
        wrong = bool(recent and bad[newest])
        if wrong and sample.level is HealthLevel.OK:
            begin = sample.arrival_ns if begin is None else begin
            longest = max(longest, sample.arrival_ns - begin)
        else:
            begin = None
        if wrong and sample.level is not HealthLevel.OK:
            named = bool(named) or any(_topic(stream) in sample.text for stream in fault.streams)
    return longest / NANOSECONDS, named


def _topic(stream: str) -> str:
    """Return how health calls a stream."""
    kind, _, which = stream.partition(":")
    names = {"imu": "imu/data", "joints": "joint_states", "wrench": f"{which}/wrench"}
    return {**names, "orientation": "base_orientation"}.get(kind, kind)


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
    usual = np.concatenate([adapter.published(clean.estimates)[near], before])
    outside = np.maximum(usual.min(axis=0) - published[during], published[during] - usual.max(axis=0))
    return float(max(0.0, (outside / adapter.masses).max()))
