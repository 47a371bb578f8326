"""Treatment of slowly varying errors of the sensors, and their prior standard deviations."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_noise import FULL_SIZE
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

TREATMENTS = ("none", "considered", "estimated")
SHARE = 0.01  # of effort limits and of the robot's weight: assumed, in the range of force and torque sensors
TORQUE_GAIN = 0.03  # relative error of a torque's scale: assumed, of motor constants and strain gauges
ACCELEROMETER_BIAS = 0.2  # along each axis: assumed, 20 mg [m/s^2]
ACCELEROMETER_SCALE = 0.03  # relative error of its scale, assumed
LEVER = 0.2  # of the errors of forces on a robot of `FULL_SIZE`, for those of moments [m]
UNLIMITED = 1.0  # offset of a joint without effort limit [Nm]


@dataclass(frozen=True)
class SensorErrorConfig:
    """What is done about errors of the sensors that are constant or vary slowly."""

    treatment: str = parameter(
        "none",
        "Treatment of slowly varying errors of the sensors: estimated together with the inertias; considered,"
        " so that standard deviations of the inertias contain them, but not estimated (Schmidt); or none.",
        choices=TREATMENTS,
    )

    @property
    def considered(self) -> bool:
        """Whether the errors are taken into account and not estimated (Schmidt)."""
        return self.treatment == "considered"


def torque_offsets(robot: RobotModel) -> Array:
    """Return the standard deviation of each joint's torque offset [Nm], shape (n_joints,).

    Args:
        robot: The robot.
    """
    limits = urdf_limits(robot).effort
    offsets: Array = np.where(np.isfinite(limits), SHARE * limits, UNLIMITED)
    return offsets


def base_wrench(robot: RobotModel) -> Array:
    """Return that of a constant wrench on the base that no sensor reads [N, Nm], shape (6,).

    It is that of cables and of wrong masses that are not estimated.

    Args:
        robot: The robot.
    """
    return SHARE * np.repeat(weight_of(robot), 3)


def weight_of(robot: RobotModel) -> tuple[float, float]:
    """Return the weight of a robot [N], and its moment on the lever of errors of forces [Nm].

    Args:
        robot: The robot.
    """
    weight = STANDARD_GRAVITY * robot.total_mass
    return weight, weight * LEVER * float(np.cbrt(robot.total_mass / FULL_SIZE))
