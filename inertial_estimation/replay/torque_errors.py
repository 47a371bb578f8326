"""Measured torques against those that the estimates predict, over a replay and after its hold-out."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d

from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.robot_inputs import joints_alone
from inertial_estimation.models.friction import CoulombDirection, FrictionModel
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.local_polynomials import triangle_weights
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.metrics import TRANSIENT_S, interpolated, low_pass_zero_phase
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.signals import NANOSECONDS, Array, InertialEstimate, JointReading, seconds
from inertial_estimation.synthetic.ideal_robots import IdealSensors, MotionState


class TorqueSeries(NamedTuple):
    """Rows of the measurement over time; n samples, m rows.

    The prediction is that of the filter before the measurement corrected the estimates.
    """

    stamps_ns: NDArray[np.int64]  # stamps [ns], shape (n,)
    row_names: tuple[str, ...]  # names of the rows
    measured: Array  # measured torques [Nm or N], shape (n, m); NaN for rows that are no measured torque
    innovations: Array  # measured minus predicted [Nm or N], shape (n, m); NaN where a row is not measured

    def low_passed(self) -> "TorqueSeries | None":
        """Return the low-passed rows on a uniform grid; None if too few, or not measured in every sample."""
        if not np.isfinite(self.innovations).all():
            return None
        known = np.isfinite(self.measured).all(axis=0)
        try:
            innovations = low_pass_zero_phase(self.stamps_ns, self.innovations)
            measured = np.full_like(innovations, np.nan)
            if known.any():
                measured[:, known] = low_pass_zero_phase(self.stamps_ns, self.measured[:, known])
        except MeasurementError:
            return None
        step_ns = int(np.median(np.diff(self.stamps_ns)))
        stamps = self.stamps_ns[0] + step_ns * np.arange(len(innovations), dtype=np.int64)
        return TorqueSeries(stamps, self.row_names, measured, innovations)

    def relative_error(self) -> float | None:
        """Return the norm of the innovations over that of the measured torques, both low-passed.

        The innovations are means over the filter's window, which smooths them further.
        """
        smooth, known = self.low_passed(), np.isfinite(self.measured).all(axis=0)
        if smooth is None or not known.any():
            return None
        errors, measured = (np.linalg.norm(one[:, known]) for one in (smooth.innovations, smooth.measured))
        return float(errors / measured)


def torque_series(
    estimates: Sequence[InertialEstimate], efforts: Sequence[JointReading], joint_delay_s: float = 0.0
) -> TorqueSeries:
    """Return the rows of the measurement over a replay.

    Rows are those of the estimate with the most rows; a row that another estimate lacks (an input was not
    measured for a while) is NaN there.

    Args:
        estimates: Estimates of the inertial filter, at least one; joint rows carry torque innovations.
        efforts: Joint readings as recorded.
        joint_delay_s: Age of joint readings at their stamps [s].
    """
    rows = max((estimate.row_names for estimate in estimates), key=len)
    stamps = np.array([estimate.stamp_ns for estimate in estimates], dtype=np.int64)
    innovations = np.full((len(estimates), len(rows)), np.nan)
    for values, estimate in zip(innovations, estimates, strict=True):
        own = estimate.row_names
        values[... if own == rows else [rows.index(row) for row in own]] = estimate.innovation
    measured = np.full(innovations.shape, np.nan)
    readings = [reading for reading in efforts if reading.effort is not None]
    names = readings[0].names if readings else ()
    joints = [i for i, row in enumerate(rows) if row in names]
    if joints:
        same = [reading for reading in readings if reading.names == names]
        delay_ns = round(joint_delay_s * NANOSECONDS)
        t = np.array([reading.stamp_ns - delay_ns - stamps[0] for reading in same], dtype=np.float64)
        table = np.array([reading.effort for reading in same])[:, [names.index(rows[i]) for i in joints]]
        measured[:, joints] = interpolated((stamps - stamps[0]).astype(np.float64), t, table)
    return TorqueSeries(stamps, rows, measured, innovations)


def torque_error(
    run: ReplayRun, pipelines: Pipelines, torques: TorqueSeries, hold_out_ns: int
) -> float | None:
    """Return the relative torque error after the hold-out: of an arm by its model, else by innovations.

    Args:
        run: The replay.
        pipelines: The replayed pipelines.
        torques: Rows of the measurement.
        hold_out_ns: Stamp from which on the filter no longer learned [ns].

    Returns:
        Norm of measured minus predicted over norm of measured torques; None without torques.
    """
    values, inertial = pipelines.inertial_values, pipelines.inertial
    if inertial is None:
        return None
    if values["floating_base"]:
        later = torques.stamps_ns >= hold_out_ns
        stamps, rows, measured, innovations = torques
        return TorqueSeries(stamps[later], rows, measured[later], innovations[later]).relative_error()
    urdf = inertial.estimated_model().estimated_urdf()
    robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=values["locked_joints"])
    first_ns = hold_out_ns - round(TRANSIENT_S * NANOSECONDS)  # the filter's transient is left out later
    later_readings = [r for r in run.efforts if r.effort is not None and r.stamp_ns >= first_ns]
    joints = [joint for joint in robot.joint_names if joint in torques.row_names]
    if not later_readings or not joints:
        return None
    config = inertial.config.robot
    friction = {**config.nominal_friction.by_name(robot), **run.inertial[-1].friction}
    with suppress(MeasurementError):
        return prediction_error(robot, later_readings, friction, joints=joints, config=config)
    return None


def prediction_error(
    robot: RobotModel,
    readings: Sequence[JointReading],
    friction: Mapping[str, float],
    *,
    joints: Sequence[str],
    config: RobotConfig,
) -> float:
    """Return the norm of measured minus predicted torques over the norm of measured ones.

    The error does not depend on the inertial filter and its windows: it compares inverse dynamics of the
    exported URDF plus friction, at joint states after a zero-phase low-pass, with the measured torques after
    the same low-pass. The first and last `TRANSIENT_S` are left out of both norms.

    Args:
        robot: Fixed-base arm with the identified inertias.
        readings: Joint states with effort, ascending stamps. If a reading lacks velocities or all are zero,
            the filtered positions are differentiated instead.
        friction: Estimated friction by ``joint/term`` (`FRICTION_TERMS`).
        joints: Joints whose torques are compared.
        config: Parameters of the robot: offsets of positions, gains of drives, change of sign of friction,
            `effort_window`.

    Raises:
        MeasurementError: If there are too few readings, or one lacks effort.
    """
    stamps, signals = _signals(robot, readings, config)
    if len(stamps) < 2:
        raise MeasurementError(f"{len(stamps)} joint states are too few to judge torques by")
    q, tau, *v_measured = (low_pass_zero_phase(stamps, signal) for signal in signals)
    step_ns = int(np.median(np.diff(stamps)))
    step = seconds(step_ns)
    v = v_measured[0] if v_measured else np.gradient(q, step, axis=0)
    a = np.gradient(v, step, axis=0)
    dynamics = IdealSensors(robot)
    states = (MotionState(robot.configuration(qk), vk, ak) for qk, vk, ak in zip(q, v, a, strict=True))
    rigid = np.array([dynamics.read(state).tau for state in states])
    sign = CoulombDirection(config.nominal_friction).along(v, step)
    middles = urdf_limits(robot).middle
    model = FrictionModel.of_values(
        robot.joint_names, friction, config.nominal_friction.smoothing_speed, middles
    )
    raw = rigid + model.torques(q, v, a, sign, rigid)
    half = round(0.5 * config.effort_window / step)
    if half:  # the triangular window that the recorded efforts have passed
        raw = convolve1d(raw, triangle_weights(half), axis=0, mode="nearest")
    predicted = low_pass_zero_phase(step_ns * np.arange(len(raw), dtype=np.int64), raw)[: len(tau)]
    edge = round(TRANSIENT_S * NANOSECONDS / step_ns)
    if len(tau) <= 2 * edge:
        raise MeasurementError(f"{len(tau)} joint states are too few to judge torques by")
    inner, columns = slice(edge, len(tau) - edge), [robot.joint_index(joint) for joint in joints]
    error, measured = (tau - predicted)[inner, columns], tau[inner, columns]
    return float(np.linalg.norm(error) / np.linalg.norm(measured))


def _signals(
    robot: RobotModel, readings: Sequence[JointReading], config: RobotConfig
) -> tuple[NDArray[np.int64], list[Array]]:
    """Return stamps [ns], and positions, torques and velocities if all have them, shape (k, n) each."""
    as_sent = replace(config, inputs=replace(config.inputs, joint_velocity="measured"))
    velocities = [r.velocity for r in readings if r.velocity is not None and np.isfinite(r.velocity).all()]
    sent = len(velocities) == len(readings) and any(v.any() for v in velocities)
    inputs, samples = joints_alone(robot, as_sent, JointNeeds(sent, efforts=True)), list[AlignedSample]()
    for reading in readings:
        inputs.push(JOINTS, reading)
        samples += inputs.ready()
    n, rows = robot.n_joints, np.array([sample.driver for sample in samples]).reshape(len(samples), -1)
    stamps = np.array([sample.stamp_ns for sample in samples], dtype=np.int64)
    return stamps, [rows[:, :n], rows[:, 2 * n :], *([rows[:, n : 2 * n]] if sent else [])]
