"""Parameters of the identification of the trunk, declared once.

What depends on the robot's size follows from its weight: see `readings` and `load_change`; what counts as
rest is in `rest`.
"""

from dataclasses import dataclass
from typing import Any

from inertial_estimation.models.robot_config import RobotGeometryConfig
from inertial_estimation.parameters import parameter, section

METHODS = ("static_poses", "orientation_error", "contact_forces")


def _number(default: float, lower: float, upper: float, text: str, unit: str, *, runtime: bool = True) -> Any:
    return parameter(default, text, unit=unit, lower=lower, upper=upper, runtime=runtime)


@dataclass(frozen=True)
class TrunkPayloadConfig:
    """Everything the identification of the trunk is built from."""

    robot: RobotGeometryConfig = section(RobotGeometryConfig, prefix="")
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
    settling_time: float = _number(
        *(1.0, 0.01, 100.0),
        "Time in which the recursion on contact forces removes 95 % of an error of the centre of mass; that "
        "on the orientation error takes four times as long, since the base turns in between. The mass is "
        "averaged over half of it.",
        "s",
    )
    rest_timeout: float = _number(
        *(10.0, 0.1, 3600.0),
        "Time after which an identification that waits for rest or for an input is abandoned.",
        "s",
    )
    load_change: float = _number(
        *(0.025, 1e-3, 10.0),
        "Change of the trunk's mass, measured at rest, from which it is reported as a load change, as a "
        "share of the robot's mass; twice as much in motion. A shift of the trunk's centre of mass across "
        "gravity is reported from this share of 1.2 m.",
        "1",
    )
