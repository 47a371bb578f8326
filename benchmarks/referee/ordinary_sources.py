"""Sources of real robots: constant foot sensors, switches, other frames, an IMU alone, Unitree's LowState."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from benchmarks.referee.gait_motion import gait_motion
from benchmarks.referee.gait_sensors import feet_at_rest, gait_readings, gait_recording
from benchmarks.referee.gaits import GAITS, RATE_HZ, quadruped
from benchmarks.referee.ordinary import COUNTED_FROM_S, ROBOT, Cases, replayed, tilt_rms, trot, worse
from benchmarks.referee.readings import changed, of_type
from inertial_estimation import BagRecording, ImuSample, WrenchSample
from inertial_estimation.inputs.field_map import FieldMap
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.recordings.bag_writer import empty_message, new_bag

IMU_TOPIC, SWITCH = "/imu/data", "std_msgs/msg/Bool"
LOW_STATE = f"""uint8[2] head
uint8 level_flag
unitree_go/IMUState imu_state
unitree_go/MotorState[20] motor_state
int16[4] foot_force
uint32 tick
{"=" * 80}
MSG: unitree_go/IMUState
float32[4] quaternion
float32[3] gyroscope
float32[3] accelerometer
{"=" * 80}
MSG: unitree_go/MotorState
uint8 mode
float32 q
float32 dq
float32 ddq
float32 tau_est
int8 temperature
"""  # the fields that count, of github.com/unitreerobotics/unitree_ros2
case = Cases()


def sent(recording: Any, bag: Path, frame_id: str = "", *, switches: bool = False) -> Path:
    """Write a recording whose IMU messages have a frame id, or whose foot sensors are switches."""
    on_off = {name for name in recording.topics if switches and name.endswith("/wrench")}
    topics = {name: SWITCH if name in on_off else kind for name, kind in recording.topics.items()}
    with new_bag(bag, topics) as writer:
        messages = {topic: writer.new(kind) for topic, kind in topics.items()}
        for entry in recording.messages:
            message = messages[entry.topic]
            if entry.topic in on_off:
                message.data = bool(entry.sample.wrench_F[2] > 10.0)
            else:
                frame = frame_id if entry.topic == IMU_TOPIC else ""
                CONVERSIONS[topics[entry.topic]].to_msg(entry.sample, message, frame)
            writer.write(entry.topic, entry.log_ns, message)
    return bag


@case("feet: integer sensors that stand still do not silence the orientation (Go1)")
def quiet_feet(_folder: Path) -> str:
    """From 2 s on all four sensors repeat an integer, as those of a standing robot."""
    _file, setup, posture = quadruped(ROBOT)
    motion, sensors = GAITS["walk"]
    rng, feet = np.random.default_rng(0), feet_at_rest(setup, posture)
    moved = gait_motion(replace(motion, rest_s=8.0), feet, 8.0, RATE_HZ, rng)
    readings = gait_readings(setup, posture, moved, sensors, rng)
    recording = gait_recording(setup, readings)
    held_from = recording.start_ns + 2_000_000_000
    last: dict[str, np.ndarray] = {}

    def quiet(entry: Any) -> Any:
        if not isinstance(entry.sample, WrenchSample):
            return entry
        value = np.round(entry.sample.wrench_F)
        if entry.sample.stamp_ns > held_from:
            value = last.setdefault(entry.topic, value)
        return replace(entry, sample=replace(entry.sample, wrench_F=value))

    silent = np.isnan(tilt_rms(changed(recording, quiet), readings))
    return "estimates in less than 95 % of the time" if silent else ""


@case("contacts: on or off (std_msgs/Bool)")
def switched(folder: Path) -> str:
    """A foot reports whether it is in contact; no node converts this to forces."""
    bag = sent(trot()[1], folder / "bag", switches=True)
    code, text = replayed(bag, folder, "--param", "tilt_observer.contact.source=switch")
    return text.strip()[-150:] if code else ""


@case("frames: IMU readings in another frame of the description, by their header")
def other_frame(folder: Path) -> str:
    """The radar's axes are turned by 165 deg to the trunk's."""
    R = np.asarray(quadruped(ROBOT)[1].robot.fixed_transform("imu", "radar").rotation.T)
    turned = of_type(ImuSample, lambda s: ImuSample(s.stamp_ns, R @ s.specific_force_I, R @ s.angular_rate_I))
    with BagRecording(sent(changed(trot()[1], turned), folder / "bag", "radar")) as bag:
        return worse(bag, factor=1.5)


@case("frames: IMU readings in a frame that the description does not have, named")
def unknown_frame(folder: Path) -> str:
    """The frame of the parameters is used."""
    text = replayed(sent(trot()[1], folder / "bag", "imu_optical_frame"), folder)[1]
    return "" if "imu_optical_frame" in text else text.strip()[-150:]


@case("frames: forces of the feet in the axes of the base (`wrench_frames`)")
def base_axes(_folder: Path) -> str:
    """As published by a state estimator of a quadruped."""
    readings, recording = trot()
    index = {f"/{name}/wrench": k for k, name in enumerate(quadruped(ROBOT)[1].contact_names)}
    row = {stamp: k for k, stamp in enumerate(sorted({e.sample.stamp_ns for e in recording.messages}))}

    def turned(entry: Any) -> Any:
        if not isinstance(entry.sample, WrenchSample):
            return entry
        k = row[entry.sample.stamp_ns]
        force = readings.forces[k, index[entry.topic]] * readings.up_B[k]
        return replace(entry, sample=replace(entry.sample, wrench_F=np.append(force, np.zeros(3))))

    return worse(changed(recording, turned), ("wrench_frames", ["base"] * len(index)))


@case("IMU alone (`contacts: []`): not worse than VQF in a trot")
def imu_alone(_folder: Path) -> str:
    """A humanoid or a quadruped with an IMU and nothing else."""
    from vqf import VQF

    readings, recording = trot()
    messages = tuple(e for e in recording.messages if e.topic == IMU_TOPIC)
    only = replace(recording, messages=messages, topics={IMU_TOPIC: recording.topics[IMU_TOPIC]})
    error = tilt_rms(only, readings, (("contacts", []), ("contact_frames", [])))
    force, rate = readings.imu[:, :3].copy(), readings.imu[:, 3:].copy()
    w, x, y, z = VQF(1.0 / RATE_HZ).updateBatch(rate, force)["quat6D"].T
    up_I = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=1)
    counted = readings.times_s > COUNTED_FROM_S
    cosines = np.clip(np.sum(up_I * readings.up_I, axis=1)[counted], -1.0, 1.0)
    of_vqf = float(np.degrees(np.sqrt(np.mean(np.arccos(cosines) ** 2))))
    return "" if error <= of_vqf else f"tilt {error:.3f} deg, VQF {of_vqf:.3f} deg"


@case("Unitree: LowState in a bag, by `inputs.map: [unitree_go]`")
def low_state(folder: Path) -> str:
    """One topic carries IMU, motors and feet; the bag contains the definition of its type."""
    readings, recording = trot()
    kind, store = "unitree_go/msg/LowState", get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(LOW_STATE, kind))
    setup = quadruped(ROBOT)[1]
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
                values = (readings.q, readings.v, readings.tau)
                motor.q, motor.dq, motor.tau_est = (float(of_all[k, joint]) for of_all in values)
            force = np.linalg.norm(readings.wrenches[k, contacts, :3], axis=1)
            message.foot_force = np.round(2.0 * force + 20.0).astype(np.int16)  # no unit, with an offset
            log_ns = recording.start_ns + round(t * 1e9)
            writer.write(connection, log_ns, store.serialize_cdr(message, kind))
    source = (("contact.source", "raw_force"), ("inputs.map", ["unitree_go"]))
    with BagRecording(folder / "bag") as bag:
        return worse(bag, *source, factor=1.5, least=0.1)
