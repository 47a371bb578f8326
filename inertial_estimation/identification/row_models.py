"""The models that turn the signals of one robot into rows, with and without its load."""

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.row_stream import RowModel
from inertial_estimation.models.base_acceleration import ImuToBase
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

__all__ = ["check_base", "row_model"]


def check_base(config: IdentificationConfig, robot: RobotModel, imu: ImuMount | None) -> None:
    """Check that base acceleration, IMU and rows fit each other.

    Raises:
        ConfigurationError: If they do not.
    """
    rows = config.rows
    if robot.floating_base and rows.base_acceleration != "accelerometer":
        raise ConfigurationError(
            f"base_acceleration is '{rows.base_acceleration}', expected 'accelerometer': recordings are "
            "identified with what the IMU senses"
        )
    if robot.floating_base and imu is None:
        raise ConfigurationError("'imu_frame' is empty; a floating base needs the link of its IMU")
    if config.robot.inputs.effort_window > 0.0 and (robot.floating_base or config.robot.contacts):
        raise ConfigurationError(
            "'inputs.effort_window' is for efforts alone, expected 0 for a robot with a floating base or "
            "contacts"
        )
    if config.smoothing.stiction_speed > 0.0 and rows.selection().contacts.projects:
        raise ConfigurationError(
            "'stiction_speed' leaves out torque rows, but projected rows mix the joints; set it to 0"
        )


def row_model(
    config: IdentificationConfig,
    robot: RobotModel,
    imu: ImuMount | None,
    measurement: DynamicsMeasurement,
    parameters: ParameterSet,
    to_joint: Array,
    contacts: int,
) -> RowModel:
    """Return how signals become rows in the unknowns.

    Args:
        config: Parameters of the identification.
        robot: The robot.
        imu: Where its IMU is; None for none.
        measurement: The measurement equation.
        parameters: The unknowns.
        to_joint: Maps phi to what the regressor multiplies: with the load or without it.
        contacts: Number of contacts whose wrenches are measured.
    """
    joints = {name: j for j, name in enumerate(robot.joint_names)}
    plain = not config.rows.selection().contacts.projects
    torque_joints = [joints.get(name, -1) if plain else -1 for name in measurement.row_names]
    return RowModel(
        smoothing=config.smoothing,
        measurement=measurement,
        imu=ImuToBase(robot, imu) if imu is not None and robot.floating_base else None,
        n_joints=robot.n_joints,
        contacts=contacts,
        need_effort=bool(config.rows.torque_rows),
        to_unknowns=to_joint @ parameters.E,
        nominal=to_joint @ parameters.nominal,
        coulomb=config.coulomb_law,
        effort_window=config.robot.inputs.effort_window,
        torque_joints=np.array(torque_joints, dtype=np.int64),
    )
