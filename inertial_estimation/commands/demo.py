"""The command `demo`: TALOS takes a weight, with four live nodes."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.commands.terminal import print_page, result_folder_with_report
from inertial_estimation.compilation import warm_up
from inertial_estimation.configuration.config_file import ConfigFile, find_config, load_configs
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    INERTIAL_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.configuration.node_options import ARRIVAL
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError
from inertial_estimation.figures import INK, Figure, Level, Panel, Series
from inertial_estimation.files.outputs import check_output_folder, write_json
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.plots.page import Page, Section, Table
from inertial_estimation.recordings.watch_record import LiveRecord
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.simulation.config import FALLEN, RELEASED_AT
from inertial_estimation.simulation.disturbances import Attachment, parse_disturbance

if TYPE_CHECKING:
    from inertial_estimation.ros.monitors import DemoMonitor

ANSWERING = (TILT_NODE, INERTIAL_NODE, CONTROLLER_NODE)
PARAMETER_FILES = ("talos", "payload_demo")
PATIENCE_S = 90.0  # time without progress after which a run is ended; a busy machine is slow [s]
ANSWER_TIMEOUT_S = 10.0  # wall time for which the simulator waits for a command [s]
SIMULATION, COMMANDS = "simulator: simulation", "simulator: joint_torque_commands"
ELBOW = "arm_left_4_joint"
NUMBERS, REPORT = "demo.json", "demo.html"
TIME_LABEL = "time since the release [s]"
POLL_PERIOD_S, LINE_PERIOD_S = 0.05, 2.0
MEAN_OVER_LAST_S = 0.5  # end of a run, over which means are taken [s]
DOMAINS = range(51, 101)  # ROS domains of the demo; 1 to 50 are left to robots


class PayloadScene(NamedTuple):
    """The scene of the demo: a joint, and the weight that it has to carry."""

    joint: str  # joint that carries the weight
    home: float  # its home position [rad]
    link: str  # link the weight is attached to
    payload: float  # mass of the weight [kg]
    nominal_mass: float  # mass of the link's body without it [kg]
    time_s: float  # time of the attachment since the release [s]
    duration_s: float  # end of the run, since the release [s]

    def mass(self, t: float) -> float:
        """Return the true mass of the link's body at a time [kg]."""
        return self.nominal_mass + (self.payload if t >= self.time_s else 0.0)


class PayloadResponse(NamedTuple):
    """The response in one run."""

    adaptation: bool  # whether the controller used the estimates
    t: Array  # times of the elbow since the release [s], shape (n,)
    angle: Array  # position of the joint [rad], shape (n,)
    t_mass: Array  # times of the mass since the release [s], shape (m,)
    mass: Array  # published mass of the link's body [kg], shape (m,)

    def numbers(self, scene: PayloadScene) -> dict[str, float]:
        """Return the joint's RMSE since the attachment, and mean errors of joint and mass at the end.

        Values are NaN if messages are missing.
        """
        error = self.angle - scene.home
        held = error[self.t >= scene.time_s]
        end_s = min([scene.duration_s, *self.t_mass[-1:].tolist()])
        mass = _mean(self.mass[self.t_mass >= end_s - MEAN_OVER_LAST_S])
        return {
            "elbow_rmse_rad": _mean(held**2) ** 0.5,
            "elbow_error_at_end_rad": _mean(error[self.t >= scene.duration_s - MEAN_OVER_LAST_S]),
            "largest_elbow_error_rad": float(np.abs(held).max()) if len(held) else np.nan,
            "mass_at_end_kg": mass,
            "mass_error_at_end": mass / scene.mass(scene.duration_s) - 1.0,
        }


def response_from_record(
    record: LiveRecord, scene: PayloadScene, *, adaptation: bool, released_ns: int
) -> PayloadResponse:
    """Extract the response of a run from its messages; times count from the stamp of the release [ns]."""
    columns: list[Array] = []
    for series in (record.positions, record.masses):
        stamps, values = zip(*series, strict=True) if series else ((), ())
        t: Any = seconds(np.array(stamps, dtype=np.int64) - released_ns)
        kept = (t >= 0.0) & (t <= scene.duration_s + 1e-9)
        columns += [t[kept], np.array(values, dtype=np.float64)[kept]]
    return PayloadResponse(adaptation, *columns)


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def node_command(node: str, *, adaptation: bool) -> list[str]:
    """Return the command that starts a node in lockstep, the controller with the estimates or not."""
    values: dict[str, Any] = {"use_sim_time": True, "trigger": ARRIVAL}  # a timer would delay every tick
    if node == SIMULATOR_NODE:
        values = {"lockstep": True, "lockstep_timeout": ANSWER_TIMEOUT_S, "real_time_factor": 0.0}
    elif node == CONTROLLER_NODE:
        values["inertias.applied"] = adaptation
    files = [word for name in PARAMETER_FILES for word in ("--params-file", str(find_config(name)))]
    given = [f"{node}:{name}:={json.dumps(value)}" for name, value in values.items()]
    options = [word for text in given for word in ("-p", text)]
    call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
    return [sys.executable, "-c", call, "--ros-args", *files, *options, "--log-level", "warn"]


class DemoRun:
    """One run: its nodes start at once, and have ended when its stack is closed.

    Attributes:
        adaptation: Whether the controller uses the estimated inertias.
        over: Whether the run is finished.
    """

    def __init__(self, scene: PayloadScene, *, adaptation: bool, stack: ExitStack) -> None:
        """Start the nodes that answer the simulator in a scene, on a ROS domain of their own."""
        self.adaptation, self.over = adaptation, False
        self._scene, self._stack, self._record = scene, stack, LiveRecord()
        self._domain_id = stack.enter_context(claimed_domain(DOMAINS))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        self._processes = stack.enter_context(ProcessGroup(folder))
        self._begin_s = self._progress_s = time.monotonic()
        self._released_ns = 0
        self._received_ns = 0  # stamp up to which both joint and inertia have been received
        self._listener: DemoMonitor | None = None
        self._simulating = False
        for node in ANSWERING:
            self._start(node)

    def _listen(self) -> DemoMonitor:
        from inertial_estimation.ros.monitors import listen  # its import takes as long as that of a node

        monitor = listen(self._record, self._scene.link, self._scene.joint, self._domain_id)
        return self._stack.enter_context(monitor)

    def poll(self) -> None:
        """Process the messages that have arrived, and end the nodes when the run is over.

        It never waits for messages, because the queues of another run would overflow in the meantime.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a node has ended, or the simulation did
                not begin.
        """
        if self.over:
            return
        self._processes.check()
        self._listener = self._listener or self._listen()
        self._listener.take()
        answers = {name.partition(":")[0] for name in self._record.reports}
        if not self._simulating and answers.issuperset(ANSWERING):
            # A filter that starts after the attachment would estimate the weight as part of the robot.
            self._start(SIMULATOR_NODE)
            self._simulating = True
        self._released_ns = round(float(self._reported(SIMULATION, RELEASED_AT)) * NANOSECONDS)
        series = self._record.positions, self._record.masses
        stamp_ns = min(one[-1][0] if one else 0 for one in series)
        now_s = time.monotonic()
        if stamp_ns > self._received_ns:
            self._received_ns, self._progress_s = stamp_ns, now_s
        self.over = self._fallen or self._reached_end or now_s - self._progress_s > PATIENCE_S
        if self.over:
            if not self._released_ns or self.simulated_s <= 0.0:
                output = self._processes.output() or "; ".join(self.facts()["complaints"]) or "none"
                raise RecordingError(f"the simulation did not begin; output of the nodes: {output}")
            self._processes.terminate()

    def response(self) -> PayloadResponse | None:
        """Return the measurements since the release; None before it."""
        if not (self._released_ns and self._record.positions):
            return None
        return response_from_record(
            self._record, self._scene, adaptation=self.adaptation, released_ns=self._released_ns
        )

    def progress(self) -> str:
        """Return the current state of the run, in one line."""
        phase = (
            "released" if self._released_ns else "on its hoist" if self._received_ns else "starting 4 nodes"
        )
        line = f"{phase}, {self.simulated_s:.1f} s simulated"
        response = self.response()
        if response is not None and len(response.angle):
            line += f", elbow {math.degrees(float(response.angle[-1]) - self._scene.home):.1f} deg off"
        return line

    @property
    def simulated_s(self) -> float:
        """Simulated time since the release, or before the release since the start [s]."""
        return seconds(max(self._received_ns - self._released_ns, 0))

    def facts(self) -> dict[str, Any]:
        """Return facts of the run from the diagnostics, for the file of results."""
        return {
            "adaptation": self.adaptation,
            "fallen": self._fallen,
            "command_timeouts": int(self._reported(COMMANDS, "time-outs")),
            "complaints": [f"{name}: {h.message}" for name, h in self._record.reports.items() if h.level],
            "wall_s": round(self._progress_s - self._begin_s, 1),
        }

    @property
    def ended_early(self) -> str:
        """Reason why the run has ended before its time; empty if it has not."""
        if self._fallen:
            return f"the robot fell, {self.simulated_s:.1f} s after its release"
        if self._reached_end:
            return ""
        return f"ended {self.simulated_s:.1f} of {self._scene.duration_s:g} s after the release"

    @property
    def _fallen(self) -> bool:
        return self._reported(SIMULATION, FALLEN) == "true"

    def _reported(self, part: str, key: str) -> str:
        """Return a value of the diagnostics, "0" before the first report."""
        report = self._record.reports.get(part)
        return report.values.get(key, "0") if report else "0"

    @property
    def _reached_end(self) -> bool:
        return self._released_ns > 0 and self.simulated_s >= self._scene.duration_s

    def _start(self, node: str) -> None:
        command = node_command(node, adaptation=self.adaptation)
        self._processes.start(node, command, ROS_DOMAIN_ID=str(self._domain_id))


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
    warm_up()  # before the nodes start: otherwise all of them would compile at the same time
    with ExitStack() as stack:
        print("Talos takes a weight; simulator, estimators and controller run as live nodes.", flush=True)
        adaptations = (False,) if args.no_adaptation else (False, True)
        runs = [DemoRun(scene, adaptation=adaptation, stack=stack) for adaptation in adaptations]
        _watch(runs)
    responses = [response for demo_run in runs if (response := demo_run.response()) is not None]
    page = demo_page(scene, responses)
    print_page(page, None)
    if len(responses) < len(runs):
        raise RecordingError("no joint state of the robot was received after its release")
    with result_folder_with_report(output, (NUMBERS,), page, name=REPORT) as partial:
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
    """Listen until all runs are over; print a line of each every two seconds."""
    begin_s = next_s = time.monotonic()
    while not all(demo_run.over for demo_run in runs):
        now_s = time.monotonic()
        if now_s >= next_s:
            next_s = now_s + LINE_PERIOD_S
            for demo_run in (one for one in runs if not one.over):
                line = f"{_name(demo_run.adaptation):<20} {demo_run.progress()}"
                print(f"[{now_s - begin_s:5.1f} s] {line}", flush=True)
        for demo_run in runs:
            demo_run.poll()
        time.sleep(POLL_PERIOD_S)


def _name(adaptation: bool) -> str:
    return f"{'with' if adaptation else 'without'} adaptation:"


def demo_page(scene: PayloadScene, responses: Sequence[PayloadResponse]) -> Page:
    """Return the page with the end of each run, and the elbow and the mass over time."""
    found = {"on" if one.adaptation else "off": one.numbers(scene) for one in responses if len(one.t)}
    rows = [(name, *(f"{value:.3f}" for value in numbers.values())) for name, numbers in found.items()]
    columns = [name.replace("_", " ") for name in next(iter(found.values()), {})]
    title = f"{scene.payload:.2f} kg handed to {scene.link} at {scene.time_s:g} s"
    lead = (
        f"{scene.payload:.2f} kg on {scene.link} from {scene.time_s:g} s on; elbow reference "
        f"{math.degrees(scene.home):.1f} deg, forearm {scene.mass(-np.inf):.2f} kg without the weight, "
        f"{scene.mass(np.inf):.2f} kg with it"
    )
    figure = Figure(f"Position of {scene.joint}, and mass", demo_panels(scene, responses))
    sections = [
        Section("End of each run", [Table(("adaptation", *columns), rows)], True),
        Section(figure.title, [figure]),
    ]
    return Page(title, lead, "", (), sections)


def _write(
    output: Path, scene: PayloadScene, runs: Sequence[DemoRun], responses: Sequence[PayloadResponse]
) -> None:
    """Write the numbers, and print the warnings and errors of the nodes."""
    results = []
    for demo_run, response in zip(runs, responses, strict=True):
        facts = demo_run.facts()
        late = [f"{facts['command_timeouts']} commands too late"] if facts["command_timeouts"] else []
        for sentence in filter(None, (demo_run.ended_early, *late, *facts["complaints"])):
            print(f"{_name(demo_run.adaptation)} {sentence}", file=sys.stderr)
        results.append({**facts, **response.numbers(scene)})
    write_json(output / NUMBERS, {"scene": scene._asdict(), "runs": results})


def demo_panels(scene: PayloadScene, responses: Sequence[PayloadResponse]) -> tuple[Panel, Panel]:
    """Return the panels of the elbow and of the mass."""
    elbow, mass = [], []
    for response in responses:
        label = "with adaptation" if response.adaptation else "without adaptation"
        colour = 0 if response.adaptation else 1
        elbow.append(Series(label, response.t, np.degrees(response.angle), colour=colour))
        mass.append(Series(label, response.t_mass, response.mass, colour=colour))
    before, after = scene.mass(-np.inf), scene.mass(np.inf)
    ends = np.array([0.0, scene.time_s, scene.time_s, scene.duration_s])
    mass.append(Series("truth", ends, np.array([before, before, after, after]), "dashed", colour=INK))
    home = Level(float(np.degrees(scene.home)), "reference")
    return (
        Panel("Position of the elbow", TIME_LABEL, "elbow [deg]", elbow, levels=[home]),
        Panel("Published mass of the forearm with what it holds", TIME_LABEL, "forearm [kg]", mass),
    )
