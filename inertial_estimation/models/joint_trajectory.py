"""Smooth motions in closed form: sums of sinusoids that fade in from rest and out to it."""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array, frozen_array

ShareT = TypeVar("ShareT", float, Array)
TERMS = 3  # sinusoids of a coordinate of a random motion


@dataclass(frozen=True, slots=True, eq=False)
class JointTrajectory:
    """Positions, velocities and accelerations of joints at given times."""

    joint_names: tuple[str, ...]  # names of the joints
    times_s: Array  # time from the start [s], increasing, shape (k,)
    q: Array  # positions [rad], shape (k, n)
    v: Array  # velocities [rad/s], shape (k, n)
    a: Array  # accelerations [rad/s^2], shape (k, n)

    def __post_init__(self) -> None:
        object.__setattr__(self, "times_s", frozen_array("times_s", self.times_s))
        shape = (len(self.times_s), len(self.joint_names))
        for name in ("q", "v", "a"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), shape))
        numbers = (self.times_s, self.q, self.v, self.a)
        if not len(self.times_s) or not all(np.isfinite(array).all() for array in numbers):
            raise MeasurementError("a trajectory is expected to have points, all of finite numbers")
        if np.any(np.diff(self.times_s) <= 0.0):
            raise MeasurementError("the times of a trajectory are expected to increase")

    @property
    def duration_s(self) -> float:
        """Time from the first to the last point [s]."""
        return float(self.times_s[-1] - self.times_s[0])


@dataclass(frozen=True, eq=False)
class SineMotion:
    """x(t) = centre + s(t) sum_k amplitude_k sin(2 pi f_k t + phase_k), with s(t) from 0 to 1 and back.

    The fade s is the quintic with zero velocity and acceleration at both ends, so the motion starts
    from exact rest at the centre, and ends there if it has an end. Without a fade s = 1.
    """

    centre: Array  # position at rest, shape (n,)
    amplitudes: Array  # shape (n, k)
    frequencies: Array  # [Hz], shape (n, k)
    phases: Array  # [rad], shape (n, k)
    rest_s: float  # duration of the initial rest [s]
    fade_s: float  # duration of the fade-in and of the fade-out [s]; zero for no fade
    end_s: float = math.inf  # end of the fade-out [s]; infinite for a motion without end

    def at(self, t: float | Array) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration, of shape (n,), or (m, n).

        Args:
            t: One time, or several of shape (m,) [s].
        """
        times = np.asarray(t, dtype=np.float64)[..., None]
        s, s1, s2 = self._share(times)
        omega = 2.0 * np.pi * self.frequencies
        angle = omega * times[..., None] + self.phases
        sine, cosine = self.amplitudes * np.sin(angle), self.amplitudes * np.cos(angle)
        y, y1, y2 = sine.sum(-1), (omega * cosine).sum(-1), -(omega**2 * sine).sum(-1)
        return self.centre + s * y, s1 * y + s * y1, s2 * y + 2.0 * s1 * y1 + s * y2

    def _share(self, times: Array) -> tuple[Array, Array, Array]:
        """Return s and its two derivatives in time."""
        if self.fade_s == 0.0:
            return np.ones_like(times), np.zeros_like(times), np.zeros_like(times)
        since, until = (times - self.rest_s) / self.fade_s, (self.end_s - times) / self.fade_s
        begin, begin1, begin2 = minimum_jerk(np.clip(since, 0.0, 1.0))
        end, end1, end2 = minimum_jerk(np.clip(until, 0.0, 1.0))
        s1 = begin1 * end - begin * end1
        s2 = begin2 * end - 2.0 * begin1 * end1 + begin * end2
        return begin * end, s1 / self.fade_s, s2 / self.fade_s**2


def random_sines(
    centre: Array,
    reach: Array,
    rng: Generator,
    *,
    band_hz: tuple[float, float] = (0.15, 0.9),
    rest_s: float = 1.0,
    fade_s: float = 1.0,
) -> SineMotion:
    """Draw a motion that stays within a reach of its centre.

    Args:
        centre: Position at rest, shape (n,).
        reach: Largest distance from the centre; zero keeps a coordinate still, shape (n,).
        rng: Source of frequencies and phases.
        band_hz: Lowest and highest frequency [Hz].
        rest_s: Rest before the motion [s].
        fade_s: Time to fade in [s].
    """
    n = len(centre)
    frequencies = rng.uniform(*band_hz, size=(n, TERMS))
    weights = rng.uniform(0.5, 1.0, size=(n, TERMS)) / frequencies  # about equal speeds
    amplitudes = np.asarray(reach)[:, None] * weights / weights.sum(1, keepdims=True)
    phases = rng.uniform(0.0, 2.0 * np.pi, size=(n, TERMS))
    return SineMotion(np.asarray(centre, dtype=np.float64), amplitudes, frequencies, phases, rest_s, fade_s)


def minimum_jerk(u: ShareT) -> tuple[ShareT, ShareT, ShareT]:
    """Return s(u) = 10 u^3 - 15 u^4 + 6 u^5 with its first and second derivative, zero at both ends.

    Args:
        u: Share of the duration in [0, 1], a number or an array.
    """
    return (
        u**3 * (10.0 - 15.0 * u + 6.0 * u * u),
        30.0 * u * u * (1.0 - u) ** 2,
        60.0 * u * (1.0 - u) * (1.0 - 2.0 * u),
    )
