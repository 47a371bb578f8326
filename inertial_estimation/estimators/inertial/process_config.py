"""Parameters of the process model: how inertial parameters change while they are estimated."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.parameters import parameter

RETURNING, RANDOM_WALK = "returning", "random_walk"


@dataclass(frozen=True)
class ProcessConfig:
    """How the inertial parameters change by themselves."""

    model: str = parameter(
        RETURNING,
        "How the filter lets inertial parameters change: they return to nominal with the time constant "
        "`prior.memory`, their covariance to the prior's; or they walk at random (Foster et al.) and their "
        "covariance grows by `process.mass`, `process.com` and `process.radii`, while nothing holds "
        "parameters of which the data say nothing. Friction and errors of sensors are constant then.",
        choices=(RETURNING, RANDOM_WALK),
    )
    mass: float = parameter(
        0.3,
        "Standard deviation by which the logarithm of each body's mass walks in one second, for the process "
        "model `random_walk`; it grows with the square root of the time.",
        lower=1e-9,
        upper=1e3,
    )
    com: float = parameter(
        0.03,
        "Standard deviation by which each body's centre of mass walks in one second, per axis, for the "
        "process model `random_walk`.",
        unit="m",
        lower=1e-9,
        upper=1e3,
    )
    radii: float = parameter(
        0.1,
        "Standard deviation by which the logarithm of each body's radii of gyration walks in one second, for "
        "the process model `random_walk`.",
        lower=1e-9,
        upper=1e3,
    )

    def walk(self, others: int) -> PriorSigma | None:
        """Return the standard deviations after one second of a random walk; None for the other model.

        Args:
            others: Number of states of friction and of sensor errors, which are constant.
        """
        if self.model != RANDOM_WALK:
            return None
        return PriorSigma(self.mass, self.com, self.radii, np.zeros(others))
