"""Parameters of a robot and of its inputs: timing, units, names, frames."""

import math
from dataclasses import dataclass

from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotDescriptionConfig
from inertial_estimation.parameters import numeric, parameter, section
from inertial_estimation.signals import NANOSECONDS

UNITS = {  # SI values by quantity and unit
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "length": {"m": 1.0, "mm": 1e-3, "cm": 1e-2},
    "speed": {"m/s": 1.0, "mm/s": 1e-3},
    "angle": {"rad": 1.0, "deg": math.radians(1.0), "rev": math.tau},
    "rate": {"rad/s": 1.0, "deg/s": math.radians(1.0), "rpm": math.tau / 60.0},
    "acceleration": {"m/s^2": 1.0, "g": STANDARD_GRAVITY, "mg": 1e-3 * STANDARD_GRAVITY},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "torque": {"Nm": 1.0, "mNm": 1e-3, "Ncm": 0.01, "kgcm": 0.01 * STANDARD_GRAVITY, "Nmm": 1e-3, "kNm": 1e3},
}
DEGREE = UNITS["angle"]["deg"]  # [rad]
IMU_UNITS = {unit: ("force", value) for unit, value in UNITS["acceleration"].items()}
IMU_UNITS |= {unit: ("rate", UNITS["rate"][unit]) for unit in ("rad/s", "deg/s")}
JOINT_UNITS = {unit: ("position", value) for unit, value in UNITS["angle"].items()}
JOINT_UNITS |= {unit: ("velocity", value) for unit, value in UNITS["rate"].items()}
JOINT_UNITS |= {unit: ("effort", UNITS["torque"][unit]) for unit in ("Nm", "mNm", "Ncm", "kgcm")}
WAIT_SHARE = 0.5  # share of the timeout for which a step waits for an input
JUMP_NS = NANOSECONDS  # gap after which fast states are invalid; least difference of two distinct clocks


@dataclass(frozen=True)
class InputConfig:
    """Times of the readings, their alignment, and the age from which an input counts as lost."""

    imu_delay: float = numeric(0.0, -0.5, 0.5, "s", "Delay of the stamps of the IMU; it is subtracted.")
    joint_delay: float = numeric(
        0.0, -0.5, 0.5, "s", "Delay of the stamps of joint states; it is subtracted."
    )
    wrench_delay: float = numeric(0.0, -0.5, 0.5, "s", "Delay of the stamps of contact sensors; subtracted.")
    timeout: float = numeric(
        *(0.1, 0.001, 10.0, "s"),
        "Age beyond which an input is lost: steps no longer wait for it, older estimates are not published, "
        "and longer gaps between readings are not interpolated. A step waits for inputs for half of it.",
    )
    stamps: str = parameter(
        "auto",
        "Times of the readings: their stamps, spaced evenly if they come in bursts (auto), always "
        "(regularise) or never (as_is); or their arrival, for drivers that set no stamps (arrival).",
        choices=("auto", "as_is", "regularise", "arrival"),
    )
    arrival: tuple[str, ...] = parameter(
        (), "Inputs (imu/data) whose arrival is used as their time, since their stamps are on another clock."
    )
    joint_velocity: str = parameter(
        "auto",
        "Source of the joint velocities: measured, derived from positions, or (auto) derived if the joint "
        "states have none (not sent, NaN, or all zero while joints move).",
        choices=("auto", "measured", "derived"),
    )
    frame_ids: str = parameter(
        "use",
        "If header.frame_id is a frame of the robot other than that of the parameters, readings are rotated "
        "from it (use), or it is ignored (ignore).",
        choices=("use", "ignore"),
    )
    map: tuple[str, ...] = parameter(
        (), "Maps of custom messages: names in config/maps (unitree_go, unitree_g1), or YAML files."
    )


@dataclass(frozen=True)
class ImuInputConfig:
    """Units of the IMU."""

    units: tuple[str, ...] = parameter(
        ("m/s^2", "rad/s"), "Units of specific force and angular rate.", choices=tuple(IMU_UNITS)
    )


@dataclass(frozen=True)
class JointStateConfig:
    """Topics and units of joint states."""

    topics: tuple[str, ...] = parameter(
        ("joint_states",), "Topics of joint states; joints that are spread over several are joined by name."
    )
    units: tuple[str, ...] = parameter(
        *(("rad", "rad/s", "Nm"), "Units of positions, velocities and efforts of revolute joints."),
        choices=tuple(JOINT_UNITS),
    )


@dataclass(frozen=True)
class JointNameConfig:
    """How joint names in messages differ from those of the model."""

    prefix: str = parameter("", "Prefix of joint names in messages ('go1/'), if it is not recognised.")
    map: tuple[str, ...] = parameter(
        (), "Joint names in messages and in the model where they differ: message=model."
    )
    order: tuple[str, ...] = parameter((), "Joint names in the order of messages without names.")


@dataclass(frozen=True)
class RobotInputConfig:
    """All parameters of the inputs of a robot."""

    inputs: InputConfig = section(InputConfig)
    imu: ImuInputConfig = section(ImuInputConfig)
    joint_states: JointStateConfig = section(JointStateConfig)
    joint_names: JointNameConfig = section(JointNameConfig)


@dataclass(frozen=True)
class RobotGeometryConfig(RobotDescriptionConfig, RobotInputConfig):
    """A robot and its inputs, without joint friction."""


OF_IMU = "imu_frame", "imu.units", "inputs.imu_delay"  # parameters that only nodes with an IMU have
OF_EFFORTS = "drive_gains.joints", "drive_gains.values"  # that only nodes which use efforts have


@dataclass(frozen=True)
class RobotConfig(RobotGeometryConfig):
    """A robot and its inputs, with joint friction and the smoothing of its efforts."""

    effort_window: float = numeric(
        *(0.0, 0.0, 5.0, "s"),
        "Length of the triangular window (a moving average of half this length, applied twice) with which "
        "efforts were smoothed before they were recorded; 0: not smoothed. `identify` and the torque error "
        "of `replay` smooth their predictions alike. Only for robots without contacts.",
    )
    nominal_friction: NominalFriction = section(NominalFriction)


def unit_factors(units: tuple[str, ...], known: dict[str, tuple[str, float]]) -> dict[str, float]:
    """Return the factors to SI units of the given units (of `IMU_UNITS` or `JOINT_UNITS`), by quantity."""
    return dict(known[unit] for unit in units)
