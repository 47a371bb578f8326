"""Wide tables of a replay: one row a stamp, seconds in the first column, one column a quantity."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.estimators.telemetry import AGE, Telemetry
from inertial_estimation.files.outputs import write_table
from inertial_estimation.replay.base_errors import BaseErrors, yaws
from inertial_estimation.replay.estimate_series import TiltSeries
from inertial_estimation.replay.metrics import TiltErrors
from inertial_estimation.replay.result_files import number_text, upper_entries
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array

TIME_COLUMNS = ("time_s", "stamp_ns")
STATE_COLUMNS = (
    *TIME_COLUMNS,
    *("x", "y", "z", "roll", "pitch", "yaw", "vx", "vy", "vz", "wx", "wy", "wz"),
    *("cov_xx", "cov_xy", "cov_xz", "cov_yy", "cov_yz", "cov_zz"),
)
ERROR_COLUMNS = (
    *TIME_COLUMNS,
    *("trusted", "tilt_error_deg", "yaw_error_deg", "error_x", "error_y", "error_z"),
)
EstimateT = TypeVar("EstimateT")


def write_base_state(path: Path, series: TiltSeries, time: TimeAxis) -> None:
    """Write pose, twist and covariance of the base, as on the topic base_state.

    Args:
        path: File to write, CSV with the columns `STATE_COLUMNS`: position in the world [m], roll, pitch and
            yaw [rad], velocity and angular velocity in the base frame [m/s, rad/s], covariance of small
            rotations of the base in its frame [rad^2].
        series: Base estimates.
        time: The time axis.
    """
    angles = Rotation.from_quat(series.quaternions_xyzw).as_euler("ZYX")[:, ::-1]
    angles[:, 2] = yaws(series.quaternions_xyzw)
    covariances = upper_entries(series.covariances_B)
    columns = (series.positions_W, angles, series.velocities_B, series.angular_rates_B, covariances)
    _write(path, STATE_COLUMNS, series.stamps_ns, np.column_stack(columns), time)


def write_base_errors(path: Path, tilt: TiltErrors, base: BaseErrors | None, time: TimeAxis) -> None:
    """Write the errors of the base against the reference, at the stamps of the reference.

    Args:
        path: File to write, CSV with the columns `ERROR_COLUMNS`: angles in degrees, position in the world
            [m]; empty where the reference does not contain the quantity.
        tilt: Errors of the tilt.
        base: Errors of yaw and position, at the same stamps.
        time: The time axis.
    """
    yaw, position = np.full(len(tilt.errors), np.nan), np.full((len(tilt.errors), 3), np.nan)
    if base is not None:
        yaw = np.degrees(base.yaw_errors)
        position = position if base.position_errors_W is None else base.position_errors_W
    numbers = np.column_stack([tilt.trusted, np.degrees(tilt.errors), yaw, position])
    _write(path, ERROR_COLUMNS, tilt.stamps_ns, numbers, time)


def write_telemetry(
    path: Path,
    telemetry: Telemetry[EstimateT],
    estimates: Sequence[EstimateT],
    stamps_ns: NDArray[np.int64],
    time: TimeAxis,
) -> None:
    """Write the figures that a node publishes on its topic telemetry, one column each, without their age.

    Args:
        path: File to write, CSV; the columns after `TIME_COLUMNS` have the names of the figures.
        telemetry: Converts estimates to named figures.
        estimates: The estimates, in order.
        stamps_ns: Their stamps [ns], shape (n,).
        time: The time axis.
    """
    kept = [k for k, name in enumerate(telemetry.names) if name != AGE]
    names = (*TIME_COLUMNS, *(telemetry.names[k] for k in kept))
    numbers = np.array([telemetry.values(estimate, 0.0) for estimate in estimates])[:, kept]
    _write(path, names, stamps_ns, numbers, time)


def _write(
    path: Path, columns: Sequence[str], stamps_ns: NDArray[np.int64], numbers: Array, time: TimeAxis
) -> None:
    rows = zip(time.of(stamps_ns).tolist(), stamps_ns.tolist(), numbers.tolist(), strict=True)
    write_table(path, columns, (_texts(at, stamp, row) for at, stamp, row in rows))


def _texts(at: float, stamp_ns: int, row: Iterable[float]) -> list[Any]:
    return [f"{at:.6f}", stamp_ns, *("" if value != value else number_text(value) for value in row)]
