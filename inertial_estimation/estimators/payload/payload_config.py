"""Parameters of the trunk's identification, declared once."""

from dataclasses import dataclass

from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import parameter, section

__all__ = [
    "ContactForcesConfig",
    "LoadChangeConfig",
    "OrientationErrorConfig",
    "RestConfig",
    "StaticPosesConfig",
    "TrunkPayloadConfig",
]

METHODS = ("static_poses", "orientation_error", "contact_forces")


@dataclass(frozen=True)
class RestConfig:
    """When the robot counts as at rest: velocities and accelerations near zero, for a while."""

    joint_speed: float = parameter(
        0.05, "Largest speed of any joint.", unit="rad/s", lower=1e-4, upper=10.0, runtime=True
    )
    base_speed: float = parameter(
        0.02, "Largest speed of the base.", unit="m/s", lower=1e-4, upper=10.0, runtime=True
    )
    angular_rate: float = parameter(
        0.03, "Largest angular rate of the base.", unit="rad/s", lower=1e-4, upper=10.0, runtime=True
    )
    acceleration: float = parameter(
        0.1, "Largest acceleration of the base.", unit="m/s^2", lower=1e-3, upper=10.0, runtime=True
    )
    window: float = parameter(
        0.05, "Over which speeds and forces are averaged.", unit="s", lower=0.001, upper=2.0
    )
    duration: float = parameter(0.1, "How long it must last.", unit="s", lower=0.0, upper=10.0, runtime=True)
    timeout: float = parameter(
        10.0,
        "An identification that waits longer for rest is given up.",
        unit="s",
        lower=0.1,
        upper=3600.0,
        runtime=True,
    )


@dataclass(frozen=True)
class LoadChangeConfig:
    """When a difference between what is measured at rest and what is in force is a new load."""

    mass: float = parameter(
        2.0, "Change of the mass that counts.", unit="kg", lower=0.01, upper=1e3, runtime=True
    )
    com: float = parameter(
        0.03,
        "Shift of the trunk's centre of mass across gravity that counts.",
        unit="m",
        lower=1e-3,
        upper=10.0,
        runtime=True,
    )
    duration: float = parameter(
        0.1, "How long it must be seen, at rest.", unit="s", lower=0.0, upper=10.0, runtime=True
    )
    moving_mass: float = parameter(
        4.0,
        "Change of the mass that counts in motion, where it is known less well; 1000: none does.",
        unit="kg",
        lower=0.01,
        upper=1e3,
        runtime=True,
    )
    moving_duration: float = parameter(
        0.15, "How long it must be seen, in motion.", unit="s", lower=0.0, upper=10.0, runtime=True
    )


@dataclass(frozen=True)
class ContactForcesConfig:
    """Recursion on contact forces (T 18-19)."""

    settling_time: float = parameter(
        1.0, "Time in which 95 % of an error is gone.", unit="s", lower=0.01, upper=100.0, runtime=True
    )
    tolerance: float = parameter(
        5e-4, "Distance to the measured one at which it has converged.", unit="m", lower=1e-6, upper=0.1
    )
    kept: str = parameter(
        "height",
        "What stays of the start on a tilted trunk, where no force tells: its z in the base (height), or "
        "what lies along gravity, as in the paper (gravity).",
        choices=("height", "gravity"),
    )


@dataclass(frozen=True)
class OrientationErrorConfig:
    """Recursion on the orientation error under a posture controller (T 12-15)."""

    settling_time: float = parameter(
        4.0, "Time in which 95 % of an error is gone.", unit="s", lower=0.01, upper=100.0, runtime=True
    )
    tolerance: float = parameter(
        5e-4,
        "Distance to the measured x and y at which they have converged.",
        unit="m",
        lower=1e-6,
        upper=0.1,
    )
    tolerance_z: float = parameter(
        2e-3, "Distance to the measured z at which it has converged.", unit="m", lower=1e-6, upper=0.1
    )
    find_z: bool = parameter(True, "Whether z is found too, on a tilted base.")
    tilt: float = parameter(
        0.15,
        "Pitch of the base, forward and backward, for z.",
        unit="rad",
        lower=0.01,
        upper=0.6,
        runtime=True,
    )
    probe: float = parameter(
        0.02,
        "Known shift of the centre of mass given to the controller, to see how the trunk answers.",
        unit="m",
        lower=1e-3,
        upper=0.2,
        runtime=True,
    )
    stiffness_roll: float = parameter(
        0.0,
        "Torsional stiffness of the posture controller in roll; 0: measured by the probe.",
        unit="Nm/rad",
        lower=0.0,
        upper=1e7,
    )
    stiffness_pitch: float = parameter(
        0.0,
        "Torsional stiffness of the posture controller in pitch; 0: measured by the probe.",
        unit="Nm/rad",
        lower=0.0,
        upper=1e7,
    )
    least_response: float = parameter(
        0.1,
        "Smallest turn of the trunk per shift of its centre of mass; less is not followed.",
        unit="rad/m",
        lower=1e-4,
        upper=100.0,
    )
    dwell: float = parameter(
        0.5,
        "Time the trunk is left to move after a change before its tilt is looked at.",
        unit="s",
        lower=0.0,
        upper=60.0,
    )
    window: float = parameter(
        0.3,
        "Over which the tilt is averaged; two in a row must agree.",
        unit="s",
        lower=0.01,
        upper=10.0,
    )
    steady: float = parameter(
        5e-4, "Change of the tilt between the two that counts as none.", unit="rad", lower=1e-6, upper=0.1
    )


@dataclass(frozen=True)
class StaticPosesConfig:
    """Least squares over static poses (T 11)."""

    tilt: float = parameter(
        0.15, "Roll and pitch of the poses.", unit="rad", lower=0.01, upper=0.6, runtime=True
    )
    duration: float = parameter(
        0.5, "Time over which a pose is averaged.", unit="s", lower=0.01, upper=60.0, runtime=True
    )
    patience: float = parameter(
        10.0,
        "Time at rest a pose is waited for before the next one is asked for.",
        unit="s",
        lower=0.1,
        upper=3600.0,
        runtime=True,
    )


@dataclass(frozen=True)
class TrunkPayloadConfig:
    """Everything the identification of the trunk is built from."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    trunk: str = parameter("", "Link of the trunk; empty: the base link.")
    rate: float = parameter(250.0, "Highest rate of the steps.", unit="Hz", lower=1.0, upper=2000.0)
    ground_forces: str = parameter(
        "estimated",
        "Forces of the ground: estimated from joint torques, or measured by the contacts' wrenches.",
        choices=("estimated", "measured"),
    )
    method: str = parameter(
        "contact_forces", "How the centre of mass is found.", choices=METHODS, runtime=True
    )
    start: str = parameter(
        "on_change",
        "What starts an identification: a load change or a request, or a request alone.",
        choices=("on_change", "on_request"),
        runtime=True,
    )
    foot_force: float = parameter(
        30.0,
        "Vertical force from which a foot counts as standing.",
        unit="N",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )
    largest_pull: float = parameter(
        10.0,
        "A foot the ground would pull at with more has a wrong sign; nothing is measured then.",
        unit="N",
        lower=0.1,
        upper=1e4,
        runtime=True,
    )
    largest_tilt: float = parameter(
        0.7,
        "A base tilted by more has fallen: nothing is measured.",
        unit="rad",
        lower=0.05,
        upper=3.2,
        runtime=True,
    )
    mass_duration: float = parameter(
        0.5, "Time over which the mass is averaged.", unit="s", lower=0.01, upper=60.0, runtime=True
    )
    timeout: float = parameter(
        60.0,
        "A centre of mass that has not converged after this time is given up.",
        unit="s",
        lower=0.1,
        upper=3600.0,
        runtime=True,
    )
    hand_over_rate: float = parameter(
        30.0, "Fastest change of the published mass.", unit="kg/s", lower=0.001, upper=1e6, runtime=True
    )
    rest: RestConfig = section(RestConfig)
    load_change: LoadChangeConfig = section(LoadChangeConfig)
    contact_forces: ContactForcesConfig = section(ContactForcesConfig)
    orientation_error: OrientationErrorConfig = section(OrientationErrorConfig)
    static_poses: StaticPosesConfig = section(StaticPosesConfig)
