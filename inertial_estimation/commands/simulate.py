"""Simulate a robot that stands on its own estimates and write its sensor readings as a rosbag2.

Simulation, estimators and controller run in one process. The robot of a parameter file hangs on a hoist, is
released, stands, and walks if --walk asks for it. All other times count from the release. The disturbances
are those of the simulator, as YAML: '{kind: ball, link: trunk, mass: 5, at: [-0.3, 0.1, 0.1], start: 4}'.
An arm swings smoothly about its stance (--swing). The errors of the estimates are printed at the end.
The file truth.json in the folder of the bag holds the true inertias of all links over time (replay compares
with them), and those of the disturbed links at the end.
The command replay runs the estimators on the bag, also with other parameters than those of the simulation.
The exit code is 1 if the robot fell; the bag is written nevertheless.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop
from inertial_estimation.closed_loop.loop_accuracy import LoopAccuracy
from inertial_estimation.closed_loop.loop_recording import LoopRecording
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_swing import ScheduledSwing
from inertial_estimation.closed_loop.scheduled_walk import ScheduledWalk
from inertial_estimation.closed_loop.truth_recording import TruthRecording
from inertial_estimation.commands.arguments import add_param, add_robot
from inertial_estimation.commands.disturbance_arguments import (
    add_disturbances,
    disturbance_texts,
    given_disturbances,
)
from inertial_estimation.commands.progress_bar import progress_bar
from inertial_estimation.commands.rrd_option import add_rrd, checked_rrd
from inertial_estimation.commands.simulation_view import simulation_view
from inertial_estimation.configuration.config_file import ALL_NODES
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, checked_overrides
from inertial_estimation.configuration.node_names import IDENTIFICATION, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.recordings.bag_writer import STORAGES
from inertial_estimation.recordings.recording_writer import check_bag_folder, write_recording
from inertial_estimation.recordings.truth_file import TRUTH_FILE, inertias_as_json
from inertial_estimation.simulation.disturbances import Disturbance
from inertial_estimation.simulation.sensor_noise_config import NOISE_FREE
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC

__all__ = ["EXAMPLES", "add_arguments", "run"]

EXAMPLES = (
    "--config go2 --output bag",
    "--config hyq --walk 100 0.1 1 --inertias trunk_payload --output bag --rrd walk.rrd",
    "--config go2 --disturbance '{kind: ball, link: base, mass: 2, at: [0, 0, 0.1], start: 4}' --output bag",
)

SIMULATED_NODES = [node for node in NODE_CONFIGS if node != IDENTIFICATION]
TRUNKS = ("nominal", "inertial_ekf", "trunk_payload")
SWING = 0.3  # of an arm [rad]
SLICE_S = 0.1  # between two updates of progress and commands, and looks at the truth [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_robot(parser, "hyq, go2, talos")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the new rosbag2")
    parser.add_argument(
        "--duration", type=float, default=12.0, metavar="S", help="time from the release to the end (12 s)"
    )
    parser.add_argument(
        "--hoist", type=float, default=HOIST_S, metavar="S", help=f"time at rest on the hoist ({HOIST_S:g} s)"
    )
    add_disturbances(parser)
    parser.add_argument(
        "--walk",
        nargs=3,
        type=float,
        metavar=("STEPS", "LENGTH", "S"),
        help="walk: number of steps (of single feet), length of a step [m], when it begins [s]",
    )
    parser.add_argument(
        "--swing",
        type=float,
        default=None,
        metavar="RAD",
        help=f"largest distance of an arm's joints from the stance; 0 holds it ({SWING:g} rad)",
    )
    parser.add_argument(
        "--inertias",
        choices=TRUNKS,
        default="nominal",
        help="inertias the controller uses: those of the URDF or of an estimator (nominal); with "
        "trunk_payload the robot also stands still and tilts as the identification requests",
    )
    parser.add_argument("--noise-free", action="store_true", help="simulate sensors without noise and bias")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sensor noise (0)")
    parser.add_argument("--storage", choices=STORAGES, default="mcap", help="format of the bag (mcap)")
    parser.add_argument("--overwrite", action="store_true", help="replace a rosbag2 that exists there")
    add_param(parser, "NODE.NAME=VALUE")
    add_rrd(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate the robot, record its readings and write them."""
    if args.swing is not None and not 0.0 <= args.swing <= 3.2:
        raise ConfigurationError(f"--swing is {args.swing:g} rad, expected 0 to 3.2")
    if args.duration <= 0.0 or args.hoist < 0.0:
        raise ConfigurationError(
            f"--duration is {args.duration:g} s and --hoist {args.hoist:g} s, expected a positive duration "
            "and no negative time on the hoist"
        )
    check_bag_folder(args.output, overwrite=args.overwrite)
    rrd = checked_rrd(args)
    robot = _robot(args)
    disturbances = given_disturbances(args)
    disturbed = sorted({disturbance.link for disturbance in disturbances})
    loop = _loop(robot, args, disturbances)
    recorder = LoopRecording(loop)
    truth = TruthRecording(loop)
    config = robot.config(SIMULATOR_NODE, SimulationConfig).robot
    with simulation_view(rrd, loop, config, robot.urdf, disturbed):
        accuracy = _go(loop, args, truth)
    recording = recorder.recording()
    frames = {**{f"/{topic}": link for topic, link in config.imus.items()}, GROUND_TRUTH_TOPIC: "world"}
    known = {**_truth(loop, args, disturbed), "inertias": inertias_as_json(truth.steps(recording.start_ns))}
    write_recording(
        recording,
        args.output,
        storage=args.storage,
        frames=frames,
        overwrite=args.overwrite,
        further_files={TRUTH_FILE: json.dumps(known, indent=2) + "\n"},
    )
    print(f"{len(recording.messages)} messages, {args.hoist + loop.time_s:.1f} s, in {args.output}")
    print("\n".join(accuracy.lines()))
    if loop.simulation.fallen:
        print(f"inertial-estimation simulate: the robot fell after {loop.time_s:.1f} s", file=sys.stderr)
        return 1
    return 0


def _robot(args: argparse.Namespace) -> RobotLoop:
    overrides: dict[str, dict[str, Any]] = {}
    for node, name, value in checked_overrides(args.param, SIMULATED_NODES):
        overrides.setdefault(node, {})[name] = value
    if args.urdf:
        overrides.setdefault(ALL_NODES, {})["urdf"] = args.urdf
    return RobotLoop(args.config, overrides, noise=NOISE_FREE if args.noise_free else None)


def _loop(robot: RobotLoop, args: argparse.Namespace, disturbances: Sequence[Disturbance]) -> ClosedLoop:
    return robot.build(
        disturbances=disturbances,
        seed=args.seed,
        adaptation=args.inertias != "nominal",
        payload=args.inertias == "trunk_payload",
        inertial=args.inertias == "inertial_ekf",
    )


def _go(loop: ClosedLoop, args: argparse.Namespace, truth: TruthRecording) -> LoopAccuracy:
    """Run the loop; return the errors of its estimates since the release."""
    steps, length, begin_s = args.walk or (0.0, 0.0, float("inf"))
    motions: list[ScheduledWalk | ScheduledSwing] = []
    motions.append(ScheduledWalk(WalkCommand(int(steps), length), begin_s, args.duration))
    swing = args.swing if args.swing is not None else SWING * (not loop.simulation.robot.floating_base)
    if swing:
        motions.append(ScheduledSwing(loop, swing, np.random.default_rng(args.seed)))
    loop.release(args.hoist)
    accuracy = LoopAccuracy(loop)
    with progress_bar("simulate", args.duration, "s") as progress:
        while loop.time_s < args.duration and not loop.simulation.fallen:
            for motion in motions:
                motion.command(loop)
            loop.run(min(SLICE_S, args.duration - loop.time_s))
            accuracy.sample()
            truth.take()
            progress(loop.time_s)
    return accuracy


def _truth(loop: ClosedLoop, args: argparse.Namespace, disturbed: Sequence[str]) -> dict[str, Any]:
    inertias = loop.simulation.truth(disturbed).inertias
    return {
        "disturbances": disturbance_texts(args),
        "released_s": args.hoist,
        "fallen": loop.simulation.fallen,
        "links_at_the_end": {
            link: {"mass": inertia.mass, "com": list(map(float, inertia.com_L))}
            for link, inertia in inertias.items()
        },
    }
