"""Trajectories parameterised by a vector, all of which satisfy the joint limits by construction.

    q_j(t) = c_j + g_j s(t) sum_k (a_jk cos w_jk t + b_jk sin w_jk t)

Fourier: w_k are multiples of one base frequency, s = 1; two linear conditions on a and b make velocity and
acceleration zero at both ends of the period, which are equal. Sines: the frequencies are drawn once, and s
fades in and out. The gain g_j is a share of the largest gain that satisfies the limits of range, speed and
acceleration of the joint, and the centre c_j lies in the remaining range. The vector is therefore unbounded,
and the joints are independent. Limits hold between samples: max |x| <= max over samples + h^2/8 max |x''|.
"""

from dataclasses import dataclass

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
LARGEST_FADE_S = 3.0  # a shorter fade would need larger accelerations than the motion itself
# Largest derivatives of the quintic from 0 to 1 over a time of one, of orders 0 to 4.
QUINTIC = (1.0, 1.875, 10.0 / np.sqrt(3.0), 60.0, 360.0)
BINOMIALS = ((1,), (1, 1), (1, 2, 1), (1, 3, 3, 1), (1, 4, 6, 4, 1))


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """States of the moving joints at the samples of a design, each of shape (k, n)."""

    q: Array
    v: Array
    a: Array


class MotionFamily:
    """All motions of one kind, length and set of limits.

    Attributes:
        size: Length of the vector of parameters of a motion.
        joints: Number of joints.
        coefficients: Free coefficients of each joint.
    """

    def __init__(
        self, config: ExcitationConfig, limits: JointLimits, acceleration: float, rng: Generator
    ) -> None:
        """Prepare the basis.

        Args:
            config: Kind, duration, terms, frequencies.
            limits: Limits of the moving joints, reduced by the margins.
            acceleration: Largest acceleration [rad/s^2].
            rng: Source of the frequencies of sines.

        Raises:
            ConfigurationError: If the duration is too short for the frequencies.
        """
        self._limits, self._acceleration = limits, acceleration
        self.duration = config.duration
        self.joints = len(limits.lower)
        self._frequencies, self._fade_s = _frequencies(config, self.joints, rng)
        highest = float(self._frequencies.max())
        steps = int(np.ceil(self.duration * highest * POINTS_PER_PERIOD))
        every = max(1, int(steps / max(self.duration * DESIGN_RATE_HZ, 1.0)))
        self._every = every
        steps = 4 * every * int(np.ceil(steps / (4 * every)))  # the fades end on samples
        self._step = self.duration / steps
        if self._fade_s:
            self._fade_s = max(1, round(self._fade_s / self._step)) * self._step
        self._basis = self._sampled(np.linspace(0.0, self.duration, steps + 1))
        self._free = self._resting_coefficients()
        self.coefficients = self._free.shape[2]
        self.size = self.joints * (self.coefficients + 2)

    def random(self, rng: Generator) -> Array:
        """Draw a motion: Gaussian coefficients of about equal speeds, a random centre, nearly full gain."""
        z = np.zeros((self.joints, self.coefficients + 2))
        speeds = 1.0 / np.concatenate((self._frequencies, self._frequencies), axis=1)
        drawn = rng.normal(size=speeds.shape) * speeds
        z[:, :-2] = np.einsum("jcf,jc->jf", self._free, drawn)
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

    def samples(self, z: Array) -> MotionSamples:
        """Return the states at the samples of a design."""
        q, v, a = self._states(z.reshape(self.joints, -1))
        return MotionSamples(q.T, v.T, a.T)

    def chain(self, z: Array, by_q: Array, by_v: Array, by_a: Array) -> Array:
        """Turn derivatives by the sampled states, each (k, n), into those by the vector, shape (size,)."""
        Z = z.reshape(self.joints, -1)
        states = self._states(Z)
        gradient = np.empty_like(Z)
        for i in range(Z.shape[1]):
            step = 1e-7
            moved = Z.copy()
            moved[:, i] += step  # the joints are independent: all of them in one evaluation
            changed = self._states(moved)
            gradient[:, i] = sum(
                np.einsum("kj,jk->j", by, (new - old) / step)
                for by, new, old in zip((by_q, by_v, by_a), changed, states, strict=True)
            )
        return gradient.ravel()

    def motion(self, z: Array) -> SineMotion:
        """Return the motion in closed form."""
        Z = z.reshape(self.joints, -1)
        gain, centre, C = self._placed(Z)
        terms = C.shape[1] // 2
        a, b = gain[:, None] * C[:, :terms], gain[:, None] * C[:, terms:]
        return SineMotion(
            centre, np.hypot(a, b), self._frequencies, np.arctan2(a, b), 0.0, self._fade_s, self.duration
        )

    def _states(self, Z: Array) -> tuple[Array, Array, Array]:
        gain, centre, C = self._placed(Z)
        scaled = gain[:, None] * C
        q, v, a = (np.matmul(B[:, :: self._every], scaled[:, :, None])[:, :, 0] for B in self._basis)
        return q + centre[:, None], v, a

    def _placed(self, Z: Array) -> tuple[Array, Array, Array]:
        """Return gain and centre of every joint, and the coefficients, shape (n, 2 terms)."""
        C = np.einsum("jcf,jf->jc", self._free, Z[:, :-2])
        d, d1, d2 = (np.matmul(B, C[:, :, None])[:, :, 0] for B in self._basis)
        between = self._step**2 / 8.0
        amplitudes = np.hypot(*np.split(C, 2, axis=1))
        extra = [between * self._largest_derivative(amplitudes, order + 2) for order in range(3)]
        low, high = d.min(1) - extra[0], d.max(1) + extra[0]
        limits = self._limits
        room = limits.upper - limits.lower
        largest = np.minimum(room / (high - low), limits.velocity / (np.abs(d1).max(1) + extra[1]))
        largest = np.minimum(largest, self._acceleration / (np.abs(d2).max(1) + extra[2]))
        gain = expit(Z[:, -1]) * largest
        centre = limits.lower - gain * low + expit(Z[:, -2]) * (room - gain * (high - low))
        return gain, centre, C

    def _largest_derivative(self, amplitudes: Array, order: int) -> Array:
        """Bound |d^order/dt^order (s y)| by the product rule, shape (n,)."""
        omega = 2.0 * np.pi * self._frequencies
        bounds = [(amplitudes * omega**r).sum(1) for r in range(order + 1)]
        if not self._fade_s:
            return np.asarray(bounds[order], dtype=np.float64)
        terms = (
            weight * QUINTIC[i] / self._fade_s**i * bounds[order - i]
            for i, weight in enumerate(BINOMIALS[order])
        )
        return np.asarray(sum(terms), dtype=np.float64)

    def _sampled(self, times: Array) -> tuple[Array, Array, Array]:
        """Return the basis and its derivatives at times, shape (n, k, 2 terms) each."""
        n, terms = self._frequencies.shape
        one = np.ones((n, terms))
        centre, rest = np.zeros(n * terms), 0.0
        pieces = []
        for phase in (0.5 * np.pi, 0.0):  # cosines, then sines
            motion = SineMotion(
                centre,
                one.reshape(-1, 1),
                self._frequencies.reshape(-1, 1),
                np.full((n * terms, 1), phase),
                rest,
                self._fade_s,
                self.duration,
            )
            pieces.append([x.T.reshape(n, terms, -1).transpose(0, 2, 1) for x in motion.at(times)])
        x, x1, x2 = (np.ascontiguousarray(np.concatenate(both, axis=2)) for both in zip(*pieces, strict=True))
        return x, x1, x2

    def _resting_coefficients(self) -> Array:
        """Return a basis of the coefficients that rest at both ends, shape (n, 2 terms, free)."""
        n, terms = self._frequencies.shape
        if self._fade_s:
            return np.tile(np.eye(2 * terms), (n, 1, 1))
        ends = np.stack([self._basis[1][0, 0], self._basis[2][0, 0]])
        ends /= np.linalg.norm(ends, axis=1, keepdims=True)
        free: Array = np.tile(linear_algebra.null_space(ends), (n, 1, 1))
        return free


def _frequencies(config: ExcitationConfig, joints: int, rng: Generator) -> tuple[Array, float]:
    """Return the frequencies of each joint [Hz], shape (n, terms), and the time of a fade [s]."""
    highest, duration = config.highest_frequency, config.duration
    if duration * highest < 2.0:
        raise ConfigurationError(
            f"a duration of {duration:g} s holds {duration * highest:.2g} periods of the highest frequency, "
            f"{highest:g} Hz, expected at least 2: make it {2.0 / highest:g} s or longer"
        )
    if config.kind == "sines":
        frequencies = rng.uniform(1.0 / duration, highest, (joints, config.terms))
        return frequencies, min(LARGEST_FADE_S, duration / 4.0)
    periods = max(1, int(duration * highest / config.terms + 1e-9))
    terms = min(config.terms, int(duration * highest / periods + 1e-9))
    harmonics = periods / duration * np.arange(1, terms + 1)
    return np.broadcast_to(harmonics, (joints, terms)).copy(), 0.0
