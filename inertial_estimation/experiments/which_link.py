"""Which link is loaded, and is it a load or a push: the locator on a moving TALOS, shipped parameters.

Loads of 1 to 5 kg on the links of limbs and head, and pushes of 10 to 100 N in random directions on any link,
one at a time; then a sequence of loads on both forearms, one of which is taken off again. At rest, where a
push straight down gives the same readings as a load, one of each.

The robot and its sensors are synthetic, with realistic noise.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.configuration.config_file import find_config, load_config_file
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.inertial.config import AUTO
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.replay.replay import ReplayWatcher, replay_recording
from inertial_estimation.signals import NANOSECONDS, Array, BaseEstimate, InertialEstimate
from inertial_estimation.simulation.config import REALISTIC
from inertial_estimation.simulation.disturbances import Attachment, Push, attached_ball
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing, stance_truth

TALOS = "talos"
HEAD = "head_"  # beginning of the links of the head, whose two bodies are hard to distinguish
LIMBS = ("arm_", "leg_", "gripper_", HEAD)  # beginnings of the links on which loads are put
SPREAD_M = 0.04  # of the point of a load or push about the centre of mass of the body, per axis
RATE_HZ = 250.0
ON_S = 1.5  # when a load or a push begins
AFTER_S = 0.8  # for which a load is watched after its beginning, a push after its end
LONGEST_PUSH_S = 3.0
LOADS = 2  # of each seed, and as many pushes
LOADS_KG, PUSHES_N = (1.0, 5.0), (10.0, 100.0)  # least and largest
DOWN = (0.0, 0.0, -1.0)
LEFT, RIGHT = "arm_left_5_link", "arm_right_5_link"
LEFT_KG, RIGHT_KG = 2.0, 1.5  # loads of the sequence
SEQUENCE_S = (1.5, 2.7, 3.9, 5.1)  # a load on the left, one on the right, the left one off, the end


@dataclass(frozen=True, eq=False)
class LinkTrial:
    """One run of the filter."""

    links: tuple[str, ...]  # whose masses are published
    times: Array  # of the estimates [s], shape (n,)
    published: Array  # masses [kg], shape (n, links)
    located: tuple[LocatedCause | None, ...]  # what had been located at each time

    def found(self, cause: Cause, since_s: float = 0.0) -> list[tuple[float, LocatedCause]]:
        """Return the times from one on at which a kind of cause was reported, and the cause."""
        pairs = zip(self.times.tolist(), self.located, strict=True)
        return [(t, c) for t, c in pairs if c is not None and c.cause is cause and t >= since_s]


class _Pause(ReplayWatcher):
    """Pauses the learning of a pipeline while readings between two stamps are averaged.

    Unlike other watchers it affects the estimates, so that both runs of a push learn from the same data.
    """

    def __init__(self, pipeline: InertialPipeline, begin_ns: int, end_ns: int) -> None:
        reach_ns = round((0.5 * pipeline.config.window + 1.0 / RATE_HZ) * NANOSECONDS)
        self._pipeline = pipeline
        self._span_ns = begin_ns - reach_ns, end_ns + reach_ns

    def see(
        self,
        base: Sequence[BaseEstimate],
        inertial: Sequence[InertialEstimate],
        payload: Sequence[PayloadEstimate],
    ) -> None:
        """Decide whether the next measurement may be learned from."""
        if inertial:
            next_ns = inertial[-1].stamp_ns + round(NANOSECONDS / RATE_HZ)
            # Not `set_enabled`, which learns what still waits: with the push that is not learned either.
            self._pipeline.estimator.learning = not self._span_ns[0] <= next_ns <= self._span_ns[1]


class LinkScene:
    """A motion of TALOS, torso, arms and head, to which loads and pushes are added.

    Attributes:
        links: One link of every moving body.
        limb_links: Those of limbs and head, on which loads are put.
        rng: Source of loads and pushes.
    """

    def __init__(self, seed: int, duration_s: float, *, still: bool = False) -> None:
        """Simulate the motion, or a robot that stays still; the seed is also that of the noise."""
        motion, self.rng, self._noise = (default_rng([seed, stream]) for stream in range(3))
        rest_s = duration_s if still else 0.3
        timing = Timing(duration_s=duration_s, rate_hz=RATE_HZ, rest_s=rest_s, fade_s=0.5)
        pipelines, inertial, _ = _built()
        setup = robot_from_config(inertial.config.robot, pipelines.urdf)
        self._truth = stance_truth(
            setup.robot,
            timing,
            motion,
            contacts={contact.name: contact.frame for contact in setup.contacts},
            imu=setup.imu,
            motion=synthetic_robot(TALOS).motion,
        )
        named = [link for link in inertial.config.links if link != AUTO]
        self.links = self._truth.robot.links_matching((*named, "*"), "the robot")
        self.limb_links = [link for link in self.links if link.startswith(LIMBS)]

    def loaded(self) -> "LoadedLink":
        """Put a ball of random mass on a random link."""
        link, mass = str(self.rng.choice(self.limb_links)), float(self.rng.uniform(*LOADS_KG))
        ball = attached_ball(link, mass, self._point(link), ON_S, float("inf"))
        return LoadedLink(link, mass, self._run([ball], ON_S + AFTER_S))

    def pushed(self, longest: float, direction: Sequence[float] = ()) -> "PushedLink":
        """Push a random link in a direction (none: a random one), and run the filter with and without it.

        In the second run learning pauses while the push would be in the readings, so that both learn from the
        same data, and the masses differ by what the push has taught.
        """
        link = str(self.rng.choice(self.links))
        least, most = np.log10(PUSHES_N)
        strength, duration = 10.0 ** self.rng.uniform(least, most), self.rng.uniform(0.1, longest)
        towards = np.array(direction) if direction else self.rng.normal(size=3)
        force = float(strength) * towards / float(np.sqrt(towards @ towards))
        push = Push(link, force, ON_S, float(duration), self._point(link))
        noise, end_s = deepcopy(self._noise), ON_S + push.duration
        trial = self._run([push], end_s + AFTER_S)
        return PushedLink(push, trial, self._run([], end_s + AFTER_S, noise, (ON_S, end_s)))

    def sequence(self) -> LinkTrial:
        """Put loads on left and right one after the other, and take the left one off."""
        left, right, off, end = SEQUENCE_S
        balls = [
            attached_ball(LEFT, LEFT_KG, self._point(LEFT), left, off),
            attached_ball(RIGHT, RIGHT_KG, self._point(RIGHT), right, float("inf")),
        ]
        return self._run(balls, end)

    def _run(
        self,
        disturbances: Sequence[Attachment | Push],
        until_s: float,
        noise: Generator | None = None,
        paused: tuple[float, float] | None = None,
    ) -> LinkTrial:
        """Run the filter with its shipped parameters on the readings until a time [s]."""
        n = int(np.searchsorted(self._truth.times_s, until_s))
        names = ("times_s", "stamps_ns", "states", "readings")
        first = replace(self._truth, **{name: getattr(self._truth, name)[:n] for name in names})
        truth = first.disturbed(disturbances)
        _, pipeline, topics = _built()
        start_ns, pause = int(truth.stamps_ns[0]), None
        if paused is not None:
            pause = _Pause(pipeline, *(start_ns + round(time_s * NANOSECONDS) for time_s in paused))
        recording = measure(truth, REALISTIC, noise or self._noise)
        estimates = replay_recording(recording, topics, tilt=None, inertial=pipeline, watcher=pause).inertial
        return LinkTrial(
            pipeline.config.links,
            np.array([estimate.stamp_ns - start_ns for estimate in estimates]) * 1e-9,
            np.array([[link.published.mass for link in estimate.links] for estimate in estimates]),
            tuple(estimate.located for estimate in estimates),
        )

    def _point(self, link: str) -> Array:
        body = self._truth.robot.link_body(link)
        com_L = np.array(body.T_JL.actInv(body.nominal_J.lever))
        point: Array = com_L + self.rng.normal(0.0, SPREAD_M, 3)
        return point


def _built() -> tuple[Pipelines, InertialPipeline, RecordedTopics]:
    """Return the pipelines of the parameter file, the filter among them, and the topics it reads."""
    pipelines = build_pipelines(load_config_file(find_config(TALOS)))
    if pipelines.inertial is None:
        raise ConfigurationError(f"the parameter file of {TALOS} has no inertial filter, expected one")
    return pipelines, pipelines.inertial, replay_topics(pipelines.values, {})


class LoadedLink(NamedTuple):
    """A load [kg] on a link and the run in which it was looked for."""

    link: str
    mass: float
    trial: LinkTrial

    def named(self, place: int | None, within_s: float) -> bool:
        """Return whether the link was among the first so many links named within a time; None: among all."""
        return self.link in self.links_within(within_s)[:place]

    def links_within(self, within_s: float) -> tuple[str, ...]:
        """Return the links named last within a time, the most probable first; empty before any is named."""
        found = [c for t, c in self.trial.found(Cause.LOAD, ON_S) if t <= ON_S + within_s]
        return found[-1].links if found else ()

    @property
    def mass_error(self) -> float:
        """Relative error of the located mass when it was seen last; not a number if it never was."""
        found = self.trial.found(Cause.LOAD, ON_S)
        return abs(found[-1][1].mass / self.mass - 1.0) if found else np.nan


class PushedLink(NamedTuple):
    """A push and what was found."""

    push: Push
    trial: LinkTrial
    without: LinkTrial  # the same readings without the push, learning paused while it would be in them

    @property
    def as_load(self) -> bool:
        """Whether it was taken for a load."""
        return any(cause.decided for _t, cause in self.trial.found(Cause.LOAD, ON_S - 0.1))

    @property
    def found(self) -> bool:
        """Whether its link was among those named, most of the time."""
        named = [self.push.link in c.links for _t, c in self.trial.found(Cause.PUSH, ON_S)]
        return bool(named) and sum(named) > 0.5 * len(named)

    @property
    def taught(self) -> float:
        """Largest relative difference of a published mass from the run without the push.

        It is looked at while the push lasts, and once more at the end: in between the masses are held until
        the data have proved good, and those that still converge differ by that delay.
        """
        n = min(len(self.trial.times), len(self.without.times))
        off = np.abs(self.trial.published[:n] / self.without.published[:n] - 1.0).max(axis=1)
        times = self.trial.times[:n]
        during = off[(times >= ON_S - 0.1) & (times <= ON_S + self.push.duration)]
        return float(max(during.max(), off[-1]))


class LinkData(NamedTuple):
    """Runs; the last two of a robot at rest, the pushes straight down."""

    loads: list[LoadedLink]
    pushes: list[PushedLink]
    sequences: list[LinkTrial]
    resting_loads: list[LoadedLink]
    presses: list[PushedLink]


def run(trials: Trials) -> ExperimentResult:
    """Run loads, pushes and a sequence for every seed."""
    found = trials.by_seed(partial(_of_seed, trials.quick))
    data = LinkData(*(list(chain.from_iterable(kind)) for kind in zip(*found, strict=True)))
    return ExperimentResult(trials.seeds, table(data), _facts(data))


def table(data: LinkData) -> list[TableRow]:
    """Return the shares of loads and pushes that were recognised."""
    loads, resting = data.loads, data.resting_loads
    limbs = [load for load in loads if not load.link.startswith(HEAD)]
    rows = [
        _named("load on a limb", limbs, bound=">= 95"),
        _named("load on limb or head", loads),
        _named("load", loads, None, ">= 95"),
        _median("load: error of the mass", [x.mass_error for x in loads]),
        *_unmoved("push", data.pushes),
        _share("push: link among those named", [x.found for x in data.pushes]),
        *_unmoved("push straight down at rest", data.presses),
        _named("load at rest", resting),
        _named("load at rest", resting, None, ">= 95"),
    ]
    if data.sequences:
        right = [_sequence_is_right(trial) for trial in data.sequences]
        worst = 100.0 * max(_sequence_error(trial) for trial in data.sequences)
        rows.append(_share("sequence: every load put on and taken off named", right, ">= 95"))
        rows.append(row("sequence: published mass 1.2 s after the last change, error", "%", worst))
    return rows


def _facts(data: LinkData) -> tuple[str, ...]:
    """Return which loads and pushes were not recognised."""
    missed = [
        f"{x.link} {x.mass:.1f} kg ({', '.join(x.links_within(0.3)) or 'nothing'})"
        for x in data.loads
        if not x.named(1, 0.3)
    ]
    return (
        "Realistic noise, config/talos.yaml as it is.",
        f"Loads whose link was not named first within 0.3 s (named): {', '.join(missed) or 'none'}.",
        "A load that may be a push is reported; a push counts as taken for a load once that is certain.",
    )


def _named(name: str, loads: Sequence[LoadedLink], place: int | None = 1, bound: str = "") -> TableRow:
    """Return the share of loads whose link was among the first so many that were named within 0.3 s."""
    which = "among those named" if place is None else "named first"
    return _share(f"{name}: link {which} within 0.3 s", [x.named(place, 0.3) for x in loads], bound)


def _unmoved(name: str, pushes: Sequence[PushedLink]) -> list[TableRow]:
    difference = f"{name}: published mass with and without it, largest difference"
    return [
        row(difference, "%", [100.0 * x.taught for x in pushes], "max", bound="<= 1"),
        row(f"{name}: taken for a load", "", [x.as_load for x in pushes], "sum", bound="<= 0"),
    ]


def _share(quantity: str, hits: Sequence[bool], bound: str = "") -> TableRow:
    return row(quantity, "%", 100.0 * sum(hits) / max(len(hits), 1), bound=bound)


def _median(quantity: str, errors: Sequence[float]) -> TableRow:
    known = np.array(errors)[np.isfinite(errors)]
    return row(f"{quantity}, median", "%", 100.0 * np.median(known) if len(known) else np.inf)


def _of_seed(quick: bool, seed: int) -> LinkData:
    """Run the loads, pushes and the sequence of one motion, drawn in this order."""
    longest, count = (0.1, 1) if quick else (LONGEST_PUSH_S, LOADS)
    scene = LinkScene(seed, 2.4 if quick else SEQUENCE_S[-1] + 0.5)
    at_rest = LinkScene(seed, ON_S + longest + AFTER_S, still=True)
    return LinkData(
        [scene.loaded() for _ in range(count)],
        [scene.pushed(longest) for _ in range(count)],
        [] if quick else [scene.sequence()],
        [at_rest.loaded()],
        [at_rest.pushed(longest, DOWN)],
    )


def _sequence_is_right(trial: LinkTrial) -> bool:
    """Return whether the load on the left, that on the right, and the loss on the left were named in time."""
    for start, link, sign in zip(SEQUENCE_S[:3], (LEFT, RIGHT, LEFT), (1.0, 1.0, -1.0), strict=True):
        found = [c for t, c in trial.found(Cause.LOAD, start) if t <= start + 0.5]
        if not any(link in c.links and c.mass * sign > 0.0 for c in found):
            return False
    return True


def _sequence_error(trial: LinkTrial) -> float:
    """Return the largest relative error of a published mass at the end."""
    before = trial.published[np.searchsorted(trial.times, SEQUENCE_S[0] - 0.1)]
    true: Array = before + np.array([RIGHT_KG if link == RIGHT else 0.0 for link in trial.links])
    return float(np.abs(trial.published[-1] / true - 1.0).max())
