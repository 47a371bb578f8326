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

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inertial_estimation.commands import arguments
from inertial_estimation.commands.terminal import progress_bar
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.outputs import json_text

if TYPE_CHECKING:
    from inertial_estimation.closed_loop.closed_loop import ClosedLoop
    from inertial_estimation.closed_loop.loop_recording import TruthRecording
    from inertial_estimation.closed_loop.loop_watch import FallWatch, LoopAccuracy
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.models.robot_config import SimulatedRobotConfig
    from inertial_estimation.recordings.recording import MemoryRecording
    from inertial_estimation.simulation.disturbances import Disturbance

EXAMPLES = (
    "--config go2 --output bag",
    "--config hyq --walk 100 0.1 1 --inertias trunk_payload --output bag --rrd walk.rrd",
    "--config go2 --disturbance '{kind: ball, link: base, mass: 2, at: [0, 0, 0.1], start: 4}' --output bag",
)
TRUNKS = ("nominal", "inertial_ekf", "trunk_payload")
SWING = 0.3  # of an arm [rad]
HOIST_S = 3.0
SLICE_S = 0.1  # between two updates of progress, and looks at the truth [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_robot(parser, "hyq, go2, talos")
    arguments.add_output_bag(parser)
    arguments.add_number(parser, "--duration", 12.0, "S", "time from the release to the end (12 s)")
    arguments.add_number(parser, "--hoist", HOIST_S, "S", f"time at rest on the hoist ({HOIST_S:g} s)")
    disturbance = (
        "disturbance of the robot, for instance '{kind: ball, link: trunk, mass: 5, start: 4}'; the "
        "kinds are mass, ball, push and impact; repeat it for more"
    )
    parser.add_argument("--disturbance", action="append", default=[], metavar="YAML", help=disturbance)
    listed = "YAML file with a list of further disturbances"
    parser.add_argument("--disturbances", type=Path, metavar="FILE", help=listed)
    walk = "walk: number of steps (of single feet), length of a step [m], when it begins [s]"
    parser.add_argument("--walk", nargs=3, type=float, metavar=("STEPS", "LENGTH", "S"), help=walk)
    swing = f"largest distance of an arm's joints from the stance; 0 holds it ({SWING:g} rad)"
    parser.add_argument("--swing", type=float, default=None, metavar="RAD", help=swing)
    inertias = (
        "inertias the controller uses: those of the URDF or of an estimator (nominal); with "
        "trunk_payload the robot also stands still and tilts as the identification requests"
    )
    parser.add_argument("--inertias", choices=TRUNKS, default="nominal", help=inertias)
    arguments.add_noise_free(parser)
    arguments.add_seed(parser, "the sensor noise")
    arguments.add_param(parser)
    arguments.add_rrd(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate the robot, record its readings and write them."""
    from inertial_estimation.closed_loop.loop_recording import LoopRecording, TruthRecording
    from inertial_estimation.commands.viewer_files import simulation_view
    from inertial_estimation.configuration.node_names import SIMULATOR_NODE
    from inertial_estimation.recordings.bag_writer import check_bag_folder
    from inertial_estimation.simulation.config import SimulationConfig

    if args.swing is not None and not 0.0 <= args.swing <= 3.2:
        raise ConfigurationError(f"--swing is {args.swing:g} rad, expected 0 to 3.2")
    if args.duration <= 0.0 or args.hoist < 0.0:
        raise ConfigurationError(
            f"--duration is {args.duration:g} s and --hoist {args.hoist:g} s, expected a positive duration "
            "and no negative time on the hoist"
        )
    check_bag_folder(args.output, overwrite=args.overwrite)
    rrd = arguments.checked_rrd(args)
    robot = _robot(args)
    texts, disturbances = given_disturbances(args)
    disturbed = sorted({disturbance.link for disturbance in disturbances})
    loop = robot.build(
        disturbances=disturbances,
        seed=args.seed,
        adaptation=args.inertias != "nominal",
        payload=args.inertias == "trunk_payload",
        inertial=args.inertias == "inertial_ekf",
    )
    recorder, truth = LoopRecording(loop), TruthRecording(loop)
    config = robot.config(SIMULATOR_NODE, SimulationConfig).robot
    with simulation_view(rrd, loop, loop.controller.config.robot, robot.urdf, disturbed):
        accuracy, watch = _go(loop, args, truth)
    known = {"disturbances": texts, "released_s": args.hoist, **_truth(loop, disturbed)}
    messages = _write(args, recorder.recording(), truth, known, config)
    print(f"{messages} messages, {args.hoist + loop.time_s:.1f} s, in {args.output}")
    print("\n".join(accuracy.lines()))
    if loop.simulation.fallen:
        print(f"inertial-estimation simulate: {watch.sentence()}", file=sys.stderr)
        return 1
    return 0


def _robot(args: argparse.Namespace) -> RobotLoop:
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.configuration.config_file import ALL_NODES
    from inertial_estimation.configuration.node_configs import NODE_CONFIGS, checked_overrides
    from inertial_estimation.configuration.node_names import IDENTIFICATION
    from inertial_estimation.simulation.config import NOISE_FREE

    simulated = [node for node in NODE_CONFIGS if node != IDENTIFICATION]
    overrides: dict[str, dict[str, Any]] = {}
    for node, name, value in checked_overrides(args.param, simulated):
        overrides.setdefault(node, {})[name] = value
    if args.urdf:
        overrides.setdefault(ALL_NODES, {})["urdf"] = args.urdf
    return RobotLoop(args.config, overrides, noise=NOISE_FREE if args.noise_free else None)


def given_disturbances(args: argparse.Namespace) -> tuple[list[str], list[Disturbance]]:
    """Return the disturbances of ``--disturbance``, then those of ``--disturbances``, as texts and built.

    Raises:
        ConfigurationError: If a text or the file is wrong.
    """
    from inertial_estimation.files.safe_yaml import read_yaml, yaml_line
    from inertial_estimation.simulation.disturbance_yaml import disturbances_from_list, parse_disturbance

    listed = [] if args.disturbances is None else read_yaml(args.disturbances, "list of disturbances")
    of_file = disturbances_from_list(listed, f"'{args.disturbances}'")
    built = [*map(parse_disturbance, args.disturbance), *of_file]
    return [*args.disturbance, *map(yaml_line, listed)], built


def _go(loop: ClosedLoop, args: argparse.Namespace, truth: TruthRecording) -> tuple[LoopAccuracy, FallWatch]:
    """Run the loop; return the errors of its estimates since the release, and what was seen."""
    import numpy as np

    from inertial_estimation.closed_loop.loop_watch import FallWatch, LoopAccuracy
    from inertial_estimation.closed_loop.scheduled_motions import ScheduledSwing, ScheduledWalk
    from inertial_estimation.control.references import WalkCommand

    if args.walk and not loop.simulation.robot.floating_base:
        raise ConfigurationError("--walk is for legged robots; one with a fixed base swings (--swing)")
    steps, length, begin_s = args.walk or (0.0, 0.0, float("inf"))
    motions: list[ScheduledWalk | ScheduledSwing] = []
    motions.append(ScheduledWalk(WalkCommand(int(steps), length), begin_s, args.duration))
    swing = args.swing if args.swing is not None else SWING * (not loop.simulation.robot.floating_base)
    if swing:
        motions.append(ScheduledSwing(loop, swing, np.random.default_rng(args.seed)))

    def command(loop: ClosedLoop) -> None:
        for motion in motions:
            motion.command(loop)

    loop.release(args.hoist)
    accuracy, watch = LoopAccuracy(loop), FallWatch(loop)
    with progress_bar("simulate", args.duration, "s") as progress:
        while loop.time_s < args.duration and not loop.simulation.fallen:
            loop.run(min(SLICE_S, args.duration - loop.time_s), command)
            accuracy.sample()
            watch.look()
            truth.take()
            progress(loop.time_s)
    return accuracy, watch


def _truth(loop: ClosedLoop, disturbed: Sequence[str]) -> dict[str, Any]:
    inertias = loop.simulation.truth(disturbed).inertias
    links = {
        link: {"mass": inertia.mass, "com": list(map(float, inertia.com_L))}
        for link, inertia in inertias.items()
    }
    return {"fallen": loop.simulation.fallen, "links_at_the_end": links}


def _write(
    args: argparse.Namespace,
    recording: MemoryRecording,
    truth: TruthRecording,
    known: Mapping[str, Any],
    config: SimulatedRobotConfig,
) -> int:
    """Write the bag and what is true of it; return the number of messages."""
    from inertial_estimation.recordings.bag_writer import write_recording
    from inertial_estimation.recordings.truth_file import TRUTH_FILE, inertias_as_json
    from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC

    content = {**known, "inertias": inertias_as_json(truth.steps(recording.start_ns))}
    write_recording(
        recording,
        args.output,
        storage=args.storage,
        frames={**{f"/{topic}": link for topic, link in config.imus.items()}, GROUND_TRUTH_TOPIC: "world"},
        overwrite=args.overwrite,
        further_files={TRUTH_FILE: json_text(content)},
    )
    return len(recording.messages)
