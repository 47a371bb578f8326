"""Write a synthetic recording with known truth, by inverse dynamics, as a rosbag2.

The robot rests, then moves smoothly, or along a trajectory that `excite` wrote; at a given time a weight
is attached to one of its links. With --config it has the friction, and its readings the joint offsets
and drive gains, of the parameter files; with --mass-sigma and --com-sigma it is unlike its description.
The sensors' noise, bias, delay and losses come from a generator with a seed: the same seed writes the
same recording. Beside the bag, truth.json holds what an estimator should find, truth.urdf the robot.
"""

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
from inertial_estimation.recordings.recording_writer import STORAGES, write_recording
from inertial_estimation.recordings.trajectory_files import read_trajectory_csv
from inertial_estimation.simulation.payload import TWELVE_POUNDS
from inertial_estimation.synthetic.synthetic_robots import SYNTHETIC_ROBOTS, synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import NOISE_FREE, REALISTIC, SensorNoise, measure
from inertial_estimation.synthetic.synthetic_truth import Timing, Truth

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "robot", choices=sorted(SYNTHETIC_ROBOTS), help="arm: any fixed-base one, with --urdf"
    )
    parser.add_argument("--output", type=Path, required=True, help="folder of the new rosbag2")
    parser.add_argument("--urdf", default="", help="robot description, over the robot's own")
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        help="ROS parameter file or a robot's name, for its description, friction, offsets; again for more",
    )
    parser.add_argument(
        "--trajectory", type=Path, metavar="CSV", help="what an arm follows, as `excite` writes it"
    )
    parser.add_argument(
        "--mass-sigma",
        type=float,
        default=0.0,
        help="masses unlike the description: deviation of the logarithm",
    )
    parser.add_argument(
        "--com-sigma", type=float, default=0.0, metavar="M", help="centres of mass, likewise [m]"
    )
    parser.add_argument("--storage", choices=STORAGES, default="mcap")
    parser.add_argument("--duration", type=float, default=12.0, metavar="S")
    parser.add_argument("--rate", type=float, default=250.0, metavar="HZ", help="samples per second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--payload-mass", type=float, default=TWELVE_POUNDS, metavar="KG")
    parser.add_argument("--payload-link", default="", metavar="LINK")
    parser.add_argument("--payload-time", type=float, default=5.0, metavar="S", help="negative: no payload")
    parser.add_argument("--noise-free", action="store_true", help="ideal sensors")
    parser.add_argument(
        "--delay", type=float, default=0.0, metavar="S", help="age of joint states and wrenches"
    )
    parser.add_argument("--dropped", type=float, default=0.0, metavar="SHARE", help="share of messages lost")
    parser.add_argument("--overwrite", action="store_true", help="replace a rosbag2 at that place")


def run(args: argparse.Namespace) -> int:
    """Simulate, measure, write."""
    if not 0.0 <= args.dropped < 1.0:
        raise ConfigurationError(f"--dropped is {args.dropped}, expected a share in [0, 1)")
    if args.rate <= 0.0 or args.duration <= 0.0:
        raise ConfigurationError("--rate and --duration are expected to be positive")
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
    write_recording(recording, args.output, storage=args.storage, frames=frames, overwrite=args.overwrite)
    content = json.dumps(_truth_summary(truth, noise, args.seed), indent=2)
    (args.output / "truth.json").write_text(content + "\n", encoding="utf-8")
    (args.output / "truth.urdf").write_text(urdf, encoding="utf-8")
    print(f"{len(recording.messages)} messages, {truth.times_s[-1]:.1f} s, in {args.output}")
    return 0


def _robot_config(names: Sequence[str]) -> tuple[RobotConfig, Path | None]:
    """Return what parameter files say of the robot, and the folder its description is relative to."""
    if not names:
        return RobotConfig(), None
    file = load_configs(names)
    file.check_shared(all_parameters())
    known = {spec.name for spec in iterate_parameters(RobotConfig)}
    return build_config(RobotConfig, file.anywhere(known), where=file.name), Path(file.name).parent


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
    }
