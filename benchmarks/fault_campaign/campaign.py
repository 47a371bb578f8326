"""Cases by the hundred, each in a forked child of a pipeline that has run up to the fault's beginning."""

import gc
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from benchmarks.fault_campaign.fault import Fault, Kind
from benchmarks.fault_campaign.feed import Feed, Record
from benchmarks.fault_campaign.forked import EndedError, forked
from benchmarks.fault_campaign.judge import Errors, Verdict, errors_of, judge
from benchmarks.fault_campaign.kinds import KINDS
from benchmarks.fault_campaign.other_scenes import OTHER_SCENES, OTHER_SOURCES
from benchmarks.fault_campaign.outputs import ADAPTERS, Adapter
from benchmarks.fault_campaign.readings import Reading
from benchmarks.fault_campaign.scenes import SCENES, SOURCES, Recorded, Scene, build_pipeline, recorded
from inertial_estimation.signals import NANOSECONDS

MOST_TRIED = 400  # numbers, among which cases are looked for whose fault begins with the first reading
TAIL_S = 3.5  # of clean data after a fault, where the scene has them
EARLY_TAIL_S = 8.0  # after a fault at the start, since an estimate is not judged before it would be right
SETTLED_TAIL_S = 0.8  # of them for a case in which the estimate was never wrong, and soon as it should be
SETTLED_S = 0.5  # recovery of such a case at the latest
CASES_IN_SHARE = 40  # for each of which a scene is run up to the beginnings of its cases once
WHOLE_TAIL_EVERY = 4  # of so many cases one has the whole tail whatever it does, as a sample


@dataclass(frozen=True)
class Case:
    """One case, drawn from its name and the seed alone.

    Attributes:
        pipeline: Pipeline.
        kind: Kind of fault.
        number: Number within pipeline and kind.
        seed: Seed of the campaign.
        others: Whether its scene is one of the other robots.
    """

    pipeline: str
    kind: str
    number: int
    seed: int
    others: bool = False

    @property
    def name(self) -> str:
        """Name by which it can be repeated."""
        return f"{self.pipeline}/{self.kind}/{self.number}"

    def rng(self) -> np.random.Generator:
        """Return its source of random choices."""
        words = [zlib.crc32(text.encode()) for text in (self.pipeline, self.kind)]
        return np.random.default_rng([self.seed, *words, self.number])

    def draw(self) -> tuple[str, float, np.random.Generator]:
        """Return its scene, the time at which the pipeline is forked [s], and the generator for the rest."""
        rng, kind = self.rng(), KINDS[self.kind]
        scenes = _scenes(self.pipeline, others=self.others)
        scene = str(rng.choice([n for n, s in scenes.items() if kind.applies(self.pipeline, s.streams)]))
        begins = scenes[scene].begins_s
        early = begins[0] == 0.0 and rng.random() < 0.15  # of the faults begin at the start
        begin_s = 0.0 if early else float(rng.choice([b for b in begins if b > 0.0]))
        return scene, begin_s, rng


def _scenes(pipeline: str, *, others: bool) -> dict[str, Scene]:
    every = OTHER_SCENES if others else SCENES
    return {name: scene for name, scene in every.items() if scene.pipeline == pipeline}


def all_cases(
    numbers: Sequence[int],
    seed: int,
    kinds: Sequence[str],
    pipelines: Sequence[str],
    *,
    early: bool = False,
    others: bool = False,
) -> list[Case]:
    """Return the cases of these numbers for every kind and every pipeline to which it applies.

    Args:
        numbers: Numbers of the cases of each.
        seed: Seed of all of them.
        kinds: Kinds of faults.
        pipelines: Pipelines.
        early: As many cases of each from the first number on, whose fault begins with the first reading.
        others: Scenes of the other robots.
    """
    found = []
    for pipeline in pipelines:
        scenes = _scenes(pipeline, others=others).values()
        for kind in kinds:
            if any(KINDS[kind].applies(pipeline, scene.streams) for scene in scenes):
                tried = range(numbers[0], numbers[0] + MOST_TRIED) if early else numbers
                cases = (Case(pipeline, kind, number, seed, others) for number in tried)
                wanted = (case for case in cases if not early or case.draw()[1] == 0.0)
                found += list(itertools.islice(wanted, len(numbers)))
    return found


def case_named(name: str, seed: int, *, others: bool = False) -> Case:
    """Return the case of a name, ``pipeline/kind/number``."""
    pipeline, kind, number = name.split("/")
    return Case(pipeline, kind, int(number), seed, others)


Show = Callable[[Case, Fault, Record, Errors, Adapter], None]


def run_cases(cases: Sequence[Case], show: Show | None = None) -> Iterator[Verdict]:
    """Run cases, those of one scene and one beginning after another.

    Args:
        cases: What to run.
        show: Called within the child with everything recorded of a case, to print it.

    Yields:
        Verdicts, not in the order of the cases.
    """
    groups: dict[str, dict[float, list[Case]]] = {}
    for case in cases:
        scene, begin_s, _ = case.draw()
        groups.setdefault(scene, {}).setdefault(begin_s, []).append(case)
    for scene, by_begin in groups.items():
        yield from _SceneRun(scene).run(by_begin, show)


def scene_shares(cases: Sequence[Case]) -> list[list[Case]]:
    """Divide cases into shares for processes or machines, each of one scene and with near beginnings."""
    by_scene: dict[str, list[tuple[float, Case]]] = {}
    for case in cases:
        scene, begin_s, _ = case.draw()
        by_scene.setdefault(scene, []).append((begin_s, case))
    shares = []
    for begins in by_scene.values():
        ordered = [case for _begin_s, case in sorted(begins, key=itemgetter(0))]
        shares += [ordered[k : k + CASES_IN_SHARE] for k in range(0, len(ordered), CASES_IN_SHARE)]
    return shares


def run_share(cases: Sequence[Case]) -> list[Verdict]:
    """Run the cases of a share."""
    return list(run_cases(cases))


class _SceneRun:
    """One scene, its pipeline fed up to the beginning of the cases that are forked from it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.scene: Scene = {**OTHER_SCENES, **SCENES}[name]
        self.data: Recorded = recorded(self.scene, {**OTHER_SOURCES, **SOURCES})
        self.adapter = ADAPTERS[self.scene.pipeline](build_pipeline(self.scene), self.data)
        self.begin_ns = self.data.readings[0].arrival_ns
        self.feed = Feed(self.adapter)
        gc.unfreeze()  # the pipeline of the share before may go
        gc.collect()
        gc.freeze()  # what children share stays shared
        self.clean: Errors = forked(self._run_clean)

    def run(self, by_begin: dict[float, list[Case]], show: Show | None) -> Iterator[Verdict]:
        """Run cases by their beginnings [s]; the pipeline is fed up to each of them in turn."""
        rest = self.data.readings
        for begin_s in sorted(by_begin):
            until_ns = self.begin_ns + round(begin_s * NANOSECONDS)
            count = next(k for k, reading in enumerate(rest) if reading.arrival_ns >= until_ns)
            self.feed.run(rest[:count])
            rest = rest[count:]
            for case in by_begin[begin_s]:
                yield self._case(case, rest, show)

    def _run_clean(self) -> Errors:
        self.feed.run(self.data.readings)
        if self.feed.record.escape:
            raise RuntimeError(f"clean data of {self.name}: {self.feed.record.escape}")
        return errors_of(self.adapter, self.feed.record.puts)

    def _case(self, case: Case, rest: Sequence[Reading], show: Show | None) -> Verdict:
        names = {"pipeline": case.pipeline, "kind": case.kind, "scene": self.name}

        def run(show: Show | None = None) -> Verdict:
            fault = self._inject(case, rest)
            self.feed.start_anew()
            fed = 0
            for part in _parts(fault, whole=show is not None or case.number % WHOLE_TAIL_EVERY == 0):
                self.feed.run(part.readings[fed:], part.readings[-1].arrival_ns)
                fed = len(part.readings)
                verdict = judge(case.name, self.adapter, part, self.feed.record, self.clean, **names)
                if _settled(verdict):
                    break
            if show is not None:
                show(case, fault, self.feed.record, self.clean, self.adapter)
            return verdict

        try:
            verdict: Verdict = forked(lambda: run(show))
            if verdict.late:  # once more: the same step is long again, an interruption is not
                again: Verdict = forked(run)
                return replace(
                    verdict,
                    longest_s=min(verdict.longest_s, again.longest_s),
                    fifth_longest_s=min(verdict.fifth_longest_s, again.fifth_longest_s),
                )
            return verdict
        except EndedError as ended:
            fault = self._inject(case, rest)
            return Verdict(
                case.name,
                fault=fault.text,
                duration_s=fault.duration_s,
                escape=str(ended),
                over_time=ended.over_time,
                **names,
            )

    def _inject(self, case: Case, rest: Sequence[Reading]) -> Fault:
        _, begin_s, rng = case.draw()
        kind: Kind = KINDS[case.kind]
        begin_ns = rest[0].arrival_ns
        # a fault at the start begins with the first reading; others up to a quarter of a second later
        if begin_s > 0.0:
            begin_ns += round(float(rng.uniform(0.0, 0.25)) * NANOSECONDS)
        fault = kind.inject(rng, rest, begin_ns)
        last_ns = fault.end_ns + round((TAIL_S if begin_s > 0.0 else EARLY_TAIL_S) * NANOSECONDS)
        kept = tuple(reading for reading in fault.readings if reading.arrival_ns <= last_ns)
        return replace(
            fault, readings=kept, text=f"{fault.text} at {begin_s:g} s for {fault.duration_s:.2f} s"
        )


def _parts(fault: Fault, *, whole: bool) -> list[Fault]:
    """Return a fault with a short tail of clean data, where one may do, and with the whole one."""
    settled_ns = fault.end_ns + round(SETTLED_TAIL_S * NANOSECONDS)
    short = tuple(reading for reading in fault.readings if reading.arrival_ns <= settled_ns)
    return [fault] if whole or not short else [replace(fault, readings=short), fault]


def _settled(verdict: Verdict) -> bool:
    """Whether the estimate was never wrong, and has been as it should be since soon after the fault."""
    recovered = verdict.recovery_s is not None and verdict.recovery_s <= SETTLED_S
    return recovered and not (verdict.wrong_s or verdict.silent or verdict.escape)
