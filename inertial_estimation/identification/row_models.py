"""The models that turn the signals of one robot into rows, with and without its load."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.row_stream import RowModel
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement
from inertial_estimation.models.friction import friction_model
from inertial_estimation.models.imu import ImuMount, ImuToBase
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import ContactMode
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class RowModels:
    """How signals become rows in one set of unknowns.

    Attributes:
        parameters: The unknowns.
        row_names: Names of the rows.
        pooled: Whether all rows have one weight.
        loaded: Rows of the robot with the load that is identified, if any.
        unloaded: Rows of the robot without it; None where no load is identified.
    """

    parameters: ParameterSet
    row_names: tuple[str, ...]
    pooled: bool
    loaded: RowModel
    unloaded: RowModel | None


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


def row_models(config: IdentificationConfig, setup: RobotSetup, parameters: ParameterSet) -> RowModels:
    """Return how signals become rows in the unknowns.

    Args:
        config: Parameters of the identification.
        setup: The robot, its contacts and its IMU.
        parameters: The unknowns.
    """
    robot, selection = setup.robot, config.rows.selection()
    _, known = friction_model(config.friction, robot, config.robot.nominal_friction)
    measurement = DynamicsMeasurement(
        robot,
        parameters.bodies,
        selection,
        MeasurementNoise(),
        () if selection.contacts is ContactMode.NONE else setup.contacts,
        parameters.friction,
        known_friction=known,
    )
    joints = {name: j for j, name in enumerate(robot.joint_names)}
    plain = not selection.contacts.projects
    torque_joints = [joints.get(name, -1) if plain else -1 for name in measurement.row_names]

    def model(to_joint: Array) -> RowModel:
        return RowModel(
            smoothing=config.smoothing,
            measurement=measurement,
            imu=ImuToBase(robot, setup.imu) if setup.imu is not None and robot.floating_base else None,
            n_joints=robot.n_joints,
            contacts=len(setup.contacts) if selection.contacts.senses else 0,
            need_effort=bool(config.rows.torque_rows),
            to_unknowns=to_joint @ parameters.E,
            nominal=to_joint @ parameters.nominal,
            coulomb=config.coulomb_law,
            effort_window=config.robot.inputs.effort_window,
            torque_joints=np.array(torque_joints, dtype=np.int64),
        )

    bare = parameters.to_joint_unloaded
    return RowModels(
        parameters,
        measurement.row_names,
        selection.contacts.projects or config.weighting == "none",
        model(parameters.to_joint),
        None if bare is None else model(bare),
    )
