"""Watch Talos take a weight, live over DDS: simulator, both estimators and whole-body controller.

Four processes in lockstep. Talos stands and is handed 12 lb (5.44 kg) on its left forearm: first the
controller does not know and the compliant elbow sags, then it uses the estimated inertias and holds.
Prints one table of both runs while they go on, saves their figure and their numbers.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.config_file import load_config_file
from inertial_estimation.replay.config_lookup import find_config
from inertial_estimation.replay.live_record import LiveRecord
from inertial_estimation.replay.payload_trial import PayloadScene, PayloadTrial, trial_from_record
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.simulation.disturbance_text import parse_disturbance
from inertial_estimation.simulation.disturbances import Attachment

__all__ = ["add_arguments", "run"]

NODES = ("tilt_observer", "inertial_ekf", "whole_body_controller", "simulator")
ROBOT, SCENE, ELBOW = "talos", "payload_demo", "arm_left_4_joint"
STARTUP_S = 60.0
PATIENCE_S = 10.0  # with the controller's answer, wall clock: other programs may need the machine
SLOWEST = 30.0  # wall over simulated time at which a run is given up
SIMULATION, RELEASED = "simulator: simulation", "released at [s]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--duration",
        type=float,
        default=4.5,
        metavar="S",
        help="simulated time of a run from the release (5)",
    )
    parser.add_argument("--no-adaptation", action="store_true", help="only the run that sags")
    parser.add_argument("--viewer", action="store_true", help="show the robot in real time; needs a display")
    parser.add_argument(
        "--output", type=Path, default=Path("results/demo"), metavar="DIR", help="where figure and numbers go"
    )
    parser.add_argument("--no-live", action="store_true", help="print only the last table")


def run(args: argparse.Namespace) -> int:
    """Start, watch, draw."""
    scene = _scene(args.duration)
    if not scene.time_s < args.duration < math.inf:
        raise ConfigurationError(
            f"--duration is {args.duration} s, expected more than {scene.time_s} s, when the weight comes"
        )
    monitor = _import_monitor()
    table = _Table(scene, live=sys.stdout.isatty() and not args.no_live)
    trials: list[PayloadTrial] = []
    facts: list[dict[str, Any]] = []
    for adaptation in (False,) if args.no_adaptation else (False, True):
        _go_private(len(trials))
        begin = time.monotonic()
        trial, said = _watch(monitor, scene, table, adaptation=adaptation, viewer=args.viewer)
        trials.append(trial)
        facts.append({"adaptation": adaptation, **said, "wall_s": round(time.monotonic() - begin, 1)})
        table.keep(trial)
    table.print_last()
    return _write(args.output, scene, trials, facts)


def _scene(duration_s: float) -> PayloadScene:
    """Say what happens: from the parameter files, and what the robot's description says of the link."""
    shared = load_config_file(find_config(ROBOT)).shared
    (text,) = load_config_file(find_config(SCENE)).nodes["simulator"]["disturbances"]
    weight = parse_disturbance(text)
    assert isinstance(weight, Attachment)
    robot = RobotModel.from_urdf(read_urdf(str(shared["urdf"])), floating_base=True)
    nominal = float(robot.model.inertias[robot.link_body(weight.link).joint_id].mass)
    home = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))[ELBOW]
    return PayloadScene(ELBOW, home, weight.link, weight.body.mass, nominal, weight.start, duration_s)


def _go_private(run_number: int) -> None:
    """Talk on a domain of its own, on this machine only; 1 to 50 are left to robots and to the tests."""
    os.environ["ROS_DOMAIN_ID"] = str(51 + (2 * os.getpid() + run_number) % 50)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _import_monitor() -> Callable[..., LiveRecord]:
    try:
        for package in ("mujoco", "proxsuite"):
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(name=package)
        from inertial_estimation.ros.demo_monitor import monitor
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"the demo needs live nodes and a simulation, and '{error.name}' is not importable: "
            "pip install 'inertial_estimation[standalone,sim,tools]'"
        ) from error
    return monitor


def _watch(
    monitor: Callable[..., LiveRecord],
    scene: PayloadScene,
    table: "_Table",
    *,
    adaptation: bool,
    viewer: bool,
) -> tuple[PayloadTrial, dict[str, Any]]:
    """Run the four nodes once."""
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        _start_nodes(processes, adaptation=adaptation, viewer=viewer)
        deadline = time.monotonic() + STARTUP_S
        released_ns: int | None = None

        def done(_listening: bool) -> bool:
            nonlocal released_ns, deadline
            processes.check()
            if released_ns is None and (SIMULATION, RELEASED) in heard.facts:
                released_ns = round(float(heard.facts[SIMULATION, RELEASED]) * 1e9)
                deadline = time.monotonic() + SLOWEST * scene.duration_s
            fallen = "fallen" in heard.complaints.get(SIMULATION, "")
            over = released_ns is not None and _age(heard, scene, released_ns) >= scene.duration_s
            return fallen or over or time.monotonic() > deadline

        def show(record: LiveRecord) -> None:
            if released_ns is not None and record.joints[scene.joint]:
                table.show(trial_from_record(record, scene, adaptation=adaptation, released_ns=released_ns))

        heard = LiveRecord()
        monitor([scene.link], record=heard, done=done, show=show, orientation=False, joints=[scene.joint])
        words = processes.output()
    if released_ns is None or _age(heard, scene, released_ns) <= 0.0:
        complaints = "; ".join(f"{name}: {text}" for name, text in heard.complaints.items())
        raise RecordingError(
            f"the simulation did not begin; the nodes said: {words or complaints or 'nothing'}"
        )
    return trial_from_record(heard, scene, adaptation=adaptation, released_ns=released_ns), _facts(heard)


def _age(record: LiveRecord, scene: PayloadScene, released_ns: int) -> float:
    series = record.joints.get(scene.joint)
    return (series[-1][0] - released_ns) * 1e-9 if series else 0.0


def _facts(record: LiveRecord) -> dict[str, Any]:
    return {
        "fallen": "fallen" in record.complaints.get(SIMULATION, ""),
        "command_timeouts": int(record.facts.get(("simulator: joint_torque_commands", "time-outs"), 0)),
        "complaints": dict(record.complaints),
    }


def _start_nodes(processes: ProcessGroup, *, adaptation: bool, viewer: bool) -> None:
    own: dict[str, dict[str, Any]] = {
        "simulator": {
            "lockstep": True,
            "lockstep_timeout": PATIENCE_S,
            "real_time_factor": 1.0 if viewer else 0.0,
            "viewer": viewer,
        },
        "whole_body_controller": {} if adaptation else {"inertias.links": [""]},
    }
    files = [word for name in (ROBOT, SCENE) for word in ("--params-file", str(find_config(name)))]
    for node in NODES:
        call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
        values = {**own.get(node, {}), "use_sim_time": node != "simulator"}
        given = [f"{node}:{name}:={json.dumps(value)}" for name, value in values.items()]
        options = [word for text in given for word in ("-p", text)]
        command = [sys.executable, "-c", call, "--ros-args", *files, *options, "--log-level", "warn"]
        processes.start(node, command)


class _Table:
    """Prints both runs, over the last print when on a terminal."""

    def __init__(self, scene: PayloadScene, *, live: bool) -> None:
        self._scene, self._live = scene, live
        self._finished: list[PayloadTrial] = []
        self._lines = 0

    def show(self, trial: PayloadTrial) -> None:
        """Print the runs that are over and the one that goes on."""
        if self._live and len(trial.t):
            self._print([*self._finished, trial])

    def keep(self, trial: PayloadTrial) -> None:
        """Take a run that is over."""
        self._finished.append(trial)

    def print_last(self) -> None:
        """Print the runs that are over."""
        self._print(self._finished)

    def _print(self, trials: list[PayloadTrial]) -> None:
        lines = table(self._scene, trials)
        if self._live and self._lines:
            print(f"\x1b[{self._lines}A\x1b[J", end="")
        print("\n".join(lines), flush=True)
        self._lines = len(lines)


def table(scene: PayloadScene, trials: list[PayloadTrial]) -> list[str]:
    """Render the newest values of each run as lines of text."""
    lines = [
        f"{scene.payload:.2f} kg on {scene.link} from {scene.time_s:g} s on; elbow wanted at "
        f"{math.degrees(scene.home):.1f} deg, forearm {scene.nominal_mass:.2f} kg without the weight",
        f"  {'adaptation':<12}{'t [s]':>7}{'elbow [deg]':>13}{'error [deg]':>13}{'rmse [rad]':>12}"
        f"{'forearm [kg]':>14}{'truth [kg]':>12}",
    ]
    for trial in trials:
        if not len(trial.t):
            continue
        t, angle = float(trial.t[-1]), float(trial.angle[-1])
        said = f"{trial.mass[-1]:.2f}" if len(trial.mass) else "-"
        rmse = trial.numbers(scene)["elbow_rmse_rad"]
        lines.append(
            f"  {'on' if trial.adaptation else 'off':<12}{t:>7.2f}{math.degrees(angle):>13.1f}"
            f"{math.degrees(angle - scene.home):>13.1f}{'-' if math.isnan(rmse) else f'{rmse:.3f}':>12}"
            f"{said:>14}{scene.mass(t):>12.2f}"
        )
    return lines


def _write(output: Path, scene: PayloadScene, trials: list[PayloadTrial], facts: list[dict[str, Any]]) -> int:
    """Write numbers and figure; 1 if the robot fell with adaptation."""
    runs = [{**fact, **trial.numbers(scene)} for fact, trial in zip(facts, trials, strict=True)]
    for fact in facts:
        name = "with" if fact["adaptation"] else "without"
        if fact["fallen"] or fact["command_timeouts"]:
            print(f"{name} adaptation: fallen {fact['fallen']}, {fact['command_timeouts']} commands too late")
    try:
        output.mkdir(parents=True, exist_ok=True)
        document = {"scene": vars(scene), "runs": runs}
        (output / "demo.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write into '{output}': {error}") from error
    try:
        from inertial_estimation.plots.demo_figure import write_demo_figure
    except ImportError as error:
        print(f"no figure: {error} (pip install matplotlib)", file=sys.stderr)
        return 0
    figure = output / "demo.png"
    write_demo_figure(figure, scene, trials)
    print(f"figure: {figure}")
    return 0
