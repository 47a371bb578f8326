"""Inertial estimation from raw readings to estimates, shared by the node, the replay and the tests."""

from collections.abc import Callable

import numpy as np

from inertial_estimation.diagnosis.live import LiveChecks
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.estimator import InertialEstimator, MeasuredStep, StepOutcome
from inertial_estimation.inertial.health import estimator_health
from inertial_estimation.inertial.link_estimates import estimate_defect
from inertial_estimation.inertial.model import EstimationModel
from inertial_estimation.inertial.supervisor import Phase
from inertial_estimation.inertial.windows import BASE_INPUTS, Between, NeededInputs, StateWindows
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_inputs import BASE_STATE
from inertial_estimation.models.dynamics_measurement import MeasuredState
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.pipeline import Stepper, TakesReadings
from inertial_estimation.signals import BaseState, Health, InertialEstimate, unchecked

REQUIRED = {JOINTS, *BASE_INPUTS}  # inputs without which there is no estimate
_measured_step = unchecked(MeasuredStep)


class InertialPipeline(TakesReadings):
    """Estimates the inertial parameters of selected links from joint states, IMU and contact wrenches.

    Attributes:
        config: The parameters.
        robot: The robot.
        row_names: Names of the measurement rows.
        estimator: Estimator of the parameters from measurements.
        on_update: Called with every measurement and the outcome of its update; None: not called.
        input_names: Names of the inputs, for messages.
        inputs: Inputs, which take readings as values or as messages.
        checks: Checks of the data against the description.
        incomplete: Number of steps with a missing input.
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
        setup = robot_from_config(config.robot, urdf)
        self.robot = setup.robot
        needed = NeededInputs.of(config, setup)
        model = EstimationModel.build(config, setup, needed.imu, urdf)
        self.row_names = model.measurement.row_names
        self.input_names = needed.names(self.robot)
        self.estimator = InertialEstimator(config, model, self.input_names)
        self.on_update: Callable[[MeasuredStep, StepOutcome], None] | None = None
        self.incomplete = 0
        self.inputs = needed.inputs(config, setup)
        self._windows = StateWindows(config, setup, needed, self.inputs)
        self.inputs.reduce = self._windows.state_at
        self.checks = LiveChecks(setup, config.robot, self.inputs)
        self._stepper: Stepper[InertialEstimate] = Stepper(
            self.inputs,
            on_step=self._step,
            on_restart=self.estimator.forget,
            on_failure=self.estimator.drop_waiting,
            defect=estimate_defect,
        )

    @property
    def model(self) -> EstimationModel:
        """The bodies, friction terms and equation of the filter."""
        return self.estimator.model

    @property
    def noise_parameters(self) -> tuple[str, ...]:
        """Parameters of the groups of rows whose noise is estimated."""
        return self.estimator.noise.names

    def push_base_state(self, state: BaseState) -> None:
        """Add a base state; it is ignored if the filter does not need it."""
        self.inputs.push(BASE_STATE, state)

    def tick(self, now_ns: int) -> list[InertialEstimate]:
        """Execute every step whose inputs are complete.

        Args:
            now_ns: Current time on the clock of the stamps [ns]; used only to withhold what is old.

        Returns:
            The estimates since the last tick, in order of their stamps. Steps that lack an input have none.
        """
        return self._stepper.tick(now_ns)

    def health(self, now_ns: int) -> list[Health]:
        """Return the health of the inputs and of the filter."""
        joints, windows = self.inputs.joints, self._windows
        failures = (windows.axes.note, self._stepper.health_note(now_ns), windows.note)
        assert joints is not None
        figures = {
            "steps without an input": str(self.incomplete),
            "windows too short": str(windows.short),
            "joint velocities": joints.velocity_source,
        }
        missing = [name for name in self.inputs.aligner.missing(now_ns) if name in REQUIRED]
        state = estimator_health(self.estimator, missing, figures, "; ".join(filter(None, failures)))
        return [*self.inputs.health(now_ns), self.checks.health(), state]

    def calibrate(self) -> None:
        """Start a calibration of the bias from the residual at rest; the previous bias is discarded."""
        if self.estimator.supervisor is not None:
            self.estimator.supervisor.conclude()
        self.estimator.bias.start()

    def set_enabled(self, enabled: bool) -> None:
        """Switch learning on or off; while it is off, parameters are frozen and residuals still reported."""
        self.estimator.set_learning(enabled)

    def reset(self) -> None:
        """Return to the nominal parameters; discard the bias and all buffered readings."""
        self._stepper.clear()
        self.estimator.reset()

    def _hand_on(self, config: InertialPipelineConfig) -> None:
        self.estimator.config = config

    def estimated_model(self) -> EstimatedModel:
        """Return the robot with the estimates, and the posterior of the filter.

        During an event there is no posterior, and the estimates are those before the event.
        """
        trusted = zip(self.model.bodies, self.estimator.posterior.at.pi_C, strict=True)
        supervisor = self.estimator.supervisor
        good = supervisor is None or supervisor.phase is Phase.LEARNING
        return EstimatedModel(
            urdf=self.model.urdf,
            floating_base=self.model.robot.floating_base,
            locked_joints=tuple(self.config.robot.locked_joints),
            links=tuple(body.link for body in self.model.bodies),
            estimate=np.array([body.to_link @ pi_C for body, pi_C in trusted]),
            posterior=self.estimator.whole_posterior() if good else None,
            without="" if good else "the last data are suspect, and the estimates are held",
        )

    @property
    def total_mass(self) -> float:
        """Mass of the robot with the estimates in place of nominal values [kg]."""
        return self.model.total_mass(self.estimator.posterior.at.pi_C)

    def _step(self, sample: AlignedSample) -> InertialEstimate | None:
        state = sample.reduced
        if state is None:
            self.incomplete += 1
            return None
        elapsed = self._stepper.elapsed(sample)
        dt = 1.0 / self.config.rate if elapsed is None else elapsed
        self._stepper.advance(sample)
        if state is Between.MEASUREMENTS:
            return self.estimator.between(sample.stamp_ns, dt)
        return self._measure(sample, state, dt)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # judged by its result
    def _measure(self, sample: AlignedSample, state: MeasuredState, dt: float) -> InertialEstimate | None:
        state = self.estimator.about_known_errors(state)
        equation = self.model.measurement.equation(state, self.estimator.believed())
        if equation.known is not None and not equation.known.any():  # what is missing reaches all rows
            self.incomplete += 1
            return self.estimator.between(sample.stamp_ns, dt)
        step = _measured_step(sample.stamp_ns, sample.time_ns, dt, equation)
        update = self.estimator.update(step)
        if self.on_update is not None:
            self.on_update(step, update)
        supervisor = self.estimator.supervisor
        self._windows.following = supervisor is not None and bool(supervisor.loads.followed)
        return self.estimator.estimate(step, update)
