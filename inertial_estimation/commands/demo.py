"""The command `demo`: TALOS takes a weight, with four live nodes."""

import argparse
import importlib.util
import math
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from inertial_estimation.commands.demo_run import PARAMETER_FILES, DemoRun
from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.commands.terminal import drawing, table_lines
from inertial_estimation.compilation import warm_up
from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_json
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene
from inertial_estimation.simulation.disturbances import Attachment, parse_disturbance

ELBOW = "arm_left_4_joint"
NUMBERS, FIGURE = "demo.json", "demo.png"
POLL_PERIOD_S, LINE_PERIOD_S = 0.05, 2.0
HEADER = ("adaptation", "t [s]", "elbow [deg]", "error [deg]", "rmse [rad]", "forearm [kg]", "truth [kg]")
DOMAINS = range(51, 101)  # 1 to 50 are left to robots


def run(args: argparse.Namespace) -> int:
    """Run the demo and draw its figure."""
    output = check_output_folder(args.output, shared=True)
    for package in ("rclpy", "mujoco", "proxsuite"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(
                f"the demo needs live nodes and a simulation, and '{package}' is not importable: "
                "pip install 'inertial_estimation[standalone,sim,tools,robots]'"
            )
    scene = _scene(args.duration, load_configs(PARAMETER_FILES))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    warm_up()  # before nodes start, which would all compile at once
    with ExitStack() as stack:
        runs = [
            DemoRun(scene, adaptation=adaptation, domain_id=stack.enter_context(claimed_domain(DOMAINS)))
            for adaptation in ((False,) if args.no_adaptation else (False, True))
        ]
        print("Talos takes a weight; simulator, estimators and controller run as live nodes.", flush=True)
        _watch(runs)
    responses = [response for demo_run in runs if (response := demo_run.response()) is not None]
    _print_table(scene, responses)
    if len(responses) < len(runs):
        raise RecordingError("no joint state of the robot was received after its release")
    with result_folder(output, (NUMBERS, FIGURE)) as partial:
        _write(partial, scene, runs, responses)
    print(f"results: {output}")
    return 1 if any(demo_run.ended_early for demo_run in runs) else 0


def _scene(duration_s: float, files: ConfigFile) -> PayloadScene:
    """Return the scene, from the parameter files and the robot's description."""
    shared = files.shared
    robot = robot_from_config(robot_config(files), read_urdf(str(shared["urdf"]))).robot
    (text,) = files.nodes[SIMULATOR_NODE]["disturbances"]
    weight = parse_disturbance(text)
    assert isinstance(weight, Attachment)
    if duration_s <= weight.start:
        raise ConfigurationError(
            f"--duration is {duration_s} s, expected more than {weight.start} s, the time of the weight"
        )
    nominal = float(robot.model.inertias[robot.link_body(weight.link).joint_id].mass)
    home = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))[ELBOW]
    return PayloadScene(ELBOW, home, weight.link, weight.body.mass, nominal, weight.start, duration_s)


def _watch(runs: Sequence[DemoRun]) -> None:
    """Run all nodes and listen until all runs are over; print a line of each every two seconds."""
    begin_s = next_s = time.monotonic()
    with ExitStack() as stack:
        for demo_run in runs:
            stack.enter_context(demo_run)
        while not all(demo_run.over for demo_run in runs):
            now_s = time.monotonic()
            if now_s >= next_s:
                next_s = now_s + LINE_PERIOD_S
                for demo_run in (one for one in runs if not one.over):
                    said = f"{_name(demo_run.adaptation):<20} {demo_run.progress()}"
                    print(f"[{now_s - begin_s:5.1f} s] {said}", flush=True)
            for demo_run in runs:
                demo_run.poll()
            time.sleep(POLL_PERIOD_S)


def _name(adaptation: bool) -> str:
    return f"{'with' if adaptation else 'without'} adaptation:"


def _print_table(scene: PayloadScene, responses: Sequence[PayloadResponse]) -> None:
    """Print the end of each run."""
    print(
        f"{scene.payload:.2f} kg on {scene.link} from {scene.time_s:g} s on; elbow reference "
        f"{math.degrees(scene.home):.1f} deg, forearm {scene.nominal_mass:.2f} kg without the weight"
    )
    rows: list[tuple[str, ...]] = [HEADER]
    for one in (response for response in responses if len(response.t)):
        t, angle = float(one.t[-1]), math.degrees(one.angle[-1])
        rmse = f"{one.numbers(scene)['elbow_rmse_rad']:.3f}"
        elbow = (f"{t:.2f}", f"{angle:.1f}", f"{angle - math.degrees(scene.home):.1f}", rmse)
        mass = f"{one.mass[-1]:.2f}" if len(one.mass) else "-"
        rows.append(("on" if one.adaptation else "off", *elbow, mass, f"{scene.mass(t):.2f}"))
    print("\n".join(table_lines(rows, indent=2)))


def _write(
    output: Path, scene: PayloadScene, runs: Sequence[DemoRun], responses: Sequence[PayloadResponse]
) -> None:
    """Write numbers and figure, and print what the nodes complained of."""
    results = []
    for demo_run, response in zip(runs, responses, strict=True):
        facts = demo_run.facts()
        late = [f"{facts['command_timeouts']} commands too late"] if facts["command_timeouts"] else []
        for sentence in filter(None, (demo_run.ended_early, *late, *facts["complaints"])):
            print(f"{_name(demo_run.adaptation)} {sentence}", file=sys.stderr)
        results.append({**facts, **response.numbers(scene)})
    write_json(output / NUMBERS, {"scene": scene._asdict(), "runs": results})
    with drawing("figure", "matplotlib"):
        from inertial_estimation.plots.demo_figure import write_demo_figure

        write_demo_figure(output / FIGURE, scene, responses)
