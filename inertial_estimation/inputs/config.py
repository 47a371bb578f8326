"""Parameters of a robot and of its inputs: times, units, names, frames."""

import math
from dataclasses import dataclass
from typing import Any

from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotDescriptionConfig
from inertial_estimation.parameters import parameter, section
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
WAIT_SHARE = 0.5  # of the timeout of an input, for which a step waits for it
JUMP_NS = NANOSECONDS  # gap that discards what changes quickly; difference between two different clocks


def _number(default: float, lower: float, upper: float, text: str, unit: str = "s", **more: Any) -> Any:
    return parameter(default, text, unit=unit, lower=lower, upper=upper, **more)


@dataclass(frozen=True)
class InputConfig:
    """Times of the readings, their alignment, and the age beyond which an input is lost."""

    imu_delay: float = _number(0.0, -0.5, 0.5, "Age of an IMU reading at its stamp; it is subtracted.")
    joint_delay: float = _number(0.0, -0.5, 0.5, "Age of a joint state at its stamp; it is subtracted.")
    wrench_delay: float = _number(0.0, -0.5, 0.5, "Age of a contact's reading at its stamp; subtracted.")
    timeout: float = _number(
        *(0.1, 0.001, 10.0),
        "Age beyond which an input is lost: no step waits for it, no older estimate is published, and no "
        "longer gap between two of its readings is interpolated over. A step waits half of it for inputs.",
    )
    stamps: str = parameter(
        "auto",
        "Times of the readings: their stamps, made even where they come in bursts (auto), always "
        "(regularise) or never (as_is); or their arrival, of drivers that set no stamps (arrival).",
        choices=("auto", "as_is", "regularise", "arrival"),
    )
    arrival: tuple[str, ...] = parameter(
        (), "Inputs (imu/data) that are taken at their arrival, since their stamps are of another clock."
    )
    joint_velocity: str = parameter(
        "auto",
        "Source of the joint velocities: measured, derived from positions, or (auto) derived where the joint "
        "state has none (none sent, NaN, or all zero while joints move).",
        choices=("auto", "measured", "derived"),
    )
    frame_ids: str = parameter(
        "use",
        "Whether a header.frame_id counts that is another frame of the robot than the parameters say, so "
        "that readings are turned from it (use), or only the parameters count (ignore).",
        choices=("use", "ignore"),
    )
    map: tuple[str, ...] = parameter(
        (), "Maps of custom messages: names in config/maps (unitree_go, unitree_g1), or YAML files."
    )


@dataclass(frozen=True)
class ImuInputConfig:
    """How the readings of the IMU are meant."""

    units: tuple[str, ...] = parameter(
        ("m/s^2", "rad/s"), "Units of specific force and angular rate, else SI.", choices=tuple(IMU_UNITS)
    )


@dataclass(frozen=True)
class JointStateConfig:
    """Where joint states come from and how they are meant."""

    topics: tuple[str, ...] = parameter(
        ("joint_states",), "Topics of joint states, each with some of the joints; they are joined by name."
    )
    units: tuple[str, ...] = parameter(
        *(("rad", "rad/s", "Nm"), "Units of positions, velocities and efforts of turning joints, else SI."),
        choices=tuple(JOINT_UNITS),
    )


@dataclass(frozen=True)
class JointNameConfig:
    """How the names of joint states differ from those of the model."""

    prefix: str = parameter("", "Prefix of the names in joint states, as 'go1/', where it is not found.")
    map: tuple[str, ...] = parameter(
        (), "Names in joint states and in the model where they differ: sent=model."
    )
    order: tuple[str, ...] = parameter((), "Names of the joints in the order of joint states without names.")


@dataclass(frozen=True)
class RobotInputConfig:
    """All parameters of the inputs of a robot."""

    inputs: InputConfig = section(InputConfig)
    imu: ImuInputConfig = section(ImuInputConfig)
    joint_states: JointStateConfig = section(JointStateConfig)
    joint_names: JointNameConfig = section(JointNameConfig)


@dataclass(frozen=True)
class RobotGeometryConfig(RobotDescriptionConfig, RobotInputConfig):
    """A robot and its inputs, but for joint friction."""


OF_IMU = "imu_frame", "imu.units", "inputs.imu_delay"  # parameters of nodes that use one
OF_EFFORTS = "drive_gains.joints", "drive_gains.values"  # of nodes that use the joints' efforts


@dataclass(frozen=True)
class RobotConfig(RobotGeometryConfig):
    """The same, with the friction of its joints and what its efforts have gone through."""

    effort_window: float = parameter(
        0.0,
        "Triangular window (a moving average of half this length, twice) with which efforts were smoothed "
        "before they were recorded; 0: they were not. `identify` and the torque error of `replay` smooth "
        "predictions alike. Only for robots without contacts.",
        unit="s",
        lower=0.0,
        upper=5.0,
    )
    nominal_friction: NominalFriction = section(NominalFriction)


def unit_factors(units: tuple[str, ...], known: dict[str, tuple[str, float]]) -> dict[str, float]:
    """Return factors to SI units by quantity, of units in `IMU_UNITS` or `JOINT_UNITS`; those named only."""
    return dict(known[unit] for unit in units)
