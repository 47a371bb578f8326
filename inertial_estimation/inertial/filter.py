"""The inertial filter on information: learn blocks of equations, keep the most probable consistent bodies."""

import numpy as np

from inertial_estimation.errors import NumericalError
from inertial_estimation.inertial.information import GroupedInformation, RowBlock
from inertial_estimation.inertial.noise import NoiseScale
from inertial_estimation.inertial.posterior import Posterior, informed_part, most_probable
from inertial_estimation.inertial.unknowns import Unknowns
from inertial_estimation.signals import Array

DRIFT_PERIOD_S = 10.0  # between two steps of the drift of errors of sensors [s]


class InformationFilter:
    """Learns the unknowns of a robot from blocks of its equations.

    Attributes:
        unknowns: Prior and map of the state.
        noise: Scale of the stated noise.
        data: Information of all blocks learned.
        posterior: Most probable state.
        centre: Mean of the prior, nominal but for bodies that carry a load, shape (n,).
        memory: Time constant with which the data are forgotten [s].
        considered: Whether errors of sensors are considered, not estimated.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        noise: NoiseScale,
        memory: float,
        *,
        considered: bool = False,
        drift_s: float = 1000.0,
    ) -> None:
        """Begin at the nominal parameters; arguments as attributes, and the time of drifts [s]."""
        self.unknowns, self.noise, self.memory, self.considered = unknowns, noise, memory, considered
        self._drift_s = drift_s
        self.reset()

    def reset(self) -> None:
        """Return to the nominal parameters."""
        n = self.unknowns.size
        self.noise.reset()
        self.data = GroupedInformation(self.noise.groups, n)
        self.posterior = Posterior(self.unknowns.at(self.unknowns.nominal), self.unknowns.prior_covariance)
        self._undrifted = 0.0
        self.centre: Array = self.unknowns.nominal.copy()

    def innovation(self, block: RowBlock) -> Array:
        """Return measured minus predicted, shape (m,)."""
        return block.value - block.A @ self.posterior.at.phi

    def predicted_variance(self, block: RowBlock) -> Array:
        """Return the variance of the prediction of each row, the diagonal of H P H', shape (m,)."""
        H = block.A @ self.posterior.at.D
        variance: Array = (H @ self.posterior.P * H).sum(axis=1)
        return variance

    def learn(self, *blocks: RowBlock) -> None:
        """Learn from blocks, and move to the most probable state once.

        Args:
            blocks: The equations.
        """
        before = self.data.copy()
        for block in blocks:
            weights = self.noise.see(block, self.innovation(block), self.predicted_variance(block))
            self.data.discount(float(np.exp(-block.dt / self.memory)))
            self.data.add(block, weights)
            self._drift(block.dt)
        try:
            self.solve()
        except NumericalError:
            self.data = before
            raise

    def _drift(self, dt: float) -> None:
        """Let the errors of sensors vary: each is a random process of its prior variance."""
        k = self.unknowns.n_inferred
        self._undrifted += dt
        if k == self.unknowns.size or self._undrifted < DRIFT_PERIOD_S:
            return
        variance = self.unknowns.errors.sigma**2 * (2.0 * self._undrifted / self._drift_s)
        self.data.open(np.eye(self.unknowns.size)[:, k:], np.diag(variance), self.noise.weights)
        self._undrifted = 0.0

    def open(self, body: int, covariance: Array) -> None:
        """Admit a change of the parameters of a body.

        Args:
            body: Its number.
            covariance: Of the change about the joint frame, shape (10, 10).
        """
        columns = np.eye(self.unknowns.size)[:, self.unknowns.of_body(body)]
        self.data.open(columns, covariance, self.noise.weights)

    def expect(self, body: int) -> None:
        """Expect a body to be as the data say now: with a load, and no more as the description has it.

        Args:
            body: Its number.
        """
        place = self.unknowns.of_body(body)
        self.centre[place] = informed_part(self.unknowns, self.posterior, self.centre).x[place]

    def add_body(self, unknowns: Unknowns) -> None:
        """Estimate one more body, the last of other unknowns; the data say nothing of it so far.

        Args:
            unknowns: The same with one more body, after the others.
        """
        n, k = self.unknowns.n_inertial, self.unknowns.size
        kept = np.concatenate((np.arange(n), np.arange(n, k) + 10))
        x, centre = unknowns.nominal.copy(), unknowns.nominal.copy()
        x[kept], centre[kept] = self.posterior.x, self.centre
        self.centre = centre
        self.data = self.data.spread(kept, unknowns.size)
        self.unknowns = unknowns
        self.posterior = Posterior(unknowns.at(x), self.posterior.P)
        self.solve()

    def solve(self) -> None:
        """Move to the most probable state."""
        data, spread = self.data.weighted(self.noise.weights), self.data.weighted(self.noise.cautious_weights)
        self.posterior = most_probable(
            self.unknowns,
            data,
            self.posterior.at,
            centre=self.centre,
            spread=spread[0],
            n_free=self.unknowns.n_inferred if self.considered else None,
        )
