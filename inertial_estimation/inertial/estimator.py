"""Inertial estimation from measurement equations to estimates, independent of how inputs are read."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrs

from inertial_estimation.errors import MeasurementError
from inertial_estimation.inertial.bank import BankBlock
from inertial_estimation.inertial.cause_table import CauseKind, CauseTable, InputNames
from inertial_estimation.inertial.comparison_filters import LinearKalman, LogCholeskyEkf, nis_bound
from inertial_estimation.inertial.config import INFORMATION, LOG_CHOLESKY, InertialPipelineConfig
from inertial_estimation.inertial.filter import InformationFilter
from inertial_estimation.inertial.link_estimates import LinkEstimates, PublishedLinks
from inertial_estimation.inertial.model import EstimationModel
from inertial_estimation.inertial.noise import EquationBlock, NoiseScale
from inertial_estimation.inertial.posterior import InformedPart, Posterior, cholesky, informed_part
from inertial_estimation.inertial.supervisor import FoundCause, Phase, Supervisor
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.dynamics_measurement import LinearEquation, MeasuredState
from inertial_estimation.models.estimated_model import InertiaPosterior, LogCholeskyPosterior
from inertial_estimation.signals import Array, Decision, InertialEstimate, frozen_array, unchecked
from inertial_estimation.spatial.log_cholesky import parameters_from_log_cholesky

PARABOLIC_WINDOW = 1.2  # windows per independent mean: integral of the squared parabolic weight
CALIBRATION_S = 2.0  # of rest over which a calibration averages the residual [s]
LARGEST_VALUE = 1e9  # of a measured row, beyond any sensor's range [N, Nm]
_inertial_estimate = unchecked(InertialEstimate)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredStep:
    """The measurement of one step.

    Attributes:
        stamp_ns: Stamp of the estimate [ns].
        time_ns: Time of the measurement [ns].
        dt: Time since the previous step [s].
        equation: The measurement with the stated noise, and its state.
    """

    stamp_ns: int
    time_ns: int
    dt: float
    equation: LinearEquation


@dataclass(frozen=True, slots=True, eq=False)
class StepOutcome:
    """Outcome of the update by one measurement.

    Attributes:
        innovation: Measured minus predicted, before the update, shape (m,).
        nis: y' S^-1 y, over the share of the rows that missing readings do not reach.
        decision: How the measurement was used.
        variance: Variance of each innovation with the noise in use, shape (m,).
        log_det: Log determinant of S with the shown noise (`NoiseScale.shown`).
    """

    innovation: Array
    nis: float
    decision: Decision
    variance: Array
    log_det: float = math.nan

    @property
    def accepted(self) -> bool:
        """Whether the measurement corrects the state."""
        return self.decision in (Decision.ACCEPTED, Decision.REOPENED)


class ResidualBias:
    """Averages the residual at rest on request and keeps it as a bias of the rows (Foster et al. IV-B).

    Cables and errors of the nominal model cause a constant residual. The bias is not observable together
    with the inertial parameters (a state augmented with it is rank deficient), so it is measured once
    under the assumption that the parameters are correct.

    Attributes:
        bias: Bias subtracted from the measured rows [Nm, N], zero if unknown, shape (m,).
        active: Whether a calibration is running.
        window_s: Time over which residuals are averaged [s].
    """

    def __init__(self, rows: int) -> None:
        """Start without bias.

        Args:
            rows: Number of rows.
        """
        self._rows, self.window_s = rows, CALIBRATION_S
        self.reset()

    def reset(self) -> None:
        """Discard the bias and a running calibration."""
        self.bias, self.active = np.zeros(self._rows), False
        self._residuals, self._gathered_s = list[Array](), 0.0

    def start(self) -> None:
        """Start a calibration; the previous bias and residuals are discarded."""
        self.reset()
        self.active = True

    def feed(self, residual: Array, dt: float, *, at_rest: bool) -> Decision:
        """Add one residual while a calibration is running.

        Args:
            residual: Measured minus predicted, bias not subtracted, shape (m,).
            dt: Time since the last residual [s].
            at_rest: Whether the joints are at rest.

        Returns:
            WAITING_FOR_REST, CALIBRATING, or CALIBRATED at the end.
        """
        if not at_rest:
            self.start()
            return Decision.WAITING_FOR_REST
        self._residuals.append(residual)
        self._gathered_s += dt
        if self._gathered_s < self.window_s:
            return Decision.CALIBRATING
        bias = np.mean(self._residuals, axis=0)
        self.reset()
        self.bias = bias
        return Decision.CALIBRATED


class InertialEstimator:
    """Estimates inertial parameters from measurement equations, and hands them over for publication.

    Attributes:
        config: The parameters.
        model: The bodies, friction terms and equation of the filter.
        filter: The filter.
        supervisor: Decides what the filter learns; None for the filters for comparison.
        noise: Scale of the stated noise.
        published: The published links.
        informed: The part of the state that is determined by data.
        bias: Constant bias of the rows, if a calibration has measured it.
        steps: Number of steps by decision.
        learning: Whether parameters are estimated; while False they are frozen and residuals reported.
    """

    def __init__(self, config: InertialPipelineConfig, model: EstimationModel, inputs: InputNames) -> None:
        """Start at the nominal parameters.

        Args:
            config: The parameters.
            model: The bodies, friction terms and equation.
            inputs: Names of the inputs, for messages.
        """
        self.config, self.model, self._initial_model = config, model, model
        rows = model.measurement.row_names
        self.noise = model.noise_scale()
        self.supervisor: Supervisor | None = None
        self.filter: InformationFilter | LogCholeskyEkf = built_filter(config, model, self.noise)
        if isinstance(self.filter, InformationFilter):
            bank, bodies = model.bank(inputs)
            self.supervisor = Supervisor(
                self.filter,
                bank,
                bodies,
                lambda body: self.model.load_step(bank.table, body),
                self._switch_on,
            )
        self.bias = ResidualBias(len(rows))
        self.published = PublishedLinks(model.published, model.idle_covariances())
        self.published.set_estimated(model.bodies)
        self._bound = nis_bound(len(rows))
        self.learning = True
        self.steps: dict[Decision, int] = {}
        self.reset()

    @property
    def posterior(self) -> Posterior:
        """State of the filter, with its covariance."""
        return self.filter.posterior

    def reset(self) -> None:
        """Return to the nominal parameters and discard the bias."""
        self.bias.reset()
        self.forget()

    def forget(self) -> None:
        """Return to the nominal parameters; the bias is kept."""
        if self.model is not self._initial_model:
            self.model = self._initial_model
            assert isinstance(self.filter, InformationFilter)
            assert self.supervisor is not None
            self.filter.described = self.model.unknowns
            self._note_bodies()
        self.filter.reset()
        if self.supervisor is not None:
            self.supervisor.reset()
        self.published.reset()
        self.steps.clear()
        self._since = math.inf  # time since the last measurement [s]
        self._figures: tuple[Any, ...] | None = None  # of the last measurement, in the order of an estimate
        unknowns = self.model.unknowns
        self.informed = InformedPart(unknowns.nominal, np.zeros(unknowns.n_inferred))

    def set_learning(self, learning: bool) -> None:
        """Switch learning on or off; waiting blocks are learned before it is switched off."""
        if self.learning and not learning and self.supervisor is not None:
            self.supervisor.conclude()
        self.learning = learning

    def drop_waiting(self) -> None:
        """Discard blocks that are not learned yet, since a step has failed."""
        if self.supervisor is not None:
            self.supervisor.waiting.clear()

    def believed(self) -> Array:
        """Return the estimated parameters about the joint frames, by which noise is stated, shape (n,)."""
        return self.posterior.at.phi

    def about_known_errors(self, state: MeasuredState) -> MeasuredState:
        """Return a measured state with the estimated errors of the accelerometer, if there are any.

        Args:
            state: The state as measured.
        """
        errors = self.model.errors
        if errors is None:
            return state
        k = self.model.unknowns.n_inferred
        return errors.about(state, self.posterior.x[k : k + errors.size])

    def update(self, step: MeasuredStep) -> StepOutcome:
        """Update the filter with one measurement.

        Args:
            step: The measurement; its equation has the state.

        Raises:
            MeasurementError: If the equation is not finite.
        """
        equation = step.equation
        if not (np.abs(equation.value) < LARGEST_VALUE).all() or not math.isfinite(
            float(equation.regressor.sum())
        ):
            raise MeasurementError(
                "the measurement equation is not finite: readings are beyond any sensor's range"
            )
        dt, self._since = min(self._since + step.dt, self.config.window), 0.0
        block = self._block(equation, dt, step.time_ns)
        if self.bias.active:
            residual = self.filter.innovation(block)
            return self._outcome(block, self.bias.feed(residual, dt, at_rest=block.at_rest))
        if not self.learning:
            return self._outcome(block, Decision.DISABLED)
        if isinstance(self.filter, LogCholeskyEkf):
            outcome = self._outcome(block, Decision.ACCEPTED)
            return replace(outcome, decision=self.filter.update(block))
        assert self.supervisor is not None
        holding = Decision.PUSHED if self.located is not None else Decision.FROZEN
        learning = self.supervisor.phase is Phase.LEARNING
        outcome = self._outcome(block, Decision.ACCEPTED if learning else holding)
        deviation = outcome.innovation / np.sqrt(outcome.variance)
        self.supervisor.feed(BankBlock(block, equation, deviation, self.supervisor.table))
        return outcome

    def _block(self, equation: LinearEquation, dt: float, time_ns: int) -> EquationBlock:
        """Return a measurement that represents dt seconds as a block, with the bias subtracted."""
        bias = self.bias.bias if equation.known is None else equation.known @ self.bias.bias
        return self.model.block(equation, self.posterior, dt, time_ns, bias)

    def _outcome(self, block: EquationBlock, decision: Decision) -> StepOutcome:
        y, noise, supervised = self.filter.innovation(block), self.noise, self.supervisor is not None
        H = block.A @ self.posterior.at.D
        predicted = H @ self.posterior.P @ H.T
        S = predicted + (noise.shown(block) if supervised else block.noise)
        used = block.with_friction(noise.scaled(block.noise)) if supervised else block.noise
        L = cholesky(S)
        log_det = 2.0 * float(np.log(L.diagonal()).sum())
        nis = float(y @ dpotrs(L, y, lower=1)[0]) * len(y) / (block.size or len(y))
        return StepOutcome(y, nis, decision, (predicted + used).diagonal(), log_det)

    def estimate(self, step: MeasuredStep, outcome: StepOutcome) -> InertialEstimate:
        """Hand over the parameters and return the estimate after an update.

        Args:
            step: The measurement.
            outcome: Outcome of its update.
        """
        self.steps[outcome.decision] = self.steps.get(outcome.decision, 0) + 1
        posterior, model, k = self.posterior, self.model, self.model.unknowns.n_inferred
        n = model.unknowns.n_inertial
        centre = self.filter.centre.x if isinstance(self.filter, InformationFilter) else posterior.x
        informed = informed_part(model.unknowns, posterior, centre)
        informed_C = None  # the papers' filters publish all that they estimate
        if self.supervisor is not None:
            informed_C = parameters_from_log_cholesky(informed.x[:n].reshape(-1, 10))
        self.published.take(posterior, informed_C)
        self.informed = informed
        self._figures = (
            model.measurement.row_names,
            frozen_array("innovation", outcome.innovation),
            outcome.nis,
            self._bound,
            outcome.accepted,
            outcome.decision,
            informed.information,
            informed.directions,
            dict(zip(model.friction_names, posterior.x[n:k].tolist(), strict=True)),
            self.noise.factors(),
            self.located,
            model.named_errors(posterior.x[k:], posterior.P[k:, k:], step.equation.state.tau),
        )
        return _inertial_estimate(step.stamp_ns, self._advance(step.dt), *self._figures, True)

    def _advance(self, dt: float) -> LinkEstimates:
        """Move the published parameters towards the estimates over a time [s]."""
        rate = self.config.hand_over_rate
        if self.supervisor is None:
            return self.published.advance(rate * dt)
        loads, limit = self.supervisor.loads, self.supervisor.hand_over_rate(rate) * dt
        return self.published.advance(limit, tuple(loads.followed))

    def between(self, stamp_ns: int, dt: float) -> InertialEstimate | None:
        """Hand over the parameters at a step without a measurement; None before the first measurement.

        Args:
            stamp_ns: Stamp of the estimate [ns].
            dt: Time since the previous step [s].
        """
        self._since += dt
        if self._figures is None:
            return None
        return _inertial_estimate(stamp_ns, self._advance(dt), *self._figures, False)

    @property
    def located(self) -> LocatedCause | None:
        """The cause of the present event, or the last load that was learned, if it is certain; else None."""
        supervisor = self.supervisor
        if supervisor is None or supervisor.found is None or not supervisor.found.is_reported:
            return None
        return to_located_cause(supervisor.table, supervisor.found)

    def whole_posterior(self) -> InertiaPosterior:
        """Return the joint distribution of the parameters of all bodies, about the link frames."""
        n, to_link = self.model.unknowns.n_inertial, np.array([body.to_link for body in self.model.bodies])
        x, P = self.posterior.x[:n].reshape(-1, 10), self.posterior.covariance[:n, :n]
        return LogCholeskyPosterior(x, P, to_link, self.model.unknowns.convention)

    def _switch_on(self, candidate: int) -> bool:
        """Add a candidate on which a load was detected to the filter, if its inertia is published."""
        assert isinstance(self.filter, InformationFilter)
        assert self.supervisor is not None
        link = self.supervisor.table.candidates.links[candidate]
        joint = self.model.robot.link_body(link).joint_id
        published = next((body.link for body in self.model.published if body.joint_id == joint), "")
        if not published:
            return False
        self.model = self.model.with_link(published)
        self.filter.add_body(self.model.unknowns)
        self._note_bodies()
        for old in self.supervisor.waiting:
            old.equation = self.model.measurement.equation(old.equation.state, self.believed())
            old.rows = self._block(old.equation, old.rows.dt, old.rows.time_ns)
        return True

    def _note_bodies(self) -> None:
        assert self.supervisor is not None
        links = self.supervisor.table.candidates.links
        self.supervisor.bodies = self.model.estimated_candidates(links)
        self.published.set_estimated(self.model.bodies)


def built_filter(
    config: InertialPipelineConfig, model: EstimationModel, noise: NoiseScale
) -> InformationFilter | LogCholeskyEkf:
    """Return the filter that the parameters choose."""
    unknowns = model.unknowns
    if config.filter == INFORMATION:
        return InformationFilter(unknowns, noise, model.n_considered)
    build = LogCholeskyEkf if config.filter == LOG_CHOLESKY else LinearKalman
    overlap = max(1.0, config.rate * config.window / PARABOLIC_WINDOW)
    return build(unknowns, overlap=overlap)


def to_located_cause(table: CauseTable, found: FoundCause) -> LocatedCause:
    """Return a detected cause in SI units and axes of links, for messages."""
    h = found.hypothesis
    assert h.amplitudes is not None
    if h.kind is CauseKind.INPUT:
        assert h.row is not None
        name = table.inputs[h.row.columns][h.index]
        return LocatedCause(Cause.FAULT, found.probability, input=name)
    links = tuple(table.candidates.links[i] for i in found.indices)
    if h.kind is CauseKind.LOAD:
        mass, com_L = table.candidates.load_in_link(h.index, h.amplitudes * table.load_size)
        return LocatedCause(
            Cause.LOAD, found.probability, not found.certain, links, mass, com_L, as_push=found.as_press
        )
    if h.kind not in (CauseKind.PUSH, CauseKind.PRESS):
        raise ValueError(f"no words for a cause of the kind {h.kind.value}")
    wrench = h.amplitudes * table.wrench_size if h.kind is CauseKind.PUSH else found.press(table)
    force, torque, point = table.candidates.wrench_in_link(h.index, wrench, found.columns.R_BJ[h.index])
    return LocatedCause(
        Cause.PUSH,
        found.probability,
        links=links,
        force_L=force,
        torque_L=torque,
        point_L=point,
    )
