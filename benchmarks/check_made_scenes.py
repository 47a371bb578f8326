"""Synthetic and simulated recordings on which `inertial-estimation check` is judged.

The robots of `unseen` were made after the limits of the checks had been set, to judge them: other robots of
example-robot-data, set up by `inertial-estimation init`, with other motions, rates, noise and friction. Those
of `other` were made when `unseen` had been looked at, too; their masses are not those of the description.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from inertial_estimation.bring_up.streams import RobotStreams, read_streams
from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.loop_recording import LoopRecording
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_swing import ScheduledSwing
from inertial_estimation.closed_loop.scheduled_walk import ScheduledWalk
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.configuration.urdf_source import example_source, mesh_folders, read_urdf
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import random_sines
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.recordings.recording import MemoryRecording, Recording
from inertial_estimation.setup_assistant.parameter_text import parameter_text
from inertial_estimation.setup_assistant.survey import Survey, Wishes, survey_robot
from inertial_estimation.signals import Array
from inertial_estimation.simulation.sensor_noise_config import REALISTIC, SensorNoise
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.spatial.minimum_jerk import minimum_jerk_derivatives
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import (
    Payload,
    StanceMotion,
    Timing,
    Truth,
    followed_truth,
    stance_truth,
)

LENGTH_S = 25.0  # of a simulation, after its release
ARM_REACH, ROOM = 0.35, 0.4  # of joints that are not of a leg [rad], at most this share of their way
REACH, LIMIT_SHARE = 1.0, 0.7  # the same of a moving arm
SLOW_HZ, FAST_HZ = (0.03, 0.15), (0.3, 1.0)
POSE_S, PAUSE_S = 1.6, 0.6  # from one pose of an arm to the next, the rest included, and that rest
SWING = 0.5  # of a simulated arm [rad]
Made = tuple[RobotConfig, str, RobotStreams]  # parameters, URDF, streams


@dataclass(frozen=True)
class Conditions:
    """How a robot is recorded.

    Attributes:
        rate_hz: Rate of its synthetic sensors.
        noise: Times that which `init` scales to the robot.
        friction: Coulomb and viscous friction (at 1 rad/s), share of the effort limit.
        seed: Of motion and noise.
        band_hz: Lowest and highest frequency of the motion of an arm [Hz].
        stops: Whether an arm goes from pose to pose and rests in each, in place of moving all the time.
        unlike: Relative standard deviation of the true masses about the described ones; a tenth of it in
            metres is that of the centres of mass.
    """

    rate_hz: float = 250.0
    noise: float = 1.0
    friction: float = 0.0
    seed: int = 1
    band_hz: tuple[float, float] = (0.1, 0.5)
    stops: bool = False
    unlike: float = 0.0


@dataclass(frozen=True, eq=False)
class Moving:
    """A robot that moves, and how it is to be recorded.

    Attributes:
        truth: Its motion.
        noise: Of its sensors.
        rng: Source of that noise.
        friction: Parameters of the robot with the friction it has.
        config: Those that it is believed to have.
        urdf: The description it is believed to have.
    """

    truth: Truth
    noise: SensorNoise
    rng: np.random.Generator
    friction: RobotConfig
    config: RobotConfig
    urdf: str

    def recording(self) -> MemoryRecording:
        """Record the motion."""
        return measure(self.truth, self.noise, self.rng, self.friction)


def tuned() -> dict[str, Callable[[], Made]]:
    """Return makers of the recordings that were looked at when the limits were set."""
    return {
        "panda synthetic": lambda: _synthetic("panda"),
        "talos synthetic": lambda: _synthetic("talos"),
        "panda simulated": lambda: _simulated("panda"),
        "talos standing": lambda: _simulated("talos"),
        "talos walking": lambda: _simulated("talos", (16, 0.1)),
        "hyq standing": lambda: _simulated("hyq"),
        "hyq walking": lambda: _simulated("hyq", (24, 0.05)),
        "go2 walking": lambda: _simulated("go2", (24, 0.04)),
    }


def unseen() -> dict[str, Callable[[], Made]]:
    """Return makers of recordings of robots that were not looked at."""
    return {
        "unseen ur5 moving": lambda: _moving("ur5", Conditions(125.0, 1.0, 0.03)),
        "unseen ur10 excited": lambda: _moving("ur10", Conditions(500.0, 2.0, 0.05, seed=2)),
        "unseen kinova moving": lambda: _moving("kinova", Conditions(100.0, 1.0, 0.02)),
        "unseen xarm7 moving": lambda: _moving("xarm7", Conditions(250.0, 0.5, 0.02, seed=3)),
        "unseen z1 moving": lambda: _moving("z1", Conditions(500.0, 1.0, 0.02)),
        "unseen tiago moving": lambda: _moving("tiago_no_hand", Conditions(100.0, 1.0, 0.02)),
        "unseen g1 swaying": lambda: _moving("g1", Conditions(500.0, 1.0, 0.01)),
        "unseen romeo swaying": lambda: _moving("romeo_small", Conditions(100.0, 2.0, 0.01, seed=2)),
        "unseen anymal swaying": lambda: _moving("anymal", Conditions(400.0, 1.0, 0.01)),
        "unseen solo12 swaying": lambda: _moving("solo12", Conditions(1000.0, 0.5, 0.02)),
        "unseen a1 trotting": lambda: _in_loop("a1", (30, 0.04)),
        "unseen anymal trotting": lambda: _in_loop("anymal", (30, 0.06)),
        "unseen g1 standing": lambda: _in_loop("g1"),
        "unseen kinova swinging": lambda: _in_loop("kinova"),
        "unseen xarm7 swinging": lambda: _in_loop("xarm7"),
    }


def other() -> dict[str, Callable[[], Made]]:
    """Return makers of recordings of yet other robots, unlike their descriptions by 3 %."""
    return {
        "other ur3 from pose to pose": lambda: _moving(
            "ur3", Conditions(125.0, 1.0, 0.04, 4, stops=True, unlike=0.03)
        ),
        "other talos_arm fast": lambda: _moving(
            "talos_left_arm", Conditions(1000.0, 1.0, 0.02, 5, FAST_HZ, unlike=0.03)
        ),
        "other panda slow": lambda: _moving(
            "panda", Conditions(60.0, 1.0, 0.02, 6, (0.03, 0.15), unlike=0.03)
        ),
        "other baxter from pose to pose": lambda: _moving(
            "baxter", Conditions(100.0, 1.0, 0.02, 7, stops=True, unlike=0.03)
        ),
        "other so101 moving": lambda: _moving("so101", Conditions(50.0, 1.0, 0.05, 8, unlike=0.03)),
        "other icub swaying": lambda: _moving("icub", Conditions(100.0, 1.0, 0.02, 9, unlike=0.03)),
        "other go1 swaying": lambda: _moving("go1", Conditions(500.0, 1.0, 0.02, 10, unlike=0.03)),
        "other b1 swaying": lambda: _moving("b1", Conditions(200.0, 2.0, 0.01, 11, unlike=0.03)),
        "other talos swaying": lambda: _moving(
            "talos_reduced", Conditions(200.0, 2.0, 0.01, 12, unlike=0.03)
        ),
        "other laikago trotting": lambda: _in_loop("laikago", (30, 0.04)),
    }


def inputs(recording: Recording, config: RobotConfig, urdf: str) -> Made:
    """Read the inputs of a robot.

    Args:
        recording: The recording.
        config: Parameters of the robot.
        urdf: Its description.
    """
    topics = replay_topics({"imu_frame": config.imu_frame, "contacts": config.contacts}, {})
    span = (recording.start_ns, recording.end_ns)
    return config, urdf, read_streams(recording, topics, robot_from_config(config, urdf), config, span)


def _synthetic(robot: str) -> Made:
    spec = synthetic_robot(robot)
    truth = synthetic_truth(robot, Timing(LENGTH_S, 250.0), np.random.default_rng(1), payload_time_s=None)
    config = spec.config
    recording = measure(truth, REALISTIC, np.random.default_rng(2), config)
    return inputs(recording, config, read_urdf(spec.urdf))


def _simulated(robot: str, walk: tuple[int, float] | None = None, *, swings: bool = False) -> Made:
    """Run a robot on its own estimates; an arm may swing."""
    builder = RobotLoop(robot)
    loop: ClosedLoop = builder.build(adaptation=False, inertial=False)
    recorder = LoopRecording(loop)
    motion: ScheduledWalk | ScheduledSwing | None = None
    if walk:
        motion = ScheduledWalk(WalkCommand(*walk), 1.0, LENGTH_S)
    elif swings and not loop.simulation.robot.floating_base:
        motion = ScheduledSwing(loop, SWING, np.random.default_rng(1))
    loop.release()
    while loop.time_s < LENGTH_S and not loop.simulation.fallen:
        loop.run(0.1, motion and motion.command)
    assert not loop.simulation.fallen, f"{robot} fell after {loop.time_s:.1f} s"
    config = builder.config(SIMULATOR_NODE, SimulationConfig).robot
    return inputs(recorder.recording(), config, builder.urdf)


def surveyed(robot: str) -> tuple[Survey, str, str]:
    """Return what `init` finds of a robot, its description and its parameter file."""
    source = example_source(robot)
    urdf = read_urdf(source)
    survey = survey_robot(urdf, mesh_folders(), Wishes(), np.random.default_rng(0))
    return survey, urdf, parameter_text(survey, source)


def _in_loop(robot: str, walk: tuple[int, float] | None = None) -> Made:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{robot}.yaml")
        file.write_text(surveyed(robot)[2], encoding="utf-8")
        return _simulated(str(file), walk, swings=True)


def _moving(robot: str, conditions: Conditions) -> Made:
    """Move an arm through its range, or base and arms of a robot that stands."""
    moving = moving_robot(robot, conditions)
    return inputs(moving.recording(), moving.config, moving.urdf)


def moving_robot(
    robot: str,
    conditions: Conditions,
    *,
    length_s: float = LENGTH_S,
    load: Payload | None = None,
    start_ns: int = 0,
) -> Moving:
    """Let an arm move through its range, or base and arms of a robot that stands.

    Args:
        robot: Short name in example-robot-data; it is set up by `init`.
        conditions: How it moves and is recorded.
        length_s: Length of the motion [s].
        load: What it carries; None: nothing.
        start_ns: Stamp of its beginning [ns].
    """
    survey, urdf, text = surveyed(robot)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "robot.yaml")
        file.write_text(text, encoding="utf-8")
        simulation = RobotLoop(str(file)).config(SIMULATOR_NODE, SimulationConfig)
    config = replace(simulation.robot, wrench_frames=())  # synthetic wrenches are in the contact frames
    rng = np.random.default_rng(conditions.seed)
    true = urdf
    if conditions.unlike:
        true = perturbed_urdf(urdf, rng, mass_sigma=conditions.unlike, com_sigma=0.1 * conditions.unlike)
    setup = robot_from_config(config, true)
    friction = replace(config, nominal_friction=_friction(setup.robot, conditions.friction))
    timing = Timing(length_s, conditions.rate_hz, start_ns=start_ns)
    if survey.legged:
        posture = dict(zip(setup.robot.joint_names, survey.posture.tolist(), strict=True))
        contacts = dict(zip(config.contacts, config.contact_frames, strict=True))
        motion = StanceMotion(posture, _reach(survey, posture), _base_reach(survey))
        truth: Truth = stance_truth(
            setup.robot, timing, rng, contacts=contacts, imu=setup.imu, motion=motion, payload=load
        )
    else:
        truth = followed_truth(setup.robot, _trajectory(survey, conditions, rng), timing, payload=load)
    return Moving(truth, _scaled(simulation.sensors.noise, conditions.noise), rng, friction, config, urdf)


def _reach(survey: Survey, posture: Mapping[str, float]) -> dict[str, float]:
    """Return how far joints that are not of a leg move from a posture [rad]."""
    legs = {name for leg in survey.decision.legs for name in leg.joints}
    limits = joint_limits(survey.robot)
    found = {}
    for i, name in enumerate(survey.robot.joint_names):
        room = min(posture[name] - limits.lower[i], limits.upper[i] - posture[name])
        if name not in legs:
            found[name] = float(np.clip(ROOM * room, 0.0, ARM_REACH))
    return found


def _trajectory(survey: Survey, conditions: Conditions, rng: np.random.Generator) -> JointTrajectory:
    """Return a motion of an arm about its posture, at rest at both ends."""
    limits, q = joint_limits(survey.robot), survey.posture
    room = LIMIT_SHARE * np.minimum(q - limits.lower, limits.upper - q)
    reach = np.clip(room, 0.0, REACH)
    times = np.arange(0.0, LENGTH_S, 0.004)
    if conditions.stops:
        return JointTrajectory(survey.robot.joint_names, times, *_from_pose_to_pose(times, q, reach, rng))
    motion = random_sines(q, reach, rng, band_hz=conditions.band_hz, rest_s=0.0)
    return JointTrajectory(
        survey.robot.joint_names, times, *replace(motion, end_s=float(times[-1])).at(times)
    )


def _from_pose_to_pose(
    times: Array, q: Array, reach: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return position, velocity and acceleration of moves between random poses, shape (k, n) each."""
    count = int(times[-1] // POSE_S)
    poses = q + reach * rng.uniform(-1.0, 1.0, (count + 1, len(q)))
    moving_s = POSE_S - PAUSE_S
    index = np.minimum((times // POSE_S).astype(int), count - 1)
    share = np.clip((times - index * POSE_S) / moving_s, 0.0, 1.0)[:, None]
    s, s1, s2 = minimum_jerk_derivatives(share)
    way = poses[index + 1] - poses[index]
    return poses[index] + s * way, s1 * way / moving_s, s2 * way / moving_s**2


def _base_reach(survey: Survey) -> tuple[float, ...]:
    """Return how far the base moves: a few per cent of its height, and some degrees."""
    h = survey.height
    return (0.02 * h, 0.03 * h, 0.02 * h, 0.03, 0.03, 0.05)


def _friction(robot: RobotModel, share: float) -> NominalFriction:
    limits = np.array(robot.model.effortLimit[robot.n_base :])
    sizes = tuple(float(share * x) if np.isfinite(x) and x < 1e4 else 0.0 for x in limits)
    return NominalFriction(joints=robot.joint_names, coulomb=sizes, viscous=sizes)


def _scaled(noise: SensorNoise, factor: float) -> SensorNoise:
    """Return noise times a factor; delays and losses stay."""
    values = {field.name: getattr(noise, field.name) for field in fields(SensorNoise)}
    scaled = {
        name: factor * value
        for name, value in values.items()
        if isinstance(value, float) and not name.endswith("_s") and name != "dropped"
    }
    return replace(noise, **scaled)
