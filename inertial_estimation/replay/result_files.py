"""Results of a replay as files: their names, and the tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.errors import RecordingError
from inertial_estimation.files.outputs import write_table
from inertial_estimation.files.text_file import LARGEST_TABLE, read_text
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.payload.estimate import PayloadTelemetry
from inertial_estimation.replay.base_errors import BaseErrors, yaws
from inertial_estimation.replay.estimate_series import InertialSeries, PayloadSeries, TiltSeries
from inertial_estimation.replay.metrics import TiltErrors
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array
from inertial_estimation.telemetry import AGE, InertialTelemetry, TiltTelemetry

if TYPE_CHECKING:
    from inertial_estimation.configuration.pipelines import Pipelines
    from inertial_estimation.replay.replay import ReplayRun
    from inertial_estimation.replay.replay_metrics import ReplayResults

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
TABLES = (
    *(BASE_FILE, LINK_FILE, TRUNK_FILE, STATE_FILE, ERRORS_FILE, POSTERIOR_FILE),
    *TELEMETRY_FILES.values(),
)
CENTRE, MOMENTS = ("com_x", "com_y", "com_z"), ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

Table = dict[str, Any]
"""Columns by name, all of one length: numbers, integers, flags or texts."""


def result_tables(run: "ReplayRun", results: "ReplayResults", pipelines: "Pipelines") -> dict[str, Table]:
    """Return the tables of a replay by the names of their files.

    `base_orientation.csv`, `link_inertias.csv` (published, about the centre of mass, link axes; a row per
    link and stamp) and `trunk_inertia.csv` (as published and as identified) hold what the nodes publish;
    `base_state.csv` pose (roll, pitch and yaw [rad]), twist in the base frame and covariance of small
    rotations of the base in its frame [rad^2]; `base_errors.csv` errors against a reference, at its stamps,
    in degrees and metres; the files of the nodes the figures of their topics telemetry, without their age.
    """
    tables: dict[str, Table] = {}
    time, tilt, inertial, payload = results.time, results.tilt, results.inertial, results.payload
    if len(tilt.stamps_ns) and pipelines.tilt is not None:
        tables[BASE_FILE] = base_orientation_table(tilt)
        tables[STATE_FILE] = _timed(time, tilt.stamps_ns) | _base_state(tilt)
        figures = _figures(TiltTelemetry(pipelines.tilt.contacts), run.base)
        tables[TELEMETRY_FILES[TILT_NODE]] = _timed(time, tilt.stamps_ns) | figures
    if results.tilt_errors is not None:
        errors = _timed(time, results.tilt_errors.stamps_ns) | _errors(
            results.tilt_errors, results.base_errors
        )
        tables[ERRORS_FILE] = errors
    if len(inertial.stamps_ns) and pipelines.inertial is not None:
        tables[LINK_FILE] = link_inertias_table(inertial)
        model, noise = pipelines.inertial.model, pipelines.inertial.noise_parameters
        links = [link.link for link in inertial.links]
        telemetry = InertialTelemetry(links, model.friction_names, noise, model.error_names)
        figures = _figures(telemetry, run.inertial)
        tables[TELEMETRY_FILES[INERTIAL_NODE]] = _timed(time, inertial.stamps_ns) | figures
    if payload is not None and pipelines.payload is not None:
        tables[TRUNK_FILE] = _trunk(payload)
        figures = _figures(PayloadTelemetry(pipelines.payload.trunk), run.payload)
        tables[TELEMETRY_FILES[PAYLOAD_NODE]] = _timed(time, payload.stamps_ns) | figures
    return tables


def write_result_table(path: Path, table: Table) -> None:
    """Write a table as CSV: times to microseconds, numbers to nine digits.

    Beside a time, an empty field stands for what is not known.
    """
    nothing = "" if "time_s" in table else "nan"
    columns = [
        _texts(column, nothing, ".6f" if name == "time_s" else ".9g") for name, column in table.items()
    ]
    write_table(path, list(table), zip(*columns, strict=True))


def _texts(column: Any, nothing: str, form: str) -> Sequence[Any]:
    values = np.asarray(column)
    if values.dtype == np.float64:
        return [nothing if value != value else format(value, form) for value in values.tolist()]
    texts: list[Any] = (values.astype(np.int64) if values.dtype == np.bool_ else values).tolist()
    return texts


def _timed(time: TimeAxis, stamps_ns: NDArray[np.int64]) -> Table:
    return {"time_s": time.of(stamps_ns), "stamp_ns": stamps_ns}


def _named(names: Sequence[str], *columns: Array) -> Table:
    """Return columns by their names."""
    return dict(zip(names, np.column_stack(columns).T, strict=True))


def base_orientation_table(series: TiltSeries) -> Table:
    """Return the base estimates; contacts in use are separated by spaces."""
    names = (*("qx", "qy", "qz", "qw"), *_xyz("tilt"), *_xyz("gyro_bias"))
    numbers = _named(names, series.quaternions_xyzw, series.tilts_B, series.gyro_biases_I)
    contacts = [" ".join(contacts) for contacts in series.contacts]
    return {"stamp_ns": series.stamps_ns, **numbers, "contacts": contacts}


def link_inertias_table(series: InertialSeries) -> Table:
    """Return the published inertias, the links of one stamp one after the other."""
    n, links = len(series.stamps_ns), series.links
    inertias = [_inertia(x.published_masses, x.published_coms_L, x.published_inertias_Lcm) for x in links]
    return {
        "stamp_ns": np.repeat(series.stamps_ns, len(links)),
        "link": [link.link for link in links] * n,
        **{name: np.column_stack([one[name] for one in inertias]).ravel() for name in inertias[0]},
        "nis": np.repeat(series.nis, len(links)),
        "accepted": np.repeat(series.accepted, len(links)),
    }


def _inertia(masses: Array, coms_L: Array, inertias_Lcm: Array) -> Table:
    return _named(("mass", *CENTRE, *MOMENTS), masses, coms_L, upper_entries(inertias_Lcm))


def _trunk(series: PayloadSeries) -> Table:
    return {
        "stamp_ns": series.stamps_ns,
        "link": [series.link] * len(series.stamps_ns),
        **_inertia(series.published_masses, series.published_coms_L, series.published_inertias_Lcm),
        **_named(("identified_mass", *_xyz("identified_com")), series.masses, series.coms_L),
        **_named(("mass_sigma", *_xyz("com_sigma")), series.mass_sigmas, series.com_sigmas),
        "residual": series.residuals,
        "phase": series.phases,
        "at_rest": series.at_rest,
        "hold": series.holds,
    }


def _base_state(series: TiltSeries) -> Table:
    angles = Rotation.from_quat(series.quaternions_xyzw).as_euler("ZYX")[:, ::-1]
    angles[:, 2] = yaws(series.quaternions_xyzw)
    names = (*"xyz", "roll", "pitch", "yaw", "vx", "vy", "vz", "wx", "wy", "wz")
    motion = _named(names, series.positions_W, angles, series.velocities_B, series.angular_rates_B)
    return motion | _named(
        [name.replace("i", "cov_") for name in MOMENTS], upper_entries(series.covariances_B)
    )


def _errors(tilt: TiltErrors, base: BaseErrors | None) -> Table:
    yaw, position = np.full(len(tilt.errors), np.nan), np.full((len(tilt.errors), 3), np.nan)
    if base is not None:
        yaw = np.degrees(base.yaw_errors)
        position = position if base.position_errors_W is None else base.position_errors_W
    angles = {"tilt_error_deg": np.degrees(tilt.errors), "yaw_error_deg": yaw}
    return {"trusted": tilt.trusted, **angles, **_named(_xyz("error"), position)}


def _figures(telemetry: Any, estimates: Sequence[Any]) -> Table:
    """Return the figures that a node publishes on its topic telemetry, without their age."""
    table = _named(telemetry.names, np.array([telemetry.values(estimate, 0.0) for estimate in estimates]))
    return {name: column for name, column in table.items() if name != AGE}


def _xyz(name: str) -> list[str]:
    return [f"{name}_{axis}" for axis in "xyz"]


def upper_entries(matrices: Array) -> Array:
    """Return the entries xx, xy, xz, yy, yz, zz of symmetric matrices, shape (n, 6)."""
    entries: Array = matrices[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return entries


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
