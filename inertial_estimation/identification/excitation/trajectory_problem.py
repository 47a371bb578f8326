"""Cost of a trajectory: objective of its information, and penalties on collisions and torque limits."""

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.design_rows import DesignRows
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.information import objective
from inertial_estimation.identification.excitation.motion_family import MotionFamily, MotionSamples
from inertial_estimation.models.self_collision import SelfCollision
from inertial_estimation.signals import Array

DISTANCE_STEP = 1e-5  # step of the finite differences of distances [rad]
EXTRA_CLEARANCE = 0.01  # added to the requested clearance, since the samples are sparse [m]
EFFORT_PENALTY = 300.0  # per squared excess of the share of a torque limit
TORQUE_PENALTY_SHARE = 0.98  # share of the allowed torque from which the penalty begins
OBJECTIVE_SHARPNESS = 8.0  # p of the p-norm that replaces the maximum during the optimisation
COLLISION_PENALTY = 5.0  # of one sample whose clearance is a centimetre too small
COLLIDING_DRAWS = 20  # random motions that violate the limits before the gains are reduced
GAIN_SHRINK, SMALLEST_GAIN = 0.9, 0.05  # factor of each reduction, and the least gain


class TrajectoryProblem:
    """The objective of one kind of trajectory of one robot.

    Attributes:
        family: The family of trajectories.
        rows: Computes the rows along a trajectory.
        collision: Distances between the links.
    """

    def __init__(
        self, config: ExcitationConfig, family: MotionFamily, rows: DesignRows, collision: SelfCollision
    ) -> None:
        self.family, self.rows, self.collision = family, rows, collision
        self._objective, self._clearance = config.objective, config.clearance
        self._torque_share = config.torque_share

    def information(self, z: Array) -> Array:
        """Return the rows of all unknowns at the samples of a design, shape (k m, n)."""
        samples = self.family.samples(z)
        return self.rows.stacked(samples.q, samples.v, samples.a)

    def value(self, z: Array) -> float:
        """Return the objective without the penalty."""
        A = self.information(z)
        return objective(self._objective, A.T @ A, self.rows.base)[0]

    def value_and_gradient(self, z: Array, weight: float = 1.0) -> tuple[float, Array]:
        """Return the sum of smoothed objective and penalty, and its gradient, shape (size,).

        Args:
            z: Vector of the trajectory.
            weight: Weight of the penalty.
        """
        samples = self.family.samples(z)
        A = self.rows.stacked(samples.q, samples.v, samples.a)
        value, G = objective(self._objective, A.T @ A, self.rows.base, OBJECTIVE_SHARPNESS)
        effort, by_torque = self._effort_penalty(samples)
        weighted = weight * by_torque if effort else None
        by_q, by_v, by_a = self.rows.gradient(samples.q, samples.v, samples.a, G, weighted)
        nearness, by_posture = self._nearness_penalty(samples.q)
        gradient = self.family.chain(z, by_q + weight * by_posture, by_v, by_a)
        return value + weight * (nearness + effort), gradient

    def clearance(self, q: Array) -> float:
        """Return the smallest distance of links along postures of the moving joints, shape (k, n)."""
        if not self.collision.checks:
            return float("inf")
        return float(self.collision.clearances(self.rows.full(q, self.rows.design.home)).min())

    def torque_share(self, states: tuple[Array, Array, Array]) -> float:
        """Return the largest share of a torque limit at states of the moving joints."""
        return float(np.abs(self.rows.torque_shares(*states)).max())

    def random(self, rng: Generator) -> Array:
        """Draw a feasible trajectory with gains as large as random draws allow.

        Raises:
            ConfigurationError: If no draw is free of collisions within the torque limits, even with the
                smallest gains.
        """
        wanted, share = self._clearance + EXTRA_CLEARANCE / 2.0, 1.0
        while share > SMALLEST_GAIN:
            for _ in range(COLLIDING_DRAWS):
                z = self.family.smaller(self.family.random(rng), share)
                if self._is_free(z, wanted):
                    return z
            share *= GAIN_SHRINK
        raise ConfigurationError(
            f"{COLLIDING_DRAWS} random motions of each size come closer than {wanted:g} m to a collision "
            f"({self._where()}), or need more than {self._torque_share:g} of a torque limit; choose other "
            "joints, a smaller clearance, or a larger torque_share"
        )

    def _is_free(self, z: Array, wanted: float) -> bool:
        samples = self.family.samples(z)
        if self.torque_share((samples.q, samples.v, samples.a)) > self._torque_share:
            return False
        if not self.collision.checks:
            return True
        postures = self.rows.full(samples.q, self.rows.design.home)
        return not any(self.collision.closer_than(posture, wanted) for posture in postures)

    def _where(self) -> str:
        q = self.rows.design.home
        first, second = self.collision.closest_pair(q)
        distance = self.collision.clearance(q)
        return f"in the middle of all ranges '{first}' and '{second}' are {distance:.3f} m apart"

    def _effort_penalty(self, samples: MotionSamples) -> tuple[float, Array]:
        shares = self.rows.torque_shares(samples.q, samples.v, samples.a)
        excess = (
            np.maximum(np.abs(shares) - TORQUE_PENALTY_SHARE * self._torque_share, 0.0) / self._torque_share
        )
        slope = 2.0 * EFFORT_PENALTY * excess * np.sign(shares) / self._torque_share
        return EFFORT_PENALTY * float((excess**2).sum()), slope / self.rows.torque_limits

    def _nearness_penalty(self, q: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(q)
        if not self.collision.checks:
            return 0.0, gradient
        wanted, scale = self._clearance + EXTRA_CLEARANCE, COLLISION_PENALTY / EXTRA_CLEARANCE**2
        full = self.rows.full(q, self.rows.design.home)
        lacking = np.zeros(len(q))
        for k in (k for k, posture in enumerate(full) if self.collision.closer_than(posture, wanted)):
            lacking[k] = max(wanted - self.collision.clearance(full[k]), 0.0)
            for i, j in enumerate(self.rows.design.moving):
                moved = full[k].copy()
                moved[j] += DISTANCE_STEP
                change = wanted - self.collision.clearance(moved) - lacking[k]
                gradient[k, i] = 2.0 * scale * lacking[k] * change / DISTANCE_STEP
        return float(scale * (lacking**2).sum()), gradient
