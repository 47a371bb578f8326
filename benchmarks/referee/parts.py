"""Tasks of each part of the referee. Nothing of the package is imported here."""

import os
from collections.abc import Callable
from typing import Any

from benchmarks.referee.task import Task

ARMS = ("Panda", "Go2, legs in the air", "UR10")  # of `recordings.ARMS`
NOISE_FACTORS = {"a third": 1.0 / 3.0, "half": 0.5, "three times": 3.0}  # stated over correct noise
GAITS = ("walk", "trot", "trot, soft and slippery", "trot in circles, bad contacts", "trot with flight")
QUADRUPEDS = ("hyq", "go2")
LOOPS = (  # scene, whether the robot differs from its description, whether sensor errors are estimated
    ("elbow", False, (False,)),
    ("elbow", True, (False, True)),
    ("pelvis", False, (False,)),
    ("pelvis", True, (False,)),
)
ORDINARY = ("descriptions", "units", "streams", "sources", "masses")
DIAGNOSED = ("TALOS stands and moves", "HyQ walks", "Panda recorded", "iCub recorded")
NODES = ("tilt_observer", "inertial_ekf")
Add = Callable[..., None]


def tasks(part: str, seed: int, count: int) -> list[Task]:
    """Return the tasks of a part, with `count` seeds from this one on where readings are synthetic."""
    found: list[Task] = []

    def add(name: str, function: str, *arguments: Any, cost_s: float = 10.0, alone: bool = False) -> None:
        found.append(Task(part, name, f"benchmarks.referee.{function}", arguments, cost_s, alone))

    PARTS[part](add, seed, tuple(range(seed, seed + count)))
    return found


def _recordings(add: Add, seed: int, _seeds: tuple[int, ...]) -> None:
    """Add the tasks on recordings, of which only the times of starts are random."""
    add("iCub", "recordings:icub", cost_s=12.0)
    add("iCub, started while it walks", "recordings:icub_begun_late")
    add("iCub, starts at random times", "recordings:icub_starts", seed, cost_s=40.0)
    add("TALOS marker", "recordings:marker", cost_s=40.0)
    for robot in ARMS:
        add(f"{robot} online", "recordings:online", robot, cost_s=15.0)
        add(f"{robot} offline", "recordings:offline", robot, cost_s=8.0)
    for name, factor in NOISE_FACTORS.items():
        add(f"Panda online, {name} of the noise", "recordings:wrong_noise", name, factor, cost_s=15.0)


def _synthetic(add: Add, seed: int, seeds: tuple[int, ...]) -> None:
    add("payload step", "synthetic:payload_rows", seeds, cost_s=40.0)
    add("payload step, stated noise wrong", "synthetic:noise_rows", seeds, cost_s=100.0)
    add("which link", "which_link:which_link_rows", seeds, cost_s=60.0)
    add("consistency", "synthetic:consistency_rows", seeds, cost_s=70.0)
    add("load on a UR10, offline", "synthetic:arm_payload_rows", seeds, cost_s=40.0)
    add("TALOS walks", "loops:walk_rows", seeds, cost_s=30.0)
    for robot in QUADRUPEDS:
        for gait, source in (*((gait, "wrench") for gait in GAITS), ("walk", "joint_torques")):
            add(f"{robot}, {gait}, {source}", "gaits:gait_rows", robot, gait, seeds, source, cost_s=15.0)
        add(f"{robot}, starts at random times", "starts:gait_starts", robot, "walk", seed, cost_s=40.0)
    for scene, perturbed, variants in LOOPS:
        name = f"{scene}{', unlike its file' * perturbed}"
        add(name, "loops:loop_rows", scene, seed, perturbed, variants, cost_s=60.0)


def _ordinary(add: Add, _seed: int, _seeds: tuple[int, ...]) -> None:
    """Add the ordinary robots, whose inputs are the same in every run."""
    for module in ORDINARY:
        add(f"ordinary {module}", "ordinary:rows_of", f"ordinary_{module}", cost_s=40.0)


def _diagnosis(add: Add, seed: int, _seeds: tuple[int, ...]) -> None:
    for name in DIAGNOSED:
        add(name, "diagnosis:scene_rows", name, seed, cost_s=80.0)


def _faults(add: Add, seed: int, _seeds: tuple[int, ...]) -> None:
    for early in (False, True):
        name = f"campaign{' from the first reading on' * early}"
        add(name, "faults:campaign_rows", seed, early, os.cpu_count() or 1, cost_s=240.0, alone=True)


def _speed(add: Add, seed: int, _seeds: tuple[int, ...]) -> None:
    for name, compiled in (("steps, compiled", True), ("steps, not compiled", False)):
        add(name, "speed:steps", seed, compiled, alone=True)
    add("replay", "speed:replay", alone=True)
    add("trials of the observer", "speed:trials", seed, alone=True)
    for node in NODES:
        add(f"start of {node}", "speed:start", node, alone=True)


def _size(add: Add, _seed: int, _seeds: tuple[int, ...]) -> None:
    add("size", "size:size", cost_s=5.0)
    add("ways", "way:ways")


PARTS: dict[str, Callable[[Add, int, tuple[int, ...]], None]] = {
    "recordings": _recordings,
    "synthetic": _synthetic,
    "ordinary": _ordinary,
    "diagnosis": _diagnosis,
    "faults": _faults,
    "speed": _speed,
    "size": _size,
}
