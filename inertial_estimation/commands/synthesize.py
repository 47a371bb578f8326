"""The command `synthesize`: a recording with known truth."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.configuration.config_file import load_configs
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.files.outputs import json_text
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.recordings.bag_writer import check_bag_folder, write_recording
from inertial_estimation.recordings.trajectory_files import read_trajectory_csv
from inertial_estimation.recordings.truth_file import TRUTH_FILE, inertias_as_json
from inertial_estimation.simulation.config import NOISE_FREE, REALISTIC, SensorNoise
from inertial_estimation.simulation.disturbances import TWELVE_POUNDS
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing, Truth


def run(args: argparse.Namespace) -> int:
    """Compute the motion and its measurements, and write them as a recording."""
    check_bag_folder(args.output, overwrite=args.overwrite)
    motion_rng, noise_rng, robot_rng = map(np.random.default_rng, np.random.SeedSequence(args.seed).spawn(3))
    robot, urdf = _robot(args, robot_rng)
    truth = _truth(args, robot, urdf, motion_rng)
    noise = NOISE_FREE if args.noise_free else REALISTIC
    recording = measure(truth, noise, noise_rng, robot)
    frames = {"/imu/data": truth.imu.frame if truth.imu is not None else "", "/ground_truth/pose": "world"}
    summary = json_text(_truth_summary(truth, noise, args.seed))
    write_recording(
        recording,
        args.output,
        storage=args.storage,
        frames=frames,
        overwrite=args.overwrite,
        further_files={TRUTH_FILE: summary, "truth.urdf": urdf},
    )
    print(f"{len(recording.messages)} messages, {truth.times_s[-1]:.1f} s, in {args.output}")
    return 0


def _robot(args: argparse.Namespace, rng: Any) -> tuple[RobotConfig, str]:
    """Return the robot's parameters from the files, and the description of the true robot as text."""
    file = load_configs(args.config) if args.config else None
    robot = robot_config(file) if file else RobotConfig()
    source = args.urdf or robot.urdf or synthetic_robot(args.robot).urdf
    urdf = read_urdf(source, folder=Path(file.name).parent if file else None)
    if args.mass_sigma or args.com_sigma:
        urdf = perturbed_urdf(urdf, rng, mass_sigma=args.mass_sigma, com_sigma=args.com_sigma)
    return robot, urdf


def _truth(args: argparse.Namespace, robot: RobotConfig, urdf: str, rng: Any) -> Truth:
    return synthetic_truth(
        args.robot,
        Timing(duration_s=args.duration, rate_hz=args.rate),
        read_trajectory_csv(args.trajectory) if args.trajectory else rng,
        urdf=urdf,
        locked_joints=robot.locked_joints,
        payload_mass=TWELVE_POUNDS if args.payload_mass is None else args.payload_mass,
        payload_time_s=args.payload_time if args.payload_time >= 0.0 else None,
        payload_link=args.payload_link,
    )


def _truth_summary(truth: Truth, noise: SensorNoise, seed: int) -> dict[str, Any]:
    payload = None
    if truth.payload is not None:
        inertia = truth.payload.body
        payload = {
            "link": inertia.link,
            "time_s": truth.payload.start,
            "mass": inertia.mass,
            "com": inertia.com_L.tolist(),
            "inertia_about_com": inertia.inertia_Lcm.tolist(),
        }
    return {
        "seed": seed,
        "mass_without_payload": truth.robot.total_mass,
        "payload": payload,
        "sensors": asdict(noise),
        "inertias": inertias_as_json(truth.inertias()),
    }
