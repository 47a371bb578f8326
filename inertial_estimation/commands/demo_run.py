"""One run of the demo: its live nodes as processes, what they publish, and how far it has come."""

import json
import math
import sys
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.configuration.config_file import find_config
from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    INERTIAL_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.configuration.node_options import ARRIVAL
from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.watch_record import LiveRecord
from inertial_estimation.replay.payload_response import (
    PayloadResponse,
    PayloadScene,
    response_from_record,
)
from inertial_estimation.signals import NANOSECONDS, seconds
from inertial_estimation.simulation.config import FALLEN, RELEASED_AT

if TYPE_CHECKING:
    from inertial_estimation.ros.monitors import DemoMonitor

ANSWERING = (TILT_NODE, INERTIAL_NODE, CONTROLLER_NODE)
PARAMETER_FILES = ("talos", "payload_demo")
PATIENCE_S = 90.0  # without progress, after which a run is ended: other programs use the machine, too
ANSWER_TIMEOUT_S = 10.0  # wall time that the simulator waits for a command
SIMULATION, COMMANDS = "simulator: simulation", "simulator: joint_torque_commands"


def node_command(node: str, *, adaptation: bool) -> list[str]:
    """Return the command that starts a node in lockstep, the controller with the estimates or not."""
    values: dict[str, Any] = {"use_sim_time": True, "trigger": ARRIVAL}  # by timer every tick would wait
    if node == SIMULATOR_NODE:
        values = {"lockstep": True, "lockstep_timeout": ANSWER_TIMEOUT_S, "real_time_factor": 0.0}
    elif node == CONTROLLER_NODE:
        values["inertias.applied"] = adaptation
    files = [word for name in PARAMETER_FILES for word in ("--params-file", str(find_config(name)))]
    given = [f"{node}:{name}:={json.dumps(value)}" for name, value in values.items()]
    options = [word for text in given for word in ("-p", text)]
    call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
    return [sys.executable, "-c", call, "--ros-args", *files, *options, "--log-level", "warn"]


class DemoRun(AbstractContextManager["DemoRun"]):
    """One run; its nodes are started with the context, and have ended with it.

    Attributes:
        adaptation: Whether the controller uses the estimated inertias.
        over: Whether it is finished.
    """

    def __init__(self, scene: PayloadScene, *, adaptation: bool, domain_id: int) -> None:
        """Initialise the run of a scene on a ROS domain of its own."""
        self.adaptation, self.over = adaptation, False
        self._scene, self._domain_id = scene, domain_id
        self._record, self._released_ns = LiveRecord(), 0
        self._begin_s = self._progress_s = time.monotonic()
        self._received_ns = 0  # stamp up to which both joint and inertia have been received
        self._open = ExitStack()
        self._processes: ProcessGroup | None = None
        self._listener: DemoMonitor | None = None
        self._simulating = False

    def __enter__(self) -> "DemoRun":
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._processes = stack.enter_context(ProcessGroup(folder))
            for node in ANSWERING:
                self._start(node)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_error: Any) -> None:
        self._open.close()

    def _listen(self) -> "DemoMonitor":
        from inertial_estimation.ros.monitors import listen  # its import takes as long as that of a node

        monitor = listen(self._record, self._scene.link, self._scene.joint, self._domain_id)
        return self._open.enter_context(monitor)

    def poll(self) -> None:
        """Take the messages that have arrived, and end the nodes when the run is over.

        It never waits for them: the queues of another run, which go on filling, hold a fraction of a second.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a node has ended, or the simulation did
                not begin.
        """
        if self.over or self._processes is None:
            return
        self._processes.check()
        self._listener = self._listener or self._listen()
        self._listener.take()
        if not self._simulating and all(self._record.reports[node] for node in ANSWERING):
            # A filter that started later would learn the weight as part of the robot.
            self._start(SIMULATOR_NODE)
            self._simulating = True
        released_at = self._record.facts.get((SIMULATION, RELEASED_AT), "0")
        self._released_ns = round(float(released_at) * NANOSECONDS)
        received = (self._record.joints, self._scene.joint), (self._record.inertias, self._scene.link)
        stamp_ns = min(series[name][-1][0] if series.get(name) else 0 for series, name in received)
        now_s = time.monotonic()
        if stamp_ns > self._received_ns:
            self._received_ns, self._progress_s = stamp_ns, now_s
        self.over = self._fallen or self._reached_end or now_s - self._progress_s > PATIENCE_S
        if self.over:
            if self.simulated_s <= 0.0:
                output = self._processes.output() or "; ".join(self.facts()["complaints"]) or "none"
                raise RecordingError(f"the simulation did not begin; output of the nodes: {output}")
            self._processes.terminate()

    def response(self) -> PayloadResponse | None:
        """Return the measurements since the release; None before it."""
        if not (self._released_ns and self._record.joints.get(self._scene.joint)):
            return None
        return response_from_record(
            self._record, self._scene, adaptation=self.adaptation, released_ns=self._released_ns
        )

    def progress(self) -> str:
        """Return what it does now, in one line."""
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
        """Simulated time: since the release, or before it since the start [s]."""
        return seconds(max(self._received_ns - self._released_ns, 0))

    def facts(self) -> dict[str, Any]:
        """Return what the diagnostics report of the run, for the file of results."""
        return {
            "adaptation": self.adaptation,
            "fallen": self._fallen,
            "command_timeouts": int(self._record.facts.get((COMMANDS, "time-outs"), 0)),
            "complaints": [f"{part}: {text}" for part, text in self._record.complaints.items()],
            "wall_s": round(self._progress_s - self._begin_s, 1),
        }

    @property
    def ended_early(self) -> str:
        """Why the run has ended before its time; empty where it has not."""
        if self._fallen:
            return f"the robot fell, {self.simulated_s:.1f} s after its release"
        if self._reached_end:
            return ""
        return f"ended {self.simulated_s:.1f} of {self._scene.duration_s:g} s after the release"

    @property
    def _fallen(self) -> bool:
        return self._record.facts.get((SIMULATION, FALLEN)) == "true"

    @property
    def _reached_end(self) -> bool:
        return self._released_ns > 0 and self.simulated_s >= self._scene.duration_s

    def _start(self, node: str) -> None:
        assert self._processes is not None
        command = node_command(node, adaptation=self.adaptation)
        self._processes.start(node, command, ROS_DOMAIN_ID=str(self._domain_id))
