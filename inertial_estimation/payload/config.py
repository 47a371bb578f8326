"""Parameters of the identification of the trunk, declared once.

Limits that depend on the robot's size follow from its weight: see `statics` and `load_change`; the limits of
rest are in `rest`.
"""

from dataclasses import dataclass
from typing import ClassVar

from inertial_estimation.inputs.config import OF_IMU, RobotGeometryConfig
from inertial_estimation.parameters import numeric, parameter, section

METHODS = ("static_poses", "orientation_error", "contact_forces")


@dataclass(frozen=True)
class TrunkPayloadConfig:
    """Parameters of the identification of the trunk."""

    # highest rate of the steps; joint states that arrive faster are averaged [Hz]
    rate: ClassVar[float] = 333.0

    robot: RobotGeometryConfig = section(RobotGeometryConfig, prefix="", without=("floating_base", *OF_IMU))
    trunk: str = parameter(
        "", "Link of the trunk whose mass and centre of mass are identified; empty takes the base link."
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
    load_change: float = numeric(
        *(0.025, 1e-3, 10.0, "1"),
        "Change of the trunk's mass, measured at rest, from which it is reported as a load change, as a "
        "share of the robot's mass; twice as much in motion. A shift of the trunk's centre of mass across "
        "gravity is reported from this share of 1.2 m.",
        runtime=True,
    )
