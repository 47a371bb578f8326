"""Design of an exciting trajectory: many random starts, the best of which is refined by L-BFGS.

The cost is the objective of the information plus penalties on collisions and torque limits.

Trajectories are parameterised by a vector, and all of them satisfy the joint limits:

    q_j(t) = c_j + g_j sum_k (a_jk cos w_k t + b_jk sin w_k t)

w_k are multiples of one base frequency; two linear conditions on a and b make velocity and acceleration zero
at both ends of the period, which are equal. The gain g_j is a share of the largest gain that satisfies the
limits of range, speed and acceleration of the joint, and the centre c_j lies in the remaining range. The
vector is therefore unbounded, and the joints are independent. Limits hold between samples:
max |x| <= max over samples + h^2/8 max |x''|.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.special import expit, logit

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.design_robot import EXTRA_CLEARANCE, DesignSpace, States
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.precision import objective
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.joint_trajectory import SineMotion
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

POINTS_PER_PERIOD = 60  # points per shortest period at which limits are evaluated
DESIGN_RATE_HZ = 10.0  # lowest rate at which the optimiser evaluates a trajectory [Hz]
FULL_GAIN = 0.95  # share of the largest gain in random motions
DIFFERENCE_STEP = 1e-7  # step of one-sided differences by the parameter vector


class MotionFamily:
    """All motions of one length and set of limits.

    Attributes:
        duration: Length of a motion [s].
        joints: Number of joints.
        size: Length of the vector of parameters of a motion.
    """

    def __init__(self, config: ExcitationConfig, limits: JointLimits) -> None:
        """Prepare the basis of motions within limits that are reduced by the margins.

        Raises:
            ConfigurationError: If the duration is too short for the frequencies.
        """
        self._limits, self._acceleration = limits, config.acceleration_limit
        self.duration, self.joints = config.duration, len(limits.lower)
        highest = config.highest_frequency
        periods = self.duration * highest
        if periods < 2.0:
            raise ConfigurationError(
                f"a duration of {self.duration:g} s holds {periods:.2g} periods of the highest "
                f"frequency, {highest:g} Hz, expected at least 2: make it {2.0 / highest:g} s or longer"
            )
        lowest = max(1, int(periods / config.terms + 1e-9))
        terms = min(config.terms, int(periods / lowest + 1e-9))
        self._frequencies = lowest / self.duration * np.arange(1, terms + 1)
        steps = int(np.ceil(self.duration * self._frequencies[-1] * POINTS_PER_PERIOD))
        self._every = max(1, int(steps / max(self.duration * DESIGN_RATE_HZ, 1.0)))
        steps = self._every * int(np.ceil(steps / self._every))
        self._step = self.duration / steps
        omega = 2.0 * np.pi * self._frequencies
        angle = np.linspace(0.0, self.duration, steps + 1)[:, None] * omega
        c, s = np.cos(angle), np.sin(angle)
        self._basis = [
            np.hstack(pair) for pair in ((c, s), (-omega * s, omega * c), (-(omega**2) * c, -(omega**2) * s))
        ]
        ends = np.stack([self._basis[1][0], self._basis[2][0]])
        self._free = linear_algebra.null_space(ends / np.linalg.norm(ends, axis=1, keepdims=True))
        self.size = self.joints * (self._free.shape[1] + 2)

    def random(self, rng: Generator) -> Array:
        """Draw a motion: Gaussian coefficients of about equal speeds, a random centre, nearly full gain."""
        z = np.zeros((self.joints, self._free.shape[1] + 2))
        drawn = rng.normal(size=(self.joints, len(self._free))) / np.tile(self._frequencies, 2)
        z[:, :-2] = drawn @ self._free
        z[:, :-2] /= np.linalg.norm(z[:, :-2], axis=1, keepdims=True)
        z[:, -2] = logit(rng.uniform(0.1, 0.9, self.joints))
        z[:, -1] = logit(FULL_GAIN)
        return z.ravel()

    def smaller(self, z: Array, share: float) -> Array:
        """Return the motion with all gains reduced to a share, towards the middle of the ranges."""
        z = z.reshape(self.joints, -1).copy()
        z[:, -1] = logit(share * expit(z[:, -1]))
        z[:, -2] *= share
        return z.ravel()

    def samples(self, z: Array) -> States:
        """Return the states at the samples of a design."""
        gain, centre, C = self._placed(z.reshape(self.joints, -1))
        q, v, a = (B[:: self._every] @ (gain[:, None] * C).T for B in self._basis)
        return States(q + centre, v, a)

    def chain(self, z: Array, by_q: Array, by_v: Array, by_a: Array) -> Array:
        """Turn derivatives by the sampled states, each (k, n), into those by the vector, shape (size,)."""
        Z, states = z.reshape(self.joints, -1), self.samples(z)
        gradient = np.empty_like(Z)
        for i in range(Z.shape[1]):
            moved = Z.copy()
            moved[:, i] += DIFFERENCE_STEP  # the joints are independent: all of them in one evaluation
            pairs = zip((by_q, by_v, by_a), self.samples(moved), states, strict=True)
            gradient[:, i] = sum((by * (new - old)).sum(axis=0) for by, new, old in pairs) / DIFFERENCE_STEP
        return gradient.ravel()

    def motion(self, z: Array) -> SineMotion:
        """Return the motion in closed form."""
        gain, centre, C = self._placed(z.reshape(self.joints, -1))
        a, b = np.split(gain[:, None] * C, 2, axis=1)
        frequencies = np.broadcast_to(self._frequencies, a.shape)
        return SineMotion(centre, np.hypot(a, b), frequencies, np.arctan2(a, b), 0.0, 0.0, self.duration)

    def _placed(self, Z: Array) -> tuple[Array, Array, Array]:
        """Return gain and centre of every joint, and the coefficients, shape (n, 2 terms)."""
        C = Z[:, :-2] @ self._free.T
        d, d1, d2 = (B @ C.T for B in self._basis)
        omega, amplitudes = 2.0 * np.pi * self._frequencies, np.hypot(*np.split(C, 2, axis=1))
        extra = [self._step**2 / 8.0 * (amplitudes * omega**order).sum(axis=1) for order in (2, 3, 4)]
        low, high = d.min(axis=0) - extra[0], d.max(axis=0) + extra[0]
        limits = self._limits
        room = limits.upper - limits.lower
        largest = np.minimum(room / (high - low), limits.velocity / (np.abs(d1).max(axis=0) + extra[1]))
        largest = np.minimum(largest, self._acceleration / (np.abs(d2).max(axis=0) + extra[2]))
        gain = expit(Z[:, -1]) * largest
        centre = limits.lower - gain * low + expit(Z[:, -2]) * (room - gain * (high - low))
        return gain, centre, C


Tick = Callable[[int], None]
"""Called with the number of steps done since the last call."""

OUTPUT_STEP_S = 0.01  # time between the samples that are written and checked for collisions [s]
REFINEMENT_ROUNDS = 4  # rounds with an increasing penalty until the result is free of collisions
PENALTY_GROWTH = 10.0
GAIN_SHRINK = 0.9  # factor of each reduction of the gains
SMALLEST_REFINED = 0.3  # share of the designed gains down to which they are reduced
LEAST_IMPROVEMENT = 1e-3  # decrease of the (logarithmic) objective below which L-BFGS is not restarted
DISTANCE_STEP = 1e-5  # step of the finite differences of distances [rad]
EFFORT_PENALTY = 300.0  # penalty per squared excess of the share of a torque limit
TORQUE_PENALTY_SHARE = 0.98  # share of the allowed torque from which the penalty begins
OBJECTIVE_SHARPNESS = 8.0  # p of the p-norm that replaces the maximum during the optimisation
COLLISION_PENALTY = 5.0  # penalty of one sample whose clearance is a centimetre too small
COLLIDING_DRAWS = 20  # number of random motions that may violate the limits before the gains are reduced
SMALLEST_GAIN = 0.05  # smallest share of the gains of random motions


class TrajectoryProblem:
    """The objective of one kind of trajectory of one robot.

    Attributes:
        family: The family of trajectories.
        space: The robot, its rows and its collisions.
    """

    def __init__(self, family: MotionFamily, space: DesignSpace) -> None:
        self.family, self.space = family, space
        self._config, self._rows = space.config, space.rows

    def value(self, z: Array) -> float:
        """Return the objective without penalties."""
        samples = self.family.samples(z)
        A = self._rows.stacked(*samples)
        return objective(self._config.objective, A.T @ A, self._rows.base)[0]

    def value_and_gradient(self, z: Array, weight: float = 1.0) -> tuple[float, Array]:
        """Return the sum of smoothed objective and weighted penalty, and its gradient, shape (size,)."""
        samples = self.family.samples(z)
        A = self._rows.stacked(*samples)
        value, G = objective(self._config.objective, A.T @ A, self._rows.base, OBJECTIVE_SHARPNESS)
        effort, by_torque = self._effort_penalty(samples)
        by_q, by_v, by_a = self._rows.gradient(*samples, G, weight * by_torque)
        nearness, by_posture = self._nearness_penalty(samples.q)
        gradient = self.family.chain(z, by_q + weight * by_posture, by_v, by_a)
        return value + weight * (nearness + effort), gradient

    def random(self, rng: Generator) -> Array:
        """Draw a feasible trajectory with gains as large as random draws allow.

        Raises:
            ConfigurationError: If no draw is free of collisions within the torque limits, even with the
                smallest gains.
        """
        wanted, share = self._config.clearance + EXTRA_CLEARANCE / 2.0, 1.0
        while share > SMALLEST_GAIN:
            for _ in range(COLLIDING_DRAWS):
                z = self.family.smaller(self.family.random(rng), share)
                samples = self.family.samples(z)
                strong = self.space.torque_share(*samples) <= self._config.torque_share
                if strong and self.space.is_free(samples.q, wanted):
                    return z
            share *= GAIN_SHRINK
        raise ConfigurationError(
            f"{COLLIDING_DRAWS} random motions of each size come closer than {wanted:g} m to a collision "
            f"({self._where()}), or need more than {self._config.torque_share:g} of a torque limit; choose "
            "other joints, a smaller clearance, or a larger torque_share"
        )

    def _where(self) -> str:
        q = self._rows.design.home
        distance, (first, second) = self.space.collision.closest(q)
        return f"in the middle of all ranges '{first}' and '{second}' are {distance:.3f} m apart"

    def _effort_penalty(self, samples: States) -> tuple[float, Array]:
        shares, allowed = self._rows.torque_shares(*samples), self._config.torque_share
        excess = np.maximum(np.abs(shares) / allowed - TORQUE_PENALTY_SHARE, 0.0)
        slope = 2.0 * EFFORT_PENALTY * excess * np.sign(shares) / allowed
        return EFFORT_PENALTY * float((excess**2).sum()), slope / self._rows.torque_limits

    def _nearness_penalty(self, q: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(q)
        if not self.space.collision.checks:
            return 0.0, gradient
        wanted, scale = self._config.clearance + EXTRA_CLEARANCE, COLLISION_PENALTY / EXTRA_CLEARANCE**2
        full = self.space.postures(q)
        lacking = np.zeros(len(q))
        for k in (k for k, posture in enumerate(full) if self.space.collision.closer_than(posture, wanted)):
            lacking[k] = max(wanted - self.space.collision.clearance(full[k]), 0.0)
            for i, j in enumerate(self._rows.design.moving):
                moved = full[k].copy()
                moved[j] += DISTANCE_STEP
                change = wanted - self.space.collision.clearance(moved) - lacking[k]
                gradient[k, i] = 2.0 * scale * lacking[k] * change / DISTANCE_STEP
        return float(scale * (lacking**2).sum()), gradient


def design_trajectory(problem: TrajectoryProblem, rng: Generator, tick: Tick) -> tuple[Array, float]:
    """Design the trajectory with the smallest objective that is found, free of collisions.

    Returns:
        Its vector in its family, and the factor by which its gains were reduced to avoid collisions, 1 if
        there were none.

    Raises:
        ConfigurationError: If no trajectory keeps the clearance.
    """
    config, starts = problem.space.config, []
    for _ in range(config.starts):
        starts.append(problem.random(rng))
        tick(1)
    z, share, clearance = _refined(problem, min(starts, key=problem.value), tick)
    if clearance < config.clearance:
        raise ConfigurationError(
            f"no trajectory with a clearance of {config.clearance:g} m was found, the best has "
            f"{clearance:.3f} m; try other joints, more starts, or less clearance"
        )
    return z, share


def _refined(problem: TrajectoryProblem, z: Array, tick: Tick) -> tuple[Array, float, float]:
    """Refine one start; the penalty grows until the limits also hold between the samples.

    Returns:
        The vector, the share to which the gains were reduced, and the smallest distance of links [m].
    """
    config, weight = problem.space.config, 1.0
    for round_number in range(REFINEMENT_ROUNDS):
        iterations = config.iterations if round_number == 0 else -(-config.iterations // 4)
        z = _descended(problem, z, weight, iterations, tick)
        clearance, torque = _checked(problem, z)
        if (clearance >= config.clearance and torque <= config.torque_share) or not iterations:
            break
        weight *= PENALTY_GROWTH
    share = 1.0
    while clearance < config.clearance and share > SMALLEST_REFINED:
        share *= GAIN_SHRINK
        z = problem.family.smaller(z, GAIN_SHRINK)
        clearance, _torque = _checked(problem, z)
    return z, share, clearance


def _descended(problem: TrajectoryProblem, z: Array, weight: float, iterations: int, tick: Tick) -> Array:
    """Run L-BFGS, and restart it if it stops at a point where the limits are not differentiable."""
    left, value = iterations, np.inf
    while left > 0:
        found = minimize(
            problem.value_and_gradient,
            z,
            args=(weight,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": left, "maxfun": 2 * left + 10, "maxcor": 20},
            callback=lambda _z: tick(1),
        )
        left -= max(int(found.nit), 1)
        stuck = found.nit == 0 or value - float(found.fun) < LEAST_IMPROVEMENT
        z, value = found.x, float(found.fun)
        if stuck:
            break
    return z


def _checked(problem: TrajectoryProblem, z: Array) -> tuple[float, float]:
    """Return smallest clearance [m] and largest share of a torque limit at the times that are written."""
    times = np.arange(0.0, problem.family.duration, OUTPUT_STEP_S)
    states = problem.family.motion(z).at(times)
    return problem.space.clearance(states[0]), problem.space.torque_share(*states)
