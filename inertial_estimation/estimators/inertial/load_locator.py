"""Which link carries a load, which is pushed, or which input is wrong: likelihood ratios over single causes.

While innovations disagree with a state of the filter, every cause is fitted to them at once (`CauseBank`): a
point mass on each body (four amplitudes), an external wrench on each body (six), errors of the inputs (six or
one), and noise larger than stated (none). The posterior over the causes is the softmax of their evidence and
priors. A load has a mass that the body can have lost or gained, and stays; a push ends. Readings are averaged
over windows: during the first one the amplitudes grow, afterwards that of a load is constant, while forces
and faults may change slowly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial.cause_bank import CauseBank, log_student
from inertial_estimation.estimators.inertial.cause_model import CauseModel, WhiteCauses
from inertial_estimation.estimators.inertial.filter_values import Innovation
from inertial_estimation.estimators.inertial.load_prior import log_pressing
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.estimators.inertial.seen_residuals import SeenResiduals
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

STEPS_PER_WINDOW = 6  # measurements of one window that are used: they share most of their readings
INDEPENDENT = 1.2  # independent means in one window: integral of the squared parabolic weight
STRAIGHT = (
    0.95  # least share of a force that is along gravity, within 18 deg, where it may be a load's weight
)
ALIKE = 0.3  # largest difference of the two, as a share of the weight
WALK = 0.01  # variance of the change of a force within a second, relative to its expected size squared


@dataclass(frozen=True, slots=True, eq=False)
class CausePosterior:
    """Probabilities of all causes; their sum is one.

    Attributes:
        noise: Noise larger than stated, and nothing else.
        loads: A load on each body, shape (n,).
        pushes: An external wrench on each body, shape (n,).
        weights: The part of it that presses down as a load at rest does, shape (n,).
        faults: An error of each input, shape (k,).
    """

    noise: float
    loads: Array
    pushes: Array
    weights: Array
    faults: Array

    @property
    def kind(self) -> Cause:
        """The most probable kind of cause."""
        sums = {
            Cause.NOISE: self.noise,
            Cause.LOAD: float(self.loads.sum()),
            Cause.PUSH: float(self.pushes.sum()),
            Cause.FAULT: float(self.faults.sum()),
        }
        return max(sums, key=lambda kind: sums[kind])


class _Banks(NamedTuple):
    """The regressions on the causes, named as in `WhiteCauses`."""

    loads: CauseBank
    weights: CauseBank
    spatial: CauseBank
    single: CauseBank

    def left_by_pushes(self) -> Array:
        """Return the squared residuals that a push on each body leaves, shape (n,)."""
        weights = self.weights.rss
        return np.minimum(self.spatial.rss[: len(weights)], weights)


class LoadLocator:
    """Accumulates the evidence of single causes of the innovations.

    Attributes:
        config: Odds and expected sizes.
    """

    def __init__(self, model: CauseModel, config: LocatorConfig, window: float) -> None:
        """Begin without data.

        Args:
            model: The causes.
            config: Odds and expected sizes.
            window: Time over which readings are averaged [s].
        """
        self.config = config
        self._model, self._window = model, window
        self.begin(1.0, {})

    def begin(self, variance: float, carried: Mapping[str, float]) -> None:
        """Discard all data.

        Args:
            variance: Usual mean of the squared whitened innovations.
            carried: Loads that bodies carry at present and can lose [kg], by the link of the candidate.
        """
        self._seen = SeenResiduals(variance)
        self._prior = self._model.load_prior(carried)
        self._banks: _Banks | None = None
        self._latest: WhiteCauses | None = None
        self._age = self._pending = 0.0

    @property
    def age(self) -> float:
        """Time since the cause has begun [s]."""
        return self._age

    @property
    def explains(self) -> bool:
        """Whether the most probable single cause leaves no more than noise of what there was to explain."""
        posterior = self.posterior()
        if posterior is None or posterior.kind is Cause.NOISE:
            return False
        assert self._banks is not None
        banks, n = self._banks, len(posterior.loads)
        of_kinds = {
            Cause.LOAD: (posterior.loads, banks.loads.rss),
            Cause.PUSH: (posterior.pushes, banks.left_by_pushes()),
            Cause.FAULT: (posterior.faults, np.concatenate((banks.spatial.rss[n:], banks.single.rss))),
        }
        probabilities, rss = of_kinds[posterior.kind]
        return self._seen.is_noise(float(rss[np.argmax(probabilities)]))

    @property
    def _is_half_grown(self) -> bool:
        """Whether half of a window holds readings with the cause: longer than an impact."""
        return self._age >= 0.5 * self._window

    def feed(
        self, innovation: Innovation, equation: LinearEquation, dt: float, *, at_rest: bool = False
    ) -> tuple[WhiteCauses, float] | None:
        """Add one measurement; most of those that share their readings are skipped.

        Args:
            innovation: Of the state whose contradiction is to be explained.
            equation: The measurement.
            dt: Time since the last one [s].
            at_rest: Whether the joints are at rest.

        Returns:
            Its causes, and the number of independent measurements that it counts for; None if it was skipped.
        """
        self._pending += dt
        if self._banks is not None and self._pending < self._window / STEPS_PER_WINDOW:
            return None
        try:
            causes = self._model.causes(innovation, equation, at_rest=at_rest)
        except MeasurementError:
            causes = None
        if causes is None or not np.isfinite(causes.residual).all():
            return None
        elapsed, self._pending = min(self._pending, self._window), 0.0
        weight = elapsed * INDEPENDENT / self._window
        self._accumulate(causes, elapsed, weight)
        self._age += elapsed
        return causes, weight

    def posterior(self) -> CausePosterior | None:
        """Return the probabilities of all causes; None before the first measurement."""
        if self._banks is None or self._latest is None:
            return None
        banks = self._banks
        loads, weights, spatial, single = (self._evidence(bank) for bank in banks)
        n = len(loads)
        noise = log_student(np.array([self._seen.rss]), self._seen.total, self._seen.scale)
        share = -np.log(n)  # a kind of cause is as likely as another, and so is each body
        prior, seen = self._prior, (self._seen.total, self._seen.scale)
        mass, place = prior.log_mass(banks.loads.fit, *seen), prior.log_place(banks.loads.fit, *seen)
        place_of_weight = prior.log_place(banks.weights.fit, *seen)
        lasting = share - self._age / self.config.push_duration
        # The noise of the accelerations in the columns of a load must not count against it.
        pressing = np.minimum(weights + place_of_weight, loads + place) + share
        pressing = pressing + log_pressing(self._age, self.config)
        pushes = np.logaddexp(spatial[:n] + lasting, pressing)
        inputs = np.concatenate((spatial[n:], single)) + share
        logs = np.concatenate((noise, loads + share + mass + place, pushes, inputs))
        whole = np.logaddexp.reduce(logs)
        p, pressed = np.exp(logs - whole), np.exp(pressing - whole)
        return CausePosterior(float(p[0]), p[1 : 1 + n], p[1 + n : 1 + 2 * n], pressed, p[1 + 2 * n :])

    def located(self) -> LocatedCause:
        """Return the most probable cause, and whether it is certain enough to act on."""
        posterior = self.posterior()
        if posterior is None or self._banks is None or self._latest is None:
            return LocatedCause.nothing()
        cause = posterior.kind
        if cause is Cause.LOAD:
            return self._load(posterior)
        if cause is Cause.PUSH:
            push = self._push(posterior)
            return self._lasting_weight(posterior, push) or push
        if cause is Cause.FAULT:
            best = int(np.argmax(posterior.faults))
            not_load = float(posterior.faults.sum() + posterior.pushes.sum())
            sure = self._is_half_grown and self._decides(not_load)
            of_wrench = best < self._model.measured_wrenches
            return LocatedCause(
                cause,
                float(posterior.faults[best]),
                decided=sure,
                input=self._latest.inputs[best],
                may_be_push=of_wrench and self._seen.is_noise(float(self._banks.left_by_pushes().min())),
            )
        return LocatedCause(cause, posterior.noise, decided=False)

    def _accumulate(self, causes: WhiteCauses, elapsed: float, weight: float) -> None:
        if self._banks is None:
            self._banks = _Banks(
                CauseBank(*causes.loads.shape[::2]),
                CauseBank(*causes.weights.shape[::2]),
                CauseBank(*causes.spatial.shape[::2]),
                CauseBank(*causes.single.shape[::2]),
            )
        self._latest = causes
        expected = 1.0 / self._seen.scale.variance  # squared amplitude, in units of the noise
        growth = expected * elapsed / self._window if self._age < self._window else 0.0
        walk = growth + WALK * expected * elapsed
        self._banks.loads.feed(causes.loads, causes.residual, weight, growth)
        self._banks.weights.feed(causes.weights, causes.residual, weight, growth)
        self._banks.spatial.feed(causes.spatial, causes.residual, weight, walk)
        self._banks.single.feed(causes.single, causes.residual, weight, walk)
        self._seen.add(causes.residual, weight)

    def _evidence(self, bank: CauseBank) -> Array:
        """Return the evidence of causes of one kind, with Occam factors of constant amplitudes.

        What it costs in addition that amplitudes grow and walk is the mean of the kind: each cause's own
        would punish the ones that the data determine best, once for each step.
        """
        own = bank.log_det_constant(self._seen.scale.variance)
        informed = bank.log_det >= 0.5 * bank.log_det.max(initial=0.0)
        walked = float((bank.log_det - own)[informed].mean()) if informed.any() else 0.0
        return bank.log_evidence(self._seen.total, self._seen.scale, own + walked)

    def _load(self, posterior: CausePosterior) -> LocatedCause:
        assert self._banks is not None
        loads, classes = posterior.loads, self._model.classes
        best = int(np.argmax(loads))
        alike = classes == classes[best]
        near = self._near(loads, best) | alike
        of_links = float(loads[near].sum())
        mass, com_L = self._mass_and_place(best)
        all_loads, as_push = float(loads.sum()), float(posterior.weights.sum())
        alone = of_links >= self.config.ambiguity * (all_loads - of_links)
        explained = self._seen.is_explained(float(self._banks.loads.rss[best]))
        settled = alone and self._age >= self._window and explained
        decided = settled and self._decides(all_loads)
        return LocatedCause(
            Cause.LOAD,
            of_links,
            decided=decided,
            is_open=settled and not decided and self._decides(all_loads + as_push),
            links=self._links(loads, near),
            mass=mass,
            com_L=com_L,
            as_push=as_push,
        )

    def _push(self, posterior: CausePosterior) -> LocatedCause:
        assert self._banks is not None
        assert self._latest is not None
        best = int(np.argmax(posterior.pushes))
        near = self._near(posterior.pushes, best)
        bank, size = self._banks.spatial, self._model.wrench_size
        newest = self._newest_amplitude(best) * size
        force, torque, point = self._model.candidates.wrench_in_link(best, newest, self._latest.R_BJ[best])
        variance = np.maximum(bank.covariance[best].diagonal() * self._seen.scale.variance, 0.0)
        lever = float(np.sqrt(variance[3:].max()) * size[3]) / max(float(np.sqrt(force @ force)), 1e-9)
        not_load = float(posterior.pushes.sum() + posterior.faults.sum())
        return LocatedCause(
            Cause.PUSH,
            float(posterior.pushes[near].sum()),
            decided=self._is_half_grown and self._decides(not_load),
            links=self._links(posterior.pushes, near),
            force_L=force,
            torque_L=torque,
            point_L=point if lever < 0.25 * self._model.lever else None,
            upright=abs(_along(newest[:3], self._latest.f_B)) > STRAIGHT * float(np.linalg.norm(force)),
        )

    def _lasting_weight(self, posterior: CausePosterior, push: LocatedCause) -> LocatedCause | None:
        """Return a push as the load that it must be; None if it may be a push.

        Where the description is wrong, forces that change a little explain the data better than a constant
        load. But what presses straight down by what a load would weigh, and has done so for longer than
        pushes do (`steady_push`), is a load.
        """
        assert self._banks is not None
        assert self._latest is not None
        if not push.decided or self._age < self.config.steady_push:
            return None
        best = int(np.argmax(posterior.pushes))
        force_B = (self._banks.spatial.amplitudes[best] * self._model.wrench_size)[:3]
        weight = -_along(force_B, self._latest.f_B)
        mass, com_L = self._mass_and_place(best)
        straight = weight > STRAIGHT * float(np.linalg.norm(force_B))
        alike = abs(mass * STANDARD_GRAVITY - weight) < ALIKE * weight
        if not (straight and alike):
            return None
        probability = float(posterior.pushes.sum() + posterior.loads.sum())
        return LocatedCause(
            Cause.LOAD,
            probability,
            decided=True,
            links=push.links,
            mass=mass,
            com_L=com_L,
            as_push=probability,
        )

    def _mass_and_place(self, body: int) -> tuple[float, Array]:
        """Return mass [kg] and position in the link frame [m], shape (3,), of a load on a body."""
        assert self._banks is not None
        amplitude = self._banks.loads.amplitudes[body] * self._model.load_size
        return self._model.candidates.load_in_link(body, amplitude)

    def _newest_amplitude(self, body: int) -> Array:
        """Return the wrench on a body that the newest measurement shows, in units of its expected size, (6,).

        What is known of a constant wrench is its prior, as wide as a new one: a push may change at any time.
        """
        assert self._banks is not None
        assert self._latest is not None
        B, known = self._latest.spatial[body], self._banks.spatial.amplitudes[body]
        information = B.T @ B + self._seen.scale.variance * np.eye(B.shape[1])
        newest: Array = known + linear_algebra.solve(information, B.T @ (self._latest.residual - B @ known))
        return newest

    def _decides(self, probability: float) -> bool:
        """Return whether the probability of some causes reaches the configured odds against all others."""
        return probability >= self.config.odds * max(1.0 - probability, 0.0)

    def _near(self, probabilities: Array, best: int) -> NDArray[np.bool_]:
        """Return which bodies are within the odds of ambiguity of the best."""
        near: NDArray[np.bool_] = probabilities * self.config.ambiguity >= probabilities[best]
        return near

    def _links(self, probabilities: Array, near: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return the links of some bodies, the most probable first."""
        order = [i for i in np.argsort(-probabilities).tolist() if near[i]]
        return tuple(self._model.candidates.links[i] for i in order)


def _along(force: Array, up: Array) -> float:
    """Return the component of a force along a direction, shape (3,) each."""
    return float(force @ up) / max(float(np.linalg.norm(up)), 1e-9)
