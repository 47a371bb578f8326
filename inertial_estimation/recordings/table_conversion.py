"""Tables of numbers converted to a recording: columns to fields of topics, units, stamps, names of joints."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, RecordingError, did_you_mean, listing, one_line
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
from inertial_estimation.recordings.text_table import TextTable
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    ImuSample,
    JointReading,
    OrientationSample,
    PoseSample,
    WrenchSample,
    seconds,
)
from inertial_estimation.spatial.vectors import DEGREES

Stamps = NDArray[np.int64]
EARLIEST_NS = NANOSECONDS  # a stamp of zero means in ROS that there is none
LARGEST_ANGLE = 20.0  # [rad] that a joint hardly reaches; degrees do
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


NEEDED = {  # fields without which there is no message of a type
    JOINT_STATE_TYPE: ("position",),
    IMU_TYPE: ("specific_force", "angular_rate"),
    WRENCH_TYPE: ("force",),
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


@dataclass(frozen=True, eq=False)
class Conversion:
    """A recording made from tables.

    Attributes:
        recording: The recording.
        remarks: What was left out or is doubtful, a sentence each.
    """

    recording: MemoryRecording
    remarks: tuple[str, ...]


def convert_tables(
    tables: Sequence[TextTable], maps: Sequence[str], *, joints: Sequence[str] = (), rate: float = 0.0
) -> Conversion:
    """Convert tables.

    Args:
        tables: The tables; a topic with columns of several has a message for each time that all of them have.
        maps: FIELD=COLUMNS each, as `parse_column_map` reads them.
        joints: Names of the joints in the order of the columns; empty: the columns name them.
        rate: Rate of the rows where there is no time [Hz].

    Raises:
        ConfigurationError: If the maps do not fit each other.
        RecordingError: If a column does not exist, or a cell is no number.
    """
    times = [text for text in maps if text.partition("=")[0].strip() == TIME]
    parsed = [parse_column_map(text, tables) for text in maps if text not in times]
    if len(times) + bool(rate) != 1:
        raise ConfigurationError(
            f"{len(times)} maps of 'time'{' and a rate' if rate else ''}, expected one of them: "
            "--map time=COLUMN[s], or --rate HZ"
        )
    by_topic: dict[str, dict[str, ColumnMap]] = {}
    for one in parsed:
        last = one.field.rpartition("/")[2]
        if last in by_topic.setdefault(one.topic, {}):
            raise ConfigurationError(f"field '{one.field}' is mapped more than once")
        by_topic[one.topic][last] = one
    if not by_topic:
        raise ConfigurationError("--map gives no field but the time")
    remarks = [f"the last line of '{one_line(t.path)}' is cut short" for t in tables if t.cut_short]
    stamps = {table: _stamps(table, times, rate, remarks) for table in tables}
    _begin_late_enough(stamps, remarks)
    entries: list[RecordingEntry] = []
    for topic, fields in by_topic.items():
        entries += _entries(topic, fields, stamps, joints, remarks)
    if not entries:
        raise RecordingError("no row has a number in the mapped columns")
    entries.sort(key=lambda entry: entry.log_ns)
    topics = {topic: next(iter(fields.values())).kind.message_type for topic, fields in by_topic.items()}
    return Conversion(MemoryRecording(tuple(entries), topics, "converted tables"), tuple(remarks))


def _stamps(table: TextTable, times: Sequence[str], rate: float, remarks: list[str]) -> Stamps:
    """Return the stamp of each row [ns], shape (k,)."""
    if times:
        columns = parse_column_map(times[0], [table]).columns
        rows = range(len(table.rows))
        stamps = np.array([_stamp(table, row, columns) for row in rows], dtype=np.int64)
    else:
        stamps = np.round(np.arange(len(table.rows)) * (NANOSECONDS / rate)).astype(np.int64)
    steps = np.diff(stamps)
    for count, said in ((int((steps < 0).sum()), "go back"), (int((steps == 0).sum()), "repeat")):
        if count:
            remarks.append(f"times of '{one_line(table.path)}' {said} {count} times")
    return stamps


def _begin_late_enough(stamps: dict[TextTable, Stamps], remarks: list[str]) -> None:
    """Move the times of all tables alike where they begin before what ROS takes for a stamp."""
    first = min(int(one.min()) for one in stamps.values())
    if first < EARLIEST_NS:
        for table, one in stamps.items():
            stamps[table] = one + (EARLIEST_NS - first)
        remarks.append(
            f"{seconds(EARLIEST_NS - first):.3f} s are added to all times, which begin at "
            f"{seconds(first):.3f} s: a stamp of zero means in ROS that there is none"
        )


def _stamp(table: TextTable, row: int, columns: Sequence[Column]) -> int:
    """Return the sum of the columns of a row in nanoseconds, exactly (seconds since 1970 need 19 digits)."""
    total = Decimal(0)
    for column in columns:
        try:
            value = Decimal(table.rows[row][column.index])
        except InvalidOperation as error:
            raise table.no_number(row, column.index) from error
        total += value * Decimal(repr(column.factor))
    stamp = total * NANOSECONDS
    if not stamp.is_finite() or not abs(stamp) < 2**62:
        raise table.no_number(row, columns[0].index)
    return int(stamp.to_integral_value())


def _entries(
    topic: str,
    fields: Mapping[str, ColumnMap],
    stamps: Mapping[TextTable, Stamps],
    joints: Sequence[str],
    remarks: list[str],
) -> list[RecordingEntry]:
    message_type = next(iter(fields.values())).kind.message_type
    missing = [f"'{name}'" for name in NEEDED.get(message_type, ()) if name not in fields]
    if missing:
        raise ConfigurationError(f"'{topic}' has {listing(fields)}, expected {listing(missing)}, too")
    if message_type == JOINT_STATE_TYPE:
        fields, names = _in_joint_order(fields, joints)
    else:
        names = ()
    times, rows = _common_rows(topic, fields, stamps, remarks)
    values = {name: _values(one, rows) for name, one in fields.items()}
    filled = ~np.all([np.isnan(array).all(axis=1) for array in values.values()], axis=0)
    if not filled.all():
        remarks.append(f"{topic}: {int((~filled).sum())} rows without a number are left out")
    angles = values.get("position")
    if angles is not None and np.nanmax(np.abs(angles), initial=0.0) > LARGEST_ANGLE:
        remarks.append(f"{topic}: positions of up to {np.nanmax(np.abs(angles)):.0f} rad; are they degrees?")
    entries = []
    for i in np.flatnonzero(filled):
        stamp_ns = int(times[i])
        row = {name: array[i] for name, array in values.items()}
        entries.append(RecordingEntry(topic, stamp_ns, _sample(message_type, stamp_ns, names, row)))
    return entries


def _common_rows(
    topic: str, fields: Mapping[str, ColumnMap], stamps: Mapping[TextTable, Stamps], remarks: list[str]
) -> tuple[Stamps, Mapping[TextTable, Stamps]]:
    """Return the times that all tables of a topic have, and the rows of each table at these times."""
    columns = [column for one in fields.values() for column in one.columns]
    tables = list(dict.fromkeys(c.table for c in columns if c.table is not None))
    if not tables:
        raise ConfigurationError(f"'{topic}' has only columns of zeros")
    first = stamps[tables[0]]
    if len(tables) == 1:
        return first, {tables[0]: np.arange(len(first))}
    common = first
    for table in tables[1:]:
        common = np.intersect1d(common, stamps[table])
    if not len(common):
        files = [one_line(table.path) for table in tables]
        raise RecordingError(f"'{topic}': the files {listing(files)} have no time in common")
    rows = {}
    for table in tables:
        own, index = np.unique(stamps[table], return_index=True)
        rows[table] = index[np.searchsorted(own, common)]
        alone = len(stamps[table]) - len(common)
        if alone:
            remarks.append(
                f"{topic}: {alone} rows of '{one_line(table.path)}' have no row of the same time in the "
                "other files"
            )
    return common, rows


def _values(one: ColumnMap, rows: Mapping[TextTable, Stamps]) -> Array:
    """Return the numbers of a field in SI units, shape (k, n)."""
    length = len(next(iter(rows.values())))
    columns = []
    for column in one.columns:
        if column.table is None:
            columns.append(np.zeros(length))
        else:
            numbers = np.fromiter(column.table.numbers(column.index), dtype=np.float64)
            if np.isnan(numbers).all():
                name = f"'{column.table.names[column.index]}' of '{one_line(column.table.path)}'"
                raise RecordingError(f"column {name}, mapped to '{one.field}', holds no number")
            columns.append(column.factor * numbers[rows[column.table]])
    return np.column_stack(columns)


def _in_joint_order(
    fields: Mapping[str, ColumnMap], joints: Sequence[str]
) -> tuple[dict[str, ColumnMap], tuple[str, ...]]:
    """Return the fields of joint states with their columns in one order, and the names of the joints."""
    own = tuple(column.stands_for for column in fields["position"].columns)
    if not joints and any(name.isdigit() for name in own):
        raise ConfigurationError(f"columns {listing(own, limit=12)} name no joints; give --joints")
    names = tuple(joints or own)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"joints {listing(twice)} are named more than once")
    ordered = {}
    for field, one in fields.items():
        if len(one.columns) != len(names):
            raise ConfigurationError(
                f"'{field}' has {len(one.columns)} columns, expected one for each of the {len(names)} joints "
                f"{listing(names, limit=12)}"
            )
        by_name = {column.stands_for: column for column in one.columns}
        named = set(by_name) == set(names)
        columns = tuple(by_name[name] for name in names) if named else one.columns
        ordered[field] = replace(one, columns=columns)
    return ordered, names


def _sample(kind: str, stamp_ns: int, names: tuple[str, ...], values: Mapping[str, Array]) -> Sample:
    """Return a row as the value of a message type."""
    if kind == JOINT_STATE_TYPE:
        sent = {n: array for n, array in values.items() if n == "position" or not np.isnan(array).all()}
        return JointReading(stamp_ns, names, **sent)
    if kind == IMU_TYPE:
        return ImuSample(stamp_ns, values["specific_force"], values["angular_rate"])
    if kind == WRENCH_TYPE:
        return WrenchSample(stamp_ns, np.concatenate((values["force"], values.get("torque", np.zeros(3)))))
    if kind == POSE_TYPE:
        return PoseSample(stamp_ns, values["pose"][3:], values["pose"][:3])
    return OrientationSample(stamp_ns, values["orientation"])


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
