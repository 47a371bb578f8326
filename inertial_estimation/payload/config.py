"""Parameters of the identification of the trunk, declared once.

What depends on the robot's size follows from its weight: see `statics` and `load_change`.
"""

from dataclasses import dataclass
from typing import Any

from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import parameter, section

METHODS = ("static_poses", "orientation_error", "contact_forces")


def _number(default: float, lower: float, upper: float, text: str, unit: str, *, runtime: bool = True) -> Any:
    return parameter(default, text, unit=unit, lower=lower, upper=upper, runtime=runtime)


@dataclass(frozen=True)
class RestConfig:
    """When the robot counts as at rest: velocities and accelerations near zero, for a while."""

    joint_speed: float = _number(
        *(0.05, 1e-4, 10.0), "Largest speed of any joint at which the robot counts as at rest.", "rad/s"
    )
    base_speed: float = _number(
        *(0.02, 1e-4, 10.0), "Largest linear speed of the base at which the robot counts as at rest.", "m/s"
    )
    angular_rate: float = _number(
        *(0.03, 1e-4, 10.0), "Largest angular rate of the base at which the robot counts as at rest.", "rad/s"
    )
    acceleration: float = _number(
        *(0.2, 1e-3, 10.0),
        "Largest linear acceleration of the base at which the robot counts as at rest.",
        "m/s^2",
    )
    timeout: float = _number(
        *(10.0, 0.1, 3600.0),
        "Time after which an identification that waits for rest or for an input is abandoned.",
        "s",
    )


@dataclass(frozen=True)
class LoadChangeConfig:
    """When a difference between what is measured at rest and what is in force is a new load."""

    share: float = _number(
        *(0.025, 1e-3, 10.0),
        "Change of the trunk's mass, measured at rest, from which it is reported as a load change, as a "
        "share of the robot's mass; twice as much in motion.",
        "1",
    )
    com: float = _number(
        *(0.03, 1e-3, 10.0),
        "Shift of the trunk's centre of mass across gravity, measured at rest, from which it is reported "
        "as a load change.",
        "m",
    )


@dataclass(frozen=True)
class ContactForcesConfig:
    """Recursion on contact forces (T 18-19)."""

    settling_time: float = _number(
        *(1.0, 0.01, 100.0),
        "Time in which the recursion on contact forces removes 95 % of an error of the centre of mass.",
        "s",
    )
    kept: str = parameter(
        "height",
        "Component of the initial centre of mass that is kept on a tilted trunk, since contact forces do "
        "not determine it: the z coordinate in the base frame (height), or the component along gravity as "
        "in the paper (gravity).",
        choices=("height", "gravity"),
    )


@dataclass(frozen=True)
class OrientationErrorConfig:
    """Recursion on the orientation error under a posture controller (T 12-15)."""

    settling_time: float = _number(
        *(4.0, 0.01, 100.0),
        "Time in which the recursion on the orientation error removes 95 % of an error of the centre of "
        "mass.",
        "s",
    )
    find_z: bool = parameter(
        True, "Whether the z coordinate of the centre of mass is identified as well, by pitching the base."
    )


@dataclass(frozen=True)
class TrunkPayloadConfig:
    """Everything the identification of the trunk is built from."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    trunk: str = parameter(
        "", "Link of the trunk whose mass and centre of mass are identified; empty takes the base link."
    )
    rate: float = _number(
        *(250.0, 1.0, 2000.0),
        "Highest rate of the steps; joint states that arrive faster are averaged.",
        "Hz",
        runtime=False,
    )
    ground_forces: str = parameter(
        "estimated",
        "Source of the ground reaction forces: estimated from joint torques, or measured by the contacts' "
        "wrenches.",
        choices=("estimated", "measured"),
    )
    method: str = parameter(
        "contact_forces",
        "Method that identifies the centre of mass of the trunk.",
        choices=METHODS,
        runtime=True,
    )
    start: str = parameter(
        "on_change",
        "What starts an identification: a load change or a request (on_change), or a request alone "
        "(on_request).",
        choices=("on_change", "on_request"),
        runtime=True,
    )
    tilt: float = _number(
        *(0.15, 0.01, 0.6),
        "Roll and pitch of the base that static_poses and orientation_error request to find the height.",
        "rad",
    )
    mass_duration: float = _number(
        *(0.5, 0.01, 60.0), "Duration of rest over which the mass is averaged.", "s"
    )
    rest: RestConfig = section(RestConfig)
    load_change: LoadChangeConfig = section(LoadChangeConfig)
    contact_forces: ContactForcesConfig = section(ContactForcesConfig)
    orientation_error: OrientationErrorConfig = section(OrientationErrorConfig)
