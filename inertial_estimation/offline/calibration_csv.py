"""Postures for a calibration: a CSV table of joint positions and the measurements at them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inertial_estimation.errors import MeasurementError, RecordingError, listing
from inertial_estimation.files.text_file import csv_rows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

HELD_OUT_WORDS = frozenset({"validation", "valid", "test", "held_out", "held-out"})
FARTHEST_BEYOND_LIMITS = 0.5  # [rad] beyond a joint's limits
METADATA = frozenset({"t", "time", "stamp", "stamp_ns", "k", "index", "sample"})


@dataclass(frozen=True, eq=False)
class PostureTable:
    """Postures and measurements.

    Attributes:
        q: Joint positions in the model's order, shape (K, n_joints); joints not requested may be zero.
        held_out: Which rows take no part in the fit, shape (K,).
        columns: Other numeric columns by name, shape (K,) each.
        dropped: Rows left out, by reason.
    """

    q: Array
    held_out: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    columns: Mapping[str, Array] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    def stacked(self, names: Sequence[str], source: str) -> Array:
        """Return some columns side by side, shape (K, len(names)).

        Raises:
            RecordingError: If one is missing.
        """
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise RecordingError(
                f"'{source}' misses columns {listing(missing)}; besides joints it has {listing(self.columns)}"
            )
        return np.stack([self.columns[name] for name in names], axis=1)


def read_postures(
    path: Path, robot: RobotModel, joints: Collection[str], *, measured: Collection[str] = ()
) -> PostureTable:
    """Read a table of postures: a header line, one posture a row.

    Columns named after joints are positions [rad or m]. The column ``split`` marks the held-out rows
    (``validation``, ``test``). Columns of text, and ``t``, are ignored.

    Args:
        path: CSV file.
        robot: The model.
        joints: Joints that must be there.
        measured: Names of the columns of measurements that are used; they must be complete in a row.

    Returns:
        The table, rows with missing numbers left out and counted.

    Raises:
        RecordingError: If the file cannot be read, misses columns, has unknown ones or no complete row.
        MeasurementError: If positions are far beyond the joints' limits, as degrees are.
    """
    header, rows = _read(path)
    missing = [name for name in joints if name not in header]
    if missing:
        raise RecordingError(f"'{path}' misses the joints {listing(missing)}; it has {listing(header)}")
    numeric = [name for i, name in enumerate(header) if name != "split" and _numeric(rows, i)]
    extra = set(numeric) - set(robot.joint_names)
    unknown = [
        n for n in numeric if n in extra and n not in METADATA and n not in measured and not _is_measured(n)
    ]
    if unknown:
        raise RecordingError(
            f"'{path}' has columns {listing(unknown)}, which are no joints; the model has "
            f"{listing(robot.joint_names)}"
        )
    numbers = {name: np.array([_number(row[header.index(name)]) for row in rows]) for name in numeric}
    for name in (*joints, *(m for m in measured if m in header)):  # a column without any number is no number
        numbers.setdefault(name, np.full(len(rows), np.nan))
    used = [numbers[name] for name in (*joints, *measured) if name in numbers]
    complete = np.isfinite(np.stack(used, axis=1)).all(axis=1)
    if not complete.any():
        raise RecordingError(f"no row of '{path}' is complete: each has a missing number or NaN")
    words = [row[header.index("split")].strip().lower() if "split" in header else "" for row in rows]
    q = np.zeros((len(rows), robot.n_joints))
    for j, name in enumerate(robot.joint_names):
        if name in numbers:
            q[:, j] = np.nan_to_num(numbers[name])
    check_angles(q[complete], robot, joints)
    dropped = {"missing number or NaN": int((~complete).sum())} if not complete.all() else {}
    return PostureTable(
        q[complete],
        np.array([word in HELD_OUT_WORDS for word in words])[complete],
        {name: values[complete] for name, values in numbers.items() if name in extra},
        dropped,
    )


def check_angles(q: Array, robot: RobotModel, joints: Collection[str]) -> None:
    """Raise for positions far beyond the limits of their joints.

    Raises:
        MeasurementError: Names the joints and their limits.
    """
    lower, upper = robot.model.lowerPositionLimit, robot.model.upperPositionLimit
    said = []
    for name in joints:
        j = robot.joint_index(name)
        at = int(robot.model.idx_qs[robot.model.getJointId(name)])
        low, high = float(lower[at]), float(upper[at])
        if robot.model.nqs[robot.model.getJointId(name)] != 1 or not low < high:
            low, high = -2.0 * np.pi, 2.0 * np.pi
        beyond = (q[:, j] < low - FARTHEST_BEYOND_LIMITS) | (q[:, j] > high + FARTHEST_BEYOND_LIMITS)
        if beyond.mean() > 0.1:
            worst = float(q[np.abs(q[:, j]).argmax(), j])
            said.append(f"{name} (up to {worst:.4g}, limits {low:.3g} to {high:.3g})")
    if said:
        raise MeasurementError(
            f"positions are far beyond the limits, expected radians: {listing(said, limit=5)}"
        )


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    lines = [row for row in csv_rows(path, "postures") if row and not row[0].lstrip().startswith("#")]
    if len(lines) < 2:
        raise RecordingError(f"'{path}' has {len(lines)} lines, expected a header and postures")
    header = [name.strip() for name in lines[0]]
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(header):
            raise RecordingError(f"row {number} of '{path}' has {len(row)} values, expected {len(header)}")
    return header, lines[1:]


def _is_measured(name: str) -> bool:
    """Whether a column holds a measurement of a calibration: a marker position or an orientation."""
    last = name.rpartition("/")[2]
    return last in {"qx", "qy", "qz", "qw", "up_x", "up_y", "up_z"} or last.rstrip("0123456789") in {
        "x",
        "y",
        "z",
    }


def _numeric(rows: list[list[str]], column: int) -> bool:
    """Whether most of a column are numbers."""
    numbers = sum(np.isfinite(_number(row[column])) for row in rows)
    return bool(2 * numbers > len(rows))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
