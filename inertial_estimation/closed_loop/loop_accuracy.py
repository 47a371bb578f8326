"""Errors of the estimates of a loop against the simulation it is about."""

import math

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.spatial.rotations import rotation_from_quaternion


class LoopAccuracy:
    """Errors of the estimates of a loop against its simulation.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Begin without samples; `sample` adds one."""
        self.loop = loop
        self._tilts: list[float] = []

    def sample(self) -> None:
        """Compare the tilt now: the angle between the true vertical and the estimated one."""
        if self.loop.base is None or not self.loop.simulation.robot.floating_base:
            return
        truth = self.loop.simulation.truth().base
        up, estimate = (
            rotation_from_quaternion(np.asarray(state.quaternion_xyzw))[2]
            for state in (truth, self.loop.base.state)
        )
        self._tilts.append(float(np.linalg.norm(up - estimate)))

    @property
    def tilt_rms(self) -> float:
        """Root mean square of the tilt error [rad]; NaN without an observer."""
        return float(np.sqrt(np.mean(np.square(self._tilts)))) if self._tilts else float("nan")

    def masses(self) -> dict[str, tuple[float, float, float]]:
        """Return estimate, its standard deviation and truth of every estimated link's mass [kg].

        Empty without an inertial filter.
        """
        if self.loop.inertias is None:
            return {}
        estimates = {link.estimate.link: link for link in self.loop.inertias.links}
        truth = self.loop.simulation.truth(tuple(estimates)).inertias
        return {
            name: (link.estimate.mass, math.sqrt(float(link.covariance[0, 0])), truth[name].mass)
            for name, link in estimates.items()
        }

    def lines(self) -> list[str]:
        """Return the errors in words, a line each."""
        tilt = "" if math.isnan(self.tilt_rms) else f"tilt error: {self.tilt_rms:.2g} rad (root mean square)"
        masses = [
            f"mass of {name}: {mass:.4g} +- {sigma:.2g} kg, true {true:.4g} kg"
            for name, (mass, sigma, true) in self.masses().items()
        ]
        return [line for line in (tilt, *masses) if line]
