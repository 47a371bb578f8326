"""What `check` says of recordings with an injected error, and of clean ones: a few scenes of each kind."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.recordings import datasets
from benchmarks.referee.row import Better, Row, share
from benchmarks.referee.task import SkippedError, Task

PART = "diagnosis"
LENGTH_S = 15.0
Scene = tuple[Any, list[str]]  # recording, options of the command


def tasks(seed: int, _count: int) -> list[Task]:
    """Return the scenes."""
    return [Task(PART, name, partial(scene_rows, name, seed), 80.0) for name in SCENES]


def recorded(folder: str, *options: str) -> Scene:
    """Return a part in the middle of a recording of a real robot."""
    from inertial_estimation import BagRecording, MemoryRecording

    if not (datasets() / folder).exists():
        raise SkippedError(f"no recording {folder} (INERTIAL_ESTIMATION_DATASETS)")
    with BagRecording(datasets() / folder) as bag:
        inputs = ("joint_states", "imu/data", "wrench")
        topics = {name: kind for name, kind in bag.topics.items() if any(part in name for part in inputs)}
        begin = (bag.start_ns + bag.end_ns) // 2 - round(0.5e9 * LENGTH_S)
        entries = bag.entries(list(topics), max(begin, bag.start_ns))
        kept = tuple(entry for entry in entries if entry.log_ns < begin + round(1e9 * LENGTH_S))
    return MemoryRecording(kept, topics), list(options)


def synthetic(robot: str, seed: int, config: str) -> Scene:
    """Return a synthetic recording of a robot whose masses are unlike its file by 3 %."""
    from inertial_estimation import REALISTIC, Timing, measure, read_urdf, synthetic_truth
    from inertial_estimation.models.urdf_inertia import perturbed_urdf
    from inertial_estimation.synthetic.synthetic_robots import synthetic_robot

    rng = np.random.default_rng([seed, 3])
    urdf = perturbed_urdf(read_urdf(synthetic_robot(robot).urdf), rng, mass_sigma=0.03, com_sigma=0.003)
    truth = synthetic_truth(robot, Timing(LENGTH_S, 250.0), rng, urdf=urdf, payload_time_s=None)
    return measure(truth, REALISTIC, rng), ["--config", config]


def walking(robot: str, seed: int) -> Scene:
    """Return a recording of a simulated robot that walks on its own estimates."""
    from inertial_estimation.closed_loop.loop_watch import LoopRecording
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.closed_loop.scheduled_motions import ScheduledWalk
    from inertial_estimation.control.references import WalkCommand

    loop = RobotLoop(robot).build(adaptation=False, inertial=False, seed=seed)
    recorder, walk = LoopRecording(loop), ScheduledWalk(WalkCommand(24, 0.05), 1.0, LENGTH_S)
    loop.release()
    loop.run(LENGTH_S, walk.command)
    return recorder.recording(), ["--config", robot]


def described(options: list[str]) -> Any:
    """Return the robot that options of the command describe."""
    from inertial_estimation import load_configs, read_urdf
    from inertial_estimation.configuration.node_configs import robot_config
    from inertial_estimation.models.robot_config import robot_from_config

    config = robot_config(load_configs([options[options.index("--config") + 1]]))
    urdf = options[options.index("--urdf") + 1] if "--urdf" in options else config.urdf
    return robot_from_config(config, read_urdf(urdf))


SCENES: Mapping[str, Callable[[int], Scene]] = {
    "TALOS stands and moves": lambda seed: synthetic("talos", seed, "talos"),
    "HyQ walks": lambda seed: walking("hyq", seed),
    "Panda recorded": lambda _seed: recorded("panda_gaz2019/exciting_trajectory", "--config", "panda"),
    "iCub recorded": lambda _seed: recorded(
        "icub_walking/walk_front_back_2021",
        *("--config", "icub", "--urdf", str(datasets() / "icub_walking/iCubGenova04.urdf")),
    ),
}


def scene_rows(name: str, seed: int) -> list[Row]:
    """Inject every kind of error that a scene can show; return how many are named, and what else is said."""
    from benchmarks.referee.commands import checked, written
    from benchmarks.referee.injected import kinds_of

    recording, options = SCENES[name](seed)
    detected, named, falsely, missed = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:

        def failed(changed: Any) -> dict[tuple[str, str], str]:
            bag = written(changed, Path(folder, "bag"))
            found = checked(bag, Path(folder, "check"), *options)
            bad = [one for one in found if one["verdict"] in ("wrong", "warn")]
            return {(one["check"], one["subject"]): one["sentence"] for one in bad}

        clean, kinds = failed(recording), kinds_of(described(options))
        for kind, error in kinds.items():
            injected = error.inject(recording, np.random.default_rng([seed, list(kinds).index(kind)]))
            if injected is None:
                continue
            changed, subject = injected
            new = {key: text for key, text in failed(changed).items() if key not in clean}
            right = [
                check in error.checks
                and (subject in (about, "") or f"'{subject}'" in text or subject in text)
                for (check, about), text in new.items()
            ]
            detected.append(bool(new))
            named.append(any(right))
            falsely.append(any(check not in error.checks for check, _about in new))
            if not any(right):
                missed.append(kind)
    alarms = ", ".join(f"{check} of {subject}" for check, subject in clean)
    return [
        share(f"{name}: injected errors detected", detected),
        Row(**{**share(f"{name}: injected errors named", named).__dict__, "note": "; ".join(missed)[:160]}),
        share(f"{name}: something else named, too", falsely, Better.LOWER),
        Row(f"{name}: findings in clean data", float(len(clean)), "", Better.LOWER, 0.0, alarms[:160]),
    ]
