"""Clean data with their truth, from motions in closed form and from the simulator.

Nothing of them depends on an estimator of a base or of links: the simulated controller is given the true base
state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import inertial_estimation as ie
from benchmarks.fault_campaign.forked import forked
from benchmarks.fault_campaign.messages import Message, StampedInertia, nanoseconds
from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.diagnosis.live import at_once
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.simulation.disturbances import TWELVE_POUNDS, Attachment, ball

NODES = {"tilt": "tilt_observer", "inertial": "inertial_ekf", "payload": "trunk_payload"}
NODES |= {"controller": "whole_body_controller"}
START_NS = 1_700_000_000 * NANOSECONDS
LATENCY_NS = 1_000_000  # from the stamp of a message to its arrival
RATE_HZ = 200.0
SEED = 13
WALK_S = 10.5  # length of a walk [s]
STREAMS = {ie.ImuSample: "imu", ie.JointReading: "joints", ie.WrenchSample: "wrench"}
SENSORS = ("imu", "joints", "wrench")
FLOATING = ("imu", "joints", "base_state")


@dataclass(frozen=True, eq=False)
class Recorded:
    """Clean data."""

    messages: tuple[Message, ...]  # in order of arrival
    stamps_ns: Array  # of the truth, shape (n,)
    up_B: Array  # true vertical in the base frame, shape (n, 3); empty: unknown, or an arm's
    masses: Mapping[str, float]  # true mass of each body whose mass is judged [kg]


Source = Callable[[], Recorded]


@dataclass(frozen=True)
class Scene:
    """A pipeline and the data it is fed."""

    pipeline: str  # "tilt", "inertial", "payload" or "controller"
    robot: str  # parameter file
    source: str  # name of the clean data
    streams: tuple[str, ...]  # those that the pipeline is fed, by the beginning of their names
    begins_s: tuple[float, ...]  # since the first message, when a fault may begin; zero: with the first one
    length_s: float  # of the data that are used
    informing: tuple[str, ...]  # streams that suffice: while they arrive unharmed, output is expected
    overrides: Mapping[str, Any] = field(default_factory=dict)  # parameters of the node over the file's

    @property
    def urdf(self) -> str:
        """The robot's description as a text."""
        file = ie.load_configs([self.robot])
        source = self.overrides.get("urdf", file.shared["urdf"])
        return ie.read_urdf(str(source), folder=Path(file.name).parent)


def build_pipeline(scene: Scene) -> Any:
    """Build the pipeline of a scene, as its node would."""
    node = NODES[scene.pipeline]
    if scene.pipeline == "controller":
        config = RobotLoop(scene.robot).config(node, ie.ControllerConfig, {node: scene.overrides})
        return ie.ControllerPipeline(config, scene.urdf)
    file = ie.load_configs([scene.robot])
    file = file.overridden((node, name, value) for name, value in scene.overrides.items())
    pipeline = getattr(ie.build_pipelines(file, only=[node]), scene.pipeline)
    if pipeline.checks is not None:  # a process of its own judges the data, which counts for no step
        pipeline.checks.execute = lambda call: at_once(partial(forked, call, limited=False))
    return pipeline


def recorded(scene: Scene) -> Recorded:
    """Return the clean data of a scene."""
    whole = _whole(SOURCES[scene.source])
    kept = [m for m in whole.messages if m.stream.startswith(scene.streams)]
    end_ns = kept[0].arrival_ns + nanoseconds(scene.length_s)
    return replace(whole, messages=tuple(m for m in kept if m.arrival_ns < end_ns))


@cache
def _whole(source: Source) -> Recorded:
    """Make clean data, once in a run."""
    return source()


def arriving(stream: str, sample: Any, stamp_ns: int | None = None) -> Message:
    """Return the message of a sample, received a millisecond after its stamp, or after another one [ns]."""
    arrival_ns = (sample.stamp_ns if stamp_ns is None else stamp_ns) + LATENCY_NS
    return Message(arrival_ns, stream, sample, arrival_ns)


def noisy(base: ie.BaseState, rng: np.random.Generator) -> ie.BaseState:
    """Return a base state with the noise of a good observer."""
    q = base.quaternion_xyzw + 1e-4 * rng.normal(size=4)
    twist = np.concatenate([base.v_WB_B, base.w_WB_B]) + 1e-3 * rng.normal(size=6)
    return ie.BaseState(base.stamp_ns, q / np.linalg.norm(q), base.p_WB, twist[:3], twist[3:])


def _vertical(quaternions_xyzw: Array) -> Array:
    """Return R_WB' e_z of orientations, shape (n, 4): shape (n, 3)."""
    return Rotation.from_quat(quaternions_xyzw).as_matrix()[:, 2, :]


def simulated(
    robot: str,
    length_s: float,
    on_tick: Callable[[ClosedLoop, list[Message]], None] = lambda loop, found: None,
    *,
    load: Attachment | None = None,
    links: Sequence[str] = (),
    payload: bool = False,
) -> Recorded:
    """Run a robot under its controller, on its true base state, and record what arrives.

    `on_tick` is called at every step; it may command and record. The masses of the links are judged, and
    their true inertias are recorded. With `payload` that of the trunk is identified, which moves the robot.
    """
    rng = np.random.default_rng(SEED)
    options = {"adaptation": False, "inertial": False, "payload": payload, "seed": SEED}
    overrides = {"simulator": {"sensors.rate": RATE_HZ}}
    disturbances = [] if load is None else [load]
    loop = RobotLoop(robot).build(overrides=overrides, disturbances=disturbances, **options)
    loop.tilt = None
    found: list[Message] = []
    truth: list[ie.BaseState] = []

    def record(readings: Any) -> None:
        true = loop.simulation.truth(links)
        truth.append(true.base)
        base = noisy(true.base, rng)
        samples = {"imu": readings.imu, "joints": readings.joints}
        samples |= {f"wrench:{contact}": wrench for contact, wrench in readings.wrenches.items()}
        samples["base_state"] = base
        samples |= {
            f"inertia:{n}": StampedInertia(base.stamp_ns, *astuple(i)) for n, i in true.inertias.items()
        }
        now_ns = loop.simulation.stamp_ns
        found.extend(arriving(name, sample, now_ns) for name, sample in samples.items() if sample is not None)

    loop.on_readings = record
    loop.release(1.0)
    loop.run(length_s, lambda loop: on_tick(loop, found))
    if loop.simulation.fallen:
        raise RuntimeError(f"{robot} has fallen in clean data")
    masses = {link: inertia.mass for link, inertia in loop.simulation.truth(links).inertias.items()}
    stamps_ns = START_NS + np.array([base.stamp_ns for base in truth])
    up_B = _vertical(np.array([b.quaternion_xyzw for b in truth]))
    return Recorded(tuple(map(today, found)), stamps_ns, up_B, masses)


def today(message: Message) -> Message:
    """Return a message of a simulation, which begins at zero, as of one that begins at `START_NS`."""
    stamp_ns = getattr(message.sample, "stamp_ns", None)
    moved = message if stamp_ns is None else message.stamped(stamp_ns + START_NS)
    return replace(moved, arrival_ns=message.arrival_ns + START_NS, clock_ns=message.clock_ns + START_NS)


def walking(robot: str, walk: WalkCommand) -> Recorded:
    """Let a robot walk."""

    def command(loop: ClosedLoop, found: list[Message]) -> None:
        if loop.time_s > 1.0 and not any(message.stream == "walk_command" for message in found):
            found.append(arriving("walk_command", walk, loop.simulation.stamp_ns))
            loop.controller.push_walk_command(walk)

    return simulated(robot, WALK_S, command)


def bowing(robot: str, length_s: float, joints: Sequence[str] = (), **options: Any) -> Recorded:
    """Let a robot bow and lower itself, and move some joints about where they are."""
    start: dict[str, Any] = {}

    def command(loop: ClosedLoop, found: list[Message]) -> None:
        time, last, stamp_ns = loop.time_s, loop.controller.last, loop.simulation.stamp_ns
        if round(time * RATE_HZ) % 20 or last is None:
            return
        height = start.setdefault("height", last.height_ref)
        lowered = height * (1.0 - 0.02 * (1.0 - np.cos(2.0 * time)))
        base = ie.BaseReference(lowered, 0.0, 0.05 * np.sin(1.5 * time))
        found.append(arriving("base_reference", base, stamp_ns))
        loop.controller.push_base_reference(base)
        if joints:
            q = dict(zip(loop.readings.joints.names, loop.readings.joints.position, strict=True))
            centre = start.setdefault("posture", np.array([q[name] for name in joints]))
            moved = centre + 0.2 * np.sin(time * (1.0 + 0.3 * np.arange(len(joints))))
            reference = ie.JointReading(stamp_ns, tuple(joints), moved)
            found.append(arriving("joint_reference", reference, stamp_ns))
            loop.controller.push_joint_reference(reference)

    return simulated(robot, length_s, command, **options)


def moving(robot: str, length_s: float, payload_kg: float, links: Sequence[str]) -> Recorded:
    """Let a robot that has carried a load from the start move its joints, in closed form.

    The masses of some links are judged.
    """
    rng = np.random.default_rng(SEED)
    timing = ie.Timing(duration_s=length_s, rate_hz=RATE_HZ, start_ns=START_NS)
    truth = ie.synthetic_truth(robot, timing, rng, payload_mass=payload_kg, payload_time_s=0.0)
    found: list[Message] = []
    for entry in ie.measure(truth, ie.REALISTIC, rng).messages:
        stream = STREAMS.get(type(entry.sample))
        contact = f":{entry.topic.split('/')[1]}" if stream == "wrench" else ""
        found += [arriving(stream + contact, entry.sample)] if stream else []
    up_B = np.zeros((0, 3))
    if truth.robot.floating_base:
        for stamp_ns, state in zip(truth.stamps_ns.tolist(), truth.states, strict=True):
            base = ie.BaseState(stamp_ns, state.q[3:7], state.q[:3], state.v[:3], state.v[3:6])
            found.append(arriving("base_state", noisy(base, rng)))
        up_B = _vertical(np.array([state.q[3:7] for state in truth.states]))
    masses = {link: truth.robot.link_body(link).nominal_J.mass for link in links}
    if truth.payload.body.link in masses:
        masses[truth.payload.body.link] += truth.payload.body.mass
    found.sort(key=lambda message: message.arrival_ns)
    return Recorded(tuple(found), truth.stamps_ns, up_B, masses)


TALOS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
ELBOWS = ("arm_left_4_joint", "arm_right_4_joint")
PANDA = ("panda_link5", "panda_link7")
LOAD = Attachment(ball("trunk", 10.2, (-0.3, 0.15, 0.0)), start=1.0)  # which HyQ identifies by itself
SOURCES: dict[str, Source] = {
    "talos_moving": partial(moving, "talos", 12.0, TWELVE_POUNDS, TALOS),
    "talos_walking": partial(walking, "talos", WalkCommand(8, 0.12)),
    "talos_bowing": partial(bowing, "talos", 7.0, ELBOWS, links=TALOS),
    "panda_moving": partial(moving, "panda", 11.0, 2.0, PANDA),
    "hyq_loaded": partial(simulated, "hyq", 16.0, load=LOAD, links=("trunk",), payload=True),
}
JOINTS = ("joints",)
ON_FEET = (*SENSORS, "base_state")
CONTROL = ("joints", "wrench", "base_state")
REQUESTS = (*CONTROL, "inertia", "base_reference", "joint_reference")
STEPS = (*CONTROL, "walk_command")
ARMS = {"links": PANDA, "friction.joints": ()}
BLIND = {"await_inertias": False, "inertias.links": ()}  # the walk is recorded without inertias
SCENES: dict[str, Scene] = {
    "talos_moving": Scene("tilt", "talos", "talos_moving", SENSORS, (0.0, 2.5, 4.0), 10.0, ("imu",)),
    "talos_walking": Scene("tilt", "talos", "talos_walking", SENSORS, (0.0, 3.5, 5.0), WALK_S, ("imu",)),
    "talos_arms": Scene("inertial", "talos", "talos_moving", ON_FEET, (0.0, 6.0, 7.0), 12.0, FLOATING),
    "panda_load": Scene("inertial", "panda", "panda_moving", JOINTS, (0.0, 5.0, 6.0), 11.0, JOINTS, ARMS),
    "hyq_loaded": Scene("payload", "hyq", "hyq_loaded", FLOATING, (0.0, 5.0, 9.0, 10.0), 15.0, FLOATING),
    "talos_posture": Scene("controller", "talos", "talos_bowing", REQUESTS, (0.0, 1.5, 2.5), 7.0, JOINTS),
    "talos_steps": Scene("controller", "talos", "talos_walking", STEPS, (2.5, 3.0), 7.0, JOINTS, BLIND),
}
