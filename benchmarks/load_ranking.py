"""How near the ranking of loaded links comes to the best that the data allow.

TALOS with its shipped parameters carries the loads of the experiment which-link, two for each seed. Printed
is the share of them of which the link is named first, or among others, within 0.3 s, for limbs and head. Less
what the true load explains, the whitened innovations of each run are noise as the locator sees it. To it
other loads on limbs are added, at places and with masses as drawn in which-link, since the equation is linear
in them. The share of these that is ranked first by 0.3 s is printed for

- locator: the posterior of the locator as it is
- exact: that of a load with the priors of the locator, integrated exactly over its place and numerically over
  its mass, from the measurements whose whole window is after its beginning
- own noise: the same, rows weighted by the noise of their means over all other seeds
- true prior: as exact, with the distribution from which mass and place are drawn
- limbs: the same, by one who knows that only limbs are loaded

and how many of these loads it alone, or the locator alone, ranks right; "its class" counts bodies as one on
which loads look alike at rest, as on base, torso and the first links of the legs (`load_classes`).

Run: python -m benchmarks.load_ranking [--first 0] [--seeds 40] [--added 30]
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from scipy.special import logsumexp

from inertial_estimation.estimators.inertial.cause_bank import NoiseScale, log_student
from inertial_estimation.estimators.inertial.cause_model import CauseModel, WhiteCauses
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter
from inertial_estimation.estimators.inertial.load_locator import INDEPENDENT, LoadLocator
from inertial_estimation.experiments.link_outcomes import ON_S, LoadedLink
from inertial_estimation.experiments.link_robots import LinkRobot, talos
from inertial_estimation.experiments.link_trials import RATE_HZ, LinkScene
from inertial_estimation.simulation.disturbances import Attachment

LOADS, MOTION_S, LOAD_S = 2, 5.6, 0.8  # of each seed; length of a motion and of a load, as in which-link
NAMED_S = 0.3
LIMBS = ("arm_", "leg_", "gripper_")
STRENGTH = 10.0  # of the prior of the noise, as in `seen_residuals`
MASSES = np.geomspace(0.3, 9.0, 48)  # over which is integrated, those of the loads and beyond [kg]
FEWEST = 6  # measurements of a run that is used


@dataclass(frozen=True, eq=False)
class Run:
    """What a locator was fed within 0.3 s of the beginning of a load.

    Attributes:
        outcome: What was reported of the load.
        locator: The locator.
        variance: Usual variance of whitened residuals.
        times: Times after the beginning of the load [s], shape (t,).
        weights: Number of independent measurements that each one counts for, shape (t,).
        causes: The measurements.
        columns: Of a load on each of n bodies, shape (t, n, m, 4).
        noise: Residuals without the load, shape (t, m).
    """

    outcome: LoadedLink
    locator: LoadLocator
    variance: float
    times: np.ndarray
    weights: np.ndarray
    causes: list[WhiteCauses]
    columns: np.ndarray
    noise: np.ndarray

    @property
    def model(self) -> CauseModel:
        """The causes."""
        return self.locator._model

    @property
    def window(self) -> float:
        """Time over which readings are averaged [s]."""
        return self.locator._window

    def residuals(self, body: int, amplitudes: np.ndarray) -> np.ndarray:
        """Return the residuals with a load, shape (t, m)."""
        return self.noise + shown(self.times, self.window)[:, None] * (self.columns[:, body] @ amplitudes)


class Replayed:
    """Stands for the model of a locator that is fed with causes instead of innovations."""

    def __init__(self, model: CauseModel) -> None:
        """Take the priors of a model."""
        self.load_prior = model.load_prior

    def causes(self, innovation: WhiteCauses, _equation: None, *, at_rest: bool = False) -> WhiteCauses:
        """Return what the locator is fed with."""
        return innovation


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--added", type=int, default=30, help="loads that are added to the noise of each run")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.seeds)
    runs = [(seed, run) for seed in seeds for run in runs_of_seed(seed)]
    print_outcomes([run.outcome for _seed, run in runs])
    if args.added:
        print_ranked([pair for pair in runs if len(pair[1].times) >= FEWEST], args.added)


def runs_of_seed(seed: int) -> Iterator[Run]:
    """Put the loads of which-link on TALOS, and record what the locator is fed."""
    scene = LinkScene(talos(), seed, MOTION_S)
    for _ in range(LOADS):
        link = str(scene.rng.choice(scene.limb_links))
        mass = float(scene.rng.uniform(*scene.robot.loads))
        yield recorded(scene, scene.load(link, mass, ON_S))


def recorded(scene: LinkScene, load: Attachment) -> Run:
    """Run the filter with a load, and return what its locator was fed."""
    steps, fed, begun = [0], [], []
    update, begin, feed = GuardedFilter.update, LoadLocator.begin, LoadLocator.feed

    def counted(self, *args, **kwargs):
        steps[0] += 1
        return update(self, *args, **kwargs)

    def noted(self, variance, carried):
        begun.append((steps[0], variance))
        begin(self, variance, carried)

    def kept(self, *args, **kwargs):
        result = feed(self, *args, **kwargs)
        if result is not None:
            fed.append((steps[0], self, *result))
        return result

    patches = ((GuardedFilter, "update", counted), (LoadLocator, "begin", noted), (LoadLocator, "feed", kept))
    with patch.object(*patches[0]), patch.object(*patches[1]), patch.object(*patches[2]):
        trial = scene.run([load], ON_S + LOAD_S)
    outcome = LoadedLink(load.body.link, load.body.mass, trial)
    return run_of(outcome, load, float(trial.times[-1]) - steps[0] / RATE_HZ, begun, fed)


def run_of(outcome: LoadedLink, load: Attachment, start: float, begun: list, fed: list) -> Run:
    """Return the measurements from the first suspect one of the load on, up to `NAMED_S`."""
    within = [(s, v) for s, v in begun if -0.06 <= start + s / RATE_HZ - ON_S <= NAMED_S]
    first, variance = within[0] if within else (np.inf, 1.0)
    locator = fed[0][1] if fed else None
    taken = [row for row in fed if row[0] >= first and start + row[0] / RATE_HZ <= ON_S + NAMED_S + 1e-6]
    if not taken:
        nothing = np.zeros(0)
        return Run(outcome, locator, variance, nothing, nothing, [], nothing, nothing)
    times = np.array([start + row[0] / RATE_HZ - ON_S for row in taken])
    causes = [row[2] for row in taken]
    columns = np.array([cause.loads for cause in causes])
    body, amplitudes = amplitudes_of(locator._model, load)
    explained = shown(times, locator._window)[:, None] * (columns[:, body] @ amplitudes)
    noise = np.array([cause.residual for cause in causes]) - explained
    weights = np.array([row[3] for row in taken])
    return Run(outcome, locator, variance, times, weights, causes, columns, noise)


def amplitudes_of(model: CauseModel, load: Attachment) -> tuple[int, np.ndarray]:
    """Return body and amplitudes of a load, mass and first moment about the body's centre of mass."""
    candidates = model.candidates
    body = candidates.links.index(load.body.link)
    lever = candidates._T_JL[body].act(load.body.com_L) - candidates._coms_J[body]
    return body, load.body.mass * np.concatenate(([1.0], lever)) / model.load_size


def shown(times: np.ndarray, window: float) -> np.ndarray:
    """Return which share of a load a mean over a window shows, whose weights are a parabola."""
    x = np.clip(2.0 * times / window, -1.0, 1.0)
    return 0.5 + 0.75 * x - 0.25 * x**3


def print_outcomes(outcomes: list[LoadedLink]) -> None:
    """Print which links were named, and the loads of which another one was first."""
    for name, on_head in (("limbs", False), ("head", True)):
        loads = [load for load in outcomes if load.on_head is on_head]
        if loads:
            first, among = (100.0 * np.mean([x.named(place, NAMED_S) for x in loads]) for place in (1, None))
            print(f"{len(loads)} loads on {name}: named first {first:.1f} %, among those named {among:.1f} %")
    for load in outcomes:
        if not load.named(1, NAMED_S):
            named = ", ".join(load.links_within(NAMED_S)) or "nothing"
            print(f"  {load.link} {load.mass:.2f} kg: {named}", flush=True)


def print_ranked(runs: list[tuple[int, Run]], added: int) -> None:
    """Print the shares of loads added to the noise of the runs that each ranking puts first."""
    drawn, ranked, classes = Drawn(talos(), runs[0][1].model), {}, runs[0][1].model.classes
    bodies = []
    for seed, run in runs:
        rng = np.random.default_rng([seed, round(1e3 * run.outcome.mass)])
        noise = row_noise([other for other_seed, other in runs if other_seed != seed])
        for _ in range(added):
            body, amplitudes = drawn.load(rng)
            bodies.append(body)
            for name, logs in rankings(run, run.residuals(body, amplitudes), drawn, noise).items():
                ranked.setdefault(name, []).append(int(np.argmax(logs)))
    true = np.array(bodies)
    ours = np.array(ranked["locator"]) == true
    print(f"{len(true)} loads on limbs added to the noise of {len(runs)} runs, true link first:")
    for name, found in ranked.items():
        one, alike = np.array(found) == true, classes[found] == classes[true]
        only = f"only here {int((one & ~ours).sum())}, only there {int((ours & ~one).sum())}"
        print(f"  {name}: {100.0 * one.mean():.1f} % ({only}); its class {100.0 * alike.mean():.1f} %")


class Drawn:
    """The distribution of loads in which-link, those on the head left out.

    Attributes:
        limbs: Whether each body is one of a limb, shape (n,).
        spread: Covariance of the places, in squared units of the model's lever, shape (n, 3, 3).
        log_mass: Logarithm of the density of `MASSES`, up to a constant.
    """

    def __init__(self, robot: LinkRobot, model: CauseModel) -> None:
        """Take the distribution of the loads of a robot."""
        self._robot, self._size = robot, model.load_size
        self.limbs = np.array([link.startswith(LIMBS) for link in model.candidates.links])
        self.spread = np.tile((robot.spread / model.lever) ** 2 * np.eye(3), (len(self.limbs), 1, 1))
        inside = (robot.loads[0] <= MASSES) & (robot.loads[1] >= MASSES)
        self.log_mass = np.where(inside, 0.0, -np.inf)

    def load(self, rng: np.random.Generator) -> tuple[int, np.ndarray]:
        """Return a body and the amplitudes of a load on it."""
        body, mass = int(rng.choice(np.flatnonzero(self.limbs))), rng.uniform(*self._robot.loads)
        place = rng.normal(0.0, self._robot.spread, 3)
        return body, mass * np.concatenate(([1.0], place)) / self._size


def rankings(run: Run, residuals: np.ndarray, drawn: Drawn, noise: np.ndarray) -> dict[str, np.ndarray]:
    """Return the log posteriors of a load on each body by all rankings, up to constants.

    Args:
        run: The run to whose noise a load has been added.
        residuals: Noise and load, shape (t, m).
        drawn: The distribution of the load.
        noise: Variances of the rows relative to the stated ones, shape (m,).
    """
    late = run.times >= 0.5 * run.window
    columns, seen, weights = run.columns[late], residuals[late], run.weights[late]
    scale, masses = NoiseScale(run.variance, STRENGTH), MASSES / run.model.load_size[0]
    known, spread, rows = -0.5 * masses**2, run.model.spread, np.sqrt(noise)
    true = log_evidence(columns, seen, weights, scale, masses, drawn.log_mass, drawn.spread)
    of_rows = columns / rows[:, None], seen / rows
    return {
        "locator": ranked_by_locator(run, residuals),
        "exact": log_evidence(columns, seen, weights, scale, masses, known, spread),
        "own noise": log_evidence(*of_rows, weights, scale, masses, known, spread),
        "true prior": true,
        "limbs": np.where(drawn.limbs, true, -np.inf),
    }


def ranked_by_locator(run: Run, residuals: np.ndarray) -> np.ndarray:
    """Feed a locator with other residuals, and return the probabilities of its loads."""
    locator = LoadLocator(Replayed(run.model), run.locator.config, run.window)
    locator.begin(run.variance, {})
    for cause, residual, weight in zip(run.causes, residuals, run.weights, strict=True):
        locator.feed(replace(cause, residual=residual), None, weight * run.window / INDEPENDENT)
    return locator.posterior().loads


def log_evidence(
    columns: np.ndarray,
    residuals: np.ndarray,
    weights: np.ndarray,
    scale: NoiseScale,
    masses: np.ndarray,
    log_mass: np.ndarray,
    spread: np.ndarray,
) -> np.ndarray:
    """Return the log evidence of a load of constant mass and place on each body, up to a constant.

    Given its mass m its first moment is normal with covariance m^2 `spread`, so that the residuals have a
    Student distribution with the mean m B_0, of `scale.strength` degrees of freedom, and the shape
    `scale.variance` (1 / w) + m^2 B_h spread B_h'. The integral over m is a sum.

    Args:
        columns: Whitened columns [B_0, B_h] of mass and first moment, shape (t, n, m, 4).
        residuals: Whitened, shape (t, m).
        weights: Number of independent measurements that each one counts for, shape (t,).
        scale: Prior of the noise.
        masses: Over which is integrated, in the unit of the columns, shape (k,).
        log_mass: Logarithm of their density, up to a constant, shape (k,).
        spread: Covariance of first moment over mass, in the unit of the columns, shape (n, 3, 3).

    Returns:
        Shape (n,).
    """
    F = np.einsum("t,tnma,tnmb->nab", weights, columns, columns, optimize=True) / scale.variance
    b = np.einsum("t,tnma,tm->na", weights, columns, residuals, optimize=True) / scale.variance
    rss = float(weights @ (residuals**2).sum(axis=1)) / scale.variance
    total, m = float(weights.sum() * residuals.shape[1]), masses[:, None]
    left = b[:, 1:] - m[..., None] * F[:, 1:, 0]
    prior = (m**2)[..., None, None] * spread
    widened = np.eye(3) + prior @ F[:, 1:, 1:]
    moments = np.linalg.solve(widened, prior @ left[..., None])[..., 0]
    square = rss - 2.0 * m * b[:, 0] + m**2 * F[:, 0, 0] - (left * moments).sum(axis=-1)
    logs = log_student(scale.variance * square, total, scale) - 0.5 * np.log(np.linalg.det(widened))
    steps = np.gradient(masses)
    steps[[0, -1]] *= 0.5  # trapezoidal rule
    return logsumexp(logs + (log_mass + np.log(steps))[:, None], axis=0)


def row_noise(runs: list[Run]) -> np.ndarray:
    """Return the variance of the means of rows over a run, relative to the stated one, shape (m,)."""
    means = []
    for run in runs:
        late = run.times >= 0.5 * run.window
        weights = run.weights[late]
        means.append(weights @ run.noise[late] / np.sqrt(weights.sum() * run.variance))
    return np.mean(np.square(means), axis=0)


if __name__ == "__main__":
    main()
