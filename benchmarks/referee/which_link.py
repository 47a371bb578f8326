"""Which link is loaded, and is it a load or a push: the filter on a moving TALOS, shipped parameters.

Loads of 1 to 5 kg on the links of limbs and head, and pushes of 10 to 100 N in random directions on any link,
one at a time; then a sequence of loads on both forearms, one of which is taken off again. At rest, where a
push straight down gives the same readings as a load, one of each. Robot and sensors are synthetic, with
realistic noise.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.referee.row import Better, Row
from inertial_estimation.configuration.config_file import find_config, load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.inertial.config import AUTO
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.replay.replay import ReplayReaders, ReplayWatcher, replay_recording
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.simulation.config import REALISTIC
from inertial_estimation.simulation.disturbances import Attachment, Push, attached_ball
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing, stance_truth

TALOS = "talos"
LIMBS = ("arm_", "leg_", "gripper_", "head_")  # beginnings of the links on which loads are put
SPREAD_M = 0.04  # of the point of a load or push about the centre of mass of the body, per axis
RATE_HZ = 250.0
ON_S, WITHIN_S = 1.5, 0.3  # when a load or a push begins; in which its link has to be named
AFTER_S = 0.8  # for which a load is watched after its beginning, a push after its end
LONGEST_PUSH_S, COUNT = 3.0, 2  # loads of each seed, and as many pushes
LOADS_KG, PUSHES_N = (1.0, 5.0), (10.0, 100.0)  # least and largest
LEFT, RIGHT = ("arm_left_5_link", 2.0), ("arm_right_5_link", 1.5)  # links and loads of the sequence [kg]
SEQUENCE_S = (1.5, 2.7, 3.9, 5.1)  # a load on the left, one on the right, the left one off, the end


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of the filter."""

    links: tuple[str, ...]  # whose masses are published
    times: Array  # of the estimates [s], shape (n,)
    published: Array  # masses [kg], shape (n, links)
    located: tuple[LocatedCause | None, ...]  # what had been located at each time

    def found(self, cause: Cause, since_s: float, until_s: float = np.inf) -> list[LocatedCause]:
        """Return what of a kind of cause was reported between two times."""
        pairs = zip(self.times.tolist(), self.located, strict=True)
        return [c for t, c in pairs if c is not None and c.cause is cause and since_s <= t <= until_s]


class _Pause(ReplayWatcher):
    """Pauses the learning while readings of a push are averaged, so that both runs learn from the same data.

    Not by `set_enabled`, which learns what still waits: with the push that is not learned either.
    """

    def __init__(self, pipeline: Any, begin_ns: int, end_ns: int) -> None:
        reach_ns = round((0.5 * pipeline.config.window + 1.0 / RATE_HZ) * NANOSECONDS)
        self._pipeline, self._span_ns = pipeline, (begin_ns - reach_ns, end_ns + reach_ns)

    def see(self, base: Any, inertial: Any, payload: Any) -> None:
        """Decide whether the next measurement may be learned from."""
        if inertial:
            next_ns = inertial[-1].stamp_ns + round(NANOSECONDS / RATE_HZ)
            self._pipeline.estimator.learning = not self._span_ns[0] <= next_ns <= self._span_ns[1]


class Load(NamedTuple):
    """A load [kg] on a link, and the run in which it was looked for."""

    link: str
    mass: float
    trial: Trial

    def named(self) -> tuple[str, ...]:
        """Return the links named last in time, the most probable first; empty before any is named."""
        found = self.trial.found(Cause.LOAD, ON_S, ON_S + WITHIN_S)
        return found[-1].links if found else ()

    def mass_error(self) -> float:
        """Return the error of the located mass when it was seen last [%]; NaN if it never was."""
        found = self.trial.found(Cause.LOAD, ON_S)
        return 100.0 * abs(found[-1].mass / self.mass - 1.0) if found else np.nan


class Pushed(NamedTuple):
    """A push, the run with it, and one on the same readings without it."""

    push: Push
    trial: Trial
    without: Trial

    def as_load(self) -> bool:
        """Return whether it was taken for a load."""
        return any(cause.decided for cause in self.trial.found(Cause.LOAD, ON_S - 0.1))

    def taught(self) -> float:
        """Return the largest difference of a published mass from the run without the push [%].

        It is looked at while the push lasts, and once more at the end: in between the masses are held until
        the data have proved good, and those that still converge differ by that delay.
        """
        n = min(len(self.trial.times), len(self.without.times))
        off = np.abs(self.trial.published[:n] / self.without.published[:n] - 1.0).max(axis=1)
        times = self.trial.times[:n]
        during = off[(times >= ON_S - 0.1) & (times <= ON_S + self.push.duration)]
        return 100.0 * float(max(during.max(), off[-1]))


class Scene:
    """A motion of TALOS, torso, arms and head, or TALOS at rest, to which loads and pushes are added."""

    def __init__(self, seed: int, duration_s: float, *, still: bool = False) -> None:
        motion, self._rng, self._noise = (default_rng([seed, stream]) for stream in range(3))
        timing = Timing(duration_s, RATE_HZ, rest_s=duration_s if still else 0.3, fade_s=0.5)
        pipelines = build_pipelines(load_config_file(find_config(TALOS)))
        assert pipelines.inertial is not None
        setup = robot_from_config(pipelines.inertial.config.robot, pipelines.urdf)
        contacts = {contact.name: contact.frame for contact in setup.contacts}
        how = {"contacts": contacts, "imu": setup.imu, "motion": synthetic_robot(TALOS).motion}
        self._truth = stance_truth(setup.robot, timing, motion, **how)
        named = [link for link in pipelines.inertial.config.links if link != AUTO]
        self._links = self._truth.robot.links_matching((*named, "*"), "the robot")

    def loaded(self) -> Load:
        """Put a ball of random mass on a random link."""
        limbs = [link for link in self._links if link.startswith(LIMBS)]
        link, mass = str(self._rng.choice(limbs)), float(self._rng.uniform(*LOADS_KG))
        return Load(link, mass, self._run([self._ball(link, mass, ON_S)], ON_S + AFTER_S))

    def pushed(self, longest: float, direction: Sequence[float] = ()) -> Pushed:
        """Push a random link in a direction (none: a random one), and run the filter with and without it."""
        link = str(self._rng.choice(self._links))
        least, most = np.log10(PUSHES_N)
        strength, duration = 10.0 ** self._rng.uniform(least, most), self._rng.uniform(0.1, longest)
        towards = np.array(direction) if direction else self._rng.normal(size=3)
        force = float(strength) * towards / float(np.sqrt(towards @ towards))
        push = Push(link, force, ON_S, float(duration), self._point(link))
        noise, end_s = deepcopy(self._noise), ON_S + push.duration
        trial = self._run([push], end_s + AFTER_S)
        return Pushed(push, trial, self._run([], end_s + AFTER_S, noise, (ON_S, end_s)))

    def sequence(self) -> Trial:
        """Put loads on left and right one after the other, and take the left one off."""
        left, right, off, end = SEQUENCE_S
        return self._run([self._ball(*LEFT, left, off), self._ball(*RIGHT, right)], end)

    def _ball(self, link: str, mass: float, start: float, stop: float = np.inf) -> Attachment:
        return attached_ball(link, mass, self._point(link), start, stop)

    def _point(self, link: str) -> Array:
        body = self._truth.robot.link_body(link)
        com_L = np.array(body.T_JL.actInv(body.nominal_J.lever))
        point: Array = com_L + self._rng.normal(0.0, SPREAD_M, 3)
        return point

    def _run(
        self,
        disturbances: Sequence[Attachment | Push],
        until_s: float,
        noise: Generator | None = None,
        paused: tuple[float, float] | None = None,
    ) -> Trial:
        """Run the filter on the readings until a time [s], with learning paused between two times."""
        n = int(np.searchsorted(self._truth.times_s, until_s))
        names = ("times_s", "stamps_ns", "states", "readings")
        first = replace(self._truth, **{name: getattr(self._truth, name)[:n] for name in names})
        truth = first.disturbed(disturbances)
        pipelines = build_pipelines(load_config_file(find_config(TALOS)))
        pipeline, start_ns, pause = pipelines.inertial, int(truth.stamps_ns[0]), None
        if paused is not None:
            pause = _Pause(pipeline, *(start_ns + round(time_s * NANOSECONDS) for time_s in paused))
        recording = measure(truth, REALISTIC, noise or self._noise)
        topics = replay_topics(pipelines.values, {})
        estimates = replay_recording(
            recording, topics, ReplayReaders(inertial=pipeline), watcher=pause
        ).inertial
        return Trial(
            pipeline.config.links,
            np.array([estimate.stamp_ns - start_ns for estimate in estimates]) * 1e-9,
            np.array([[link.published.mass for link in estimate.links] for estimate in estimates]),
            tuple(estimate.located for estimate in estimates),
        )


def of_seed(seed: int) -> tuple[list[Any], ...]:
    """Return loads, pushes and a sequence in one motion, a load and a press at rest, drawn in this order."""
    scene = Scene(seed, SEQUENCE_S[-1] + 0.5)
    at_rest = Scene(seed, ON_S + LONGEST_PUSH_S + AFTER_S, still=True)
    return (
        [scene.loaded() for _ in range(COUNT)],
        [scene.pushed(LONGEST_PUSH_S) for _ in range(COUNT)],
        [scene.sequence()],
        [at_rest.loaded()],
        [at_rest.pushed(LONGEST_PUSH_S, (0.0, 0.0, -1.0))],
    )


def which_link_rows(seeds: Sequence[int]) -> list[Row]:
    """Return the shares of loads and pushes that are recognised, and what pushes teach."""
    found = zip(*map(of_seed, seeds), strict=True)
    loads, pushes, sequences, _resting, presses = (list(chain.from_iterable(kind)) for kind in found)
    first = [load.link in load.named()[:1] for load in loads]
    among = [load.link in load.named() for load in loads]
    errors = [load.mass_error() for load in loads]
    right = [all(_in_time(trial)) for trial in sequences]
    worst = 100.0 * max(map(_sequence_error, sequences))
    load_named = {
        "load on limb or head: link named first within 0.3 s": _percent(first),
        "load: link among those named within 0.3 s": _percent(among),
        "sequence: every load put on and taken off named": _percent(right),
    }
    percent = {
        "load: error of the mass, median": (float(np.nanmedian(errors)), 1.0),
        "push: published mass with and without it, largest difference": (
            max(p.taught() for p in pushes),
            0.5,
        ),
        "sequence: published mass 1.2 s after the last change, error": (worst, 5.0),
    }
    counts = {
        "push: taken for a load": sum(p.as_load() for p in pushes),
        "push straight down at rest: taken for a load": sum(p.as_load() for p in presses),
    }
    rows = [Row(name, value, "%", Better.HIGHER, 20.0) for name, value in load_named.items()]
    rows += [Row(name, value, "%", Better.LOWER, spread) for name, (value, spread) in percent.items()]
    rows += [Row(name, float(count), "", Better.LOWER, 0.5) for name, count in counts.items()]
    return [replace(row, key=f"which link: {row.key}") for row in rows]


def _percent(hits: Sequence[bool]) -> float:
    return 100.0 * sum(hits) / max(len(hits), 1)


def _in_time(trial: Trial) -> list[bool]:
    """Return whether the load on the left, that on the right, and the loss on the left were named in time."""
    events = zip(SEQUENCE_S[:3], (LEFT, RIGHT, LEFT), (1.0, 1.0, -1.0), strict=True)
    return [
        any(link in c.links and c.mass * sign > 0.0 for c in trial.found(Cause.LOAD, start, start + 0.5))
        for start, (link, _mass), sign in events
    ]


def _sequence_error(trial: Trial) -> float:
    """Return the largest relative error of a published mass at the end."""
    before = trial.published[np.searchsorted(trial.times, SEQUENCE_S[0] - 0.1)]
    true: Array = before + np.array([RIGHT[1] if link == RIGHT[0] else 0.0 for link in trial.links])
    return float(np.abs(trial.published[-1] / true - 1.0).max())
