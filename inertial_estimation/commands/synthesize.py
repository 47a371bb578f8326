"""Write a synthetic recording with known truth as a rosbag2; joint torques come from inverse dynamics.

The robot rests, then moves smoothly or along a trajectory of the command excite. At a given time a weight is
attached to one of its links. With --config the robot has the friction of the parameter files, and its
readings have their joint offsets and drive gains. With --mass-sigma and --com-sigma its inertias differ from
its description at random. Noise, bias, delay and losses of the sensors come from a seeded generator: the same
seed writes the same recording. The folder of the bag also holds truth.json, with the true mass, payload,
sensor errors and inertias over time (replay compares with them), and truth.urdf, the true robot.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inertial_estimation.commands import arguments
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.outputs import json_text

if TYPE_CHECKING:
    from inertial_estimation.models.robot_config import RobotConfig
    from inertial_estimation.simulation.config import SensorNoise
    from inertial_estimation.synthetic.synthetic_truth import Truth

EXAMPLES = (
    "talos --output bag",
    "arm --config panda --trajectory trajectory.csv --payload-mass 2 --output bag",
)
ROBOTS = ("arm", "panda", "talos")
PAYLOAD_KG = 5.44  # 12 lb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    robot = "the robot; arm is any robot with a fixed base, with --urdf or --config"
    parser.add_argument("robot", choices=ROBOTS, help=robot)
    arguments.add_output_bag(parser)
    urdf = "robot description in place of the robot's own"
    parser.add_argument("--urdf", default="", metavar="SOURCE", help=urdf)
    config = (
        "ROS parameter file or the name of a robot, for its description, friction and joint offsets; "
        "repeat it for more files"
    )
    parser.add_argument("--config", action="append", default=[], help=config)
    trajectory = "trajectory an arm follows, as the command excite writes it"
    parser.add_argument("--trajectory", type=Path, metavar="CSV", help=trajectory)
    masses = "standard deviation of the logarithm of the true masses over those of the description (0)"
    parser.add_argument("--mass-sigma", type=float, default=0.0, help=masses)
    com_sigma = "standard deviation of the true centres of mass from those of the description (0 m)"
    arguments.add_number(parser, "--com-sigma", 0.0, "M", com_sigma)
    payload_mass = f"mass of the weight ({PAYLOAD_KG:g} kg)"
    arguments.add_number(parser, "--payload-mass", PAYLOAD_KG, "KG", payload_mass)
    link = "link the weight is attached to (by robot)"
    parser.add_argument("--payload-link", default="", metavar="LINK", help=link)
    payload_time = "when the weight is attached (5 s); negative: never"
    arguments.add_number(parser, "--payload-time", 5.0, "S", payload_time)
    _add_recording(parser)


def _add_recording(parser: argparse.ArgumentParser) -> None:
    """Declare rate, length and sensor errors of the recording."""
    arguments.add_number(parser, "--duration", 12.0, "S", "length of the recording (12 s)")
    arguments.add_number(parser, "--rate", 250.0, "HZ", "rate of the samples (250 Hz)")
    arguments.add_seed(parser, "motion, noise and true robot")
    arguments.add_noise_free(parser)
    delay = "delay of the stamps of joint states and wrenches (0 s)"
    arguments.add_number(parser, "--delay", 0.0, "S", delay)
    arguments.add_number(parser, "--dropped", 0.0, "SHARE", "share of the messages that are lost (0)")


def run(args: argparse.Namespace) -> int:
    """Compute the motion and its measurements, and write them as a recording."""
    import numpy as np

    from inertial_estimation.recordings.bag_writer import check_bag_folder, write_recording
    from inertial_estimation.recordings.truth_file import TRUTH_FILE
    from inertial_estimation.simulation.config import NOISE_FREE, REALISTIC
    from inertial_estimation.synthetic.synthetic_sensors import measure

    if not 0.0 <= args.dropped < 1.0:
        raise ConfigurationError(f"--dropped is {args.dropped}, expected a share in [0, 1)")
    if args.rate <= 0.0 or args.duration <= 0.0:
        raise ConfigurationError(
            f"--rate is {args.rate:g} Hz and --duration {args.duration:g} s, expected both to be positive"
        )
    check_bag_folder(args.output, overwrite=args.overwrite)
    motion_rng, noise_rng, robot_rng = map(np.random.default_rng, np.random.SeedSequence(args.seed).spawn(3))
    robot, urdf = _robot(args, robot_rng)
    truth = _truth(args, robot, urdf, motion_rng)
    noise = replace(
        NOISE_FREE if args.noise_free else REALISTIC,
        joint_delay_s=args.delay,
        wrench_delay_s=args.delay,
        dropped=args.dropped,
    )
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
    """Return the robot's parameters in the files, and the text of the true robot's description."""
    from inertial_estimation.configuration.config_lookup import load_configs
    from inertial_estimation.configuration.node_configs import robot_config
    from inertial_estimation.configuration.urdf_source import read_urdf
    from inertial_estimation.models.robot_config import RobotConfig
    from inertial_estimation.models.urdf_inertia import perturbed_urdf
    from inertial_estimation.synthetic.synthetic_robots import synthetic_robot

    file = load_configs(args.config) if args.config else None
    robot = robot_config(file) if file else RobotConfig()
    source = args.urdf or robot.urdf or synthetic_robot(args.robot).urdf
    urdf = read_urdf(source, folder=Path(file.name).parent if file else None)
    if args.mass_sigma or args.com_sigma:
        urdf = perturbed_urdf(urdf, rng, mass_sigma=args.mass_sigma, com_sigma=args.com_sigma)
    return robot, urdf


def _truth(args: argparse.Namespace, robot: RobotConfig, urdf: str, rng: Any) -> Truth:
    from inertial_estimation.recordings.trajectory_files import read_trajectory_csv
    from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
    from inertial_estimation.synthetic.synthetic_truth import Timing

    return synthetic_truth(
        args.robot,
        Timing(duration_s=args.duration, rate_hz=args.rate),
        rng,
        urdf=urdf,
        locked_joints=robot.locked_joints,
        trajectory=read_trajectory_csv(args.trajectory) if args.trajectory else None,
        payload_mass=args.payload_mass,
        payload_time_s=args.payload_time if args.payload_time >= 0.0 else None,
        payload_link=args.payload_link,
    )


def _truth_summary(truth: Truth, noise: SensorNoise, seed: int) -> dict[str, Any]:
    from inertial_estimation.recordings.truth_file import inertias_as_json

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
