"""The two-stage tilt observer of Benallegue et al. (B 17), on the same inputs as the filter.

With x1 the velocity of the IMU, x2' an unconstrained and x2 the unit-norm estimate of the vertical, all in its frame,

    x1'  = -S(w) x1 - g x2' + f + alpha1 (y_v - x1)
    x2'' = -S(w) x2' - (alpha2 / g) (y_v - x1)
    x2^' = -S(w - gamma S(x2) x2') x2

The error goes to zero from almost every start; the eigenvalues of the first stage are the roots of s^2 + alpha1 s + alpha2,
that of the second is -gamma. A step is exact for readings that are constant in a frame that turns with the gyroscope.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.tilt.error_state import rotation


@dataclass(frozen=True)
class TwoStageConfig:
    """Gains of the observer."""

    alpha1: float = parameter(
        20.0, "Gain alpha1, with which the velocity follows that of the contacts.", unit="1/s", lower=1e-3, upper=1e4, runtime=True
    )
    alpha2: float = parameter(
        100.0, "Gain alpha2, with which the intermediate vertical follows.", unit="1/s^2", lower=1e-3, upper=1e6, runtime=True
    )
    gamma: float = parameter(
        1.0, "Gain gamma, with which the vertical follows the intermediate one.", unit="1/s", lower=1e-3, upper=1e3, runtime=True
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
        state: At its begin.
        gains: alpha1, alpha2, gamma.
        h: Its duration [s].
        rate: Angular rate, bias removed, mean over the step [rad/s], shape (3,).
        force: Specific force, mean over the step [m/s^2], shape (3,).
        velocity: y_v, of the IMU by the contacts, in its frame at the end [m/s], shape (3,); None without contact,
            where the equations are integrated without a correction.

    Returns:
        The state at the end.
    """
    E, half = rotation(-h * rate), rotation(-0.5 * h * rate)
    alpha1, alpha2 = (gains.alpha1, gains.alpha2) if velocity is not None else (0.0, 0.0)
    # Of the first stage, in a frame that turns with the gyroscope: (x1, x2')' = A (x1, x2') + B (f, y_v).
    A = np.zeros((4, 4))
    A[0] = -alpha1, -STANDARD_GRAVITY, 1.0, alpha1
    A[1] = alpha2 / STANDARD_GRAVITY, 0.0, 0.0, -alpha2 / STANDARD_GRAVITY
    Phi = expm(h * A)
    y_v = np.zeros(3) if velocity is None else velocity
    first = np.stack([E @ state.velocity, E @ state.intermediate, half @ force, y_v])
    x1, intermediate = Phi[:2] @ first
    turn = rate - gains.gamma * np.cross(state.vertical, 0.5 * (state.intermediate + E.T @ intermediate))
    vertical = rotation(-h * turn) @ state.vertical
    return TwoStageState(x1, intermediate, vertical / np.linalg.norm(vertical))


class TwoStageObserver:
    """The observer with the interface of the filter: steps of readings and contact velocities.

    Attributes:
        config: Its gains; they may be changed.
        state: Velocity and verticals.
    """

    def __init__(self, config: TwoStageConfig) -> None:
        """Begin upright and at rest."""
        self.config = config
        self.begin(np.zeros(3), np.array([0.0, 0.0, 1.0]))

    def begin(self, velocity: Array, vertical: Array) -> None:
        """Begin from a state."""
        self.state = TwoStageState(velocity, vertical, vertical)

    def step(self, h: float, rate: Array, force: Array, velocity: Array | None) -> None:
        """Advance by one step; see `two_stage_step`."""
        self.state = two_stage_step(self.state, self.config, h, rate, force, velocity)

    @property
    def bias_sensitivity(self) -> float:
        """Steady tilt error per constant bias of the gyroscope across the vertical, alpha1 / alpha2 + 1 / gamma [s]."""
        return self.config.alpha1 / self.config.alpha2 + 1.0 / self.config.gamma
