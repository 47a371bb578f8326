"""One run of the demo: four nodes as processes on a ROS domain of their own, and what is heard of them."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_options import ARRIVAL
from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.live_record import LiveRecord
from inertial_estimation.replay.payload_response import PayloadScene, PayloadTrial, trial_from_record
from inertial_estimation.signals import NANOSECONDS, seconds

__all__ = ["NODES", "PARAMETER_FILES", "DemoRun", "Listener", "Phase"]

NODES = ("tilt_observer", "inertial_ekf", "whole_body_controller", "simulator")
PARAMETER_FILES = ("talos", "payload_demo")
STARTUP_S = 60.0
SLOWEST = 30.0  # wall over simulated time at which a run is given up
PATIENCE_S = 10.0  # with the controller's answer, wall clock: other programs may need the machine
LINGER_S = 10.0  # at most, for the filter to come to the end of the run; wall clock of a busy machine
SIMULATION, RELEASED = "simulator: simulation", "released at [s]"
COMMANDS, TIMEOUTS = "simulator: joint_torque_commands", "time-outs"


class Phase(Enum):
    """How far a run is."""

    STARTING = "starting"
    HOISTED = "hoisted"
    RELEASED = "released"
    LOADED = "loaded"
    OVER = "over"


class Listener(Protocol):
    """What listens to the nodes of one domain."""

    def take(self) -> None:
        """Take all that has come."""
        ...

    def get_node_names(self) -> list[str]:
        """Return the nodes found so far."""
        ...


class Listen(Protocol):
    """Opens a listener, as `ros.demo_monitor.listen` does."""

    def __call__(
        self,
        record: LiveRecord,
        links: list[str],
        *,
        orientation: bool,
        joints: list[str],
        domain_id: int | None,
    ) -> AbstractContextManager[Listener]:
        """Listen on a domain."""
        ...


class DemoRun:
    """One run, from the start of its nodes to their end.

    Attributes:
        adaptation: Whether the controller uses the estimated inertias.
        phase: How far it is.
        wall_s: Wall time since its nodes were started, until it is over [s].
        found: Nodes found so far.
    """

    def __init__(self, scene: PayloadScene, *, adaptation: bool, domain_id: int) -> None:
        """Prepare.

        Args:
            scene: What happens.
            adaptation: Whether the controller uses the estimated inertias.
            domain_id: ROS domain that nobody else is on.
        """
        self.adaptation = adaptation
        self.phase = Phase.STARTING
        self.wall_s = 0.0
        self.found: frozenset[str] = frozenset()
        self._scene, self._domain_id = scene, domain_id
        self._record = LiveRecord()
        self._released_ns: int | None = None
        self._reached_end_s: float | None = None
        self._begin_s = 0.0
        self._deadline_s = 0.0
        self._open = ExitStack()
        self._listener: Listener | None = None

    @contextmanager
    def nodes(self, *, viewer: bool) -> Iterator[None]:
        """Have the nodes as processes; they end with the run, or on the way out."""
        self._begin_s = time.monotonic()
        self._deadline_s = self._begin_s + STARTUP_S
        with self._open as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._processes = stack.enter_context(ProcessGroup(folder))
            environment = {"ROS_DOMAIN_ID": str(self._domain_id)}
            for node in NODES:
                command = _command(node, adaptation=self.adaptation, viewer=viewer)
                self._processes.start(node, command, environment=environment)
            yield

    def listen(self, listen: Listen) -> None:
        """Begin to listen to the nodes."""
        scene = self._scene
        self._listener = self._open.enter_context(
            listen(
                self._record,
                [scene.link],
                orientation=False,
                joints=[scene.joint],
                domain_id=self._domain_id,
            )
        )

    def look(self) -> None:
        """Take what has come and end the nodes when the run is over.

        Raises:
            InertialEstimationError: If a node failed, or the simulation did not begin.
        """
        if self.over or self._listener is None:
            return
        self._processes.check()
        self._listener.take()
        if self.phase is Phase.STARTING:
            self.found = frozenset(self._listener.get_node_names()) & frozenset(NODES)
        self.wall_s = time.monotonic() - self._begin_s
        self._advance()
        if self.over:
            self._check_begun()
            self._open.close()

    def trial(self) -> PayloadTrial | None:
        """Return what was heard since the release; None before."""
        if self._released_ns is None or not self._record.joints.get(self._scene.joint):
            return None
        return trial_from_record(
            self._record, self._scene, adaptation=self.adaptation, released_ns=self._released_ns
        )

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self.phase is Phase.OVER

    @property
    def simulated_s(self) -> float:
        """Simulated time: since the release, or before it since the start [s]."""
        series = self._record.joints.get(self._scene.joint)
        return seconds(series[-1][0] - (self._released_ns or 0)) if series else 0.0

    def facts(self) -> dict[str, Any]:
        """Return what the nodes said of the run, for the file of results."""
        return {
            "adaptation": self.adaptation,
            "fallen": self._fallen,
            "command_timeouts": int(self._record.facts.get((COMMANDS, TIMEOUTS), 0)),
            "complaints": dict(self._record.complaints),
            "wall_s": round(self.wall_s, 1),
        }

    @property
    def _fallen(self) -> bool:
        return "fallen" in self._record.complaints.get(SIMULATION, "")

    def _advance(self) -> None:
        now = time.monotonic()
        if self._released_ns is None and (SIMULATION, RELEASED) in self._record.facts:
            self._released_ns = round(float(self._record.facts[SIMULATION, RELEASED]) * NANOSECONDS)
            self._deadline_s = now + SLOWEST * self._scene.duration_s
        if self._released_ns is not None:
            loaded = self.simulated_s >= self._scene.time_s
            self.phase = Phase.LOADED if loaded else Phase.RELEASED
        elif self._record.joints.get(self._scene.joint):
            self.phase = Phase.HOISTED
        if self._fallen or self._all_heard(now) or now > self._deadline_s:
            self.phase = Phase.OVER

    def _all_heard(self, now: float) -> bool:
        """Whether the joint and the inertia were heard to the end, the latter within the time given to it."""
        if self._released_ns is None or self.simulated_s < self._scene.duration_s:
            return False
        self._reached_end_s = now if self._reached_end_s is None else self._reached_end_s
        inertias = self._record.inertias.get(self._scene.link)
        end_ns = self._released_ns + round(self._scene.duration_s * NANOSECONDS)
        return bool(inertias and inertias[-1][0] >= end_ns) or now >= self._reached_end_s + LINGER_S

    def _check_begun(self) -> None:
        if self._released_ns is not None and self.simulated_s > 0.0:
            return
        complaints = "; ".join(f"{name}: {text}" for name, text in self._record.complaints.items())
        raise RecordingError(
            "the simulation did not begin; the nodes said: "
            f"{self._processes.output() or complaints or 'nothing'}"
        )


def _command(node: str, *, adaptation: bool, viewer: bool) -> list[str]:
    own: dict[str, dict[str, Any]] = {
        "simulator": {
            "lockstep": True,
            "lockstep_timeout": PATIENCE_S,
            "real_time_factor": 1.0 if viewer else 0.0,
            "viewer": viewer,
        },
        "whole_body_controller": {} if adaptation else {"inertias.links": [""]},
    }
    files = [word for name in PARAMETER_FILES for word in ("--params-file", str(find_config(name)))]
    call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
    values = {**own.get(node, {}), "use_sim_time": node != "simulator"}
    if node != "simulator":
        values["trigger"] = ARRIVAL  # in lockstep every tick would wait for the timers
    given = [f"{node}:{name}:={json.dumps(value)}" for name, value in values.items()]
    options = [word for text in given for word in ("-p", text)]
    return [sys.executable, "-c", call, "--ros-args", *files, *options, "--log-level", "warn"]
