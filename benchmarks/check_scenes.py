"""Recordings and simulations on which `inertial-estimation check` is judged.

They are kept in a folder from run to run, each in a file whose name holds a hash of the sources and parameter
files from which scenes are made: after a change of the simulation, the estimators or the robots they are made
again. The checks themselves make no scene.
"""

import contextlib
import hashlib
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml

from benchmarks.check_made_scenes import Made, inputs, other, tuned, unseen
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.commands.main import main as inertial_estimation_command
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup, robot_from_config
from inertial_estimation.recordings.recording import BagRecording

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
PANDA_BAG = "panda_gaz2019/exciting_trajectory"
UR10_BAG = "ur10_exciting/ur10_exciting_trajectory.db3"
PANDA_LOCKED = ("panda_finger_joint*",)
SHOWING = ("plots", "view", "comparison", "tuning", "ros", "export", "experiments")  # which make no scene
FRICTION = ["coulomb", "viscous", "offset", "armature", "coulomb_slope"]


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


def scene_names(wanted: Sequence[str] = ()) -> list[str]:
    """Return the names of the scenes that contain one of some texts; none: all."""
    return [name for name in _makers() if not wanted or any(text in name for text in wanted)]


@cache
def scene_named(name: str, folder: Path | None = None) -> Scene | None:
    """Return a scene, None if its recording is not there; a process makes each once.

    Args:
        name: Its name.
        folder: Where made scenes are kept for the next run; None: nowhere.
    """
    try:
        return Scene(name, *_cached(name, _makers()[name], folder))
    except FileNotFoundError as error:
        print(f"{name}: no recording {error}", file=sys.stderr)
        return None


def _makers() -> dict[str, Callable[[], Made]]:
    return {
        "panda recorded": lambda: _arm(PANDA_BAG, "panda", PANDA_LOCKED),
        "panda recorded, identified description": lambda: _identified(
            PANDA_BAG, _arm(PANDA_BAG, "panda", PANDA_LOCKED)
        ),
        "ur10 recorded": lambda: _arm(UR10_BAG, "ur10_robot"),
        "ur10 recorded, identified description": lambda: _identified(UR10_BAG, _arm(UR10_BAG, "ur10_robot")),
        "go2 legs recorded": lambda: _arm("go2_chirp", "go2"),
        "icub recorded": _icub,
        **tuned(),
        **unseen(),
        **other(),
    }


def _cached(name: str, make: Callable[[], Made], folder: Path | None) -> Made:
    if folder is None:
        return make()
    path = folder / f"{name.replace(' ', '_')}.{_sources()}.pickle"
    if path.exists():
        kept: Made = pickle.loads(path.read_bytes())
        return kept
    made = make()
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(made))
    part.replace(path)  # whole or not at all: others may read it
    return made


@cache
def _sources() -> str:
    """Return a hash of all files from which scenes are made."""
    package = ROOT / "inertial_estimation"
    modules = [
        *package.rglob("*.py"),
        *(ROOT / "config").rglob("*.yaml"),
        ROOT / "benchmarks/check_made_scenes.py",
    ]
    judging = [path for path in (package / "bring_up").iterdir() if path.name != "streams.py"]
    total = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(set(modules) - set(judging)):
        if not any(path.is_relative_to(package / folder) for folder in SHOWING):
            total.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return total.hexdigest()[:12]


def _recorded(folder: str, config: RobotConfig, urdf: str) -> Made:
    path = DATASETS / folder
    if not path.exists():
        raise FileNotFoundError(path)
    with BagRecording(path) as recording:
        return inputs(recording, config, urdf)


def _arm(folder: str, robot: str, locked: tuple[str, ...] = ()) -> Made:
    config = RobotConfig(floating_base=False, urdf=f"example-robot-data:{robot}", locked_joints=locked)
    return _recorded(folder, config, read_urdf(config.urdf))


def _identified(folder: str, made: Made) -> Made:
    """Replace the description by that which `identify` finds in the recording, the robot's own."""
    config, _urdf, streams = made
    robot = {"urdf": config.urdf, "floating_base": False, "locked_joints": list(config.locked_joints)}
    ekf = {"contact_wrenches": "none", "friction": {"joints": ["*"], "terms": FRICTION}}
    sections = {"/**": {"ros__parameters": robot}, "/**/inertial_ekf": {"ros__parameters": ekf}}
    with tempfile.TemporaryDirectory() as place:
        parameters = Path(place, "robot.yaml")
        parameters.write_text(yaml.safe_dump(sections), encoding="utf-8")
        results = Path(place, "results")
        options = ["--config", str(parameters), "--output", str(results), "--no-figures"]
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
