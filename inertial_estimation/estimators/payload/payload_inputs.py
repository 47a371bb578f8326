"""Raw readings to what a robot at rest is judged and measured by: aligned, averaged over one window."""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.sliding_window import SlidingWindow
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE, ContactSource
from inertial_estimation.inputs.wrench_axes import SensorAxes
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array

FAULT_NS = 3 * NANOSECONDS // 2  # after a fault of a sensor, in which nothing is identified
FAULTS = DropReason.NOT_FINITE, DropReason.OUT_OF_RANGE, DropReason.CONTRADICTION
WRENCH = 6  # numbers


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


def payload_inputs(config: TrunkPayloadConfig, setup: RobotSetup, legs: Collection[int]) -> RobotInputs:
    """Return what takes the readings of a trunk's identification; joint states set the steps.

    Args:
        config: The parameters.
        setup: The robot, its contacts and its IMU.
        legs: Joints, by their positions in the robot's order, whose torque is needed.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If offsets or gains do not fit the robot.
    """
    estimated, robot = config.ground_forces == "estimated", config.robot
    return RobotInputs(
        setup,
        robot,
        driver=JOINTS,
        rate=config.rate,
        efforts=legs if estimated else False,
        sources={} if estimated else dict.fromkeys(setup.contact_names, ContactSource.WRENCH),
        base_state=True,
        corrections=joint_corrections(robot.joint_offsets, robot.drive_gains, setup.robot),
    )


class PayloadWindow:
    """Means of all inputs over the last stretch of time.

    Attributes:
        axes: Turns wrenches into the axes of their sensors.
    """

    def __init__(self, config: TrunkPayloadConfig, setup: RobotSetup, inputs: RobotInputs) -> None:
        """Begin with an empty window."""
        assert inputs.joints is not None
        self._inputs, self._columns = inputs, inputs.joints.columns
        self.axes = SensorAxes(setup, inputs)
        self._wrenches = [contact.stream.spec.name for contact in inputs.contacts.values()]
        self._names = [BASE_STATE, *([IMU] if inputs.imu is not None else []), *self._wrenches]
        width = sum(inputs.streams[name].spec.width for name in (JOINTS, *self._names))
        self._window = SlidingWindow(width, config.rest.window, config.rate)
        self._faults = 0  # of sensors, counted until the last step
        self._fault_ns: int | None = None  # time of the last one

    def clear(self) -> None:
        """Restart the window, for example after a gap."""
        self._window.clear()

    def state_at(self, sample: AlignedSample) -> MeanState | None:
        """Take a step into the window and return its means.

        Args:
            sample: The step.

        Returns:
            The means; None where an input is missing or the window is not yet full.
        """
        rows = [sample.rows[name] for name in self._names]
        present = [row for row in rows if row is not None]
        if len(present) < len(rows) or self.axes.unknown:
            self._window.clear()
            return None
        self._window.append(sample.time_ns, np.concatenate((sample.driver, *present)))
        return self._means() if self._window.full else None

    def faults(self, _sample: AlignedSample) -> int:
        """Return how many impossible readings have come, when a sample is complete."""
        drops = [stream.drops.counts for stream in self._inputs.streams.values()]
        return sum(counts.get(reason, 0) for counts in drops for reason in FAULTS)

    def doubtful(self, sample: AlignedSample) -> bool:
        """Return whether a sensor has given an impossible reading within the last second and a half."""
        if sample.reduced > self._faults:
            self._faults, self._fault_ns = sample.reduced, sample.time_ns
        return self._fault_ns is not None and 0 <= sample.time_ns - self._fault_ns < FAULT_NS

    def _means(self) -> MeanState:
        columns, mean = self._columns, self._window.mean()
        change, apart = self._window.change()
        first = self._inputs.streams[JOINTS].spec.width
        vx, vy, vz, wx, wy, wz, sx, sy, sz = mean[first : first + 9].tolist()
        ax, ay, az = change[first : first + 3].tolist()
        acceleration = math.sqrt(ax * ax + ay * ay + az * az) / apart
        after, q = first + 9, mean[columns.q]
        if IMU in self._names:
            wx, wy, wz = mean[after:][RATE].tolist()
            fx, fy, fz = change[after:][FORCE].tolist()
            acceleration = max(acceleration, math.sqrt(fx * fx + fy * fy + fz * fz))
            after += self._inputs.streams[IMU].spec.width
        wrenches = self.axes.turned(mean[after:].reshape(-1, WRENCH), q) if self._wrenches else None
        return MeanState(
            q=q,
            v=mean[columns.v],
            tau=mean[columns.tau] if columns.tau is not None else None,
            wrenches_F=wrenches,
            roll=math.atan2(sy, sz),
            pitch=math.atan2(-sx, math.hypot(sy, sz)),
            base_speed=math.sqrt(vx * vx + vy * vy + vz * vz),
            angular_rate=math.sqrt(wx * wx + wy * wy + wz * wz),
            vertical_acceleration=(sx * ax + sy * ay + sz * az) / apart,
            acceleration=acceleration,
        )
