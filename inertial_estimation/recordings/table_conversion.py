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
from inertial_estimation.files.text_file import read_text
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

Stamps = NDArray[np.int64]
SEPARATORS = (",", ";", "\t")
EARLIEST_NS = NANOSECONDS  # a stamp of zero means in ROS that there is none
LARGEST_ANGLE = 20.0  # [rad] that a joint hardly reaches; degrees do
TIME = "time"
RADIANS = math.radians(1.0)
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
ANGLES = {"rad": 1.0, "deg": RADIANS, "rev": math.tau}
RATES = {"rad/s": 1.0, "deg/s": RADIANS, "rpm": math.tau / 60.0}
FORCES = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
TORQUES = {"Nm": 1.0, "mNm": 1e-3, "Nmm": 1e-3, "kNm": 1e3}
ACCELERATIONS = {"m/s^2": 1.0, "g": STANDARD_GRAVITY, "mg": 1e-3 * STANDARD_GRAVITY}
UNIT = re.compile(r"(.*)\[([^\[\]]*)\]", re.DOTALL)
RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


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

    Raises:
        RecordingError: If it cannot be read, has no rows, or rows of different lengths.
    """
    shown = f"'{one_line(path)}'"
    lines = [line.strip() for line in read_text(path, "table", RecordingError).splitlines()]
    places = [place for place, line in enumerate(lines) if line and not line.startswith("#")]
    if not places:
        raise RecordingError(f"{shown} has no rows")
    separator = next((one for one in SEPARATORS if one in lines[places[0]]), "")
    split = []
    for place in places:
        try:
            split.append(_cells(lines[place], separator))
        except csv.Error as error:
            raise RecordingError(f"line {place + 1} of {shown} cannot be read: {error}") from error
    filled = {i for row in split for i, cell in enumerate(row) if cell}
    split = [[c for i, c in enumerate(row) if i in filled or i >= len(split[0])] for row in split]
    header = None if _all_numbers(split[0]) else split.pop(0)
    if not split:
        raise RecordingError(f"{shown} has a header, {listing(header or [], limit=12)}, and no rows")
    comments = [_cells(line.lstrip("# "), separator) for line in lines[: places[0]] if line]
    if header is None and comments and len(comments[-1]) == len(split[0]):
        header = comments[-1]
    names = header or [str(i + 1) for i in range(len(split[0]))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordingError(f"{shown} has more than one column {listing(twice, limit=12)}")
    cut_short = len(split) > 1 and len(split[-1]) < len(names)
    numbers = [place + 1 for place in places[-len(split) :]]
    rows = split[: len(split) - cut_short]
    for number, row in zip(numbers, rows, strict=False):
        if len(row) != len(names):
            expected = f"expected {len(names)} ({listing(names, limit=6)})"
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
    times: list[str] = []
    topics: dict[str, str] = {}
    by_topic: dict[str, dict[str, Sequence[Column]]] = {}
    for text in maps:
        name, equals, columns = (part.strip() for part in text.partition("="))
        if not equals:
            raise ConfigurationError(f"'{one_line(text)}' in --map has not the form FIELD=COLUMNS")
        topic, last, kind = _field(name)
        if last == TIME:
            times.append(columns)
            continue
        fields = by_topic.setdefault(topic, {})
        if last in fields:
            raise ConfigurationError(f"field '{name}' is mapped more than once")
        fields[last] = _columns_of(name, columns, tables, kind)
        topics[topic] = kind.message_type
    if len(times) + (rate > 0.0) != 1:
        raise ConfigurationError(
            f"{len(times)} maps of 'time'{' and a rate' if rate > 0.0 else ''}, expected one of them: "
            "--map time=COLUMN[s], or --rate HZ"
        )
    if not topics:
        raise ConfigurationError("--map gives no field but the time")
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


def _stamps(table: TextTable, times: Sequence[str], rate: float, remarks: list[str]) -> Stamps:
    """Return the stamp of each row [ns], shape (k,): exactly, as seconds since 1970 need 19 digits."""
    if not times:
        return np.round(np.arange(len(table.rows)) * (NANOSECONDS / rate)).astype(np.int64)
    stamps = np.zeros(len(table.rows), dtype=np.int64)
    for column in _columns_of(TIME, times[0], [table], FIELDS[TIME]):
        factor = Decimal(repr(column.factor)) * NANOSECONDS
        for row, cells in enumerate(table.rows):
            try:
                stamps[row] += int((Decimal(cells[column.place]) * factor).to_integral_value())
            except (InvalidOperation, ValueError, OverflowError) as error:
                raise table.no_number(row, column.place) from error
    steps = np.diff(stamps)
    for count, said in ((int((steps < 0).sum()), "go back"), (int((steps == 0).sum()), "repeat")):
        if count:
            remarks.append(f"times of '{one_line(table.path)}' {said} {count} times")
    return stamps


def _entries(
    topic: str,
    message_type: str,
    fields: Fields,
    stamps: Mapping[TextTable, Stamps],
    joints: Sequence[str],
    remarks: list[str],
) -> list[RecordingEntry]:
    """Return the messages of a topic: one for each time that all its tables have."""
    missing = [f"'{name}'" for name in NEEDED.get(message_type, ()) if name not in fields]
    if missing:
        raise ConfigurationError(f"'{topic}' has {listing(fields)}, expected {listing(missing)}, too")
    names: tuple[str, ...] = ()
    if message_type == JOINT_STATE_TYPE:
        fields, names = _in_joint_order(fields, joints)
    tables = dict.fromkeys(c.table for columns in fields.values() for c in columns if c.table is not None)
    if not tables:
        raise ConfigurationError(f"'{topic}' has only columns of zeros")
    first, *others = tables
    times = reduce(np.intersect1d, [stamps[table] for table in others], stamps[first])
    rows = {first: np.arange(len(times))}
    if others:
        rows = {table: np.intersect1d(times, stamps[table], return_indices=True)[2] for table in tables}
        for table in tables:
            alone = len(stamps[table]) - len(times)
            if alone:
                file = one_line(table.path)
                remarks.append(f"{topic}: {alone} rows of '{file}' have no row of that time in other files")
    values = {name: _values(name, columns, rows, len(times)) for name, columns in fields.items()}
    filled = ~np.all([np.isnan(array).all(axis=1) for array in values.values()], axis=0)
    if not filled.all():
        remarks.append(f"{topic}: {int((~filled).sum())} rows without a number are left out")
    largest = np.nanmax(np.abs(values.get("position", np.zeros((1, 1)))), initial=0.0)
    if largest > LARGEST_ANGLE:
        remarks.append(f"{topic}: positions of up to {largest:.0f} rad; are they degrees?")
    entries = []
    for i in np.flatnonzero(filled).tolist():
        stamp_ns = int(times[i])
        sample = _sample(message_type, stamp_ns, names, {name: array[i] for name, array in values.items()})
        entries.append(RecordingEntry(topic, stamp_ns, sample))
    return entries


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
    if len(set(names)) < len(names):
        raise ConfigurationError(f"a joint is named more than once: {listing(names)}")
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
    """Return the topic of a field, its name without what stands for NAME, and what it is."""
    name, slash, last = field.rpartition("/")
    kind = FIELDS.get(f"NAME/{last}" if slash and name.strip("/") else field)
    if kind is None or field.startswith("NAME/"):
        hint = did_you_mean(field, FIELDS, "there are")
        raise ConfigurationError(f"no field '{one_line(field)}' in --map{hint}")
    return kind.topic.replace("NAME", name.strip("/")), last, kind


def _columns_of(field: str, text: str, tables: Sequence[TextTable], kind: FieldKind) -> Sequence[Column]:
    """Find the columns of a field; see `convert_tables`."""
    columns: list[Column] = []
    without_unit = 0
    for token in (part.strip() for part in text.split(",")):
        found, unit = _found(token, tables), UNIT.fullmatch(token)
        if not found and unit:  # a column's own name may have brackets
            token = unit[1].strip()
            columns += _found(token, tables)
            factor = _factor(unit[2].strip(), kind, field)
            columns[without_unit:] = [column._replace(factor=factor) for column in columns[without_unit:]]
            found, without_unit = columns[without_unit:], len(columns)
        else:
            columns += found
        if not found:
            known = [f"{t.path.stem}.{n}" if len(tables) > 1 else n for t in tables for n in t.names]
            hint = did_you_mean(token, known, "there are")
            files = listing(f"'{one_line(table.path)}'" for table in tables)
            raise RecordingError(f"no column '{one_line(token)}' in {files} for '{one_line(field)}'{hint}")
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
        file, dot, name = token.partition(f"{table.path.stem}.")
        if dot and not file and (found := _in_table(name, table)):
            return found
    hits = [found for table in tables if (found := _in_table(token, table))]
    if len(hits) > 1:
        shown = one_line(token)
        raise ConfigurationError(
            f"column '{shown}' is in several files: write FILE.{shown}, FILE without its ending"
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
    numbers = RANGE.fullmatch(name)
    first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (0, 0)
    if not 1 <= first <= last <= len(names):
        return []
    return [Column(table, i - 1, str(i)) for i in range(first, last + 1)]


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
