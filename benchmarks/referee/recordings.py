"""Recordings of real robots through the commands: orientation, masses, predicted and measured torques."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.referee.commands import dataset, identified, result
from benchmarks.referee.row import Better, Row, figure

ICUB, WALK = "icub_walking", "walk_front_back_2021"
ICUB_WEIGHT = 33.9  # mass by the sum of the feet's vertical forces [kg]
ARMS: Mapping[str, tuple[str, str, float]] = {  # recording, parameter file, end of the fitted part [s]
    "Panda": ("panda_gaz2019/exciting_trajectory", "panda", 14.0),
    "Go2, legs in the air": ("go2_chirp", "go2_held", 15.77),
    "UR10": ("ur10_exciting/ur10_exciting_trajectory.db3", "ur10", 18.16),
}
MARKER = "talos_calibration/left_arm_mocap_2022-02-10.csv"
exact = partial(figure, tolerance=0.01)


def icub_metrics(*options: object) -> dict[str, Any]:
    """Return the metrics of a replay of the walking iCub against motion capture."""
    folder = dataset(ICUB)
    reference = ("--reference", "/vicon/root_link/pose", "--trusted", folder / f"{WALK}_vicon_ok.csv")
    robot = ("--config", "icub", "--urdf", folder / "iCubGenova04.urdf")
    return result("metrics.json", "replay", folder / WALK, *robot, *reference, "--no-figures", *options)


def icub() -> list[Row]:
    """Return the tilt error of the walking iCub against motion capture, its sigma, and the estimated mass."""
    found = icub_metrics()
    tilt, sigma = found["tilt_error_deg"], found["tilt_sigma_deg"]
    return [
        exact("iCub walking: tilt error, rms", tilt["rms"], "deg"),
        exact("iCub walking: tilt error, p95", tilt["p95"], "deg"),
        exact("iCub walking: tilt sigma over rms error", sigma / tilt["rms"], "", Better.INFO),
        exact("iCub walking: yaw error, rms", found["yaw_error_deg"]["rms"], "deg"),
        exact("iCub walking: velocity error, rms", found["velocity_error_m_s"]["rms"], "m/s"),
        figure("iCub: weight, error", abs(found["total_mass_kg"] - ICUB_WEIGHT), "kg", least=0.05),
        exact("iCub: measurements accepted", 100.0 * found["accepted_fraction"], "%", Better.HIGHER),
    ]


def icub_begun_late() -> list[Row]:
    """Return the tilt error of the iCub with a start while the robot walks."""
    found = icub_metrics("--only", "tilt_observer", "--start", "20", "--settle", "10")
    return [exact("iCub, begun while it walks: tilt error, rms", found["tilt_error_deg"]["rms"], "deg")]


def online(robot: str) -> list[Row]:
    """Return the error of held-out torques that the estimates of the inertial filter predict."""
    return [exact(f"{robot} online: error of held-out torques", _held_out(robot), "%")]


def wrong_noise(name: str, factor: float) -> list[Row]:
    """Return the error of held-out torques of the Panda with a wrong stated noise of torques."""
    from inertial_estimation import build_pipelines, load_configs

    values = build_pipelines(load_configs([ARMS["Panda"][1]])).inertial_values
    stated = factor * float(values["noise.torque"])
    error = _held_out("Panda", "--param", f"inertial_ekf.noise.torque={stated:.6g}")
    return [exact(f"Panda online, {name} of its noise stated", error, "%")]


def _held_out(robot: str, *options: str) -> float:
    source, config, split = ARMS[robot]
    given = ("--config", config, "--hold-out", f"{split:g}", "--no-figures", *options)
    found = result("metrics.json", "replay", dataset(source), *given)
    return 100.0 * float(found["torque_error_relative"])


def fitted(robot: str) -> dict[str, Any]:
    """Return the result of `identify` on the first part of a recording, with its errors on the rest."""
    source, config, split = ARMS[robot]
    return identified(dataset(source), "--config", config, "--split", f"{split:g}")


def offline(robot: str) -> list[Row]:
    """Return the error of held-out torques that the result of `identify` predicts."""
    error = 100.0 * fitted(robot)["relative_error_validation"]
    return [exact(f"{robot} offline: error of held-out torques", error, "%")]


def icub_starts(seed: int) -> list[Row]:
    """Return starts of the tilt observer at random times of a walk, against aligned motion capture."""
    from benchmarks.referee.starts import in_memory, run, start_rows
    from inertial_estimation import BagRecording, build_pipelines, load_configs
    from inertial_estimation.recordings.recording import read_orientations
    from inertial_estimation.replay.metrics import interpolated
    from inertial_estimation.replay.reference import read_trusted, tilt_errors

    folder = dataset(ICUB)

    def build() -> Any:
        urdf = str(folder / "iCubGenova04.urdf")
        return build_pipelines(load_configs(["icub"]), urdf=urdf, only=["tilt_observer"])

    with BagRecording(folder / WALK) as bag:
        reference, recording = read_orientations(bag, "/vicon/root_link/pose"), in_memory(bag, build())
    trusted = read_trusted(folder / f"{WALK}_vicon_ok.csv")
    errors = tilt_errors(*run(recording, build()), reference, trusted)

    def truth(stamps: np.ndarray) -> np.ndarray:
        known = np.interp(stamps, errors.stamps_ns, errors.trusted.astype(float))
        verticals = interpolated(stamps, errors.stamps_ns, errors.reference)
        return np.where(known[:, None] == 1.0, verticals, np.nan)

    return start_rows("iCub", recording, build, truth, seed)


def marker() -> list[Row]:
    """Return the errors of a marker on the hand of TALOS in postures left out of the calibration."""
    options = ("--config", "talos", "--frame", "arm_left_7_link")
    found = result("calibration.json", "calibrate", "marker", dataset(MARKER), *options)
    errors = found["errors_rms"]["marker"]
    return [
        exact("TALOS marker: leave-one-out error", errors["leave_one_out"], "mm"),
        exact("TALOS marker: left out, by what nodes apply", errors["left_out_written"], "mm"),
    ]
