"""Tilt estimation from raw readings to estimates, shared by the node, the replay and the tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.diagnosis.live import LiveChecks
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.inputs.alignment import AlignedSample, Steps
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.robot_inputs import YAW_REFERENCE, RobotInputs
from inertial_estimation.inputs.sensors import IMU, contact_sources
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.pipeline import Stepper, TakesReadings
from inertial_estimation.signals import (
    Array,
    BaseEstimate,
    ContactLoad,
    Health,
    HealthLevel,
    OrientationSample,
)
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.tilt.base_estimator import BaseEstimator
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.filter import FASTEST
from inertial_estimation.tilt.initial_alignment import STARTUP

FLIGHT = 0.5  # time without contact that is longer than a gait's flight phases [s]
BIAS_REPORTED = 3.0  # time for which a step of the gyroscope's bias is reported [s]
SLIPPING = 0.15  # contact noise that is reported; on soft and slippery ground it is 0.09 [m/s]
WIDE = np.radians(3.0)  # standard deviation of the tilt that is reported [rad]


def estimator_health(estimator: BaseEstimator, missing: Sequence[str], failed: str) -> Health:
    """Return the health of the estimator.

    Args:
        estimator: The estimator.
        missing: Inputs that never arrived or are lost.
        failed: Sentence about failed steps; empty if there are none.
    """
    observer = estimator.observer
    found, level = [failed] if failed else [], HealthLevel.WARN if failed else HealthLevel.OK
    if observer.without_gravity:
        found.append("no estimate: the specific force is not as large as gravity (units, or subtracted?)")
        level = HealthLevel.WARN
    elif observer.aligning:
        found.append(f"starting: determining the vertical over {STARTUP:g} s")
        level = HealthLevel.WARN
    if IMU in missing:
        return Health("estimator", HealthLevel.STALE, f"waiting for {IMU}", figures(estimator))
    if missing:
        found.append(f"without {listing(missing)}: the tilt goes on from the other inputs, less certain")
        level = HealthLevel.WARN
    elif estimator.feet.seen and (unknown := estimator.feet.shares.without_efforts):
        found.append(f"whether {listing(unknown)} carry the robot is not known: efforts are missing, or nan")
        level = HealthLevel.WARN
    elif estimator.feet.without_contact_s > FLIGHT and not estimator.imu_alone:
        found.append("no contact carries the robot: the accelerometer alone corrects the tilt")
        level = HealthLevel.WARN
    if observer.contact_noise > SLIPPING:
        found.append(
            f"contacts that carry the robot move by {observer.contact_noise:.2f} m/s: do they slip, or "
            "is their sensor inverted, or late?"
        )
        level = HealthLevel.WARN
    if observer.free_speed > FASTEST:
        found.append(
            f"without contacts the robot would move by {observer.free_speed:.3g} m/s: gyroscope and "
            "accelerometer contradict one another; are axes, signs and units of both right?"
        )
        level = HealthLevel.WARN
    if observer.since_bias_step < BIAS_REPORTED:
        found.append(
            "the tilt was corrected more than noise explains: the bias of the gyroscope is determined anew"
        )
        level = HealthLevel.WARN
    if estimator.clipped:
        found.append("the gyroscope is at the end of its range")
        level = HealthLevel.WARN
    if not observer.aligning and estimator.tilt_sigma > WIDE:
        found.append(f"the tilt is uncertain by {np.degrees(estimator.tilt_sigma):.1f} deg")
        level = HealthLevel.WARN
    return Health("estimator", level, "; ".join(found) or "estimating", figures(estimator))


def figures(estimator: BaseEstimator) -> dict[str, str]:
    """Return figures of the estimator as text, by name."""
    observer = estimator.observer
    bias, sigma = estimator.gyro_bias
    return {
        "steps": str(estimator.steps),
        "steps with an input missing": str(estimator.incomplete_steps),
        "contacts": ", ".join(estimator.feet.shares.use.names) or "none",
        "at rest": "yes" if estimator.readings.seen.at_rest else "no",
        "gyro bias [rad/s]": " ".join(f"{value:.5f}" for value in bias),
        "gyro bias sigma [rad/s]": f"{sigma:.5f}",
        "tilt sigma [deg]": f"{np.degrees(estimator.tilt_sigma):.3f}",
        "contact residual [m/s]": f"{np.linalg.norm(observer.residual):.4f}",
        "contact noise [m/s]": f"{observer.contact_noise:.4f}",
    }


class TiltPipeline(TakesReadings):
    """Aligns IMU, joints and contact sensors by stamp and estimates the base at every IMU reading.

    Attributes:
        config: The parameters in force.
        setup: The robot, its contacts and its IMU.
        inputs: Inputs, which take readings as values or as messages.
        estimator: Estimator of the base from aligned readings.
        checks: Checks of the data against the description; None without joints.
    """

    def __init__(self, config: TiltPipelineConfig, urdf: str) -> None:
        """Build the model and check all names.

        Args:
            config: All parameters.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If the robot has no floating base or no IMU, or a parameter does not fit it.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
        """
        _check(config)
        robot = config.robot
        self.setup = setup = robot_from_config(robot, urdf)
        sources = contact_sources(config.contact.source, setup.contact_names)
        self.config, self.estimator = config, BaseEstimator(config, setup, urdf, sources)
        by_torques = self.estimator.feet.shares.by_torques
        moving = setup.sensing_joints
        needs = JointNeeds(by_torques, moving if by_torques else False, joints=moving, effort_gaps=True)
        self.inputs = RobotInputs(
            setup,
            robot,
            Steps(IMU, config.rate),
            needs if moving else None,
            sources=sources,
            yaw_reference=True,
        )
        self.checks = LiveChecks(setup, robot, self.inputs) if self.inputs.joints is not None else None
        self._still = np.zeros(setup.robot.n_joints)
        self._stepper = Stepper(
            self.inputs,
            on_step=self._step,
            on_restart=self.estimator.reset,
            on_gap=self.estimator.restart,
            on_failure=self.estimator.restart,
            defect=lambda _estimate: "" if self.estimator.track.finite else "it is not finite",
        )

    @property
    def robot(self) -> RobotModel:
        """The robot's model."""
        return self.setup.robot

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts, in the configured order."""
        return self.setup.contact_names

    def push_yaw_reference(self, sample: OrientationSample) -> None:
        """Add a reference orientation of the base, whose yaw is used while references arrive."""
        self.inputs.push(YAW_REFERENCE, sample)

    def tick(self, now_ns: int) -> list[BaseEstimate]:
        """Process all readings that have arrived.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns]; used only to withhold what is old.

        Returns:
            One estimate per completed step, in order.
        """
        return self._stepper.tick(now_ns)

    def health(self, now_ns: int) -> list[Health]:
        """Report the health of every input and of the estimator.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        aligner, failed = self.inputs.aligner, self._stepper.health_note(now_ns)
        missing = aligner.missing(now_ns) or list(aligner.late())
        checked = [] if self.checks is None else [self.checks.health()]
        return [*self.inputs.health(now_ns), *checked, estimator_health(self.estimator, missing, failed)]

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last look; empty before the first one, and while joints are lost."""
        return self.estimator.contact_loads

    def calibrate_gyro(self) -> None:
        """Make the gyroscope's bias uncertain, so that it is estimated anew at the next rest."""
        self.estimator.calibrate_gyro()

    def reset(self) -> None:
        """Reset the state and discard buffered readings."""
        self._stepper.clear()
        self.estimator.reset()

    def _hand_on(self, config: TiltPipelineConfig) -> None:
        self.estimator.set_config(config)

    def _step(self, sample: AlignedSample) -> BaseEstimate | None:
        h = self._stepper.elapsed(sample) or 0.0
        self._stepper.advance(sample)
        return self.estimator.step(
            sample, h, self._joints(sample.rows), self._reference(sample.time_ns), self.inputs
        )

    def _joints(self, rows: Mapping[str, Array | None]) -> tuple[Array, Array, Array | None] | None:
        row = rows.get(JOINTS)
        if self.inputs.joints is None:  # none moves IMU or contacts
            return self._still, self._still, None
        if row is None:
            return None
        columns = self.inputs.joints.columns
        return row[columns.q], row[columns.v], None if columns.tau is None else row[columns.tau]

    def _reference(self, time_ns: int) -> Array | None:
        row = self.inputs.aligner.latest(YAW_REFERENCE, time_ns, self.inputs.aligner.timeout)
        return None if row is None else rotation_from_quaternion(row)


def _check(config: TiltPipelineConfig) -> None:
    problems = []
    if not config.robot.floating_base:
        problems.append("'floating_base' is false, but a fixed base has no tilt to observe")
    if not config.robot.imu_frame:
        problems.append("'imu_frame' is empty, expected the link of the IMU")
    if problems:
        raise ConfigurationError("; ".join(problems))
