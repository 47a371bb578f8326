"""Kinematics and forces of the contacts at each step, and the radius of round feet."""

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import MutableColumn, MutableTable, MutableTables
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import ContactInput, ContactSource
from inertial_estimation.models.contacts import ContactForces, ContactView, MomentumObserver, WrenchAxes
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

CLOSED = 0.05  # least share of the weight on a contact that is used
STANDING = 0.15  # least share of the weight on all contacts together: with less the robot is in flight
OFF_CENTRE = 0.5  # largest distance of a contact frame from the centre of its sphere, in radii
GAIN = 100.0  # of the momentum observer, whose time constant is its inverse [1/s]


class Feet(NamedTuple):
    """Contacts at one time, from joint positions and contact forces.

    Attributes:
        points: Contact points in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from the frame of each contact, shape (n, 3, 3).
        shares: Share of each contact in the weight, zero for contacts not in use; the sum is one or zero,
            shape (n,).
        soles: One for each contact that is a flat sole, else zero, shape (n,).
    """

    points: MutableTable
    rotations: MutableTables
    shares: MutableColumn
    soles: MutableColumn


class ContactUse(NamedTuple):
    """Use of the contacts at the last update, as reported with the estimates.

    Attributes:
        names: Contacts that carry the robot.
        forces: Vertical force at each contact, positive upwards [N]; NaN: unknown.
        shares: Share of each contact in the weight.
    """

    names: tuple[str, ...]
    forces: tuple[float, ...]
    shares: tuple[float, ...]


class ContactShares:
    """Vertical forces of all contacts, and their shares.

    Attributes:
        names: Names of the contacts.
        forces: Vertical force at each contact at the last update, positive upwards [N], NaN: unknown, shape
            (n,).
        shares: Share of each contact in the weight; the sum is one or zero, shape (n,).
        use: The same as tuples.
    """

    def __init__(self, setup: RobotSetup, sources: Mapping[str, ContactSource], timeout: float) -> None:
        """Begin without a reading.

        Args:
            setup: The robot.
            sources: Source of each contact's force.
            timeout: Age beyond which a planned wrench is stale [s].
        """
        self.names, self._sources = setup.contact_names, dict(sources)
        self._weight, self._timeout = STANDARD_GRAVITY * setup.robot.total_mass, timeout
        self.reset()

    def reset(self) -> None:
        """Forget all forces."""
        self.forces = np.full(len(self.names), np.nan)
        self._take()

    def _take(self) -> None:
        """Compute the shares from the forces."""
        forces = self.forces.tolist()
        used = [max(force - CLOSED * self._weight, 0.0) if force == force else 0.0 for force in forces]
        total = sum(used)
        closed = total > (STANDING - CLOSED) * self._weight
        shares = [force / total if closed else 0.0 for force in used]
        carrying = tuple(name for name, share in zip(self.names, shares, strict=True) if share > 0.0)
        self.use = ContactUse(carrying, tuple(forces), tuple(shares))
        self.shares = np.array(shares)

    @property
    def by_torques(self) -> bool:
        """Whether the force at a contact comes from joint torques."""
        return ContactSource.JOINT_TORQUES in self._sources.values()

    @property
    def without_efforts(self) -> list[str]:
        """Contacts whose forces follow from joint torques, some of which are missing."""
        unknown = [name for name, force in zip(self.names, self.use.forces, strict=True) if force != force]
        return [name for name in unknown if self._sources.get(name) is ContactSource.JOINT_TORQUES]

    def update(
        self,
        inputs: RobotInputs,
        rows: Mapping[str, Array | None],
        time_ns: int,
        view: ContactView,
        up_I: Array,
        torques: Array | None,
    ) -> None:
        """Determine the forces and shares of all contacts at one time.

        Args:
            inputs: The inputs, for planned wrenches and the axes of wrenches.
            rows: Rows of the contacts' streams at that time, None if missing.
            time_ns: The time [ns].
            view: Kinematics of the contacts.
            up_I: The vertical in the IMU frame, shape (3,).
            torques: Vertical forces from joint torques [N], shape (n,); None if unknown.
        """
        for k, name in enumerate(self.names):
            source, value = self._sources.get(name, ContactSource.NONE), float("nan")
            if source is ContactSource.JOINT_TORQUES:
                value = value if torques is None else float(torques[k])
            elif name in inputs.contacts:
                contact = inputs.contacts[name]
                stream = contact.stream.spec.name
                row = rows.get(stream)
                if source is ContactSource.DESIRED:
                    row = inputs.aligner.latest(stream, time_ns, self._timeout)
                if row is not None:
                    value = self._vertical(contact, row, view, k, up_I)
            self.forces[k] = value
        self._take()

    def _vertical(self, contact: ContactInput, row: Array, view: ContactView, k: int, up_I: Array) -> float:
        """Return the vertical force of contact k from a row of its stream [N]."""
        if contact.source is ContactSource.SWITCH:
            return self._weight * float(row[0])
        if len(row) == 1:
            return float(row[0])
        if contact.axes is WrenchAxes.WORLD:
            return float(row[2])
        if contact.axes is WrenchAxes.BASE:
            return float(view.R_BI @ up_I @ row[:3])
        return float(up_I @ view.rotations[k] @ view.offsets[k] @ row[:3])


class TorqueForces:
    """Contact forces of a robot without force sensors, from joint torques and the IMU.

    A momentum observer estimates the external torques; those of a limb determine the force at its contact.
    Tilt, velocity and acceleration of the base do not enter, nor does the inertia of the trunk and its load.
    Joint friction is neglected: it hardly changes the tilt, for which the forces only determine the share of
    each contact in the weight.
    """

    def __init__(self, setup: RobotSetup) -> None:
        """Prepare the model of the limbs.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If torques do not determine the force at a
            contact.
        """
        robot = setup.robot
        self._joints = np.array(robot.joints_to(*(contact.frame for contact in setup.contacts)), dtype=int)
        names = robot.joint_names
        limbs = robot.without([name for j, name in enumerate(names) if j not in self._joints])
        self._observer = MomentumObserver(limbs, gain=GAIN)
        self._forces = ContactForces(limbs, setup.contacts)
        self._known = np.zeros(len(setup.contacts))

    def reset(self) -> None:
        """Restart: the next joint state is assumed to be one of a steady motion."""
        self._observer.reset()
        self._known[:] = 0.0

    def update(
        self, h: float, view: ContactView, reading: Array, joints: tuple[Array, Array, Array], up_I: Array
    ) -> Array:
        """Return the vertical force at each contact [N], shape (n,).

        A contact whose vertical force the torques do not determine (a stretched limb) keeps its last force;
        it is NaN while one of the torques of its limb is.

        Args:
            h: Time since the last joint state [s].
            view: Kinematics at this joint state.
            reading: Specific force and angular rate of the IMU [m/s^2, rad/s], shape (6,).
            joints: Positions [rad], velocities [rad/s], torques [Nm] in the model's order, shape (n_joints,)
                each.
            up_I: The vertical in the IMU frame, shape (3,).
        """
        q, v, tau = joints
        j, base = self._joints, (view.R_BI @ reading[:3], view.R_BI @ reading[3:], view.p_BI)
        residual = self._observer.update(q[j], v[j], tau[j], h, base)
        vertical = self._forces.along(q[j], residual, view.R_BI @ up_I)
        lacks = [np.isnan(residual[limb]).any() for limb in self._forces.limbs]
        self._known = np.where(np.isfinite(vertical) | lacks, vertical, self._known)
        return self._known


Joints = tuple[Array, Array, Array | None]


class FeetSensing:
    """Kinematics and forces of the contacts.

    Attributes:
        view: Kinematics of the contacts at the last joint positions that were needed.
        shares: Forces of the contacts, and which of them carry the robot.
        seen: Whether joint positions have been received and are not lost.
        without_contact_s: Time for which no contact has carried the robot [s].
    """

    def __init__(self, setup: RobotSetup, sources: Mapping[str, ContactSource], timeout: float) -> None:
        """Build the parts.

        Args:
            setup: The robot, its contacts and its IMU.
            sources: Source of each contact's force.
            timeout: Age beyond which an input is lost [s].

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a force does not follow from joint torques.
        """
        self.view = ContactView(setup.robot, setup.contacts, setup.imu)
        self.shares = ContactShares(setup, sources, timeout)
        self._torques = TorqueForces(setup) if self.shares.by_torques else None
        self._timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Discard forces and kinematics."""
        self.shares.reset()
        if self._torques is not None:
            self._torques.reset()
        self.seen, self.without_contact_s, self._since_joints = False, 0.0, 0.0

    def take(
        self,
        sample: AlignedSample,
        h: float,
        joints: Joints | None,
        inputs: RobotInputs,
        up_I: Array,
        *,
        looks: bool,
    ) -> Feet | None:
        """Update kinematics and forces by the joints and contact sensors of a step.

        Args:
            sample: IMU reading and contact sensors, aligned.
            h: Duration of the step [s].
            joints: Positions, velocities and, where needed, torques, in the model's order; None where
                missing.
            inputs: The inputs, for the axes of wrenches.
            up_I: The vertical in the IMU frame, shape (3,).
            looks: Whether the contacts are measured at this step.

        Returns:
            The contacts; None if they are not measured or unknown.
        """
        self._since_joints += h
        if joints is None or not self.shares.use.names:
            self.without_contact_s += h
        looks = looks and bool(self.shares.names)
        if joints is None:
            if self.seen and self._since_joints > self._timeout:  # it is unknown which contacts carry now
                self.shares.reset()
                self.seen = False
            return None
        if not looks and self._torques is None:
            if self.view.imu_moves:
                self.view.update_imu(joints[0])
                self.seen = True
            return None
        q, v, tau = joints
        self.view.update(q)
        self.seen, forces = True, None
        if self._torques is not None and tau is not None:
            forces = self._torques.update(self._since_joints, self.view, sample.driver, (q, v, tau), up_I)
        self._since_joints = 0.0
        self.shares.update(inputs, sample.rows, sample.time_ns, self.view, up_I, forces)
        if self.shares.use.names:
            self.without_contact_s = 0.0
        view, shares = self.view, self.shares.shares
        return Feet(view.points, view.rotations, shares, view.soles) if looks else None


def foot_radius(setup: RobotSetup, urdf: str) -> float:
    """Return the mean radius of collision spheres centred at the contact frames [m]; zero without any.

    A contact frame on the surface of a foot, or on a flat foot, has no such sphere.

    Args:
        setup: The robot and its contacts.
        urdf: Text of its URDF.
    """
    spheres = _spheres(urdf)
    radii = [_radius(setup.robot, contact.frame, spheres) for contact in setup.contacts]
    return float(np.mean(radii)) if radii and min(radii) > 0.0 else 0.0


def _spheres(urdf: str) -> list[tuple[str, Array, float]]:
    """Link, centre in it and radius of every collision sphere."""
    found = []
    for link in ElementTree.fromstring(urdf.strip().encode()).iter("link"):
        for collision in link.iter("collision"):
            sphere, origin = collision.find("geometry/sphere"), collision.find("origin")
            if sphere is None:
                continue
            xyz = "" if origin is None else origin.get("xyz", "")
            centre = np.array([float(number) for number in xyz.split()] or [0.0] * 3)
            found.append((link.get("name", ""), centre, float(sphere.get("radius", "0"))))
    return found


def _radius(robot: RobotModel, frame: str, spheres: list[tuple[str, Array, float]]) -> float:
    parent = robot.model.frames[robot.frame_id(frame)].parentJoint
    for link, centre, radius in spheres:
        if not robot.model.existFrame(link):
            continue
        if robot.model.frames[robot.frame_id(link)].parentJoint != parent:
            continue
        distance = math.dist(robot.fixed_transform(frame, link).act(centre), (0.0, 0.0, 0.0))
        if distance < OFF_CENTRE * radius:
            return radius
    return 0.0
