"""Measured torques against those that the estimates predict, over a replay and after its hold-out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.errors import MeasurementError
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.estimate_series import InertialSeries
from inertial_estimation.replay.metrics import interpolated, low_pass_zero_phase, relative_error
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.replay.torque_prediction import EDGE_S, prediction_error
from inertial_estimation.signals import NANOSECONDS, Array, JointReading


@dataclass(frozen=True, eq=False)
class TorqueSeries:
    """Rows of the measurement over time, low-passed without delay; n samples, m rows.

    The prediction is the one that each measurement was compared with, before it corrected the estimates.

    Attributes:
        stamps_ns: On a uniform grid [ns], shape (n,).
        row_names: Names of the rows.
        measured: Measured torques [Nm or N], shape (n, m); NaN for rows that are no measured torque.
        innovations: Measured minus predicted [Nm or N], shape (n, m).
    """

    stamps_ns: NDArray[np.int64]
    row_names: tuple[str, ...]
    measured: Array
    innovations: Array

    def unit(self, row: int) -> str:
        """Return the unit of a row."""
        return "N" if self.row_names[row] in BASE_ROWS[:3] else "Nm"


def torque_series(
    series: InertialSeries, efforts: Sequence[JointReading], joint_delay_s: float = 0.0
) -> TorqueSeries | None:
    """Return the rows of the measurement over a replay.

    Args:
        series: Inertial estimates; rows named after joints carry the torque innovations.
        efforts: Joint readings as recorded.
        joint_delay_s: Age of joint readings at their stamps [s].

    Returns:
        The rows; None where there are too few estimates, or rows that are not always measured.
    """
    if not np.isfinite(series.innovations).all():
        return None
    joints, torques = _measured_rows(series, efforts, joint_delay_s)
    try:
        innovations = low_pass_zero_phase(series.stamps_ns, series.innovations)
        measured = np.full_like(innovations, np.nan)
        if joints:
            measured[:, joints] = low_pass_zero_phase(series.stamps_ns, torques)
    except MeasurementError:
        return None
    step_ns = int(np.median(np.diff(series.stamps_ns)))
    stamps = series.stamps_ns[0] + step_ns * np.arange(len(innovations), dtype=np.int64)
    return TorqueSeries(stamps, series.row_names, measured, innovations)


def torque_error(
    run: ReplayRun, pipelines: Pipelines, series: InertialSeries, hold_out_ns: int | None
) -> float | None:
    """Return the relative torque error after the hold-out: by the model of an arm, or by innovations.

    Args:
        run: The replay.
        pipelines: What was replayed.
        series: Inertial estimates.
        hold_out_ns: Stamp from which on the filter no longer learned [ns]; None: it always did.

    Returns:
        Norm of measured minus predicted over norm of measured torques; None without hold-out or torques.
    """
    values = pipelines.inertial_values
    if hold_out_ns is None or pipelines.inertial is None:
        return None
    config = pipelines.inertial.config
    delay_s = float(values["inputs.joint_delay"])
    if values["floating_base"]:
        return innovation_error(series, run.efforts, hold_out_ns, delay_s)
    urdf = pipelines.inertial.estimated_model().estimated_urdf()
    robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=values["locked_joints"])
    first_ns = hold_out_ns - round(
        EDGE_S * NANOSECONDS
    )  # the edge is for the filter's transient, and not counted
    later = [r for r in run.efforts if r.effort is not None and r.stamp_ns >= first_ns]
    joints = [joint for joint in robot.joint_names if joint in series.row_names]
    if not later or not joints:
        return None
    try:
        return prediction_error(
            robot,
            later,
            {**config.robot.nominal_friction.values(robot), **run.inertial[-1].friction},
            joints=joints,
            coulomb=config.coulomb_law,
            config=config.robot,
        )
    except MeasurementError:
        return None


def innovation_error(
    series: InertialSeries,
    efforts: Sequence[JointReading],
    hold_out_ns: int | None,
    joint_delay_s: float = 0.0,
) -> float | None:
    """Return the norm of the torque innovations over the norm of the measured torques.

    Both are filtered by one 10 Hz zero-phase filter, over the samples after the hold-out only. The
    innovations carry the filter's own window, which smooths them further.

    Args:
        series: Inertial estimates; rows named after joints carry the torque innovations.
        efforts: Joint readings as recorded.
        hold_out_ns: Stamp from which on the filter no longer learned [ns].
        joint_delay_s: Age of joint readings at their stamps [s].

    Returns:
        The error, or None without a hold-out or measured torques.
    """
    if hold_out_ns is None:
        return None
    later = series.stamps_ns >= hold_out_ns
    rows, measured = _measured_rows(series, efforts, joint_delay_s)
    if not rows or not later.any():
        return None
    try:
        return relative_error(series.stamps_ns[later], measured[later], series.innovations[later][:, rows])
    except MeasurementError:
        return None


def _measured_rows(
    series: InertialSeries, efforts: Sequence[JointReading], joint_delay_s: float
) -> tuple[list[int], Array]:
    """Return the rows that are measured torques, and these at the stamps of the series, shape (n, rows)."""
    readings = [reading for reading in efforts if reading.effort is not None]
    names = readings[0].names if readings else ()
    rows = [i for i, name in enumerate(series.row_names) if name in names]
    if not rows:
        return [], np.zeros((len(series.stamps_ns), 0))
    same = [reading for reading in readings if reading.names == names]
    order = [names.index(series.row_names[i]) for i in rows]
    t0, delay_ns = int(series.stamps_ns[0]), round(joint_delay_s * NANOSECONDS)
    t = np.array([reading.stamp_ns - delay_ns - t0 for reading in same], dtype=np.float64)
    table = np.array([reading.effort for reading in same])[:, order]
    at = (series.stamps_ns - t0).astype(np.float64)
    return rows, interpolated(at, t, table)
