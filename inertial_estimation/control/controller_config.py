"""Parameters of the whole-body controller."""

from dataclasses import dataclass

from inertial_estimation.control.adaptation_config import AdaptationConfig
from inertial_estimation.control.safety_config import (
    InertiaLimitsConfig,
    RecoveryConfig,
    StateLimitsConfig,
)
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.stance_config import StanceConfig
from inertial_estimation.parameters import parameter, section


@dataclass(frozen=True)
class TaskConfig:
    """Gains of one task: a = k e + d e'."""

    stiffness: float = parameter(
        100.0,
        "Stiffness k of the task, which demands the acceleration k e + d e' for a position error e; larger "
        "corrects errors faster.",
        unit="1/s^2",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )
    damping: float = parameter(
        20.0,
        "Damping d of the task, which demands the acceleration k e + d e' for a position error e.",
        unit="1/s",
        lower=0.0,
        upper=1e3,
        runtime=True,
    )
    weight: float = parameter(
        10.0,
        "Weight of the task's squared acceleration error in the quadratic program, relative to the other "
        "tasks.",
        lower=1e-6,
        upper=1e6,
        runtime=True,
    )


@dataclass(frozen=True)
class FootMotionConfig(TaskConfig):
    """Gains of a foot in the air: stiffer and heavier than the rest, it has to land in time."""

    stiffness: float = parameter(
        300.0,
        "Stiffness k of the motion of a swing foot, which demands the acceleration k e + d e' for a "
        "position error e.",
        unit="1/s^2",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )
    damping: float = parameter(
        35.0,
        "Damping d of the motion of a swing foot, which demands the acceleration k e + d e' for a position "
        "error e.",
        unit="1/s",
        lower=0.0,
        upper=1e3,
        runtime=True,
    )
    weight: float = parameter(
        100.0,
        "Weight of a swing foot's squared acceleration error in the quadratic program, relative to the "
        "other tasks.",
        lower=1e-6,
        upper=1e6,
        runtime=True,
    )


@dataclass(frozen=True)
class PostureConfig:
    """Gains of the joints' posture."""

    stiffness: float = parameter(
        100.0,
        "Stiffness k of the posture task for every joint that posture.joints does not name.",
        unit="1/s^2",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )
    damping_ratio: float = parameter(
        1.0,
        "Damping ratio of the posture task: the damping of a joint with stiffness k is d = 2 ratio sqrt(k).",
        lower=0.05,
        upper=10.0,
        runtime=True,
    )
    weight: float = parameter(
        1.0,
        "Weight of the squared acceleration error of a joint that carries no contact, in the quadratic "
        "program.",
        lower=1e-6,
        upper=1e4,
        runtime=True,
    )
    leg_weight: float = parameter(
        1e-4,
        "Weight of the squared acceleration error of a joint between the base and a contact; small, since "
        "base tasks and feet determine these joints.",
        lower=1e-8,
        upper=1e4,
        runtime=True,
    )
    joints: tuple[str, ...] = parameter(
        (), "Joints with an individual posture stiffness, by name or shell pattern."
    )
    stiffnesses: tuple[float, ...] = parameter(
        (),
        "Posture stiffness k of each entry of posture.joints, in the same order.",
        unit="1/s^2",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )


@dataclass(frozen=True)
class ContactTaskConfig:
    """How contacts are held at rest and what they may carry."""

    damping: float = parameter(
        30.0,
        "Damping d with which a contact is held at rest: J a = -d J v - J'v, J' the time derivative of its "
        "Jacobian.",
        unit="1/s",
        lower=0.0,
        upper=1e3,
        runtime=True,
    )
    weight: float = parameter(
        1000.0,
        "Weight of the squared acceleration error of a contact held at rest, in the quadratic program.",
        lower=1.0,
        upper=1e6,
        runtime=True,
    )
    friction: float = parameter(
        0.6,
        "Coefficient of friction that the controller assumes; larger lets it demand larger tangential "
        "contact forces.",
        lower=0.01,
        upper=5.0,
    )
    force_weight: float = parameter(
        1e-3,
        "Weight of the squared distance (per 100 N and 10 Nm) of contact forces from the desired force "
        "distribution.",
        lower=1e-7,
        upper=1.0,
    )
    force_limit: float = parameter(
        2.5,
        "Largest normal force of one contact, as a multiple of the robot's weight.",
        lower=0.5,
        upper=20.0,
    )


@dataclass(frozen=True)
class BalanceConfig:
    """Feedback of the divergent component of motion through the contact forces."""

    gain: float = parameter(
        4.0,
        "Rate at which the feedback makes an error of the divergent component of motion (DCM) decay.",
        unit="1/s",
        lower=0.1,
        upper=50.0,
        runtime=True,
    )
    integral: float = parameter(
        1.0,
        "Integral gain on the error of the divergent component of motion (DCM); 0 disables integral action.",
        unit="1/s^2",
        lower=0.0,
        upper=50.0,
        runtime=True,
    )
    integral_limit: float = parameter(
        0.04,
        "Largest shift of the centre of pressure by the integral of the DCM error (anti-windup).",
        unit="m",
        lower=0.0,
        upper=0.5,
    )
    margin: float = parameter(
        0.015,
        "Distance that the desired centre of pressure keeps from the edges of the soles.",
        unit="m",
        lower=0.0,
        upper=0.2,
        runtime=True,
    )
    com_weight: float = parameter(
        30.0,
        "Weight of the squared error of the horizontal acceleration of the centre of mass, in the "
        "quadratic program.",
        lower=1e-6,
        upper=1e6,
        runtime=True,
    )


@dataclass(frozen=True)
class ReferenceConfig:
    """How fast references may move: a jump becomes a smooth motion."""

    height_rate: float = parameter(
        0.3, "Largest rate of the smoothed reference of the base height.", unit="m/s", lower=1e-3, upper=10.0
    )
    height_acceleration: float = parameter(
        1.0,
        "Largest acceleration of the smoothed reference of the base height.",
        unit="m/s^2",
        lower=1e-3,
        upper=100.0,
    )
    angle_rate: float = parameter(
        1.0,
        "Largest rate of the smoothed references of the base's roll and pitch.",
        unit="rad/s",
        lower=1e-3,
        upper=10.0,
    )
    angle_acceleration: float = parameter(
        3.0,
        "Largest acceleration of the smoothed references of the base's roll and pitch.",
        unit="rad/s^2",
        lower=1e-3,
        upper=100.0,
    )
    joint_rate: float = parameter(
        2.5, "Largest rate of the smoothed references of the joints.", unit="rad/s", lower=1e-3, upper=100.0
    )
    joint_acceleration: float = parameter(
        10.0,
        "Largest acceleration of the smoothed references of the joints.",
        unit="rad/s^2",
        lower=1e-3,
        upper=1000.0,
    )
    angle_limit: float = parameter(
        0.8,
        "Largest roll and pitch of a base reference; one beyond it is refused.",
        unit="rad",
        lower=0.0,
        upper=1.5,
    )
    height_range: tuple[float, ...] = parameter(
        (0.3, 1.3),
        "Smallest and largest height of a base reference, as shares of the height in the home posture; one "
        "outside is refused.",
        lower=0.0,
        upper=10.0,
    )


@dataclass(frozen=True)
class InertiaIntakeConfig:
    """Which link inertias are taken from outside."""

    links: tuple[str, ...] = parameter(
        (),
        "Links whose estimated inertia the controller receives; empty uses the URDF's inertias throughout.",
    )
    timeout: float = parameter(
        0.5,
        "Age, relative to the joint states, beyond which received inertias count as stopped; the last ones "
        "stay in use.",
        unit="s",
        lower=0.01,
        upper=1e6,
        runtime=True,
    )
    max_age: float = parameter(
        0.0,
        "A joint state is answered only after inertias no older than this have arrived, or have stopped; 0 "
        "answers at once. In lockstep, half the filter's window plus half a tick makes the order "
        "identical in every run.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    applied: bool = parameter(
        True,
        "Whether the controller computes with the received inertias; if not, it receives and awaits them and "
        "keeps the URDF's, for comparison.",
    )
    plausible: InertiaLimitsConfig = section(InertiaLimitsConfig)


@dataclass(frozen=True)
class SolverConfig:
    """The quadratic program's solver."""

    tolerance: float = parameter(
        1e-4,
        "Tolerance on the residual of the optimality conditions at which the quadratic program counts as "
        "solved.",
        lower=1e-10,
        upper=1e-1,
    )
    max_iterations: int = parameter(
        10,
        "Number of outer iterations after which the quadratic program's solver gives up; with "
        "solver.max_inner_iterations it bounds the time of a step.",
        lower=1,
        upper=10000,
    )
    max_inner_iterations: int = parameter(
        6,
        "Largest number of Newton iterations in one outer iteration of the quadratic program's solver.",
        lower=1,
        upper=10000,
    )


@dataclass(frozen=True)
class ControllerConfig:
    """Everything the controller is built from."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    stance: StanceConfig = section(StanceConfig)
    rate: float = parameter(
        333.0,
        "Highest rate of torque commands; joint states that arrive faster are skipped.",
        unit="Hz",
        lower=1.0,
        upper=1e4,
    )
    torque_scale: float = parameter(
        1.0,
        "Factor on the URDF's effort limits that gives the torque limits of the controller.",
        lower=0.01,
        upper=10.0,
    )
    armature: float = parameter(
        0.0,
        "Rotor inertia, reflected to the joint side, that the controller assumes at every joint.",
        unit="kg m^2",
        lower=0.0,
        upper=100.0,
    )
    fallback_damping: float = parameter(
        5.0,
        "Joint damping d of the command tau = -d v that is sent while the robot's state cannot be used or "
        "the quadratic program has no solution; smaller where a joint's inertia is too little for it.",
        unit="Nms/rad",
        lower=0.0,
        upper=1e3,
        runtime=True,
    )
    base_height: TaskConfig = section(TaskConfig)
    base_orientation: TaskConfig = section(TaskConfig)
    posture: PostureConfig = section(PostureConfig)
    foot: FootMotionConfig = section(FootMotionConfig)
    contact: ContactTaskConfig = section(ContactTaskConfig)
    balance: BalanceConfig = section(BalanceConfig)
    references: ReferenceConfig = section(ReferenceConfig)
    walking: WalkingConfig = section(WalkingConfig)
    crawl: CrawlConfig = section(CrawlConfig)
    inertias: InertiaIntakeConfig = section(InertiaIntakeConfig)
    adaptation: AdaptationConfig = section(AdaptationConfig)
    limits: StateLimitsConfig = section(StateLimitsConfig)
    recovery: RecoveryConfig = section(RecoveryConfig)
    solver: SolverConfig = section(SolverConfig)
