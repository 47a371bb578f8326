"""Parameters of slowly varying errors of the sensors."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_noise import FULL_SIZE
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter, replace_negative
from inertial_estimation.signals import Array

TREATMENTS = ("none", "considered", "estimated")
SHARE = 0.01  # of effort limits and of the robot's weight that errors have by default
LEVER = 0.2  # of the errors of forces on a robot of `FULL_SIZE`, for those of moments [m]
UNLIMITED = 1.0  # offset of a joint without effort limit [Nm]


@dataclass(frozen=True)
class SensorErrorConfig:
    """Prior standard deviations of errors of the sensors that are constant or vary slowly."""

    treatment: str = parameter(
        "none",
        "Treatment of slowly varying errors of the sensors: estimated together with the inertias; considered,"
        " so that standard deviations of the inertias contain them, but not estimated (Schmidt); or none.",
        choices=TREATMENTS,
    )
    torque_offset: float = parameter(
        -1.0,
        "Prior standard deviation of a constant error of each joint torque; 0 assumes none. Negative: 1 % of "
        "the joint's effort limit, or 1 Nm where it has none.",
        unit="Nm",
        lower=-1e4,
        upper=1e4,
    )
    torque_gain: float = parameter(
        0.03,
        "Prior standard deviation of the relative error of each joint torque's scale; 0 assumes none.",
        lower=0.0,
        upper=1.0,
    )
    accelerometer_bias: float = parameter(
        0.2,
        "Prior standard deviation of a constant error of the IMU's specific force, per axis; 0 assumes none.",
        unit="m/s^2",
        lower=0.0,
        upper=10.0,
    )
    accelerometer_scale: float = parameter(
        0.03,
        "Prior standard deviation of the relative error of the accelerometer's scale; 0 assumes none.",
        lower=0.0,
        upper=1.0,
    )
    contact_force: float = parameter(
        0.0,
        "Prior standard deviation of a constant error of each measured contact force, per axis; 0 assumes "
        "none. Negative: 1 % of the robot's weight.",
        unit="N",
        lower=-1e4,
        upper=1e4,
    )
    contact_moment: float = parameter(
        0.0,
        "Prior standard deviation of a constant error of each measured contact moment, per axis; 0 assumes "
        "none. Negative: 1 % of the robot's weight times 0.2 m times the third root of its mass / 80 kg.",
        unit="Nm",
        lower=-1e4,
        upper=1e4,
    )
    base_force: float = parameter(
        -1.0,
        "Prior standard deviation of a constant force on the base that no sensor reads, per axis: that of "
        "cables and of wrong masses that are not estimated; 0 assumes none. Negative: 1 % of the robot's "
        "weight.",
        unit="N",
        lower=-1e4,
        upper=1e4,
    )
    base_moment: float = parameter(
        -1.0,
        "Prior standard deviation of a constant moment on the base that no sensor reads, per axis: that of "
        "cables and of wrong masses that are not estimated; 0 assumes none. Negative: 1 % of the robot's "
        "weight times 0.2 m times the third root of its mass / 80 kg.",
        unit="Nm",
        lower=-1e4,
        upper=1e4,
    )

    @property
    def considered(self) -> bool:
        """Whether the errors are taken into account and not estimated (Schmidt)."""
        return self.treatment == "considered"

    def for_robot(self, robot: RobotModel) -> "SensorErrorConfig":
        """Return the standard deviations with values in place of the negative ones of forces and moments.

        Args:
            robot: The robot.
        """
        force, moment = (SHARE * part for part in weight_of(robot))
        forces, moments = ("contact_force", "base_force"), ("contact_moment", "base_moment")
        return replace_negative(self, dict.fromkeys(forces, force) | dict.fromkeys(moments, moment))

    def offsets(self, robot: RobotModel) -> Array:
        """Return the standard deviation of each joint's torque offset [Nm], shape (n_joints,).

        Args:
            robot: The robot.
        """
        if self.torque_offset >= 0.0:
            return np.full(robot.n_joints, self.torque_offset)
        limits = urdf_limits(robot).effort
        offsets: Array = np.where(np.isfinite(limits), SHARE * limits, UNLIMITED)
        return offsets


def weight_of(robot: RobotModel) -> tuple[float, float]:
    """Return the weight of a robot [N], and its moment on the lever of errors of forces [Nm].

    Args:
        robot: The robot.
    """
    weight = STANDARD_GRAVITY * robot.total_mass
    return weight, weight * LEVER * float(np.cbrt(robot.total_mass / FULL_SIZE))
