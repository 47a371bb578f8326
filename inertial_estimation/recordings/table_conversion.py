"""Tables of numbers converted to a recording: columns to fields of topics, units, stamps, names of joints."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, RecordingError, did_you_mean, listing, one_line
from inertial_estimation.files.text_file import read_text
from inertial_estimation.inputs.config import UNITS
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
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
TIME = "time"


class FieldKind(NamedTuple):
    """What a field of a topic is."""

    topic: str  # topic; NAME stands for what precedes the slash in the field
    message_type: str  # type of its messages
    sizes: Sequence[int]  # numbers of columns that it may have; empty: one for each joint
    units: Mapping[str, float]  # SI values of the units


FIELDS: Mapping[str, FieldKind] = {
    TIME: FieldKind("", "", (), UNITS["time"]),
    "position": FieldKind("/joint_states", JOINT_STATE_TYPE, (), UNITS["angle"] | UNITS["length"]),
    "velocity": FieldKind("/joint_states", JOINT_STATE_TYPE, (), UNITS["rate"] | UNITS["speed"]),
    "effort": FieldKind("/joint_states", JOINT_STATE_TYPE, (), UNITS["torque"] | UNITS["force"]),
    "specific_force": FieldKind("/imu/data", IMU_TYPE, (3,), UNITS["acceleration"]),
    "angular_rate": FieldKind("/imu/data", IMU_TYPE, (3,), UNITS["rate"]),
    "NAME/force": FieldKind("/NAME/wrench", WRENCH_TYPE, (3, 1), UNITS["force"]),
    "NAME/torque": FieldKind("/NAME/wrench", WRENCH_TYPE, (3,), UNITS["torque"]),
    "NAME/pose": FieldKind("/NAME/pose", POSE_TYPE, (7,), UNITS["length"]),
    "NAME/orientation": FieldKind("/NAME/orientation", QUATERNION_TYPE, (4,), {}),
}
NEEDED = {  # fields without which there is no message of a type
    JOINT_STATE_TYPE: ("position",),
    IMU_TYPE: ("specific_force", "angular_rate"),
    WRENCH_TYPE: ("force",),
}


class Column(NamedTuple):
    """A column of a table."""

    path: Path  # file of the table
    name: str  # its name: of the header, else its number from 1
    cells: NDArray[np.str_]  # its cells, stripped, shape (k,)
    lines: Sequence[int]  # line of the file on which each is
    joint: str  # what the asterisk of a pattern stands for in its name, else its name
    factor: float = 1.0  # from its numbers to SI units

    def numbers(self) -> Array:
        """Return the numbers in SI units, NaN for an empty cell, shape (k,).

        Raises:
            RecordingError: If a cell is no number; names file and line.
        """
        numbers = np.full(len(self.cells), np.nan)
        for row, cell in enumerate(self.cells.tolist()):
            try:
                numbers[row] = float(cell or "nan")
            except ValueError as error:
                raise self.no_number(row) from error
        return self.factor * numbers

    def no_number(self, row: int) -> RecordingError:
        """Return the error that a cell is no number."""
        cell = one_line(str(self.cells[row]))
        return RecordingError(
            f"line {self.lines[row]} of '{one_line(self.path)}' has '{cell}' in column '{self.name}', "
            "expected a number"
        )


Table = Sequence[Column]
Fields = Mapping[str, Sequence[Column]]
"""The columns of each field of a topic, in the order of the field's components."""


def read_table(path: Path) -> Table:
    """Read a table, without a last line that is cut short.

    Its separator is the first of comma, semicolon and tab that the first row has, else blanks. Its first row
    is a header unless it holds only numbers. Empty lines, comments (#), and columns that are empty in every
    row are left out.

    Raises:
        RecordingError: If it cannot be read, has no rows, or rows of different lengths.
    """
    shown, rows, separator = f"'{one_line(path)}'", list[tuple[int, list[str]]](), ""
    for number, line in enumerate(read_text(path, "table", RecordingError).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        separator = separator if rows else next((one for one in (",", ";", "\t") if one in line), "")
        try:
            cells = next(csv.reader([line], delimiter=separator)) if separator else line.split()
        except csv.Error as error:
            raise RecordingError(f"line {number} of {shown} cannot be read: {error}") from error
        rows.append((number, [cell.strip() for cell in cells]))
    header = rows.pop(0)[1] if rows and not _all_numbers(rows[0][1]) else []
    if not rows:
        raise RecordingError(f"{shown} has the header {listing(header, limit=12)} and no rows")
    width = len(header or rows[0][1])
    if len(rows) > 1 and len(rows[-1][1]) < width:
        del rows[-1]
    for number, cells in rows:
        if len(cells) != width:
            raise RecordingError(f"line {number} of {shown} has {len(cells)} cells, expected {width}")
    table = np.array([cells for _number, cells in rows])
    filled = [i for i in range(width) if (header and header[i]) or (table[:, i] != "").any()]
    names = [header[i] for i in filled] if header else [str(k + 1) for k in range(len(filled))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordingError(f"{shown} has more than one column {listing(twice, limit=12)}")
    lines = [number for number, _cells in rows]
    return [Column(path, name, table[:, i], lines, name) for name, i in zip(names, filled, strict=True)]


def _all_numbers(cells: Sequence[str]) -> bool:
    try:
        return all(float(cell) is not None for cell in cells if cell)
    except ValueError:
        return False


def convert_tables(
    tables: Sequence[Table], maps: Sequence[str], *, joints: Sequence[str] = (), rate: float = 0.0
) -> tuple[MemoryRecording, list[str]]:
    """Convert tables.

    COLUMNS of a map are separated by commas: names, numbers from 1, ranges of numbers (2-13), or one pattern
    with an asterisk (q_*). A unit or a factor in brackets holds for the columns before it that have none.
    With several files a column is FILE.COLUMN, FILE without its ending, wherever the name alone is not
    unique.

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
    kinds: dict[str, str] = {}
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
        kinds[topic] = kind.message_type
    if len(times) + (rate > 0.0) != 1:
        raise ConfigurationError(
            f"{len(times)} maps of 'time'{' and a rate' if rate > 0.0 else ''}, expected one of them: "
            "--map time=COLUMN[s], or --rate HZ"
        )
    if not kinds:
        raise ConfigurationError("--map gives no field but the time")
    remarks: list[str] = []
    stamps = {table[0].path: _stamps(table, times, rate) for table in tables}
    first = min(int(one.min()) for one in stamps.values())
    if first < NANOSECONDS:
        stamps = {path: one + (NANOSECONDS - first) for path, one in stamps.items()}
        remarks.append(
            f"{seconds(NANOSECONDS - first):.3f} s are added to all times, which begin at "
            f"{seconds(first):.3f} s: a stamp of zero means in ROS that there is none"
        )
    entries: list[RecordingEntry] = []
    for topic, fields in by_topic.items():
        entries += _entries(topic, kinds[topic], fields, stamps, joints, remarks)
    if not entries:
        raise RecordingError("no row has a number in the mapped columns")
    entries.sort(key=lambda entry: entry.log_ns)
    return MemoryRecording(tuple(entries), kinds, "converted tables"), remarks


def _stamps(table: Table, times: Sequence[str], rate: float) -> Stamps:
    """Return the stamp of each row [ns], shape (k,); columns of seconds and nanoseconds are added exactly."""
    stamps = np.zeros(len(table[0].cells), dtype=np.int64)
    if not times:
        return np.round(np.arange(len(stamps)) * (NANOSECONDS / rate)).astype(np.int64)
    for column in _columns_of(TIME, times[0], [table], FIELDS[TIME]):
        added = NANOSECONDS * column.numbers()
        wrong = np.flatnonzero(~(np.abs(added) < np.iinfo(np.int64).max / 2))
        if len(wrong):
            raise column.no_number(int(wrong[0]))
        stamps += np.round(added).astype(np.int64)
    return stamps


def _entries(
    topic: str,
    kind: str,
    fields: Fields,
    stamps: Mapping[Path, Stamps],
    joints: Sequence[str],
    remarks: list[str],
) -> list[RecordingEntry]:
    """Return the messages of a topic: one for each time that all its tables have."""
    missing = [f"'{name}'" for name in NEEDED.get(kind, ()) if name not in fields]
    if missing:
        raise ConfigurationError(f"'{topic}' has {listing(fields)}, expected {listing(missing)}, too")
    names: tuple[str, ...] = ()
    if kind == JOINT_STATE_TYPE:
        fields, names = _in_joint_order(fields, joints)
    paths = list(dict.fromkeys(column.path for columns in fields.values() for column in columns))
    times = stamps[paths[0]]
    rows = {paths[0]: np.arange(len(times))}
    if len(paths) > 1:
        times = reduce(np.intersect1d, [stamps[path] for path in paths])
        rows = {path: np.intersect1d(times, stamps[path], return_indices=True)[2] for path in paths}
        alone = sum(len(stamps[path]) - len(times) for path in paths)
        if alone:
            remarks.append(f"{topic}: {alone} rows of its files have no row of that time in another one")
    values = {name: _values(name, columns, rows) for name, columns in fields.items()}
    filled = ~np.all([np.isnan(array).all(axis=1) for array in values.values()], axis=0)
    if not filled.all():
        remarks.append(f"{topic}: {int((~filled).sum())} rows without a number are left out")
    return [
        RecordingEntry(topic, stamp_ns, _sample(kind, stamp_ns, names, {n: a[i] for n, a in values.items()}))
        for i, stamp_ns in enumerate(times.tolist())
        if filled[i]
    ]


def _values(field: str, columns: Sequence[Column], rows: Mapping[Path, NDArray[np.intp]]) -> Array:
    """Return the numbers of a field in SI units, shape (k, n)."""
    values = []
    for column in columns:
        numbers = column.numbers()
        if np.isnan(numbers).all():
            name = f"'{column.name}' of '{one_line(column.path)}'"
            raise RecordingError(f"column {name}, mapped to '{field}', holds no number")
        values.append(numbers[rows[column.path]])
    return np.stack(values, axis=1)


def _in_joint_order(fields: Fields, joints: Sequence[str]) -> tuple[Fields, tuple[str, ...]]:
    """Return the fields of joint states with their columns in one order, and the names of the joints."""
    own = tuple(column.joint for column in fields["position"])
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
        by_name = {column.joint: column for column in columns}
        ordered[field] = [by_name[name] for name in names] if set(by_name) == set(names) else columns
    return ordered, names


def _sample(kind: str, stamp_ns: int, names: tuple[str, ...], values: Mapping[str, Array]) -> Sample:
    """Return a row as the value of a message type; one column of force is along z."""
    if kind == JOINT_STATE_TYPE:
        sent = {n: array for n, array in values.items() if n == "position" or not np.isnan(array).all()}
        return JointReading(stamp_ns, names, **sent)
    if kind == IMU_TYPE:
        return ImuSample(stamp_ns, values["specific_force"], values["angular_rate"])
    if kind == WRENCH_TYPE:
        force, torque = values["force"], values.get("torque", np.zeros(3))
        return WrenchSample(stamp_ns, np.concatenate((np.zeros(3 - len(force)), force, torque)))
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


def _columns_of(field: str, text: str, tables: Sequence[Table], kind: FieldKind) -> Sequence[Column]:
    """Find the columns of a field; see `convert_tables`."""
    columns: list[Column] = []
    scaled = 0  # those that have their unit
    for token in (part.strip() for part in text.split(",")):
        found, unit = _found(token, tables), re.fullmatch(r"(.*)\[([^\[\]]*)\]", token, re.DOTALL)
        name = unit[1].strip() if unit and not found else token  # a column's own name may have brackets
        found = found or _found(name, tables)
        if not found:
            known = [f"{c.path.stem}.{c.name}" if len(tables) > 1 else c.name for t in tables for c in t]
            files = listing(f"'{one_line(table[0].path)}'" for table in tables)
            hint = did_you_mean(name, known, "there are")
            raise RecordingError(f"no column '{one_line(name)}' in {files} for '{one_line(field)}'{hint}")
        columns += found
        if unit and name is not token:
            factor = _factor(unit[2].strip(), kind, field)
            columns[scaled:] = [column._replace(factor=factor) for column in columns[scaled:]]
            scaled = len(columns)
    if kind.sizes and len(columns) not in kind.sizes:
        given = one_line(f"{field}={text}")
        raise ConfigurationError(f"'{given}' gives {len(columns)} columns, expected {kind.sizes[0]}")
    return columns


def _found(token: str, tables: Sequence[Table]) -> list[Column]:
    """Return the columns that a part between commas means, of the only table that has them."""
    for table in tables:
        file = f"{table[0].path.stem}."
        if token.startswith(file) and (found := _in_table(token.removeprefix(file), table)):
            return found
    hits = [found for table in tables if (found := _in_table(token, table))]
    if len(hits) > 1:
        shown = one_line(token)
        raise ConfigurationError(
            f"column '{shown}' is in several files: write FILE.{shown}, FILE without its ending"
        )
    return hits[0] if hits else []


def _in_table(name: str, table: Table) -> list[Column]:
    """Return the columns of one table that a name, number, range of numbers or pattern means."""
    named = [column for column in table if column.name == name]
    numbers = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", name)
    if named or not ("*" in name or numbers):
        return named
    if numbers:
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        chosen = enumerate(table[first - 1 : last], start=first) if 1 <= first <= last <= len(table) else ()
        return [column._replace(joint=str(i)) for i, column in chosen]
    pattern = re.compile("(.+)".join(re.escape(part) for part in name.split("*", 1)))
    matches = [(column, pattern.fullmatch(column.name)) for column in table]
    return [column._replace(joint=match[1]) for column, match in matches if match]


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
