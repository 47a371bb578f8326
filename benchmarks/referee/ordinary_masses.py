"""A quadruped with a kilogram more than its file: who is accused, and how sure the tilt is of itself."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import checked, written
from benchmarks.referee.ordinary import case
from inertial_estimation import (
    REALISTIC,
    BagRecording,
    ReplayReaders,
    build_pipelines,
    load_configs,
    replay_recording,
)
from inertial_estimation.closed_loop.loop_watch import LoopRecording
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_motions import ScheduledWalk
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.reference import ReplayReference, true_tilt_errors
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC

ROBOT, MORE_KG, LENGTH_S = "go2", 1.0, 15.0
# Of a robot of this size. Its accelerometer has the offsets of a common one (0.04 m/s^2 on one axis): a robot
# that stays level cannot tell them from a tilt, so that a sigma must contain them.
NOISE = replace(REALISTIC, effort=0.05, force=0.5, torque=0.02, specific_force_bias=(0.04, -0.03, 0.02))
WALK = WalkCommand(24, 0.04)


@cache
def walk_of_a_heavier_robot() -> Any:
    """Return a recording of a simulated Go2 that walks, its trunk 1 kg heavier than its file says."""
    robot = RobotLoop(ROBOT, noise=NOISE)
    root = ET.fromstring(robot.urdf)
    trunk = max(root.iterfind("link/inertial/mass"), key=lambda mass: float(mass.get("value", "0")))
    trunk.set("value", str(float(trunk.get("value", "0")) + MORE_KG))
    loop = robot.build(adaptation=False, inertial=False, true_urdf=ET.tostring(root, encoding="unicode"))
    recorder, walk = LoopRecording(loop), ScheduledWalk(WALK, 1.0, LENGTH_S)
    loop.release()
    loop.run(LENGTH_S, walk.command)
    return recorder.recording()


def accused(folder: Path, leave_out: tuple[str, ...]) -> list[str]:
    """Return what `check` finds wrong or doubtful, without what says that some mass is too small."""
    bag = written(walk_of_a_heavier_robot(), folder / "bag", leave_out)
    found = checked(bag, folder / "check", "--config", ROBOT)
    said = [one for one in found if one["verdict"] in ("wrong", "warn")]
    return [f"{one['check']} of {one['subject']}: {one['sentence']}" for one in said]


def more_mass(text: str) -> bool:
    """Whether a finding says that the robot weighs more than its file."""
    return "mass" in text.partition(":")[0] and ": +" in text


@case("masses: `check` of a walk without foot forces accuses nothing that is exact (Go2)")
def nothing_exact_accused(folder: Path) -> str:
    """The trunk weighs a kilogram more than its file says; all joints are exact."""
    return "; ".join(text for text in accused(folder, ("wrench",)) if not more_mass(text))


@case("masses: `check` of a walk with foot forces names the kilogram, nothing else (Go2)")
def kilogram_named(folder: Path) -> str:
    """7 % of the robot's mass."""
    said = accused(folder, ())
    wrong = [text for text in said if not more_mass(text)]
    return "; ".join(wrong) if wrong else "" if said else "nothing said"


@case("sigma: of the tilt, near its error without foot forces (Go2)")
def sigma_near_error(folder: Path) -> str:
    """Contacts by joint torques; the error is that to the true vertical, without an alignment."""
    with BagRecording(written(walk_of_a_heavier_robot(), folder / "bag", ["wrench"])) as bag:
        file = load_configs([ROBOT]).overridden([("tilt_observer", "contact.source", "joint_torques")])
        pipelines = build_pipelines(file, only=["tilt_observer"])
        run = replay_recording(bag, pipelines.topics({}), ReplayReaders(tilt=pipelines.tilt))
        truth = ReplayReference(read_orientations(bag, GROUND_TRUTH_TOPIC))
    stamps = np.array([estimate.state.stamp_ns for estimate in run.base])
    errors = true_tilt_errors(stamps, np.array([estimate.tilt_B for estimate in run.base]), truth)
    error = float(np.degrees(np.sqrt(np.mean(errors**2))))
    sigma = float(np.degrees(np.sqrt(np.mean([estimate.tilt_sigma**2 for estimate in run.base]))))
    return "" if 0.5 < sigma / error < 2.0 else f"sigma {sigma:.2f} deg, error {error:.2f} deg"
