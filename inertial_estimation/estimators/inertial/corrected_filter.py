"""The guarded filter on equations freed of the bias at rest, with the noise that the innovations show."""

from dataclasses import replace

import numpy as np

from inertial_estimation.estimators.inertial.adaptive_noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.fresh_start import START, FreshStart
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter, WatchPhase
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.residual_bias import ResidualBias
from inertial_estimation.located_cause import Cause
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array, Decision

MOST_STARTS = 3  # a filter that goes on contradicting itself keeps what it has then
REPORTED_FOR = 10.0  # time for which a new beginning is reported [s]
INPUTS = "the inputs"


class CorrectedFilter:
    """Updates a filter with corrected equations, and learns the corrections.

    Attributes:
        guarded: The filter under watch.
        bias: Constant bias of the rows, from a calibration at rest.
        noise: Noise of the rows, from the innovations.
        starts: Number of times that learning has begun since the last reset, at least one.
    """

    def __init__(
        self,
        guarded: GuardedFilter,
        bias: ResidualBias,
        noise: AdaptiveNoise,
        other: InertialFilter,
        window: float = 0.0,
    ) -> None:
        """Begin with the corrections as they are.

        Args:
            guarded: The filter under watch.
            bias: Bias of the rows.
            noise: Noise of the rows.
            other: A filter like the one under watch, to compare it with.
            window: Time over which a measurement is averaged [s]: for so long faulty readings are in it.
        """
        self._window, self._wait_for = window, 0.0
        self.guarded, self.bias, self.noise = guarded, bias, noise
        self.starts, self._report_for, self._cause = 1, 0.0, INPUTS
        self._fresh = FreshStart(other)

    def reset(self) -> None:
        """Return to the nominal parameters and the stated noise; the bias stays."""
        self.starts, self._report_for, self._wait_for = 1, 0.0, 0.0
        self._begin()

    def noise_note(self, nis_factor: float) -> str:
        """Return which noise parameters are too small, and whether learning has begun anew lately.

        Args:
            nis_factor: Factor of the variance from which on it is reported.
        """
        anew = (
            f"learning has begun anew, since the first data contradict those after them: check {self._cause}"
        )
        texts = (anew if self._report_for > 0.0 else "", self.noise.too_small(nis_factor))
        return "; ".join(text for text in texts if text)

    def update(
        self, equation: LinearEquation, joint_velocities: Array, dt: float, *, learn: bool
    ) -> FilterUpdate:
        """Update the filter, or the bias while a calibration is under way.

        Args:
            equation: The measurement with the stated noise.
            joint_velocities: Velocities of the joints [rad/s], shape (n_joints,).
            dt: Time since the last one [s].
            learn: False only reports the innovation.

        An innovation of which the cause is known, as a push, or a load that may be a push, says nothing about
        the noise. Where the first seconds have taught something wrong, learning begins anew.
        """
        guarded = self.guarded
        self._report_for, self._wait_for = max(0.0, self._report_for - dt), max(0.0, self._wait_for - dt)
        if self.bias.active:
            update = guarded.filter.update(equation, dt, learn=False)
            decision = self.bias.feed(update.innovation, float(np.abs(joint_velocities).max()), dt)
            return replace(update, decision=decision)
        corrected = self.freed(equation)
        if learn and self._wait_for > 0.0:
            update = guarded.filter.update(corrected, dt, learn=False)
            return replace(update, decision=Decision.FROZEN)
        update = guarded.update(corrected, dt, learn=learn)
        if not learn:
            return update
        known = update.decision is Decision.PUSHED or guarded.inquiry.found.is_open
        good = guarded.phase is WatchPhase.GOOD
        if not known:
            self.noise.feed(update, corrected, dt, suspect=not good)
            self._judge_by_seen()
            if good and self._fresh.is_past:
                return update
        fresh_is_better = self._compare(corrected, update, dt, known=known)
        if fresh_is_better and self.starts < MOST_STARTS:
            self.starts, self._report_for = self.starts + 1, REPORTED_FOR
            self._cause = guarded.cause or guarded.inquiry.input_of(update, corrected) or INPUTS
            self._begin()
            self._wait_for = self._window
        return update

    def freed(self, equation: LinearEquation) -> LinearEquation:
        """Return an equation without the bias, if that is known, and with the noise in use.

        Args:
            equation: The measurement with the stated noise.
        """
        if self.bias.is_known:
            equation = replace(equation, value=equation.value - self.bias.bias)
        return self.noise.scaled(equation)

    def compare_with(self, other: InertialFilter) -> None:
        """Compare the filter under watch, which has one more body now, with another one from a reset on."""
        self._fresh = FreshStart(other)
        self._fresh.retire()

    def _compare(self, equation: LinearEquation, update: FilterUpdate, dt: float, *, known: bool) -> bool:
        """Return whether a filter that has begun later predicts the data better.

        A load or a push contradicts what has been learned, too. While there is a usual level, it is looked
        for by itself; before, and while nothing is suspect, what contradicts are the first data.
        """
        if self._doubts_start():
            return self._fresh.explains(equation, update, dt)
        looked_for = self.guarded.phase is not WatchPhase.GOOD and self.guarded.level.is_known
        if known or looked_for:
            self._fresh.pause(dt)
            return False
        return self._fresh.feed(equation, update, dt)

    def _doubts_start(self) -> bool:
        """Return whether data contradict what the first seconds have taught for longer than these agreed.

        No earlier state shows whether an input is faulty now, or was faulty from the first reading on; nor,
        for what lasts longer than a push, whether it presses now, or was learned as a mass before. A push on
        a foot gives the readings of an error of its wrench, so that such an error counts as a push.
        """
        guarded, inquiry = self.guarded, self.guarded.inquiry
        if guarded.phase is not WatchPhase.PUSHED:
            return False
        found, agreed_for = inquiry.found, guarded.good.unsuspected_for
        fault = found.cause is Cause.FAULT and not found.may_be_push
        least = guarded.config.patience if fault else inquiry.locator.config.steady_push
        return agreed_for < START and guarded.in_phase_for >= max(agreed_for, least)

    def _begin(self) -> None:
        self.guarded.reset()
        self.noise.reset()
        self._fresh.reset()
        self._judge_by_seen()

    def _judge_by_seen(self) -> None:
        self.guarded.filter.gate.factor = self.noise.gate_factor
