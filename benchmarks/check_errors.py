"""Errors that are injected into recordings to judge `inertial-estimation check`.

Each error is prepared for one part of one recording: it draws what it changes, among what the clean data
suffice to reveal, and says which check must name it and with which subject.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inertial_estimation.bring_up.doctor import Diagnosis
from inertial_estimation.bring_up.streams import RobotStreams, Stream
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.effort_checks import telling_joints
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.spatial.rotations import exp_so3
from inertial_estimation.spatial.vectors import DEGREES

TURN = 2.0 * np.pi
SHIFTS = 1e-6  # of an entry of a foot's Jacobian
MOVING, TRAVEL = 0.1, 0.05  # rms speed and travel of a joint that moves [rad/s, rad]
LATE_S = 0.06
HEAVY = 0.5  # relative error of a mass
SHARE = 0.05  # of the robot's mass, in a link that is drawn
CERTAIN = 0.055  # its standard deviation over itself: 40 % are then 7 of them, enough among many causes


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a recording, as it is.

    Attributes:
        streams: Its inputs.
        urdf: The description.
        clean: What the doctor finds without an injected error.
    """

    streams: RobotStreams
    urdf: str
    clean: Diagnosis

    @cached_property
    def telling(self) -> list[str]:
        """Joints whose efforts can be judged."""
        windows = self.clean.case.signals.windows
        return telling_joints(windows, self.clean.case.robot) if np.isfinite(windows.tau).any() else []

    @cached_property
    def leading(self) -> list[str]:
        """Joints whose efforts can be judged, or that place a foot whose wrench is measured."""
        windows, names = self.clean.case.signals.windows, self.clean.case.robot.names
        feet = np.abs(windows.jacobians[:, :, :, windows.n_base :]).max(axis=(0, 1, 2), initial=0.0) > SHIFTS
        place = feet & bool(self.streams.wrenches)
        return [name for name, places in zip(names, place, strict=True) if places or name in self.telling]


@dataclass(frozen=True, eq=False)
class Error:
    """An injected error.

    Attributes:
        streams: The changed inputs.
        urdf: The changed description.
        checks: Names of the checks that name it.
        subjects: What one of them must be about; empty: anything.
    """

    streams: RobotStreams
    urdf: str
    checks: tuple[str, ...]
    subjects: tuple[str, ...] = ()


Prepare = Callable[[Part, np.random.Generator], Error | None]


def kinds_of_streams() -> dict[str, Prepare]:
    """Return the kinds of error of whole streams and of joints, by name."""
    return {
        "effort sign, one joint": lambda p, r: _efforts(p, r, -1.0, ("effort sign",)),
        "effort sign, all": lambda p, r: _efforts(p, r, -1.0, ("effort sign",), one=False),
        "effort mNm, one joint": lambda p, r: _efforts(p, r, 1e3, ("effort unit",)),
        "effort mNm, all": lambda p, r: _efforts(p, r, 1e3, ("effort unit",), one=False),
        "effort before a gear of 50": lambda p, r: _efforts(p, r, 0.02, ("effort unit",)),
        "effort silent, one joint": lambda p, r: _efforts(p, r, 0.0, ("effort silent",)),
        "efforts of two joints swapped": _swapped_efforts,
        "effort late, 60 ms": lambda p, r: _late_columns(p, 2, "effort delay"),
        "positions in degrees": _degrees,
        "position one turn off": _turned,
        "position sign, one joint": _mirrored,
        "names of two joints swapped": _swapped_names,
        "joint renamed": _renamed,
        "velocity sign, one joint": lambda p, r: _velocities(p, r, -1.0),
        "velocity deg/s, one joint": lambda p, r: _velocities(p, r, DEGREES),
        "velocity silent, one joint": lambda p, r: _velocities(p, r, 0.0),
        "velocity late, 60 ms": lambda p, r: _late_columns(p, 1, "velocity delay"),
        "gyroscope deg/s": lambda p, r: _gyroscope(p, DEGREES * np.eye(3), ("gyroscope scale",)),
        "gyroscope sign": lambda p, r: _gyroscope(p, -np.eye(3), ("gyroscope axes",)),
        "gyroscope, one axis flipped": _flipped,
        "gyroscope, two axes swapped": _gyroscope_axes,
        "accelerometer in g": lambda p, r: _accelerometer(p, np.eye(3) / 9.80665, ("accelerometer size",)),
        "accelerometer 10 % too large": lambda p, r: _accelerometer(
            p, 1.1 * np.eye(3), ("accelerometer size",)
        ),
        "accelerometer silent": lambda p, r: _accelerometer(p, np.zeros((3, 3)), ("accelerometer size",)),
        "accelerometer sign": lambda p, r: _accelerometer(p, -np.eye(3), DIRECTION),
        "accelerometer axes rolled": lambda p, r: _accelerometer(p, np.eye(3)[[1, 2, 0]], DIRECTION),
        "IMU turned, 20 to 180 deg": _mounting,
        "IMU late, 60 ms": _late_imu,
        "IMU with another clock": _clock,
        "IMU stuck for 1 s": _stuck,
        "gyroscope saturated": _saturated,
        "wrench sign, one contact": lambda p, r: _wrenches(p, r, -1.0, SIGN),
        "wrench sign, all": lambda p, r: _wrenches(p, r, -1.0, SIGN, one=False),
        "wrench kN, all": lambda p, r: _wrenches(p, r, 1e-3, UNIT, one=False),
        "wrench mN, one contact": lambda p, r: _wrenches(p, r, 1e3, UNIT),
        "wrench silent, one contact": lambda p, r: _wrenches(p, r, 0.0, UNIT),
        "wrenches late, 60 ms": _late_wrenches,
        "gaps of 0.5 s": _gaps,
        "stamps of arrival in bursts": _bursts,
        "mass of a link 50 % too large": lambda p, r: _mass(p, r, 1.0 + HEAVY),
        "mass of a link 40 % too small": lambda p, r: _mass(p, r, 0.6),
    }


DIRECTION = ("accelerometer direction", "IMU mounting")
SIGN = ("contact wrench sign", "contact weight")
UNIT = ("contact wrench unit", "contact weight")


def _told(part: Part, check: str) -> bool:
    """Whether the clean data determine a check."""
    return any(r.check == check and r.verdict is Verdict.OK for r in part.clean.results)


def _changed(part: Part, streams: RobotStreams, checks: tuple[str, ...], *subjects: str) -> Error:
    return Error(streams, part.urdf, checks, subjects)


def _with_columns(streams: RobotStreams, k: int, change: Callable[[Array], Array]) -> RobotStreams:
    """Change positions (0), velocities (1) or efforts (2)."""
    n = streams.n_joints
    values = streams.joints.values.copy()
    values[:, k * n : (k + 1) * n] = change(values[:, k * n : (k + 1) * n])
    return replace(streams, joints=streams.joints.with_values(values))


def _efforts(
    part: Part, rng: np.random.Generator, factor: float, checks: tuple[str, ...], *, one: bool = True
) -> Error | None:
    telling = part.telling
    if not telling:
        return None
    names = part.clean.case.robot.names
    chosen = [str(rng.choice(telling))] if one else list(names)
    factors = np.where(np.isin(names, chosen), factor, 1.0)
    subjects = chosen if one else [*telling, "joint_states"]
    return _changed(part, part.streams.scaled_joints(2, factors), checks, *subjects)


def _swapped_efforts(part: Part, rng: np.random.Generator) -> Error | None:
    """Swap efforts of two joints whose predicted torques differ by more than the larger of them."""
    telling = part.telling
    if len(telling) < 2:
        return None
    predicted = nominal_torques(part.clean.case.signals.windows)
    predicted = predicted[np.isfinite(predicted).all(axis=1)]
    names = part.clean.case.robot.names
    columns = {name: predicted[:, names.index(name)] for name in telling}
    norm = np.linalg.norm
    pairs = [
        (a, b)
        for a in telling
        for b in telling
        if a < b and norm(columns[a] - columns[b]) > max(norm(columns[a]), norm(columns[b]))
    ]
    if not pairs:
        return None
    a, b = pairs[int(rng.integers(len(pairs)))]
    order = np.arange(len(names))
    i, j = names.index(a), names.index(b)
    order[[i, j]] = j, i
    streams = _with_columns(part.streams, 2, lambda tau: tau[:, order])
    return _changed(part, streams, ("effort order", "effort sign", "effort unit"), a, b)


def _late_columns(part: Part, k: int, check: str) -> Error | None:
    if not _told(part, check):
        return None
    stream = part.streams.joints
    t = (stream.stamps_ns - stream.stamps_ns[0]) / NANOSECONDS

    def late(values: Array) -> Array:
        return np.column_stack([np.interp(t - LATE_S, t, column) for column in values.T])

    changed = _with_columns(part.streams, k, late)
    return _changed(part, replace(changed, joints=changed.joints.kept(t > LATE_S)), (check,))


def _degrees(part: Part, rng: np.random.Generator) -> Error | None:
    return _changed(
        part, _with_columns(part.streams, 0, lambda q: q * DEGREES), ("joint positions",), "joint_states"
    )


def _turned(part: Part, rng: np.random.Generator) -> Error | None:
    robot = part.clean.case.robot
    limited = np.flatnonzero(robot.upper - robot.lower < TURN)
    if not len(limited):
        return None
    j, sign = int(rng.choice(limited)), rng.choice((-1.0, 1.0))
    streams = _with_columns(part.streams, 0, lambda q: q + sign * TURN * (np.arange(q.shape[1]) == j))
    return _changed(part, streams, ("joint positions",), robot.names[j])


def _mirrored(part: Part, rng: np.random.Generator) -> Error | None:
    """Flip position and velocity of a joint whose torque or foot depends on it."""
    candidates = [name for name in part.leading if _travels(part, name)]
    if not candidates:
        return None
    name = str(rng.choice(candidates))
    streams = part.streams.mirrored_joint(part.clean.case.robot.names.index(name))
    return _changed(part, streams, ("joint sign",), name)


def _travels(part: Part, name: str) -> bool:
    table = part.clean.case.signals.windows
    q = table.q[:, part.clean.case.robot.names.index(name)]
    return bool(np.sqrt(np.mean(q**2)) > 0.3)


def _swapped_names(part: Part, rng: np.random.Generator) -> Error | None:
    """Swap all of two joints that are in different positions."""
    leading = part.leading
    names = part.clean.case.robot.names
    q = part.clean.case.signals.windows.q
    pairs = [
        (a, b)
        for a in leading
        for b in leading
        if a < b and np.sqrt(np.mean((q[:, names.index(a)] - q[:, names.index(b)]) ** 2)) > 0.4
    ]
    if not pairs:
        return None
    a, b = pairs[int(rng.integers(len(pairs)))]
    n, i, j = len(names), names.index(a), names.index(b)
    order = np.arange(3 * n)
    for k in range(3):
        order[[k * n + i, k * n + j]] = k * n + j, k * n + i
    streams = replace(
        part.streams, joints=part.streams.joints.with_values(part.streams.joints.values[:, order])
    )
    return _changed(part, streams, ("joint order",), a, b)


def _renamed(part: Part, rng: np.random.Generator) -> Error | None:
    n = part.streams.n_joints
    j = int(rng.integers(n))
    values = part.streams.joints.values.copy()
    values[:, [j, n + j, 2 * n + j]] = np.nan
    joints = part.streams.joints.with_values(values)
    streams = replace(part.streams, joints=joints, missing=(part.clean.case.robot.names[j],))
    return _changed(part, streams, ("joint names",))


def _velocities(part: Part, rng: np.random.Generator, factor: float) -> Error | None:
    table = part.clean.case.signals.windows
    moving = (np.sqrt(np.mean(table.dq**2, axis=0)) > MOVING) & (table.q.std(axis=0) > TRAVEL)
    moving &= np.isfinite(table.v).all(axis=0)
    if not moving.any():
        return None
    j = int(rng.choice(np.flatnonzero(moving)))
    factors = np.where(np.arange(len(moving)) == j, factor, 1.0)
    names = part.clean.case.robot.names
    return _changed(part, part.streams.scaled_joints(1, factors), ("joint velocities",), names[j])


def _gyroscope(part: Part, rate: Array, checks: tuple[str, ...]) -> Error | None:
    if part.streams.imu is None or not _told(part, "gyroscope axes"):
        return None
    return _changed(part, part.streams.turned_imu(rate=rate), checks)


def _flipped(part: Part, rng: np.random.Generator) -> Error | None:
    signs = np.ones(3)
    signs[int(rng.integers(3))] = -1.0
    return _gyroscope(part, np.diag(signs), ("gyroscope axes",))


def _gyroscope_axes(part: Part, rng: np.random.Generator) -> Error | None:
    order = [[1, 0, 2], [2, 1, 0], [0, 2, 1]][int(rng.integers(3))]
    return _gyroscope(part, np.eye(3)[order], ("gyroscope axes",))


def _accelerometer(part: Part, force: Array, checks: tuple[str, ...]) -> Error | None:
    if part.streams.imu is None:
        return None
    return _changed(part, part.streams.turned_imu(force=force), checks)


def _mounting(part: Part, rng: np.random.Generator) -> Error | None:
    if part.streams.imu is None or not _told(part, "gyroscope axes"):
        return None
    axis = rng.normal(size=3)
    R = exp_so3(np.radians(rng.uniform(20.0, 180.0)) * axis / np.linalg.norm(axis))
    return _changed(part, part.streams.turned_imu(R, R), ("IMU mounting",))


def _late_imu(part: Part, rng: np.random.Generator) -> Error | None:
    if part.streams.imu is None or not _told(part, "IMU delay"):
        return None
    return _changed(part, part.streams.delayed({"imu/data": LATE_S}), ("IMU delay",))


def _clock(part: Part, rng: np.random.Generator) -> Error | None:
    if part.streams.imu is None:
        return None
    stamps = part.streams.imu.stamps_ns + round(rng.uniform(0.5, 30.0) * NANOSECONDS)
    return _changed(part, replace(part.streams, imu=replace(part.streams.imu, stamps_ns=stamps)), ("clock",))


def _stuck(part: Part, rng: np.random.Generator) -> Error | None:
    if part.streams.imu is None:
        return None
    stream = part.streams.imu
    values = stream.values.copy()
    count = round(stream.size / _span_s(stream))
    first = int(rng.integers(count, stream.size - 2 * count))
    columns = slice(0, 6) if rng.random() < 0.5 else slice(int(rng.integers(6)), None)
    if columns.start:
        columns = slice(columns.start, columns.start + 1)
    values[first : first + count, columns] = values[first, columns]
    return _changed(part, replace(part.streams, imu=stream.with_values(values)), ("stuck",))


def _saturated(part: Part, rng: np.random.Generator) -> Error | None:
    if part.streams.imu is None:
        return None
    values = part.streams.imu.values.copy()
    column = 3 + int(np.argmax(values[:, 3:].std(axis=0)))
    limit = float(np.quantile(np.abs(values[:, column]), 0.98))
    values[:, column] = np.clip(values[:, column], -limit, limit)
    return _changed(part, replace(part.streams, imu=part.streams.imu.with_values(values)), ("saturated",))


def _wrenches(
    part: Part, rng: np.random.Generator, factor: float, checks: tuple[str, ...], *, one: bool = True
) -> Error | None:
    contacts = list(part.streams.wrenches)
    if not contacts:
        return None
    chosen = [str(rng.choice(contacts))] if one else contacts
    streams = part.streams.changed_wrenches(chosen, lambda values: factor * values)
    return _changed(part, streams, checks)


def _late_wrenches(part: Part, rng: np.random.Generator) -> Error | None:
    if not _told(part, "wrench delay"):
        return None
    shifts = {f"{name}/wrench": LATE_S for name in part.streams.wrenches}
    return _changed(part, part.streams.delayed(shifts), ("wrench delay",))


def _span_s(stream: Stream) -> float:
    return float(stream.stamps_ns[-1] - stream.stamps_ns[0]) / NANOSECONDS


def _drawn_input(part: Part, rng: np.random.Generator) -> str:
    return str(rng.choice(list(part.streams.by_name)))


def _gaps(part: Part, rng: np.random.Generator) -> Error | None:
    """Take three pieces of half a second out of one input."""
    chosen = _drawn_input(part, rng)
    stream = part.streams.by_name[chosen]
    t = (stream.stamps_ns - stream.stamps_ns[0]) / NANOSECONDS
    begins = (np.array([0.2, 0.5, 0.8]) + rng.uniform(-0.05, 0.05, 3)) * t[-1]
    kept = ~((t[:, None] > begins) & (t[:, None] < begins + 0.5)).any(axis=1)
    streams = part.streams.changed(lambda name, one: one.kept(kept) if name == chosen else one)
    return _changed(part, streams, ("gaps",), chosen)


def _bursts(part: Part, rng: np.random.Generator) -> Error | None:
    """Stamp the readings of one input when they arrive: eight at once."""
    chosen = _drawn_input(part, rng)

    def arrived(name: str, stream: Stream) -> Stream:
        if name != chosen:
            return stream
        last = np.minimum(np.arange(stream.size) // 8 * 8 + 7, stream.size - 1)
        within = np.arange(stream.size) % 8
        return replace(stream, stamps_ns=stream.stamps_ns[last] + within * 50_000)

    return _changed(part, part.streams.changed(arrived), ("bursts",), chosen)


def _mass(part: Part, rng: np.random.Generator, factor: float) -> Error | None:
    """Change the mass of a link that the clean data inform."""
    report = part.clean.inertia
    if report is None or not report.holds or any(r.failed for r in part.clean.results):
        return None
    masses, total = report.fit.masses, float(report.rows.masses.sum())
    elements = {link.get("name"): link for link in ET.fromstring(part.urdf).iter("link")}
    links = [
        link
        for link in report.rows.links
        if masses[link] > SHARE * total
        and report.fit.mass_sigma[link] < CERTAIN * masses[link]
        and _mass_of(elements[link]) > 0.5 * masses[link]
    ]
    if not links:
        return None
    link = str(rng.choice(links))
    return Error(
        part.streams,
        scaled_link(part.urdf, link, factor),
        ("link mass", "link centre of mass", "masses", "effort scale"),
        (link,),
    )


def _mass_of(link: ET.Element) -> float:
    mass = link.find("inertial/mass")
    return 0.0 if mass is None else float(mass.get("value", "0"))


def scaled_link(urdf: str, name: str, factor: float) -> str:
    """Return a description with mass and inertia of a link times a factor."""
    root = ET.fromstring(urdf)
    for link in root.iter("link"):
        mass, inertia = link.find("inertial/mass"), link.find("inertial/inertia")
        if link.get("name") == name and mass is not None:
            mass.set("value", repr(float(mass.get("value", "0")) * factor))
            for axis in () if inertia is None else inertia.attrib:
                inertia.set(axis, repr(float(inertia.get(axis)) * factor))
    return ET.tostring(root, encoding="unicode")
