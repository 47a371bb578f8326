"""One run of the demo: four nodes as processes on a separate ROS domain, and their messages."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from inertial_estimation.commands.demo_nodes import NODES, node_command
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import InertialEstimationError, RecordingError, listing
from inertial_estimation.recordings.live_record import LiveRecord
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene, response_from_record
from inertial_estimation.signals import NANOSECONDS, seconds
from inertial_estimation.simulation.config import FALLEN, RELEASED_AT

if TYPE_CHECKING:
    from inertial_estimation.view.demo_run_view import DemoRunView  # imports the viewer's package

STARTUP_TIMEOUT_S = 90.0
MAX_SLOWDOWN = 30.0  # wall over simulated time beyond which a run is ended
FILTER_TIMEOUT_S = 10.0  # wall time in which the filter has to reach the end of the run
IN_LOCKSTEP = (
    "tilt_observer",
    "whole_body_controller",
    "simulator",
)  # the filter may be late, and catches up
SIMULATOR = "simulator"
ANSWERING = tuple(node for node in NODES if node != SIMULATOR)
HANG_S = 20.0  # wall time without diagnostics, which every node sends once a second
SIMULATION = "simulator: simulation"
COMMANDS, TIMEOUTS = "simulator: joint_torque_commands", "time-outs"


class DemoPhase(Enum):
    """Progress of a run."""

    STARTING = "starting"
    HOISTED = "hoisted"
    RELEASED = "released"
    LOADED = "loaded"
    OVER = "over"


class Listener(Protocol):
    """Receives the messages of the nodes of one domain."""

    def take(self) -> None:
        """Take all messages that have arrived."""
        ...

    def get_node_names(self) -> list[str]:
        """Return the nodes found so far."""
        ...

    def contested(self) -> list[str]:
        """Return the topics that more than one node publishes."""
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


class RunDeadlines:
    """Wall times at which a run is ended [s]."""

    def __init__(self, begin_s: float) -> None:
        """Allow the nodes some time to start, from the beginning of the run on."""
        self.begin_s = begin_s
        self._deadline_s = begin_s + STARTUP_TIMEOUT_S
        self._reached_end_s: float | None = None

    def released(self, now_s: float, duration_s: float) -> None:
        """Allow time for a simulation of this length from the release on."""
        self._deadline_s = now_s + MAX_SLOWDOWN * duration_s

    def reached_end(self, now_s: float) -> None:
        """Record that the simulation has ended; only the first call has an effect."""
        self._reached_end_s = now_s if self._reached_end_s is None else self._reached_end_s

    def passed(self, now_s: float) -> bool:
        """Return whether the time of the run, or of the filter after the simulation, has expired."""
        filter_late = self._reached_end_s is not None and now_s >= self._reached_end_s + FILTER_TIMEOUT_S
        return filter_late or now_s > self._deadline_s


class DemoRun:
    """One run, from the start of its nodes to their end.

    Attributes:
        adaptation: Whether the controller uses the estimated inertias.
        phase: How far it is.
        wall_s: Wall time since its nodes were started, until it is over [s].
    """

    def __init__(
        self, scene: PayloadScene, *, adaptation: bool, domain_id: int, view: "DemoRunView | None" = None
    ) -> None:
        """Initialise the run.

        Args:
            scene: What happens.
            adaptation: Whether the controller uses the estimated inertias.
            domain_id: ROS domain that no other run uses.
            view: Shows the run in a recording of the viewer; None: nothing does.
        """
        self.adaptation = adaptation
        self.phase = DemoPhase.STARTING
        self.wall_s = 0.0
        self._scene, self._domain_id = scene, domain_id
        self._view = view
        self._record = LiveRecord(robot=view.heard if view is not None else None)
        self._released_ns: int | None = None
        self._deadlines = RunDeadlines(0.0)
        self._reports: dict[str, tuple[int, float]] = {}  # of each node: how many, and when the last came [s]
        self._open = ExitStack()
        self._processes: ProcessGroup | None = None
        self._let_down: Callable[[], None] | None = None  # starts the simulator
        self._listener: Listener | None = None

    @contextmanager
    def nodes(self, *, viewer: bool) -> Iterator[None]:
        """Run the nodes as processes; they are told to end with the run, and have ended with the context."""
        self._deadlines = RunDeadlines(time.monotonic())
        with self._open as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._processes = processes = stack.enter_context(ProcessGroup(folder))
            environment = {"ROS_DOMAIN_ID": str(self._domain_id)}

            def start(node: str) -> None:
                command = node_command(node, adaptation=self.adaptation, viewer=viewer)
                processes.start(node, command, environment=environment)

            for node in ANSWERING:
                start(node)
            self._let_down = partial(start, SIMULATOR)
            yield

    def listen(self, listen: Listen) -> None:
        """Start receiving the messages of the nodes."""
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

    def poll(self) -> None:
        """Take the messages that have arrived, and tell the nodes to end when the run is over.

        It never waits for them: the queues of another run, which go on filling, hold a fraction of a second.

        Raises:
            InertialEstimationError: If a node has ended or hangs, another program publishes on the topics of
                the run, or the simulation did not begin.
        """
        if self.over or self._listener is None or self._processes is None:
            return
        self._processes.check()
        self._listener.take()
        self._check_alone(self._listener)
        self._check_reports()
        if self._let_down is not None and all(self._record.reports[node] for node in ANSWERING):
            self._let_down()  # a filter that started later would learn the weight as part of the robot
            self._let_down = None
        self.wall_s = time.monotonic() - self._deadlines.begin_s
        self._advance()
        if self._view is not None and self._released_ns is not None:
            self._view.show(self._record, self._released_ns)
        if self.over:
            self._check_begun()
            self._processes.terminate()

    def response(self) -> PayloadResponse | None:
        """Return the measurements since the release; None before it."""
        if self._released_ns is None or not self._record.joints.get(self._scene.joint):
            return None
        return response_from_record(
            self._record, self._scene, adaptation=self.adaptation, released_ns=self._released_ns
        )

    @property
    def found(self) -> frozenset[str]:
        """Nodes found so far."""
        names = () if self.over or self._listener is None else self._listener.get_node_names()
        return frozenset(names) & frozenset(NODES)

    @property
    def over(self) -> bool:
        """Whether the run is finished."""
        return self.phase is DemoPhase.OVER

    @property
    def simulated_s(self) -> float:
        """Simulated time: since the release, or before it since the start [s]."""
        series = self._record.joints.get(self._scene.joint)
        return seconds(series[-1][0] - (self._released_ns or 0)) if series else 0.0

    def facts(self) -> dict[str, Any]:
        """Return what the diagnostics report of the run, for the file of results."""
        return {
            "adaptation": self.adaptation,
            "fallen": self._fallen,
            "command_timeouts": int(self._record.facts.get((COMMANDS, TIMEOUTS), 0)),
            "complaints": dict(self._record.complaints),
            "wall_s": round(self.wall_s, 1),
        }

    @property
    def ended_early(self) -> str:
        """Why the run has ended before its time, for people; empty where it has not."""
        if self._fallen:
            return f"the robot fell, {self.simulated_s:.1f} s after its release"
        if self._filter_reached_end():
            return ""
        return f"ended {self.simulated_s:.1f} of {self._scene.duration_s:g} s after the release"

    @property
    def complaints(self) -> list[str]:
        """What the nodes complained of when the run ended."""
        return [f"{part}: {text}" for part, text in self._record.complaints.items()]

    @property
    def _fallen(self) -> bool:
        return self._record.facts.get((SIMULATION, FALLEN)) == "true"

    def _advance(self) -> None:
        now = time.monotonic()
        if self._released_ns is None and (SIMULATION, RELEASED_AT) in self._record.facts:
            self._released_ns = round(float(self._record.facts[SIMULATION, RELEASED_AT]) * NANOSECONDS)
            self._deadlines.released(now, self._scene.duration_s)
        if self._released_ns is not None:
            # diagnostics tell of the release up to a second late: the weight may be on already
            reported = self.phase in (DemoPhase.RELEASED, DemoPhase.LOADED)
            loaded = reported and self.simulated_s >= self._scene.time_s
            self.phase = DemoPhase.LOADED if loaded else DemoPhase.RELEASED
        elif self._record.joints.get(self._scene.joint):
            self.phase = DemoPhase.HOISTED
        if self._released_ns is not None and self.simulated_s >= self._scene.duration_s:
            self._deadlines.reached_end(now)
        if self._fallen or self._filter_reached_end() or self._deadlines.passed(now):
            self.phase = DemoPhase.OVER

    def _filter_reached_end(self) -> bool:
        """Whether both the joint and the inertia were received to the end of the run."""
        if self._released_ns is None or self.simulated_s < self._scene.duration_s:
            return False
        inertias = self._record.inertias.get(self._scene.link)
        end_ns = self._released_ns + round(self._scene.duration_s * 1e9)
        return bool(inertias and inertias[-1][0] >= end_ns)

    def _check_alone(self, listener: Listener) -> None:
        contested = listener.contested()
        if contested:
            raise InertialEstimationError(
                f"another program publishes {listing(contested)} in ROS domain {self._domain_id}, too: "
                "end it, or set ROS_DOMAIN_ID to another one"
            )

    def _check_reports(self) -> None:
        now = time.monotonic()
        for node in IN_LOCKSTEP:
            count = self._record.reports[node]
            before, at_s = self._reports.get(node, (0, now))
            if count > before:
                self._reports[node] = count, now
            elif now - at_s > HANG_S:
                raise InertialEstimationError(f"{node} hangs: it has not reported for {HANG_S:g} s")

    def _check_begun(self) -> None:
        if self._released_ns is not None and self.simulated_s > 0.0:
            return
        complaints = "; ".join(self.complaints)
        raise RecordingError(
            "the simulation did not begin; output of the nodes: "
            f"{(self._processes and self._processes.output()) or complaints or 'none'}"
        )
