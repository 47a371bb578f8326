"""Findings of `check` on recordings with an injected error, and on clean ones: a few scenes of each kind."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import dataset, reported
from benchmarks.referee.injected import kinds_of
from benchmarks.referee.readings import measured, walked, written
from benchmarks.referee.row import Better, Row, figure, share
from inertial_estimation import BagRecording, MemoryRecording, load_configs, read_urdf
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot

LENGTH_S = 15.0
INPUTS = ("joint_states", "imu/data", "wrench")


def recorded(folder: str) -> Any:
    """Return a part in the middle of a recording of a real robot."""
    with BagRecording(dataset(folder)) as bag:
        topics = {name: kind for name, kind in bag.topics.items() if any(part in name for part in INPUTS)}
        begin = max((bag.start_ns + bag.end_ns) // 2 - round(0.5e9 * LENGTH_S), bag.start_ns)
        entries = bag.entries(list(topics), begin)
        kept = tuple(entry for entry in entries if entry.log_ns < begin + round(1e9 * LENGTH_S))
    return MemoryRecording(kept, topics)


def standing(seed: int) -> Any:
    """Return a synthetic recording of a TALOS whose masses differ from its description by 3 %."""
    rng, urdf = np.random.default_rng([seed, 3]), read_urdf(synthetic_robot("talos").urdf)
    true = perturbed_urdf(urdf, rng, mass_sigma=0.03, com_sigma=0.003)
    return measured("talos", LENGTH_S, rng, urdf=true, payload_time_s=None)[1]


SCENES: Mapping[str, tuple[str, str, Callable[[int], Any]]] = {  # parameter file, description, recording
    "TALOS stands and moves": ("talos", "", standing),
    "HyQ walks": (
        "hyq",
        "",
        lambda seed: walked(RobotLoop("hyq"), WalkCommand(24, 0.05), LENGTH_S, seed=seed),
    ),
    "Panda recorded": ("panda", "", lambda _seed: recorded("panda_gaz2019/exciting_trajectory")),
    "iCub recorded": (
        *("icub", "icub_walking/iCubGenova04.urdf"),
        lambda _seed: recorded("icub_walking/walk_front_back_2021"),
    ),
}


def scene_rows(name: str, seed: int) -> list[Row]:
    """Inject every kind of error that a scene can show; return shares of named errors, and other findings."""
    config, urdf, scene = SCENES[name]
    recording, options = scene(seed), ["--config", config, *(["--urdf", str(dataset(urdf))] if urdf else [])]
    robot = robot_config(load_configs([config]))
    kinds = kinds_of(robot_from_config(robot, read_urdf(options[-1] if urdf else robot.urdf)))
    detected, named, falsely, missed = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:

        def failed(changed: Any) -> dict[tuple[str, str], str]:
            found = reported(written(changed, Path(folder, "bag")), *options)
            return {(one["check"], one["subject"]): one["sentence"] for one in found}

        clean = failed(recording)
        for number, (kind, error) in enumerate(kinds.items()):
            injected = error.inject(recording, np.random.default_rng([seed, number]))
            if injected is None:
                continue
            changed, subject = injected
            new = {key: text for key, text in failed(changed).items() if key not in clean}
            right = [
                check in error.checks and (subject in (about, "") or subject in text)
                for (check, about), text in new.items()
            ]
            detected.append(bool(new))
            named.append(any(right))
            falsely.append(any(check not in error.checks for check, _about in new))
            missed += [] if any(right) else [kind]
    alarms = ", ".join(f"{check} of {subject}" for check, subject in clean)
    return [
        share(f"{name}: injected errors detected", detected),
        share(f"{name}: injected errors named", named, note="; ".join(missed)[:160]),
        share(f"{name}: something else named, too", falsely, Better.LOWER),
        figure(f"{name}: findings in clean data", len(clean), note=alarms[:160]),
    ]
