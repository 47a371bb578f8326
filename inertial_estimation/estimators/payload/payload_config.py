"""Parameters of the trunk's identification, declared once."""

from dataclasses import dataclass

from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import parameter, section

METHODS = ("static_poses", "orientation_error", "contact_forces")


@dataclass(frozen=True)
class RestConfig:
    """When the robot counts as at rest: velocities and accelerations near zero, for a while."""

    joint_speed: float = parameter(
        0.05,
        "Largest speed of any joint at which the robot counts as at rest.",
        unit="rad/s",
        lower=1e-4,
        upper=10.0,
        runtime=True,
    )
    base_speed: float = parameter(
        0.02,
        "Largest linear speed of the base at which the robot counts as at rest.",
        unit="m/s",
        lower=1e-4,
        upper=10.0,
        runtime=True,
    )
    angular_rate: float = parameter(
        0.03,
        "Largest angular rate of the base at which the robot counts as at rest.",
        unit="rad/s",
        lower=1e-4,
        upper=10.0,
        runtime=True,
    )
    acceleration: float = parameter(
        0.1,
        "Largest linear acceleration of the base at which the robot counts as at rest.",
        unit="m/s^2",
        lower=1e-3,
        upper=10.0,
        runtime=True,
    )
    window: float = parameter(
        0.05,
        "Length of the window over which speeds and forces are averaged before they are compared with the "
        "limits of rest.",
        unit="s",
        lower=0.001,
        upper=2.0,
    )
    duration: float = parameter(
        0.1,
        "Time for which all limits of rest must hold before the robot counts as at rest.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    timeout: float = parameter(
        10.0,
        "Time after which an identification that waits for the robot to come to rest is abandoned.",
        unit="s",
        lower=0.1,
        upper=3600.0,
        runtime=True,
    )


@dataclass(frozen=True)
class LoadChangeConfig:
    """When a difference between what is measured at rest and what is in force is a new load."""

    mass: float = parameter(
        2.0,
        "Change of the trunk's mass, measured at rest, from which it is reported as a load change.",
        unit="kg",
        lower=0.01,
        upper=1e3,
        runtime=True,
    )
    com: float = parameter(
        0.03,
        "Shift of the trunk's centre of mass across gravity, measured at rest, from which it is reported "
        "as a load change.",
        unit="m",
        lower=1e-3,
        upper=10.0,
        runtime=True,
    )
    duration: float = parameter(
        0.1,
        "Time at rest for which a difference must persist before it is reported as a load change.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    moving_mass: float = parameter(
        4.0,
        "Change of the mass, measured in motion (less accurate than at rest), from which it is reported as "
        "a load change; 1000 disables detection in motion.",
        unit="kg",
        lower=0.01,
        upper=1e3,
        runtime=True,
    )
    moving_duration: float = parameter(
        0.15,
        "Time in motion for which a difference must persist before it is reported as a load change.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )


@dataclass(frozen=True)
class ContactForcesConfig:
    """Recursion on contact forces (T 18-19)."""

    settling_time: float = parameter(
        1.0,
        "Time in which the recursion on contact forces removes 95 % of an error of the centre of mass.",
        unit="s",
        lower=0.01,
        upper=100.0,
        runtime=True,
    )
    tolerance: float = parameter(
        5e-4,
        "Distance between the recursion's and the measured centre of mass, across gravity, at which the "
        "recursion has converged.",
        unit="m",
        lower=1e-6,
        upper=0.1,
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

    settling_time: float = parameter(
        4.0,
        "Time in which the recursion on the orientation error removes 95 % of an error of the centre of "
        "mass.",
        unit="s",
        lower=0.01,
        upper=100.0,
        runtime=True,
    )
    tolerance: float = parameter(
        5e-4,
        "Distance to the measured x and y of the centre of mass at which these coordinates have converged.",
        unit="m",
        lower=1e-6,
        upper=0.1,
    )
    tolerance_z: float = parameter(
        2e-3,
        "Distance to the measured z of the centre of mass at which this coordinate has converged.",
        unit="m",
        lower=1e-6,
        upper=0.1,
    )
    find_z: bool = parameter(
        True, "Whether the z coordinate of the centre of mass is identified as well, by pitching the base."
    )
    tilt: float = parameter(
        0.15,
        "Pitch of the base, forward and backward, at which the z coordinate of the centre of mass is "
        "identified.",
        unit="rad",
        lower=0.01,
        upper=0.6,
        runtime=True,
    )
    probe: float = parameter(
        0.02,
        "Known shift of the centre of mass sent to the controller to measure how far the trunk rotates in "
        "response.",
        unit="m",
        lower=1e-3,
        upper=0.2,
        runtime=True,
    )
    stiffness_roll: float = parameter(
        0.0,
        "Torsional stiffness of the posture controller in roll; 0 has it measured by the probe.",
        unit="Nm/rad",
        lower=0.0,
        upper=1e7,
    )
    stiffness_pitch: float = parameter(
        0.0,
        "Torsional stiffness of the posture controller in pitch; 0 has it measured by the probe.",
        unit="Nm/rad",
        lower=0.0,
        upper=1e7,
    )
    least_response: float = parameter(
        0.1,
        "Smallest rotation of the trunk per shift of its centre of mass; the method refuses a controller "
        "that responds less.",
        unit="rad/m",
        lower=1e-4,
        upper=100.0,
    )
    dwell: float = parameter(
        0.5,
        "Time for which the trunk may move after a change before its tilt is measured.",
        unit="s",
        lower=0.0,
        upper=60.0,
    )
    window: float = parameter(
        0.3,
        "Length of the window over which the tilt is averaged; two consecutive windows must agree.",
        unit="s",
        lower=0.01,
        upper=10.0,
    )
    steady: float = parameter(
        5e-4,
        "Largest difference of the tilt between two consecutive windows at which the trunk counts as "
        "settled.",
        unit="rad",
        lower=1e-6,
        upper=0.1,
    )


@dataclass(frozen=True)
class StaticPosesConfig:
    """Least squares over static poses (T 11)."""

    tilt: float = parameter(
        0.15,
        "Roll and pitch angle of the requested static poses.",
        unit="rad",
        lower=0.01,
        upper=0.6,
        runtime=True,
    )
    duration: float = parameter(
        0.5,
        "Time over which the measurement of one static pose is averaged.",
        unit="s",
        lower=0.01,
        upper=60.0,
        runtime=True,
    )
    patience: float = parameter(
        10.0,
        "Time at rest after which a pose that the robot does not take is skipped and the next one is "
        "requested.",
        unit="s",
        lower=0.1,
        upper=3600.0,
        runtime=True,
    )


@dataclass(frozen=True)
class TrunkPayloadConfig:
    """Everything the identification of the trunk is built from."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    trunk: str = parameter(
        "", "Link of the trunk whose mass and centre of mass are identified; empty takes the base link."
    )
    rate: float = parameter(
        250.0,
        "Highest rate of the steps; joint states that arrive faster are skipped.",
        unit="Hz",
        lower=1.0,
        upper=2000.0,
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
    foot_force: float = parameter(
        30.0,
        "Vertical force above which a foot counts as supporting the robot.",
        unit="N",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )
    largest_pull: float = parameter(
        10.0,
        "Largest downward force of the ground on a foot that is tolerated; more indicates a sign error, "
        "and nothing is measured.",
        unit="N",
        lower=0.1,
        upper=1e4,
        runtime=True,
    )
    largest_tilt: float = parameter(
        0.7,
        "Tilt of the base beyond which the robot counts as fallen and nothing is measured.",
        unit="rad",
        lower=0.05,
        upper=3.2,
        runtime=True,
    )
    mass_duration: float = parameter(
        0.5,
        "Duration of rest over which the mass is averaged.",
        unit="s",
        lower=0.01,
        upper=60.0,
        runtime=True,
    )
    timeout: float = parameter(
        60.0,
        "Time after which the identification of a centre of mass that has not converged is abandoned.",
        unit="s",
        lower=0.1,
        upper=3600.0,
        runtime=True,
    )
    load_height: float = parameter(
        0.0,
        "Standard deviation of the height of an unknown load over the centre of mass of the nominal trunk, "
        "where no method measures it (contact_forces): on a tilted base it adds to the standard deviation of "
        "the horizontal centre of mass. 0 takes the radius of gyration of the nominal trunk.",
        unit="m",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    hand_over_rate: float = parameter(
        30.0,
        "Largest rate of change of the published mass; larger hands a new load to the controller faster.",
        unit="kg/s",
        lower=0.001,
        upper=1e6,
        runtime=True,
    )
    rest: RestConfig = section(RestConfig)
    load_change: LoadChangeConfig = section(LoadChangeConfig)
    contact_forces: ContactForcesConfig = section(ContactForcesConfig)
    orientation_error: OrientationErrorConfig = section(OrientationErrorConfig)
    static_poses: StaticPosesConfig = section(StaticPosesConfig)
