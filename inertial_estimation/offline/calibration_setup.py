"""The robot of a calibration, from a parameter file: chain, frames, soles; the file of its offsets."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inertial_estimation.calibration.calibration_report import CalibrationReport
from inertial_estimation.calibration.flat_feet import upright
from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, MeasurementError, listing
from inertial_estimation.files.outputs import write_text
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.robot_config import (
    StanceConfig,
    contact_points,
    robot_from_config,
    values_by_joint,
)
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.postures import PostureTable
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class CalibrationSetup:
    """The robot of a calibration, read from a parameter file."""

    robot: RobotModel
    config: RobotConfig  # parameters that describe the robot
    contacts: tuple[ContactFrames, ...]
    soles: tuple[Array, ...]  # corners of each contact in its frame [m]

    @property
    def ground(self) -> str:
        """The frame assumed fixed to the ground: the first contact of a standing robot, or else the base."""
        if self.config.floating_base and self.contacts:
            return self.contacts[0].frame
        return self.robot.base_link

    @property
    def known_offsets(self) -> Mapping[str, float]:
        """Joint offsets of an earlier calibration [rad]."""
        known = self.config.joint_offsets
        return dict(zip(known.joints, known.values, strict=True))

    def corrected(self, table: PostureTable) -> PostureTable:
        """Return postures with the known offsets added; a calibration then finds additional offsets."""
        known = self.config.joint_offsets
        return replace(
            table, q=table.q + values_by_joint("joint_offsets", known.joints, known.values, self.robot, 0.0)
        )

    def beyond_base(self, reference: str, frame: str) -> tuple[str, ...]:
        """Return the joints between the base and a frame that do not move the reference.

        If the reference is a sole, joints of its leg are left out: flat feet calibrate those, with the other
        foot on the ground, too.
        """
        between = ChainKinematics(self.robot, reference=reference, frames=[frame]).moving
        base = self.robot.base_link
        if reference == base:
            return between
        moved = set(ChainKinematics(self.robot, reference=base, frames=[frame]).moving)
        return tuple(name for name in between if name in moved)

    def chain(self, reference: str, frames: Sequence[str], patterns: Sequence[str] = ()) -> ChainKinematics:
        """Return the kinematics of frames relative to a reference, with the joints to calibrate.

        Joints are given by names or shell patterns; without any, all joints that move a frame are calibrated.

        Raises:
            ConfigurationError: If a pattern matches no joint that moves a frame.
        """
        kinematics = ChainKinematics(self.robot, reference=reference, frames=frames)
        if not patterns:
            return kinematics
        chosen: set[str] = set()
        for pattern in patterns:
            found = fnmatch.filter(kinematics.moving, pattern)
            if not found:
                raise ConfigurationError(
                    f"no joint '{pattern}' moves {listing(frames)} relative to '{reference}'; these do: "
                    f"{listing(kinematics.moving)}"
                )
            chosen.update(found)
        joints = [name for name in kinematics.moving if name in chosen]
        return ChainKinematics(self.robot, reference=reference, frames=frames, joints=joints)


def calibration_setup(file: ConfigFile, *, urdf: str = "") -> CalibrationSetup:
    """Read the robot of a parameter file; `urdf`, if given, replaces the parameter ``urdf``.

    Raises:
        ConfigurationError: If a parameter is misspelt or out of bounds.
        ~inertial_estimation.errors.ModelError: If the description is missing or lacks a name in use.
    """
    config = robot_config(file)
    standing = {f"stance.{spec.name}" for spec in iterate_parameters(StanceConfig)}
    stance = {name.removeprefix("stance."): value for name, value in file.anywhere(standing).items()}
    setup = robot_from_config(config, read_urdf(urdf or config.urdf, folder=Path(file.name).parent))
    robot, contacts = setup.robot, setup.contacts
    offsets = config.joint_offsets
    values_by_joint("joint_offsets", offsets.joints, offsets.values, robot, 0.0)  # raises if invalid
    points = contact_points(build_config(StanceConfig, stance, where=file.name), config.contacts)
    return CalibrationSetup(robot, config, contacts, points)


def write_offsets(path: Path, report: CalibrationReport, known: Mapping[str, float] | None = None) -> Path:
    """Write the offsets that are identifiable as parameters ``joint_offsets`` of all nodes.

    Args:
        path: File to write.
        report: The calibration.
        known: Offsets by joint [rad] with which the postures were corrected; they are added to the new ones.

    Raises:
        ConfigurationError: If it cannot be written.
    """
    written = dict(known or {})
    for j in report.written:
        written[j.joint] = written.get(j.joint, 0.0) + j.offset
    names = ", ".join(written) or '""'
    values = ", ".join(f"{value:.9f}" for value in written.values())
    slides = [j.joint for j in report.written if j.unit == "m"]
    units = f"rad (m: {', '.join(slides)})" if slides else "rad"
    lines = [
        f"# Joint offsets: {report.kind} calibration of {report.samples} postures, see calibration.json.",
        "# Load it after the robot's own parameter file.",
        "/**:",
        "  ros__parameters:",
        "    joint_offsets:",
        f"      joints: [{names}]",
        *([f"      values: [{values}]      # {units}, added to the measured positions"] if written else []),
        "",
    ]
    return write_text(path, "\n".join(lines))


def orientations(table: PostureTable, link: str, use_yaw: bool, source: str) -> Array:
    """Return orientations of one link, shape (K, 3, 3), from quaternions or only from the vertical.

    Args:
        table: Postures with the columns ``link/qx`` ... or ``link/up_x`` ...
        link: Link with an IMU.
        use_yaw: Whether its yaw is used, too.
        source: Name of the postures in messages.

    Raises:
        RecordingError: If a column is missing.
        MeasurementError: If a quaternion or vertical is impossible, or there is no yaw to use.
    """
    if f"{link}/qw" in table.columns:
        quaternions = table.stacked([f"{link}/q{i}" for i in "xyzw"], source)
        size = np.linalg.norm(quaternions, axis=1)
        if (np.abs(size - 1.0) > 0.05).any():
            raise MeasurementError(f"a quaternion of '{link}' has the norm {size.min():.3g}, expected 1")
        return np.array([rotation_from_quaternion(row) for row in quaternions])
    if use_yaw:
        raise MeasurementError(f"the yaw of '{link}' is to be used, but only its vertical was measured")
    up = table.stacked([f"{link}/up_{i}" for i in "xyz"], source)
    if (np.linalg.norm(up, axis=1) < 1e-6).any():
        raise MeasurementError(f"a vertical of '{link}' is zero, expected a direction")
    return np.array([upright(direction) for direction in up])
