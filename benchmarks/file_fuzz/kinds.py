"""Kinds of files that the package reads: how a good one is made, and what reads it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters, parameters_of
from inertial_estimation.configuration.pipelines import CONFIG_CLASSES
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_check import urdf_warnings
from inertial_estimation.models.urdf_document import UrdfDocument
from inertial_estimation.offline.calibration_csv import read_postures
from inertial_estimation.parameters import build_config
from inertial_estimation.recordings.message_conversion import IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording, RecordingEntry
from inertial_estimation.recordings.recording_writer import write_recording
from inertial_estimation.recordings.trajectory_files import read_trajectory_csv, write_trajectory_csv
from inertial_estimation.signals import ImuSample, JointReading

LINK = (
    '  <link name="{0}">\n    <inertial>\n      <origin xyz="0.1 0 0.2" rpy="0 0.1 0"/>\n'
    '      <mass value="2.5"/>\n'
    '      <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.12" iyz="0" izz="0.11"/>\n'
    "    </inertial>\n  </link>\n"
)
JOINT = (
    '  <joint name="{0}" type="{3}">\n    <origin xyz="0 0 0.5" rpy="0 0 0"/>\n    <parent link="{1}"/>\n'
    '    <child link="{2}"/>\n    <axis xyz="0 1 0"/>\n'
    '    <limit lower="-1.5" upper="1.5" effort="80" velocity="6"/>\n  </joint>\n'
)
URDF = (
    '<?xml version="1.0"?>\n<robot name="arm">\n'
    + "".join(map(LINK.format, ("base", "upper", "lower", "hand")))
    + JOINT.format("shoulder", "base", "upper", "revolute")
    + JOINT.format("elbow", "upper", "lower", "continuous")
    + JOINT.format("wrist", "lower", "hand", "fixed")
    + "</robot>\n"
)


@dataclass(frozen=True)
class FileKind:
    """One kind of file.

    Attributes:
        name: Its name.
        text: Whether it is a text.
        make: Makes a good one; the argument is a path without an ending.
        read: Reads one as the package does.
    """

    name: str
    text: bool
    make: Callable[[Path], Path]
    read: Callable[[Path], None]


def _made_yaml(path: Path) -> Path:
    return Path(shutil.copyfile(find_config("icub"), path.with_suffix(".yaml")))


def _read_yaml(path: Path) -> None:
    file = load_config_file(path)
    file.check_nodes(list(CONFIG_CLASSES), list(NODE_CONFIGS))
    file.check_shared(all_parameters())
    for node, config_class in CONFIG_CLASSES.items():
        build_config(config_class, file.values(node, parameters_of(node)), origins=file.origins_of(node))


def _made_urdf(path: Path) -> Path:
    file = path.with_suffix(".urdf")
    file.write_text(URDF, encoding="utf-8")
    return file


def _read_urdf(path: Path) -> None:
    text = read_urdf(str(path))
    urdf_warnings(text)
    robot = RobotModel.from_urdf(text)
    for link in robot.link_names:
        robot.link_body(link)
    UrdfDocument(text).text()


def _made_bag(path: Path, storage: str) -> Path:
    rng = np.random.default_rng(0)
    entries = []
    for k in range(200):
        stamp_ns = 10**9 + k * 10**7
        imu = ImuSample(stamp_ns, rng.normal(size=3), rng.normal(size=3))
        joints = JointReading(stamp_ns, ("a", "b"), rng.normal(size=2), rng.normal(size=2), None)
        entries.append(RecordingEntry("/imu/data", stamp_ns, imu))
        entries.append(RecordingEntry("/joint_states", stamp_ns + 1, joints))
    topics = {"/imu/data": IMU_TYPE, "/joint_states": JOINT_STATE_TYPE}
    write_recording(MemoryRecording(tuple(entries), topics), path, storage=storage)
    (file,) = [item for item in path.iterdir() if item.suffix != ".yaml"]
    return file


def _made_metadata(path: Path) -> Path:
    return _made_bag(path, "mcap").with_name("metadata.yaml")


def _read_bag(path: Path) -> None:
    with BagRecording(path) as recording:
        for _entry in recording.entries(list(recording.topics)):
            pass


def _made_trajectory(path: Path) -> Path:
    times_s = np.linspace(0.0, 1.0, 50)
    values = np.sin(times_s[:, None] + np.arange(2.0))
    file = path.with_suffix(".csv")
    write_trajectory_csv(file, JointTrajectory(("shoulder", "elbow"), times_s, values, values, values))
    return file


def _read_trajectory(path: Path) -> None:
    read_trajectory_csv(path)


def _made_postures(path: Path) -> Path:
    rows = "".join(f"{k},{0.01 * k:.3f},{-0.02 * k:.3f},{0.1 * k:.2f},fit\n" for k in range(50))
    file = path.with_suffix(".csv")
    file.write_text("k,shoulder,elbow,x1,split\n" + rows, encoding="utf-8")
    return file


def _read_postures(path: Path) -> None:
    read_postures(
        path, RobotModel.from_urdf(URDF, floating_base=False), ["shoulder", "elbow"], measured=["x1"]
    )


KINDS = {
    kind.name: kind
    for kind in (
        FileKind("yaml", True, _made_yaml, _read_yaml),
        FileKind("urdf", True, _made_urdf, _read_urdf),
        FileKind("mcap", False, lambda path: _made_bag(path, "mcap"), _read_bag),
        FileKind("sqlite", False, lambda path: _made_bag(path, "sqlite3"), _read_bag),
        FileKind("metadata", True, _made_metadata, lambda path: _read_bag(path.parent)),
        FileKind("trajectory-csv", True, _made_trajectory, _read_trajectory),
        FileKind("postures-csv", True, _made_postures, _read_postures),
    )
}
