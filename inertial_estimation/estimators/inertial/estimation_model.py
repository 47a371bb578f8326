"""The robot model of an inertial pipeline: bodies, friction and measurement equation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.estimators.inertial.cause_inquiry import CauseInquiry
from inertial_estimation.estimators.inertial.cause_model import CauseModel
from inertial_estimation.estimators.inertial.filters import filter_named
from inertial_estimation.estimators.inertial.gate import InnovationGate
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.input_causes import InputNames
from inertial_estimation.estimators.inertial.link_choice import published_bodies, starting_links
from inertial_estimation.estimators.inertial.link_estimates import LinkReport
from inertial_estimation.estimators.inertial.load_locator import LoadLocator
from inertial_estimation.estimators.inertial.pair_locator import PairLocator
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.estimators.inertial.row_errors import RowErrors
from inertial_estimation.estimators.inertial.sensor_states import SensorPrior
from inertial_estimation.models.body_reference import BodyReference, check_priors, estimated_bodies
from inertial_estimation.models.candidate_columns import CandidateColumns, candidate_links
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement
from inertial_estimation.models.friction import FrictionModel, friction_model
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.load_classes import load_classes
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sensor_errors import SensorErrors, UninformingRows, sensor_errors
from inertial_estimation.signals import Array, InertialEstimate, LinkEstimate

TORQUE_ERROR = "torque_error"  # what a row takes more than the model in all: of a joint offset and gain
PARABOLIC_WINDOW = 1.2  # windows per independent mean: integral of the squared parabolic weight


@dataclass(frozen=True, eq=False)
class EstimationModel:
    """The bodies and friction terms to estimate, and the equation that measures them.

    Attributes:
        setup: The robot and its contacts.
        imu: IMU that senses the acceleration of the base; None without one.
        published: Bodies whose inertias are published; the others of them than `bodies` stay nominal.
        bodies: The bodies to estimate, in the order of the state.
        friction: The friction to estimate; None for none.
        errors: Slowly varying errors of the sensors; None where none is assumed.
        measurement: The measurement equation.
        urdf: Text of the robot's URDF.
    """

    setup: RobotSetup
    imu: ImuMount | None
    published: tuple[BodyReference, ...]
    bodies: tuple[BodyReference, ...]
    friction: FrictionModel | None
    errors: SensorErrors | None
    measurement: DynamicsMeasurement
    urdf: str

    @classmethod
    def build(
        cls, config: InertialPipelineConfig, setup: RobotSetup, imu: ImuMount | None, urdf: str
    ) -> "EstimationModel":
        """Resolve the configured links and friction terms against the robot.

        Args:
            config: The parameters.
            setup: The robot and its contacts.
            imu: IMU that senses the acceleration of the base; None without one.
            urdf: Text of the URDF.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If parameters contradict one another.
            ~inertial_estimation.errors.ModelError: If a joint or link does not exist.
        """
        published = published_bodies(setup.robot, config)
        return cls._of(config, setup, imu, urdf, published, starting_links(config, published))

    def with_link(self, config: InertialPipelineConfig, link: str) -> "EstimationModel":
        """Return the model with one more estimated body.

        Args:
            config: The parameters.
            link: Link of a published body.
        """
        links = (*(body.link for body in self.bodies), link)
        return self._of(config, self.setup, self.imu, self.urdf, self.published, links)

    @classmethod
    def _of(
        cls,
        config: InertialPipelineConfig,
        setup: RobotSetup,
        imu: ImuMount | None,
        urdf: str,
        published: tuple[BodyReference, ...],
        links: tuple[str, ...],
    ) -> "EstimationModel":
        robot = setup.robot
        bodies = estimated_bodies(robot, links)
        check_priors(robot, bodies)
        friction, known_friction = friction_model(config.friction, robot, config.robot.nominal_friction)
        with_offset = friction.joints if friction and "offset" in friction.terms else ()
        errors = sensor_errors(
            config.sensor_errors,
            robot,
            config.rows.selection().resolved(robot, setup.contacts),
            published,
            contacts=setup.contact_names,
            accelerometer=imu is not None,
            known_offsets=with_offset,
        )
        measurement = DynamicsMeasurement(
            robot,
            bodies,
            config.row_selection,
            config.noise,
            setup.contacts,
            friction,
            imu,
            known_friction,
            config.row_weights,
        )
        return cls(setup, imu, published, bodies, friction, errors, measurement, urdf)

    @property
    def robot(self) -> RobotModel:
        """The robot, with its nominal inertias."""
        return self.setup.robot

    @property
    def links(self) -> tuple[str, ...]:
        """Links whose inertias are published, in the order of the estimates."""
        return tuple(body.link for body in self.published)

    @property
    def friction_names(self) -> tuple[str, ...]:
        """Names of the friction states, ``joint/term``; empty where none is estimated."""
        return self.friction.names if self.friction else ()

    @property
    def error_names(self) -> tuple[str, ...]:
        """Names of the sensors' errors and of those of rows in all; empty where none is assumed."""
        if self.errors is None:
            return ()
        rows = (*self.errors.rows, *self.errors.others.joints)
        return (*self.errors.names, *(f"{TORQUE_ERROR}/{row}" for row in rows))

    def idle_covariances(self, config: InertialPipelineConfig) -> Array:
        """Return the prior covariance in C of every published body, shape (n, 10, 10)."""
        return replace(self, bodies=self.published).make_filter(config).body_parameters()[1]

    def prior(self, config: InertialPipelineConfig) -> Sequence[LinkEstimate]:
        """Return every published body before the first measurement: nominal, with the prior covariance."""
        nominal_C = np.array([body.nominal_C for body in self.published])
        return LinkReport(self.published).estimates(nominal_C, self.idle_covariances(config), nominal_C)

    def make_filter(self, config: InertialPipelineConfig) -> InertialFilter:
        """Build the configured filter at the nominal parameters, with its gate."""
        prior, friction = config.prior, self.friction
        sigma, nominal = np.zeros(0), np.zeros(0)
        if friction:
            sigma = config.friction.prior.sigmas(friction.parameter_terms, 1)
            nominal = friction.nominal_values
        gate = InnovationGate(config.gate, len(self.measurement.row_names))
        priors = PriorSigma(prior.mass, prior.com, prior.radii, sigma, nominal, self._sensor_prior(config))
        build = filter_named(config.filter)
        walk = config.process.walk(len(sigma) + len(priors.sensors.sigmas))
        return build(self.bodies, priors, gate, prior.memory, self._overlap(config), config.convention, walk)

    @staticmethod
    def _overlap(config: InertialPipelineConfig) -> float:
        """Return the number of updates per independent measurement."""
        return max(1.0, config.rate * config.window / PARABOLIC_WINDOW)

    def _sensor_prior(self, config: InertialPipelineConfig) -> SensorPrior:
        if self.errors is None:
            return SensorPrior()
        own = config.sensor_errors
        return SensorPrior(self.errors.sigmas, own.drift_time, own.considered, self.errors.informing)

    def make_row_errors(self, config: InertialPipelineConfig) -> RowErrors:
        """Build the estimator of the errors of rows that contain no body that is estimated."""
        own, rows = config.sensor_errors, self.errors.others if self.errors else UninformingRows.none()
        return RowErrors(rows, own.drift_time, self._overlap(config), considered=own.considered)

    def named_errors(
        self, errors: Array, P: Array, tau: Array | None, others: RowErrors
    ) -> dict[str, tuple[float, float]]:
        """Return errors of the sensors and their standard deviations by name.

        Args:
            errors: The errors, shape (k,).
            P: Their covariance, shape (k, k).
            tau: Torques as read [Nm], shape (n_joints,); None where not measured.
            others: Errors of the rows that contain no body that is estimated.
        """
        if self.errors is None:
            return {}
        sigmas = np.sqrt(np.maximum(P.diagonal(), 0.0))
        torques = np.zeros(self.robot.n_joints) if tau is None else tau
        of_rows, sigmas_of_rows = self.errors.of_rows(errors, P, torques)
        values = np.concatenate((errors, of_rows, others.values)).tolist()
        deviations = np.concatenate((sigmas, sigmas_of_rows, np.sqrt(others.variances))).tolist()
        return dict(zip(self.error_names, zip(values, deviations, strict=True), strict=True))

    def guard(
        self, filter_: InertialFilter, config: InertialPipelineConfig, inputs: InputNames
    ) -> GuardedFilter:
        """Put a filter under watch.

        Args:
            filter_: The filter.
            config: The parameters.
            inputs: Names of its inputs.
        """
        inquiry = self._inquiry(config, inputs)
        rows = len(self.measurement.row_names)
        return GuardedFilter(filter_, rows, config.watch, inquiry, config.rest_speed)

    def _inquiry(self, config: InertialPipelineConfig, inputs: InputNames) -> CauseInquiry:
        """Build the locator over the configured candidates, and those that are estimated."""
        estimated = {body.joint_id: i for i, body in enumerate(self.bodies)}
        links = candidate_links(self.robot, config.locator.candidates, [body.link for body in self.published])
        candidates = CandidateColumns(self.robot, links)
        classes = load_classes(self.robot, self.measurement, candidates)
        model = CauseModel(
            self.measurement, candidates, classes, inputs, config.locator, self.robot.total_mass
        )
        locator = LoadLocator(model, config.locator, config.window)
        pairs = PairLocator(model, config.locator, config.window)
        joints = {link: self.robot.link_body(link).joint_id for link in links}
        bodies = {link: estimated[joint] for link, joint in joints.items() if joint in estimated}
        return CauseInquiry(locator, pairs, inputs, bodies)

    def total_mass(self, pi_C: Array) -> float:
        """Return the mass of the robot with other parameters of the bodies, (n, 10) in C [kg]."""
        nominal = sum(body.nominal_J.mass for body in self.bodies)
        return self.robot.total_mass + float(pi_C[:, 0].sum()) - nominal


def torque_errors_of(estimate: InertialEstimate) -> dict[str, float]:
    """Return what each row takes more than the model, by its name [N, Nm]; empty without any.

    Rows are those of the base, along and about its axes, and of joints: as read less that of the model.

    Args:
        estimate: Estimate of the inertial filter.
    """
    named = ((name.partition("/"), value) for name, (value, _sigma) in estimate.sensor_errors.items())
    return {row: value for (kind, _slash, row), value in named if kind == TORQUE_ERROR}
