"""Cases by the hundred, each in a forked child of a pipeline that has run up to the fault's beginning."""

import gc
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from benchmarks.fault_campaign.fault import KINDS, Fault
from benchmarks.fault_campaign.feed import Feed
from benchmarks.fault_campaign.forked import EndedError, forked, in_parallel
from benchmarks.fault_campaign.judge import COLUMNS, Errors, Verdict, errors_of, judge
from benchmarks.fault_campaign.messages import Message, nanoseconds
from benchmarks.fault_campaign.pipelines import ADAPTERS
from benchmarks.fault_campaign.scenes import SCENES, Scene, build_pipeline, recorded

ALL = tuple(ADAPTERS)
EARLY_SHARE = 0.15  # of the faults begin with the first message
TAIL_S = 3.5  # of clean data after a fault, where the scene has them
EARLY_TAIL_S = 8.0  # after a fault at the start, since an estimate is not judged before it would be right
SETTLED_TAIL_S = 0.8  # of them for a case in which the estimate was never wrong, and soon as it should be
SETTLED_S = 0.5  # recovery of such a case at the latest
WHOLE_TAIL_EVERY = 4  # of so many cases one has the whole tail whatever it does, as a sample
CASES_IN_SHARE = 40  # for each of which a scene is run up to the beginnings of its cases once


@dataclass(frozen=True)
class Case:
    """One case, drawn from its name and the seed alone."""

    pipeline: str
    kind: str
    number: int  # within pipeline and kind
    seed: int  # of the campaign
    early: bool = False  # whether the fault begins with the first message whatever is drawn

    @property
    def name(self) -> str:
        """Name by which it can be repeated."""
        return f"{self.pipeline}/{self.kind}/{self.number}"

    @property
    def scenes(self) -> dict[str, Scene]:
        """The scenes in which it may occur."""
        return {
            name: scene
            for name, scene in SCENES.items()
            if scene.pipeline == self.pipeline
            and KINDS[self.kind].applies(self.pipeline, scene.streams)
            and (scene.begins_s[0] == 0.0 or not self.early)
        }

    def draw(self) -> tuple[str, float, np.random.Generator]:
        """Return its scene, the time at which the pipeline is forked [s], and the generator for the rest."""
        words = [zlib.crc32(text.encode()) for text in (self.pipeline, self.kind)]
        rng = np.random.default_rng([self.seed, *words, self.number])
        name = str(rng.choice(list(self.scenes)))
        begins = self.scenes[name].begins_s
        if begins[0] == 0.0 and (rng.random() < EARLY_SHARE or self.early):
            return name, 0.0, rng
        return name, float(rng.choice([b for b in begins if b > 0.0])), rng

    def inject(self, rest: Sequence[Message]) -> Fault:
        """Put its fault into the messages from its beginning on, and end them some time after it."""
        _, begin_s, rng = self.draw()
        begin_ns, tail_s = rest[0].arrival_ns, TAIL_S if begin_s > 0.0 else EARLY_TAIL_S
        # a fault at the start begins with the first message; others up to a quarter of a second later
        if begin_s > 0.0:
            begin_ns += nanoseconds(float(rng.uniform(0.0, 0.25)))
        fault = KINDS[self.kind].inject(rng, rest, begin_ns)
        kept = tuple(m for m in fault.messages if m.arrival_ns <= fault.end_ns + nanoseconds(tail_s))
        text = f"{fault.text} at {begin_s:g} s for {fault.duration_s:.2f} s"
        return replace(fault, messages=kept, text=text)


def all_cases(
    numbers: Sequence[int],
    seed: int,
    pipelines: Sequence[str] = ALL,
    kinds: Sequence[str] | None = None,
    early: bool = False,
) -> list[Case]:
    """Return the cases of these numbers for every pipeline and every kind (None: all) that applies to it."""
    every = [(name, kind, n) for name in pipelines for kind in kinds or KINDS for n in numbers]
    return [case for case in (Case(*each, seed, early) for each in every) if case.scenes]


def run_cases(cases: Sequence[Case], jobs: int = 1) -> Iterator[Verdict]:
    """Run cases in so many processes, and yield their verdicts as they come."""
    by_scene: dict[str, list[tuple[float, Case]]] = {}
    for case in cases:
        name, begin_s, _ = case.draw()
        by_scene.setdefault(name, []).append((begin_s, case))
    runs = {name: _SceneRun(name, found[0][1].scenes[name]) for name, found in by_scene.items()}
    gc.collect()
    gc.freeze()  # what children share stays shared
    shares = []
    for name, clean in in_parallel([run.run_clean for run in runs.values()], jobs):
        runs[name].clean = clean
        ordered = [case for _, case in sorted(by_scene[name], key=itemgetter(0))]
        for k in range(0, len(ordered), CASES_IN_SHARE):
            shares.append(partial(runs[name].run, ordered[k : k + CASES_IN_SHARE]))
    for verdicts in in_parallel(shares, jobs):
        yield from verdicts


class _SceneRun:
    """One scene, its pipeline fed up to the beginning of the cases that are forked from it."""

    def __init__(self, name: str, scene: Scene) -> None:
        """Build the pipeline."""
        self.name, self.scene = name, scene
        data = recorded(scene)
        self.messages, self.clean = data.messages, errors_of(ADAPTERS[scene.pipeline], ())
        self.feed = Feed(ADAPTERS[scene.pipeline](build_pipeline(scene), data, scene.urdf))

    def run_clean(self) -> tuple[str, Errors]:
        """Run the scene without a fault, and return its name and the errors."""
        self.feed.run(self.messages)
        if self.feed.record.escape:
            raise RuntimeError(f"clean data of {self.name}: {self.feed.record.escape}")
        return self.name, errors_of(self.feed.adapter, self.feed.record.outputs)

    def run(self, cases: Sequence[Case]) -> list[Verdict]:
        """Run cases in the order of their beginnings; the pipeline is fed up to each of them in turn."""
        rest, found = self.messages, []
        for case in cases:
            begin_ns = self.messages[0].arrival_ns + nanoseconds(case.draw()[1])
            count = next(k for k, message in enumerate(rest) if message.arrival_ns >= begin_ns)
            self.feed.run(rest[:count])
            rest = rest[count:]
            found.append(self._verdict(case, rest))
        return found

    def _verdict(self, case: Case, rest: Sequence[Message]) -> Verdict:
        try:
            verdict: Verdict = forked(partial(self._case, case, rest))
            if "late" in verdict.failures:  # once more: the same step is long again, an interruption is not
                again: Verdict = forked(partial(self._case, case, rest))
                verdict = replace(verdict, over_period_s=min(verdict.over_period_s, again.over_period_s))
        except EndedError as ended:
            fault = case.inject(rest)
            names = (case.name, case.pipeline, case.kind, self.name)
            verdict = Verdict(*names, fault.text, fault.duration_s, str(ended))
        return verdict

    def _case(self, case: Case, rest: Sequence[Message]) -> Verdict:
        fault, feed = case.inject(rest), self.feed
        names = {"case": case.name, "pipeline": case.pipeline, "kind": case.kind, "scene": self.name}
        short_ns = fault.end_ns + nanoseconds(SETTLED_TAIL_S)
        parts = [replace(fault, messages=tuple(m for m in fault.messages if m.arrival_ns <= short_ns)), fault]
        whole = case.number % WHOLE_TAIL_EVERY == 0 or not parts[0].messages
        feed.start_anew()
        fed = 0
        for part in parts[whole:]:
            feed.run(part.messages[fed:], part.messages[-1].arrival_ns)
            fed = len(part.messages)
            verdict = judge(feed.adapter, part, feed.record, self.clean, self.scene.informing, **names)
            settled = verdict.recovery_s is not None and verdict.recovery_s <= SETTLED_S
            if settled and verdict.wrong_ok_s == verdict.time_wrong_s == 0.0 and not verdict.failures:
                break
        return verdict


def totals(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Return the number of cases that fail in each column, the mean time wrong [s] and of how many cases."""
    failed = [verdict.failures for verdict in verdicts]
    counted = [verdict.time_wrong_s for verdict in verdicts if not verdict.hidden]
    found: dict[str, float] = {name: sum(name in names for names in failed) for name in COLUMNS}
    return {**found, "time_wrong_s": float(np.mean(counted or [0.0])), "counted": len(counted)}


def run_campaign(seed: int, cases: int, early: bool, jobs: int) -> dict[str, dict[str, float]]:
    """Run so many cases of each kind and pipeline; `early`: from the first message on.

    Returns:
        By pipeline, then by column: cases that fail in it (`COLUMNS`), "time_wrong_s", the mean of the total
        time in which the published estimate is wrong [s], and "counted", the cases that this is the mean of:
        those whose fault the data can reveal.
    """
    verdicts = list(run_cases(all_cases(range(cases), seed, early=early), jobs))
    return {name: totals([v for v in verdicts if v.pipeline == name]) for name in ALL}
