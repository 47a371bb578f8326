"""Trials of the locator: a synthetic robot that moves, is loaded and is pushed."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.experiments.link_robots import LinkRobot
from inertial_estimation.inertial.config import AUTO
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.candidate_columns import candidate_links
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.replay.replay_watcher import ReplayWatcher
from inertial_estimation.signals import NANOSECONDS, Array, BaseEstimate, InertialEstimate, JointReading
from inertial_estimation.simulation.disturbances import Attachment, Push
from inertial_estimation.simulation.payload import attached_ball
from inertial_estimation.synthetic.disturbed_truth import disturbed_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing, Truth

RATE_HZ = 250.0


@dataclass(frozen=True, eq=False)
class LinkTrial:
    """One run of the filter.

    Attributes:
        links: Links whose masses are published.
        times: Times of the estimates [s], shape (n,).
        published: Published masses [kg], shape (n, links).
        located: What had been located at each time.
    """

    links: tuple[str, ...]
    times: Array
    published: Array
    located: tuple[LocatedCause | None, ...]

    def found(self, cause: Cause, since_s: float = 0.0) -> list[tuple[float, LocatedCause]]:
        """Return the times at which a kind of cause was reported, and the cause.

        Args:
            cause: Its kind.
            since_s: Earliest time [s].
        """
        pairs = zip(self.times.tolist(), self.located, strict=True)
        return [(t, c) for t, c in pairs if c is not None and c.cause is cause and t >= since_s]

    def moved(self, since_s: float, until_s: float) -> float:
        """Return the largest relative change of a published mass from one time to another [s]."""
        later = self.published[(self.times >= since_s) & (self.times <= until_s)]
        return float(np.abs(later / later[0] - 1.0).max())


class _Pause(ReplayWatcher):
    """Pauses the learning of a pipeline while readings of a span of time are averaged.

    Unlike other watchers it affects the estimates, so that both runs of a push learn from the same data.
    """

    def __init__(self, pipeline: InertialPipeline, begin_ns: int, end_ns: int) -> None:
        """Learn until then.

        Args:
            pipeline: The pipeline.
            begin_ns: Stamp of the first reading of the span [ns].
            end_ns: Stamp of the last one [ns].
        """
        reach_ns = round((0.5 * pipeline.config.window + 1.0 / RATE_HZ) * NANOSECONDS)
        self._pipeline = pipeline
        self._span_ns = begin_ns - reach_ns, end_ns + reach_ns

    def push_joints(self, reading: JointReading) -> None:
        """Ignore it: the estimates tell the time."""

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
    """A motion of a robot to which loads and pushes are added.

    Attributes:
        robot: The robot.
        links: One link of every moving body.
        rng: Source of loads and pushes.
    """

    def __init__(self, robot: LinkRobot, seed: int, duration_s: float, *, still: bool = False) -> None:
        """Simulate the motion.

        Args:
            robot: The robot.
            seed: Of motion, disturbances and noise.
            duration_s: Its length [s].
            still: Whether the robot stays at rest.
        """
        self.robot = robot
        motion, self.rng, self._noise = (default_rng([seed, stream]) for stream in range(3))
        rest_s = duration_s if still else 0.3
        timing = Timing(duration_s=duration_s, rate_hz=RATE_HZ, rest_s=rest_s, fade_s=0.5)
        self._truth = robot.truth(timing, motion)
        named = [link for link in robot.built()[0].config.links if link != AUTO]
        self.links = candidate_links(self._truth.robot, ("*",), named)

    @property
    def limb_links(self) -> list[str]:
        """The links on which loads are put."""
        limbs = self.robot.limbs
        return [link for link in self.links if not limbs or link.startswith(limbs)]

    def load(self, link: str, mass: float, start: float, stop: float = float("inf")) -> Attachment:
        """Return a steel ball at a random point of a body.

        Args:
            link: Link of the body.
            mass: Its mass [kg].
            start: When it is attached [s].
            stop: When it is removed [s].
        """
        return attached_ball(link, mass, self._point(link), start, stop)

    def push(
        self, link: str, strength: float, start: float, duration: float, direction: Sequence[float] = ()
    ) -> Push:
        """Return a push at a random point of a body.

        Args:
            link: Link of the body.
            strength: Its force [N].
            start: When it begins [s].
            duration: How long it lasts [s].
            direction: In the world, of any length, shape (3,); empty: random.
        """
        towards = np.array(direction) if direction else self.rng.normal(size=3)
        force = strength * towards / float(np.sqrt(towards @ towards))
        return Push(link, force, start, duration, self._point(link))

    def run(self, disturbances: Sequence[Attachment | Push], until_s: float) -> LinkTrial:
        """Run the filter with the parameters of the robot's file.

        Args:
            disturbances: Loads and pushes.
            until_s: Time after which nothing is read [s].
        """
        return self._run(disturbances, until_s, self._noise)

    def run_with_and_without(self, push: Push, until_s: float) -> tuple[LinkTrial, LinkTrial]:
        """Run the filter on a push, and on the same noise without it.

        In the second run learning pauses while the push would be in the readings, so that both learn from the
        same data, and the masses differ by what the push has taught.

        Args:
            push: The push.
            until_s: Time after which nothing is read [s].
        """
        noise = deepcopy(self._noise)
        paused = (push.start, push.start + push.duration)
        return self._run([push], until_s, self._noise), self._run([], until_s, noise, paused)

    def _run(
        self,
        disturbances: Sequence[Attachment | Push],
        until_s: float,
        noise: Generator,
        paused: tuple[float, float] | None = None,
    ) -> LinkTrial:
        truth = disturbed_truth(_until(self._truth, until_s), self.robot.contacts, disturbances)
        recording = measure(truth, self.robot.noise, noise)
        pipeline, topics = self.robot.built()
        start_ns, pause = int(truth.stamps_ns[0]), None
        if paused is not None:
            pause = _Pause(pipeline, *(start_ns + round(time_s * NANOSECONDS) for time_s in paused))
        run = replay_recording(recording, topics, tilt=None, inertial=pipeline, watcher=pause)
        estimates = run.inertial
        return LinkTrial(
            pipeline.config.links,
            np.array([estimate.stamp_ns - start_ns for estimate in estimates]) * 1e-9,
            np.array([[link.published.mass for link in estimate.links] for estimate in estimates]),
            tuple(estimate.located for estimate in estimates),
        )

    def _point(self, link: str) -> Array:
        body = self._truth.robot.link_body(link)
        com_L = np.array(body.T_JL.actInv(body.nominal_J.lever))
        point: Array = com_L + self.rng.normal(0.0, self.robot.spread, 3)
        return point


def _until(truth: Truth, time_s: float) -> Truth:
    """Return the first part of a truth."""
    n = int(np.searchsorted(truth.times_s, time_s))
    return replace(
        truth,
        times_s=truth.times_s[:n],
        stamps_ns=truth.stamps_ns[:n],
        states=truth.states[:n],
        readings=truth.readings[:n],
    )
