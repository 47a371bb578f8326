"""Readings of the IMU: units, and the frame in whose axes they are."""

import numpy as np

from inertial_estimation.errors import ModelError
from inertial_estimation.inputs.clocks import ClockGroup
from inertial_estimation.inputs.config import DEGREE, IMU_UNITS, RobotInputConfig, unit_factors
from inertial_estimation.inputs.possible import imu_range
from inertial_estimation.inputs.stream import Stream, StreamSpec
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, ImuSample

IMU = "imu/data"
SAME_AXES = 0.5  # angle between two frames below which it does not matter which one is meant [deg]
FORCE, RATE = slice(0, 3), slice(3, 6)  # columns of a row [m/s^2], [rad/s]


class ImuInput:
    """Readings of the IMU as rows of specific force and angular rate, in the frame of the parameters.

    Attributes:
        stream: The rows.
    """

    def __init__(self, robot: RobotModel, frame: str, config: RobotInputConfig, clocks: ClockGroup) -> None:
        """Begin without a reading; the clocks are those of the inputs of the robot."""
        self._robot, self._frame, self._frame_id = robot, frame, frame
        spec = StreamSpec(IMU, 6, imu_range(config.inputs.range), config.inputs.imu_delay)
        self.stream = Stream(spec, config.inputs, clocks)
        factors = unit_factors(config.imu.units, IMU_UNITS)
        scale = np.repeat([factors.get("force", 1.0), factors.get("rate", 1.0)], 3)
        self._scale = None if (scale == 1.0).all() else scale
        self._use_frames = config.inputs.frame_ids == "use"
        self._rotation: Array | None = None  # from the axes of the readings to those of the parameters

    def push(self, sample: ImuSample, arrival_ns: int, frame_id: str = "") -> bool:
        """Take a reading, in the units of the parameters; return whether it is stored.

        Args:
            sample: The reading.
            arrival_ns: Its arrival [ns].
            frame_id: Frame in the header of its message; empty: not known.
        """
        if frame_id and frame_id != self._frame_id and self._use_frames:
            self._frame_id = frame_id
            self._rotation, remark = rotation_between(self._robot, self._frame, frame_id, "imu_frame")
            self.stream.remarks["frame"] = remark
        row, rotation = np.empty(6), self._rotation
        row[FORCE] = sample.specific_force_I if rotation is None else rotation @ sample.specific_force_I
        row[RATE] = sample.angular_rate_I if rotation is None else rotation @ sample.angular_rate_I
        if self._scale is not None:
            row *= self._scale
        return self.stream.push(sample.stamp_ns, row, arrival_ns)


def rotation_between(
    robot: RobotModel, frame: str, frame_id: str, parameter: str
) -> tuple[Array | None, str]:
    """Return the rotation from the axes of a message's frame to those of the parameters, and what to say of it.

    Args:
        robot: The model.
        frame: Frame by the parameters.
        frame_id: Frame in the header of the message.
        parameter: Name of the parameter, for people.

    Returns:
        Rotation, shape (3, 3), None where the axes are the same or not known; a sentence, or nothing.
    """
    name = frame_id if robot.model.existFrame(frame_id) else frame_id.rpartition("/")[2]
    if name == frame:
        return None, ""
    if not robot.model.existFrame(name):
        return None, f"header.frame_id '{frame_id}' is no frame of the robot; {parameter} '{frame}' is used"
    try:
        rotation: Array = robot.fixed_transform(frame, name).rotation
    except ModelError:
        return (
            None,
            f"header.frame_id '{frame_id}' is on another body than {parameter} '{frame}', which is used",
        )
    angle = float(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0))) / DEGREE
    if angle < SAME_AXES:
        return None, ""
    said = f"header.frame_id '{frame_id}' is turned by {angle:.1f} deg against {parameter} '{frame}'"
    return rotation, f"{said}: readings are turned to it; set {parameter}, or inputs.frame_ids: ignore"
