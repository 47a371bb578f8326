"""The guarded filter on equations freed of the bias at rest, with the noise that the innovations show."""

from dataclasses import replace

import numpy as np

from inertial_estimation.estimators.inertial.adaptive_noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter, WatchPhase
from inertial_estimation.estimators.inertial.inertial_filter import FilterUpdate
from inertial_estimation.estimators.inertial.residual_bias import ResidualBias
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array, Decision

__all__ = ["CorrectedFilter"]


class CorrectedFilter:
    """Updates a filter with corrected equations, and learns the corrections.

    Attributes:
        guarded: The filter under watch.
        bias: Constant bias of the rows, from a calibration at rest.
        noise: Noise of the rows, from the innovations.
    """

    def __init__(self, guarded: GuardedFilter, bias: ResidualBias, noise: AdaptiveNoise) -> None:
        """Begin with the corrections as they are.

        Args:
            guarded: The filter under watch.
            bias: Bias of the rows.
            noise: Noise of the rows.
        """
        self.guarded, self.bias, self.noise = guarded, bias, noise

    def reset(self) -> None:
        """Return to the nominal parameters and the stated noise; the bias stays."""
        self.guarded.reset()
        self.noise.reset()
        self._judge_by_seen()

    def update(
        self, equation: LinearEquation, joint_velocities: Array, dt: float, *, learn: bool
    ) -> FilterUpdate:
        """Update the filter, or the bias while a calibration is under way.

        Args:
            equation: The measurement with the stated noise.
            joint_velocities: Velocities of the joints [rad/s], shape (n_joints,).
            dt: Time since the last one [s].
            learn: False only reports the innovation.

        An innovation of which the cause is known, as a push, says nothing about the noise.
        """
        if self.bias.active:
            update = self.guarded.filter.update(equation, dt, learn=False)
            decision = self.bias.feed(update.innovation, float(np.abs(joint_velocities).max()), dt)
            return replace(update, decision=decision)
        if self.bias.bias.any():
            equation = replace(equation, value=equation.value - self.bias.bias)
        corrected = self.noise.scaled(equation)
        update = self.guarded.update(corrected, dt, learn=learn)
        if learn and update.decision is not Decision.PUSHED:
            self.noise.feed(update, corrected, dt, suspect=self.guarded.phase is not WatchPhase.GOOD)
            self._judge_by_seen()
        return update

    def _judge_by_seen(self) -> None:
        self.guarded.filter.gate.factor = self.noise.gate_factor
