"""A quadruped that weighs a kilogram more than its description: findings of `check`, sigma of the tilt."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import inertial_estimation as ie
from benchmarks.referee.commands import reported
from benchmarks.referee.ordinary import Cases
from benchmarks.referee.readings import walked, written
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.reference import ReplayReference, true_tilt_errors
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC

ROBOT, MORE_KG, LENGTH_S = "go2", 1.0, 15.0
# Noise of a robot of this size. Its accelerometer has common offsets (0.04 m/s^2 on one axis): a robot that
# stays level cannot distinguish them from a tilt, so that the sigma must contain them.
NOISE = replace(ie.REALISTIC, effort=0.05, force=0.5, torque=0.02, specific_force_bias=(0.04, -0.03, 0.02))
case = Cases()


@cache
def walk_of_a_heavier_robot() -> Any:
    """Return a recording of a walking simulated Go2, whose trunk is 1 kg heavier than in its description."""
    robot = RobotLoop(ROBOT, noise=NOISE)
    root = ET.fromstring(robot.urdf)
    trunk = max(root.iterfind("link/inertial/mass"), key=lambda mass: float(mass.get("value", "0")))
    trunk.set("value", str(float(trunk.get("value", "0")) + MORE_KG))
    return walked(robot, WalkCommand(24, 0.04), LENGTH_S, true_urdf=ET.tostring(root, encoding="unicode"))


def besides_mass(bag: Path) -> tuple[str, bool]:
    """Return the findings of `check` other than a larger mass, and whether it finds the larger mass."""
    texts = [
        f"{one['check']} of {one['subject']}: {one['sentence']}" for one in reported(bag, "--config", ROBOT)
    ]
    more = [text for text in texts if "mass" in text.partition(":")[0] and ": +" in text]
    return "; ".join(text for text in texts if text not in more), bool(more)


@case("masses: `check` of a walk without foot forces accuses nothing that is exact (Go2)")
def nothing_exact_accused(folder: Path) -> str:
    """The trunk weighs a kilogram more than in its description; all joints are exact."""
    return besides_mass(written(walk_of_a_heavier_robot(), folder / "bag", ["wrench"]))[0]


@case("masses: `check` of a walk with foot forces names the kilogram, nothing else (Go2)")
def kilogram_named(folder: Path) -> str:
    """The kilogram is 7 % of the robot's mass."""
    wrong, named = besides_mass(written(walk_of_a_heavier_robot(), folder / "bag"))
    return wrong or ("" if named else "nothing said")


@case("sigma: of the tilt, near its error without foot forces (Go2)")
def sigma_near_error(folder: Path) -> str:
    """Contacts by joint torques; the error is the angle to the true vertical, without an alignment."""
    with ie.BagRecording(written(walk_of_a_heavier_robot(), folder / "bag", ["wrench"])) as bag:
        file = ie.load_configs([ROBOT]).overridden([("tilt_observer", "contact.source", "joint_torques")])
        pipelines = ie.build_pipelines(file, only=["tilt_observer"])
        run = ie.replay_recording(bag, pipelines.topics({}), ie.ReplayReaders(tilt=pipelines.tilt))
        truth = ReplayReference(read_orientations(bag, GROUND_TRUTH_TOPIC))
    stamps = np.array([estimate.state.stamp_ns for estimate in run.base])
    errors = true_tilt_errors(stamps, np.array([estimate.tilt_B for estimate in run.base]), truth)
    error = float(np.degrees(np.sqrt(np.mean(errors**2))))
    sigma = float(np.degrees(np.sqrt(np.mean([estimate.tilt_sigma**2 for estimate in run.base]))))
    return "" if 0.5 < sigma / error < 2.0 else f"sigma {sigma:.2f} deg, error {error:.2f} deg"
