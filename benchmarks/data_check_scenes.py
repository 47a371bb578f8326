"""Recordings and simulations on which the data checks are judged, as lists of raw readings."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.loop_recording import LoopRecording
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_walk import ScheduledWalk
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup, robot_from_config
from inertial_estimation.recordings.recording import BagRecording, Recording
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

__all__ = ["Reading", "Scene", "scenes"]

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
Reading = tuple[str, ImuSample | JointReading | WrenchSample]  # contact (empty: none), sample
PANDA = {"urdf": "example-robot-data:panda", "locked_joints": ("panda_finger_joint*",)}
TALOS = {
    "urdf": "example-robot-data:talos_reduced",
    "imu_frame": "imu_link",
    "contacts": ("left_foot", "right_foot"),
    "contact_frames": ("left_sole_link", "right_sole_link"),
}


@dataclass(frozen=True, eq=False)
class Scene:
    """Readings of one robot in the order of arrival.

    Attributes:
        name: Name in the table.
        config: Parameters of the robot.
        setup: The robot.
        readings: The readings.
    """

    name: str
    config: RobotConfig
    setup: RobotSetup
    readings: list[Reading]

    @cached_property
    def clean(self) -> DataChecks:
        """Checks that have been fed the readings as they are."""
        return self.checks()

    def checks(self, inject: Callable[[Reading], Reading] | None = None) -> DataChecks:
        """Return checks that have been fed the readings, changed by `inject`."""
        checks = DataChecks(self.setup, self.config, whole_recording=True)
        for reading in self.readings:
            feed(checks, *(reading if inject is None else inject(reading)))
        return checks


def feed(checks: DataChecks, contact: str, sample: ImuSample | JointReading | WrenchSample) -> None:
    """Push one reading."""
    if isinstance(sample, JointReading):
        checks.push_joints(sample)
    elif isinstance(sample, ImuSample):
        checks.push_imu(sample)
    else:
        checks.push_wrench(contact, sample)


def scenes(wanted: str = "") -> Iterator[Scene]:
    """Yield the scenes whose name contains a text; recordings that are not there are left out.

    Args:
        wanted: Text; empty: all.
    """
    makers: dict[str, Callable[[str], Scene]] = {
        "panda recorded": _panda_recorded,
        "ur10 recorded": _ur10_recorded,
        "go2 chirp recorded": _go2_recorded,
        "icub recorded": _icub_recorded,
        "panda synthetic": lambda name: _synthetic(name, "panda"),
        "talos synthetic": lambda name: _synthetic(name, "talos"),
        "panda standing": lambda name: _simulated(name, "panda"),
        "talos standing": lambda name: _simulated(name, "talos"),
        "talos walking": lambda name: _simulated(name, "talos", (4, 0.1)),
        "hyq standing": lambda name: _simulated(name, "hyq"),
        "hyq walking": lambda name: _simulated(name, "hyq", (8, 0.05)),
        "go2 standing": lambda name: _simulated(name, "go2"),
        "go2 walking": lambda name: _simulated(name, "go2", (8, 0.04)),
    }
    for name, make in makers.items():
        if wanted in name:
            try:
                yield make(name)
            except FileNotFoundError as error:
                print(f"{name}: no recording {error}")


def _recorded(name: str, folder: str, config: RobotConfig, urdf: str, seconds_kept: float = 30.0) -> Scene:
    path = DATASETS / folder
    if not path.exists():
        raise FileNotFoundError(path)
    with BagRecording(path) as recording:
        return _of_recording(name, recording, config, urdf, seconds_kept)


def _of_recording(
    name: str, recording: Recording, config: RobotConfig, urdf: str, seconds_kept: float
) -> Scene:
    contacts = {f"/{contact}/wrench": contact for contact in config.contacts}
    wanted = [t for t in ("/joint_states", "/imu/data", *contacts) if t in recording.topics]
    end_ns = recording.start_ns + round(seconds_kept * 1e9)
    readings: list[Reading] = []
    for entry in recording.entries(wanted):
        if entry.log_ns > end_ns:
            break
        sample = entry.sample
        assert isinstance(sample, ImuSample | JointReading | WrenchSample)
        readings.append((contacts.get(entry.topic, ""), sample))
    return Scene(name, config, robot_from_config(config, urdf), readings)


def _panda_recorded(name: str) -> Scene:
    config = RobotConfig(floating_base=False, **PANDA)
    return _recorded(name, "panda_gaz2019/exciting_trajectory", config, read_urdf(config.urdf))


def _ur10_recorded(name: str) -> Scene:
    config = RobotConfig(floating_base=False, urdf="example-robot-data:ur10_robot")
    return _recorded(name, "ur10_exciting/ur10_exciting_trajectory.db3", config, read_urdf(config.urdf))


def _go2_recorded(name: str) -> Scene:
    config = RobotConfig(floating_base=False, urdf="example-robot-data:go2")
    return _recorded(name, "go2_chirp", config, read_urdf(config.urdf))


def _icub_recorded(name: str) -> Scene:
    config = RobotConfig(
        locked_joints=("*_wrist_*",),
        imu_frame="root_link_imu_frame",
        contacts=("left_foot", "right_foot"),
        contact_frames=("l_sole", "r_sole"),
    )
    path = DATASETS / "icub_walking" / "iCubGenova04.urdf"
    urdf = path.read_text(encoding="utf-8") if path.exists() else ""
    return _recorded(name, "icub_walking/walk_front_back_2021", config, urdf)


def _synthetic(name: str, robot: str) -> Scene:
    spec = synthetic_robot(robot)
    truth = synthetic_truth(robot, Timing(12.0, 250.0), np.random.default_rng(1), payload_time_s=None)
    config = RobotConfig(
        floating_base=spec.floating_base,
        locked_joints=spec.locked_joints,
        imu_frame=spec.imu_link,
        contacts=tuple(spec.contacts),
        contact_frames=tuple(spec.contacts.values()),
    )
    recording = measure(truth, REALISTIC, np.random.default_rng(2), config)
    return _of_recording(name, recording, config, read_urdf(spec.urdf), 30.0)


def _simulated(name: str, robot: str, walk: tuple[int, float] | None = None) -> Scene:
    builder = RobotLoop(robot)
    loop: ClosedLoop = builder.build(adaptation=False, inertial=False)
    recorder = LoopRecording(loop)
    loop.release()
    walking = ScheduledWalk(WalkCommand(*walk), 1.0, 10.0) if walk else None
    while loop.time_s < 10.0 and not loop.simulation.fallen:
        if walking is not None:
            walking.command(loop)
        loop.run(0.1)
    assert not loop.simulation.fallen, f"{name}: fell after {loop.time_s:.1f} s"
    config = builder.config("simulator", SimulationConfig).robot
    return _of_recording(name, recorder.recording(), config, builder.urdf, 60.0)
