"""The tables of a replay: named columns for its files, metrics, figures and the viewer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.files.outputs import write_table
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.payload.estimate import PayloadEstimate, payload_figures
from inertial_estimation.replay.metrics import yaws
from inertial_estimation.replay.reference import ReferenceErrors
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.signals import Array, BaseEstimate, InertialEstimate, LinkInertia, seconds
from inertial_estimation.telemetry import Figures, inertial_figures, tilt_figures

BASE_FILE, LINK_FILE, TRUNK_FILE = "base_orientation.csv", "link_inertias.csv", "trunk_inertia.csv"
STATE_FILE, ERRORS_FILE = "base_state.csv", "base_errors.csv"
TELEMETRY_FILES = {node: f"{node}.csv" for node in (TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE)}
METRICS_FILE = "metrics.json"
TABLES = (
    *(BASE_FILE, LINK_FILE, TRUNK_FILE, STATE_FILE, ERRORS_FILE, POSTERIOR_FILE),
    *TELEMETRY_FILES.values(),
)
COM, MOMENTS = ("com_x", "com_y", "com_z"), ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
LINK_PARAMETERS = ("mass", *COM, *MOMENTS)
SIGMAS = ("mass_sigma", "com_sigma_x", "com_sigma_y", "com_sigma_z", *(f"{name}_sigma" for name in MOMENTS))

Table = dict[str, Any]
"""Columns by name, all of one length: numbers, integers, flags or texts."""


class TimeAxis(NamedTuple):
    """Seconds since the start of the recording, by the clock of the stamps: one axis for all tables."""

    origin_ns: int  # stamp of the start of the recording [ns]
    begin_ns: int  # stamp from which on it was replayed [ns]
    end_ns: int  # stamp of the end of the recording [ns]
    # stamp from which on the inertial filter no longer learned [ns]; None: it always did
    hold_out_ns: int | None = None

    def of(self, stamps_ns: NDArray[np.int64]) -> Array:
        """Return the times of stamps [s], shape as given."""
        return seconds(stamps_ns - self.origin_ns)

    def at(self, stamp_ns: int) -> float:
        """Return the time of one stamp [s]."""
        return seconds(stamp_ns - self.origin_ns)

    def as_json(self) -> dict[str, Any]:
        """Return the axis for `metrics.json`."""
        held = None if self.hold_out_ns is None else self.at(self.hold_out_ns)
        times = {"begin_s": self.at(self.begin_ns), "end_s": self.at(self.end_ns), "hold_out_s": held}
        return {"origin_stamp_ns": self.origin_ns, **times}


def estimate_tables(
    run: ReplayRun, links: Mapping[str, Table], pipelines: Pipelines, time: TimeAxis
) -> dict[str, Table]:
    """Return the tables of the estimates by the names of their files; `links` are the tables of the links.

    `base_orientation.csv`, `link_inertias.csv` (published, about the centre of mass, link axes; a row per
    link and stamp) and `trunk_inertia.csv` (as published and as identified) contain what the nodes publish.
    `base_state.csv` contains pose (roll, pitch and yaw [rad]), twist in the base frame and covariance of
    small rotations of the base in its frame [rad^2]; the file of each node its telemetry, without the age.
    """
    tables: dict[str, Table] = {}
    if run.base and pipelines.tilt is not None:
        tables[BASE_FILE], state = _base_orientation(run.base), _base_state(run.base)
        tables[STATE_FILE] = _timed(time, stamps_of(run.base)) | state
        tables[TELEMETRY_FILES[TILT_NODE]] = _telemetry(tilt_figures(pipelines.tilt.contacts), run.base, time)
    if run.inertial and pipelines.inertial is not None:
        model, noise = pipelines.inertial.model, pipelines.inertial.noise_parameters
        tables[LINK_FILE] = _published(run.inertial, links)
        figures = inertial_figures(links, model.friction_names, noise, model.error_names)
        tables[TELEMETRY_FILES[INERTIAL_NODE]] = _telemetry(figures, run.inertial, time)
    if run.payload and pipelines.payload is not None:
        tables[TRUNK_FILE] = trunk_table(run.payload)
        of_trunk = payload_figures(pipelines.payload.trunk)
        tables[TELEMETRY_FILES[PAYLOAD_NODE]] = _telemetry(of_trunk, run.payload, time)
    return tables


def write_result_table(path: Path, table: Table) -> None:
    """Write a table as CSV: times to microseconds, numbers to nine digits.

    A value that is not known is an empty field in tables with a column of times, else ``nan``.
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


def stamps_of(estimates: Sequence[Any]) -> NDArray[np.int64]:
    """Return the stamps of estimates [ns], shape (n,)."""
    return np.array([estimate.stamp_ns for estimate in estimates], dtype=np.int64)


def xyz(name: str) -> list[str]:
    """Return the names of the three columns of a vector."""
    return [f"{name}_{axis}" for axis in "xyz"]


def vectors(table: Mapping[str, Any], names: Sequence[str]) -> Array:
    """Return columns of numbers side by side, shape (n, k)."""
    return np.column_stack([table[name] for name in names])


def _named(names: Sequence[str], *columns: Any) -> Table:
    """Return columns, or columns of matrices, by their names."""
    return dict(zip(names, np.column_stack(columns).T, strict=True))


def _timed(time: TimeAxis, stamps_ns: NDArray[np.int64]) -> Table:
    return {"time_s": time.of(stamps_ns), "stamp_ns": stamps_ns}


def _telemetry(figures: Figures[Any], estimates: Sequence[Any], time: TimeAxis) -> Table:
    """Return the figures that a node publishes on its topic `telemetry`, without their age."""
    rows = np.array([figures.values(estimate) for estimate in estimates])
    return _timed(time, stamps_of(estimates)) | _named(figures.names, rows)


def _base_orientation(estimates: Sequence[BaseEstimate]) -> Table:
    """Return orientation, vertical, bias, and the contacts in use separated by spaces."""
    return {
        "stamp_ns": stamps_of(estimates),
        **_named(("qx", "qy", "qz", "qw"), [e.state.quaternion_xyzw for e in estimates]),
        **_named(xyz("tilt"), [e.tilt_B for e in estimates]),
        **_named(xyz("gyro_bias"), [e.gyro_bias_I for e in estimates]),
        "contacts": [" ".join(e.contacts) for e in estimates],
    }


def _base_state(estimates: Sequence[BaseEstimate]) -> Table:
    quaternions = np.array([e.state.quaternion_xyzw for e in estimates])
    angles = Rotation.from_quat(quaternions).as_euler("ZYX")[:, ::-1]
    angles[:, 2] = yaws(quaternions)
    covariances = np.array([e.tilt_covariance_B for e in estimates])
    return {
        **_named("xyz", [e.state.p_WB for e in estimates]),
        **_named(("roll", "pitch", "yaw"), angles),
        **_named(("vx", "vy", "vz"), [e.state.v_WB_B for e in estimates]),
        **_named(("wx", "wy", "wz"), [e.state.w_WB_B for e in estimates]),
        **_named([name.replace("i", "cov_") for name in MOMENTS], upper_entries(covariances)),
    }


def _published(estimates: Sequence[InertialEstimate], links: Mapping[str, Table]) -> Table:
    """Return the published inertias, the links of one stamp one after the other."""
    count = len(links)
    interleaved = np.stack([vectors(link, LINK_PARAMETERS) for link in links.values()], axis=1)
    return {
        "stamp_ns": np.repeat(stamps_of(estimates), count),
        "link": list(links) * len(estimates),
        **_named(LINK_PARAMETERS, interleaved.reshape(-1, len(LINK_PARAMETERS))),
        "nis": np.repeat([e.nis for e in estimates], count),
        "accepted": np.repeat([e.accepted for e in estimates], count),
    }


def link_tables(estimates: Sequence[InertialEstimate]) -> dict[str, Table]:
    """Return the estimates of each link, as published and as identified, with standard deviations."""
    tables: dict[str, Table] = {}
    for place, link in enumerate(estimates[0].links if estimates else ()):
        entries = [estimate.links[place] for estimate in estimates]
        variances = np.array([entry.covariance.diagonal() for entry in entries])
        tables[link.estimate.link] = {
            "stamp_ns": stamps_of(estimates),
            **_inertias("", [entry.published for entry in entries]),
            **_inertias("identified_", [entry.estimate for entry in entries]),
            **_named(SIGMAS, np.sqrt(np.maximum(variances, 0.0))),
            "payload_mass": np.array([entry.payload.mass for entry in entries]),
        }
    return tables


def trunk_table(estimates: Sequence[PayloadEstimate]) -> Table:
    """Return the trunk, as published and as identified; sigmas are infinite until it is measured."""
    masses, coms_L = [e.estimate.mass for e in estimates], [e.estimate.com_L for e in estimates]
    return {
        "stamp_ns": stamps_of(estimates),
        "link": [e.trunk.link for e in estimates],
        **_inertias("", [e.trunk for e in estimates]),
        **_named(("identified_mass", *xyz("identified_com")), masses, coms_L),
        **_named(SIGMAS[:4], [e.mass_sigma for e in estimates], [e.com_sigma_B for e in estimates]),
        "residual": np.array([e.residual for e in estimates]),
        "phase": [e.phase.value for e in estimates],
        "at_rest": np.array([e.at_rest for e in estimates]),
        "hold": np.array([e.hold for e in estimates]),
    }


def _inertias(prefix: str, inertias: Sequence[LinkInertia]) -> Table:
    masses, coms = [body.mass for body in inertias], [body.com_L for body in inertias]
    moments = upper_entries(np.array([body.inertia_Lcm for body in inertias]))
    return _named([f"{prefix}{name}" for name in LINK_PARAMETERS], masses, coms, moments)


def upper_entries(matrices: Array) -> Array:
    """Return the entries xx, xy, xz, yy, yz, zz of symmetric matrices, shape (n, 6)."""
    return matrices[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]


def errors_table(errors: Mapping[str, ReferenceErrors], time: TimeAxis) -> Table:
    """Return tilt, yaw and position errors at the stamps of a reference, in degrees and metres."""
    tilt = errors["tilt"]
    unknown = np.full((len(tilt.errors), 3), np.nan)
    yaw = np.degrees(errors["yaw"].errors[:, 0]) if "yaw" in errors else unknown[:, 0]
    return {
        **_timed(time, tilt.stamps_ns),
        "trusted": tilt.trusted,
        "tilt_error_deg": np.degrees(tilt.errors),
        "yaw_error_deg": yaw,
        **_named(xyz("error"), errors["position"].errors if "position" in errors else unknown),
    }
