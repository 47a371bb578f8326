"""The command `simulate`: a robot that stands or walks on its estimates."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, walk_at
from inertial_estimation.closed_loop.loop_watch import LoopRecording, LoopWatch
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.commands.terminal import progress_bar
from inertial_estimation.configuration.config_file import ALL_NODES
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, checked_overrides
from inertial_estimation.configuration.node_names import IDENTIFICATION, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.outputs import json_text
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import random_sines
from inertial_estimation.recordings.bag_writer import check_bag_folder, write_recording
from inertial_estimation.recordings.truth_file import TRUTH_FILE, inertias_as_json
from inertial_estimation.signals import JointReading
from inertial_estimation.simulation.config import NOISE_FREE, SimulationConfig
from inertial_estimation.simulation.disturbances import parse_disturbance
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC

SWING = 0.3  # default amplitude of an arm's swing [rad]
SWING_HZ = (0.1, 0.4)  # frequencies of the swing
LIMIT_SHARE = 0.8  # of the way to a position limit that a swinging joint uses
SLICE_S = 0.1  # time between two updates of progress, and two samples of the truth [s]


def run(args: argparse.Namespace) -> int:
    """Simulate the robot, record its readings and write them."""
    check_bag_folder(args.output, overwrite=args.overwrite)
    robot = _robot(args)
    disturbances = [parse_disturbance(text) for text in args.disturbance]
    loop = robot.build(
        disturbances=disturbances,
        seed=args.seed,
        adaptation=args.inertias != "nominal",
        payload=args.inertias == "trunk_payload",
        inertial=args.inertias == "inertial_ekf",
    )
    hoist_s = HOIST_S if args.hoist is None else args.hoist
    recorder, watch = LoopRecording(loop), LoopWatch(loop)
    _run_loop(loop, args, hoist_s, watch)
    recording, config = recorder.recording(), robot.config(SIMULATOR_NODE, SimulationConfig).robot
    inertias = inertias_as_json(watch.inertias(recording.start_ns))
    at_the_end = loop.simulation.truth(sorted({one.link for one in disturbances})).inertias
    known = {
        "disturbances": args.disturbance,
        "released_s": hoist_s,
        "fallen": loop.simulation.fallen,
        "links_at_the_end": {k: {"mass": one.mass, "com": one.com_L} for k, one in at_the_end.items()},
    }
    write_recording(
        recording,
        args.output,
        storage=args.storage,
        frames={f"/{IMU}": config.imu_frame, GROUND_TRUTH_TOPIC: "world"},
        overwrite=args.overwrite,
        further_files={TRUTH_FILE: json_text({**known, "inertias": inertias})},
    )
    print(f"{len(recording.messages)} messages, {hoist_s + loop.time_s:.1f} s, in {args.output}")
    print("\n".join(watch.lines()))
    if loop.simulation.fallen:
        print(f"inertial-estimation simulate: {watch.fall()}", file=sys.stderr)
        return 1
    return 0


def _robot(args: argparse.Namespace) -> RobotLoop:
    simulated = [node for node in NODE_CONFIGS if node != IDENTIFICATION]
    overrides: dict[str, dict[str, Any]] = {}
    for node, name, value in checked_overrides(args.param, simulated):
        overrides.setdefault(node, {})[name] = value
    if args.urdf:
        overrides.setdefault(ALL_NODES, {})["urdf"] = args.urdf
    return RobotLoop(args.config, overrides, noise=NOISE_FREE if args.noise_free else None)


def _run_loop(loop: ClosedLoop, args: argparse.Namespace, hoist_s: float, watch: LoopWatch) -> None:
    """Run the closed loop with the requested motions, and sample its errors."""
    if args.walk and not loop.simulation.robot.floating_base:
        raise ConfigurationError("--walk is for legged robots; one with a fixed base swings (--swing)")
    command: Callable[[ClosedLoop], None] | None = None
    if args.walk:
        steps, length, begin_s = args.walk
        command = walk_at(begin_s, WalkCommand(int(steps), length))
    reach = args.swing if args.swing is not None else SWING * (not loop.simulation.robot.floating_base)
    if reach:
        command = _swing(loop, reach, np.random.default_rng(args.seed))
    loop.release(hoist_s)
    with progress_bar("simulate", args.duration, "s") as progress:
        while loop.time_s < args.duration and not loop.simulation.fallen:
            loop.run(min(SLICE_S, args.duration - loop.time_s), command)
            watch.look()
            progress(loop.time_s)


def _swing(loop: ClosedLoop, reach: float, rng: Generator) -> Callable[[ClosedLoop], None]:
    """Return a function to be called at every tick; it moves all joints smoothly about the present posture.

    A joint moves by at most `reach` [rad or m], less near position limits. A lower rate would shake
    the arm.

    Raises:
        ConfigurationError: If the base is free: a swing could make a legged robot fall.
    """
    robot = loop.simulation.robot
    if robot.floating_base:
        raise ConfigurationError("a swing is for robots with a fixed base; a legged robot walks (--walk)")
    centre, limits = loop.simulation.truth().q, joint_limits(robot)
    room = LIMIT_SHARE * np.minimum(centre - limits.lower, limits.upper - centre)
    motion = random_sines(centre, np.clip(room, 0.0, reach), rng, band_hz=SWING_HZ)

    def command(loop: ClosedLoop) -> None:
        q, _v, _a = motion.at(loop.time_s)
        loop.controller.push_joint_reference(JointReading(loop.simulation.stamp_ns, robot.joint_names, q))

    return command
