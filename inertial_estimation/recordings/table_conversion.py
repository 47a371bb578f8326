"""Conversion of tables to a recording: columns become fields of topics, with units, stamps, joint names."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inertial_estimation.errors import ConfigurationError, RecordingError, did_you_mean, listing, one_line
from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.config import UNITS
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    NUMBER_TYPES,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
from inertial_estimation.recordings.tables import Column, Table, number
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    ContactSample,
    ImuSample,
    JointReading,
    OrientationSample,
    PoseSample,
    WrenchSample,
    seconds,
)

TIME = "time"
ZEROS = Column(Path(), "0", (), (), "0")


class FieldKind(NamedTuple):
    """Topic, message type, size and units of a field."""

    topic: str  # topic; NAME stands for the part of the field before the slash
    message_type: str  # type of the messages
    sizes: Sequence[int]  # possible numbers of columns; empty: one for each joint
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
    "NAME/contact": FieldKind("/NAME/wrench", NUMBER_TYPES[0], (1,), {}),
    "NAME/pose": FieldKind("/NAME/pose", POSE_TYPE, (7,), UNITS["length"]),
    "NAME/orientation": FieldKind("/NAME/orientation", QUATERNION_TYPE, (4,), {}),
}
NEEDED = {  # fields that a message of a type must have
    JOINT_STATE_TYPE: ("position",),
    IMU_TYPE: ("specific_force", "angular_rate"),
    WRENCH_TYPE: ("force",),
}


Fields = Mapping[str, Sequence[Column]]
"""The columns of each field of a topic, in the order of the field's components."""


def convert_tables(
    tables: Sequence[Table], maps: Sequence[str], *, joints: Sequence[str] = (), rate: float = 0.0
) -> tuple[MemoryRecording, list[str]]:
    """Convert tables to a recording.

    COLUMNS of a map are separated by commas: names, numbers from 1, ranges of numbers (2-13), 0 for a
    component that is always zero, or one pattern with an asterisk (q_*). A unit or a factor in brackets
    applies to all preceding columns without one. With several files a column is FILE.COLUMN, FILE without
    its ending, if the name alone is not unique.

    Args:
        tables: The tables; a topic with columns of several has a message for each time that all of them have.
        maps: Maps, FIELD=COLUMNS each.
        joints: Names of the joints in the order of the columns; empty: the columns name them.
        rate: Rate of the rows if no map gives their time [Hz].

    Returns:
        The recording, and remarks on data that were left out or are doubtful, a sentence each.

    Raises:
        ConfigurationError: If the maps are incomplete or contradict one another.
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
        if last in by_topic.get(topic, ()) or kinds.setdefault(topic, kind.message_type) != kind.message_type:
            raise ConfigurationError(f"field '{name}' is mapped more than once, or beside another type")
        by_topic.setdefault(topic, {})[last] = _columns_of(name, columns, tables, kind)
    if len(times) + (rate > 0.0) != 1:
        raise ConfigurationError(
            f"{len(times)} maps of 'time'{' and a rate' if rate > 0.0 else ''}, expected one of them: "
            "--map time=COLUMN[s], or --rate HZ"
        )
    if not kinds:
        raise ConfigurationError("--map gives no field but the time")
    remarks = [f"{table.cut}, and is left out" for table in tables if table.cut]
    stamps = {table.path: _stamps(table, times, rate) for table in tables}
    for path, times_ns in stamps.items():
        if back := np.count_nonzero(np.diff(times_ns) < 0):
            mixed = "its rows are sorted by time, which mixes runs that follow each other: convert each alone"
            remarks.append(f"the time of '{one_line(path)}' steps back ({back} x): {mixed}")
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
    entries.sort(key=lambda entry: entry.log_ns)
    return MemoryRecording(tuple(entries), kinds, "converted tables"), remarks


def _stamps(table: Table, times: Sequence[str], rate: float) -> Times:
    """Return the stamp of each row [ns], shape (k,): the sum of all columns of time, in integers."""
    stamps = np.zeros(len(next(iter(table.columns.values())).cells), dtype=np.int64)
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
    stamps: Mapping[Path, Times],
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
    values = {}
    for field, columns in fields.items():
        numbers = [column.numbers() for column in columns]
        for column, all_rows in zip(columns, numbers, strict=True):
            if np.isnan(all_rows).all():
                name = f"'{column.name}' of '{one_line(column.path)}'"
                raise RecordingError(f"column {name}, mapped to '{field}', holds no number")
        of_times = [n[rows[column.path]] for column, n in zip(columns, numbers, strict=True)]
        values[field] = np.stack(of_times, axis=1)
    filled = ~np.isnan(np.concatenate(list(values.values()), axis=1)).all(axis=1)
    if not filled.all():
        remarks.append(f"{topic}: {int((~filled).sum())} rows without a number are left out")
    return [
        RecordingEntry(topic, stamp_ns, _sample(kind, stamp_ns, names, {n: a[i] for n, a in values.items()}))
        for i, stamp_ns in enumerate(times.tolist())
        if filled[i]
    ]


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
    """Return a row as the sample of a message type; a single column of force is its z component."""
    if kind == JOINT_STATE_TYPE:
        sent = {n: array for n, array in values.items() if n == "position" or not np.isnan(array).all()}
        return JointReading(stamp_ns, names, **sent)
    if kind == IMU_TYPE:
        return ImuSample(stamp_ns, values["specific_force"], values["angular_rate"])
    if kind == WRENCH_TYPE:
        force, torque = values["force"], values.get("torque", np.zeros(3))
        return WrenchSample(stamp_ns, np.concatenate((np.zeros(3 - len(force)), force, torque)))
    if kind == NUMBER_TYPES[0]:
        return ContactSample(stamp_ns, float(values["contact"][0]))
    if kind == POSE_TYPE:
        return PoseSample(stamp_ns, values["pose"][3:], values["pose"][:3])
    return OrientationSample(stamp_ns, values["orientation"])


def _field(field: str) -> tuple[str, str, FieldKind]:
    """Return the topic of a field, its name after the slash, and its kind."""
    name, slash, last = field.rpartition("/")
    kind = FIELDS.get(f"NAME/{last}" if slash and name.strip("/") else field)
    if kind is None or field.startswith("NAME/"):
        hint = did_you_mean(field, FIELDS, "there are")
        raise ConfigurationError(f"no field '{one_line(field)}' in --map{hint}")
    return kind.topic.replace("NAME", name.strip("/")), last, kind


def _columns_of(field: str, text: str, tables: Sequence[Table], kind: FieldKind) -> Sequence[Column]:
    """Find the columns of a field; see `convert_tables`."""
    columns: list[Column] = []
    scaled = 0  # number of leading columns that have their unit
    for name in (part.strip() for part in text.split(",")):
        found = _found(name, tables)  # a column's own name may have brackets
        scale = None if found else re.fullmatch(r"(.*)\[([^\[\]]*)\]", name, re.DOTALL)
        if scale:
            name = scale[1].strip()
            found = _found(name, tables)
        if name == "0" and not found:
            found = [ZEROS]
        if not found:
            known = [f"{t.path.stem}.{own}" if len(tables) > 1 else own for t in tables for own in t.columns]
            files = listing(f"'{one_line(table.path)}'" for table in tables)
            hint = did_you_mean(name, known, "there are")
            raise RecordingError(f"no column '{one_line(name)}' in {files} for '{one_line(field)}'{hint}")
        columns += found
        if scale:
            unit = scale[2].strip()
            factor = kind.units.get(unit, number(unit))
            if not factor or not math.isfinite(factor):
                units = f"there are {listing(kind.units)}, or a factor"
                raise ConfigurationError(f"no unit '{one_line(unit)}' of '{one_line(field)}'; {units}")
            columns[scaled:] = [column._replace(factor=factor) for column in columns[scaled:]]
            scaled = len(columns)
    given = next((column for column in columns if column.cells), ZEROS)
    columns = [column if column.cells else given._replace(factor=0.0) for column in columns]
    if given is ZEROS:
        raise ConfigurationError(f"'{one_line(field)}' is mapped to zeros alone, expected a column")
    if kind.sizes and len(columns) not in kind.sizes:
        shown = one_line(f"{field}={text}")
        raise ConfigurationError(f"'{shown}' gives {len(columns)} columns, expected {kind.sizes[0]}")
    return columns


def _found(name: str, tables: Sequence[Table]) -> Sequence[Column]:
    """Return the columns that a part between commas names, from the only table that has them."""
    files = [f"{table.path.stem}." for table in tables]
    own = [_in_table(name[len(f) :], t) for f, t in zip(files, tables, strict=True) if name.startswith(f)]
    hits = [*filter(None, own)][:1] or [*filter(None, (_in_table(name, table) for table in tables))]
    if len(hits) > 1:
        shown = one_line(name)
        raise ConfigurationError(
            f"column '{shown}' is in several files: write FILE.{shown}, FILE without its ending"
        )
    return hits[0] if hits else []


def _in_table(name: str, table: Table) -> Sequence[Column]:
    """Return the columns of one table that match a name, number, range of numbers or pattern."""
    if name in table.columns:
        return [table.columns[name]]
    columns = [*table.columns.values()]
    if numbers := re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", name):
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        chosen = range(first, last + 1) if first >= 1 and last <= len(columns) else ()
        return [columns[i - 1]._replace(joint=str(i)) for i in chosen]
    pattern = re.compile("(.+)".join(re.escape(part) for part in name.split("*", 1)))
    matches = [(column, pattern.fullmatch(column.name)) for column in columns]
    return [column._replace(joint=match[1]) for column, match in matches if match]
