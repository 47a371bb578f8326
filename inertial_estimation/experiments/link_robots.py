"""Robots on which the locator of loads is tried: TALOS, and any robot with a parameter file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from inertial_estimation.configuration.config_file import ConfigFile, load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.measurement_noise import DEFAULTS, MeasurementNoise
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter_values
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.signals import Array
from inertial_estimation.simulation.sensor_noise_config import REALISTIC, SensorNoise
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot
from inertial_estimation.synthetic.synthetic_truth import (
    StanceMotion,
    Timing,
    Truth,
    arm_truth,
    stance_truth,
)

TALOS = "talos"
SHARES = (0.011, 0.054)  # of the robot's mass and weight: loads of 1 to 5 kg, pushes of 10 to 50 N on TALOS
STRONGEST = 0.108  # of the weight: 100 N on TALOS
FULL_SIZE = 93.0  # [kg], mass of TALOS
REACH = 0.3  # of joints that do not carry the robot [rad]


@dataclass(frozen=True, eq=False)
class LinkRobot:
    """A robot, how it moves, and how large its loads and pushes are.

    Attributes:
        file: Its parameter file.
        setup: Its model and contacts.
        motion: How it stands and moves; not used for an arm.
        limbs: Beginnings of the links of its limbs, on which loads are put; empty: all moving links.
        loads: Least and largest load [kg].
        pushes: Least and largest push [N].
        spread: Of the point of a load or push about the centre of mass of the body, per axis [m].
        noise: Imperfections of its sensors: those of the file's simulator and, where it says nothing of one,
            the realistic ones, which are of a large robot, scaled to this one.
    """

    file: ConfigFile
    setup: RobotSetup
    motion: StanceMotion
    limbs: tuple[str, ...]
    loads: tuple[float, float]
    pushes: tuple[float, float]
    spread: float
    noise: SensorNoise

    @property
    def contacts(self) -> Mapping[str, str]:
        """Frame of each contact by its name."""
        return {contact.name: contact.frame for contact in self.setup.contacts}

    def truth(self, timing: Timing, rng: Generator) -> Truth:
        """Return a motion without loads and pushes.

        Args:
            timing: Its length, rate and rest.
            rng: Source of the motion.
        """
        setup = self.setup
        if not setup.robot.floating_base:
            return arm_truth(setup.robot, timing, rng)
        return stance_truth(
            setup.robot, timing, rng, contacts=self.contacts, imu=setup.imu, motion=self.motion
        )

    def built(self) -> tuple[InertialPipeline, RecordedTopics]:
        """Return a filter with the parameters of the file, and the topics it reads.

        Raises:
            ConfigurationError: If the file has no section of the inertial filter.
        """
        pipelines, inertial = _pipelines(self.file)
        return inertial, replay_topics(pipelines.values, {})


def talos() -> LinkRobot:
    """Return TALOS with its shipped parameters, moving torso, arms and head."""
    file, setup = _read(TALOS)
    motion = synthetic_robot(TALOS).motion
    limbs = ("arm_", "leg_", "gripper_", "head_")
    return LinkRobot(file, setup, motion, limbs, (1.0, 5.0), (10.0, 100.0), 0.04, REALISTIC)


def configured_robot(config: str) -> LinkRobot:
    """Return a robot with the parameters of a file; loads, pushes and motion scale with its mass.

    It stands as the file's `stance` says; joints that do not carry it move by `REACH`.

    Args:
        config: Path of a parameter file, or name of one that comes with the package.

    Raises:
        ConfigurationError: If there is no such file, or it is wrong.
        ~inertial_estimation.errors.ModelError: If the description is missing or lacks a name in use.
    """
    if config == TALOS:
        return talos()
    file, setup = _read(config)
    mass, shared = setup.robot.total_mass, file.shared
    weight, size = mass * STANDARD_GRAVITY, (mass / FULL_SIZE) ** (1.0 / 3.0)
    posture = dict(zip(shared.get("stance.joints", ()), shared.get("stance.positions", ()), strict=True))
    base = StanceMotion().base_reach
    motion = StanceMotion(
        posture,
        _free_joints(setup, posture),
        (*(size * reach for reach in base[:3]), *base[3:]),
    )
    return LinkRobot(
        file,
        setup,
        motion,
        (),
        (SHARES[0] * mass, SHARES[1] * mass),
        (SHARES[0] * weight, STRONGEST * weight),
        0.04 * size,
        _sensors(file, setup.robot),
    )


def _read(config: str) -> tuple[ConfigFile, RobotSetup]:
    file = load_config_file(find_config(config))
    pipelines, inertial = _pipelines(file)
    return file, robot_from_config(inertial.config.robot, pipelines.urdf)


def _pipelines(file: ConfigFile) -> tuple[Pipelines, InertialPipeline]:
    pipelines = build_pipelines(file)
    if pipelines.inertial is None:
        raise ConfigurationError(f"{file.name} has no inertial filter, expected one")
    return pipelines, pipelines.inertial


def _sensors(file: ConfigFile, robot: RobotModel) -> SensorNoise:
    own, full = MeasurementNoise().for_robot(robot), MeasurementNoise(**DEFAULTS)
    scaled = replace(
        REALISTIC,
        effort=REALISTIC.effort * own.torque / full.torque,
        force=REALISTIC.force * own.contact_force / full.contact_force,
        torque=REALISTIC.torque * own.contact_moment / full.contact_moment,
    )
    given = file.nodes.get(SIMULATOR_NODE, {})
    names = {f"sensors.{name}": name for name in parameter_values(REALISTIC)}
    return replace(scaled, **{names[name]: value for name, value in given.items() if name in names})


def _free_joints(setup: RobotSetup, posture: Mapping[str, float]) -> dict[str, float]:
    """Return how far each joint moves that does not carry the robot, within its limits [rad]."""
    robot = setup.robot
    carrying = {joint for contact in setup.contacts for joint in _supports(robot, contact.frame)}
    limits = joint_limits(robot)
    home: Array = np.array([posture.get(name, 0.0) for name in robot.joint_names])
    room = np.minimum(home - limits.lower, limits.upper - home)
    reach = {name: float(min(REACH, r)) for name, r in zip(robot.joint_names, room, strict=True)}
    return {name: r for name, r in reach.items() if name not in carrying and r > 0.0}


def _supports(robot: RobotModel, frame: str) -> list[str]:
    """Return the names of the joints between the base and a frame."""
    model = robot.model
    joint = model.frames[robot.frame_id(frame)].parentJoint
    return [model.names[i] for i in model.supports[joint]]
