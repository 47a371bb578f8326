"""The command `demo`: TALOS takes a weight, with four live nodes."""

import argparse
import importlib.util
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from inertial_estimation.commands import arguments
from inertial_estimation.commands.demo_display import Display
from inertial_estimation.commands.demo_run import PARAMETER_FILES, DemoRun
from inertial_estimation.commands.ros_domains import claimed_domain, given_domain
from inertial_estimation.commands.terminal import drawing
from inertial_estimation.commands.viewer_files import demo_view
from inertial_estimation.compilation import warm_up
from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_json
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene
from inertial_estimation.simulation.disturbance_yaml import parse_disturbance
from inertial_estimation.simulation.disturbances import Attachment

ELBOW = "arm_left_4_joint"
NUMBERS, FIGURE = "demo.json", "demo.png"
POLL_PERIOD_S = 0.05
DOMAINS = range(51, 101)  # 1 to 50 are left to robots


def run(args: argparse.Namespace) -> int:
    """Run the demo and draw its figure."""
    quiet = args.no_live
    output, rrd = check_output_folder(args.output, shared=True), arguments.checked_rrd(args)
    given = given_domain()
    if not quiet:
        print("Talos takes a weight; simulator, estimators and controller run as live nodes.", flush=True)
    _check_packages()
    files = load_configs(PARAMETER_FILES)
    urdf = read_urdf(str(files.shared["urdf"]))
    scene = _scene(args.duration, files, urdf)
    if not scene.time_s < args.duration < math.inf:
        raise ConfigurationError(
            f"--duration is {args.duration} s, expected more than {scene.time_s} s, the time of the weight"
        )
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _compile()
    adaptations = (False,) if args.no_adaptation else (False, True)
    with ExitStack() as stack:
        domains = [
            stack.enter_context(claimed_domain(DOMAINS)) if given is None else given for _ in adaptations
        ]
        views = stack.enter_context(demo_view(rrd, scene, adaptations, files, urdf))
        runs = [
            DemoRun(scene, adaptation=adaptation, domain_id=domain, view=view)
            for adaptation, domain, view in zip(adaptations, domains, views, strict=True)
        ]
        display = Display(scene, live=sys.stdout.isatty() and not quiet, quiet=quiet)
        apart = args.viewer or given is not None  # one after the other
        for together in ([run] for run in runs) if apart else (runs,):
            for _ in _watch(together, viewer=args.viewer):
                display.show(runs)
    display.finish(runs)
    responses = [response for demo_run in runs if (response := demo_run.response()) is not None]
    if len(responses) < len(runs):
        raise RecordingError("no joint state of the robot was received after its release")
    with result_folder(output, (NUMBERS, FIGURE)) as partial:
        drawn = _write(partial, scene, runs, responses)
    if drawn:
        print(f"figure: {output / FIGURE}")
    return 1 if any(demo_run.ended_early for demo_run in runs) else 0


def _scene(duration_s: float, files: ConfigFile, urdf: str) -> PayloadScene:
    """Return the scene, from the parameter files and the robot's description."""
    shared = files.shared
    (text,) = files.nodes[SIMULATOR_NODE]["disturbances"]
    weight = parse_disturbance(text)
    assert isinstance(weight, Attachment)
    robot = RobotModel.from_urdf(urdf, floating_base=True)
    nominal = float(robot.model.inertias[robot.link_body(weight.link).joint_id].mass)
    home = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))[ELBOW]
    return PayloadScene(ELBOW, home, weight.link, weight.body.mass, nominal, weight.start, duration_s)


def _check_packages() -> None:
    for package in ("rclpy", "mujoco", "proxsuite"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(
                f"the demo needs live nodes and a simulation, and '{package}' is not importable: "
                "pip install 'inertial_estimation[standalone,sim,tools,robots]'"
            )


def _compile() -> None:
    """Compile the functions of the estimators before nodes start, which would all do so at once."""
    warm_up()


def _watch(runs: Sequence[DemoRun], *, viewer: bool) -> Iterator[None]:
    """Start the nodes of some runs and listen until all are over; yields after every poll."""
    with ExitStack() as stack:
        for demo_run in runs:
            stack.enter_context(demo_run.nodes(viewer=viewer))
        for demo_run in runs:
            yield  # before the import of rclpy, which takes as long as that of a node
            demo_run.listen()
        while not all(demo_run.over for demo_run in runs):
            time.sleep(POLL_PERIOD_S)
            for demo_run in runs:
                demo_run.poll()
            yield


def _write(
    output: Path, scene: PayloadScene, runs: Sequence[DemoRun], responses: Sequence[PayloadResponse]
) -> bool:
    """Write numbers and figure; return whether the figure is written."""
    facts = [demo_run.facts() for demo_run in runs]
    for demo_run, fact in zip(runs, facts, strict=True):
        late = [f"{fact['command_timeouts']} commands too late"] if fact["command_timeouts"] else []
        for sentence in filter(None, (demo_run.ended_early, *late, *demo_run.complaints)):
            name = "with" if demo_run.adaptation else "without"
            print(f"{name} adaptation: {sentence}", file=sys.stderr)
    results = [{**fact, **response.numbers(scene)} for fact, response in zip(facts, responses, strict=True)]
    write_json(output / NUMBERS, {"scene": vars(scene), "runs": results})
    with drawing("figure", "matplotlib"):
        from inertial_estimation.plots.demo_figure import write_demo_figure

        write_demo_figure(output / FIGURE, scene, responses)
    return (output / FIGURE).is_file()
