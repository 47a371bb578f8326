"""Clean data with their truth: of synthetic and simulated robots, made once, kept in a temporary folder."""

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.check_made_scenes import surveyed
from benchmarks.fault_campaign.readings import Reading
from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.config_file import ALL_NODES
from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    INERTIAL_NODE,
    PAYLOAD_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.controller_pipeline import ControllerPipeline
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.recordings.recording import RecordingEntry
from inertial_estimation.recordings.samples import StampedInertia
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseReference,
    BaseState,
    ImuSample,
    InertialEstimate,
    JointReading,
    OrientationSample,
    WrenchSample,
)
from inertial_estimation.simulation.disturbances import Attachment
from inertial_estimation.simulation.payload import TWELVE_POUNDS, ball
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing, Truth

START_NS = 1_700_000_000 * NANOSECONDS
LATENCY_NS = 1_000_000  # from the stamp of a reading to its arrival
RATE_HZ = 200.0
SEED = 13
WALK_S = 10.5  # length of a walk [s]
INIT = "init:"  # before the short name of a robot that has no parameter file
Pipeline = Any  # any of the four; they share tick, health and the pushes of their inputs


@dataclass(frozen=True, eq=False)
class Recorded:
    """Clean data.

    Attributes:
        readings: In order of arrival.
        stamps_ns: Of the truth [ns], shape (n,).
        up_B: The true vertical in the base frame, shape (n, 3); empty for an arm.
        masses: True mass of each body whose mass is judged [kg].
    """

    readings: tuple[Reading, ...]
    stamps_ns: Array
    up_B: Array
    masses: Mapping[str, float]


@dataclass(frozen=True)
class Scene:
    """A pipeline and the data it is fed.

    Attributes:
        pipeline: "tilt", "inertial", "payload" or "controller".
        robot: Parameter file.
        source: Name of the clean data in `SOURCES`.
        streams: Streams that the pipeline is fed, by the beginning of their names.
        begins_s: Times since the first reading at which a fault may begin [s]; zero: at the start.
        length_s: Length of the data that are used [s].
        overrides: Parameters of the node over the file's.
        urdf: Path of another description than the file's; empty: the file's.
    """

    pipeline: str
    robot: str
    source: str
    streams: tuple[str, ...]
    begins_s: tuple[float, ...]
    length_s: float
    overrides: Mapping[str, Any]
    urdf: str = ""


SENSORS = ("imu", "joints", "wrench")
SCENES: dict[str, Scene] = {
    "talos_moving": Scene("tilt", "talos", "talos_moving", SENSORS, (0.0, 2.5, 4.0), 10.0, {}),
    "talos_walking": Scene("tilt", "talos", "talos_walking", SENSORS, (0.0, 3.5, 5.0), WALK_S, {}),
    "talos_arms": Scene(
        "inertial", "talos", "talos_moving", (*SENSORS, "base_state"), (0.0, 6.0, 7.0), 12.0, {}
    ),
    "panda_load": Scene(
        "inertial",
        "panda",
        "panda_load",
        ("joints",),
        (0.0, 5.0, 6.0),
        11.0,
        {"links": ("panda_link5", "panda_link7"), "friction.joints": ()},
    ),
    "hyq_loaded": Scene(
        "payload", "hyq", "hyq_loaded", ("imu", "joints", "base_state"), (0.0, 5.0, 9.0, 10.0), 15.0, {}
    ),
    "talos_posture": Scene(
        "controller",
        "talos",
        "talos_posture",
        ("joints", "wrench", "base_state", "orientation", "inertia", "base_reference", "joint_reference"),
        (0.0, 1.5, 2.5),
        7.0,
        {},
    ),
    "talos_steps": Scene(
        "controller",
        "talos",
        "talos_walking",
        ("joints", "wrench", "base_state", "orientation", "walk"),
        (2.5, 3.0),
        7.0,
        {"await_inertias": False, "inertias.links": ()},  # the walk was recorded without
    ),
}


@cache
def _robot_loop(name: str, urdf: str = "") -> RobotLoop:
    """Return the builder of a robot by its parameter file, or of one that `init` sets up, INIT before it."""
    if not name.startswith(INIT):
        return RobotLoop(name, {ALL_NODES: {"urdf": urdf}} if urdf else None)
    short = name.removeprefix(INIT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{short}.yaml")
        file.write_text(surveyed(short)[2], encoding="utf-8")
        return RobotLoop(str(file))


def build_pipeline(scene: Scene) -> Pipeline:
    """Build the pipeline of a scene, as its node would."""
    robot = _robot_loop(scene.robot, scene.urdf)
    if scene.pipeline == "tilt":
        config = robot.config(TILT_NODE, TiltPipelineConfig, {TILT_NODE: scene.overrides})
        return TiltPipeline(config, robot.urdf)
    if scene.pipeline == "inertial":
        return robot.inertial({INERTIAL_NODE: scene.overrides})
    if scene.pipeline == "payload":
        return robot.payload({PAYLOAD_NODE: scene.overrides})
    controller = robot.config(CONTROLLER_NODE, ControllerConfig, {CONTROLLER_NODE: scene.overrides})
    return ControllerPipeline(controller, robot.urdf)


def recorded(scene: Scene, sources: Mapping[str, Callable[[], Recorded]] | None = None) -> Recorded:
    """Return the clean data of a scene, made now or read from the temporary folder.

    Args:
        scene: The scene.
        sources: Makers of the data by name; None: `SOURCES`.
    """
    whole = _source(scene.source, (SOURCES if sources is None else sources)[scene.source])
    kept = [r for r in whole.readings if r.stream.startswith(scene.streams)]
    end_ns = kept[0].arrival_ns + round(scene.length_s * NANOSECONDS)
    return Recorded(
        tuple(r for r in kept if r.arrival_ns < end_ns), whole.stamps_ns, whole.up_B, whole.masses
    )


@cache
def _source(name: str, make: Callable[[], Recorded]) -> Recorded:
    modules = (Path(__file__), Path(__file__).with_name("other_scenes.py"))
    code = hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"inertial_estimation_faults_{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{name}_{code}.pickle"
    if path.is_file() and path.stat().st_uid == os.getuid():
        with path.open("rb") as file:
            found: Recorded = pickle.load(file)
            return found
    made = make()
    partial = path.with_suffix(f".{os.getpid()}")
    with partial.open("wb") as file:
        pickle.dump(made, file)
    partial.replace(path)
    return made


def _up(quaternion_xyzw: Array) -> Array:
    """Return the vertical in the base frame, R_WB^T e_z."""
    return np.array(rotation_from_quaternion(quaternion_xyzw))[2]


def _synthetic(name: str, length_s: float, payload_kg: float, links: Sequence[str]) -> Recorded:
    """Let a synthetic robot that has carried a load from the start move its joints."""
    rng = np.random.default_rng(SEED)
    timing = Timing(duration_s=length_s, rate_hz=RATE_HZ, start_ns=START_NS)
    truth = synthetic_truth(name, timing, rng, payload_mass=payload_kg, payload_time_s=0.0)
    return recorded_truth(truth, measure(truth, REALISTIC, rng).messages, links, rng)


def recorded_truth(
    truth: Truth, messages: Sequence[RecordingEntry], links: Sequence[str], rng: np.random.Generator
) -> Recorded:
    """Return the clean data of a synthetic motion.

    Args:
        truth: The motion, with what is carried from the start.
        messages: What its sensors send.
        links: Bodies whose masses are judged.
        rng: Source of the noise of the base states.
    """
    readings = received(messages)
    up = np.zeros((0, 3))
    if truth.robot.floating_base:
        readings += [_true_base(truth, k, rng) for k in range(len(truth.states))]
        up = np.array([_up(state.q[3:7]) for state in truth.states])
    readings.sort(key=lambda reading: reading.arrival_ns)
    masses = {link: truth.robot.link_body(link).nominal_J.mass for link in links}
    if truth.payload is not None and truth.payload.inertia.link in masses:
        masses[truth.payload.inertia.link] += truth.payload.inertia.mass
    return Recorded(tuple(readings), truth.stamps_ns, up, masses)


def received(messages: Iterable[RecordingEntry]) -> list[Reading]:
    """Return the readings of the sensors, each received a millisecond after its stamp."""
    readings = []
    for entry in messages:
        stream = _STREAMS.get(type(entry.sample))
        if stream == "wrench":
            stream = f"wrench:{entry.topic.split('/')[1]}"
        if stream is not None:
            arrival = entry.sample.stamp_ns + LATENCY_NS
            readings.append(Reading(arrival, stream, entry.sample, arrival))
    return readings


_STREAMS = {ImuSample: "imu", JointReading: "joints", WrenchSample: "wrench"}


def _true_base(truth: Truth, k: int, rng: np.random.Generator) -> Reading:
    """Return the true base state with the noise of a good observer."""
    state, stamp = truth.states[k], int(truth.stamps_ns[k])
    quaternion = state.q[3:7] + 1e-4 * rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    twist = state.v[:6] + 1e-3 * rng.normal(size=6)
    base = BaseState(stamp, quaternion, state.q[:3], twist[:3], twist[3:])
    return Reading(stamp + LATENCY_NS, "base_state", base, stamp + LATENCY_NS)


class _Recorder:
    """Records what a closed loop feeds its estimators, in the place of a filter that only watches."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.truth: list[tuple[int, Array]] = []
        self.loop: ClosedLoop | None = None
        self._inertias: InertialEstimate | None = None

    def push_imu(self, sample: ImuSample) -> None:
        assert self.loop is not None
        self.truth.append((sample.stamp_ns, _up(self.loop.simulation.truth().base.quaternion_xyzw)))
        self.add("imu", sample)

    def push_joints(self, reading: JointReading) -> None:
        self.add("joints", reading)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        self.add(f"wrench:{contact}", sample)

    def push_base_state(self, state: BaseState) -> None:
        self.add("orientation", OrientationSample(state.stamp_ns, state.quaternion_xyzw))
        self.add("base_state", state)

    def tick(self, now_ns: int) -> list[InertialEstimate]:
        assert self.loop is not None
        estimate = self.loop.inertias
        if estimate is not None and estimate is not self._inertias:
            self._inertias = estimate
            for link in estimate.links:
                self.add(f"inertia:{link.published.link}", StampedInertia(estimate.stamp_ns, link.published))
        return []

    def add(self, stream: str, sample: Any) -> None:
        assert self.loop is not None
        arrival = self.loop.simulation.stamp_ns + LATENCY_NS
        self.readings.append(Reading(arrival, stream, sample, arrival))

    def recorded(self, masses: Mapping[str, float]) -> Recorded:
        stamps = np.array([stamp for stamp, _ in self.truth])
        return Recorded(tuple(self.readings), stamps, np.array([up for _, up in self.truth]), dict(masses))


def _looped(
    robot: str,
    length_s: float,
    on_tick: Callable[[ClosedLoop, _Recorder], None] | None = None,
    *,
    disturbances: Sequence[Attachment] = (),
    **options: Any,
) -> tuple[_Recorder, ClosedLoop]:
    """Run a robot in the closed loop, and record what its estimators are fed.

    Args:
        robot: As for `_robot_loop`.
        length_s: Length of the run [s].
        on_tick: Called at every step.
        disturbances: What acts on the robot.
        options: Further arguments of `RobotLoop.build`.
    """
    recorder = _Recorder()
    overrides = {SIMULATOR_NODE: {"start_ns": START_NS, "sensors.rate": RATE_HZ}}
    loop = _robot_loop(robot).build(
        overrides=overrides,
        disturbances=disturbances,
        seed=SEED,
        spectators=(recorder,),  # type: ignore[arg-type]
        **options,
    )
    recorder.loop = loop
    loop.release(1.0)
    loop.run(length_s, None if on_tick is None else lambda loop: on_tick(loop, recorder))
    if loop.simulation.fallen:
        raise RuntimeError(f"{robot} has fallen in clean data")
    return recorder, loop


def walking(robot: str, walk: WalkCommand) -> Recorded:
    """Let a robot, as for `_robot_loop`, walk under its controller on the estimates."""
    commanded = []

    def command(loop: ClosedLoop, recorder: _Recorder) -> None:
        if not commanded and loop.time_s > 1.0:
            commanded.append(walk)
            recorder.add("walk", walk)
            loop.controller.push_walk_command(walk)

    recorder, _ = _looped(robot, WALK_S, command, inertial=False, adaptation=False)
    return recorder.recorded({})


def _posture() -> Recorded:
    """Let TALOS bow and lower itself, and move its arms, under the controller with estimated inertias."""

    def command(loop: ClosedLoop, recorder: _Recorder) -> None:
        time, last = loop.time_s, loop.controller.last
        if round(time * RATE_HZ) % 20 or last is None:
            return
        height = heights.setdefault("start", last.height_ref) - 0.02 * (1.0 - np.cos(2.0 * time))
        base = BaseReference(height, 0.0, 0.05 * np.sin(1.5 * time))
        names = ("arm_left_4_joint", "arm_right_4_joint")
        arms = JointReading(loop.simulation.stamp_ns, names, -1.2 + 0.2 * np.sin(time) * np.ones(2))
        recorder.add("base_reference", base)
        recorder.add("joint_reference", arms)
        loop.controller.push_base_reference(base)
        loop.controller.push_joint_reference(arms)

    heights: dict[str, float] = {}
    recorder, _ = _looped("talos", 7.0, command)
    return recorder.recorded({})


def _hyq() -> Recorded:
    """Let HyQ stand, be loaded at 1 s and identify its trunk by itself."""
    load = ball("trunk", 10.2, (-0.3, 0.15, 0.0))
    recorder, loop = _looped(
        "hyq", 16.0, disturbances=(Attachment(load, start=1.0),), payload=True, inertial=False
    )
    truth = loop.simulation.truth(("trunk",))
    return recorder.recorded({"trunk": truth.inertias["trunk"].mass})


SOURCES: dict[str, Callable[[], Recorded]] = {
    "talos_moving": lambda: _synthetic(
        "talos", 12.0, TWELVE_POUNDS, ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
    ),
    "panda_load": lambda: _synthetic("panda", 11.0, 2.0, ("panda_link5", "panda_link7")),
    "talos_walking": lambda: walking("talos", WalkCommand(8, 0.12)),
    "talos_posture": _posture,
    "hyq_loaded": _hyq,
}
