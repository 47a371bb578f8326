"""The two-stage tilt observer of Benallegue et al. (B 17), on the same inputs as the filter.

With x1 the velocity of the IMU, x2' an unconstrained and x2 the unit-norm estimate of the vertical, all in
its frame,

    x1'  = -S(w) x1 - g x2' + f + alpha1 (y_v - x1)
    x2'' = -S(w) x2' - (alpha2 / g) (y_v - x1)
    x2^' = -S(w - gamma S(x2) x2') x2

The error goes to zero from almost every start; the eigenvalues of the first stage are the roots of s^2 +
alpha1 s + alpha2,
that of the second is -gamma. A step is exact for readings that are constant in a frame that turns with the
gyroscope.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import numeric
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3
from inertial_estimation.tilt.error_state import ERRORS
from inertial_estimation.tilt.imu_readings import REST_TIME
from inertial_estimation.tilt.observer import Look, TiltObserver

UNKNOWN_BIAS, KNOWN_BIAS = 0.02, 0.001  # standard deviations of the bias before and after a rest [rad/s]
TILT_NOISE, CONTACT_NOISE = 0.005, 0.05  # standard deviations of other errors [rad, m/s]


@dataclass(frozen=True)
class TwoStageConfig:
    """Gains of the observer."""

    alpha1: float = numeric(
        *(20.0, 1e-3, 1e4, "1/s"),
        "Gain alpha1 of the velocity on the velocity error of the contacts.",
        runtime=True,
    )
    alpha2: float = numeric(
        *(100.0, 1e-3, 1e6, "1/s^2"),
        "Gain alpha2 of the intermediate vertical on the velocity error of the contacts.",
        runtime=True,
    )
    gamma: float = numeric(
        *(1.0, 1e-3, 1e3, "1/s"),
        "Gain gamma of the vertical on its difference to the intermediate vertical.",
        runtime=True,
    )


class TwoStageState(NamedTuple):
    """State of the observer, in the frame of the IMU.

    Attributes:
        velocity: x1 [m/s], shape (3,).
        intermediate: x2', shape (3,).
        vertical: x2, unit norm, shape (3,).
    """

    velocity: Array
    intermediate: Array
    vertical: Array


def two_stage_step(
    state: TwoStageState, gains: TwoStageConfig, h: float, rate: Array, force: Array, velocity: Array | None
) -> TwoStageState:
    """Advance (B 17) by one step.

    Args:
        state: At the start of the step.
        gains: alpha1, alpha2, gamma.
        h: Duration of the step [s].
        rate: Angular rate, bias removed, mean over the step [rad/s], shape (3,).
        force: Specific force, mean over the step [m/s^2], shape (3,).
        velocity: y_v, of the IMU by the contacts, in its frame at the end [m/s], shape (3,); None without
            contact, where the equations are integrated without a correction.

    Returns:
        The state at the end.
    """
    E, half = exp_so3(-h * rate), exp_so3(-0.5 * h * rate)
    alpha1, alpha2 = (gains.alpha1, gains.alpha2) if velocity is not None else (0.0, 0.0)
    Phi = _first_stage(alpha1, alpha2, h)
    y_v = np.zeros(3) if velocity is None else velocity
    first = np.stack([E @ state.velocity, E @ state.intermediate, half @ force, y_v])
    x1, intermediate = Phi[:2] @ first
    turn = rate - gains.gamma * np.cross(state.vertical, 0.5 * (state.intermediate + E.T @ intermediate))
    vertical = exp_so3(-h * turn) @ state.vertical
    return TwoStageState(x1, intermediate, vertical / np.linalg.norm(vertical))


@lru_cache(maxsize=64)
def _first_stage(alpha1: float, alpha2: float, h: float) -> Array:
    """Return the transition matrix of (x1, x2', f, y_v) in a frame rotating with the IMU; f, y_v constant."""
    from scipy.linalg import expm  # only this observer needs it

    A = np.zeros((4, 4))
    A[0] = -alpha1, -STANDARD_GRAVITY, 1.0, alpha1
    A[1] = alpha2 / STANDARD_GRAVITY, 0.0, 0.0, -alpha2 / STANDARD_GRAVITY
    transition: Array = expm(h * A)
    return transition


class TwoStageObserver(TiltObserver):
    """The observer on readings and contacts: starts as the filter does, and estimates the bias at rest.

    Its covariance is that of the steady-state error by the bias and of constant noise of contact velocities.

    Attributes:
        config: Its gains; they may be changed.
    """

    residual, since_bias_step, contact_noise = np.zeros(3), math.inf, CONTACT_NOISE

    def __init__(self, config: TwoStageConfig, radius: float = 0.0) -> None:
        """Start with the initial alignment.

        Args:
            config: Gains.
            radius: Radius of round feet [m].
        """
        self.config, self._radius = config, radius
        self.reset()

    def reset(self) -> None:
        """Forget everything, including the bias."""
        self._bias_sigma = UNKNOWN_BIAS
        self._start(np.zeros(3))

    def restart(self) -> None:
        """Determine velocity and vertical anew."""
        self._start(self.state.bias)

    def _start(self, bias: Array) -> None:
        self._begin(self._radius, bias, np.zeros((ERRORS, ERRORS)))
        self._intermediate = self.state.vertical.copy()

    def step(self, h: float, reading: Array, look: Look | None) -> None:
        """Advance by one step; see `TiltObserver.step`."""
        velocity, vertical, bias, _offset, P = self.state
        force, rate, feet = reading[:3], reading[3:] - bias, None if look is None else look.feet
        if look is not None and look.imu.at_rest:
            gain = min(look.imu.time / REST_TIME, 1.0)
            bias += gain * (look.imu.rate - bias)
            self._bias_sigma = max(self._bias_sigma * (1.0 - gain), KNOWN_BIAS)
        if self.aligning:
            self._align(h, reading, look)
            self._intermediate = vertical.copy()
            return
        self._odometry.propagate(h, rate)
        y_v = None if feet is None else self._odometry.velocity(feet)
        if feet is not None:
            self._odometry.restart(feet, vertical)
        before = TwoStageState(velocity, self._intermediate, vertical)
        after = two_stage_step(before, self.config, h, rate, force, y_v)
        velocity[:], vertical[:], self._intermediate = after.velocity, after.vertical, after.intermediate
        self.residual = np.zeros(3) if y_v is None else y_v - after.velocity
        tilt = (self._bias_sigma * self.bias_sensitivity) ** 2 + TILT_NOISE**2
        P[:] = np.diag(np.repeat([CONTACT_NOISE**2, tilt, self._bias_sigma**2, 0.0], 3))

    def inflate_bias(self) -> None:
        """Make the bias as uncertain as at the start."""
        self._bias_sigma = UNKNOWN_BIAS

    @property
    def bias_sensitivity(self) -> float:
        """Steady-state tilt error per constant horizontal bias, alpha1 / alpha2 + 1 / gamma [s]."""
        return self.config.alpha1 / self.config.alpha2 + 1.0 / self.config.gamma
