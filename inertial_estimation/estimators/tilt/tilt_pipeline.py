"""Tilt estimation from raw readings to estimates, shared by the node, the replay and the tests."""

from collections.abc import Iterable, Sequence

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_entries import InputEntries
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.estimators.inputs.joint_entry import JointEntry
from inertial_estimation.estimators.inputs.live_checks import LiveChecks
from inertial_estimation.estimators.inputs.rows import (
    JOINTS,
    JointRow,
    desired_wrench_spec,
    desired_wrench_stream,
    imu_spec,
    joint_spec,
    wrench_spec,
    wrench_stream,
)
from inertial_estimation.estimators.inputs.stepper import Stepper
from inertial_estimation.estimators.tilt.base_state_estimator import BaseStateEstimator, StepReadings
from inertial_estimation.estimators.tilt.contact_wrenches import ContactWrenches
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.models.contacts import ContactLoad, ContactSource
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.models.input_ranges import quaternion_range
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_config import check_contact, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import (
    Array,
    BaseEstimate,
    Health,
    HealthLevel,
    ImuSample,
    JointReading,
    OrientationSample,
    WrenchSample,
)
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.spatial.vectors import DEGREES, Matrix, matrix, norm

YAW_REFERENCE = "yaw_reference"
WRENCH_INPUTS = {  # name and properties of the input of a contact, by the source of the forces
    ContactSource.WRENCH: (wrench_stream, wrench_spec),
    ContactSource.DESIRED: (desired_wrench_stream, desired_wrench_spec),
}


class TiltPipeline:
    """Aligns IMU, joints and wrenches by stamp and estimates the base at every IMU reading.

    Attributes:
        config: The parameters in force.
        robot: The robot's model.
        contacts: Names of the contacts, in the configured order.
        source: Where the contact forces come from.
        entries: Take readings, also from their bytes, as the methods `push_*` do.
        kept_readings: Takes what the observer takes at every step; None: nothing is kept.
    """

    def __init__(self, config: TiltPipelineConfig, urdf: str) -> None:
        """Build the model and check every name.

        Args:
            config: All parameters.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If the robot has no floating base, or no IMU or contact is named.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
        """
        _check(config)
        self.config = config
        setup = robot_from_config(config.robot, urdf)
        self.robot, self.contacts = setup.robot, setup.contact_names
        self.source = ContactSource(config.contact.source)
        by_torques = self.source is ContactSource.JOINT_TORQUES
        self._wrench_streams = _wrench_streams(self.source, self.contacts)
        planned = self.source is ContactSource.DESIRED
        self._wrenches = ContactWrenches(tuple(self._wrench_streams.values()), planned=planned)
        self._joint_map = JointMap(self.robot, config.robot, need_effort=by_torques, checked=True)
        joint_row = JointRow(self.robot.n_joints, effort=by_torques)
        self._of_joints = joint_row.q, joint_row.v, joint_row.tau
        self._estimator = BaseStateEstimator(config, setup)
        aligner = _aligner(config, self.robot, joint_row, self._wrench_streams)
        sensed = self._wrench_streams if self.source is ContactSource.WRENCH else {}
        checks = LiveChecks(setup, config.robot, aligner, joint_row, imu=True, wrenches=sensed)
        joints = JointEntry(self._joint_map, aligner)
        self.entries = InputEntries(
            checks, aligner, joints, imu=True, wrenches=sensed, contacts=self.contacts
        )
        self._stepper: Stepper[BaseEstimate] = Stepper(
            aligner,
            on_step=self._step,
            on_gap=self._estimator.restart,
            on_restart=self._estimator.reset,
            on_failure=self._estimator.restart,
            defect=lambda _estimate: self._estimator.defect,
        )
        self.kept_readings: list[StepReadings] | None = None
        self._steps = 0
        self._incomplete = 0

    def push_imu(self, sample: ImuSample) -> None:
        """Add one IMU reading; IMU readings determine the times of the steps."""
        self.entries.push_imu(sample)

    def push_joints(self, reading: JointReading) -> None:
        """Add one joint state; incomplete joint states are dropped and counted.

        A joint state without velocities is also dropped while they cannot be derived from positions yet.
        """
        self.entries.joints.push(reading)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Add the sensed wrench of one contact; unused where forces have another source.

        Raises:
            MeasurementError: If there is no such contact.
        """
        self.entries.push_wrench(contact, sample)

    def push_desired_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Add the wrench that a planner wants at one contact; unused where forces have another source.

        Raises:
            MeasurementError: If there is no such contact.
        """
        check_contact(contact, self.contacts)
        if self.source is ContactSource.DESIRED:
            self._stepper.aligner.push(self._wrench_streams[contact], sample.stamp_ns, sample.wrench_F)

    def push_yaw_reference(self, sample: OrientationSample) -> None:
        """Add a reference orientation of the base; the estimate follows its yaw while references arrive."""
        quaternion = sample.quaternion_xyzw
        if np.abs(quaternion).max() < 0.25:
            self._stepper.aligner.count_drop(YAW_REFERENCE, DropReason.NOT_NORMALISED)
            return
        self._stepper.aligner.push(YAW_REFERENCE, sample.stamp_ns, quaternion)

    def tick(self, now_ns: int) -> list[BaseEstimate]:
        """Process all readings that have arrived.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns]; used only to detect stale inputs.

        Returns:
            One estimate per completed step, in order; none while a required input is lost.
        """
        return self._stepper.tick(now_ns)

    def health(self, now_ns: int) -> list[Health]:
        """Report the health of the inputs and of the estimator.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].

        Returns:
            One entry per input, one for the data against the robot's description, and one for the estimator.
        """
        inputs = [*self._stepper.aligner.health(now_ns), self.entries.checks.health()]
        return [*inputs, self._estimator_health(now_ns)]

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last complete step; empty before the first one."""
        return self._estimator.contact_loads

    def calibrate_gyro(self) -> None:
        """Reset the uncertainty of the gyro bias, so that the next rest determines it again."""
        self._estimator.bias.calibrate()

    def reset(self) -> None:
        """Reset the state and discard buffered readings."""
        self._stepper.clear()
        self._joint_map.reset()
        self._estimator.reset()

    def set_parameter(self, name: str, value: object) -> None:
        """Change one parameter while running.

        Args:
            name: Its dotted name.
            value: Its new value.

        Raises:
            ConfigurationError: If it does not exist, cannot change at run time, or the value is bad.
        """
        changed = replace_runtime_value(self.config, name, value)
        _check(changed)
        self.config = changed
        self._estimator.set_config(changed)
        self._stepper.aligner.limits.timeout = changed.robot.inputs.timeout

    def _step(self, sample: AlignedSample) -> BaseEstimate | None:
        h = self._stepper.elapsed(sample) or 0.0
        self._stepper.advance(sample)
        row, (of_q, of_v, of_tau) = sample.rows[JOINTS], self._of_joints
        joints = (row[of_q], row[of_v]) if row is not None else None
        aligner, timeout, known = self._stepper.aligner, self.config.robot.inputs.timeout, joints is not None
        complete = self._wrenches.take(sample, aligner, timeout, used=known) and known
        self._steps += 1
        self._incomplete += not complete
        estimate = self._estimator.step(
            sample.stamp_ns,
            h,
            sample.driver_row,
            joints,
            self._wrenches.table if complete else None,
            self._reference(sample.time_ns),
            row[of_tau] if row is not None and of_tau is not None else None,
        )
        if self.kept_readings is not None:
            self.kept_readings.append(self._estimator.readings(sample.stamp_ns, h))
        return estimate

    def _reference(self, time_ns: int) -> Matrix | None:
        if not self.config.yaw.use_reference:
            return None
        row: Array | None = self._stepper.aligner.latest(YAW_REFERENCE, time_ns, self.config.yaw.timeout)
        return matrix(rotation_from_quaternion(row)) if row is not None else None

    def _estimator_health(self, now_ns: int) -> Health:
        values = self._figures()
        failed = self._stepper.health_note(now_ns)
        lost = [*self._stepper.aligner.missing(now_ns), *self._wrenches.missing]
        if lost:
            message = f"waiting for {listing(lost)}: nothing is published"
            return Health("estimator", HealthLevel.STALE, message, values)
        if not self._estimator.ready:
            message = f"starting: averaging the accelerometer over {self.config.startup:g} s"
            return Health("estimator", HealthLevel.WARN, "; ".join(filter(None, (message, failed))), values)
        level, found = self._estimator.checks.health()
        if failed or level:
            message = "; ".join(filter(None, (failed, found)))
            return Health("estimator", max(level, HealthLevel.WARN), message, values)
        if not self._estimator.contacts and not self._estimator.observer.in_short_flight:
            aided = self._estimator.observer.gravity_aided
            by = "corrected by the accelerometer alone" if aided else "propagated by the gyroscope"
            return Health("estimator", HealthLevel.WARN, f"no contact: the tilt is {by}", values)
        return Health("estimator", HealthLevel.OK, "estimating", values)

    def _figures(self) -> dict[str, str]:
        estimator = self._estimator
        bias = estimator.bias
        return {
            "steps": str(self._steps),
            "steps with an input missing": str(self._incomplete),
            "resets by a jump of stamps": str(self._stepper.aligner.resets),
            "joint name changes": str(self._joint_map.name_changes),
            "joint velocities": self._joint_map.velocity_source,
            "contacts": ", ".join(estimator.contacts) or "none",
            "contact forces from": self.source.value,
            "at rest": "yes" if bias.resting else "no",
            "gyro bias [rad/s]": " ".join(f"{b:.5f}" for b in bias.bias),
            "gyro bias sigma [rad/s]": f"{bias.sigma:.5f}",
            "tilt sigma [deg]": f"{DEGREES * estimator.track.uncertainty.tilt**0.5:.3f}",
            "velocity innovation [m/s]": f"{norm(estimator.observer.innovation):.4f}",
            "velocity noise [m/s]": f"{estimator.noise.velocity_noise:.4f}",
            "rate of the tilt correction [1/s]": f"{estimator.observer.convergence_rate:.3f}",
        }


def _wrench_streams(source: ContactSource, contacts: Sequence[str]) -> dict[str, str]:
    """Return the name of each contact's input; none where the forces come from joint torques."""
    if source not in WRENCH_INPUTS:
        return {}
    return {contact: WRENCH_INPUTS[source][0](contact) for contact in contacts}


def _aligner(
    config: TiltPipelineConfig, robot: RobotModel, joints: JointRow, contacts: Iterable[str]
) -> SignalAligner:
    """Return the buffers of the inputs, with the wrenches of these contacts."""
    inputs, source = config.robot.inputs, ContactSource(config.contact.source)
    others = [joint_spec(joints, inputs, robot)]
    others += [WRENCH_INPUTS[source][1](contact, config.robot, robot) for contact in contacts]
    others.append(StreamSpec(YAW_REFERENCE, 4, required=False, range=quaternion_range()))
    return SignalAligner(imu_spec(inputs), tuple(others), inputs, rate=config.rate)


def _check(config: TiltPipelineConfig) -> None:
    problems = []
    if not config.robot.floating_base:
        problems.append("'floating_base' is false, but a fixed base has no tilt to observe")
    if not config.robot.imus:
        problems.append("'imu_frame' is empty, expected the link of the IMU")
    if not config.robot.contacts:
        problems.append("'contacts' is empty, expected at least one contact")
    if config.contact.force_off > config.contact.force_on:
        problems.append(
            f"'contact.force_off' is {config.contact.force_off:g} N, expected at most "
            f"'contact.force_on' ({config.contact.force_on:g} N)"
        )
    if problems:
        raise ConfigurationError("; ".join(problems))
