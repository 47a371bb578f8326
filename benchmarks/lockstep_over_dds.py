"""The elbow and the pelvis experiment as four nodes over DDS in lockstep, against one process.

Starts simulator, tilt observer, inertial filter and controller as processes on a ROS domain of their own,
with the parameters, seeds and disturbances of `foster-elbow` and `foster-pelvis`, listens to joints, loads
and ground truth, and compares the RMSE with that of the same experiment in this process. Bound: within
10 %, with and without adaptation. Run:
python benchmarks/lockstep_over_dds.py [elbow] [pelvis] [--adaptation both] [--quick]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from inertial_estimation.closed_loop.closed_loop import HOIST_S
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import rms
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import RecordingError
from inertial_estimation.experiments import foster_elbow, foster_pelvis
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.live_record import LiveRecord
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.command_messages import walk_command_to_msg
from inertial_estimation.ros.demo_monitor import DemoMonitor
from inertial_estimation.ros.qos import RELIABLE_OUTPUT
from inertial_estimation.simulation.disturbance_yaml import parse_disturbance
from inertial_estimation.simulation.disturbances import MassWaveform

ESTIMATION = ("tilt_observer", "inertial_ekf", "whole_body_controller")
HEARD_BY_S = 4.0  # on the hoist: all have found the simulator by then
STARTUP_S, SLOWEST, LINGER_S = 90.0, 40.0, 1.3  # wall clock; SLOWEST is wall over simulated time
SIMULATION, COMMANDS = "simulator: simulation", "simulator: joint_torque_commands"
CONTROLLER, INERTIAS = "whole_body_controller: controller", "whole_body_controller: link_inertias"
JOINTS, TRUTH = "joint_states", "ground_truth/odom"
PERIOD_NS = 3_000_000
AVERAGED = 100  # readings on the hoist that say where it began
BOUND = 0.1


@dataclass(frozen=True)
class Setup:
    """One experiment.

    Attributes:
        name: Of the quantity, with its unit.
        robot: Builds the loop, and says what the nodes' parameters are.
        overrides: Parameters of one seed.
        disturbances: What happens.
        link: Whose inertia is estimated.
        in_process: RMSE in this process, of the seed and the arguments of the experiment's run.
        over_dds: RMSE of what was heard.
        duration_s: [s].
        walk: What to walk, and when [s].
    """

    name: str
    robot: RobotLoop
    overrides: Mapping[str, Mapping[str, Any]]
    disturbances: Sequence[MassWaveform]
    link: str
    in_process: Callable[..., float]
    over_dds: Callable[["Heard"], float]
    duration_s: float
    walk: tuple[WalkCommand, float] | None = None


@dataclass
class Heard:
    """What the nodes said in one run.

    Attributes:
        record: Inertias and diagnostics.
        robot: Model the joints are mapped to.
        values: What the messages hold by stamp, for each topic.
        released_ns: Stamp of the release.
        end_ns: Stamp of the end.
        walls: Wall time and newest stamp, at every look.
        ages: Ages of the inertias in force [s], once a second of the wall clock.
        walked_ns: Newest stamp when the walk command was sent.
    """

    record: LiveRecord
    robot: RobotModel
    values: dict[str, dict[int, Any]] = field(default_factory=dict)
    released_ns: int | None = None
    end_ns: int = 0
    walls: list[tuple[float, int]] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    walked_ns: int | None = None

    @property
    def newest_ns(self) -> int:
        """Stamp of the newest joint state."""
        return next(reversed(self.values[JOINTS]), 0)

    @property
    def fallen(self) -> bool:
        """Whether the robot has fallen."""
        return "fallen" in self.record.complaints.get(SIMULATION, "")

    def stamps(self, *, on_hoist: bool = False) -> list[int]:
        """Stamps of the run, or of the hoist, at which everything was heard."""
        complete = set.intersection(*(set(kept) for kept in self.values.values()))
        released = self.released_ns or 0
        low, high = (0, released) if on_hoist else (released, self.end_ns)
        return sorted(stamp for stamp in complete if low < stamp <= high)

    @property
    def wall_s(self) -> float:
        """Wall time from release to end [s]."""
        walls, stamps = np.array(self.walls).T
        begin, end = np.interp([self.released_ns, self.end_ns], stamps, walls)
        return float(end - begin)


class Listener(DemoMonitor):
    """Hears what one run needs, and sends the walk command."""

    def __init__(self, heard: Heard, setup: Setup) -> None:
        super().__init__(heard.record, [setup.link], orientation=False, joints=[])
        self.heard, self._setup = heard, setup
        topics = {JOINTS: JointState, TRUTH: Odometry}
        topics |= dict.fromkeys(load_topics(setup), WrenchStamped)
        for topic, message_type in topics.items():
            self._listen(message_type, topic, partial(_keep, heard.values.setdefault(topic, {})))
        self._walk = self.create_publisher(Float64MultiArray, "walk_command", RELIABLE_OUTPUT)

    @property
    def found(self) -> bool:
        """Whether the nodes the simulator must be heard by are there."""
        topics = ("base_state", f"link_inertias/{topic_token(self._setup.link)}", "joint_torque_commands")
        return all(self.count_publishers(topic) for topic in topics)

    def look(self) -> None:
        """Take what has come; send the walk command when it is due."""
        self.take()
        heard, released = self.heard, self.record.facts.get((SIMULATION, "released at [s]"))
        if heard.newest_ns:
            heard.walls.append((time.monotonic(), heard.newest_ns))
        if released is not None and heard.released_ns is None:
            heard.released_ns = round(float(released) * 1e9)
            heard.end_ns = heard.released_ns + round(self._setup.duration_s * 1e9)
        if not self.walk_is_due:
            return
        command, at_s = self._setup.walk
        if heard.newest_ns >= heard.released_ns + round(at_s * 1e9):
            self._walk.publish(walk_command_to_msg(command))
            heard.walked_ns = heard.newest_ns

    @property
    def walk_is_due(self) -> bool:
        """Whether a walk command is still to be sent."""
        heard = self.heard
        return self._setup.walk is not None and heard.walked_ns is None and heard.released_ns is not None

    def _on_diagnostics(self, msg: DiagnosticArray) -> None:
        super()._on_diagnostics(msg)
        for status in msg.status:
            if status.name == INERTIAS and self.heard.released_ns is not None:
                self.heard.ages += [float(item.value) for item in status.values if item.key == "age [s]"]


def _keep(values: dict[int, Any], value: Any) -> None:
    values[value.stamp_ns] = value


def load_topics(setup: Setup) -> list[str]:
    """Return the topics of the wrenches."""
    return [f"{topic_token(contact)}/wrench" for contact in setup.robot.node_parameters()["/**"]["contacts"]]


def setups(seed: int, quick: bool) -> dict[str, Setup]:
    """The two experiments."""
    elbow = RobotLoop("talos", foster_elbow.ELBOW_OVERRIDES)
    pelvis = RobotLoop("talos", foster_pelvis.PELVIS_OVERRIDES)
    return {
        "elbow": Setup(
            "elbow RMSE [rad]",
            elbow,
            {},
            foster_elbow.elbow_disturbances(),
            foster_elbow.FOREARM,
            partial(_elbow_in_process, elbow),
            elbow_rmse,
            2.0 if quick else foster_elbow.DURATION_S,
        ),
        "pelvis": Setup(
            "pelvis height RMSE [m]",
            pelvis,
            foster_pelvis.pelvis_ground(seed),
            foster_pelvis.pelvis_disturbances(),
            foster_pelvis.TORSO,
            partial(_pelvis_in_process, pelvis),
            partial(pelvis_rmse, soles=pelvis.node_parameters()["/**"]["contact_frames"]),
            4.0 if quick else foster_pelvis.DURATION_S,
            (foster_pelvis.WALK, foster_pelvis.WALK_S),
        ),
    }


def _elbow_in_process(robot: RobotLoop, seed: int, **how: Any) -> float:
    return rms(foster_elbow.elbow_run(robot, seed, **how)["error"])


def _pelvis_in_process(robot: RobotLoop, seed: int, **how: Any) -> float:
    columns, fallen = foster_pelvis.pelvis_run(robot, seed, **how)
    if fallen:
        print(f"in process it fell after {columns['time'][-1]:.2f} s")
    return rms(columns["height"] - columns["reference"])


def elbow_rmse(heard: Heard) -> float:
    """Error of the elbow as measured, against its mean on the hoist [rad]."""

    def at(stamp: int) -> float:
        reading = heard.values[JOINTS][stamp]
        return float(reading.position[reading.names.index(foster_elbow.ELBOW)])

    return _rms_since_release(heard, at)


def pelvis_rmse(heard: Heard, soles: Sequence[str]) -> float:
    """Error of the height above the soles that carry, against its mean on the hoist [m]."""
    height, joint_map = foster_pelvis.PelvisHeight(heard.robot, soles), JointMap(heard.robot)
    loads = [kept for topic, kept in heard.values.items() if topic.endswith("/wrench")]

    def at(stamp: int) -> float:
        base = heard.values[TRUTH][stamp]
        q = joint_map.sample(heard.values[JOINTS][stamp]).q
        forces = [float(kept[stamp].wrench_F[2]) for kept in loads]
        return height(base.quaternion_xyzw, q, forces)

    return _rms_since_release(heard, at)


def _rms_since_release(heard: Heard, value: Callable[[int], float]) -> float:
    home = np.mean([value(stamp) for stamp in heard.stamps(on_hoist=True)[-AVERAGED:]])
    return rms(np.array([value(stamp) for stamp in heard.stamps()]) - home)


def disturbance_yaml(wave: MassWaveform) -> str:
    """Return a waveform as the simulator node reads it."""
    text = yaml.safe_dump({"kind": "mass", **asdict(wave)}, default_flow_style=True, width=1000)
    assert parse_disturbance(text) == wave
    return text


def parameters(setup: Setup, seed: int, adaptation: bool) -> dict[str, dict[str, Any]]:
    """All parameters of the four nodes: those of the loop in one process, and lockstep."""
    nodes = setup.robot.node_parameters(overrides=setup.overrides, seed=seed)
    nodes[SIMULATOR_NODE] |= {
        "lockstep": True,
        "real_time_factor": 0.0,
        "hoist": HEARD_BY_S,
        "disturbances": [disturbance_yaml(wave) for wave in setup.disturbances],
    }
    if adaptation:  # those of this tick, as in the loop in one process
        half_window_s = 0.5 * nodes[INERTIAL_NODE]["window"]
        awaited = {"await_inertias": True, "inertias.max_age": half_window_s + 0.5e-9 * PERIOD_NS}
        awaited["inertias.timeout"] = STARTUP_S  # a filter that is behind at the release is waited for
    else:
        awaited = {"inertias.links": [""]}
    nodes[CONTROLLER_NODE] |= awaited
    for node in ESTIMATION:
        nodes[node] |= {"use_sim_time": True, "trigger": "arrival"}  # the simulation waits for the answer
    return nodes


def run_over_dds(setup: Setup, seed: int, adaptation: bool) -> Heard:
    """Run the four nodes once; the simulator comes when the others are there."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    nodes = parameters(setup, seed, adaptation)
    heard = Heard(LiveRecord(), RobotModel.from_urdf(setup.robot.urdf, floating_base=True))
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
            file = Path(folder) / "nodes.yaml"
            file.write_text(yaml.safe_dump({n: {"ros__parameters": p} for n, p in nodes.items()}))
            listener = Listener(heard, setup)
            for node in ESTIMATION:
                start(processes, node, file)
            wait(processes, listener, lambda: listener.found, STARTUP_S)
            start(processes, SIMULATOR_NODE, file)
            wait(processes, listener, lambda: heard.released_ns is not None, STARTUP_S)
            limit = SLOWEST * setup.duration_s
            wait(processes, listener, lambda: heard.fallen or heard.newest_ns >= heard.end_ns, limit)
            begin = time.monotonic()
            wait(processes, listener, lambda: time.monotonic() > begin + LINGER_S, STARTUP_S)
            listener.destroy_node()
    finally:
        rclpy.try_shutdown()
    return heard


def start(processes: ProcessGroup, node: str, file: Path) -> None:
    call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
    ros = ["--ros-args", "--params-file", str(file), "--log-level", "warn"]
    processes.start(node, [sys.executable, "-c", call, *ros])


def wait(processes: ProcessGroup, listener: Listener, done: Callable[[], bool], limit_s: float) -> None:
    """Listen until done.

    Raises:
        RecordingError: If it is not done in time.
    """
    deadline = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > deadline:
            complaints = "; ".join(f"{k}: {v}" for k, v in listener.record.complaints.items())
            raise RecordingError(f"no end in {limit_s:.0f} s; {complaints}; {processes.output()}")
        time.sleep(0.0005 if listener.walk_is_due else 0.02)
        listener.look()
        processes.check()


def facts(setup: Setup, heard: Heard) -> dict[str, Any]:
    """What one needs to doubt the figure."""
    assert heard.released_ns is not None
    counts = {key: int(text) for key, text in heard.record.facts.items() if text.isdigit()}
    inertias = [s for s, _ in heard.record.inertias[setup.link] if heard.released_ns < s <= heard.end_ns]
    walked = None if heard.walked_ns is None else (heard.walked_ns - heard.released_ns) * 1e-9
    return {
        "time-outs": counts.get((COMMANDS, "time-outs")),
        "wall_s": heard.wall_s,
        "hoist_s": heard.released_ns * 1e-9,
        "walk_command_s": walked,
        "fallen": heard.fallen,
        "stamps_heard": len(heard.stamps()),
        "ticks": (heard.end_ns - heard.released_ns) // PERIOD_NS,
        "inertias_heard": len(inertias),
        "inertia_age_mean_s": float(np.mean(heard.ages)) if heard.ages else None,
        "inertia_age_max_s": max(heard.ages, default=None),
        "steps_in_damping": counts.get((CONTROLLER, "steps in damping")),
    }


def compare(setup: Setup, seed: int, kind: str) -> dict[str, Any]:
    """Run over DDS, then in this process: as the experiment does, and with the same time on the hoist."""
    adaptation = kind == "with"
    heard = run_over_dds(setup, seed, adaptation)
    known, over_dds = facts(setup, heard), setup.over_dds(heard)
    run = partial(setup.in_process, seed, adaptation=adaptation, duration_s=setup.duration_s)
    inside, hung = run(hoist_s=HOIST_S), run(hoist_s=known["hoist_s"])
    print(
        f"{setup.name:<24}{kind:<12}{over_dds:>10.5f}{inside:>12.5f}{over_dds / inside:>8.3f}{hung:>12.5f}"
        f"{over_dds / hung:>8.3f}{known['time-outs']:>11}{known['wall_s']:>10.1f}"
        f"{setup.duration_s / known['wall_s']:>10.2f}"
    )
    said = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in list(known.items())[2:]]
    print(f"    {', '.join(said)}", flush=True)
    figures = {"over_dds": over_dds, "in_process": inside, "in_process_same_hoist": hung}
    ratios = {"ratio": over_dds / inside, "ratio_same_hoist": over_dds / hung}
    return {"quantity": setup.name, "adaptation": kind, **figures, **ratios, **known}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiments", nargs="*", default=["elbow", "pelvis"])
    parser.add_argument("--adaptation", choices=("without", "with", "both"), default="both")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few seconds each; proves nothing")
    parser.add_argument("--output", type=Path, help="JSON file for the numbers")
    args = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    known = setups(args.seed, args.quick)
    if unknown := set(args.experiments) - known.keys():
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    kinds = ("without", "with") if args.adaptation == "both" else (args.adaptation,)
    heading = f"{'quantity':<24}{'adaptation':<12}{'over DDS':>10}{'in process':>12}{'ratio':>8}"
    heading += f"{'same hoist':>12}{'ratio':>8}{'time-outs':>11}{'wall [s]':>10}{'sim/wall':>10}"
    print(heading, flush=True)
    rows: list[dict[str, Any]] = []
    for name, kind in ((n, k) for n in args.experiments for k in kinds):
        with claimed_domain() as domain:
            os.environ["ROS_DOMAIN_ID"] = str(domain)
            rows.append(compare(known[name], args.seed, kind))
        if args.output:
            args.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    for name in ("ratio", "ratio_same_hoist"):
        near = sum(abs(row[name] - 1.0) <= BOUND for row in rows)
        print(f"{name}: {near} of {len(rows)} within {BOUND:.0%} of the figure in one process")


if __name__ == "__main__":
    main()
