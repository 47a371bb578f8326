"""`inertial-estimation synthesize`: a motion and its measurements as a rosbag2."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.node_configs import all_parameters
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.recordings.recording_writer import check_bag_folder, write_recording
from inertial_estimation.recordings.trajectory_files import read_trajectory_csv
from inertial_estimation.recordings.truth_file import TRUTH_FILE, inertias_as_json
from inertial_estimation.simulation.sensor_noise_config import NOISE_FREE, REALISTIC, SensorNoise
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing, Truth
from inertial_estimation.synthetic.true_inertias import true_inertias


def run(args: argparse.Namespace) -> int:
    """Compute the motion and its measurements, and write them as a recording."""
    if not 0.0 <= args.dropped < 1.0:
        raise ConfigurationError(f"--dropped is {args.dropped}, expected a share in [0, 1)")
    if args.rate <= 0.0 or args.duration <= 0.0:
        raise ConfigurationError(
            f"--rate is {args.rate:g} Hz and --duration {args.duration:g} s, expected both to be positive"
        )
    check_bag_folder(args.output, overwrite=args.overwrite)
    seeds = np.random.SeedSequence(args.seed).spawn(3)
    motion_rng, noise_rng, robot_rng = (np.random.default_rng(seed) for seed in seeds)
    robot, folder = _robot_config(args.config)
    urdf = read_urdf(args.urdf or robot.urdf or synthetic_robot(args.robot).urdf, folder=folder)
    if args.mass_sigma or args.com_sigma:
        urdf = perturbed_urdf(urdf, robot_rng, mass_sigma=args.mass_sigma, com_sigma=args.com_sigma)
    truth = synthetic_truth(
        args.robot,
        Timing(duration_s=args.duration, rate_hz=args.rate),
        motion_rng,
        urdf=urdf,
        locked_joints=robot.locked_joints,
        trajectory=read_trajectory_csv(args.trajectory) if args.trajectory else None,
        payload_mass=args.payload_mass,
        payload_time_s=args.payload_time if args.payload_time >= 0.0 else None,
        payload_link=args.payload_link,
    )
    noise = replace(
        NOISE_FREE if args.noise_free else REALISTIC,
        joint_delay_s=args.delay,
        wrench_delay_s=args.delay,
        dropped=args.dropped,
    )
    recording = measure(truth, noise, noise_rng, robot)
    frames = {"/imu/data": truth.imu.frame if truth.imu is not None else "", "/ground_truth/pose": "world"}
    summary = json.dumps(_truth_summary(truth, noise, args.seed), indent=2) + "\n"
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


def _robot_config(names: Sequence[str]) -> tuple[RobotConfig, Path | None]:
    """Return the robot's parameters in the files, and the folder its description is relative to."""
    if not names:
        return RobotConfig(), None
    file = load_configs(names)
    file.check_shared(all_parameters())
    known = {spec.name for spec in iterate_parameters(RobotConfig)}
    config = build_config(RobotConfig, file.anywhere(known), where=file.name, origins=file.origins_of())
    return config, Path(file.name).parent


def _truth_summary(truth: Truth, noise: SensorNoise, seed: int) -> dict[str, Any]:
    payload = None
    if truth.payload is not None:
        inertia = truth.payload.inertia
        payload = {
            "link": inertia.link,
            "time_s": truth.payload.time_s,
            "mass": inertia.mass,
            "com": np.asarray(inertia.com_L).tolist(),
            "inertia_about_com": np.asarray(inertia.inertia_Lcm).tolist(),
        }
    return {
        "seed": seed,
        "mass_without_payload": truth.robot.total_mass,
        "payload": payload,
        "sensors": asdict(noise),
        "inertias": inertias_as_json(true_inertias(truth)),
    }
