"""Errors that are injected into recordings, to evaluate the findings of `check`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from benchmarks.referee.readings import changed, of_type
from inertial_estimation import ImuSample, JointReading, WrenchSample
from inertial_estimation.models.bodies import BodyPlacements

LATE_NS = 60_000_000
DEGREES, GRAVITY = 180.0 / np.pi, 9.80665
TELLING = 0.15  # smallest ratio of a joint's rms effort to the largest one for its effort to be checked
TRAVEL, AWAY = 0.15, 0.3  # travel of a moving joint, and rms position from which its sign matters [rad]
QUARTER = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # turn about x
ABOUT_Z = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
Changed = tuple[Any, str]  # changed recording, and the subject that must be named; empty: any
Inject = Callable[[Any, np.random.Generator], Changed | None]
Joints = Sequence[JointReading]


class Kind(NamedTuple):
    """A kind of error: the checks of which one has to name it, and the function that injects it.

    The function returns the changed recording and the subject; None if the recording cannot show the error.
    """

    checks: tuple[str, ...]
    inject: Inject


def every(kind: type, change: Callable[[Any], Any], needs: str = "stamp_ns") -> Inject:
    """Return a function that changes all samples of a type, if they have the quantity `needs`."""

    def inject(recording: Any, _rng: np.random.Generator) -> Changed | None:
        samples = [entry.sample for entry in recording.messages[:1000] if isinstance(entry.sample, kind)]
        there = any(getattr(sample, needs) is not None for sample in samples)
        return (changed(recording, of_type(kind, change)), "") if there else None

    return inject


def joint_states(recording: Any) -> Joints:
    """Return the joint states."""
    return [entry.sample for entry in recording.messages if isinstance(entry.sample, JointReading)]


def with_effort(joints: Joints) -> np.ndarray:
    """Return the indices of joints with large efforts, on which errors are visible."""
    if joints[0].effort is None:
        return np.zeros(0, int)
    rms = np.sqrt(np.mean(np.array([s.effort for s in joints]) ** 2, axis=0))
    return np.flatnonzero(rms > TELLING * rms.max())


def that_travel(joints: Joints) -> np.ndarray:
    """Return the indices of joints that move."""
    return np.flatnonzero(np.ptp(np.array([s.position for s in joints]), axis=0) > TRAVEL)


def away_from_zero(joints: Joints) -> np.ndarray:
    """Return the indices of joints with large efforts whose positions are away from zero."""
    away = np.sqrt(np.mean(np.array([s.position for s in joints]) ** 2, axis=0)) > AWAY
    found = with_effort(joints)
    return found[away[found]]


def one_joint(
    showing: Callable[[Joints], np.ndarray], factor: float, *quantities: str, offset: float = 0.0
) -> Inject:
    """Return a function that changes quantities of a random joint among those of `showing`."""

    def inject(recording: Any, rng: np.random.Generator) -> Changed | None:
        joints = joint_states(recording)
        found, names = showing(joints), joints[0].names
        if not len(found) or getattr(joints[0], quantities[0]) is None:
            return None
        j = int(rng.choice(found))
        chosen = np.arange(len(names)) == j
        a, b = np.where(chosen, factor, 1.0), np.where(chosen, offset, 0.0)

        def change(s: JointReading) -> JointReading:
            values = {name: getattr(s, name) for name in quantities}
            return replace(s, **{name: a * value + b for name, value in values.items() if value is not None})

        return changed(recording, of_type(JointReading, change)), names[j]

    return inject


def renamed(recording: Any, rng: np.random.Generator) -> Changed:
    """Give a joint another name."""
    names = joint_states(recording)[0].names
    old = str(rng.choice(names))
    new = tuple("renamed" if name == old else name for name in names)
    return changed(recording, of_type(JointReading, lambda s: replace(s, names=new))), ""


def efforts(factor: float) -> Inject:
    """Return a function that multiplies the efforts of all joints."""
    return every(JointReading, lambda s: replace(s, effort=factor * s.effort), "effort")


def imu(rate: np.ndarray, force: np.ndarray) -> Inject:
    """Return a function that multiplies the readings of the IMU by matrices."""
    return every(
        ImuSample, lambda s: ImuSample(s.stamp_ns, force @ s.specific_force_I, rate @ s.angular_rate_I)
    )


def imu_later(shift_ns: int) -> Inject:
    """Return a function that shifts the stamps of the IMU to later times."""
    return every(ImuSample, lambda s: replace(s, stamp_ns=s.stamp_ns + shift_ns))


def wrench_topics(recording: Any) -> list[str]:
    """Return the topics of the contacts' wrenches."""
    return sorted(topic for topic in recording.topics if topic.endswith("/wrench"))


def turned_wrench(recording: Any, rng: np.random.Generator) -> Changed | None:
    """Reverse the sign of one contact's wrench."""
    topics = wrench_topics(recording)
    if not topics:
        return None
    turn = of_type(WrenchSample, lambda s: replace(s, wrench_F=-s.wrench_F), str(rng.choice(topics)))
    return changed(recording, turn), ""


def exchanged(recording: Any, _rng: np.random.Generator) -> Changed | None:
    """Exchange the wrenches of the first two contacts."""
    topics = wrench_topics(recording)
    if len(topics) < 2:
        return None
    other = {topics[0]: topics[1], topics[1]: topics[0]}
    return changed(recording, lambda e: replace(e, topic=other.get(e.topic, e.topic))), ""


def stuck(recording: Any, rng: np.random.Generator) -> Changed | None:
    """Let the IMU repeat a reading for a second in the middle."""
    begin, held = (recording.start_ns + recording.end_ns) // 2, []

    def repeated(s: ImuSample) -> ImuSample:
        if not begin < s.stamp_ns < begin + 1_000_000_000:
            return s
        held.append(s)
        return replace(held[0], stamp_ns=s.stamp_ns)

    return every(ImuSample, repeated)(recording, rng)


def gaps(recording: Any, _rng: np.random.Generator) -> Changed:
    """Lose the joint states of three times half a second."""
    length = recording.end_ns - recording.start_ns
    begins = np.array([recording.start_ns + length * k // 4 for k in (1, 2, 3)])

    def lost(entry: Any) -> bool:
        since = entry.log_ns - begins
        return isinstance(entry.sample, JointReading) and bool(((since > 0) & (since < 500_000_000)).any())

    return replace(recording, messages=tuple(e for e in recording.messages if not lost(e))), ""


def without_gravity(setup: Any) -> Inject:
    """Return a function that subtracts the torques of gravity from the efforts of an arm, as some drivers."""

    def inject(recording: Any, rng: np.random.Generator) -> Changed | None:
        robot, data, names = setup.robot, setup.robot.model.createData(), joint_states(recording)[0].names
        if robot.floating_base:
            return None
        own = [names.index(name) for name in robot.joint_names]

        def without(s: JointReading) -> JointReading:
            effort = np.array(s.effort)
            q = robot.configuration(np.asarray(s.position)[own])
            effort[own] -= pin.computeGeneralizedGravity(robot.model, data, q)
            return replace(s, effort=effort)

        return every(JointReading, without, "effort")(recording, rng)

    return inject


def in_base_axes(setup: Any) -> Inject:
    """Return a function that rotates contact wrenches to the axes of the base, as many state estimators."""

    def inject(recording: Any, _rng: np.random.Generator) -> Changed | None:
        robot, frames = setup.robot, {f"/{c.name}/wrench": c.wrench_frame for c in setup.contacts}
        if not robot.floating_base or not wrench_topics(recording):
            return None
        names, bodies = joint_states(recording)[0].names, BodyPlacements(robot)
        own = [names.index(name) for name in robot.joint_names]

        def turned(entry: Any) -> Any:
            if isinstance(entry.sample, JointReading):
                bodies.update(np.asarray(entry.sample.position)[own])
            elif isinstance(entry.sample, WrenchSample) and entry.topic in frames:
                R_BF, _position = bodies.frame_B(frames[entry.topic])
                wrench = (np.reshape(entry.sample.wrench_F, (2, 3)) @ R_BF.T).ravel()
                return replace(entry, sample=replace(entry.sample, wrench_F=wrench))
            return entry

        return changed(recording, turned), ""

    return inject


ONE = np.eye(3)
IN_DEGREES = every(JointReading, lambda s: replace(s, position=DEGREES * s.position))
IN_KN = every(WrenchSample, lambda s: replace(s, wrench_F=1e-3 * s.wrench_F))
DIRECTION = ("accelerometer direction", "IMU mounting")
KINDS: Mapping[str, Kind] = {
    "effort sign, one joint": Kind(("effort sign",), one_joint(with_effort, -1.0, "effort")),
    "effort in mNm, one joint": Kind(("effort unit",), one_joint(with_effort, 1e3, "effort")),
    "efforts of the other sign, all": Kind(("effort sign",), efforts(-1.0)),
    "efforts times 30, all": Kind(("effort unit", "effort scale"), efforts(30.0)),
    "efforts in percent of a servo, all": Kind(("effort unit", "effort scale"), efforts(34.0)),
    "positions in degrees": Kind(("joint positions",), IN_DEGREES),
    "position sign, one joint": Kind(
        ("joint sign",), one_joint(away_from_zero, -1.0, "position", "velocity")
    ),
    "position 8 deg off, one joint": Kind(
        ("joint offset", "effort zero"), one_joint(with_effort, 1.0, "position", offset=0.14)
    ),
    "joint renamed": Kind(("joint names",), renamed),
    "velocity sign, one joint": Kind(("joint velocities",), one_joint(that_travel, -1.0, "velocity")),
    "velocity in deg/s, one joint": Kind(("joint velocities",), one_joint(that_travel, DEGREES, "velocity")),
    "gyroscope in deg/s": Kind(("gyroscope scale", "gyroscope"), imu(DEGREES * ONE, ONE)),
    "gyroscope of the other sign": Kind(("gyroscope axes",), imu(-ONE, ONE)),
    "accelerometer in g": Kind(("accelerometer size",), imu(ONE, ONE / GRAVITY)),
    "accelerometer of the other sign": Kind(DIRECTION, imu(ONE, -ONE)),
    "IMU turned by 90 deg": Kind(DIRECTION, imu(QUARTER, QUARTER)),
    "IMU turned by 90 deg about the vertical": Kind((*DIRECTION, "gyroscope axes"), imu(ABOUT_Z, ABOUT_Z)),
    "IMU 60 ms late": Kind(("IMU delay",), imu_later(LATE_NS)),
    "IMU 20 ms late": Kind(("IMU delay",), imu_later(LATE_NS // 3)),
    "IMU with another clock": Kind(("clock",), imu_later(7_000_000_000)),
    "IMU stuck for 1 s": Kind(("stuck",), stuck),
    "wrench sign, one contact": Kind(("contact wrench sign", "contact weight"), turned_wrench),
    "wrenches in kN, all": Kind(("contact wrench unit", "contact weight"), IN_KN),
    "contacts exchanged": Kind(("contact names",), exchanged),
    "joint states missing, three times 0.5 s": Kind(("gaps",), gaps),
}


def kinds_of(setup: Any) -> Mapping[str, Kind]:
    """Return all kinds, including those that need the model of the robot."""
    return {
        **KINDS,
        "efforts without gravity": Kind(("efforts without gravity",), without_gravity(setup)),
        "wrenches in the axes of the base": Kind(("contact wrench axes",), in_base_axes(setup)),
    }
