"""Errors of the sensors among the states of an inertial filter.

They follow bodies and friction in the state. Each is a stationary process x' = -x/T + w of its own time
constant, so that it may drift. An estimated error is a state like any other: what the data tell of it and of
the bodies together is in their joint covariance. A considered one (Schmidt) keeps its mean and variance, and
only its covariance with the other states is updated, with the gain of its own rows set to zero:

    K = M P H' S^-1,   P <- (1 - K H) P (1 - K H)' + K R K',   M = diag(1, ..., 1, 0, ..., 0)
"""

from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class SensorPrior:
    """Prior of the errors of the sensors.

    Attributes:
        sigmas: Standard deviation of each, shape (k,).
        drift_time: Time constant with which they vary [s].
        considered: Whether they are considered and not estimated.
        informing: Positions of the rows that correct the state, since their errors are described; None: all.
    """

    sigmas: Array = field(default_factory=lambda: np.zeros(0))
    drift_time: float = 1e9
    considered: bool = False
    informing: Indices | None = None


@dataclass(frozen=True, eq=False)
class StateKinds:
    """How the states of a filter differ: time constants, and which of them the data correct.

    Attributes:
        inferred: Number of states of bodies and friction; errors of sensors follow.
        memories: Time constant of each state [s], shape (n,).
        corrected: One for states that measurements correct, zero for considered ones, shape (n,).
        informing: Positions of the rows that correct the state; None: all.
    """

    inferred: int
    memories: Array
    corrected: Array
    informing: Indices | None = None

    @classmethod
    def of(cls, inferred: int, memory: float, sensors: SensorPrior) -> "StateKinds":
        """Lay out the states.

        Args:
            inferred: Number of states of bodies and friction.
            memory: Their time constant [s].
            sensors: The errors of the sensors.
        """
        k = len(sensors.sigmas)
        memories = np.concatenate((np.full(inferred, memory), np.full(k, sensors.drift_time)))
        corrected = np.concatenate((np.ones(inferred), np.full(k, float(not sensors.considered))))
        return cls(inferred, memories, corrected, sensors.informing)

    def informed(
        self, comparison: tuple[Array, Array, Array, Array], noise: Array
    ) -> tuple[tuple[Array, Array, Array, Array], Array]:
        """Return the parts of a compared measurement that correct the state.

        Args:
            comparison: Its Jacobian H and H P, shape (m, n), innovation, shape (m,), and covariance of that,
                shape (m, m).
            noise: Covariance of the measurement's noise, shape (m, m).
        """
        rows = self.informing
        if rows is None:
            return comparison, noise
        (H, HP, y, S), square = comparison, (rows[:, None], rows)
        return (H[rows], HP[rows], y[rows], S[square]), noise[square]
