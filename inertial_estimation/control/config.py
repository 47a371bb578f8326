"""Parameters of the whole-body controller."""

from dataclasses import dataclass
from typing import Any

from inertial_estimation.inputs.config import OF_EFFORTS, OF_IMU, RobotGeometryConfig
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_config import StanceConfig
from inertial_estimation.parameters import numeric, parameter, section


@dataclass(frozen=True)
class ControlledRobotConfig(RobotGeometryConfig):
    """The robot with its inputs and its nominal friction, of which the controller uses the rotor inertia."""

    nominal_friction: NominalFriction = section(NominalFriction, without=("smoothing_speed", "presliding"))


def _gain(default: float, lower: float, upper: float, unit: str, text: str) -> Any:
    """Return a number that may change while the controller runs."""
    return numeric(default, lower, upper, unit, text, runtime=True)


def _stiffness(text: str) -> Any:
    return _gain(100.0, 0.0, 1e4, "1/s^2", text)


@dataclass(frozen=True)
class TaskConfig:
    """Gain of one task: a = k e + d e', critically damped."""

    stiffness: float = _stiffness(
        "Stiffness k of the task, which demands the acceleration k e + 2 sqrt(k) e' for a position error e; "
        "larger corrects errors faster."
    )


@dataclass(frozen=True)
class PostureConfig:
    """Gains of the joints' posture."""

    stiffness: float = _stiffness(
        "Stiffness k of the posture task for every joint that posture.joints does not name."
    )
    joints: tuple[str, ...] = parameter(
        (), "Joints with an individual posture stiffness, by name or shell pattern."
    )
    stiffnesses: tuple[float, ...] = numeric(
        *((), 0.0, 1e4, "1/s^2"),
        "Posture stiffness k of each entry of posture.joints, in the same order.",
        runtime=True,
    )


@dataclass(frozen=True)
class ContactTaskConfig:
    """Limits of the contact forces."""

    friction: float = numeric(
        *(0.6, 0.01, 5.0, ""),
        "Coefficient of friction that the controller assumes; larger lets it demand larger tangential "
        "contact forces.",
    )


@dataclass(frozen=True)
class BalanceConfig:
    """Feedback of the divergent component of motion through the contact forces."""

    gain: float = _gain(
        *(4.0, 0.1, 50.0, "1/s"),
        "Rate at which the feedback makes an error of the divergent component of motion (DCM) decay.",
    )


@dataclass(frozen=True)
class WalkingConfig:
    """Steps and their timing."""

    swing_duration: float = _gain(0.7, 0.1, 5.0, "s", "Time that a foot spends in the air in one step.")
    transfer_duration: float = _gain(
        *(0.4, 0.02, 5.0, "s"),
        "Duration of double support: time in which the weight shifts from one foot to the other between two "
        "steps.",
    )
    swing_height: float = _gain(
        *(0.05, 0.005, 0.5, "m"), "Height by which a swing foot is lifted above the ground."
    )
    touchdown_speed: float = _gain(
        *(0.05, 0.0, 1.0, "m/s"), "Downward speed of a swing foot at the end of the swing."
    )


@dataclass(frozen=True)
class CrawlConfig:
    """Gait of a robot on four or more point feet: one foot swings at a time, the body rests in between."""

    margin: float = _gain(
        *(0.05, 0.005, 0.5, "m"),
        "Smallest distance of the centre of mass from the edges of the polygon of the supporting feet.",
    )
    swing_duration: float = _gain(
        *(0.4, 0.1, 5.0, "s"), "Time that a foot of a crawling robot spends in the air in one step."
    )
    dwell: float = _gain(
        *(0.4, 0.0, 10.0, "s"),
        "Time for which the robot rests on all feet between moving its body and swinging a foot; "
        "trunk_payload detects loads then.",
    )
    acceleration: float = _gain(
        *(1.0, 0.01, 10.0, "m/s^2"),
        "Largest acceleration of the centre of mass while it moves over the next support polygon.",
    )


@dataclass(frozen=True)
class InertiaIntakeConfig:
    """Links whose inertias the controller receives, and their use."""

    links: tuple[str, ...] = parameter(
        (),
        "Links whose estimated inertia the controller receives; empty uses the URDF's inertias throughout.",
    )
    max_age: float = _gain(
        *(0.0, 0.0, 10.0, "s"),
        "A joint state is answered once inertias no older than this have arrived, or no longer arrive; 0 "
        "answers at once. In lockstep, half the filter's window plus half a tick makes every run identical.",
    )
    applied: bool = parameter(
        True,
        "Whether the controller computes with the received inertias; if not, it receives and awaits them and "
        "keeps the URDF's, for comparison.",
    )


@dataclass(frozen=True)
class ControllerConfig:
    """Everything the controller is built from."""

    robot: ControlledRobotConfig = section(ControlledRobotConfig, prefix="", without=(*OF_IMU, *OF_EFFORTS))
    stance: StanceConfig = section(StanceConfig)
    rate: float = numeric(
        333.0, 1.0, 1e4, "Hz", "Highest rate of torque commands; joint states that arrive faster are skipped."
    )
    torque_scale: float = numeric(
        *(1.0, 0.01, 10.0, ""),
        "Factor on the URDF's effort limits that gives the torque limits of the controller.",
    )
    base_height: TaskConfig = section(TaskConfig)
    base_orientation: TaskConfig = section(TaskConfig)
    posture: PostureConfig = section(PostureConfig)
    contact: ContactTaskConfig = section(ContactTaskConfig)
    balance: BalanceConfig = section(BalanceConfig)
    walking: WalkingConfig = section(WalkingConfig)
    crawl: CrawlConfig = section(CrawlConfig)
    inertias: InertiaIntakeConfig = section(InertiaIntakeConfig)
