"""Tables of numbers converted to a recording: columns to fields of topics, units, stamps, names of joints."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, RecordingError, did_you_mean, listing, one_line
from inertial_estimation.files.text_file import LARGEST_TABLE, read_text
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
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
LARGEST_CONVERTED = 16 * LARGEST_TABLE  # logs of a robot are larger than tables of results [bytes]
SEPARATORS = (",", ";", "\t")
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


class FieldKind(NamedTuple):
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
class TextTable:
    """A table as its file holds it.

    Attributes:
        path: The file.
        names: Name of each column: those of the header, else numbers from 1.
        rows: Cells of each row, stripped.
        lines: Line of the file on which each row is.
        cut_short: Whether the last line had fewer cells and was left out.
    """

    path: Path
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    cut_short: bool = False

    def numbers(self, column: int) -> Array:
        """Return the numbers of a column, NaN for an empty cell, shape (k,).

        Raises:
            RecordingError: If a cell is no number; names file and line.
        """
        numbers = np.empty(len(self.rows))
        for row, cells in enumerate(self.rows):
            try:
                numbers[row] = float(cells[column]) if cells[column] else math.nan
            except ValueError as error:
                raise self.no_number(row, column) from error
        return numbers

    def no_number(self, row: int, column: int) -> RecordingError:
        """Return the error that a cell is no number."""
        return RecordingError(
            f"line {self.lines[row]} of '{one_line(self.path)}' has '{one_line(self.rows[row][column])}' in "
            f"column '{self.names[column]}', expected a number"
        )


class Column(NamedTuple):
    """A column of a table, or of zeros.

    Attributes:
        table: Its table; None for zeros.
        place: Its position in the table.
        name: Its name, or what the asterisk of a pattern stands for in it.
        factor: From the numbers of the file to SI units.
    """

    table: TextTable | None
    place: int
    name: str
    factor: float = 1.0


Fields = Mapping[str, Sequence[Column]]
"""The columns of each field of a topic, in the order of the field's components."""


def read_text_table(path: Path) -> TextTable:
    """Read a table.

    Its separator is the first of comma, semicolon and tab that the first row has, else blanks. Its first row
    is a header unless it holds only numbers; a comment (#) right before the numbers with as many words is a
    header, too. Empty lines, other comments, and columns that are empty in every row are left out.

    Args:
        path: The file.

    Raises:
        RecordingError: If it cannot be read, has no rows, or rows of different lengths.
    """
    shown = f"'{one_line(path)}'"
    text = read_text(path, "table", limit=LARGEST_CONVERTED, error_class=RecordingError)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    filled = [(number, line) for number, line in lines if not line.startswith("#")]
    if not filled:
        raise RecordingError(f"{shown} has no rows")
    separator = next((one for one in SEPARATORS if one in filled[0][1]), "")
    comment = [line.lstrip("# ") for number, line in lines if number < filled[0][0]]
    split: list[list[str]] = []
    try:
        split += (_cells(line, separator) for _number, line in filled)
    except csv.Error as error:
        at = filled[len(split)][0]
        raise RecordingError(f"line {at} of {shown} cannot be read: {error}") from error
    empty = set(range(len(split[0]))) - {i for row in split for i, cell in enumerate(row) if cell}
    if empty:  # two tabs in a row, a comma at the end of each
        split = [[cell for i, cell in enumerate(row) if i not in empty] for row in split]
    numbers = [number for number, _line in filled]
    header: Sequence[str] = [] if _all_numbers(split[0]) else split.pop(0)
    if not split:
        raise RecordingError(f"{shown} has a header, {listing(header, limit=12)}, and no rows")
    width = len(header or split[0])
    if not header and comment and len(named := _cells(comment[-1], separator)) == width:
        header = named
    names = header or [str(i + 1) for i in range(width)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordingError(f"{shown} has more than one column {listing(twice, limit=12)}")
    cut_short = len(split) > 1 and len(split[-1]) < width
    rows, numbers = split[: len(split) - cut_short], numbers[-len(split) :]
    for number, row in zip(numbers, rows, strict=False):
        if len(row) != width:
            expected = f"expected {width} ({listing(names, limit=6)})"
            raise RecordingError(f"line {number} of {shown} has {len(row)} cells, {expected}")
    return TextTable(path, names, rows, numbers, cut_short)


def _cells(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _all_numbers(cells: Sequence[str]) -> bool:
    try:
        return all(float(cell) is not None for cell in cells if cell)
    except ValueError:
        return False


def convert_tables(
    tables: Sequence[TextTable], maps: Sequence[str], *, joints: Sequence[str] = (), rate: float = 0.0
) -> tuple[MemoryRecording, list[str]]:
    """Convert tables.

    COLUMNS of a map are separated by commas: names, numbers from 1, ranges of numbers (2-13), one pattern
    with an asterisk (q_*), or 0 for a column of zeros. A unit or a factor in brackets holds for the columns
    before it that have none. With several files a column is FILE.COLUMN, FILE without its ending, wherever
    the name alone is not unique.

    Args:
        tables: The tables; a topic with columns of several has a message for each time that all of them have.
        maps: FIELD=COLUMNS each.
        joints: Names of the joints in the order of the columns; empty: the columns name them.
        rate: Rate of the rows where there is no time [Hz].

    Returns:
        The recording, and what was left out or is doubtful, a sentence each.

    Raises:
        ConfigurationError: If the maps do not fit each other.
        RecordingError: If a column does not exist, or a cell is no number.
    """
    times, topics, by_topic = _mapped(maps, tables, with_rate=rate > 0.0)
    remarks = [f"the last line of '{one_line(t.path)}' is cut short" for t in tables if t.cut_short]
    stamps = {table: _stamps(table, times, rate, remarks) for table in tables}
    first = min(int(one.min()) for one in stamps.values())
    if first < EARLIEST_NS:
        stamps = {table: one + (EARLIEST_NS - first) for table, one in stamps.items()}
        remarks.append(
            f"{seconds(EARLIEST_NS - first):.3f} s are added to all times, which begin at "
            f"{seconds(first):.3f} s: a stamp of zero means in ROS that there is none"
        )
    entries: list[RecordingEntry] = []
    for topic, message_type in topics.items():
        entries += _entries(topic, message_type, by_topic[topic], stamps, joints, remarks)
    if not entries:
        raise RecordingError("no row has a number in the mapped columns")
    entries.sort(key=lambda entry: entry.log_ns)
    return MemoryRecording(tuple(entries), topics, "converted tables"), remarks


def _mapped(
    maps: Sequence[str], tables: Sequence[TextTable], *, with_rate: bool
) -> tuple[list[str], dict[str, str], dict[str, Fields]]:
    """Return the columns of the time, the message type of each topic, and the columns of its fields."""
    times: list[str] = []
    topics: dict[str, str] = {}
    by_topic: dict[str, dict[str, Sequence[Column]]] = {}
    for text in maps:
        name, equals, columns = text.partition("=")
        if not equals:
            raise ConfigurationError(f"'{one_line(text)}' in --map has not the form FIELD=COLUMNS")
        prefix, last, kind = _field(name.strip())
        if last == TIME:
            times.append(columns)
            continue
        topic = kind.topic.replace("NAME", prefix)
        fields = by_topic.setdefault(topic, {})
        if last in fields:
            raise ConfigurationError(f"field '{name.strip()}' is mapped more than once")
        fields[last] = _columns_of(name.strip(), columns, tables, kind)
        topics[topic] = kind.message_type
    if len(times) + with_rate != 1:
        raise ConfigurationError(
            f"{len(times)} maps of 'time'{' and a rate' if with_rate else ''}, expected one of them: "
            "--map time=COLUMN[s], or --rate HZ"
        )
    if not by_topic:
        raise ConfigurationError("--map gives no field but the time")
    return times, topics, dict(by_topic)


def _stamps(table: TextTable, times: Sequence[str], rate: float, remarks: list[str]) -> Stamps:
    """Return the stamp of each row [ns], shape (k,)."""
    if times:
        columns = _columns_of(TIME, times[0], [table], FIELDS[TIME])
        rows = range(len(table.rows))
        stamps = np.array([_stamp(table, row, columns) for row in rows], dtype=np.int64)
    else:
        stamps = np.round(np.arange(len(table.rows)) * (NANOSECONDS / rate)).astype(np.int64)
    steps = np.diff(stamps)
    for count, said in ((int((steps < 0).sum()), "go back"), (int((steps == 0).sum()), "repeat")):
        if count:
            remarks.append(f"times of '{one_line(table.path)}' {said} {count} times")
    return stamps


def _stamp(table: TextTable, row: int, columns: Sequence[Column]) -> int:
    """Return the sum of the columns of a row in nanoseconds, exactly (seconds since 1970 need 19 digits)."""
    stamp = Decimal(0)
    for column in columns:
        try:
            stamp += Decimal(table.rows[row][column.place]) * Decimal(repr(column.factor)) * NANOSECONDS
        except InvalidOperation as error:
            raise table.no_number(row, column.place) from error
    if not stamp.is_finite() or not abs(stamp) < 2**62:
        raise table.no_number(row, columns[0].place)
    return int(stamp.to_integral_value())


def _entries(
    topic: str,
    message_type: str,
    fields: Fields,
    stamps: Mapping[TextTable, Stamps],
    joints: Sequence[str],
    remarks: list[str],
) -> list[RecordingEntry]:
    missing = [f"'{name}'" for name in NEEDED.get(message_type, ()) if name not in fields]
    if missing:
        raise ConfigurationError(f"'{topic}' has {listing(fields)}, expected {listing(missing)}, too")
    names: tuple[str, ...] = ()
    if message_type == JOINT_STATE_TYPE:
        fields, names = _in_joint_order(fields, joints)
    times, rows = _common_rows(topic, fields, stamps, remarks)
    values = {name: _values(name, columns, rows, len(times)) for name, columns in fields.items()}
    filled = ~np.all([np.isnan(array).all(axis=1) for array in values.values()], axis=0)
    if not filled.all():
        remarks.append(f"{topic}: {int((~filled).sum())} rows without a number are left out")
    if message_type == JOINT_STATE_TYPE:
        largest = np.nanmax(np.abs(values["position"]), initial=0.0)
        if largest > LARGEST_ANGLE:
            remarks.append(f"{topic}: positions of up to {largest:.0f} rad; are they degrees?")
    return [
        RecordingEntry(
            topic,
            int(times[i]),
            _sample(message_type, int(times[i]), names, {name: array[i] for name, array in values.items()}),
        )
        for i in np.flatnonzero(filled)
    ]


def _common_rows(
    topic: str, fields: Fields, stamps: Mapping[TextTable, Stamps], remarks: list[str]
) -> tuple[Stamps, Mapping[TextTable, NDArray[np.intp]]]:
    """Return the times that all tables of a topic have, and the rows of each table at these times."""
    columns = [column for one in fields.values() for column in one]
    tables = list(dict.fromkeys(c.table for c in columns if c.table is not None))
    if not tables:
        raise ConfigurationError(f"'{topic}' has only columns of zeros")
    if len(tables) == 1:
        return stamps[tables[0]], {tables[0]: np.arange(len(stamps[tables[0]]))}
    common: Stamps = reduce(np.intersect1d, [stamps[table] for table in tables])
    if not len(common):
        files = listing(one_line(table.path) for table in tables)
        raise RecordingError(f"'{topic}': the files {files} have no time in common")
    for table in tables:
        alone = len(stamps[table]) - len(common)
        if alone:
            file = one_line(table.path)
            remarks.append(
                f"{topic}: {alone} rows of '{file}' have no row of the same time in the other files"
            )
    return common, {t: np.intersect1d(common, stamps[t], return_indices=True)[2] for t in tables}


def _values(
    field: str, columns: Sequence[Column], rows: Mapping[TextTable, NDArray[np.intp]], length: int
) -> Array:
    """Return the numbers of a field in SI units, shape (k, n)."""
    values = np.zeros((length, len(columns)))
    for k, (table, index, _name, factor) in enumerate(columns):
        if table is not None:
            numbers = table.numbers(index)
            if np.isnan(numbers).all():
                name = f"'{table.names[index]}' of '{one_line(table.path)}'"
                raise RecordingError(f"column {name}, mapped to '{field}', holds no number")
            values[:, k] = factor * numbers[rows[table]]
    return values


def _in_joint_order(fields: Fields, joints: Sequence[str]) -> tuple[Fields, tuple[str, ...]]:
    """Return the fields of joint states with their columns in one order, and the names of the joints."""
    own = tuple(column.name for column in fields["position"])
    if not joints and any(name.isdigit() for name in own):
        raise ConfigurationError(f"columns {listing(own, limit=12)} name no joints; give --joints")
    names = tuple(joints or own)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"joints {listing(twice)} are named more than once")
    ordered = {}
    for field, columns in fields.items():
        if len(columns) != len(names):
            raise ConfigurationError(
                f"'{field}' has {len(columns)} columns, expected one for each of the {len(names)} joints "
                f"{listing(names, limit=12)}"
            )
        by_name = {column.name: column for column in columns}
        ordered[field] = [by_name[name] for name in names] if set(by_name) == set(names) else columns
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


def _field(field: str) -> tuple[str, str, FieldKind]:
    """Return what stands for NAME in a field, the rest of its name, and what it is."""
    name, slash, last = field.rpartition("/")
    kind = FIELDS.get(f"NAME/{last}" if slash and name.strip("/") else field)
    if kind is None or field.startswith("NAME/"):
        hint = did_you_mean(field, FIELDS, "there are")
        raise ConfigurationError(f"no field '{one_line(field)}' in --map{hint}")
    return name.strip("/"), last, kind


def _columns_of(field: str, text: str, tables: Sequence[TextTable], kind: FieldKind) -> Sequence[Column]:
    """Find the columns of a field; see `convert_tables`."""
    columns: list[Column] = []
    without_unit = 0
    for token in (part.strip() for part in text.split(",")):
        found, unit = _found(token, tables), None
        matched = UNIT.fullmatch(token)
        if not found and matched:  # a column's own name may have brackets
            token, unit = matched[1].strip(), matched[2].strip()
            found = _found(token, tables)
        if not found:
            several = len(tables) > 1
            known = [f"{t.path.stem}.{name}" if several else name for t in tables for name in t.names]
            where = f"for '{one_line(field)}'" if several else f"in '{one_line(tables[0].path)}'"
            hint = did_you_mean(token, known, "there are")
            raise RecordingError(f"no column '{one_line(token)}' {where}{hint}")
        columns += found
        if unit is not None:
            factor = _factor(unit, kind, field)
            columns[without_unit:] = [column._replace(factor=factor) for column in columns[without_unit:]]
            without_unit = len(columns)
    if kind.size and len(columns) != kind.size:
        raise ConfigurationError(
            f"'{one_line(f'{field}={text}')}' gives {len(columns)} columns, expected {kind.size}"
        )
    return columns


def _found(token: str, tables: Sequence[TextTable]) -> list[Column]:
    """Return the columns that a part between commas means, of the only table that has them."""
    if token == "0" and not any("0" in table.names for table in tables):
        return [Column(None, 0, token)]
    for table in tables:
        if token.startswith(f"{table.path.stem}."):
            found = _in_table(token.removeprefix(f"{table.path.stem}."), table)
            if found:
                return found
    hits = [found for table in tables if (found := _in_table(token, table))]
    if len(hits) > 1:
        files = listing(str(found[0].table.path) for found in hits if found[0].table)
        shown = one_line(token)
        raise ConfigurationError(
            f"column '{shown}' is in {files}: write FILE.{shown}, FILE without its ending"
        )
    return hits[0] if hits else []


def _in_table(name: str, table: TextTable) -> list[Column]:
    """Return the columns of one table that a name, number, range of numbers or pattern means."""
    names = table.names
    if name in names:
        return [Column(table, names.index(name), name)]
    if "*" in name:
        pattern = re.compile("(.+)".join(re.escape(part) for part in name.split("*", 1)))
        matches = [(i, pattern.fullmatch(column)) for i, column in enumerate(names)]
        return [Column(table, i, match[1]) for i, match in matches if match]
    numbers = RANGE.fullmatch(name) or RANGE.fullmatch(f"{name}-{name}")
    first, last = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    if not 1 <= first <= last <= len(names):
        return []
    return [Column(table, i - 1, str(i) if first < last else name) for i in range(first, last + 1)]


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
