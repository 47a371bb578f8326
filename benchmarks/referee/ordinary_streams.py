"""Streams as drivers send them: feet that stand still, joints in parts, contacts as switches, no stamps."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import ran, written
from benchmarks.referee.gait_motion import gait_motion
from benchmarks.referee.gait_sensors import feet_at_rest, gait_readings, gait_recording
from benchmarks.referee.gaits import GAITS, RATE_HZ, quadruped, readings_of
from benchmarks.referee.ordinary import case
from inertial_estimation import JointReading, ReplayReaders, WrenchSample, build_pipelines, replay_recording
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.recordings.bag_writer import BagWriter

LENGTH_S = 6.0
TILT = ("--config", "go2", "--only", "tilt_observer", "--no-figures")
BY_FORCE = ("--param", "tilt_observer.contact.source=wrench")


def trotting() -> Any:
    """Return a recording of a trotting Go2."""
    return gait_recording(*readings_of("go2", "trot", 0, LENGTH_S))


def share_of_estimates(recording: Any, from_s: float = 1.0) -> float:
    """Return the share of the periods from some time on in which the tilt observer gives an estimate."""
    file = quadruped("go2")[0].overridden([("tilt_observer", "contact.source", "wrench")])
    pipelines = build_pipelines(file, only=["tilt_observer"])
    run = replay_recording(recording, pipelines.topics({}), ReplayReaders(tilt=pipelines.tilt))
    begin = recording.start_ns + round(from_s * 1e9)
    stamps = np.array([estimate.state.stamp_ns for estimate in run.base if estimate.state.stamp_ns > begin])
    periods = int((recording.end_ns - begin) * 1e-9 / 0.02)
    return len(np.unique((stamps - begin) // 20_000_000)) / periods


@case("feet: integer sensors that stand still do not silence the orientation (Go1)")
def quiet_feet(folder: Path) -> str:
    """From 2 s on all four sensors repeat an integer, as those of a standing robot do."""
    _file, setup, posture = quadruped("go2")
    motion, sensors = GAITS["walk"]
    rng = np.random.default_rng(0)
    still = replace(motion, rest_s=8.0)
    readings = gait_readings(
        setup, posture, gait_motion(still, feet_at_rest(setup, posture), 8.0, RATE_HZ, rng), sensors, rng
    )
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

    share = share_of_estimates(replace(recording, messages=tuple(map(quiet, recording.messages))), 2.0)
    return f"estimates in {100 * share:.0f} % of the time" if share < 0.95 else ""


@case("joints: front and hind legs in messages of their own")
def in_halves(folder: Path) -> str:
    """Two drivers publish to one topic, 0.7 ms apart."""
    recording, messages = trotting(), []
    for entry in recording.messages:
        if not isinstance(entry.sample, JointReading):
            messages.append(entry)
            continue
        for late, half in enumerate((slice(0, 6), slice(6, 12))):
            s, at = entry.sample, entry.sample.stamp_ns + late * 700_000
            columns = (s.position, s.velocity, s.effort)
            part = JointReading(at, s.names[half], *(np.asarray(column)[half] for column in columns))
            messages.append(replace(entry, log_ns=at, sample=part))
    share = share_of_estimates(replace(recording, messages=tuple(sorted(messages, key=lambda e: e.log_ns))))
    return f"estimates in {100 * share:.0f} % of the time" if share < 0.95 else ""


@case("contacts: on or off (std_msgs/Bool)")
def switches(folder: Path) -> str:
    """A foot says whether it touches; nobody writes a node to turn this into forces."""
    recording, kind = trotting(), "std_msgs/msg/Bool"
    topics = {name: kind if name.endswith("/wrench") else own for name, own in recording.topics.items()}
    with BagWriter(folder / "bag", topics, "mcap") as writer:
        messages = {topic: writer.new(own) for topic, own in topics.items()}
        for entry in recording.messages:
            message = messages[entry.topic]
            if topics[entry.topic] == kind:
                message.data = bool(entry.sample.wrench_F[2] > 10.0)
            else:
                CONVERSIONS[topics[entry.topic]].to_msg(entry.sample, message, "")
            writer.write(entry.topic, entry.log_ns, message)
    options = (*TILT, "--param", "tilt_observer.contact.source=switch")
    code, said = ran("replay", folder / "bag", *options, "--output", folder / "replay")
    return said.strip()[-150:] if code else ""


def unstamped(folder: Path, *options: str) -> tuple[int, str]:
    """Replay joint states whose stamps nobody set."""

    def unset(entry: Any) -> Any:
        without = isinstance(entry.sample, JointReading)
        return replace(entry, sample=replace(entry.sample, stamp_ns=0)) if without else entry

    recording = trotting()
    bag = written(replace(recording, messages=tuple(map(unset, recording.messages))), folder / "bag")
    return ran("replay", bag, *TILT, *BY_FORCE, *options, "--output", folder / "replay")


@case("stamps: zero, `replay` says that nobody set them")
def zero_stamps_named(folder: Path) -> str:
    """Equal stamps are not what is wrong."""
    said = unstamped(folder)[1]
    words = ("stamp is zero", "not set", "stamps are zero", "without a stamp")
    return "" if any(word in said for word in words) else said.strip()[-150:]


@case("stamps: zero, the time of arrival is taken on request")
def zero_stamps_used(folder: Path) -> str:
    """`inputs.stamps: arrival` takes the time of the recording."""
    code, said = unstamped(folder, "--param", "/**.inputs.stamps=arrival")
    return said.strip()[-150:] if code else ""
