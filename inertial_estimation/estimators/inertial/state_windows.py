"""Reduction of the aligned streams over one window to the state of the measurement equation."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.input_causes import InputNames
from inertial_estimation.estimators.inertial.joint_rows import InertialJointRows
from inertial_estimation.estimators.inputs.alignment import AlignedSample, SignalAligner
from inertial_estimation.estimators.inputs.rows import (
    BASE_STATE,
    BASE_STATE_ROW,
    IMU,
    IMU_ROW,
    JOINTS,
    WRENCH_WIDTH,
    JointRow,
    base_state_spec,
    imu_spec,
    joint_spec,
    wrench_spec,
    wrench_stream,
)
from inertial_estimation.models.base_acceleration import ImuToBase
from inertial_estimation.models.differentiation import FEWEST_SAMPLES, WindowWeights, window_weights
from inertial_estimation.models.dynamics_measurement import MeasuredState
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, seconds

__all__ = ["InertialInputs", "StateWindows"]


@dataclass(frozen=True, eq=False)
class InertialInputs:
    """The inputs of an inertial pipeline in addition to the joint states, which determine the steps.

    Attributes:
        imu: IMU that senses the acceleration of the base; None if it is not needed.
        base_state: Whether that acceleration comes from differences of the base state instead.
        contacts: Contacts whose wrenches are needed, and their places among the robot's contacts.
        n_contacts: Number of the robot's contacts.
        checks: Compares all inputs, needed or not, with the robot's description.
    """

    imu: ImuMount | None
    base_state: bool
    contacts: Mapping[str, int]
    n_contacts: int
    checks: DataChecks

    @classmethod
    def of(cls, config: InertialPipelineConfig, setup: RobotSetup) -> "InertialInputs":
        """Determine the inputs that are needed.

        Raises:
            ConfigurationError: If the acceleration of the base needs an IMU and there is none.
        """
        floating = setup.robot.floating_base
        sensed = floating and config.rows.base_acceleration == "accelerometer"
        if sensed and setup.imu is None:
            raise ConfigurationError(
                "base_acceleration is 'accelerometer' but 'imu_frame' is empty; name the link of the "
                "IMU, or use 'finite_difference' of the base state"
            )
        names = setup.contact_names
        modes = config.row_selection.modes(len(names))
        contacts = {name: i for i, (name, mode) in enumerate(zip(names, modes, strict=True)) if mode.senses}
        imu, checks = setup.imu if sensed else None, DataChecks(setup, config.robot)
        return cls(imu, floating and not sensed, contacts, len(names), checks)

    def names(self, robot: RobotModel) -> InputNames:
        """Return the names of the inputs, for messages."""
        acceleration = IMU if self.imu is not None else BASE_STATE if self.base_state else ""
        return InputNames(robot.joint_names, robot.n_base, self.contacts, acceleration)

    def aligner(self, config: InertialPipelineConfig, joints: JointRow, robot: RobotModel) -> SignalAligner:
        """Build the buffers of all inputs, the joint states laid out as given."""
        inputs = config.robot.inputs
        others = [wrench_spec(contact, inputs, robot) for contact in self.contacts]
        if self.imu is not None:
            others.append(imu_spec(inputs))
        if self.base_state:
            others.append(base_state_spec(inputs))
        driver = joint_spec(joints, inputs, robot)
        return SignalAligner(driver, tuple(others), inputs, rate=config.rate, half_window=0.5 * config.window)


class StateWindows:
    """Reduces every stream over one window around a step.

    The weights of the streams match, so acceleration, torque, wrench and specific force have the same
    delay.

    Attributes:
        short: Number of windows that held too few samples.
    """

    def __init__(
        self, robot: RobotModel, inputs: InertialInputs, joints: InertialJointRows, aligner: SignalAligner
    ) -> None:
        self._joints = joints
        self._aligner = aligner
        self._imu = ImuToBase(robot, inputs.imu) if inputs.imu is not None else None
        self._with_base_state = inputs.base_state
        self._wrench_streams = {wrench_stream(contact): i for contact, i in inputs.contacts.items()}
        self._n_contacts = inputs.n_contacts
        self.short = 0

    def state_at(self, sample: AlignedSample) -> MeasuredState | None:
        """Reduce all streams over the window around a step.

        Args:
            sample: The step.

        Returns:
            The state, or None where an input is missing or its window too short.
        """
        if not sample.complete:
            return None
        reduced = self._reduce(JOINTS, sample.time_ns, None)
        if reduced is None:
            return None
        weights, rows = reduced
        columns = self._joints.columns
        mean = weights.mean @ rows
        signs = self._joints.signs(rows)
        sign = weights.mean @ signs if signs is not None else None
        joints = (mean[columns.q], mean[columns.v], weights.slope @ rows[:, columns.v])
        base = self._base_motion(sample.time_ns, weights.centroid, joints)
        wrenches = self._wrenches(sample.time_ns, weights.centroid)
        if base is None or wrenches is None:
            return None
        tau = mean[columns.tau] if columns.tau is not None else None
        return MeasuredState(*joints, tau, *base, wrenches, sign)

    def _reduce(
        self, stream: str, time_ns: int, centroid: float | None
    ) -> tuple[WindowWeights, Array] | None:
        stamps, rows = self._aligner.window(stream, time_ns)
        if len(stamps) < FEWEST_SAMPLES:
            self.short += 1
            return None
        weights = _weights_at(stamps.tobytes())
        return (weights if centroid is None else weights.moved_to(centroid)), rows

    def _base_motion(
        self, time_ns: int, centroid: float, joints: tuple[Array, Array, Array]
    ) -> tuple[Array | None, Array | None, Array | None] | None:
        """Return proper acceleration, rate and angular acceleration of the base; all None if it is fixed."""
        if self._imu is not None:
            reduced = self._reduce(IMU, time_ns, centroid)
            if reduced is None:
                return None
            weights, rows = reduced
            mean, wd_I = weights.mean @ rows, weights.slope @ rows[:, IMU_ROW.w]
            return self._imu.base_motion(joints, mean[IMU_ROW.f], mean[IMU_ROW.w], wd_I)
        if self._with_base_state:
            reduced = self._reduce(BASE_STATE, time_ns, centroid)
            if reduced is None:
                return None
            return _differentiated(*reduced)
        return None, None, None

    def _wrenches(self, time_ns: int, centroid: float) -> Array | None:
        wrenches = np.zeros((self._n_contacts, WRENCH_WIDTH))
        for stream, i in self._wrench_streams.items():
            reduced = self._reduce(stream, time_ns, centroid)
            if reduced is None:
                return None
            weights, rows = reduced
            wrenches[i] = weights.mean @ rows
        return wrenches


def _differentiated(weights: WindowWeights, rows: Array) -> tuple[Array, Array, Array]:
    """Return proper acceleration, rate and angular acceleration of the base from rows of its state.

    The derivative of v in the rotating base axes lacks w x v, and gravity appears as upward acceleration.
    """
    columns = BASE_STATE_ROW
    mean, change = weights.mean @ rows, weights.slope @ rows[:, columns.twist]
    turning = np.cross(mean[columns.w], mean[columns.v])
    f_B = change[columns.v] + turning + STANDARD_GRAVITY * mean[columns.vertical]
    return f_B, mean[columns.w], change[columns.w]


@lru_cache(maxsize=16)
def _weights_at(stamps: bytes) -> WindowWeights:
    """Return the weights of a window, cached for streams with equal stamps and for regular windows.

    Args:
        stamps: Times relative to the window's centre [ns], as the bytes of 64-bit integers.
    """
    return window_weights(seconds(np.frombuffer(stamps, np.int64)))
