"""Inertial estimation from measurement equations to estimates: all of the pipeline that reads no input."""

from dataclasses import dataclass

from inertial_estimation.construction import made_of_checked
from inertial_estimation.estimators.inertial.adaptive_noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.corrected_filter import CorrectedFilter
from inertial_estimation.estimators.inertial.estimation_model import EstimationModel
from inertial_estimation.estimators.inertial.filter_values import FilterState, FilterUpdate
from inertial_estimation.estimators.inertial.guarded_filter import WatchPhase
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.inertial_health import FilterRecord
from inertial_estimation.estimators.inertial.information import InformationReport
from inertial_estimation.estimators.inertial.input_causes import InputNames
from inertial_estimation.estimators.inertial.link_estimates import PublishedLinks
from inertial_estimation.estimators.inertial.posterior_linearisation import CurvedPosterior
from inertial_estimation.estimators.inertial.repeated_passes import RepeatedPasses
from inertial_estimation.estimators.inertial.residual_bias import ResidualBias
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.models.inertia_posterior import InertiaPosterior
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.signals import Array, InertialEstimate, frozen_array

_estimate = made_of_checked(InertialEstimate)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredStep:
    """The measurement of one step.

    Attributes:
        stamp_ns: Stamp that the estimate carries [ns].
        time_ns: Time of the measurement [ns].
        dt: Time since the step before [s].
        equation: The measurement with the stated noise, and its state.
        restarted: Whether stamps went back before it, so that no earlier estimate is valid.
    """

    stamp_ns: int
    time_ns: int
    dt: float
    equation: LinearEquation
    restarted: bool = False


class InertialEstimator:
    """Turns measurement equations into estimates: corrections, filter under watch, hand-over.

    Data outside the range of the arithmetic overflow in it; call it where NumPy does not warn of that, and
    judge its results.

    Attributes:
        config: Its parameters.
        model: The bodies, friction terms and equation of the filter.
        corrected: The filter under watch, the bias of the rows and their noise.
        posterior: Mean and covariance of the reported state, in coordinates and in parameters.
        record: Counters, and information of the data.
        learning: Whether parameters are estimated; while False they are frozen and residuals reported.
    """

    def __init__(self, config: InertialPipelineConfig, model: EstimationModel, inputs: InputNames) -> None:
        """Begin at the nominal parameters.

        Args:
            config: The parameters.
            model: The bodies, friction terms and equation.
            inputs: Names of the inputs, for messages.
        """
        self.config, self.model = config, model
        rows = model.measurement.row_names
        guarded = model.guard(model.make_filter(config), config, inputs)
        self.corrected = CorrectedFilter(
            guarded,
            ResidualBias(len(rows), config.calibration_window, config.rest_speed),
            AdaptiveNoise(rows, config.gate.quantile, config.noise_adaptation),
            model.make_filter(config),
            config.window,
        )
        idle = model.idle_covariances(config)
        self._links = PublishedLinks(model.published, model.bodies, idle, config.hand_over_rate)
        self.posterior = CurvedPosterior(self.filter, config.information_period)
        self._row_errors = model.make_row_errors(config)
        self._passes = RepeatedPasses(model, config)
        self.record = FilterRecord(config, self.filter.kinds.inferred)
        self.learning = config.enabled
        self.reset()

    @property
    def filter(self) -> InertialFilter:
        """The inertial filter."""
        return self.corrected.guarded.filter

    def reset(self) -> None:
        """Return to the nominal parameters and drop the bias."""
        self.corrected.bias.reset()
        if self.config.calibrate_at_start:
            self.corrected.bias.start()
        self.forget()

    def forget(self) -> None:
        """Return to the nominal parameters; the bias stays."""
        self.corrected.reset()
        self._row_errors.reset()
        self._passes.reset()
        self.posterior.reset()
        self._links.reset()
        self.record.reset()

    def return_to_good(self) -> None:
        """Return to the last good state at once: a step has failed."""
        self.corrected.guarded.return_to_good()

    def set_config(self, config: InertialPipelineConfig) -> None:
        """Take parameters of which only those that may change while running differ."""
        self.config = config
        self.filter.gate.config = config.gate
        self.corrected.guarded.config = config.watch
        self.corrected.guarded.inquiry.set_config(config.locator)
        self.record.set_config(config)
        self.posterior.period = config.information_period
        self.corrected.noise.config = config.noise_adaptation

    def trusted(self) -> Array:
        """Return the parameters in C that may be published, of the estimated bodies, shape (n, 10)."""
        return self.corrected.guarded.trusted()

    def believed(self) -> Array:
        """Return the parameters about the joint frames with which noise is stated, friction last, shape (n,).

        While data are suspect they are those before the first of these, and while the first seconds are
        filtered again those about which that is done.
        """
        point = self._passes.point
        return self._unsuspected.phi if point is None else point.phi

    @property
    def _unsuspected(self) -> FilterState:
        """The state, while data are suspect that before the first of these."""
        guarded = self.corrected.guarded
        return guarded.filter.state if guarded.phase is WatchPhase.GOOD else guarded.good.held

    def about_known_errors(self, state: MeasuredState) -> MeasuredState:
        """Return a measured state with the errors of the accelerometer that are believed, if it has any.

        Args:
            state: The state as measured.
        """
        if self.model.errors is None:
            return state
        point, k = self._passes.point, self.filter.kinds.inferred
        return self.model.errors.about(state, self._unsuspected.x[k:] if point is None else point.errors)

    def update(self, step: MeasuredStep) -> FilterUpdate:
        """Update the filter with one measurement.

        Args:
            step: The measurement; its equation has the state.
        """
        assert step.equation.state is not None
        velocities = step.equation.state.v
        equation, errors = step.equation, self.model.errors
        if errors is not None:
            equation = errors.appended(equation, self.believed())
        learn, starts = self.learning, self.corrected.starts
        update = self.corrected.update(equation, velocities, step.dt, learn=learn)
        if errors is not None and update.accepted and self.corrected.guarded.phase is WatchPhase.GOOD:
            self._row_errors.update(update.innovation, equation.noise, step.dt)
        if self.corrected.starts > starts:
            self._passes.reset()
        elif learn and not self._passes.over:
            self._passes.feed(equation, step.dt, self.corrected, accepted=update.accepted)
        self._switch_on(self.corrected.guarded.inquiry.unestimated)
        self.record.count(update)
        return update

    def estimate(self, step: MeasuredStep, update: FilterUpdate) -> InertialEstimate:
        """Hand over the parameters and return the estimate after an update.

        Args:
            step: The measurement.
            update: Its outcome.
        """
        guarded, noise = self.corrected.guarded, self.corrected.noise
        config = self.config
        located, lead = guarded.good.located, 0.5 * config.window
        rate = located.hand_over_rate(config.hand_over_rate, config.hand_over_time, lead)
        reported = guarded.reported
        self.posterior.update(reported, step.time_ns)
        pi_C, covariance_C = self.posterior.parameters_of(reported)
        trusted_C = located.ahead(guarded.trusted(pi_C), step.dt, lead)
        links = self._links.advance(pi_C, covariance_C, trusted_C, step.dt, rate, located.followed)
        information, filter_, model = self.record.information, guarded.filter, self.model
        if information.is_due(step.time_ns):
            n = filter_.kinds.inferred
            information.update(step.time_ns, filter_.P[:n, :n], filter_.prior_factor[:n, :n])
        names = model.friction_names
        return _estimate(
            step.stamp_ns,
            links,
            model.measurement.row_names,
            frozen_array("innovation", update.innovation),
            update.nis,
            filter_.gate.bound,
            update.accepted,
            update.decision,
            information.eigenvalues,
            information.informed,
            dict(zip(names, filter_.friction.tolist(), strict=True)) if names else {},
            noise.factors(),
            guarded.inquiry.certain,
            {} if model.errors is None else self._sensor_errors(step),
        )

    def _sensor_errors(self, step: MeasuredStep) -> dict[str, tuple[float, float]]:
        """Return the errors of the sensors by name, as they were before suspect data."""
        assert step.equation.state is not None
        state, k = self._unsuspected, self.filter.kinds.inferred
        return self.model.named_errors(
            state.x[k:], state.P[k:, k:], step.equation.state.tau, self._row_errors
        )

    def whole_posterior(self) -> InertiaPosterior:
        """Return the distribution of the parameters of all bodies together, about the link frames."""
        posterior = CurvedPosterior(self.filter, self.config.information_period)
        posterior.converge(self.filter.state)
        return self.filter.posterior_of(posterior.mean, posterior.covariance)

    def _switch_on(self, link: str) -> None:
        """Estimate a published link from now on: a load has been located on it; none for an empty name."""
        if not link or link not in self.model.links:
            return
        self.model = self.model.with_link(self.config, link)
        self.corrected.guarded.carry_over(self.model.make_filter(self.config))
        self.corrected.compare_with(self.model.make_filter(self.config))
        self._links.set_estimated(self.model.bodies)
        self._passes = RepeatedPasses(self.model, self.config)
        self._passes.end()
        self.posterior = CurvedPosterior(self.filter, self.config.information_period)
        self.record.information = InformationReport(
            self.filter.kinds.inferred, self.config.information_period
        )
