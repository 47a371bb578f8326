"""The estimates of all links as they are published: handed over at a limited rate, in link axes."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.estimators.inertial.hand_over import HandOver
from inertial_estimation.estimators.inertial.link_estimates import LinkReport
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array, LinkEstimate

__all__ = ["PublishedLinks"]


class PublishedLinks:
    """Hand-over of every body, and the report of what is estimated and published."""

    def __init__(self, bodies: Sequence[BodyReference], rate: float) -> None:
        """Start at nominal.

        Args:
            bodies: The bodies, in the order of the filter's state.
            rate: Largest change of a published mass [kg/s].
        """
        self._hand_over = [HandOver(body.nominal_C, rate) for body in bodies]
        self._report = LinkReport(tuple(bodies))

    def reset(self) -> None:
        """Return to nominal at once."""
        for hand_over in self._hand_over:
            hand_over.reset()

    def set_rate(self, rate: float) -> None:
        """Change the largest change of a published mass [kg/s]."""
        for hand_over in self._hand_over:
            hand_over.rate = rate

    def advance(self, pi_C: Array, covariance_C: Array, dt: float) -> tuple[LinkEstimate, ...]:
        """Move what is published towards the estimates and report both.

        Args:
            pi_C: Estimated parameters in C, shape (n, 10).
            covariance_C: Their covariances, shape (n, 10, 10).
            dt: Time since the last call [s].

        Returns:
            One estimate for each body, in link axes.
        """
        moves = zip(self._hand_over, pi_C, strict=True)
        published_C = np.array([hand_over.advance(pi, dt) for hand_over, pi in moves])
        return self._report.estimates(pi_C, covariance_C, published_C)
