"""One run of the demo: four nodes as processes on a separate ROS domain, and their messages."""

import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
STARTUP_TIMEOUT_S = 90.0
MAX_SLOWDOWN = 30.0  # wall over simulated time beyond which a run is ended
ANSWER_TIMEOUT_S = 10.0  # wall time for a command, and for the filter at the end: others use the machine, too
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


class DemoRun:
    """One run, from the start of its nodes to their end.

    Attributes:
        adaptation: Whether the controller uses the estimated inertias.
        over: Whether it is finished.
    """

    def __init__(self, scene: PayloadScene, *, adaptation: bool, domain_id: int) -> None:
        """Initialise the run of a scene on a ROS domain of its own."""
        self.adaptation, self.over = adaptation, False
        self._scene, self._domain_id = scene, domain_id
        self._record = LiveRecord()
        self._released_ns: int | None = None
        self._begin_s, self._deadline_s = 0.0, math.inf  # wall times [s]
        self._wall_s = 0.0  # since its nodes were started
        self._open = ExitStack()
        self._processes: ProcessGroup | None = None
        self._listener: DemoMonitor | None = None
        self._simulating = False

    @contextmanager
    def nodes(self) -> Iterator[None]:
        """Run the nodes as processes; they are told to end with the run, and have ended with the context."""
        self._begin_s = time.monotonic()
        self._deadline_s = self._begin_s + STARTUP_TIMEOUT_S
        with self._open as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._processes = stack.enter_context(ProcessGroup(folder))
            for node in ANSWERING:
                self._start(node)
            yield

    def listen(self) -> None:
        """Start receiving the messages of the nodes."""
        from inertial_estimation.ros.monitors import listen

        monitor = listen(self._record, self._scene.link, self._scene.joint, self._domain_id)
        self._listener = self._open.enter_context(monitor)

    def poll(self) -> None:
        """Take the messages that have arrived, and tell the nodes to end when the run is over.

        It never waits for them: the queues of another run, which go on filling, hold a fraction of a second.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a node has ended, or the simulation did
                not begin.
        """
        if self.over or self._listener is None or self._processes is None:
            return
        self._processes.check()
        self._listener.take()
        if not self._simulating and all(self._record.reports[node] for node in ANSWERING):
            # A filter that started later would learn the weight as part of the robot.
            self._start(SIMULATOR_NODE)
            self._simulating = True
        self._advance(time.monotonic())
        if self.over:
            if self._released_ns is None or self.simulated_s <= 0.0:
                output = self._processes.output() or "; ".join(self.facts()["complaints"]) or "none"
                raise RecordingError(f"the simulation did not begin; output of the nodes: {output}")
            self._processes.terminate()

    def response(self) -> PayloadResponse | None:
        """Return the measurements since the release; None before it."""
        if self._released_ns is None or not self._positions:
            return None
        return response_from_record(
            self._record, self._scene, adaptation=self.adaptation, released_ns=self._released_ns
        )

    @property
    def phase(self) -> str:
        """What it does now."""
        if self.over:
            return "over"
        if self._released_ns is None:
            return "on its hoist" if self._positions else "starting 4 nodes"
        return "loaded" if self.simulated_s >= self._scene.time_s else "released"

    @property
    def simulated_s(self) -> float:
        """Simulated time: since the release, or before it since the start [s]."""
        return seconds(self._positions[-1][0] - (self._released_ns or 0)) if self._positions else 0.0

    def facts(self) -> dict[str, Any]:
        """Return what the diagnostics report of the run, for the file of results."""
        return {
            "adaptation": self.adaptation,
            "fallen": self._fallen,
            "command_timeouts": int(self._record.facts.get((COMMANDS, "time-outs"), 0)),
            "complaints": [f"{part}: {text}" for part, text in self._record.complaints.items()],
            "wall_s": round(self._wall_s, 1),
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
    def _positions(self) -> list[tuple[int, float]]:
        return self._record.joints.get(self._scene.joint, [])

    @property
    def _fallen(self) -> bool:
        return self._record.facts.get((SIMULATION, FALLEN)) == "true"

    @property
    def _reached_end(self) -> bool:
        """Whether both the joint and the inertia were received to the end of the run."""
        if self._released_ns is None:
            return False
        end_ns = self._released_ns + round(self._scene.duration_s * NANOSECONDS)
        received = (self._positions, self._record.inertias.get(self._scene.link, []))
        return all(series and series[-1][0] >= end_ns for series in received)

    def _start(self, node: str) -> None:
        assert self._processes is not None
        command = node_command(node, adaptation=self.adaptation)
        self._processes.start(node, command, ROS_DOMAIN_ID=str(self._domain_id))

    def _advance(self, now_s: float) -> None:
        self._wall_s = now_s - self._begin_s
        released_at = self._record.facts.get((SIMULATION, RELEASED_AT))
        if self._released_ns is None and released_at is not None:
            self._released_ns = round(float(released_at) * NANOSECONDS)
            self._deadline_s = now_s + MAX_SLOWDOWN * self._scene.duration_s
        if self._released_ns is not None and self.simulated_s >= self._scene.duration_s:
            self._deadline_s = min(self._deadline_s, now_s + ANSWER_TIMEOUT_S)
        self.over = self._fallen or self._reached_end or now_s > self._deadline_s
