"""The parts of an estimator of the base state, which share one memory."""

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.tilt.accelerometer_scale import AccelerometerScale
from inertial_estimation.estimators.tilt.base_track import BaseTrack
from inertial_estimation.estimators.tilt.contact_velocity import ContactVelocity
from inertial_estimation.estimators.tilt.correction_rate import CorrectionRate
from inertial_estimation.estimators.tilt.estimator_memory import (
    BIAS,
    NOISE,
    OBSERVER,
    OWN,
    REST,
    SCALE,
    estimator_memory,
)
from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasEstimator
from inertial_estimation.estimators.tilt.initialisation import Initialisation
from inertial_estimation.estimators.tilt.observers import make_observer
from inertial_estimation.estimators.tilt.reading_checks import ReadingChecks
from inertial_estimation.estimators.tilt.step_calls import StepCalls
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.models.contacts import ContactSource
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.torque_wrenches import TorqueWrenches


class EstimatorParts:
    """Observer, gyro bias, yaw and base position, their checks and their startup.

    Attributes:
        observer: The tilt observer.
        bias: The gyro bias estimator.
        track: Orientation and position of the base, and their uncertainty.
        scale: Scale of the accelerometer.
        noise: Measured noise of the readings, and the rate of correction that follows from it.
        checks: Checks of the readings against one another.
        initialisation: The startup, and new fits of the vertical while the observer runs.
        calls: The compiled parts of a step.
        torques: Wrenches from joint torques; None where they come from elsewhere.
        placed: Whether a startup has ended, so that there are kinematics of an estimate.
    """

    def __init__(self, config: TiltPipelineConfig, setup: RobotSetup) -> None:
        """Build the parts and begin with the startup.

        Args:
            config: All parameters.
            setup: The robot, its contacts and its IMU.

        Raises:
            ConfigurationError: If the robot has no IMU, or contact forces are to come from joint torques and
                do not follow from them.
        """
        if setup.imu is None:
            raise ConfigurationError("the robot has no IMU, which the tilt observer requires")
        kinematics = ContactKinematics(setup.robot, setup.contacts, setup.imu)
        memory = estimator_memory(len(setup.contacts), kinematics.n_velocities)
        max_gap = config.robot.inputs.max_gap
        contacts = ContactVelocity(config.contact, setup.contact_names, max_gap, memory)
        rows = memory[OBSERVER], memory[OWN]
        self.observer = make_observer(config.observer, config.gains, config.gravity, rows)
        self.bias = GyroBiasEstimator(config.bias, (memory[BIAS], memory[REST]))
        self.noise = CorrectionRate(config.adaptation, memory[NOISE])
        self.scale = AccelerometerScale(memory[SCALE])
        self.track = BaseTrack(config.uncertainty, memory)
        self.checks = ReadingChecks(kinematics.soles, memory, enabled=config.check_readings)
        self.calls = StepCalls(memory, kinematics, contacts, self.observer, self.bias.rest)
        by_torques = ContactSource(config.contact.source) is ContactSource.JOINT_TORQUES
        gain = config.contact.observer_gain
        self.torques = TorqueWrenches(setup, config.robot, gain) if by_torques else None
        self.initialisation = Initialisation(config.startup)
        self.reset()

    def reset(self) -> None:
        """Reset the whole state, including the gyro bias."""
        self.bias.reset()
        self.scale.reset()
        self.restart()

    def restart(self) -> None:
        """Restart with the startup, for example after a gap in the readings; the gyro bias is kept."""
        self.bias.clear_window()
        self.bias.rest.reset()
        self.noise.reset()
        self.observer.forget_noise()
        self.track.reset()
        self.calls.contacts.reset()
        if self.torques is not None:
            self.torques.reset()
        self.checks.reset()
        self.initialisation.reset()
        self.placed = False

    def start_again(self) -> None:
        """Determine vertical and velocity anew, nothing is published meanwhile; position and yaw are kept."""
        self.bias.clear_window()
        self.calls.contacts.reset()
        self.checks.restart()
        self.initialisation.reset()

    def configure(self, config: TiltPipelineConfig) -> None:
        """Apply parameters, which may have changed at run time; the state is kept."""
        self.bias.configure(config.bias)
        self.noise.configure(config.adaptation)
        self.calls.contacts.configure(config.contact)
        self.observer.configure(config.gains, config.gravity)
