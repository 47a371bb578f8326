"""Reduction of the aligned streams over one window to the state of the measurement equation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.compilation import numbers, warm_up
from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.input_causes import InputNames
from inertial_estimation.estimators.inertial.joint_rows import InertialJointRows
from inertial_estimation.estimators.inertial.window_means import (
    BY_IMU,
    BY_STATE,
    FIXED,
    MOTION,
    all_inputs,
    mean_sign,
)
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample
from inertial_estimation.estimators.inputs.alignment import SignalAligner
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
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

IMU_COLUMNS = (IMU_ROW.f.start, IMU_ROW.w.start)
BASE_COLUMNS = (BASE_STATE_ROW.v.start, BASE_STATE_ROW.w.start, BASE_STATE_ROW.vertical.start)
_NO_JOINTS, _NO_MOTION = np.zeros(0, dtype=np.int64), (None, None, None)
_measured = made_of_checked(MeasuredState)


@dataclass(frozen=True, eq=False)
class InertialInputs:
    """The inputs of an inertial pipeline in addition to the joint states, which determine the steps.

    Attributes:
        imu: IMU that senses the acceleration of the base; None if it is not needed.
        base_state: Whether that acceleration comes from differences of the base state instead.
        contacts: Contacts whose wrenches are needed, and their places among the robot's contacts.
        n_contacts: Number of the robot's contacts.
    """

    imu: ImuMount | None
    base_state: bool
    contacts: Mapping[str, int]
    n_contacts: int

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
        return cls(setup.imu if sensed else None, floating and not sensed, contacts, len(names))

    def names(self, robot: RobotModel) -> InputNames:
        """Return the names of the inputs, for messages."""
        acceleration = IMU if self.imu is not None else BASE_STATE if self.base_state else ""
        return InputNames(robot.joint_names, robot.n_base, self.contacts, acceleration)

    def aligner(self, config: InertialPipelineConfig, joints: JointRow, robot: RobotModel) -> SignalAligner:
        """Build the buffers of all inputs, the joint states laid out as given."""
        inputs = config.robot.inputs
        others = [wrench_spec(contact, config.robot, robot) for contact in self.contacts]
        if self.imu is not None:
            others.append(imu_spec(inputs))
        if self.base_state:
            others.append(base_state_spec(inputs))
        driver = joint_spec(joints, inputs, robot)
        half_window = 0.5 * config.window
        return SignalAligner(
            driver, tuple(others), inputs, rate=config.rate, half_window=half_window, numbers=False
        )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where `all_inputs` writes what a state is made of, and how many numbers it writes.

    Attributes:
        q: Positions of the joints.
        v: Their velocities.
        a: Slopes of these.
        tau: Their torques; None where not measured.
        sign: Smoothed signs of the velocities; None where a joint state has none.
        motion: Of the base.
        wrenches: Of all contacts.
        size: Number of all of these, and of what a state leaves out.
    """

    q: slice
    v: slice
    a: slice
    tau: slice | None
    sign: slice | None
    motion: slice
    wrenches: slice
    size: int

    @classmethod
    def of(cls, row: JointRow, n_contacts: int) -> "_Columns":
        width = row.width  # of the means, which the slopes follow
        slope = slice(width + row.v.start, width + row.v.stop)
        end = 2 * width + MOTION
        size = end + n_contacts * WRENCH_WIDTH
        motion, wrenches = slice(2 * width, end), slice(end, size)
        return cls(row.q, row.v, slope, row.tau, row.coulomb_sign, motion, wrenches, size)


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
        warm_up()
        memory, columns = aligner.memory, joints.columns
        self._half_ns, self._floating = aligner.limits.half_window_ns, robot.floating_base
        self._columns = _Columns.of(columns, inputs.n_contacts)
        self._joints, self._sign_speed = aligner.buffer(JOINTS), joints.sign_speed
        contacts = [
            number
            for contact, i in inputs.contacts.items()
            for number in (aligner.stream(wrench_stream(contact)).number, i)
        ]
        base, base_columns, chain = (FIXED, 0), BASE_COLUMNS, (numbers(np.zeros((0, 16))), _NO_JOINTS)
        if inputs.imu is not None:
            to_base = ImuToBase(robot, inputs.imu)
            base, base_columns = (BY_IMU, aligner.stream(IMU).number), (*IMU_COLUMNS, 0)
            chain = to_base.chain, to_base.joints
        elif robot.floating_base:
            base = BY_STATE, aligner.stream(BASE_STATE).number
        of_joints = columns.q.start, columns.v.start, columns.q.stop - columns.q.start
        places = np.array(contacts, dtype=np.int64)
        self._inputs: tuple[Any, ...]  # what `all_inputs` reads
        self._inputs = (base, base_columns, of_joints, *chain, places, memory.n, memory.x)
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
        time_ns, half_ns, columns = sample.time_ns, self._half_ns, self._columns
        reduced = np.empty(columns.size)
        short = all_inputs(time_ns, half_ns, reduced, *self._inputs)
        if short:
            self.short += short
            return None
        tau = None if columns.tau is None else reduced[columns.tau]
        of_sign = columns.sign
        sign = self._sign_of_speeds((time_ns, half_ns)) if of_sign is None else reduced[of_sign]
        base = reduced[columns.motion].reshape(3, 3) if self._floating else _NO_MOTION
        wrenches = reduced[columns.wrenches].reshape(-1, WRENCH_WIDTH)
        q, v, a = reduced[columns.q], reduced[columns.v], reduced[columns.a]
        return _measured(q, v, a, tau, *base, wrenches, sign, None)

    def _sign_of_speeds(self, window: tuple[int, int]) -> Array | None:
        """Return the mean smoothed sign of the velocities; None where it is not needed."""
        if not self._sign_speed:
            return None
        joints, v = self._joints, self._columns.v
        sign = np.empty(v.stop - v.start)
        mean_sign(*window, joints.times, joints.rows, v.start, self._sign_speed, sign)
        return sign
