"""Makes the recording and the description of the story in docs/check.md, checks them and draws its figures.

    python docs/check_figures.py FOLDER

Writes into FOLDER a synthetic recording of TALOS whose gyroscope has its y axis flipped (`bag`) and a URDF
whose torso weighs half as much again (`heavy.urdf`), runs `inertial-estimation check` on them, and writes the
figures to docs/images/check_{gyroscope,offsets,masses}.png.
"""

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from pictures import write_png

from inertial_estimation.commands.main import main as command
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.plots.check_report import (
    panels_of_gyroscope,
    panels_of_masses,
    panels_of_time_offsets,
)
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording
from inertial_estimation.recordings.robot_streams import read_streams
from inertial_estimation.signals import ImuSample

IMAGES = Path(__file__).with_name("images")
HEAVY, FACTOR = "torso_2_link", 1.5
FLIP = np.array([1.0, -1.0, 1.0])


def main() -> int:
    """Make, check, draw."""
    folder = Path(sys.argv[1])
    sound, bag, heavy = folder / "sound", folder / "bag", folder / "heavy.urdf"
    made = ["--duration", "25", "--payload-time", "-1", "--output", str(sound), "--overwrite"]
    assert command(["synthesize", "talos", *made]) == 0
    flip(sound, bag)
    heavy.write_text(heavier(read_urdf("example-robot-data:talos_reduced")), encoding="utf-8")
    options = ["--config", "talos", "--urdf", str(heavy), "--output", str(folder / "check"), "--overwrite"]
    command(["check", str(bag), *options, "--fix", str(folder / "fix.yaml")])
    draw(bag, heavy.read_text(encoding="utf-8"))
    return 0


def flip(source: Path, target: Path) -> None:
    """Copy a recording with one axis of its gyroscope flipped."""
    with BagRecording(source) as recording:
        entries = [
            replace(entry, sample=replace(entry.sample, angular_rate_I=FLIP * entry.sample.angular_rate_I))
            if isinstance(entry.sample, ImuSample)
            else entry
            for entry in recording.entries(list(recording.topics))
        ]
        write_recording(MemoryRecording(tuple(entries), recording.topics), target, overwrite=True)


def heavier(urdf: str) -> str:
    """Return a description in which one link is too heavy."""
    root = ET.fromstring(urdf)
    for link in root.iter("link"):
        mass = link.find("inertial/mass")
        if link.get("name") == HEAVY and mass is not None:
            mass.set("value", repr(FACTOR * float(mass.get("value", "0"))))
    return ET.tostring(root, encoding="unicode")


def draw(bag: Path, urdf: str) -> None:
    """Draw the figures of the story."""
    config = RobotConfig(
        imu_frame="imu_link",
        contacts=("left_foot", "right_foot"),
        contact_frames=("left_sole_link", "right_sole_link"),
    )
    setup = robot_from_config(config, urdf)
    with BagRecording(bag) as recording:
        topics = replay_topics({"imu_frame": config.imu_frame, "contacts": config.contacts}, {})
        streams = read_streams(recording, topics, setup, config, (recording.start_ns, recording.end_ns))
    diagnosis = diagnose(streams, setup, config)
    for name, title, panels_of in (
        ("gyroscope", "Angular rate", panels_of_gyroscope),
        ("offsets", "Time offsets", panels_of_time_offsets),
        ("masses", "Masses", panels_of_masses),
    ):
        write_png(IMAGES / f"check_{name}.png", title, list(panels_of(diagnosis)))


if __name__ == "__main__":
    sys.exit(main())
