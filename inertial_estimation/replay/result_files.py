"""Results of a replay as files: tables and the metrics."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.errors import RecordingError
from inertial_estimation.files.outputs import write_table
from inertial_estimation.files.text_file import LARGEST_TABLE, read_text
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.replay.base_errors import BaseErrors, yaws
from inertial_estimation.replay.estimate_series import InertialSeries, TiltSeries
from inertial_estimation.replay.metrics import TiltErrors
from inertial_estimation.replay.payload_series import PayloadSeries
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array
from inertial_estimation.telemetry import AGE, Telemetry

BASE_FILE, LINK_FILE, TRUNK_FILE = "base_orientation.csv", "link_inertias.csv", "trunk_inertia.csv"
STATE_FILE, ERRORS_FILE = "base_state.csv", "base_errors.csv"
TELEMETRY_FILES = {node: f"{node}.csv" for node in (TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE)}
BASE_ERRORS = (  # name in metrics.json, quantity, unit
    ("tilt_error_deg", "tilt", "deg"),
    ("yaw_error_deg", "yaw", "deg"),
    ("position_error_m", "position", "m"),
    ("velocity_error_m_s", "velocity", "m/s"),
)
METRICS_FILE, REPORT_FILE = "metrics.json", "report.html"
ESTIMATES_BAG = "estimates"
TILT_FIGURE, BIAS_FIGURE, TRUNK_FIGURE = "tilt.png", "gyro_bias.png", "trunk.png"
MASS_FIGURE, NIS_FIGURE = "masses.png", "nis.png"
TABLES = (
    *(BASE_FILE, LINK_FILE, TRUNK_FILE, STATE_FILE, ERRORS_FILE, POSTERIOR_FILE),
    *TELEMETRY_FILES.values(),
)
BASE_STATE_FIGURE, COM_FIGURE, INERTIA_FIGURE = "base_state.png", "coms.png", "inertias.png"
TORQUE_FIGURES = ("torques_1.png", "torques_2.png", "torques_3.png")
FIGURES = (
    *(TILT_FIGURE, BASE_STATE_FIGURE, BIAS_FIGURE),
    *(MASS_FIGURE, COM_FIGURE, INERTIA_FIGURE, NIS_FIGURE, *TORQUE_FIGURES, TRUNK_FIGURE),
)
BASE_COLUMNS = (
    *("stamp_ns", "qx", "qy", "qz", "qw", "tilt_x", "tilt_y", "tilt_z"),
    *("gyro_bias_x", "gyro_bias_y", "gyro_bias_z", "contacts"),
)
LINK_COLUMNS = (
    *("stamp_ns", "link", "mass", "com_x", "com_y", "com_z"),
    *("ixx", "ixy", "ixz", "iyy", "iyz", "izz", "nis", "accepted"),
)
TRUNK_COLUMNS = (
    *("stamp_ns", "link", "mass", "com_x", "com_y", "com_z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    *("identified_mass", "identified_com_x", "identified_com_y", "identified_com_z"),
    *("mass_sigma", "com_sigma_x", "com_sigma_y", "com_sigma_z", "residual", "phase", "at_rest", "hold"),
)
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


def write_base_orientation(path: Path, series: TiltSeries) -> None:
    """Write the base estimates, one row each; contacts in use are separated by spaces.

    Args:
        path: File to write, CSV with the columns `BASE_COLUMNS`.
        series: Base estimates.
    """
    numbers = np.hstack([series.quaternions_xyzw, series.tilts_B, series.gyro_biases_I]).tolist()
    rows = zip(series.stamps_ns.tolist(), numbers, series.contacts, strict=True)
    write_table(path, BASE_COLUMNS, ([t, *map(number_text, row), " ".join(c)] for t, row, c in rows))


def write_link_inertias(path: Path, series: InertialSeries) -> None:
    """Write the published inertias (about the centre of mass, link axes), one row per link and stamp.

    Args:
        path: File to write, CSV with the columns `LINK_COLUMNS`.
        series: Inertial estimates.
    """
    write_table(path, LINK_COLUMNS, _link_rows(series))


def write_trunk_inertia(path: Path, series: PayloadSeries) -> None:
    """Write the trunk as published (about the centre of mass, link axes) and as identified, a row per stamp.

    Args:
        path: File to write, CSV with the columns `TRUNK_COLUMNS`.
        series: Estimates of the trunk.
    """
    h = series
    published = (h.published_masses, h.published_coms_L, upper_entries(h.published_inertias_Lcm))
    identified = (h.masses, h.coms_L, h.mass_sigmas, h.com_sigmas, h.residuals)
    numbers = np.column_stack([*published, *identified]).tolist()
    rest = zip(h.phases, h.at_rest.tolist(), h.holds.tolist(), strict=True)
    rows = zip(h.stamps_ns.tolist(), numbers, rest, strict=True)
    write_table(
        path,
        TRUNK_COLUMNS,
        ([t, h.link, *map(number_text, row), p, int(r), int(s)] for t, row, (p, r, s) in rows),
    )


def read_trusted(path: Path) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Read the flags of the trusted reference samples: one 0 or 1 per line, comments after ``#``.

    Raises:
        RecordingError: If the file is missing or holds anything else; names the line.
    """
    text = read_text(path, "trusted flags", limit=LARGEST_TABLE, error_class=RecordingError)
    lines = text.splitlines()
    flags: list[bool] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if text in ("0", "1"):
            flags.append(text == "1")
        elif text:
            raise RecordingError(f"line {number} of '{path}' is '{text}', expected 0 or 1")
    if not flags:
        raise RecordingError(f"'{path}' has no flags, expected one 0 or 1 per reference sample")
    return np.array(flags, dtype=bool)


def _link_rows(series: InertialSeries) -> Iterable[list[Any]]:
    tables = [
        np.column_stack(
            [link.published_masses, link.published_coms_L, upper_entries(link.published_inertias_Lcm)]
        )
        for link in series.links
    ]
    values = [table.tolist() for table in tables]
    nis, accepted = series.nis.tolist(), series.accepted.tolist()
    for k, stamp_ns in enumerate(series.stamps_ns.tolist()):
        for link, table in zip(series.links, values, strict=True):
            yield [stamp_ns, link.link, *map(number_text, table[k]), number_text(nis[k]), int(accepted[k])]


def upper_entries(matrices: Array) -> Array:
    """Return the entries xx, xy, xz, yy, yz, zz of symmetric matrices, shape (n, 6)."""
    entries: Array = matrices[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return entries


def number_text(value: float) -> str:
    """Return a number as all tables have it."""
    return f"{value:.9g}"


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
