"""The two-stage tilt observer in R3 x R3 x S2 (Benallegue et al., eq. 17).

    x1'  = -S(w) x1 - g0 x2' + f + alpha1 (y_v - x1)
    x2'' = -S(w) x2' - (alpha2/g0) (y_v - x1)
    x2^' = -S(w - gamma S(x2^) x2') x2^

x2' is an unconstrained estimate of the vertical with global exponential convergence; x2^, on the
sphere, follows it smoothly and is the output. In a frame that rotates with the gyroscope, the first two
lines are linear with constant coefficients and equal for each axis. A step is therefore the closed-form
exponential of a 2 x 2 matrix between two half rotations, which is stable for any gains and step lengths.
"""

import cmath
import math
from dataclasses import dataclass

from inertial_estimation.estimators.tilt.tilt_observer import (
    STANDARD_GRAVITY,
    GravityFallbackConfig,
    TiltObserver,
    slow_root,
)
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import Vector, combine, normalised, rotation, times

__all__ = ["TwoStageConfig", "TwoStageObserver", "linear_step"]

Pair = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class TwoStageConfig:
    """Gains of (B 17)."""

    alpha1: float = parameter(
        20.0,
        "Gain of the velocity innovation on the velocity; the poles of the error are the roots of s^2 + "
        "alpha1 s + alpha2.",
        unit="1/s",
        lower=1e-3,
        upper=1e4,
        runtime=True,
    )
    alpha2: float = parameter(
        100.0,
        "Gain of the velocity innovation on the intermediate vertical; the poles of the error are the "
        "roots of s^2 + alpha1 s + alpha2.",
        unit="1/s^2",
        lower=1e-3,
        upper=1e6,
        runtime=True,
    )
    gamma: float = parameter(
        1.0,
        "Rate at which the estimated vertical on the unit sphere follows the intermediate vertical.",
        unit="1/s",
        lower=1e-3,
        upper=1e3,
        runtime=True,
    )


class TwoStageObserver(TiltObserver[TwoStageConfig]):
    """Two-stage observer; `x2_intermediate` is x2' of (B 17), `x2` is x2^."""

    def __init__(self, config: TwoStageConfig, fallback: GravityFallbackConfig) -> None:
        self._transition: Pair = ((1.0, 0.0), (0.0, 1.0))
        self._input: Pair = ((0.0, 0.0), (0.0, 0.0))
        super().__init__(config, fallback)

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Set the state, with the intermediate vertical equal to the output."""
        super().initialise(x1, x2)
        self.x2_intermediate = self.x2

    @property
    def bias_sensitivity(self) -> float:
        """alpha1/alpha2 + 1/gamma [s] (THEORY 4)."""
        return self.config.alpha1 / self.config.alpha2 + 1.0 / self.config.gamma

    @property
    def convergence_rate(self) -> float:
        """Slowest of gamma and the roots of s^2 + alpha1 s + alpha2 [1/s]."""
        return min(slow_root(self.config.alpha1, self.config.alpha2), self.config.gamma)

    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        config = self.config
        self._prepare(h)
        (p00, p01), (p10, p11) = self._transition
        (g00, g01), (g10, g11) = self._input
        half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
        a, b = times(half, self.x1), times(half, self.x2_intermediate)
        self.innovation = (y_v[0] - a[0], y_v[1] - a[1], y_v[2] - a[2])
        u = combine(f_I, config.alpha1, y_v)
        k = -config.alpha2 / STANDARD_GRAVITY
        v = (k * y_v[0], k * y_v[1], k * y_v[2])
        x1 = (
            p00 * a[0] + p01 * b[0] + g00 * u[0] + g01 * v[0],
            p00 * a[1] + p01 * b[1] + g00 * u[1] + g01 * v[1],
            p00 * a[2] + p01 * b[2] + g00 * u[2] + g01 * v[2],
        )
        intermediate = (
            p10 * a[0] + p11 * b[0] + g10 * u[0] + g11 * v[0],
            p10 * a[1] + p11 * b[1] + g10 * u[1] + g11 * v[1],
            p10 * a[2] + p11 * b[2] + g10 * u[2] + g11 * v[2],
        )
        self.x1 = times(half, x1)
        self.x2_intermediate = times(half, intermediate)
        x2 = times(half, times(half, self.x2))
        x2, turned = turn_towards(x2, self.x2_intermediate, config.gamma * h)
        self.x2 = normalised(x2)
        self.correction = (turned[0] / h, turned[1] / h, turned[2] / h)

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        super()._step_without_contact(h, w_I, f_I)
        self.x2_intermediate = self.x2

    def _prepare(self, h: float) -> None:
        key = (h, self.config.alpha1, self.config.alpha2)
        if key != self._key:
            self._transition, self._input = linear_step(self.config.alpha1, self.config.alpha2, h)
            self._key = key

    _key: tuple[float, float, float] = (-1.0, 0.0, 0.0)


def linear_step(alpha1: float, alpha2: float, h: float) -> tuple[Pair, Pair]:
    """Return the exact step of the first stage's linear block.

    With A = [[-alpha1, -g0], [alpha2/g0, 0]] and an input u constant over the step:
    x(h) = exp(A h) x(0) + (int_0^h exp(A s) ds) u. With the roots l1, l2 of s^2 + alpha1 s + alpha2,
    exp(A h) = (d + l c) 1 + c A, where c = (e^{l1 h} - e^{l2 h}) / (l1 - l2) and l, d belong to l1.

    Args:
        alpha1: Gain [1/s].
        alpha2: Gain [1/s^2].
        h: Step [s].

    Returns:
        exp(A h) and its integral, as nested tuples.
    """
    c0, c1 = _exponential_coefficients(alpha1, alpha2, h)
    g = STANDARD_GRAVITY
    phi = ((c0 - c1 * alpha1, -c1 * g), (c1 * alpha2 / g, c0))
    # int exp(A s) ds = A^-1 (exp(A h) - 1), A^-1 = [[0, g/alpha2], [-1/g, -alpha1/alpha2]]
    m00, m01, m10, m11 = phi[0][0] - 1.0, phi[0][1], phi[1][0], phi[1][1] - 1.0
    gamma = (
        (g / alpha2 * m10, g / alpha2 * m11),
        (-m00 / g - alpha1 / alpha2 * m10, -m01 / g - alpha1 / alpha2 * m11),
    )
    return phi, gamma


def _exponential_coefficients(alpha1: float, alpha2: float, h: float) -> tuple[float, float]:
    """Coefficients of exp(A h) = c0 1 + c1 A by interpolation on the eigenvalues (Cayley-Hamilton)."""
    root = cmath.sqrt(0.25 * alpha1 * alpha1 - alpha2)
    middle = -0.5 * alpha1
    z = root * h
    ratio = 1.0 + z * z / 6.0 if abs(z) < 1e-4 else cmath.sinh(z) / z if z.real < 300.0 else None
    if ratio is None:  # the roots are far apart: the exponential of the fast one is zero
        slow, fast = middle + root.real, middle - root.real
        c1 = math.exp(slow * h) / (slow - fast)
        return -fast * c1, c1
    decay = math.exp(middle * h)
    c1 = decay * (ratio * h).real
    c0 = decay * cmath.cosh(z).real - middle * c1
    return c0, c1
