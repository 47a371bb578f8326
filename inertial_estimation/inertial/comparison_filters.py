"""The papers' filters on the same equation: log-Cholesky EKF (F 16-22), linear Kalman (F 8-15).

h(x) = A phi(x), H = A dphi/dx, Joseph update, the gate (F 22) with a chi-square quantile, and an inflation of
the covariance after a long rejection. Between measurements parameters return to nominal with a time constant,
in place of the random walk of the paper. Every measurement is used at once, without a bank of causes.
"""

import numpy as np
from scipy.special import chdtri

from inertial_estimation.inertial.noise import EquationBlock
from inertial_estimation.inertial.posterior import Linearisation, Posterior, Unknowns, with_blocks
from inertial_estimation.signals import Array, Decision
from inertial_estimation.spatial import linear_algebra

QUANTILE = 0.999  # of the innovation gate, and of the bound that is reported with a NIS

REOPENED_S = 0.1  # length of a rejection after which the covariance is inflated: a load, no impact [s]
MEMORY_S = 2.0  # time constant of the return to nominal, short enough to track a swinging load [s]


def nis_bound(rows: int) -> float:
    """Return the quantile of the normalised innovation squared of a number of rows."""
    return float(chdtri(rows, 1.0 - QUANTILE))


class LogCholeskyEkf:
    """The physically consistent EKF of Foster et al., in either convention.

    Attributes:
        unknowns: Prior and map of the state.
        posterior: State and covariance.
        overlap: Measurements for each independent one.
        memory: Time constant with which parameters return to nominal [s].
        gated: Whether unlikely measurements are rejected.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        *,
        overlap: float = 1.0,
        memory: float = MEMORY_S,
        gated: bool = True,
    ) -> None:
        """Start at the nominal parameters; arguments as the attributes."""
        self.unknowns, self.overlap, self.memory, self.gated = unknowns, overlap, memory, gated
        self.reset()

    def reset(self) -> None:
        """Return to the nominal parameters."""
        self.posterior = Posterior(self._at(self._nominal), self._prior)
        self._rejected_s = 0.0

    @property
    def _nominal(self) -> Array:
        return self.unknowns.nominal

    @property
    def _prior(self) -> Array:
        return self.unknowns.prior_covariance

    def _at(self, x: Array) -> Linearisation:
        return self.unknowns.at(self.unknowns.bounded(x))

    def innovation(self, block: EquationBlock) -> Array:
        """Return measured minus predicted, shape (m,)."""
        return block.value - block.A @ self.posterior.at.phi

    def update(self, block: EquationBlock) -> Decision:
        """Predict over the time of a measurement, test it, and correct the state.

        Args:
            block: The measurement.
        """
        self._predict(block.dt)
        y, H = self.innovation(block), block.A @ self.posterior.at.D
        R = self.overlap * block.noise
        if self.gated and not self._accepts(y, H, block.noise, block.dt):
            if self._rejected_s < REOPENED_S:
                return Decision.REJECTED
            self._reopen()
            self._rejected_s = 0.0
            self._correct(y, H, R)
            return Decision.REOPENED
        self._correct(y, H, R)
        return Decision.ACCEPTED

    def _predict(self, dt: float) -> None:
        x, P = self.posterior.x, self.posterior.P
        keep = np.exp(-dt / self.memory)
        moved = self._nominal + keep * (x - self._nominal)
        self.posterior = Posterior(self._at(moved), keep**2 * P + (1.0 - keep**2) * self._prior)

    def _accepts(self, y: Array, H: Array, R: Array, dt: float) -> bool:
        nis = float(y @ linear_algebra.solve(H @ self.posterior.P @ H.T + R, y))
        accepted = nis <= nis_bound(len(y))
        self._rejected_s = max(0.0, self._rejected_s + (-dt if accepted else dt))
        return accepted

    def _reopen(self) -> None:
        n, P = self.unknowns.n_inertial, self.posterior.P.copy()
        P[:n], P[:, :n] = 0.0, 0.0
        P[:n, :n] = self._prior[:n, :n]
        self.posterior = Posterior(self.posterior.at, P)

    def _correct(self, y: Array, H: Array, R: Array) -> None:
        P = self.posterior.P
        K = linear_algebra.solve(H @ P @ H.T + R, H @ P).T
        J = np.eye(len(P)) - K @ H
        self.posterior = Posterior(self._at(self.posterior.x + K @ y), J @ P @ J.T + K @ R @ K.T)


class LinearKalman(LogCholeskyEkf):
    """The Kalman filter in the parameters themselves, in C: estimates may be inconsistent."""

    @property
    def _nominal(self) -> Array:
        at = self.unknowns.at(self.unknowns.nominal)
        return np.concatenate((at.pi_C.ravel(), self.unknowns.nominal[self.unknowns.n_inertial :]))

    @property
    def _prior(self) -> Array:
        T = self._scaling(self.unknowns.at(self.unknowns.nominal).G)
        P: Array = T @ self.unknowns.prior_covariance @ T.T
        return P

    def _scaling(self, blocks: Array) -> Array:
        """Return a block diagonal matrix of the bodies, identity for the others."""
        return with_blocks(np.eye(self.unknowns.size), blocks)

    def _at(self, x: Array) -> Linearisation:
        n, bodies = self.unknowns.n_inertial, self.unknowns.bodies
        to_joint, pi_C = np.array([body.to_joint for body in bodies]), x[:n].reshape(-1, 10)
        identity = np.broadcast_to(np.eye(10), (len(bodies), 10, 10))
        return Linearisation(x, self._scaling(to_joint) @ x, pi_C, identity, to_joint)
