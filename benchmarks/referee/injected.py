"""Errors that are injected into recordings, to judge what `check` says of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inertial_estimation import ImuSample, JointReading, WrenchSample

LATE_NS = 60_000_000
DEGREES, GRAVITY = 180.0 / np.pi, 9.80665
TELLING = 0.15  # rms effort of a joint over the largest one, from which on its effort can be judged
TRAVEL, AWAY = 0.15, 0.3  # [rad], of a joint that moves, and rms position of one whose sign shows
Changed = tuple[Any, str]  # recording, and the subject that has to be named; empty: none
Inject = Callable[[Any, np.random.Generator], Changed | None]


@dataclass(frozen=True)
class Kind:
    """A kind of error.

    Attributes:
        checks: Names of the checks, one of which has to name it.
        inject: Returns the changed recording and the subject; None where the recording cannot show the error.
    """

    checks: tuple[str, ...]
    inject: Inject


def of_type(recording: Any, kind: type, change: Callable[[Any], Any], topic: str = "") -> Any:
    """Return a recording in which the samples of a type are changed, on one topic or on all."""
    return replace(
        recording,
        messages=tuple(
            replace(entry, sample=change(entry.sample))
            if isinstance(entry.sample, kind) and topic in ("", entry.topic)
            else entry
            for entry in recording.messages
        ),
    )


def has(recording: Any, kind: type) -> bool:
    """Whether a recording has samples of a type."""
    return any(isinstance(entry.sample, kind) for entry in recording.messages[:1000])


def columns(recording: Any, name: str) -> tuple[tuple[str, ...], np.ndarray] | None:
    """Return the names of the joints and one of their quantities, shape (n, joints); None where not sent."""
    samples = [entry.sample for entry in recording.messages if isinstance(entry.sample, JointReading)]
    if getattr(samples[0], name) is None:
        return None
    return samples[0].names, np.array([getattr(sample, name) for sample in samples])


def telling(recording: Any, quantity: str) -> list[int]:
    """Return the joints on which an error shows: with large efforts, for velocities those that travel."""
    found = columns(recording, "position" if quantity == "velocity" else "effort")
    if found is None or columns(recording, quantity) is None:
        return []
    if quantity == "velocity":
        return np.flatnonzero(np.ptp(found[1], axis=0) > TRAVEL).tolist()
    rms = np.sqrt(np.mean(found[1] ** 2, axis=0))
    return np.flatnonzero(rms > TELLING * rms.max()).tolist()


def one_joint(quantity: str, change: Callable[[np.ndarray, int], np.ndarray]) -> Inject:
    """Return what changes a quantity of a joint that is drawn among the telling ones."""

    def inject(recording: Any, rng: np.random.Generator) -> Changed | None:
        joints = telling(recording, quantity)
        if not joints:
            return None
        j = int(rng.choice(joints))

        def changed(sample: JointReading) -> JointReading:
            return replace(sample, **{quantity: change(np.array(getattr(sample, quantity)), j)})

        names = (columns(recording, quantity) or ((), None))[0]
        return of_type(recording, JointReading, changed), names[j]

    return inject


def scaled(factor: float) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return what multiplies one column."""
    return lambda values, j: values * np.where(np.arange(len(values)) == j, factor, 1.0)


def all_of(kind: type, field: str, change: Callable[[np.ndarray], np.ndarray]) -> Inject:
    """Return what changes a field of all samples of a type."""

    def inject(recording: Any, _rng: np.random.Generator) -> Changed | None:
        if not has(recording, kind) or (kind is JointReading and columns(recording, field) is None):
            return None
        return of_type(
            recording, kind, lambda s: replace(s, **{field: change(np.array(getattr(s, field)))})
        ), ""

    return inject


def mirrored(recording: Any, rng: np.random.Generator) -> Changed | None:
    """Turn position and velocity of a joint whose torque matters, and which is not at zero."""
    found = columns(recording, "position")
    assert found is not None
    away = np.flatnonzero(np.sqrt(np.mean(found[1] ** 2, axis=0)) > AWAY)
    joints = sorted(set(telling(recording, "effort")) & set(away.tolist()))
    if not joints:
        return None
    j = int(rng.choice(joints))

    def turned(s: JointReading) -> JointReading:
        velocity = None if s.velocity is None else scaled(-1.0)(np.array(s.velocity), j)
        return replace(s, position=scaled(-1.0)(np.array(s.position), j), velocity=velocity)

    return of_type(recording, JointReading, turned), found[0][j]


def renamed(recording: Any, rng: np.random.Generator) -> Changed:
    """Give a joint another name."""
    names = (columns(recording, "position") or ((), None))[0]
    old = str(rng.choice(names))
    return of_type(
        recording,
        JointReading,
        lambda s: replace(s, names=tuple("renamed" if name == old else name for name in s.names)),
    ), ""


def turned_imu(R: np.ndarray, *, rate: bool = True, force: bool = True) -> Inject:
    """Return what turns or scales the readings of the IMU."""

    def inject(recording: Any, _rng: np.random.Generator) -> Changed | None:
        if not has(recording, ImuSample):
            return None

        def turned(s: ImuSample) -> ImuSample:
            f, w = s.specific_force_I, s.angular_rate_I
            return replace(s, specific_force_I=R @ f if force else f, angular_rate_I=R @ w if rate else w)

        return of_type(recording, ImuSample, turned), ""

    return inject


def later(kind: type, shift_ns: int) -> Inject:
    """Return what stamps the samples of a type too late."""

    def inject(recording: Any, _rng: np.random.Generator) -> Changed | None:
        if not has(recording, kind):
            return None
        return of_type(recording, kind, lambda s: replace(s, stamp_ns=s.stamp_ns + shift_ns)), ""

    return inject


def one_wrench(factor: float) -> Inject:
    """Return what multiplies the wrench of one contact, or of all where the factor is below 0.1."""

    def inject(recording: Any, rng: np.random.Generator) -> Changed | None:
        topics = sorted(topic for topic in recording.topics if topic.endswith("/wrench"))
        if not topics:
            return None
        topic = "" if 0.0 < factor < 0.1 else str(rng.choice(topics))
        change = lambda s: replace(s, wrench_F=factor * s.wrench_F)  # noqa: E731
        return of_type(recording, WrenchSample, change, topic), ""

    return inject


def exchanged(recording: Any, _rng: np.random.Generator) -> Changed | None:
    """Exchange the wrenches of the first two contacts."""
    topics = sorted(topic for topic in recording.topics if topic.endswith("/wrench"))
    if len(topics) < 2:
        return None
    other = {topics[0]: topics[1], topics[1]: topics[0]}
    messages = tuple(replace(e, topic=other.get(e.topic, e.topic)) for e in recording.messages)
    return replace(recording, messages=messages), ""


def stuck(recording: Any, _rng: np.random.Generator) -> Changed | None:
    """Let the IMU repeat a reading for a second in the middle."""
    if not has(recording, ImuSample):
        return None
    begin, held = (recording.start_ns + recording.end_ns) // 2, []

    def repeated(s: ImuSample) -> ImuSample:
        if not begin < s.stamp_ns < begin + 1_000_000_000:
            return s
        held.append(s)
        return replace(held[0], stamp_ns=s.stamp_ns)

    return of_type(recording, ImuSample, repeated), ""


def gaps(recording: Any, _rng: np.random.Generator) -> Changed:
    """Lose the joint states of three times half a second."""
    length = recording.end_ns - recording.start_ns
    begins = np.array([recording.start_ns + length * k // 4 for k in (1, 2, 3)])

    def lost(entry: Any) -> bool:
        since = entry.log_ns - begins
        return isinstance(entry.sample, JointReading) and bool(((since > 0) & (since < 500_000_000)).any())

    return replace(recording, messages=tuple(e for e in recording.messages if not lost(e))), ""


def quarter() -> np.ndarray:
    """Return a quarter turn about x."""
    return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


KINDS: Mapping[str, Kind] = {
    "effort sign, one joint": Kind(("effort sign",), one_joint("effort", scaled(-1.0))),
    "effort in mNm, one joint": Kind(("effort unit",), one_joint("effort", scaled(1e3))),
    "efforts of the other sign, all": Kind(
        ("effort sign",), all_of(JointReading, "effort", lambda tau: -tau)
    ),
    "efforts times 30, all": Kind(
        ("effort unit", "effort scale"), all_of(JointReading, "effort", lambda tau: 30.0 * tau)
    ),
    "positions in degrees": Kind(
        ("joint positions",), all_of(JointReading, "position", lambda q: q * DEGREES)
    ),
    "position sign, one joint": Kind(("joint sign",), mirrored),
    "position 8 deg off, one joint": Kind(
        ("joint offset", "effort zero"),
        one_joint("position", lambda q, j: q + np.radians(8.0) * (np.arange(len(q)) == j)),
    ),
    "joint renamed": Kind(("joint names",), renamed),
    "velocity sign, one joint": Kind(("joint velocities",), one_joint("velocity", scaled(-1.0))),
    "velocity in deg/s, one joint": Kind(("joint velocities",), one_joint("velocity", scaled(DEGREES))),
    "gyroscope in deg/s": Kind(
        ("gyroscope scale", "gyroscope"), turned_imu(DEGREES * np.eye(3), force=False)
    ),
    "gyroscope of the other sign": Kind(("gyroscope axes",), turned_imu(-np.eye(3), force=False)),
    "accelerometer in g": Kind(("accelerometer size",), turned_imu(np.eye(3) / GRAVITY, rate=False)),
    "accelerometer of the other sign": Kind(
        ("accelerometer direction", "IMU mounting"), turned_imu(-np.eye(3), rate=False)
    ),
    "IMU turned by 90 deg": Kind(("IMU mounting", "accelerometer direction"), turned_imu(quarter())),
    "IMU 60 ms late": Kind(("IMU delay",), later(ImuSample, LATE_NS)),
    "IMU with another clock": Kind(("clock",), later(ImuSample, 7_000_000_000)),
    "IMU stuck for 1 s": Kind(("stuck",), stuck),
    "wrench sign, one contact": Kind(("contact wrench sign", "contact weight"), one_wrench(-1.0)),
    "wrenches in kN, all": Kind(("contact wrench unit", "contact weight"), one_wrench(1e-3)),
    "contacts exchanged": Kind(("contact names",), exchanged),
    "joint states missing, three times 0.5 s": Kind(("gaps",), gaps),
}
