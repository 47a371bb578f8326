"""Recordings of real robots through the commands: orientation, masses, torques against what was measured."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.leg import leg_rows
from benchmarks.referee.row import Better, Row, exact
from benchmarks.referee.starts import in_memory, stamps_and_tilts, start_rows
from benchmarks.referee.task import SkippedError, Task

PART = "recordings"
ROOT = Path(__file__).resolve().parents[2]
ICUB_WEIGHT = 33.9  # [kg], by the sum of the feet's vertical forces
ICUB = (
    *("icub_walking/walk_front_back_2021", "--config", "icub", "--urdf", "@icub_walking/iCubGenova04.urdf"),
    *("--reference", "/vicon/root_link/pose"),
    *("--trusted", "@icub_walking/walk_front_back_2021_vicon_ok.csv"),
)
ARMS: Mapping[str, tuple[str, str, float]] = {  # recording, parameter file, end of the fitted part [s]
    "Panda": ("panda_gaz2019/exciting_trajectory", "panda", 14.0),
    "Go2, legs in the air": ("go2_chirp", "go2_held", 15.77),
    "UR10": ("ur10_exciting/ur10_exciting_trajectory.db3", "ur10", 18.16),
}
NOISE_FACTORS = {"a third": 1.0 / 3.0, "half": 0.5, "three times": 3.0}
MARKER = "talos_calibration/left_arm_mocap_2022-02-10.csv"


def tasks(seed: int, _count: int) -> list[Task]:
    """Return what is measured; only the times of starts are random."""
    found = [
        Task(PART, "iCub", icub, 12.0),
        Task(PART, "iCub, started while it walks", icub_begun_late, 10.0),
        Task(PART, "iCub, starts at random times", partial(icub_starts, seed), 40.0),
        Task(PART, "TALOS marker", marker, 40.0),
        Task(PART, "hopper leg", leg, 8.0),
    ]
    for robot in ARMS:
        found.append(Task(PART, f"{robot} online", partial(online, robot), 15.0))
        found.append(Task(PART, f"{robot} offline", partial(offline, robot), 8.0))
    for name, factor in NOISE_FACTORS.items():
        found.append(
            Task(PART, f"Panda online, {name} of the noise", partial(wrong_noise, name, factor), 15.0)
        )
    return found


def datasets() -> Path:
    """Return the folder of the recordings."""
    return Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets"))


def command(name: str, source: str, options: Sequence[str], result: str) -> dict[str, Any]:
    """Run a command on a recording; return a JSON file that it writes. @ begins a path of the data sets."""
    from inertial_estimation.commands.main import main

    path = datasets() / source
    if not path.exists():
        raise SkippedError(f"no recording {source} (INERTIAL_ESTIMATION_DATASETS)")
    given = [str(datasets() / word[1:]) if word.startswith("@") else word for word in options]
    with tempfile.TemporaryDirectory() as folder:
        code = main([*name.split(), str(path), *given, "--output", folder, "--overwrite"])
        if code:
            raise RuntimeError(f"{name} {source} ended with {code}")
        content: dict[str, Any] = json.loads(Path(folder, result).read_text(encoding="utf-8"))
    return content


def icub() -> list[Row]:
    """Tilt of the walking iCub against motion capture, the sigma stated, and the weight by wrenches."""
    found = command("replay", ICUB[0], [*ICUB[1:], "--no-figures"], "metrics.json")
    tilt, sigma = found["tilt_error_deg"], found["tilt_sigma_deg"]
    return [
        exact("iCub walking: tilt error, rms", tilt["rms"], "deg"),
        exact("iCub walking: tilt error, p95", tilt["p95"], "deg"),
        exact("iCub walking: tilt sigma over rms error", sigma / tilt["rms"], "", Better.INFO),
        exact("iCub walking: yaw error, rms", found["yaw_error_deg"]["rms"], "deg"),
        exact("iCub walking: velocity error, rms", found["velocity_error_m_s"]["rms"], "m/s"),
        Row("iCub: weight, error", abs(found["total_mass_kg"] - ICUB_WEIGHT), "kg", spread=0.05),
        exact("iCub: measurements accepted", 100.0 * found["accepted_fraction"], "%", Better.HIGHER),
    ]


def icub_begun_late() -> list[Row]:
    """The same, begun while the robot walks."""
    options = [*ICUB[1:], "--no-figures", "--only", "tilt_observer", "--start", "20", "--settle", "10"]
    found = command("replay", ICUB[0], options, "metrics.json")
    return [exact("iCub, begun while it walks: tilt error, rms", found["tilt_error_deg"]["rms"], "deg")]


def online(robot: str) -> list[Row]:
    """Torques that were held out, predicted by what the inertial filter learned before."""
    return [exact(f"{robot} online: error of held-out torques", _held_out(robot), "%")]


def wrong_noise(name: str, factor: float) -> list[Row]:
    """The same of the Panda with a stated noise of torques that is wrong."""
    from inertial_estimation import build_pipelines, load_configs

    values = build_pipelines(load_configs([ARMS["Panda"][1]])).inertial_values
    stated = factor * float(values["noise.torque"])
    error = _held_out("Panda", "--param", f"inertial_ekf.noise.torque={stated:.6g}")
    return [exact(f"Panda online, {name} of its noise stated", error, "%")]


def _held_out(robot: str, *options: str) -> float:
    source, config, split = ARMS[robot]
    given = ["--config", config, "--hold-out", f"{split:g}", "--no-figures", *options]
    return 100.0 * float(command("replay", source, given, "metrics.json")["torque_error_relative"])


def offline(robot: str) -> list[Row]:
    """The same by `identify`."""
    source, config, split = ARMS[robot]
    options = ["--config", config, "--split", f"{split:g}", "--no-figures"]
    found = command("identify", source, options, "identification.json")
    result = found["methods"][found["chosen"]]
    error = 100.0 * result["relative_error_validation"]
    return [exact(f"{robot} offline: error of held-out torques", error, "%")]


def icub_starts(seed: int) -> list[Row]:
    """Return starts of the tilt observer at random times of a walk, against aligned motion capture."""
    from inertial_estimation import (
        BagRecording,
        ReplayReaders,
        build_pipelines,
        load_configs,
        replay_recording,
    )
    from inertial_estimation.recordings.recording import read_orientations
    from inertial_estimation.replay.metrics import interpolated
    from inertial_estimation.replay.reference import read_trusted, tilt_errors

    path, urdf = datasets() / ICUB[0], str(datasets() / "icub_walking/iCubGenova04.urdf")
    if not path.exists():
        raise SkippedError(f"no recording {ICUB[0]} (INERTIAL_ESTIMATION_DATASETS)")

    def build() -> Any:
        return build_pipelines(load_configs(["icub"]), urdf=urdf, only=["tilt_observer"])

    with BagRecording(path) as bag:
        reference, recording = read_orientations(bag, "/vicon/root_link/pose"), in_memory(bag, build())
    trusted = read_trusted(datasets() / "icub_walking/walk_front_back_2021_vicon_ok.csv")
    whole = build()
    base = replay_recording(recording, whole.topics({}), ReplayReaders(tilt=whole.tilt)).base
    errors = tilt_errors(*stamps_and_tilts(base), reference, trusted)

    def truth(stamps: np.ndarray) -> np.ndarray:
        known = np.interp(stamps, errors.stamps_ns, errors.trusted.astype(float))
        verticals = interpolated(stamps, errors.stamps_ns, errors.reference)
        return np.where(known[:, None] == 1.0, verticals, np.nan)

    return start_rows("iCub", recording, build, truth, seed)


def marker() -> list[Row]:
    """Position of a marker on the hand of TALOS after calibration, of postures that were left out."""
    options = ["--config", "talos", "--frame", "arm_left_7_link"]
    errors = command("calibrate marker", MARKER, options, "calibration.json")["errors_rms"]["marker"]
    return [
        exact("TALOS marker: leave-one-out error", errors["leave_one_out"], "mm"),
        exact("TALOS marker: left out, by what nodes apply", errors["left_out_written"], "mm"),
    ]


def leg() -> list[Row]:
    """Vertical force at the foot of a leg from its joint torques, against the sensor under it."""
    if not (datasets() / "hopper_leg").exists():
        raise SkippedError("no recording hopper_leg (INERTIAL_ESTIMATION_DATASETS)")
    return leg_rows(datasets() / "hopper_leg")
