"""Torques that identified parameters predict on a segment of a recording of an arm.

Independent of the filter and of its windows: inverse dynamics of the exported URDF, plus friction, on
joint states that went through one zero-phase filter, against the measured torques through the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d

from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.robot_inputs import joints_alone
from inertial_estimation.models.coulomb import CoulombDirection, CoulombLaw
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.models.inverse_dynamics import IdealSensors, MotionState
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.zero_phase import triangle_weights
from inertial_estimation.replay.metrics import low_pass_zero_phase
from inertial_estimation.signals import NANOSECONDS, Array, JointReading, seconds

EDGE_S = 0.3  # time excluded at both ends of the segment, where the filter lacks samples on one side [s]


def prediction_error(
    robot: RobotModel,
    readings: Sequence[JointReading],
    friction: Mapping[str, float],
    *,
    joints: Sequence[str],
    coulomb: CoulombLaw,
    config: RobotConfig | None = None,
) -> float:
    """Return the norm of measured minus predicted torques over the norm of measured ones.

    Args:
        robot: Fixed-base arm with the identified inertias in place.
        readings: Joint states with effort, ascending stamps. Where one lacks velocities, the filtered
            positions are differentiated instead.
        friction: Friction by ``joint/term`` (`FRICTION_TERMS`), as estimated.
        joints: Joints whose torque counts.
        coulomb: How Coulomb friction changes sign.
        config: Parameters of the robot, for offsets of positions, gains of drives and `effort_window`.

    Returns:
        Relative error.

    The first and last `EDGE_S` are left out of both norms, for the transients of the filter.

    Raises:
        MeasurementError: If there are too few readings, or one lacks effort.
    """
    stamps, signals = _signals(robot, readings, config or RobotConfig())
    if len(stamps) < 2:
        raise MeasurementError(f"{len(stamps)} joint states are too few to judge torques by")
    q, tau, *v_measured = (low_pass_zero_phase(stamps, signal) for signal in signals)
    step = seconds(float(np.median(np.diff(stamps))))
    v = v_measured[0] if v_measured else np.gradient(q, step, axis=0)
    a = np.gradient(v, step, axis=0)
    dynamics = IdealSensors(robot)
    rigid = np.array(
        [
            dynamics.read(MotionState(robot.configuration(qk), vk, ak)).tau
            for qk, vk, ak in zip(q, v, a, strict=True)
        ]
    )
    step_ns = int(np.median(np.diff(stamps)))
    sign = CoulombDirection(coulomb).along(v, seconds(step_ns))
    middles = urdf_limits(robot).middle
    model = FrictionModel.of_values(robot.joint_names, friction, coulomb.smoothing_speed, middles)
    raw = rigid + model.torques(q, v, a, sign, rigid)
    raw = _smoothed_as_recorded(raw, (config or RobotConfig()).effort_window / seconds(step_ns))
    predicted = low_pass_zero_phase(step_ns * np.arange(len(raw), dtype=np.int64), raw)[: len(tau)]
    columns = [robot.joint_index(joint) for joint in joints]
    edge = round(EDGE_S * NANOSECONDS / step_ns)
    inner = slice(edge, len(tau) - edge)
    if len(tau) <= 2 * edge:
        raise MeasurementError(f"{len(tau)} joint states are too few to judge torques by")
    error, measured = (tau - predicted)[inner, columns], tau[inner, columns]
    return float(np.linalg.norm(error) / np.linalg.norm(measured))


def _signals(
    robot: RobotModel, readings: Sequence[JointReading], config: RobotConfig
) -> tuple[NDArray[np.int64], list[Array]]:
    """Return stamps [ns], and positions, torques and velocities if all have them, shape (k, n) each."""
    as_sent = replace(config, inputs=replace(config.inputs, joint_velocity="measured"))
    sent = all(r.velocity is not None and np.isfinite(r.velocity).all() for r in readings)
    inputs, samples = joints_alone(robot, as_sent, velocities=sent, efforts=True), list[AlignedSample]()
    for reading in readings:
        inputs.push_joints(reading)
        samples += inputs.ready()
    n, rows = robot.n_joints, np.array([sample.driver for sample in samples]).reshape(len(samples), -1)
    stamps = np.array([sample.stamp_ns for sample in samples], dtype=np.int64)
    velocities = [rows[:, n : 2 * n]] if sent else []
    return stamps, [rows[:, :n], rows[:, 2 * n :], *velocities]


def _smoothed_as_recorded(torques: Array, window: float) -> Array:
    """Return torques after the triangular window that the recorded efforts have passed.

    Args:
        torques: Torques [Nm], shape (k, n).
        window: Length of the window in samples.
    """
    half = round(0.5 * window)
    if not half:
        return torques
    smooth: Array = convolve1d(torques, triangle_weights(half), axis=0, mode="nearest")
    return smooth
