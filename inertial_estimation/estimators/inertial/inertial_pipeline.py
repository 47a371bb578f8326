"""Everything between raw readings and inertial estimates; node, replay and tests use this object."""

import numpy as np

from inertial_estimation.errors import listing
from inertial_estimation.estimators.inertial.gate import InnovationGate
from inertial_estimation.estimators.inertial.hand_over import HandOver
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_filter import FilterUpdate, InertialFilter, PriorSigma
from inertial_estimation.estimators.inertial.inertial_inputs import InertialInputs
from inertial_estimation.estimators.inertial.information import informed_directions, relative_information
from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman
from inertial_estimation.estimators.inertial.link_estimates import LinkReport
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.residual_bias import ResidualBias
from inertial_estimation.estimators.inputs.alignment import AlignedSample, Continuity
from inertial_estimation.estimators.inputs.robot_inputs import InputPushes
from inertial_estimation.models.body_reference import BodyReference, estimated_bodies
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, LinearEquation
from inertial_estimation.models.friction import FrictionModel, friction_model
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import (
    Array,
    Health,
    HealthLevel,
    InertialEstimate,
    frozen_array,
    seconds,
)

__all__ = ["InertialPipeline", "InertialPipelineConfig"]

PARABOLIC_WINDOW = 1.2  # windows per independent mean: integral of the squared parabolic weight


class InertialPipeline(InputPushes[InertialInputs]):
    """Inertial parameters of chosen links, from joint states, IMU and contact wrenches.

    Attributes:
        config: Its parameters.
        robot: The robot.
        row_names: Names of the measurement rows.
        friction_names: Names of the friction states, ``joint/term``; empty where none is estimated.
        filter: The filter, to inspect.
    """

    def __init__(self, config: InertialPipelineConfig, urdf: str) -> None:
        """Build from parameters and a robot description.

        Args:
            config: The parameters.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If parameters contradict one another.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
        """
        self.config = config
        self._urdf = urdf
        self.robot, contacts = robot_from_config(config.robot, urdf)
        self._bodies = estimated_bodies(self.robot, config.links)
        friction, known_friction = friction_model(config.friction, self.robot, config.robot.nominal_friction)
        rows = config.rows.selection()
        self._measurement = DynamicsMeasurement(
            self.robot,
            self._bodies,
            rows,
            config.noise.model(),
            contacts,
            friction,
            config.sensing_imu,
            known_friction,
        )
        self.row_names = self._measurement.row_names
        self.friction_names = friction.names if friction else ()
        self._contact_names = tuple(contact.name for contact in contacts)
        self._inputs = InertialInputs(config, self.robot)
        self._gate = InnovationGate(config.gate, len(self.row_names))
        self.filter = _make_filter(config, self._bodies, friction, self._gate)
        self._bias = ResidualBias(len(self.row_names), config.calibration_window, config.rest_speed)
        self._hand_over = [HandOver(body.nominal_C, config.hand_over_rate) for body in self._bodies]
        self._report = LinkReport(self._bodies)
        self._learning = config.enabled
        self.reset()

    def tick(self, now_ns: int) -> list[InertialEstimate]:
        """Make every step whose inputs are complete.

        Args:
            now_ns: Time now on the clock of the stamps [ns]; decides only whether an input is stale.

        Returns:
            The estimates since the last tick, in order of their stamps; none while an input is stale.
        """
        estimates = []
        for sample in self._inputs.aligner.pop_ready():
            estimate = self._step(sample)
            if estimate is not None:
                estimates.append(estimate)
        return [] if estimates and self._inputs.aligner.missing(now_ns) else estimates

    def health(self, now_ns: int) -> list[Health]:
        """Say how the inputs and the filter are."""
        return [*self._inputs.aligner.health(now_ns), self._filter_health(now_ns)]

    def calibrate(self) -> None:
        """Measure the residual at rest from now on and take it as a bias; the last bias is dropped."""
        self._bias.start()

    def set_enabled(self, enabled: bool) -> None:
        """Switch learning on or off; switched off, parameters are frozen and residuals still reported."""
        self._learning = enabled

    def reset(self) -> None:
        """Return to the nominal parameters, drop the bias and all buffered readings."""
        self._inputs.clear()
        self._bias.reset()
        if self.config.calibrate_at_start:
            self._bias.start()
        self._forget()

    def set_parameter(self, name: str, value: object) -> None:
        """Change a parameter that may change while running.

        Args:
            name: Dotted name.
            value: New value.

        Raises:
            ConfigurationError: If it does not exist, is fixed at construction, or is out of bounds.
        """
        config = replace_runtime_value(self.config, name, value)
        self.config = config
        self._gate.config = config.gate
        self._inputs.aligner.set_timeout(config.robot.inputs.timeout)
        for hand_over in self._hand_over:
            hand_over.rate = config.hand_over_rate

    def export_urdf(self) -> str:
        """Return the URDF with the estimates in place of the nominal inertias."""
        pi_C, _covariance = self.filter.body_parameters()
        parameters_L = [body.to_link @ pi for body, pi in zip(self._bodies, pi_C, strict=True)]
        return urdf_with_bodies(self._urdf, self.robot, self._bodies, parameters_L)

    @property
    def total_mass(self) -> float:
        """Mass of the robot with the estimates in place [kg]."""
        pi_C, _covariance = self.filter.body_parameters()
        nominal = sum(body.nominal_J.mass for body in self._bodies)
        return self.robot.total_mass + float(pi_C[:, 0].sum()) - nominal

    def _forget(self) -> None:
        self.filter.reset()
        for hand_over in self._hand_over:
            hand_over.reset()
        self._last_ns: int | None = None
        self._information: Array = np.zeros(len(self.filter.x))
        self._informed = 0
        self._informed_at_ns: int | None = None
        self._counts: dict[str, int] = {}
        self._skipped = 0

    def _step(self, sample: AlignedSample) -> InertialEstimate | None:
        if sample.continuity is Continuity.RESTARTED and self._last_ns is not None:
            self._forget()
        elif sample.continuity is Continuity.AFTER_GAP:
            self._last_ns = None
        state = self._inputs.state_at(sample)
        if state is None:
            self._skipped += 1
            return None
        dt = 1.0 / self.config.rate if self._last_ns is None else seconds(sample.time_ns - self._last_ns)
        self._last_ns = sample.time_ns
        equation = self._measurement.equation(state)
        update = self._update(equation, state.v, dt)
        self._counts[update.decision] = self._counts.get(update.decision, 0) + 1
        return self._estimate(sample, update, dt)

    def _update(self, equation: LinearEquation, joint_velocities: Array, dt: float) -> FilterUpdate:
        value = equation.value - self._bias.bias
        biased = LinearEquation(equation.regressor, value, equation.noise, equation.measured)
        if not self._bias.active:
            return self.filter.update(biased, dt, learn=self._learning)
        update = self.filter.update(equation, dt, learn=False)
        decision = self._bias.feed(update.innovation, float(np.abs(joint_velocities).max()), dt)
        return FilterUpdate(update.innovation, update.nis, False, decision, 0)

    def _estimate(self, sample: AlignedSample, update: FilterUpdate, dt: float) -> InertialEstimate:
        pi_C, covariance_C = self.filter.body_parameters()
        moves = zip(self._hand_over, pi_C, strict=True)
        published_C = np.array([hand_over.advance(pi, dt) for hand_over, pi in moves])
        self._look_at_information(sample.time_ns)
        friction = dict(zip(self.friction_names, self.filter.friction.tolist(), strict=True))
        return InertialEstimate(
            stamp_ns=sample.stamp_ns,
            links=self._report.estimates(pi_C, covariance_C, published_C),
            row_names=self.row_names,
            innovation=frozen_array("innovation", update.innovation),
            nis=update.nis,
            nis_bound=self._gate.bound,
            accepted=update.accepted,
            decision=update.decision,
            information_eigenvalues=self._information,
            informed_directions=self._informed,
            friction=friction,
        )

    def _look_at_information(self, time_ns: int) -> None:
        last = self._informed_at_ns
        if last is not None and seconds(time_ns - last) < self.config.information_period:
            return
        self._informed_at_ns = time_ns
        eigenvalues = relative_information(self.filter.P, self.filter.prior_factor)
        self._information = frozen_array("information", eigenvalues)
        self._informed = informed_directions(self._information)

    def _filter_health(self, now_ns: int) -> Health:
        values = {f"steps {decision}": str(n) for decision, n in self._counts.items()}
        values |= {
            "steps without an input": str(self._skipped),
            "windows too short": str(self._inputs.short_windows),
            "joint velocities": self._inputs.velocity_source,
            "informed directions": f"{self._informed} of {len(self._information)}",
        }
        _parameters, covariance_C = self.filter.body_parameters()
        for body, covariance in zip(self._bodies, covariance_C, strict=True):
            values[f"mass sigma {body.link} [kg]"] = f"{float(np.sqrt(max(covariance[0, 0], 0.0))):.4g}"
        missing = self._inputs.aligner.missing(now_ns)
        if missing:
            return Health("estimator", HealthLevel.STALE, f"waiting for {listing(missing)}", values)
        if not self._learning:
            return Health("estimator", HealthLevel.WARN, "learning is switched off", values)
        if self._bias.active:
            return Health("estimator", HealthLevel.WARN, "calibrating the residual at rest", values)
        return Health("estimator", HealthLevel.OK, "estimating", values)


def _make_filter(
    config: InertialPipelineConfig,
    bodies: tuple[BodyReference, ...],
    friction: FrictionModel | None,
    gate: InnovationGate,
) -> InertialFilter:
    prior = config.prior
    sigma = config.friction.prior.sigmas(friction.terms, len(friction.joints)) if friction else np.zeros(0)
    nominal = friction.nominal_values if friction else np.zeros(0)
    priors = PriorSigma(prior.mass, prior.com, prior.radii, sigma, nominal)
    overlap = config.rate * config.window / PARABOLIC_WINDOW
    if config.filter == "linear":
        return LinearKalman(bodies, priors, gate, prior.memory, overlap)
    return LogCholeskyEkf(bodies, priors, gate, prior.memory, overlap, config.convention)
