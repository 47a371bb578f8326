"""Which columns of a table are which field of which topic: FIELD=COLUMNS[unit], as in `convert --map`."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inertial_estimation.errors import ConfigurationError, did_you_mean, listing, one_line
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.recordings.text_table import TextTable
from inertial_estimation.spatial.vectors import DEGREES

TIME = "time"
TURN = 2.0 * math.pi
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
ANGLES = {"rad": 1.0, "deg": 1.0 / DEGREES, "rev": TURN}
RATES = {"rad/s": 1.0, "deg/s": 1.0 / DEGREES, "rpm": TURN / 60.0}
FORCES = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
TORQUES = {"Nm": 1.0, "mNm": 1e-3, "Nmm": 1e-3, "kNm": 1e3}
ACCELERATIONS = {"m/s^2": 1.0, "g": STANDARD_GRAVITY, "mg": 1e-3 * STANDARD_GRAVITY}
UNIT = re.compile(r"(.*)\[([^\[\]]*)\]", re.DOTALL)
RANGE = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")


@dataclass(frozen=True)
class FieldKind:
    """What a field of a topic is.

    Attributes:
        topic: Topic; NAME stands for what precedes the slash in the field.
        message_type: Type of its messages.
        size: Number of columns; 0: one for each joint.
        units: SI values of the units.
    """

    topic: str
    message_type: str
    size: int
    units: Mapping[str, float]


FIELDS: Mapping[str, FieldKind] = {
    TIME: FieldKind("", "", 0, TIMES),
    "position": FieldKind("/joint_states", JOINT_STATE_TYPE, 0, {**ANGLES, **LENGTHS}),
    "velocity": FieldKind("/joint_states", JOINT_STATE_TYPE, 0, {**RATES, "m/s": 1.0, "mm/s": 1e-3}),
    "effort": FieldKind("/joint_states", JOINT_STATE_TYPE, 0, {**TORQUES, **FORCES}),
    "specific_force": FieldKind("/imu/data", IMU_TYPE, 3, ACCELERATIONS),
    "angular_rate": FieldKind("/imu/data", IMU_TYPE, 3, RATES),
    "NAME/force": FieldKind("/NAME/wrench", WRENCH_TYPE, 3, FORCES),
    "NAME/torque": FieldKind("/NAME/wrench", WRENCH_TYPE, 3, TORQUES),
    "NAME/pose": FieldKind("/NAME/pose", POSE_TYPE, 7, LENGTHS),
    "NAME/orientation": FieldKind("/NAME/orientation", QUATERNION_TYPE, 4, {}),
}


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table, or zero.

    Attributes:
        table: Its table; None for a column of zeros.
        index: Its position in the table.
        factor: From the numbers of the file to SI units.
        stands_for: What the asterisk of a pattern stands for; the column's name where there was none.
    """

    table: TextTable | None
    index: int
    factor: float
    stands_for: str


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """The columns of one field.

    Attributes:
        field: Its name, a key of `FIELDS` with NAME filled in.
        kind: What it is.
        topic: Its topic.
        columns: Its columns in the order of the field's components.
    """

    field: str
    kind: FieldKind
    topic: str
    columns: tuple[Column, ...]


def parse_column_map(text: str, tables: Sequence[TextTable]) -> ColumnMap:
    """Read FIELD=COLUMNS and find the columns.

    COLUMNS are separated by commas: names, numbers from 1, ranges of numbers (2-13), one pattern with an
    asterisk (q_*), or 0 for a column of zeros. A unit or a factor in brackets holds for the columns before it
    that have none. With several files a column is FILE.COLUMN, FILE without its ending, wherever the name
    alone is not unique.

    Args:
        text: The map.
        tables: The tables, at least one.

    Raises:
        ConfigurationError: If there is no such field or unit, or the number of columns does not fit.
        RecordingError: If a column does not exist.
    """
    field, equals, rest = text.partition("=")
    if not equals:
        raise ConfigurationError(f"'{one_line(text)}' in --map has not the form FIELD=COLUMNS")
    kind, topic = _kind(field.strip())
    columns: list[Column] = []
    without_unit = 0
    for token in (part.strip() for part in rest.split(",")):
        found, unit = _found(token, tables, field)
        columns += found
        if unit is not None:
            factor = _factor(unit, kind, field)
            columns[without_unit:] = [replace(column, factor=factor) for column in columns[without_unit:]]
            without_unit = len(columns)
    if kind.size and len(columns) != kind.size:
        raise ConfigurationError(f"'{one_line(text)}' gives {len(columns)} columns, expected {kind.size}")
    return ColumnMap(field.strip(), kind, topic, tuple(columns))


def _kind(field: str) -> tuple[FieldKind, str]:
    name, slash, last = field.rpartition("/")
    kind = FIELDS.get(f"NAME/{last}" if slash and name.strip("/") else field)
    if kind is None or field.startswith("NAME/"):
        hint = did_you_mean(field, FIELDS, "there are")
        raise ConfigurationError(f"no field '{one_line(field)}' in --map{hint}")
    return kind, kind.topic.replace("NAME", name.strip("/"))


def _found(token: str, tables: Sequence[TextTable], field: str) -> tuple[list[Column], str | None]:
    """Return the columns of a part between commas, and its unit; a column's own name may have brackets."""
    columns = _columns(token, tables)
    if columns:
        return columns, None
    matched = UNIT.fullmatch(token)
    if matched:
        columns = _columns(matched[1].strip(), tables)
        if columns:
            return columns, matched[2].strip()
    name = matched[1].strip() if matched else token
    if len(tables) == 1:
        raise tables[0].no_column(name)
    known = [f"{table.label}.{column}" for table in tables for column in table.names]
    hint = did_you_mean(name, known, "there are")
    raise ConfigurationError(f"no column '{one_line(name)}' for '{one_line(field)}'{hint}")


def _columns(token: str, tables: Sequence[TextTable]) -> list[Column]:
    if token == "0" and not any("0" in table.names for table in tables):
        return [Column(None, 0, 1.0, token)]
    for table in tables:
        if token.startswith(f"{table.label}."):
            found = _in_table(token.removeprefix(f"{table.label}."), table)
            if found:
                return found
    hits = [found for table in tables if (found := _in_table(token, table))]
    if len(hits) > 1:
        files = [str(found[0].table.path) for found in hits if found[0].table]
        raise ConfigurationError(
            f"column '{one_line(token)}' is in {listing(files)}: write FILE.{one_line(token)}, FILE without "
            "its ending"
        )
    return hits[0] if hits else []


def _in_table(name: str, table: TextTable) -> list[Column]:
    """Return the columns of one table that a name, number, range of numbers or pattern means."""
    index = table.index(name)
    if index is not None:
        return [Column(table, index, 1.0, name)]
    if "*" in name:
        pattern = re.compile("(.+)".join(re.escape(part) for part in name.split("*", 1)))
        matches = [(i, pattern.fullmatch(column)) for i, column in enumerate(table.names)]
        return [Column(table, i, 1.0, match[1]) for i, match in matches if match]
    numbers = RANGE.fullmatch(name)
    if numbers is None:
        return []
    first, last = int(numbers[1]), int(numbers[2])
    if not 1 <= first <= last <= len(table.names):
        return []
    return [Column(table, i - 1, 1.0, str(i)) for i in range(first, last + 1)]


def _factor(unit: str, kind: FieldKind, field: str) -> float:
    if unit in kind.units:
        return kind.units[unit]
    try:
        factor = float(unit)
    except ValueError:
        factor = 0.0
    if not math.isfinite(factor) or factor == 0.0:
        raise ConfigurationError(
            f"no unit '{one_line(unit)}' of '{one_line(field)}'; there are {listing(kind.units)}, or a factor"
        )
    return factor
