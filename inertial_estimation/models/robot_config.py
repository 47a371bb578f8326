"""Parameters that describe a robot, shared by all nodes."""

from dataclasses import dataclass

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.joint_corrections import DriveGains, JointOffsets
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter, section

__all__ = ["IMU_TOPIC", "ContactFrames", "InputConfig", "RobotConfig", "RobotSetup", "robot_from_config"]

IMU_TOPIC = "imu/data"


@dataclass(frozen=True)
class InputConfig:
    """How the inputs are aligned and when they are too old."""

    imu_delay: float = parameter(
        0.0, "Age of an IMU reading at its stamp; subtracted from the stamp.", unit="s", lower=-0.5, upper=0.5
    )
    joint_delay: float = parameter(
        0.0, "Age of a joint state at its stamp; subtracted.", unit="s", lower=-0.5, upper=0.5
    )
    wrench_delay: float = parameter(
        0.0, "Age of a wrench at its stamp; subtracted.", unit="s", lower=-0.5, upper=0.5
    )
    timeout: float = parameter(
        0.1, "An input older than this stops the output.", unit="s", lower=0.001, upper=10.0, runtime=True
    )
    max_wait: float = parameter(
        0.05,
        "How long a reading waits for the others to arrive before they count as missing at its stamp.",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    max_gap: float = parameter(
        0.1, "Widest gap within one input that is interpolated over.", unit="s", lower=0.001, upper=10.0
    )
    jump: float = parameter(
        1.0, "A stamp this far behind or ahead of the last one is a jump.", unit="s", lower=0.01, upper=1e6
    )
    on_jump: str = parameter(
        "reset",
        "At a jump: reset (back: all; ahead: all but inertias and gyroscope bias), or keep the state and "
        "drop readings until time catches up.",
        choices=("reset", "keep"),
    )
    stamps: str = parameter(
        "auto",
        "Regularise stamps that come in bursts: never, always, or when the steps are found irregular.",
        choices=("auto", "as_is", "regularise"),
    )
    nominal_rate: float = parameter(
        0.0,
        "Rate of the inputs for regularising stamps; 0 finds it from the data.",
        unit="Hz",
        lower=0.0,
        upper=10000.0,
    )
    joint_velocity: str = parameter(
        "auto",
        "Joint velocities: those measured, derived from positions, or measured where the joint state has "
        "them and derived where it has none (none sent, NaN, or all zero while joints move).",
        choices=("auto", "measured", "derived"),
    )
    velocity_window: float = parameter(
        0.02,
        "Positions a derived velocity is the slope of: a parabola's, at its newest sample.",
        unit="s",
        lower=0.001,
        upper=0.5,
    )


@dataclass(frozen=True)
class RobotConfig:
    """The robot: its description, its base, its IMU and its contacts."""

    urdf: str = parameter(
        "",
        "Path of the URDF, its text, or 'example-robot-data:NAME'; empty takes the topic robot_description.",
    )
    floating_base: bool = parameter(
        True, "Whether the base moves freely (legged robot) or is bolted down (arm)."
    )
    locked_joints: tuple[str, ...] = parameter((), "Joints frozen at zero, by name or shell pattern.")
    imu_frame: str = parameter("", "Link of the IMU; empty: no IMU.")
    contacts: tuple[str, ...] = parameter((), "Names of the contacts; each has the topic <contact>/wrench.")
    contact_frames: tuple[str, ...] = parameter(
        (), "Frame of each contact: origin on the sole, z along the inward normal; empty: the contact's name."
    )
    wrench_frames: tuple[str, ...] = parameter(
        (), "Frame each wrench is expressed in, on the same body as the contact; empty: the contact frame."
    )
    joint_offsets: JointOffsets = section(JointOffsets)
    drive_gains: DriveGains = section(DriveGains)
    nominal_friction: NominalFriction = section(NominalFriction)
    inputs: InputConfig = section(InputConfig)

    @property
    def imus(self) -> dict[str, str]:
        """Link of every IMU by the topic of its readings; empty without one."""
        return {IMU_TOPIC: self.imu_frame} if self.imu_frame else {}


@dataclass(frozen=True)
class ContactFrames:
    """One contact resolved against the model."""

    name: str
    frame: str
    wrench_frame: str


@dataclass(frozen=True, eq=False)
class RobotSetup:
    """A robot as its parameters describe it, every name resolved against its model.

    Attributes:
        robot: The model.
        contacts: Its contacts in the configured order.
        imu: Its IMU; None without one.
    """

    robot: RobotModel
    contacts: tuple[ContactFrames, ...]
    imu: ImuMount | None

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts in the configured order."""
        return tuple(contact.name for contact in self.contacts)


def robot_from_config(config: RobotConfig, urdf: str) -> RobotSetup:
    """Build the model and resolve every name of a robot config against it.

    Args:
        config: The robot's parameters.
        urdf: Text of the URDF.

    Returns:
        The model, its contacts and its IMU.

    Raises:
        ConfigurationError: If the lists of contacts and frames differ in length.
        ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
    """
    robot = RobotModel.from_urdf(urdf, floating_base=config.floating_base, locked_joints=config.locked_joints)
    for name in ("contact_frames", "wrench_frames"):
        given = getattr(config, name)
        if given and len(given) != len(config.contacts):
            raise ConfigurationError(
                f"'{name}' has {len(given)} entries ({listing(given)}), "
                f"expected one for each of the {len(config.contacts)} contacts ({listing(config.contacts)})"
            )
    frames = config.contact_frames or config.contacts
    wrench_frames = config.wrench_frames or frames
    imu = ImuMount.on(robot, config.imu_frame) if config.imu_frame else None
    for frame, wrench_frame in zip(frames, wrench_frames, strict=True):
        robot.frame_id(frame)
        robot.fixed_transform(frame, wrench_frame)
    contacts = zip(config.contacts, frames, wrench_frames, strict=True)
    return RobotSetup(robot, tuple(ContactFrames(*contact) for contact in contacts), imu)
