"""The model of an inertial pipeline: the estimated parameters of a robot, and their measurement equation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertial_estimation.inertial.bank import Bank
from inertial_estimation.inertial.cause_table import CauseTable, InputNames
from inertial_estimation.inertial.config import AUTO, InertialPipelineConfig
from inertial_estimation.inertial.link_estimates import PublishedLinks
from inertial_estimation.inertial.noise import EquationBlock, NoiseScale, row_groups
from inertial_estimation.inertial.posterior import LinearPrior, Posterior, Unknowns
from inertial_estimation.models.bodies import (
    BodyReference,
    carries_loads,
    check_priors,
    estimated_bodies,
    has_usable_prior,
)
from inertial_estimation.models.candidate_columns import LOAD_COLUMNS, CandidateColumns
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, LinearEquation
from inertial_estimation.models.friction import (
    FrictionModel,
    friction_deviations,
    friction_model,
    smooth_sign,
)
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sensor_errors import SensorErrors
from inertial_estimation.signals import Array, InertialEstimate, LinkEstimate

TORQUE_ERROR = "torque_error"  # total error of a row: of a joint by its offset and gain
FRICTION_ERROR = 0.2  # relative error of the friction model: effects of load, temperature and speed
REST_SPEED = 0.05  # speed of joints and base below which the robot counts as at rest [rad/s]


@dataclass(frozen=True, eq=False)
class EstimationModel:
    """The bodies and friction terms to estimate, and the equation that measures them.

    Attributes:
        setup: The robot and its contacts.
        imu: IMU that senses the acceleration of the base; None without one.
        published: Bodies whose inertias are published; those that are not in `bodies` stay nominal.
        bodies: The bodies to estimate, in the order of the state.
        friction: The friction to estimate; None for none.
        errors: Slowly varying errors of the sensors; None where none is assumed.
        measurement: The measurement equation.
        urdf: Text of the robot's URDF.
        config: The parameters.
    """

    setup: RobotSetup
    imu: ImuMount | None
    published: tuple[BodyReference, ...]
    bodies: tuple[BodyReference, ...]
    friction: FrictionModel | None
    errors: SensorErrors | None
    measurement: DynamicsMeasurement
    urdf: str
    config: InertialPipelineConfig

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
        heaviest = max(published, key=lambda body: body.nominal_J.mass).link
        return cls._of(config, setup, imu, urdf, published, _named(config) or (heaviest,))

    def with_link(self, link: str) -> "EstimationModel":
        """Return the model with one more estimated body, after the others.

        Args:
            link: Link of a published body.
        """
        links = (*(body.link for body in self.bodies), link)
        return self._of(self.config, self.setup, self.imu, self.urdf, self.published, links)

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
        errors = None
        if config.sensor_errors.treatment != "none":
            rows, sensed = config.rows.resolved(robot, setup.contacts), imu is not None
            errors = SensorErrors(robot, rows, published, accelerometer=sensed, known_offsets=with_offset)
        measurement = DynamicsMeasurement(
            robot,
            bodies,
            config.rows,
            config.noise,
            setup.contacts,
            friction,
            imu,
            known_friction,
        )
        return cls(setup, imu, published, bodies, friction, errors, measurement, urdf, config)

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
        """Names of the friction states, ``joint/term``; empty if none is estimated."""
        return self.friction.names if self.friction else ()

    @property
    def error_names(self) -> tuple[str, ...]:
        """Names of the sensor errors, then of the total errors of rows; empty if none is assumed."""
        if self.errors is None:
            return ()
        return (*self.errors.names, *(f"{TORQUE_ERROR}/{row}" for row in self.errors.rows))

    @cached_property
    def unknowns(self) -> Unknowns:
        """Layout and prior of the state."""
        config, friction, errors = self.config, LinearPrior.none(), LinearPrior.none()
        if self.friction:
            sigma = friction_deviations(self.friction, self.robot, config.friction.share)
            friction = LinearPrior(self.friction.names, self.friction.nominal_values, sigma)
        if self.errors:
            errors = LinearPrior(self.errors.names, np.zeros(self.errors.size), self.errors.sigmas)
        return Unknowns(self.bodies, config.prior, friction, errors, loads=self._loads(self.bodies))

    def _loads(self, bodies: Sequence[BodyReference]) -> tuple[float, ...]:
        """Return the mass that each of some bodies may carry from the start [kg]."""
        load = self.config.prior.load * self.robot.total_mass
        return tuple(load if carries_loads(self.robot, body, bodies) else 0.0 for body in bodies)

    def noise_scale(self) -> NoiseScale:
        """Return the scale of the noise of the rows, as stated."""
        return NoiseScale(*row_groups(self.measurement.row_names))

    def bank(self, names: InputNames) -> tuple[Bank, Mapping[int, int]]:
        """Return the bank of causes, and the index in the filter of each candidate that is estimated.

        Args:
            names: Names of the inputs.
        """
        links = self.robot.links_matching((*self.links, *self.config.candidates), "'candidates'")
        candidates = CandidateColumns(self.robot, links)
        table = CauseTable(self.measurement, candidates, names, self.robot.total_mass)
        return Bank(table), self.estimated_candidates(links)

    def estimated_candidates(self, links: Sequence[str]) -> dict[int, int]:
        """Return the index in the filter of each link whose body is estimated, by the index of the link."""
        number = {body.joint_id: i for i, body in enumerate(self.bodies)}
        joints = [self.robot.link_body(link).joint_id for link in links]
        return {i: number[joint] for i, joint in enumerate(joints) if joint in number}

    def load_step(self, table: CauseTable, body: int) -> Array:
        """Return the root S of the covariance S S' of the change of an estimated body by a load, (10, 10).

        The change is that of the parameters about the joint frame.

        Args:
            table: Expected sizes of loads.
            body: Index of the body in the filter.
        """
        reference, links = self.bodies[body], self.estimated_candidates(table.candidates.links)
        candidate = next((i for i, number in links.items() if number == body), 0)
        mass, lever = float(table.load_size[0]), table.lever / reference.length
        place = mass * lever * np.sqrt(np.trace(table.place_covariance[candidate]) / 3.0)
        sigma = np.concatenate(([mass], np.full(3, place), np.full(6, 0.5 * mass * lever**2)))
        step: Array = reference.to_joint * sigma
        return step

    def block(
        self,
        equation: LinearEquation,
        posterior: Posterior,
        dt: float,
        time_ns: int,
        bias: Array | float = 0.0,
    ) -> EquationBlock:
        """Return a measurement as the filter learns it: with sensor errors, and static friction as noise.

        Near standstill Coulomb friction takes any value between its limits: R_ii += F_c^2 (1 - sign^2). When
        causes are compared, the variance of F_c there and a relative error of friction in motion are added.

        Args:
            equation: The measurement, with its state.
            posterior: Present parameters.
            dt: Duration that the measurement represents [s].
            time_ns: Time of the measurement [ns].
            bias: Constant error of the measured rows, shape (m,).
        """
        A, R, phi = equation.regressor, equation.noise, posterior.at.phi
        friction: Array | float = 0.0
        if self.errors is not None:
            A = self.errors.appended(equation, phi).regressor
        if self._static_friction[0]:
            rows, columns, joints = self._static_friction
            opposing = self._opposing_friction
            v = equation.state.v[joints]
            smoothing, given = self.config.robot.nominal_friction.smoothing_speed, equation.state.sign
            sign = smooth_sign(v, smoothing) if given is None else given[joints]
            sticking = np.maximum(1.0 - sign**2, 0.0)
            R = R.copy()
            R[rows, rows] += phi[columns] ** 2 * sticking
            opposed = np.abs(equation.regressor[:, opposing]) @ np.maximum(phi[opposing], 0.0)
            friction = (FRICTION_ERROR * opposed) ** 2
            friction[rows] += posterior.P.diagonal()[columns] * sticking
        speeds = equation.state.v, np.zeros(0) if equation.state.w_B is None else equation.state.w_B
        at_rest = float(np.abs(np.concatenate(speeds)).max(initial=0.0)) < REST_SPEED
        known = 1.0 if equation.known is None else equation.known.diagonal()
        considered = self._considered(equation) if self.n_considered else None
        return EquationBlock(A, equation.value - bias, R, dt, time_ns, at_rest, known, considered, friction)

    @property
    def n_considered(self) -> int:
        """Number of considered amplitudes, of the bodies that are not estimated from the start."""
        moving, named = self.robot.model.njoints - 1, len(_named(self.config))
        return LOAD_COLUMNS * moving if self.config.prior.others and named < moving else 0

    @cached_property
    def _others(self) -> tuple[CandidateColumns, Array]:
        """Columns of all bodies, and standard deviations of masses and first moments [kg, kg m], (n, 4).

        The deviations of estimated bodies are zero.
        """
        joints = range(1, self.robot.model.njoints)
        candidates = CandidateColumns(self.robot, [self.robot.body_links(joint)[0] for joint in joints])
        estimated = {body.joint_id for body in self.bodies}
        left_out = np.array([joint not in estimated for joint in joints])
        prior = self.config.prior
        sigma = prior.others * np.array([prior.mass, prior.com, prior.com, prior.com])
        return candidates, (left_out * candidates.masses)[:, None] * sigma

    def _considered(self, equation: LinearEquation) -> Array:
        """Return the columns of the bodies that are not estimated, amplitudes N(0, 1), shape (m, 4 n)."""
        candidates, sigma = self._others
        loads = self.measurement.by_parameters(candidates, equation.state, equation.paths.projection)
        columns = (loads * sigma[:, None]).transpose(1, 0, 2).reshape(len(equation.value), -1)
        considered: Array = columns if equation.known is None else equation.known @ columns
        return considered

    @cached_property
    def _opposing_friction(self) -> list[int]:
        """Indices in the state of estimated Coulomb and viscous friction."""
        first, names = 10 * len(self.bodies), self.friction_names
        return [first + i for i, name in enumerate(names) if name.endswith(("/coulomb", "/viscous"))]

    @cached_property
    def _static_friction(self) -> tuple[list[int], list[int], list[int]]:
        """Rows, indices in the state, and joints of estimated Coulomb friction."""
        found: tuple[list[int], list[int], list[int]] = ([], [], [])
        if (
            self.friction is None
            or "coulomb" not in self.friction.terms
            or self.measurement.row_names[0].startswith("projected_")
        ):
            return found
        places = {int(row) - self.robot.n_base: i for i, row in enumerate(self.measurement.picked_rows)}
        first = 10 * len(self.bodies)
        for joint in self.friction.joints:
            if joint in places:
                name = self.robot.joint_names[joint]
                found[0].append(places[joint])
                found[1].append(first + self.friction.names.index(f"{name}/coulomb"))
                found[2].append(joint)
        return found

    def idle_covariances(self) -> Array:
        """Return the prior covariance in C of every published body, shape (n, 10, 10)."""
        unknowns = Unknowns(self.published, self.config.prior, loads=self._loads(self.published))
        return Posterior(unknowns.at(unknowns.nominal), unknowns.prior_covariance).body_covariances

    def prior(self, config: InertialPipelineConfig) -> Sequence[LinkEstimate]:
        """Return every published body before the first measurement: nominal, with the prior covariance."""
        model = replace(self, config=config)
        return PublishedLinks(self.published, model.idle_covariances()).advance()

    def named_errors(self, x: Array, P: Array, tau: Array | None) -> dict[str, tuple[float, float]]:
        """Return errors of the sensors and their standard deviations by name.

        Args:
            x: The errors, shape (k,).
            P: Their covariance, shape (k, k).
            tau: Torques as read [Nm], shape (n_joints,); None where not measured.
        """
        if self.errors is None:
            return {}
        torques = np.zeros(self.robot.n_joints) if tau is None else tau
        of_rows, sigmas_of_rows = self.errors.of_rows(x, P, torques)
        values = np.concatenate((x, of_rows)).tolist()
        sigmas = np.concatenate((np.sqrt(np.maximum(P.diagonal(), 0.0)), sigmas_of_rows)).tolist()
        return dict(zip(self.error_names, zip(values, sigmas, strict=True), strict=True))

    def total_mass(self, pi_C: Array) -> float:
        """Return the mass of the robot with other parameters of the bodies, (n, 10) in C [kg]."""
        nominal = sum(body.nominal_J.mass for body in self.bodies)
        return self.robot.total_mass + float(pi_C[:, 0].sum()) - nominal


def published_bodies(robot: RobotModel, config: InertialPipelineConfig) -> tuple[BodyReference, ...]:
    """Return the bodies whose inertias are published: those of `links`, and with "auto" all candidates.

    Candidates without a usable inertia in the URDF are left out.

    Args:
        robot: The robot.
        config: The parameters.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If there is no link, or two belong to one body.
        ~inertial_estimation.errors.ModelError: If a link does not exist.
    """
    named = _named(config)
    if AUTO not in config.links:
        return estimated_bodies(robot, named)
    candidates = robot.links_matching((*named, *config.candidates), "'candidates'")
    others = (link for link in candidates if link not in named and has_usable_prior(robot, link))
    return estimated_bodies(robot, (*named, *others))


def _named(config: InertialPipelineConfig) -> tuple[str, ...]:
    """Return the links named in `links`, without the entry "auto"."""
    return tuple(link for link in config.links if link != AUTO)


def torque_errors_of(estimate: InertialEstimate) -> dict[str, float]:
    """Return the total error of each row, measured minus modelled, by its name [N, Nm]; empty if none.

    Rows are those of the base, along and about its axes, and of joints.

    Args:
        estimate: Estimate of the inertial filter.
    """
    named = ((name.partition("/"), value) for name, (value, _sigma) in estimate.sensor_errors.items())
    return {row: value for (kind, _slash, row), value in named if kind == TORQUE_ERROR}
