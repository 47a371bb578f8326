"""The inertial filter in information form: accumulates equations, keeps the most probable consistent bodies.

With stated covariance R_0 of a block of rows and scales s_g of the noise of its groups, R = D R_0 D, so

    A' R^-1 A = sum_gh Lambda_gh / (s_g s_h),    Lambda_gh = A_g' (R_0^-1)_gh A_h

Uncertain parameters that are not estimated, amplitudes c ~ N(0, 1) with columns C, are considered (Schmidt
1966): estimates are those of c = 0, and their covariance is P + K K', K = P A' R^-1 C.

The sums over all blocks are kept without the scales, so that data learned while the noise was not yet known
are weighted by the present scales, and a wrong stated noise loses its effect.
"""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.errors import NumericalError
from inertial_estimation.inertial.noise import PROJECTED, EquationBlock, NoiseScale
from inertial_estimation.inertial.posterior import Posterior, Unknowns, informed_part, most_probable
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


class GroupedInformation:
    """Information of all data learned about phi; its arrays are replaced, never changed.

    Attributes:
        groups: Group of each row, shape (m,).
        matrices: Lambda_gh for pairs g <= h, plus Lambda_hg if they differ, then the same of considered
            parameters, A_g' (R_0^-1)_gh C_h, shape (pairs, n, n + k).
        vectors: A_g' (R_0^-1)_gh value_h of the same pairs, shape (pairs, n).
        settled: Information whose weights are final, shape (n, n + k).
        settled_vector: Information vector whose weights are final, shape (n,).
    """

    def __init__(self, groups: Indices, size: int, considered: int = 0) -> None:
        """Start without data.

        Args:
            groups: Group of each row, from zero on, shape (m,).
            size: Number of parameters, n.
            considered: Number of considered amplitudes, k.
        """
        self.groups, self._of_pairs = groups, np.triu_indices(int(groups.max()) + 1)
        g, h = (one[:, None, None] for one in self._of_pairs)
        row, column = groups[:, None], groups
        pairs = ((row == g) & (column == h)) | ((row == h) & (column == g))  # entries of each, (pairs, m, m)
        self._pairs: Array = pairs.astype(float)
        shape = size, size + considered
        self.matrices, self.vectors = np.zeros((len(pairs), *shape)), np.zeros((len(pairs), size))
        self.settled, self.settled_vector = np.zeros(shape), np.zeros(size)

    def embedded(self, kept: Indices, size: int) -> "GroupedInformation":
        """Return the same information about a larger parameter vector, with none about the new parameters.

        Args:
            kept: Indices of the present parameters in the larger vector.
            size: Size of the larger vector.
        """
        considered = self.settled.shape[1] - len(self.settled)
        other = GroupedInformation(self.groups, size, considered)
        rows, columns = kept[:, None], np.concatenate((kept, size + np.arange(considered)))
        other.matrices[:, rows, columns], other.vectors[:, kept] = self.matrices, self.vectors
        other.settled[rows, columns], other.settled_vector[kept] = self.settled, self.settled_vector
        return other

    def add(self, block: EquationBlock, weights: Array) -> None:
        """Add the information of a block.

        Args:
            block: The equations.
            weights: Student weight of each row, at most one, shape (m,).
        """
        root = np.sqrt(weights)
        precision = root[:, None] * linear_algebra.inv(block.noise) * root
        left = block.A.T @ (self._pairs * precision)
        self.matrices = self.matrices + left @ block.columns
        self.vectors = self.vectors + left @ block.value

    def weighted(self, weights: Array) -> tuple[Array, Array]:
        """Return Lambda and eta at given scales of the noise.

        Args:
            weights: w_g = 1 / (s_g sqrt(c_g)) of each group, shape (count,).

        Returns:
            Shapes (n, n + k) and (n,).
        """
        g, h = self._of_pairs
        of_pairs = weights[g] * weights[h]
        sums = (of_pairs @ self.matrices.reshape(len(g), -1)).reshape(self.settled.shape)
        return self.settled + sums, self.settled_vector + of_pairs @ self.vectors

    def settle(self, weights: Array) -> None:
        """Fix the weights of all present information."""
        self.settled, self.settled_vector = self.weighted(weights)
        self.matrices, self.vectors = np.zeros_like(self.matrices), np.zeros_like(self.vectors)

    def discount(self, share: float) -> None:
        """Keep a share of all present information."""
        self.matrices, self.vectors = share * self.matrices, share * self.vectors
        self.settled, self.settled_vector = share * self.settled, share * self.settled_vector

    def admit_change(self, step: Array, weights: Array) -> None:
        """Apply process noise: the parameters take a random step phi += U z with z ~ N(0, 1).

        The information about phi + U z is Lambda - Lambda U (1 + U' Lambda U)^-1 U' Lambda.

        Args:
            step: U, shape (n, k).
            weights: As for `weighted`.
        """
        self.settle(weights)
        n = len(step)
        LU = self.settled[:, :n] @ step
        root = linear_algebra.cholesky(np.eye(step.shape[1]) + step.T @ LU)
        rest = step.T @ np.column_stack((self.settled[:, n:], self.settled_vector))
        lost = linear_algebra.solve(root, np.hstack((LU.T, rest)))
        own, rest = lost[:, :n], lost[:, :n].T @ lost[:, n:]
        self.settled = self.settled - np.hstack((own.T @ own, rest[:, :-1]))
        self.settled_vector = self.settled_vector - rest[:, -1]


MEMORY_S = 1e5  # time constant of forgetting: parts wear, and models are never exact [s]
DRIFT_S = 1000.0  # time constant of the drift of sensor errors, as by warming up [s]
PERIOD_S = 10.0  # time between two steps of that drift, and longest mean of equations at rest [s]


@dataclass(frozen=True, eq=False)
class RestMean:
    """Mean of the equations of a robot at rest.

    Regressors contain the noise of measured accelerations. Where there is no motion, products of this noise
    would count as information that grows with every equation; those of a mean stay small.

    Attributes:
        block: Mean of the equations, with the noise of one of them.
        weights: Mean of the Student weights, shape (m,).
        count: Number of equations.
    """

    block: EquationBlock
    weights: Array
    count: int = 1

    def continues(self, block: EquationBlock) -> bool:
        """Return whether a block belongs to the same rest, with the same readings."""
        same = block.at_rest and np.array_equal(block.reached, self.block.reached)
        return same and self.block.dt < PERIOD_S

    def including(self, block: EquationBlock, weights: Array) -> "RestMean":
        """Return the mean with one more block.

        Args:
            block: The equations.
            weights: Student weight of each row, shape (m,).
        """
        mean, share = self.block, 1.0 / (self.count + 1)
        parts = {
            name: old + share * (getattr(block, name) - old)
            for name in ("A", "value", "noise", "considered")
            if (old := getattr(mean, name)) is not None
        }
        mean = replace(mean, dt=mean.dt + block.dt, **parts)
        return RestMean(mean, self.weights + share * (weights - self.weights), self.count + 1)

    def added_to(self, data: GroupedInformation) -> GroupedInformation:
        """Return information plus that of all equations with the mean in place of each."""
        total = copy(data)
        total.add(replace(self.block, noise=self.block.noise / self.count), self.weights)
        return total


class InformationFilter:
    """Estimates the unknowns of a robot from blocks of its equations.

    Attributes:
        described: Prior and map of the state by the description, to which a reset returns.
        unknowns: The same with the loads that have been detected.
        noise: Scale of the stated noise.
        data: Information of all blocks learned.
        posterior: Most probable state and its covariance.
        centre: Mean of the prior, nominal except for bodies that carry a load.
    """

    def __init__(self, unknowns: Unknowns, noise: NoiseScale, considered: int = 0) -> None:
        """Start at the nominal parameters.

        Args:
            unknowns: As attribute.
            noise: As attribute.
            considered: Number of considered amplitudes.
        """
        self.described, self.noise, self._considered = unknowns, noise, considered
        self.reset()

    def reset(self) -> None:
        """Return to the nominal parameters."""
        self.unknowns = self.described
        self.noise.reset()
        self.data = GroupedInformation(self.noise.groups, self.unknowns.size, self._considered)
        self._rest: RestMean | None = None  # equations at rest that are not in `data` yet
        self.centre = self.unknowns.at(self.unknowns.nominal)
        self.posterior = Posterior(self.centre, self.unknowns.prior_covariance)
        self._undrifted = 0.0

    def innovation(self, block: EquationBlock) -> Array:
        """Return measured minus predicted, shape (m,)."""
        return block.value - block.A @ self.posterior.at.phi

    def predicted_variance(self, block: EquationBlock) -> Array:
        """Return the variance of the prediction of each row, the diagonal of H P H', shape (m,)."""
        H = block.A @ self.posterior.at.D
        variance: Array = (H @ self.posterior.P * H).sum(axis=1)
        return variance

    def learn(self, *blocks: EquationBlock) -> None:
        """Add the information of blocks, then move to the most probable state once.

        Args:
            blocks: The equations.
        """
        before, self.data = (self.data, self._rest), copy(self.data)
        for block in blocks:
            weights = self.noise.see(block, self.innovation(block), self.predicted_variance(block))
            self.data.discount(float(np.exp(-block.dt / MEMORY_S)))
            self._add(block, weights)
            self._drift(block.dt)
        try:
            self.solve()
        except NumericalError:
            self.data, self._rest = before
            raise

    def _add(self, block: EquationBlock, weights: Array) -> None:
        """Add a block to the information, or to the mean of the present rest."""
        if self._rest is not None and self._rest.continues(block):
            self._rest = self._rest.including(block, weights)
            return
        self._end_rest()
        if block.at_rest and PROJECTED not in self.noise.names:
            self._rest = RestMean(block, weights)
        else:
            self.data.add(block, weights)

    def _end_rest(self) -> None:
        """Add the mean of the present rest to the information."""
        if self._rest is not None:
            self.data, self._rest = self._rest.added_to(self.data), None

    def discount(self, share: float) -> None:
        """Keep a share of all present information and of the statistics of the noise."""
        self._end_rest()
        self.data.discount(share)
        self.noise.discount(share)

    def _drift(self, dt: float) -> None:
        """Apply the drift of the sensor errors, each a random process with its prior variance."""
        k = self.unknowns.n_inferred
        self._undrifted += dt
        if k == self.unknowns.size or self._undrifted < PERIOD_S:
            return
        self._end_rest()
        sigma = self.unknowns.errors.sigma * np.sqrt(2.0 * self._undrifted / DRIFT_S)
        self.data.admit_change(np.eye(self.unknowns.size)[:, k:] * sigma, self.noise.weights)
        self._undrifted = 0.0

    def admit_change(self, body: int, step: Array) -> None:
        """Apply process noise to the parameters of a body.

        Args:
            body: Index of the body.
            step: Root S of the covariance S S' of the change, about the joint frame, shape (10, k).
        """
        self._end_rest()
        columns = np.eye(self.unknowns.size)[:, self.unknowns.of_body(body)]
        self.data.admit_change(columns @ step, self.noise.weights)

    def carry(self, body: int, load: float) -> None:
        """Widen the prior of a body by a load that it carries.

        Args:
            body: Index of the body.
            load: Expected mass of the load [kg].
        """
        self.unknowns = self.unknowns.carrying(body, load)

    def expect(self, body: int) -> None:
        """Move the mean of a body's prior to the estimate: it has a load that the description lacks.

        Args:
            body: Index of the body.
        """
        place, x = self.unknowns.of_body(body), self.centre.x.copy()
        x[place] = informed_part(self.unknowns, self.posterior, x).x[place]
        self.centre = self.unknowns.at(x)

    def add_body(self, unknowns: Unknowns) -> None:
        """Add a body to the state, about which there is no information yet.

        Args:
            unknowns: The present unknowns with one more body after the others.
        """
        self._end_rest()
        n, k = self.unknowns.n_inertial, self.unknowns.size
        kept = np.concatenate((np.arange(n), np.arange(n, k) + 10))
        x, centre = unknowns.nominal.copy(), unknowns.nominal.copy()
        x[kept], centre[kept] = self.posterior.x, self.centre.x
        self.centre = unknowns.at(centre)
        self.data = self.data.embedded(kept, unknowns.size)
        self.described = unknowns
        for body, load in enumerate(self.unknowns.loads):
            unknowns = unknowns.carrying(body, load)
        self.unknowns, P = unknowns, unknowns.prior_covariance.copy()
        P[np.ix_(kept, kept)] = self.posterior.P
        self.posterior = Posterior(unknowns.at(x), P)

    def solve(self) -> None:
        """Move to the most probable state."""
        n, weights = self.unknowns.size, (self.noise.weights, self.noise.cautious_weights)
        data = self.data if self._rest is None else self._rest.added_to(self.data)
        (Lambda, eta), (cautious, _eta) = (data.weighted(w) for w in weights)
        found = most_probable(
            self.unknowns,
            (Lambda[:, :n], eta),
            self.posterior.at,
            centre=self.centre,
            cautious=cautious[:, :n],
        )
        self.posterior = replace(found, considered=found.P @ (found.at.D.T @ Lambda[:, n:]))
