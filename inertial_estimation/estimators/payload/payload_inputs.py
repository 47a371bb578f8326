"""Raw readings to what a robot at rest is judged and measured by: aligned, averaged over one window."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_entries import InputEntries
from inertial_estimation.estimators.inputs.joint_entry import JointEntry
from inertial_estimation.estimators.inputs.live_checks import LiveChecks
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
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.sliding_window import SlidingWindow
from inertial_estimation.models.drop_reasons import DropReason, misfit
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array, BaseState, JointReading
from inertial_estimation.spatial.rotations import vertical_of_quaternion

FAULT_NS = 3 * NANOSECONDS // 2  # after a fault of a sensor, in which nothing is identified


@dataclass(frozen=True, slots=True, eq=False)
class MeanState:
    """Means over the window.

    Attributes:
        q: Joint positions [rad], shape (n_joints,).
        v: Joint velocities [rad/s], shape (n_joints,).
        tau: Joint torques [Nm], shape (n_joints,); None where not needed.
        wrenches_F: Wrench of each contact in its wrench frame [N, Nm], shape (n_contacts, 6); None where
            not used.
        roll: Of the base [rad].
        pitch: Of the base [rad].
        base_speed: Speed of the base [m/s].
        angular_rate: Of the gyroscope where there is one, else of the base state [rad/s].
        vertical_acceleration: Of the base, up [m/s^2].
        acceleration: Of the base [m/s^2]: slope of its velocity over the window, or the change of the
            specific force from half to half, whichever is more.
    """

    q: Array
    v: Array
    tau: Array | None
    wrenches_F: Array | None
    roll: float
    pitch: float
    base_speed: float
    angular_rate: float
    vertical_acceleration: float
    acceleration: float

    @property
    def R_WB(self) -> Array:
        """Orientation of the base at yaw zero, Ry(pitch) Rx(roll), shape (3, 3)."""
        sr, cr, sp, cp = math.sin(self.roll), math.cos(self.roll), math.sin(self.pitch), math.cos(self.pitch)
        return np.array([[cp, sp * sr, sp * cr], [0.0, cr, -sr], [-sp, cp * sr, cp * cr]])


class PayloadInputs:
    """The inputs of the trunk's identification; joint states set the steps.

    Attributes:
        aligner: The buffers.
        entries: Take the readings that are usual.
    """

    def __init__(self, config: TrunkPayloadConfig, setup: RobotSetup, legs: tuple[int, ...]) -> None:
        """Decide which inputs are needed.

        Args:
            config: The parameters.
            setup: The robot and its IMU.
            legs: Joints, by their positions in the robot's order, whose torque is needed.
        """
        self._robot = robot = setup.robot
        estimated = config.ground_forces == "estimated"
        self._legs = frozenset(legs)
        self._joint_row = JointRow(robot.n_joints, effort=estimated)
        self._map = JointMap(robot, config.robot, need_effort=estimated, checked=True)
        self._contacts = () if estimated else config.robot.contacts
        self._with_imu = setup.imu is not None
        self._streams = [BASE_STATE, *([IMU] if self._with_imu else []), *map(wrench_stream, self._contacts)]
        self.aligner = self._make_aligner(config)
        joints = JointEntry(self._map, self.aligner)
        wrenches = {contact: wrench_stream(contact) for contact in self._contacts}
        used: Any = {"imu": self._with_imu, "wrenches": wrenches}
        checks = LiveChecks(setup, config.robot, self.aligner, self._joint_row, **used)
        self.entries = InputEntries(checks, self.aligner, joints, **used, contacts=setup.contact_names)
        others = IMU_ROW.width * self._with_imu + WRENCH_WIDTH * len(self._contacts)
        width = self._joint_row.width + BASE_STATE_ROW.width + others
        self._window = SlidingWindow(width, config.rest.window, config.rate)
        self._refused = "", 0  # why a joint state was refused; number of all received until then
        self._faults = 0  # of sensors, noted until the last step
        self._fault_ns: int | None = None  # time of the last one

    @property
    def velocity_source(self) -> str:
        """Where the joint velocities come from, for people."""
        return self._map.velocity_source

    @property
    def trouble(self) -> str:
        """Why the last joint state could not be used; empty if it could."""
        reason, count = self._refused
        return reason if count == self.aligner.stream(JOINTS).received else ""

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state; one that does not fit the model is dropped and counted."""
        if self.entries.joints.take_reading(reading):
            return
        try:
            row = self._map.row(reading)
        except MeasurementError as error:
            self._drop_joints(self._in_words(error, reading), misfit(error))
            self.entries.joints.discard_wrong()
            return
        if not np.isfinite(row).all():
            reason = self._repair(row)
            if reason:
                self._drop_joints(reason, DropReason.NOT_FINITE)
                return
        self.aligner.push(JOINTS, reading.stamp_ns, row)
        self.entries.joints.learn(reading)

    def push_base_state(self, state: BaseState) -> None:
        """Take a base state."""
        x, y, z, w = state.quaternion_xyzw.tolist()
        square = x * x + y * y + z * z + w * w
        columns = BASE_STATE_ROW
        row = np.full(columns.width, np.nan)
        if math.isfinite(square) and square > 0.0:  # Python's products do not warn of an overflow
            row[columns.v] = state.v_WB_B
            row[columns.w] = state.w_WB_B
            row[columns.vertical] = vertical_of_quaternion(x, y, z, w)
        self.aligner.push(BASE_STATE, state.stamp_ns, row)

    def clear(self) -> None:
        """Forget the window and the positions that velocities are derived from; not the buffers."""
        self._map.reset()
        self.clear_window()

    def clear_window(self) -> None:
        """Restart the window, for example after a gap."""
        self._window.clear()

    def state_at(self, sample: AlignedSample) -> MeanState | None:
        """Take a step into the window and return its means.

        Args:
            sample: The step.

        Returns:
            The means; None where an input is missing or the window is not yet full.
        """
        if not sample.complete:
            self._window.clear()
            return None
        parts = [sample.driver_row]
        for stream in self._streams:
            row = sample.rows[stream]
            assert row is not None
            parts.append(row)
        self._window.append(sample.time_ns, np.concatenate(parts))
        return self._means() if self._window.full else None

    def doubtful(self, time_ns: int) -> bool:
        """Return whether a sensor is at fault, or has been within the last second and a half.

        A reading that jumps is believed when the jump has lasted, and may jump back. One that is doubtful
        for long is as its sensor is, and identified with.

        Args:
            time_ns: Time of the step [ns].
        """
        noted, before = self.aligner.sensor_faults, self._faults
        self._faults = noted
        if noted > before:
            self._fault_ns = time_ns
        return self._fault_ns is not None and 0 <= time_ns - self._fault_ns < FAULT_NS

    def _means(self) -> MeanState:
        joints, first = self._joint_row, self._joint_row.width
        mean = self._window.mean()
        change, apart = self._window.change()
        vx, vy, vz, wx, wy, wz, sx, sy, sz = mean[first : first + BASE_STATE_ROW.width].tolist()
        ax, ay, az = change[first : first + 3].tolist()
        acceleration = math.sqrt(ax * ax + ay * ay + az * az) / apart
        after = first + BASE_STATE_ROW.width
        if self._with_imu:
            wx, wy, wz = mean[after + 3 : after + 6].tolist()
            fx, fy, fz = change[after : after + 3].tolist()
            acceleration = max(acceleration, math.sqrt(fx * fx + fy * fy + fz * fz))
            after += IMU_ROW.width
        return MeanState(
            q=mean[joints.q],
            v=mean[joints.v],
            tau=mean[joints.tau] if joints.tau is not None else None,
            wrenches_F=mean[after:].reshape(-1, WRENCH_WIDTH) if self._contacts else None,
            roll=math.atan2(sy, sz),
            pitch=math.atan2(-sx, math.hypot(sy, sz)),
            base_speed=math.sqrt(vx * vx + vy * vy + vz * vz),
            angular_rate=math.sqrt(wx * wx + wy * wy + wz * wz),
            vertical_acceleration=(sx * ax + sy * ay + sz * az) / apart,
            acceleration=acceleration,
        )

    def _drop_joints(self, trouble: str, reason: DropReason) -> None:
        self.aligner.count_drop(JOINTS, reason, trouble)
        self._refused = trouble, self.aligner.stream(JOINTS).received

    def _in_words(self, error: MeasurementError, reading: JointReading) -> str:
        if self._joint_row.effort and reading.effort is None:
            names = listing(self._robot.joint_names[j] for j in sorted(self._legs))
            return f"no effort; ground_forces 'estimated' needs the torques of {names}"
        return str(error)

    def _repair(self, row: Array) -> str:
        """Set torques that are not used to zero where they are not finite; return what else is not finite."""
        n, names = self._robot.n_joints, self._robot.joint_names
        for k, what in enumerate(("position", "velocity", "torque")[: len(row) // n]):
            part = row[k * n : (k + 1) * n]
            bad = [int(j) for j in np.flatnonzero(~np.isfinite(part))]
            if what == "torque":
                part[[j for j in bad if j not in self._legs]] = 0.0
                bad = [j for j in bad if j in self._legs]
            if bad:
                return f"{what} of {listing(names[j] for j in bad)} is not a number"
        return ""

    def _make_aligner(self, config: TrunkPayloadConfig) -> SignalAligner:
        inputs = config.robot.inputs
        others = [base_state_spec(inputs)]
        if self._with_imu:
            others.append(imu_spec(inputs))
        others += [wrench_spec(contact, config.robot, self._robot) for contact in self._contacts]
        driver = joint_spec(self._joint_row, inputs, self._robot)
        return SignalAligner(driver, tuple(others), inputs, rate=config.rate)
