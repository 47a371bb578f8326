"""Tables of numbers converted to a recording: columns to topics, units, stamps, names of joints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, RecordingError, listing, one_line
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.column_map import TIME, Column, ColumnMap, parse_column_map
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

Stamps = NDArray[np.int64]
Rows = NDArray[np.int64]
EARLIEST_NS = NANOSECONDS  # a stamp of zero means in ROS that there is none
LARGEST_ANGLE = 20.0  # [rad] that a joint hardly reaches; degrees do


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
    make = _MAKERS[message_type]
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
        sample = make(stamp_ns, names, {name: array[i] for name, array in values.items()})
        entries.append(RecordingEntry(topic, stamp_ns, sample))
    return entries


def _common_rows(
    topic: str, fields: Mapping[str, ColumnMap], stamps: Mapping[TextTable, Stamps], remarks: list[str]
) -> tuple[Stamps, Mapping[TextTable, Rows]]:
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


def _values(one: ColumnMap, rows: Mapping[TextTable, Rows]) -> Array:
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
    if "position" not in fields:
        raise ConfigurationError(f"joint states have {listing(fields)}, expected 'position', too")
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


def _joints(stamp_ns: int, names: tuple[str, ...], values: Mapping[str, Array]) -> JointReading:
    sent = {name: array for name, array in values.items() if name == "position" or not np.isnan(array).all()}
    return JointReading(stamp_ns, names, **sent)


def _imu(stamp_ns: int, _names: tuple[str, ...], values: Mapping[str, Array]) -> ImuSample:
    missing = {"specific_force", "angular_rate"} - set(values)
    if missing:
        raise ConfigurationError(
            f"an IMU needs specific_force and angular_rate; {listing(missing)} is missing"
        )
    return ImuSample(stamp_ns, values["specific_force"], values["angular_rate"])


def _wrench(stamp_ns: int, _names: tuple[str, ...], values: Mapping[str, Array]) -> WrenchSample:
    if "force" not in values:
        raise ConfigurationError("a wrench needs its force; map NAME/force")
    return WrenchSample(stamp_ns, np.concatenate((values["force"], values.get("torque", np.zeros(3)))))


def _pose(stamp_ns: int, _names: tuple[str, ...], values: Mapping[str, Array]) -> PoseSample:
    return PoseSample(stamp_ns, values["pose"][3:], values["pose"][:3])


def _orientation(stamp_ns: int, _names: tuple[str, ...], values: Mapping[str, Array]) -> OrientationSample:
    return OrientationSample(stamp_ns, values["orientation"])


_MAKERS: Mapping[str, Callable[[int, tuple[str, ...], Mapping[str, Array]], Sample]] = {
    JOINT_STATE_TYPE: _joints,
    IMU_TYPE: _imu,
    WRENCH_TYPE: _wrench,
    POSE_TYPE: _pose,
    QUATERNION_TYPE: _orientation,
}
