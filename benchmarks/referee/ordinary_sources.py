"""Sources as drivers send them: bursts, other frames and clocks, delays, an IMU alone, Unitree's LowState."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import checked, ran, written
from benchmarks.referee.gait_sensors import gait_recording
from benchmarks.referee.gaits import RATE_HZ, quadruped, readings_of, tilt_errors
from benchmarks.referee.ordinary import case
from inertial_estimation import (
    BagRecording,
    ImuSample,
    JointReading,
    WrenchSample,
)
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.recordings.bag_writer import BagWriter

ROBOT, IMU_TOPIC = "go2", "/imu/data"
LENGTH_S, COUNTED_FROM_S = 8.0, 4.0  # 2 s of rest, 1 s of fading in
PERIOD_S = 0.02  # in each of which there is an estimate, nearly always
TILT = ("--config", ROBOT, "--only", "tilt_observer", "--no-figures")
Change = Callable[[Any], Any]
IMU_STATE = """float32[4] quaternion
float32[3] gyroscope
float32[3] accelerometer
float32[3] rpy
int8 temperature"""
MOTOR_STATE = """uint8 mode
float32 q
float32 dq
float32 ddq
float32 tau_est
float32 q_raw
float32 dq_raw
float32 ddq_raw
int8 temperature
uint32 lost
uint32[2] reserve"""
LOW_STATE = f"""uint8[2] head
uint8 level_flag
unitree_go/IMUState imu_state
unitree_go/MotorState[20] motor_state
int16[4] foot_force
int16[4] foot_force_est
uint32 tick
{"=" * 80}
MSG: unitree_go/IMUState
{IMU_STATE}
{"=" * 80}
MSG: unitree_go/MotorState
{MOTOR_STATE}
"""  # the fields that count, of github.com/unitreerobotics/unitree_ros2


@cache
def trot() -> tuple[Any, Any]:
    """Return what a trotting quadruped's sensors read, and the same as a recording."""
    setup, readings = readings_of(ROBOT, "trot", 0, LENGTH_S)
    return readings, gait_recording(setup, readings)


@cache
def clean() -> float:
    """Return the rms error of the tilt from the recording as it is [deg]."""
    readings, recording = trot()
    return tilt_rms(recording, readings)


def changed(recording: Any, change: Change) -> Any:
    """Return a recording with every entry changed, in the order of its new times."""
    messages = tuple(sorted(map(change, recording.messages), key=lambda entry: entry.log_ns))
    return replace(recording, messages=messages)


def of_samples(kind: type, change: Change) -> Change:
    """Return what changes the samples of one type."""
    return lambda e: replace(e, sample=change(e.sample)) if isinstance(e.sample, kind) else e


def tilt_rms(recording: Any, readings: Any, overrides: Sequence[tuple[str, Any]] = ()) -> float:
    """Return the rms error of the tilt in the trot [deg]; NaN with estimates in less than 95 %."""
    error, _sigma = tilt_errors(ROBOT, quadruped(ROBOT)[1], readings, overrides, recording)
    counted = readings.times_s > COUNTED_FROM_S
    periods = (readings.times_s[counted] / PERIOD_S).astype(int)
    given = np.unique(periods[np.isfinite(error[counted])])
    if len(given) < 0.95 * len(np.unique(periods)):
        return np.nan
    return float(np.sqrt(np.nanmean(error[counted] ** 2)))


def worse(error: float, factor: float = 1.25, least: float = 0.03) -> str:
    """Return what is wrong if an error is larger than a clean recording's by more than a share and a rest."""
    return "" if error <= factor * clean() + least else f"tilt {error:.3f} deg, clean {clean():.3f} deg"


def in_bursts(recording: Any, share: float, seed: int = 1) -> Any:
    """Return a recording in which stamps of the IMU are late now and then, by up to 8 ms."""
    rng = np.random.default_rng(seed)
    stamps = np.array([e.sample.stamp_ns for e in recording.messages if isinstance(e.sample, ImuSample)])
    late, k = stamps.copy(), 0
    while k < len(stamps):
        n = int(rng.integers(2, 5))
        if rng.random() < share:  # a stall: all of them are stamped once it is over, 0.1 ms apart
            group = slice(k, min(k + n, len(stamps)))
            late[group] = stamps[group][-1] + 100_000 * np.arange(len(stamps[group]))
        k += n
    stamped = iter(np.maximum.accumulate(late).tolist())

    def stamp(entry: Any) -> Any:
        if not isinstance(entry.sample, ImuSample):
            return entry
        at = next(stamped)
        return replace(entry, log_ns=at, sample=replace(entry.sample, stamp_ns=at))

    return changed(recording, stamp)


@case("stamps: in bursts, a quarter of the time, in a trot")
def bursts(folder: Path) -> str:
    """`inputs.stamps: auto` makes them even."""
    readings, recording = trot()
    return worse(tilt_rms(in_bursts(recording, 0.25), readings))


@case("stamps: in bursts, all the time, in a trot")
def bursts_always(folder: Path) -> str:
    """As from a driver that reads a full buffer."""
    readings, recording = trot()
    return worse(tilt_rms(in_bursts(recording, 1.0), readings))


@case("stamps: IMU on the boot clock of its board, named")
def board_clock(folder: Path) -> str:
    """The odd one out is named, not the inputs that agree."""
    _readings, recording = trot()
    boot = of_samples(ImuSample, lambda s: replace(s, stamp_ns=s.stamp_ns - 1_699_999_000 * 10**9))
    bag = written(changed(recording, boot), folder / "bag")
    options = (*TILT, "--param", "tilt_observer.contact.source=wrench")
    _code, said = ran("replay", bag, *options, "--output", folder / "replay")
    lines = [line for line in said.splitlines() if "clock" in line]
    if not any("imu/data" in line for line in lines):
        return said.strip()[-150:]
    return ""


@case("stamps: IMU on the boot clock of its board, taken at its arrival on request")
def board_clock_used(folder: Path) -> str:
    """`inputs.arrival: [imu/data]`."""
    readings, recording = trot()
    boot = of_samples(ImuSample, lambda s: replace(s, stamp_ns=s.stamp_ns - 1_699_999_000 * 10**9))
    error = tilt_rms(changed(recording, boot), readings, (("inputs.arrival", ["imu/data"]),))
    return worse(error)


def late(entry: Any) -> Any:
    """Return an IMU message that has been stamped, and sent, 20 ms after its reading."""
    if not isinstance(entry.sample, ImuSample):
        return entry
    at = entry.sample.stamp_ns + 20_000_000
    return replace(entry, log_ns=at, sample=replace(entry.sample, stamp_ns=at))


@case("delay: IMU 20 ms late, found by `check`")
def delay_found(folder: Path) -> str:
    """Its stamps are 20 ms older than the others' of the same motion."""
    _readings, recording = trot()
    found = checked(written(changed(recording, late), folder / "bag"), folder / "check", "--config", ROBOT)
    said = " ".join(
        f"{one['sentence']} {one['remedy']}" for one in found if one["verdict"] in ("wrong", "warn")
    )
    return "" if "late" in said or "delay" in said else f"named: {said[:120] or 'nothing'}"


@case("delay: IMU 20 ms late, taken away by `inputs.imu_delay`")
def delay_used(folder: Path) -> str:
    """A constant delay costs nothing once it is known."""
    readings, recording = trot()
    error = tilt_rms(changed(recording, late), readings, (("inputs.imu_delay", 0.02),))
    return worse(error)


@case("names: joint states with a prefix (go2/FL_hip_joint)")
def prefix(folder: Path) -> str:
    """Recognised without a parameter."""
    readings, recording = trot()
    sent = of_samples(JointReading, lambda s: replace(s, names=tuple(f"go2/{n}" for n in s.names)))
    return worse(tilt_rms(changed(recording, sent), readings))


@case("names: joints in another order in every message, others among them")
def orders(folder: Path) -> str:
    """As from a broadcaster that reads a hash table; a gripper's joints are among them."""
    readings, recording = trot()
    rng = np.random.default_rng(3)

    def shuffled(s: Any) -> Any:
        names = (*s.names, "gripper_left", "gripper_right")
        order = rng.permutation(len(names))
        columns = [np.append(column, [0.01, 0.02])[order] for column in (s.position, s.velocity, s.effort)]
        return JointReading(s.stamp_ns, tuple(names[k] for k in order), *columns)

    sent = changed(recording, of_samples(JointReading, shuffled))
    return worse(tilt_rms(sent, readings))


def rotation_to(frame: str) -> np.ndarray:
    """Return the rotation from the axes of the parameters' IMU frame to those of another one of its link."""
    _file, setup, _posture = quadruped(ROBOT)
    assert setup.imu is not None
    return np.asarray(setup.robot.fixed_transform("imu", frame).rotation.T)


def framed(recording: Any, bag: Path, frame_id: str) -> Path:
    """Write a recording whose IMU messages have a frame in their header."""
    with BagWriter(bag, recording.topics, "mcap") as writer:
        messages = {topic: writer.new(kind) for topic, kind in recording.topics.items()}
        for entry in recording.messages:
            frame = frame_id if entry.topic == IMU_TOPIC else ""
            CONVERSIONS[recording.topics[entry.topic]].to_msg(entry.sample, messages[entry.topic], frame)
            writer.write(entry.topic, entry.log_ns, messages[entry.topic])
    return bag


@case("frames: IMU readings in another frame of the description, by their header")
def other_frame(folder: Path) -> str:
    """The radar's axes are turned by 165 deg to the trunk's."""
    readings, recording = trot()
    R = rotation_to("radar")
    turned = of_samples(
        ImuSample,
        lambda s: ImuSample(s.stamp_ns, R @ s.specific_force_I, R @ s.angular_rate_I),
    )
    with BagRecording(framed(changed(recording, turned), folder / "bag", "radar")) as bag:
        error = tilt_rms(bag, readings)
    return worse(error, 1.5)


@case("frames: IMU readings in a frame that the description does not have, named")
def unknown_frame(folder: Path) -> str:
    """They are taken as the parameters say."""
    _readings, recording = trot()
    bag = framed(recording, folder / "bag", "imu_optical_frame")
    options = (*TILT, "--param", "tilt_observer.contact.source=wrench")
    _code, said = ran("replay", bag, *options, "--output", folder / "replay")
    return "" if "imu_optical_frame" in said else said.strip()[-150:]


@case("frames: forces of the feet in the axes of the base (`wrench_frames`)")
def base_axes(folder: Path) -> str:
    """As a state estimator of a quadruped sends them."""
    readings, recording = trot()
    index = {f"/{name}/wrench": k for k, name in enumerate(quadruped(ROBOT)[1].contact_names)}
    row = {stamp: k for k, stamp in enumerate(sorted({e.sample.stamp_ns for e in recording.messages}))}

    def turned(entry: Any) -> Any:
        if not isinstance(entry.sample, WrenchSample):
            return entry
        k = row[entry.sample.stamp_ns]
        force = readings.forces[k, index[entry.topic]] * readings.up_B[k]
        return replace(entry, sample=replace(entry.sample, wrench_F=np.append(force, np.zeros(3))))

    axes = ("wrench_frames", ["base"] * len(index))
    error = tilt_rms(changed(recording, turned), readings, (axes,))
    return worse(error)


@case("IMU alone (`contacts: []`): not worse than VQF in a trot")
def imu_alone(folder: Path) -> str:
    """A humanoid or a quadruped with an IMU and nothing else."""
    from vqf import VQF

    readings, recording = trot()
    only = {IMU_TOPIC: recording.topics[IMU_TOPIC]}
    messages = tuple(e for e in recording.messages if e.topic == IMU_TOPIC)
    alone = (("contacts", []), ("contact_frames", []))
    error = tilt_rms(replace(recording, messages=messages, topics=only), readings, alone)
    force, rate = readings.imu[:, :3].copy(), readings.imu[:, 3:].copy()
    w, x, y, z = VQF(1.0 / RATE_HZ).updateBatch(rate, force)["quat6D"].T
    up_I = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=1)
    counted = readings.times_s > COUNTED_FROM_S
    cosines = np.clip(np.sum(up_I * readings.up_I, axis=1)[counted], -1.0, 1.0)
    of_vqf = float(np.degrees(np.sqrt(np.mean(np.arccos(cosines) ** 2))))
    return "" if error <= of_vqf else f"tilt {error:.3f} deg, VQF {of_vqf:.3f} deg"


@case("Unitree: LowState in a bag, by `inputs.map: [unitree_go]`")
def low_state(folder: Path) -> str:
    """One topic has IMU, motors and feet; the bag has the definition of its type."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    from inertial_estimation.inputs.field_map import FieldMap
    from inertial_estimation.recordings.bag_writer import empty_message

    readings, recording = trot()
    kind, store = "unitree_go/msg/LowState", get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(LOW_STATE, kind))
    _file, setup, _posture = quadruped(ROBOT)
    names, feet = FieldMap.find("unitree_go").joint_names, ("fr_foot", "fl_foot", "rr_foot", "rl_foot")
    columns = [setup.robot.joint_names.index(name) for name in names]
    contacts = [setup.contact_names.index(foot) for foot in feet]
    message = empty_message(store, kind)
    with Writer(folder / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/lowstate", kind, typestore=store)
        for k, t in enumerate(readings.times_s):
            message.imu_state.accelerometer = readings.imu[k, :3].astype(np.float32)
            message.imu_state.gyroscope = readings.imu[k, 3:].astype(np.float32)
            for motor, joint in zip(message.motor_state, columns, strict=False):
                motor.q, motor.dq, motor.tau_est = (
                    float(values[k, joint]) for values in (readings.q, readings.v, readings.tau)
                )
            force = np.linalg.norm(readings.wrenches[k, contacts, :3], axis=1)
            message.foot_force = np.round(2.0 * force + 20.0).astype(np.int16)  # no unit, with an offset
            log_ns = recording.start_ns + round(t * 1e9)
            writer.write(connection, log_ns, store.serialize_cdr(message, kind))
    overrides = (("contact.source", "raw_force"), ("inputs.map", ["unitree_go"]))
    with BagRecording(folder / "bag") as bag:
        error = tilt_rms(bag, readings, overrides)
    return worse(error, 1.5, 0.1)
