"""The robot and the joints that move in an exciting motion: an arm, or one limb of a hung robot."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.errors import ConfigurationError, did_you_mean, listing
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.joint_corrections import DriveGains, JointOffsets
from inertial_estimation.models.joint_limits import JointLimits, joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class DesignRobot:
    """A robot with a fixed base, and the joints of it that move.

    Attributes:
        config: Identification of this robot; for a limb of a hung robot the base is fixed and all other
            joints are locked.
        robot: Its model.
        moving: Indices of the joints that move, in the model's order.
        home: Posture of the joints that do not move, shape (n_joints,).
        limits: Limits of all joints from the description.
    """

    config: IdentificationConfig
    robot: RobotModel
    moving: tuple[int, ...]
    home: Array
    limits: JointLimits

    @property
    def moving_names(self) -> tuple[str, ...]:
        """Names of the joints that move."""
        return tuple(self.robot.joint_names[j] for j in self.moving)


def design_robot(
    config: IdentificationConfig, urdf: str, *, joints: Sequence[str] = (), leg: str = ""
) -> DesignRobot:
    """Choose the joints that move.

    Joints of a fixed arm that are not chosen rest in the middle of their ranges, and their torques are
    measured as well. The base of a floating robot is held (hung, Tournois IV), one limb moves, and all
    other joints are locked at zero.

    Args:
        config: Identification of the robot from its parameter file.
        urdf: Text of the URDF.
        joints: Joints that move, by name or shell pattern; empty selects all joints of a fixed arm.
        leg: Prefix of the names of a leg's joints ("lf" for lf_haa_joint ...).

    Raises:
        ConfigurationError: If both are given, if neither is given for a floating robot, or if no joint
            matches.
        ~inertial_estimation.errors.ModelError: If the URDF cannot be used.
    """
    known = config.robot
    free = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=known.locked_joints)
    names = free.joint_names
    if leg and joints:
        raise ConfigurationError("a leg and joints were given, expected one of them")
    patterns = [f"{leg}[_-]*"] if leg else list(joints)
    if known.floating_base and not patterns:
        raise ConfigurationError(
            "the base floats: choose what moves while the trunk is held, --leg out of "
            f"{listing(_prefixes(names))}, or --joints out of {listing(names)}"
        )
    chosen = _matching(names, patterns, leg) if patterns else set(names)
    if known.floating_base or leg:
        return _hung(config, urdf, names, chosen)
    moving = tuple(j for j, name in enumerate(names) if name in chosen)
    limits = joint_limits(free)
    return DesignRobot(config, free, moving, 0.5 * (limits.lower + limits.upper), limits)


def _hung(config: IdentificationConfig, urdf: str, names: tuple[str, ...], chosen: set[str]) -> DesignRobot:
    locked = (*config.robot.locked_joints, *(name for name in names if name not in chosen))
    robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=locked)
    moving_links = {link for link in robot.link_names if robot.link_body(link).joint_id}
    links = tuple(p for p in config.links if any(fnmatch.fnmatchcase(link, p) for link in moving_links))
    held = replace(
        config.robot,
        floating_base=False,
        locked_joints=locked,
        imu_frame="",
        contacts=(),
        contact_frames=(),
        wrench_frames=(),
        joint_offsets=JointOffsets(),
        drive_gains=DriveGains(),
        nominal_friction=NominalFriction(),
    )
    rows = replace(config.rows, contact_wrenches="none", torque_rows=("*",))
    friction = replace(
        config.friction,
        joints=tuple(
            p for p in config.friction.joints if any(fnmatch.fnmatchcase(n, p) for n in robot.joint_names)
        ),
        couplings=(),  # their joints may belong to the rest of the robot
    )
    hung = replace(config, robot=held, rows=rows, links=links, symmetry=(), friction=friction)
    limits = joint_limits(robot)
    moving = tuple(range(robot.n_joints))
    return DesignRobot(hung, robot, moving, np.zeros(robot.n_joints), limits)


def _matching(names: tuple[str, ...], patterns: Sequence[str], leg: str) -> set[str]:
    chosen: set[str] = set()
    for pattern in patterns:
        hits = {name for name in names if fnmatch.fnmatchcase(name, pattern)}
        if not hits and leg:
            hint = did_you_mean(leg, _prefixes(names), "joints begin with")
            raise ConfigurationError(f"no leg '{leg}'{hint}")
        if not hits:
            hint = did_you_mean(pattern, names, "the model has")
            raise ConfigurationError(f"no joint matches '{pattern}'{hint}")
        chosen |= hits
    return chosen


def _prefixes(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.split("_")[0] for name in names if "_" in name))
