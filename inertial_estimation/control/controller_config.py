"""Parameters of the whole-body controller."""

from dataclasses import dataclass

from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.stance_config import StanceConfig
from inertial_estimation.parameters import parameter, section

__all__ = [
    "BalanceConfig",
    "ContactTaskConfig",
    "ControllerConfig",
    "CrawlConfig",
    "FootMotionConfig",
    "InertiaIntakeConfig",
    "PostureConfig",
    "ReferenceConfig",
    "SolverConfig",
    "TaskConfig",
    "WalkingConfig",
]


@dataclass(frozen=True)
class TaskConfig:
    """Gains of one task: a = k e + d e'."""

    stiffness: float = parameter(100.0, "k of the task.", unit="1/s^2", lower=0.0, upper=1e4, runtime=True)
    damping: float = parameter(20.0, "d of the task.", unit="1/s", lower=0.0, upper=1e3, runtime=True)
    weight: float = parameter(
        10.0, "Weight of the task's squared error.", lower=1e-6, upper=1e6, runtime=True
    )


@dataclass(frozen=True)
class FootMotionConfig(TaskConfig):
    """Gains of a foot in the air: stiffer and heavier than the rest, it has to land in time."""

    stiffness: float = parameter(300.0, "k of the task.", unit="1/s^2", lower=0.0, upper=1e4, runtime=True)
    damping: float = parameter(35.0, "d of the task.", unit="1/s", lower=0.0, upper=1e3, runtime=True)
    weight: float = parameter(
        100.0, "Weight of the task's squared error.", lower=1e-6, upper=1e6, runtime=True
    )


@dataclass(frozen=True)
class PostureConfig:
    """Gains of the joints' posture."""

    stiffness: float = parameter(
        100.0, "k of every joint not named below.", unit="1/s^2", lower=0.0, upper=1e4, runtime=True
    )
    damping_ratio: float = parameter(
        1.0, "d = 2 ratio sqrt(k), for every joint.", lower=0.05, upper=10.0, runtime=True
    )
    weight: float = parameter(
        1.0, "Weight of a joint that carries no contact.", lower=1e-6, upper=1e4, runtime=True
    )
    leg_weight: float = parameter(
        1e-4,
        "Weight of a joint between base and a contact: the base tasks and the feet determine it.",
        lower=1e-8,
        upper=1e4,
        runtime=True,
    )
    joints: tuple[str, ...] = parameter((), "Joints with a stiffness of their own, by name or shell pattern.")
    stiffnesses: tuple[float, ...] = parameter(
        (), "k of each of posture.joints.", unit="1/s^2", lower=0.0, upper=1e4, runtime=True
    )


@dataclass(frozen=True)
class ContactTaskConfig:
    """How contacts are held at rest and what they may carry."""

    damping: float = parameter(
        30.0, "d of J a = -d J v - J'v.", unit="1/s", lower=0.0, upper=1e3, runtime=True
    )
    weight: float = parameter(
        1000.0, "Weight of a contact's acceleration error.", lower=1.0, upper=1e6, runtime=True
    )
    friction: float = parameter(0.6, "Coefficient of friction.", lower=0.01, upper=5.0)
    force_weight: float = parameter(
        1e-3,
        "Weight of a force's squared distance (per 100 N, 10 Nm) from the wanted distribution.",
        lower=1e-7,
        upper=1.0,
    )
    force_limit: float = parameter(
        2.5, "Largest normal force of one contact, in weights of the robot.", lower=0.5, upper=20.0
    )


@dataclass(frozen=True)
class BalanceConfig:
    """Feedback of the divergent component of motion through the contact forces."""

    gain: float = parameter(
        4.0, "Rate at which an error of the DCM decays.", unit="1/s", lower=0.1, upper=50.0, runtime=True
    )
    integral: float = parameter(
        1.0, "Gain of the integral of the error.", unit="1/s^2", lower=0.0, upper=50.0, runtime=True
    )
    integral_limit: float = parameter(
        0.04, "Farthest the integral moves the centre of pressure.", unit="m", lower=0.0, upper=0.5
    )
    margin: float = parameter(
        0.015, "Distance kept from the edges of the soles.", unit="m", lower=0.0, upper=0.2, runtime=True
    )
    com_weight: float = parameter(30.0, "Weight of the centre of mass.", lower=1e-6, upper=1e6, runtime=True)


@dataclass(frozen=True)
class ReferenceConfig:
    """How fast references may move: a jump becomes a smooth motion."""

    height_rate: float = parameter(0.3, "Rate of the height.", unit="m/s", lower=1e-3, upper=10.0)
    height_acceleration: float = parameter(1.0, "Its acceleration.", unit="m/s^2", lower=1e-3, upper=100.0)
    angle_rate: float = parameter(1.0, "Rate of roll and pitch.", unit="rad/s", lower=1e-3, upper=10.0)
    angle_acceleration: float = parameter(3.0, "Their acceleration.", unit="rad/s^2", lower=1e-3, upper=100.0)
    joint_rate: float = parameter(2.5, "Rate of the joints.", unit="rad/s", lower=1e-3, upper=100.0)
    joint_acceleration: float = parameter(
        10.0, "Their acceleration.", unit="rad/s^2", lower=1e-3, upper=1000.0
    )


@dataclass(frozen=True)
class InertiaIntakeConfig:
    """Which link inertias are taken from outside."""

    links: tuple[str, ...] = parameter((), "Links whose inertia is expected; empty: none is taken.")
    timeout: float = parameter(
        0.5,
        "Inertias older than this against the joint states count as stopped; the last ones are kept.",
        unit="s",
        lower=0.01,
        upper=1e6,
        runtime=True,
    )
    max_age: float = parameter(
        0.0,
        "A joint state is answered once inertias no older than this have come, or they have stopped; 0: at "
        "once. In lockstep, half the filter's window and half a tick make the order the same at every run.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )


@dataclass(frozen=True)
class SolverConfig:
    """The quadratic program's solver."""

    tolerance: float = parameter(1e-4, "Residual of the optimality conditions.", lower=1e-10, upper=1e-1)
    max_iterations: int = parameter(100, "Iterations after which it gives up.", lower=1, upper=10000)


@dataclass(frozen=True)
class WalkingConfig:
    """Steps and their timing."""

    swing_duration: float = parameter(
        0.7, "Time a foot is in the air.", unit="s", lower=0.1, upper=5.0, runtime=True
    )
    transfer_duration: float = parameter(
        0.4, "Time both feet carry the weight.", unit="s", lower=0.02, upper=5.0, runtime=True
    )
    start_duration: float = parameter(
        1.0, "Time of the first transfer of the weight.", unit="s", lower=0.05, upper=5.0, runtime=True
    )
    swing_height: float = parameter(
        0.05, "Height a foot is lifted.", unit="m", lower=0.005, upper=0.5, runtime=True
    )
    touchdown_speed: float = parameter(
        0.05, "Downward speed at the end of the swing.", unit="m/s", lower=0.0, upper=1.0, runtime=True
    )
    early_touchdown: float = parameter(
        0.6,
        "Share of the swing from which a force at the foot ends it.",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    late_touchdown: float = parameter(
        0.15,
        "How long a foot goes on down for ground that is late.",
        unit="s",
        lower=0.0,
        upper=2.0,
        runtime=True,
    )
    touchdown_force: float = parameter(
        30.0, "Normal force that tells the ground.", unit="N", lower=1.0, upper=1e4, runtime=True
    )
    step_adjustment: float = parameter(
        0.15,
        "Farthest a landing is moved against a push that the sole cannot correct; 0: never.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    least_width: float = parameter(
        0.14,
        "Distance an adjusted step keeps between the feet.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    load_ramp: float = parameter(
        0.3,
        "Share of a transfer over which a landed foot takes its weight, a leaving one gives it up.",
        lower=0.01,
        upper=1.0,
        runtime=True,
    )
    longest_step: float = parameter(
        0.4, "A command of longer steps is refused.", unit="m", lower=0.0, upper=2.0, runtime=True
    )
    width: float = parameter(
        0.0,
        "Distance between the feet while walking; 0: as they stand at the start.",
        unit="m",
        lower=0.0,
        upper=2.0,
    )
    follow_slope: float = parameter(
        0.0,
        "Robots on points: how far the base leans with the plane through the feet; 0: level, 1: along it.",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )


@dataclass(frozen=True)
class CrawlConfig:
    """How a robot on four or more points walks: one foot at a time, at rest in between."""

    sequence: tuple[str, ...] = parameter(
        (), "Contacts in the order they step; empty: left side rear to front, then right side."
    )
    margin: float = parameter(
        0.05,
        "Distance of the centre of mass from the edges of the polygon of the feet that stand.",
        unit="m",
        lower=0.0,
        upper=0.5,
        runtime=True,
    )
    swing_duration: float = parameter(
        0.4, "Time a foot is in the air.", unit="s", lower=0.1, upper=5.0, runtime=True
    )
    dwell: float = parameter(
        0.25,
        "Time of rest on all feet between the motion of the body and the swing.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    acceleration: float = parameter(
        1.0,
        "Largest acceleration of the centre of mass on its way over the coming polygon.",
        unit="m/s^2",
        lower=0.01,
        upper=10.0,
        runtime=True,
    )
    least_transfer: float = parameter(
        0.2, "Shortest motion of the body.", unit="s", lower=0.02, upper=5.0, runtime=True
    )
    catch: float = parameter(
        0.025,
        "Error of the DCM at which a foot in the air is put down at once, and none leaves; 0: never.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    load_duration: float = parameter(
        0.12,
        "Time in which a landed foot takes its load, and one about to leave gives it up.",
        unit="s",
        lower=0.01,
        upper=2.0,
        runtime=True,
    )


@dataclass(frozen=True)
class ControllerConfig:
    """Everything the controller is built from."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    stance: StanceConfig = section(StanceConfig)
    rate: float = parameter(
        333.0,
        "Highest rate of commands; joint states in between are passed over.",
        unit="Hz",
        lower=1.0,
        upper=1e4,
    )
    torque_scale: float = parameter(
        1.0, "Torque limits, as a fraction of the URDF's effort limits.", lower=0.01, upper=10.0
    )
    armature: float = parameter(
        0.0, "Rotor inertia seen at every joint.", unit="kg m^2", lower=0.0, upper=100.0
    )
    fallback_damping: float = parameter(
        5.0,
        "Joint damping while there is no solution: tau = -d v.",
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
    solver: SolverConfig = section(SolverConfig)
