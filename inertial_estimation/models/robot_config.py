"""Parameters that describe a robot, shared by all nodes: description, contacts, corrections, stance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, ModelError, listing
from inertial_estimation.models.contacts import ContactFrames, WrenchAxes
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter, section
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw


@dataclass(frozen=True)
class JointOffsets:
    """Offsets of the joint position sensors, as `inertial-estimation calibrate` finds them."""

    joints: tuple[str, ...] = parameter((), "Joints whose position sensor has a known offset.")
    values: tuple[float, ...] = parameter(
        (),
        "Offset added to the measured position of each entry of joint_offsets.joints, in the same order; of "
        "a prismatic joint in metres.",
        unit="rad or m",
    )


@dataclass(frozen=True)
class DriveGains:
    """Gains of joints whose reported effort is not a torque but, for example, a motor current."""

    joints: tuple[str, ...] = parameter(
        (), "Joints whose reported effort is not a torque, such as a motor current."
    )
    values: tuple[float, ...] = parameter(
        (),
        "Torque per unit of reported effort of each entry of drive_gains.joints, in the same order.",
        unit="Nm/unit",
    )


@dataclass(frozen=True, eq=False)
class JointCorrections:
    """q = q_sent + offset, tau = gain effort."""

    offset: Array  # [rad], shape (n_joints,)
    gain: Array  # [Nm per unit of effort], shape (n_joints,)


def joint_corrections(offsets: JointOffsets, gains: DriveGains, robot: RobotModel) -> JointCorrections:
    """Resolve offsets and gains against a robot; locked joints are not in it and cannot be corrected.

    Raises:
        ConfigurationError: If there are not as many values as joints, or a gain is zero.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    offset = values_by_joint("joint_offsets", offsets.joints, offsets.values, robot, 0.0)
    gain = values_by_joint("drive_gains", gains.joints, gains.values, robot, 1.0)
    if not gain.all():
        idle = robot.joint_names[int(np.flatnonzero(gain == 0.0)[0])]
        raise ConfigurationError(f"the drive gain of '{idle}' is 0, expected another value")
    return JointCorrections(offset, gain)


def values_by_joint(
    name: str, joints: Sequence[str], values: Sequence[float], robot: RobotModel, missing: float
) -> Array:
    """Spread values of some joints over all, shape (n_joints,).

    Args:
        name: Of the parameter section, for messages.
        joints: Names of joints.
        values: As many.
        robot: The model.
        missing: Value of the joints that are not named.

    Raises:
        ConfigurationError: If the numbers differ, a value is no number, or a joint is named twice.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    if len(joints) != len(values):
        raise ConfigurationError(
            f"'{name}' has {len(values)} values, expected one for each of its {len(joints)} joints"
        )
    given = dict(zip(joints, values, strict=True))
    if len(given) < len(joints):
        twice = next(joint for joint in joints if list(joints).count(joint) > 1)
        raise ConfigurationError(f"'{name}' names the joint '{twice}' more than once")
    spread = np.full(robot.n_joints, missing)
    for joint, value in given.items():
        if isinstance(value, str):
            raise ConfigurationError(f"'{name}' has the value {value!r} for '{joint}', expected a number")
        spread[robot.joint_index(joint)] = value
    return spread


@dataclass(frozen=True)
class StanceConfig:
    """Posture in which the robot stands, and the rectangle of each sole."""

    joints: tuple[str, ...] = parameter(
        (),
        "Joints that have a position in the home posture; joints that are not named have the position zero.",
    )
    positions: tuple[float, ...] = parameter(
        (), "Position in the home posture of each entry of stance.joints, in the same order.", unit="rad"
    )
    soles: tuple[float, ...] = parameter(
        (),
        "Rectangle x_min, x_max, y_min, y_max of each contact's sole in the contact frame, one contact "
        "after another; empty makes every contact a point.",
        unit="m",
    )


def stance_positions(config: StanceConfig, robot: RobotModel) -> Array:
    """Return the home posture in the model's joint order [rad], shape (n_joints,).

    Raises:
        ConfigurationError: If there are not as many positions as joints.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    return values_by_joint("stance", config.joints, config.positions, robot, 0.0)


def contact_points(config: StanceConfig, contacts: Sequence[str]) -> tuple[Array, ...]:
    """Return the points each contact touches the ground with, in its frame [m], (4, 3), of a point (1, 3).

    Raises:
        ConfigurationError: If there are not four numbers a contact, or a rectangle is empty.
    """
    if not config.soles:
        return tuple(np.zeros((1, 3)) for _ in contacts)
    if len(config.soles) != 4 * len(contacts):
        raise ConfigurationError(
            f"stance.soles has {len(config.soles)} values, expected four (x_min, x_max, y_min, y_max) for "
            f"each of {len(contacts)} contacts"
        )
    points = []
    for name, (x0, x1, y0, y1) in zip(contacts, np.reshape(config.soles, (-1, 4)), strict=True):
        if not (x0 < x1 and y0 < y1):
            raise ConfigurationError(
                f"the sole of contact '{name}' is [{x0}, {x1}] x [{y0}, {y1}], expected x_min < x_max and "
                "y_min < y_max"
            )
        points.append(np.array([[x0, y0, 0.0], [x0, y1, 0.0], [x1, y0, 0.0], [x1, y1, 0.0]]))
    return tuple(points)


@dataclass(frozen=True)
class AddedFrames:
    """Frames fixed to links, for what a URDF has no link of its own for."""

    names: tuple[str, ...] = parameter(
        (),
        "Frames that are added to those of the URDF, for sensors or soles without a link there; they can be "
        "named wherever the frame of an IMU, a contact or a wrench is expected.",
    )
    links: tuple[str, ...] = parameter(
        (), "Link of the URDF to which each entry of frames.names is fixed, in the same order."
    )
    poses: tuple[float, ...] = parameter(
        (),
        "Pose of each entry of frames.names in its link, six numbers a frame: x, y, z and roll, pitch, yaw, "
        "as in the <origin> of a URDF.",
        unit="m, rad",
    )


def with_frames(robot: RobotModel, added: AddedFrames) -> RobotModel:
    """Return a robot that has the added frames besides those of its URDF.

    Raises:
        ConfigurationError: If there is not one link and one pose for every name, or a name is there twice.
        ~inertial_estimation.errors.ModelError: If a link does not exist, or the URDF has such a frame.
    """
    n = len(added.names)
    if len(added.links) != n or len(added.poses) != 6 * n:
        raise ConfigurationError(
            f"frames.names has {n} entries, frames.links {len(added.links)} and frames.poses "
            f"{len(added.poses)} numbers, expected a link and 6 numbers for each name"
        )
    if len(set(added.names)) != n:
        raise ConfigurationError(f"frames.names has a name twice: {listing(added.names)}")
    if not n:
        return robot
    model = robot.model.copy()
    for name, link, pose in zip(added.names, added.links, np.reshape(added.poses, (-1, 6)), strict=True):
        if model.existFrame(name):
            raise ModelError(f"frames.names has '{name}', which is a frame of the URDF; choose another name")
        body = robot.link_body(link)
        parent = robot.frame_id(link)
        T_LF = pin.SE3(rotation_from_roll_pitch_yaw(*pose[3:].tolist()), pose[:3].copy())
        kind = pin.FrameType.OP_FRAME
        model.addFrame(pin.Frame(name, body.joint_id, parent, body.T_JL * T_LF, kind), False)
    return RobotModel(model)


@dataclass(frozen=True)
class RobotDescriptionConfig:
    """The robot: its description, its base, its IMU and its contacts."""

    urdf: str = parameter(
        "",
        "Path of the URDF, its text, or 'example-robot-data:NAME'; empty takes the URDF from the topic "
        "robot_description.",
    )
    floating_base: bool = parameter(
        True, "Whether the base moves freely (legged robot) or is fixed to the world (arm)."
    )
    locked_joints: tuple[str, ...] = parameter(
        (), "Joints treated as fixed at position zero, by name or shell pattern."
    )
    imu_frame: str = parameter(
        "",
        "Link of the IMU, or one of frames.names, in whose axes its readings are expressed; empty means that "
        "there is no IMU.",
    )
    contacts: tuple[str, ...] = parameter(
        (), "Names of the contacts; the wrench of each arrives on the topic <contact>/wrench."
    )
    contact_frames: tuple[str, ...] = parameter(
        (),
        "Frame of each entry of `contacts`: origin on the sole, z along the inward normal; empty takes "
        "frames named as the contacts.",
    )
    wrench_frames: tuple[str, ...] = parameter(
        (),
        "Frame in which the wrench of each entry of `contacts` is expressed, on the same body as the "
        "contact, or 'base' or 'world' for their axes; empty takes the contact frames.",
    )
    frames: AddedFrames = section(AddedFrames)
    joint_offsets: JointOffsets = section(JointOffsets)
    drive_gains: DriveGains = section(DriveGains)


@dataclass(frozen=True)
class SimulatedRobotConfig(RobotDescriptionConfig):
    """A robot that is simulated: without inputs, with the friction of its joints."""

    nominal_friction: NominalFriction = section(NominalFriction)


@dataclass(frozen=True, eq=False)
class RobotSetup:
    """A robot as described by its parameters, with every name resolved against its model."""

    robot: RobotModel  # the model
    contacts: tuple[ContactFrames, ...]  # its contacts in the configured order
    imu: ImuMount | None  # its IMU; None without one

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts in the configured order."""
        return tuple(contact.name for contact in self.contacts)

    @property
    def sensing_joints(self) -> list[int]:
        """Joints that move its IMU or a contact."""
        frames = [contact.frame for contact in self.contacts]
        return self.robot.joints_to(*frames, *([self.imu.frame] if self.imu is not None else []))


def robot_from_config(config: RobotDescriptionConfig, urdf: str) -> RobotSetup:
    """Build the model and resolve every name of a robot config against it.

    Raises:
        ConfigurationError: If the lists of contacts and frames differ in length, or have a contact twice.
        ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
    """
    robot = RobotModel.from_urdf(urdf, floating_base=config.floating_base, locked_joints=config.locked_joints)
    robot = with_frames(robot, config.frames)
    _check_contact_lists(config)
    frames = config.contact_frames or config.contacts
    wrench_frames = config.wrench_frames or frames
    imu = ImuMount.on(robot, config.imu_frame) if config.imu_frame else None
    contacts = []
    for name, frame, wrench_frame in zip(config.contacts, frames, wrench_frames, strict=True):
        robot.frame_id(frame)
        axes = WrenchAxes.SENSOR if wrench_frame == frame else WrenchAxes.named(wrench_frame, robot.base_link)
        if axes is WrenchAxes.SENSOR:
            robot.fixed_transform(frame, wrench_frame)
            contacts.append(ContactFrames(name, frame, wrench_frame))
        else:
            contacts.append(ContactFrames(name, frame, frame, axes))
    return RobotSetup(robot, tuple(contacts), imu)


def _check_contact_lists(config: RobotDescriptionConfig) -> None:
    """Refuse lists of contacts and frames that do not belong together.

    Raises:
        ConfigurationError: If they differ in length, or if a contact or its frame comes twice: the force of
            one foot would count as that of two.
    """
    for name in ("contact_frames", "wrench_frames"):
        given = getattr(config, name)
        if given and len(given) != len(config.contacts):
            raise ConfigurationError(
                f"'{name}' has {len(given)} entries ({listing(given)}), "
                f"expected one for each of the {len(config.contacts)} contacts ({listing(config.contacts)})"
            )
    for name in ("contacts", "contact_frames"):
        given = getattr(config, name)
        twice = sorted({entry for entry in given if given.count(entry) > 1})
        if twice:
            raise ConfigurationError(
                f"'{name}' has {listing(twice)} more than once ({listing(given)}), expected each contact once"
            )
