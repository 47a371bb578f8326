"""Recordings and simulations on which `inertial-estimation check` is judged."""

import contextlib
import io
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml

from inertial_estimation.bring_up.streams import RobotStreams, read_streams
from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.loop_recording import LoopRecording
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_walk import ScheduledWalk
from inertial_estimation.commands.main import main as inertial_estimation_command
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.models.friction import FRICTION_TERMS
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup, robot_from_config
from inertial_estimation.recordings.recording import BagRecording, Recording
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

__all__ = ["Scene", "scenes"]

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
PANDA_BAG = "panda_gaz2019/exciting_trajectory"
UR10_BAG = "ur10_exciting/ur10_exciting_trajectory.db3"
PANDA_LOCKED = ("panda_finger_joint*",)
LENGTH_S = 25.0  # of a simulation, after its release
Made = tuple[RobotConfig, str, RobotStreams]  # parameters, URDF, streams


@dataclass(frozen=True, eq=False)
class Scene:
    """The inputs of one robot.

    Attributes:
        name: Name in the table.
        config: Parameters of the robot.
        urdf: Its description.
        streams: Its inputs.
    """

    name: str
    config: RobotConfig
    urdf: str
    streams: RobotStreams

    @cached_property
    def setup(self) -> RobotSetup:
        """The robot as described."""
        return robot_from_config(self.config, self.urdf)


def scenes(wanted: str = "", cache: Path | None = None) -> Iterator[Scene]:
    """Yield the scenes whose name contains a text; recordings that are not there are left out.

    Args:
        wanted: Text; empty: all.
        cache: Folder in which made scenes are kept for the next run.
    """
    makers: dict[str, Callable[[], Made]] = {
        "panda recorded": lambda: _arm(PANDA_BAG, "panda", PANDA_LOCKED),
        "panda recorded, identified description": lambda: _identified(
            PANDA_BAG, _arm(PANDA_BAG, "panda", PANDA_LOCKED)
        ),
        "ur10 recorded": lambda: _arm(UR10_BAG, "ur10_robot"),
        "ur10 recorded, identified description": lambda: _identified(UR10_BAG, _arm(UR10_BAG, "ur10_robot")),
        "go2 legs recorded": lambda: _arm("go2_chirp", "go2"),
        "icub recorded": _icub,
        "panda synthetic": lambda: _synthetic("panda"),
        "talos synthetic": lambda: _synthetic("talos"),
        "panda simulated": lambda: _simulated("panda"),
        "talos standing": lambda: _simulated("talos"),
        "talos walking": lambda: _simulated("talos", (16, 0.1)),
        "hyq standing": lambda: _simulated("hyq"),
        "hyq walking": lambda: _simulated("hyq", (24, 0.05)),
        "go2 walking": lambda: _simulated("go2", (24, 0.04)),
    }
    for name, make in makers.items():
        if wanted in name:
            try:
                yield Scene(name, *_cached(name, make, cache))
            except FileNotFoundError as error:
                print(f"{name}: no recording {error}")


def _cached(name: str, make: Callable[[], Made], cache: Path | None) -> Made:
    if cache is None:
        return make()
    path = cache / f"{name.replace(' ', '_')}.pickle"
    if path.exists():
        kept: Made = pickle.loads(path.read_bytes())
        return kept
    made = make()
    cache.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(made))
    return made


def _read(recording: Recording, config: RobotConfig, urdf: str, begin_s: float = 0.0) -> Made:
    topics = replay_topics({"imu_frame": config.imu_frame, "contacts": config.contacts}, {})
    span = (recording.start_ns + round(begin_s * 1e9), recording.end_ns)
    return config, urdf, read_streams(recording, topics, robot_from_config(config, urdf), config, span)


def _recorded(folder: str, config: RobotConfig, urdf: str) -> Made:
    path = DATASETS / folder
    if not path.exists():
        raise FileNotFoundError(path)
    with BagRecording(path) as recording:
        return _read(recording, config, urdf)


def _arm(folder: str, robot: str, locked: tuple[str, ...] = ()) -> Made:
    config = RobotConfig(floating_base=False, urdf=f"example-robot-data:{robot}", locked_joints=locked)
    return _recorded(folder, config, read_urdf(config.urdf))


def _identified(folder: str, made: Made) -> Made:
    """Replace the description by that which `identify` finds in the recording, the robot's own."""
    config, _urdf, streams = made
    robot = {"urdf": config.urdf, "floating_base": False, "locked_joints": list(config.locked_joints)}
    ekf = {"contact_wrenches": "none", "friction": {"joints": ["*"], "terms": list(FRICTION_TERMS)}}
    sections = {"/**": {"ros__parameters": robot}, "/**/inertial_ekf": {"ros__parameters": ekf}}
    with tempfile.TemporaryDirectory() as place:
        parameters = Path(place, "robot.yaml")
        parameters.write_text(yaml.safe_dump(sections), encoding="utf-8")
        results = Path(place, "results")
        options = ["--config", str(parameters), "--output", str(results), "--no-report"]
        with contextlib.redirect_stdout(io.StringIO()):
            assert inertial_estimation_command(["identify", str(DATASETS / folder), *options]) == 0
        return config, (results / "identified.urdf").read_text(encoding="utf-8"), streams


def _icub() -> Made:
    config = RobotConfig(
        locked_joints=("*_wrist_*",),
        imu_frame="root_link_imu_frame",
        contacts=("left_foot", "right_foot"),
        contact_frames=("l_sole", "r_sole"),
    )
    path = DATASETS / "icub_walking" / "iCubGenova04.urdf"
    urdf = path.read_text(encoding="utf-8") if path.exists() else ""
    return _recorded("icub_walking/walk_front_back_2021", config, urdf)


def _synthetic(robot: str) -> Made:
    spec = synthetic_robot(robot)
    truth = synthetic_truth(robot, Timing(LENGTH_S, 250.0), np.random.default_rng(1), payload_time_s=None)
    config = RobotConfig(
        floating_base=spec.floating_base,
        locked_joints=spec.locked_joints,
        imu_frame=spec.imu_link,
        contacts=tuple(spec.contacts),
        contact_frames=tuple(spec.contacts.values()),
    )
    recording = measure(truth, REALISTIC, np.random.default_rng(2), config)
    return _read(recording, config, read_urdf(spec.urdf))


def _simulated(robot: str, walk: tuple[int, float] | None = None) -> Made:
    builder = RobotLoop(robot)
    loop: ClosedLoop = builder.build(adaptation=False, inertial=False)
    recorder = LoopRecording(loop)
    loop.release()
    walking = ScheduledWalk(WalkCommand(*walk), 1.0, LENGTH_S) if walk else None
    while loop.time_s < LENGTH_S and not loop.simulation.fallen:
        if walking is not None:
            walking.command(loop)
        loop.run(0.1)
    assert not loop.simulation.fallen, f"{robot} fell after {loop.time_s:.1f} s"
    config = builder.config("simulator", SimulationConfig).robot
    return _read(recorder.recording(), config, builder.urdf)
