"""The command `demo`: TALOS takes a weight, with four live nodes."""

import argparse
import importlib.util
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from inertial_estimation.commands.demo_run import NODES, PARAMETER_FILES, DemoPhase, DemoRun
from inertial_estimation.commands.ros_domains import claimed_domain, given_domain
from inertial_estimation.commands.terminal import drawing, table_lines
from inertial_estimation.compilation import warm_up
from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_json
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene
from inertial_estimation.simulation.disturbance_yaml import parse_disturbance
from inertial_estimation.simulation.disturbances import Attachment

ELBOW = "arm_left_4_joint"
NUMBERS, FIGURE = "demo.json", "demo.png"
POLL_PERIOD_S = 0.05
TABLE_PERIOD_S, LINE_PERIOD_S = 0.5, 2.0
HEADER = ("adaptation", "t [s]", "elbow [deg]", "error [deg]", "rmse [rad]", "forearm [kg]", "truth [kg]")
DOMAINS = range(51, 101)  # 1 to 50 are left to robots


def run(args: argparse.Namespace) -> int:
    """Run the demo and draw its figure."""
    output = check_output_folder(args.output, shared=True)
    given = given_domain()
    print("Talos takes a weight; simulator, estimators and controller run as live nodes.", flush=True)
    _check_packages()
    files = load_configs(PARAMETER_FILES)
    urdf = read_urdf(str(files.shared["urdf"]))
    setup = robot_from_config(robot_config(files), urdf)
    scene = _scene(args.duration, files, setup)
    if not scene.time_s < args.duration < math.inf:
        raise ConfigurationError(
            f"--duration is {args.duration} s, expected more than {scene.time_s} s, the time of the weight"
        )
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warm_up()  # before nodes start, which would all compile at once
    adaptations = (False,) if args.no_adaptation else (False, True)
    with ExitStack() as stack:
        domains = [
            stack.enter_context(claimed_domain(DOMAINS)) if given is None else given for _ in adaptations
        ]
        runs = [
            DemoRun(scene, adaptation=adaptation, domain_id=domain)
            for adaptation, domain in zip(adaptations, domains, strict=True)
        ]
        with _display(scene, runs) as show:
            for together in ([run] for run in runs) if given is not None else (runs,):
                _watch(together, show)
    print("\n".join(_table(scene, runs)))
    responses = [response for demo_run in runs if (response := demo_run.response()) is not None]
    if len(responses) < len(runs):
        raise RecordingError("no joint state of the robot was received after its release")
    with result_folder(output, (NUMBERS, FIGURE)) as partial:
        _write(partial, scene, runs, responses)
    print(f"results: {output}")
    return 1 if any(demo_run.ended_early for demo_run in runs) else 0


def _scene(duration_s: float, files: ConfigFile, setup: RobotSetup) -> PayloadScene:
    """Return the scene, from the parameter files and the robot's description."""
    shared, robot = files.shared, setup.robot
    (text,) = files.nodes[SIMULATOR_NODE]["disturbances"]
    weight = parse_disturbance(text)
    assert isinstance(weight, Attachment)
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


def _watch(runs: Sequence[DemoRun], show: Callable[[], None]) -> None:
    """Start the nodes of some runs and listen until all are over."""
    with ExitStack() as stack:
        for demo_run in runs:
            stack.enter_context(demo_run.nodes())
        for demo_run in runs:
            show()  # before the import of rclpy, which takes as long as that of a node
            demo_run.listen()
        while not all(demo_run.over for demo_run in runs):
            time.sleep(POLL_PERIOD_S)
            for demo_run in runs:
                demo_run.poll()
            show()


@contextmanager
def _display(scene: PayloadScene, runs: Sequence[DemoRun]) -> Iterator[Callable[[], None]]:
    """Show the progress: a table on a terminal, a line every two seconds and at every phase in a pipe.

    Yields:
        A function that shows it, to be called often.
    """
    begin_s, next_s = time.monotonic(), 0.0
    phases: dict[DemoRun, DemoPhase] = {}
    with ExitStack() as stack:
        live = None
        if sys.stdout.isatty():
            from rich.live import Live

            live = stack.enter_context(Live(auto_refresh=False, transient=True))

        def show() -> None:
            nonlocal next_s
            now_s = time.monotonic()
            due = now_s >= next_s
            said = [
                f"[{now_s - begin_s:5.1f} s] {_progress(scene, run)}"
                for run in runs
                if live or phases.get(run) is not run.phase or (due and not run.over)
            ]
            if due:
                next_s = now_s + (TABLE_PERIOD_S if live else LINE_PERIOD_S)
            phases.update({run: run.phase for run in runs})
            if live and due:
                from rich.text import Text

                live.update(Text("\n".join([*_table(scene, runs), *said])), refresh=True)
            elif said and not live:
                print("\n".join(said), flush=True)

        yield show


def _progress(scene: PayloadScene, run: DemoRun) -> str:
    """Return the state of a run in one line."""
    response, elbow = run.response(), ""
    if response is not None and len(response.angle):
        elbow = f", elbow {math.degrees(float(response.angle[-1]) - scene.home):.1f} deg off"
    simulated = f"{run.simulated_s:.1f} of {scene.duration_s:g} s simulated{elbow}"
    awaited = ", ".join(run.awaited) or "the first sensor readings"
    said = {
        DemoPhase.STARTING: f"starting {len(NODES)} nodes, waiting for {awaited}",
        DemoPhase.HOISTED: f"on its hoist, {run.simulated_s:.1f} s simulated, waiting for its release",
        DemoPhase.RELEASED: f"released, {simulated}; the weight is attached at {scene.time_s:g} s",
        DemoPhase.LOADED: f"{scene.payload:.2f} kg attached at {scene.time_s:g} s, {simulated}",
        DemoPhase.OVER: f"over after {run.wall_s:.1f} s",
    }[run.phase]
    name = f"{'with' if run.adaptation else 'without'} adaptation:"
    return f"{name:<20} {said}"


def _table(scene: PayloadScene, runs: Sequence[DemoRun]) -> list[str]:
    """Render the newest values of each run as lines of text."""
    title = (
        f"{scene.payload:.2f} kg on {scene.link} from {scene.time_s:g} s on; elbow reference "
        f"{math.degrees(scene.home):.1f} deg, forearm {scene.nominal_mass:.2f} kg without the weight"
    )
    responses = [response for run in runs if (response := run.response()) is not None and len(response.t)]
    return [title, *table_lines([HEADER, *(_row(scene, response) for response in responses)], indent=2)]


def _row(scene: PayloadScene, response: PayloadResponse) -> tuple[str, ...]:
    t, angle = float(response.t[-1]), float(response.angle[-1])
    rmse = response.numbers(scene)["elbow_rmse_rad"]
    return (
        "on" if response.adaptation else "off",
        f"{t:.2f}",
        f"{math.degrees(angle):.1f}",
        f"{math.degrees(angle - scene.home):.1f}",
        "-" if math.isnan(rmse) else f"{rmse:.3f}",
        f"{response.mass[-1]:.2f}" if len(response.mass) else "-",
        f"{scene.mass(t):.2f}",
    )


def _write(
    output: Path, scene: PayloadScene, runs: Sequence[DemoRun], responses: Sequence[PayloadResponse]
) -> None:
    """Write numbers and figure, and print what the nodes complained of."""
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
