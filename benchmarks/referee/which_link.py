"""Location of loads, and their distinction from pushes: the filter on a moving TALOS, shipped parameters.

Loads of 1 to 5 kg on the links of limbs and head, and pushes of 10 to 100 N in random directions on any link,
one at a time; then a sequence of loads on both forearms, one of which is taken off again. Last, a push
straight down at rest, where it gives the same readings as a load. Robot and sensors are synthetic, with
realistic noise.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.referee.row import Better, Row, figure
from inertial_estimation import REALISTIC, ReplayReaders, Timing, build_pipelines, load_configs, measure
from inertial_estimation.inertial.config import AUTO
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.replay.replay import ReplayWatcher, replay_recording
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.simulation.disturbances import Attachment, Push, attached_ball
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot
from inertial_estimation.synthetic.synthetic_truth import stance_truth

TALOS = "talos"
LIMBS = ("arm_", "leg_", "gripper_", "head_")  # prefixes of the links on which loads are put
SPREAD_M = 0.04  # sigma of the point of a load or push about the centre of mass of the body, per axis
RATE_HZ = 250.0
ON_S, WITHIN_S = 1.5, 0.3  # start of a load or a push; time in which its link has to be named
AFTER_S = 0.8  # time of observation after the start of a load, and after the end of a push
LONGEST_PUSH_S, COUNT = 3.0, 2  # longest push; number of loads, and of pushes, of each seed
LOADS_KG, PUSHES_N = (1.0, 5.0), (10.0, 100.0)  # smallest and largest
LEFT, RIGHT = ("arm_left_5_link", 2.0), ("arm_right_5_link", 1.5)  # links and loads of the sequence [kg]
SEQUENCE_S = (1.5, 2.7, 3.9, 5.1)  # times of a load on the left, one on the right, the left one off, end
DOWN = (0.0, 0.0, -1.0)


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of the filter."""

    links: tuple[str, ...]  # links whose masses are published
    times: Array  # times of the estimates [s], shape (n,)
    published: Array  # published masses [kg], shape (n, links)
    located: tuple[LocatedCause | None, ...]  # located cause at each time

    def loads(self, since_s: float, until_s: float = np.inf) -> list[LocatedCause]:
        """Return the loads that were reported between two times [s]."""
        pairs = zip(self.times.tolist(), self.located, strict=True)
        return [c for t, c in pairs if c is not None and c.cause is Cause.LOAD and since_s <= t <= until_s]


class _Pause(ReplayWatcher):
    """Pauses learning while readings of a push are averaged, so that both runs learn from the same data.

    `set_enabled` is not used: it first learns measurements that wait, which the run with the push does not.
    """

    def __init__(self, pipeline: Any, begin_ns: int, end_ns: int) -> None:
        reach_ns = round((0.5 * pipeline.config.window + 1.0 / RATE_HZ) * NANOSECONDS)
        self._pipeline, self._span_ns = pipeline, (begin_ns - reach_ns, end_ns + reach_ns)

    def push_estimates(self, base: Any, inertial: Any, payload: Any) -> None:
        """Set whether the filter may learn from the next measurement."""
        if inertial:
            next_ns = inertial[-1].stamp_ns + round(NANOSECONDS / RATE_HZ)
            self._pipeline.estimator.learning = not self._span_ns[0] <= next_ns <= self._span_ns[1]


class Scene:
    """A motion of torso, arms and head of TALOS, or TALOS at rest, to which loads and pushes are added."""

    def __init__(self, seed: int, duration_s: float, *, still: bool = False) -> None:
        motion, self._rng, self._noise = (default_rng([seed, stream]) for stream in range(3))
        timing = Timing(duration_s, RATE_HZ, rest_s=duration_s if still else 0.3, fade_s=0.5)
        pipelines = build_pipelines(load_configs([TALOS]))
        setup = robot_from_config(pipelines.inertial.config.robot, pipelines.urdf)
        contacts = {contact.name: contact.frame for contact in setup.contacts}
        how = {"contacts": contacts, "imu": setup.imu, "motion": synthetic_robot(TALOS).motion}
        self._truth = stance_truth(setup.robot, timing, motion, **how)
        named = [link for link in pipelines.inertial.config.links if link != AUTO]
        self._links = self._truth.robot.links_matching((*named, "*"), "the robot")

    def load(self) -> tuple[bool, bool, float]:
        """Put a ball of random mass on a random link.

        Returns:
            Whether the link is named first, and whether at all, in the last report within `WITHIN_S`; the
            error of the mass in the last report [%], NaN without a report.
        """
        limbs = [link for link in self._links if link.startswith(LIMBS)]
        link, mass = str(self._rng.choice(limbs)), float(self._rng.uniform(*LOADS_KG))
        trial = self._run([self._ball(link, mass, ON_S)], ON_S + AFTER_S)
        named = [found.links for found in trial.loads(ON_S, ON_S + WITHIN_S)][-1:]
        masses = [found.mass for found in trial.loads(ON_S)] or [np.nan]
        first, among = (any(link in links[:most] for links in named) for most in (1, None))
        return first, among, 100.0 * abs(masses[-1] / mass - 1.0)

    def push(self, direction: Sequence[float] = ()) -> tuple[bool, float]:
        """Push a random link in a direction (none: a random one), and run the filter with and without it.

        Returns:
            Whether the push was taken for a load; the largest difference of a published mass from the run
            without it [%], during the push and at the end. In between, learning resumes with a delay, by
            which masses that still converge differ.
        """
        link = str(self._rng.choice(self._links))
        least, most = np.log10(PUSHES_N)
        strength, duration = 10.0 ** self._rng.uniform(least, most), self._rng.uniform(0.1, LONGEST_PUSH_S)
        towards = np.array(direction) if direction else self._rng.normal(size=3)
        force = float(strength) * towards / float(np.linalg.norm(towards))
        push = Push(link, force, ON_S, float(duration), self._point(link))
        noise, end_s = deepcopy(self._noise), ON_S + push.duration
        trial = self._run([push], end_s + AFTER_S)
        without = self._run([], end_s + AFTER_S, noise, (ON_S, end_s))
        n = min(len(trial.times), len(without.times))
        off = np.abs(trial.published[:n] / without.published[:n] - 1.0).max(axis=1)
        during = (trial.times[:n] >= ON_S - 0.1) & (trial.times[:n] <= end_s)
        taken = not all(found.is_ambiguous for found in trial.loads(ON_S - 0.1))
        return taken, 100.0 * float(max(off[during].max(), off[-1]))

    def sequence(self) -> tuple[bool, float]:
        """Put loads on left and right one after the other, and take the left one off.

        Returns:
            Whether each of the three was named within 0.5 s; the largest error of a published mass at the
            end [%].
        """
        left, right, off, end = SEQUENCE_S
        trial = self._run([self._ball(*LEFT, left, off), self._ball(*RIGHT, right)], end)
        named = [
            any(link in c.links and c.mass * sign > 0.0 for c in trial.loads(start, start + 0.5))
            for start, (link, _mass), sign in ((left, LEFT, 1.0), (right, RIGHT, 1.0), (off, LEFT, -1.0))
        ]
        before = trial.published[np.searchsorted(trial.times, left - 0.1)]
        true: Array = before + np.array([RIGHT[1] * (link == RIGHT[0]) for link in trial.links])
        return all(named), 100.0 * float(np.abs(trial.published[-1] / true - 1.0).max())

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
        pipelines = build_pipelines(load_configs([TALOS]))
        pipeline, start_ns, pause = pipelines.inertial, int(truth.stamps_ns[0]), None
        if paused is not None:
            pause = _Pause(pipeline, *(start_ns + round(time_s * NANOSECONDS) for time_s in paused))
        recording, readers = measure(truth, REALISTIC, noise or self._noise), ReplayReaders(inertial=pipeline)
        estimates = replay_recording(recording, pipelines.topics({}), readers, watcher=pause).inertial
        return Trial(
            pipeline.config.links,
            np.array([estimate.stamp_ns - start_ns for estimate in estimates]) * 1e-9,
            np.array([[link.published.mass for link in estimate.links] for estimate in estimates]),
            tuple(estimate.located for estimate in estimates),
        )


def which_link_rows(seeds: Sequence[int]) -> list[Row]:
    """Return the shares of recognised loads and pushes, and the changes of masses by pushes."""
    loads, pushes, sequences, presses = [], [], [], []
    for seed in seeds:
        scene = Scene(seed, SEQUENCE_S[-1] + 0.5)
        loads += [scene.load() for _ in range(COUNT)]
        pushes += [scene.push() for _ in range(COUNT)]
        sequences.append(scene.sequence())
        presses.append(Scene(seed, ON_S + LONGEST_PUSH_S + AFTER_S, still=True).push(DOWN))
    (first, among, errors), (as_loads, changes) = zip(*loads, strict=True), zip(*pushes, strict=True)
    named, wrong = zip(*sequences, strict=True)
    shares = {
        "load on limb or head: link named first within 0.3 s": first,
        "load: link among those named within 0.3 s": among,
        "sequence: every load put on and taken off named": named,
    }
    percent = {
        "load: error of the mass, median": (np.nanmedian(errors), 1.0),
        "push: published mass with and without it, largest difference": (max(changes), 0.5),
        "sequence: published mass 1.2 s after the last change, error": (max(wrong), 5.0),
    }
    counts = {
        "push: taken for a load": sum(as_loads),
        "push straight down at rest: taken for a load": sum(as_load for as_load, _change in presses),
    }
    head = "which link: "
    rows = [
        figure(head + key, 100.0 * np.mean(hits), "%", Better.HIGHER, least=20.0)
        for key, hits in shares.items()
    ]
    rows += [figure(head + key, value, "%", least=spread) for key, (value, spread) in percent.items()]
    return rows + [figure(head + key, count, least=0.5) for key, count in counts.items()]
