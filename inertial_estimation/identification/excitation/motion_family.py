"""Trajectories parameterised by a vector, all of which satisfy the joint limits by construction.

    q_j(t) = c_j + g_j sum_k (a_jk cos w_k t + b_jk sin w_k t)

w_k are multiples of one base frequency; two linear conditions on a and b make velocity and acceleration zero
at both ends of the period, which are equal. The gain g_j is a share of the largest gain that satisfies the
limits of range, speed and acceleration of the joint, and the centre c_j lies in the remaining range. The
vector is therefore unbounded, and the joints are independent. Limits hold between samples:
max |x| <= max over samples + h^2/8 max |x''|.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import expit, logit

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.joint_trajectory import SineMotion
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

POINTS_PER_PERIOD = 60  # points per shortest period at which limits are evaluated
DESIGN_RATE_HZ = 10.0  # lowest rate at which the optimiser evaluates a trajectory
FULL_GAIN = 0.95  # share of the largest gain in random motions
DIFFERENCE_STEP = 1e-7  # of one-sided differences by the vector


class States(NamedTuple):
    """Positions, velocities and accelerations of the moving joints, each of shape (k, n)."""

    q: Array
    v: Array
    a: Array


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
