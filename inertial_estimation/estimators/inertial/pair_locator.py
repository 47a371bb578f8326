"""Two loads at one instant: which pair of bodies carries them, where no single cause explains the data.

The readings of both loads add, so the pair is found by a regression on eight columns. Once the amplitudes
have grown (a window after the first suspect data) they are constant, so normal equations of the columns of
all bodies are accumulated once, and every pair is solved from its blocks:

    theta = (F + s_0^2)^-1 b,   rss = r'r - b' theta,   F = sum w B'B,  b = sum w B'r

The evidence of a pair is that of a single load (`cause_bank`, `load_prior`), with the priors of both loads.
It must exceed that of every single load on the same data by the configured odds, over the rarity of pairs.
What a single load leaves need not be noise: the equation is linear in it, and its columns have errors. Such a
remainder grows with the load, and no number of measurements averages it, so that it would be evidence for two
loads that cancel. A single load that leaves next to nothing is therefore the cause, and in a pair no body
loses some of its own mass.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.estimators.inertial.cause_bank import CauseFit, log_student
from inertial_estimation.estimators.inertial.cause_model import CauseModel, WhiteCauses
from inertial_estimation.estimators.inertial.load_prior import log_pressing
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.estimators.inertial.seen_residuals import SeenResiduals
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.candidate_columns import LOAD_COLUMNS
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

GROWN = 2.0  # windows after which there is as much data of grown amplitudes as decides on a single load
BETTER = 0.5  # share of what the best single load leaves that a pair may leave
NEGLIGIBLE = 0.01  # share of the squares that a single load may leave as errors of the equation: 10 % of it
RARE = 0.01  # prior probability of two loads at one instant, relative to one


class PairLocator:
    """Accumulates the evidence of two loads at one instant.

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
        n = len(model.candidates.links)
        self._pairs = np.array(np.triu_indices(n, 1)).T
        self._singles = np.arange(n)[:, None]
        self.begin(1.0, {})

    def begin(self, variance: float, carried: Mapping[str, float]) -> None:
        """Discard all data.

        Args:
            variance: Usual mean of the squared whitened innovations.
            carried: Loads that bodies carry at present and can lose [kg], by the link of the candidate.
        """
        self._seen = SeenResiduals(variance)
        self._prior = self._model.load_prior(carried)
        size = LOAD_COLUMNS * len(self._model.candidates.links)
        self._F, self._F_weights = np.zeros((size, size)), np.zeros((size, size))
        self._b, self._b_weights = np.zeros(size), np.zeros(size)

    @property
    def earliest(self) -> float:
        """Time after the beginning of the causes from which on there are data enough [s]."""
        return GROWN * self._window

    def add(self, causes: WhiteCauses, weight: float, age: float) -> None:
        """Add one measurement; those in which the amplitudes still grow are left out.

        Args:
            causes: The residual and its causes.
            weight: Number of independent measurements that this one counts for.
            age: Time since the causes have begun [s].
        """
        if age < self._window:
            return
        for columns, F, b in (
            (causes.loads, self._F, self._b),
            (causes.weights, self._F_weights, self._b_weights),
        ):
            B = columns.transpose(1, 0, 2).reshape(len(causes.residual), -1)
            F += weight * (B.T @ B)
            b += weight * (B.T @ causes.residual)
        self._seen.add(causes.residual, weight)

    def located(self, age: float) -> LocatedCause | None:
        """Return the most probable pair, if it is certain enough; None otherwise.

        Args:
            age: Time since the causes have begun [s].
        """
        if age < self.earliest or len(self._pairs) == 0:
            return None
        fit, logs = self._fitted(self._F, self._b, self._pairs)
        one, logs_of_one = self._fitted(self._F, self._b, self._singles)
        if one.rss[np.argmax(logs_of_one)] <= NEGLIGIBLE * self._seen.rss:
            return None
        best = int(np.argmax(logs))
        left = float(fit.rss[best])
        if not self._seen.is_explained(left) or left > BETTER * one.rss.min():
            return None
        prior, masses = self._prior.at(self._pairs[best]), fit.amplitudes[best, ::LOAD_COLUMNS]
        if (prior.unit * masses < -prior.most_lost).any():
            return None
        if logs[best] - logs_of_one.max() < np.log(self.config.odds / RARE):
            return None
        odds = np.exp(logs - logs[best])
        near = odds * self.config.ambiguity >= 1.0
        if odds[near].sum() < self.config.ambiguity * odds[~near].sum():
            return None
        as_pushes = self._fitted(self._F_weights, self._b_weights, self._pairs[[best]])[1]
        push_odds = float(np.exp(min(float(as_pushes[0] - logs[best]), 0.0) + log_pressing(age, self.config)))
        as_push = push_odds / (1.0 + push_odds)
        decided = self.config.odds * push_odds <= 1.0
        probability = float(odds[near].sum() / odds.sum())
        known = LocatedCause(Cause.LOAD, probability, decided=decided, is_open=not decided, as_push=as_push)
        loads = [self._load(known, slot, best, near, fit.amplitudes[best]) for slot in range(2)]
        loads.sort(key=lambda load: -abs(load.mass))
        return replace(loads[0], also=tuple(loads[1:]))

    def _fitted(self, F: Array, b: Array, bodies: NDArray[np.int64]) -> tuple[CauseFit, Array]:
        """Return the regressions on loads of g bodies at once, and their log evidence up to a constant.

        Args:
            F: Normal equations of the columns of all bodies.
            b: Their right side.
            bodies: Numbers of the bodies of each regression, shape (k, g).
        """
        seen, (k, g) = self._seen, bodies.shape
        columns = (LOAD_COLUMNS * bodies[:, :, None] + np.arange(LOAD_COLUMNS)).reshape(k, -1)
        blocks = F[columns[:, :, None], columns[:, None, :]]
        sides = b[columns]
        one = np.eye(LOAD_COLUMNS * g)
        covariance = linear_algebra.inv(blocks + seen.scale.variance * one)
        amplitudes = (covariance @ sides[:, :, None])[:, :, 0]
        rss = np.maximum(seen.rss - (sides * amplitudes).sum(axis=1), 0.0)
        logs = log_student(rss, seen.total, seen.scale)
        logs = logs - 0.5 * np.log(np.linalg.det(one + blocks / seen.scale.variance))
        for slot in range(g):
            part = slice(LOAD_COLUMNS * slot, LOAD_COLUMNS * slot + LOAD_COLUMNS)
            load = CauseFit(amplitudes[:, part], covariance[:, part, part], rss)
            prior = self._prior.at(bodies[:, slot])
            logs = logs + prior.log_mass(load, seen.total, seen.scale, own=False)
            logs = logs + prior.log_place(load, seen.total, seen.scale)
        return CauseFit(amplitudes, covariance, rss), logs

    def _load(
        self, known: LocatedCause, slot: int, best: int, near: NDArray[np.bool_], amplitudes: Array
    ) -> LocatedCause:
        """Return one of the two loads; its links are those of near pairs that share the other load's body.

        Args:
            known: What is known of both loads alike: their probability, and whether it is decided.
            slot: Which of the two, 0 or 1.
            best: Number of the most probable pair.
            near: Which pairs are nearly as probable, shape (n_pairs,).
            amplitudes: Of the regression on the pair.
        """
        body, other = self._pairs[best, slot], self._pairs[best, 1 - slot]
        links = [self._model.candidates.links[body]]
        for pair in self._pairs[near]:
            if other in pair:
                mine = pair[0] if pair[1] == other else pair[1]
                links.append(self._model.candidates.links[mine])
        part = slice(LOAD_COLUMNS * slot, LOAD_COLUMNS * slot + LOAD_COLUMNS)
        mass, com_L = self._model.candidates.load_in_link(body, amplitudes[part] * self._model.load_size)
        return replace(known, links=tuple(dict.fromkeys(links)), mass=mass, com_L=com_L)
