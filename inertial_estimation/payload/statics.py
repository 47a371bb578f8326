"""Measurement of the trunk at rest: forces of the ground, mass and centre of mass (T 7-11, 17).

Forces of the ground come from the feet's sensors or from the torques of the legs,
f = -pinv(J') (tau - g) (T V-B), with only the rows of the contact's own limb: the base's rows contain
the unknown trunk, while the gravity torques of a limb depend only on its own links, which are known.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.contacts import (
    FALLEN_RAD,
    FOOT_SHARE,
    FORCE_JOINTS,
    WRENCH_JOINTS,
    ContactForces,
    ContactFrames,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel
from inertial_estimation.payload.rest import MeanState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import quaternion_from_rotation, skew, skews

FEWEST_FEET = 2  # smallest number of feet that carry the robot
LEAST_GRAVITY = 0.5  # smallest specific force of the base in gravities: below, the robot is about to fly
REACH_M = 1.2  # largest distance of a load from the nominal centre of mass of the trunk


class StaticMeasurement(NamedTuple):
    """Forces and lever arms of one instant, in axes parallel to the world's (z up), origin at the base."""

    R_WB: Array  # orientation of the base, shape (3, 3); its yaw has no effect
    points_W: Array  # contact points relative to the base origin [m], shape (n, 3)
    forces_W: Array  # forces of the ground on the robot [N], shape (n, 3)
    legs_mass: float  # mass of all bodies but the trunk's [kg]
    legs_com_W: Array  # their centre of mass relative to the base origin [m], shape (3,)
    moment_W: Array = np.zeros(3)  # sum of the ground's moments about the contact points [Nm]; 0: point feet
    gravity: float = STANDARD_GRAVITY  # magnitude of gravity [m/s^2]
    undetermined: str = ""  # why torques do not determine the forces, with the names of the contacts


def trunk_mass(measurement: StaticMeasurement) -> float:
    """Return the mass of the trunk's body, m_tr = sum f_z / g - m_l [kg] (T 7).

    It is not positive if the feet carry too little.
    """
    return float(measurement.forces_W[:, 2].sum()) / measurement.gravity - measurement.legs_mass


def trunk_com_across_gravity(measurement: StaticMeasurement, trunk_mass: float) -> Array:
    """Return the part of the trunk's centre of mass across gravity, base frame [m] (T 11, 17), shape (3,).

    At rest the ground has no moment about the robot's centre of mass, r = mu - c x F = 0 (T 8), with its
    force F = sum f_i and its moment about the base origin, mu = sum p_i x f_i. The least-norm solution is
    c = F x mu / F'F, and m_tr c_tr = m c - m_l c_l with m = m_tr + m_l. What lies along gravity is not
    observable in one pose and left out: R_WB of the result has no vertical component.
    """
    forces, legs = measurement.forces_W, measurement.legs_mass
    F = forces.sum(axis=0)
    mu = measurement.moment_W + (skews(measurement.points_W) @ forces[:, :, None]).sum(axis=0)[:, 0]
    whole = (trunk_mass + legs) * (skew(F) @ mu) / float(F @ F)
    c_W = (whole - legs * measurement.legs_com_W) / trunk_mass
    c_W[2] = 0.0
    com: Array = measurement.R_WB.T @ c_W
    return com


def across_gravity(x_B: Array, R_WB: Array) -> Array:
    """Return the part of a vector across gravity, base frame, shape (3,)."""
    up_B = R_WB[2]
    across: Array = x_B - float(up_B @ x_B) * up_B
    return across


class TrunkStatics:
    """Turns joints, tilt and torques or wrenches at rest into a `StaticMeasurement`.

    Attributes:
        contacts: The contacts, in the order of the measurements.
        weight: Weight of the nominal robot [N].
        estimates_forces: Whether the forces of the ground are computed from joint torques.
        leg_joints: Indices of the joints between the base and any contact, in the robot's order.
    """

    def __init__(
        self,
        robot: RobotModel,
        contacts: Sequence[ContactFrames],
        trunk_link: str,
        ground_forces: str = "estimated",
    ) -> None:
        """Resolve frames and limbs; the inertias of the legs are taken as known.

        Raises:
            ConfigurationError: If the base is fixed; the trunk is not fixed to the base; or, with forces
                `estimated`, a limb has fewer than three joints of its own, or as many as a sole needs.
            ~inertial_estimation.errors.ModelError: If a frame or link does not exist.
        """
        self.contacts = tuple(contacts)
        self.estimates_forces = ground_forces == "estimated"
        _check_base(robot, trunk_link)
        self._robot, self._model = robot, robot.model.copy()
        self._model.inertias[BASE_JOINT] = pin.Inertia.Zero()  # the legs remain
        self._data = self._model.createData()
        self._legs_mass = float(sum(inertia.mass for inertia in self._model.inertias))
        self._gravity = float(np.linalg.norm(robot.model.gravity.linear))
        self.weight = self._gravity * robot.total_mass
        self._points = [robot.frame_id(contact.frame) for contact in self.contacts]
        self._sensors = [robot.frame_id(contact.wrench_frame) for contact in self.contacts]
        self.leg_joints = frozenset(robot.joints_to(*(contact.frame for contact in self.contacts)))
        self._forces = _contact_forces(robot, self.contacts) if self.estimates_forces else None

    def measure(self, R_WB: Array, q: Array, readings: Array) -> StaticMeasurement:
        """Measure once, at rest.

        Args:
            R_WB: Orientation of the base, shape (3, 3); its yaw has no effect.
            q: Joint positions in the model's order [rad], shape (n_joints,).
            readings: Joint torques [Nm], shape (n_joints,), where forces are estimated; where they are
                measured force then torque of the ground about each wrench frame's origin, in its axes
                [N, Nm], shape (n_contacts, 6).
        """
        model, data = self._model, self._data
        configuration = self._robot.configuration(q)
        configuration[3:7] = quaternion_from_rotation(R_WB)
        pin.centerOfMass(model, data, configuration, False)
        points = np.array([pin.updateFramePlacement(model, data, f).translation for f in self._points])
        moment, undetermined = np.zeros(3), ""
        if self._forces is not None:
            excess = pin.computeGeneralizedGravity(model, data, configuration)[6:] - readings
            found = self._forces.forces(q, excess)
            forces = np.array([f for f, _basis in found]) @ R_WB.T
            undetermined = self._undetermined(found, readings)
        else:
            forces, moment = self._measured(points, readings)
        legs = self._legs_mass, data.com[0].copy()
        return StaticMeasurement(R_WB, points, forces, *legs, moment, self._gravity, undetermined)

    def _undetermined(self, found: Sequence[tuple[Array, Array]], tau: Array) -> str:
        """Return why torques do not determine a force: those of a stretched limb not the force along it."""
        assert self._forces is not None
        names = [contact.name for contact in self.contacts]
        silent = [name for name, limb in zip(names, self._forces.limbs, strict=True) if not tau[limb].any()]
        if silent:
            return f"all torques of the limb of {listing(silent)} are exactly zero: do its sensors read?"
        singular = [name for name, (_f, basis) in zip(names, found, strict=True) if len(basis) < FORCE_JOINTS]
        stretched = f"the limb of {listing(singular)} is stretched, and its force unknown: bend it"
        return stretched if singular else ""

    def _measured(self, points: Array, wrenches_F: Array) -> tuple[Array, Array]:
        """Return the forces and the sum of their moments about the contact points."""
        forces, moment = np.zeros((len(points), 3)), np.zeros(3)
        for i, frame in enumerate(self._sensors):
            T_WS = pin.updateFramePlacement(self._model, self._data, frame)
            forces[i], torque = wrenches_F[i].reshape(2, 3) @ T_WS.rotation.T
            moment += torque + skew(T_WS.translation - points[i]) @ forces[i]
        return forces, moment


def _check_base(robot: RobotModel, trunk_link: str) -> None:
    if not robot.floating_base:
        raise ConfigurationError("the trunk of a robot on legs is a floating base, this base is fixed")
    if robot.link_body(trunk_link).joint_id != BASE_JOINT:
        fixed = [link for link in robot.link_names if robot.link_body(link).joint_id == BASE_JOINT]
        raise ConfigurationError(
            f"trunk '{trunk_link}' moves against the base, expected a link fixed to it: {listing(fixed)}"
        )


def _contact_forces(robot: RobotModel, contacts: Sequence[ContactFrames]) -> ContactForces:
    """Return the map from torques to forces at point feet, each on a limb of its own."""
    forces = ContactForces(robot, contacts)
    for contact, limb in zip(contacts, forces.limbs, strict=True):
        if not FORCE_JOINTS <= len(limb) < WRENCH_JOINTS:
            raise ConfigurationError(
                f"the limb of contact '{contact.name}' has {len(limb)} joints of its own, "
                f"{listing(robot.joint_names[j] for j in limb)}; expected {FORCE_JOINTS} or more to "
                f"determine the force on a point foot, and fewer than the {WRENCH_JOINTS} of a sole, which "
                "also transmits a moment; or 'ground_forces' measured"
            )
    return forces


class TrunkReading(NamedTuple):
    """One static measurement of the trunk."""

    measurement: StaticMeasurement  # forces and lever arms
    mass: float  # mass of the trunk, sum f_z / g less the legs (T 7) [kg]
    com_B: Array  # centre of mass of the trunk across gravity (T 17), base frame [m], shape (3,)
    tilt: tuple[float, float]  # roll and pitch of the base [rad]
    height: float  # height of the base origin above the standing feet [m]

    def turned_from(self, tilt: tuple[float, float]) -> float:
        """Return the distance of the base's roll and pitch from given ones [rad]."""
        return math.dist(self.tilt, tilt)


class TrunkObservation(NamedTuple):
    """State of the robot and its trunk in one step."""

    stamp_ns: int  # stamp of the step [ns]
    dt: float  # time since the last step [s]
    at_rest: bool
    reading: TrunkReading | None  # None unless the robot is at rest and the trunk measurable
    why_not: str  # why there is no reading
    arrived: bool  # whether the published trunk has reached its target
    moving_mass: float | None = None  # mass of the trunk in motion [kg]; None where it is not measurable


class TrunkMeasurer:
    """Measures the trunk; refuses feet that pull, fewer than two feet that carry, and a fallen robot.

    The forces of all feet are summed, also those below the limit: the force of a lifted foot is zero anyway.
    """

    def __init__(self, statics: TrunkStatics) -> None:
        self._statics = statics
        self.source = "joint torques" if statics.estimates_forces else "wrench"  # source of the forces
        self.reset()

    def reset(self) -> None:
        """Discard the last measurement."""
        self.trouble = ""  # why the last measurement was refused
        self.forces: dict[str, float] = {}  # vertical force of each foot at the last measurement [N]

    def read(self, state: MeanState) -> TrunkReading | None:
        """Measure the trunk of a robot at rest; None where it is refused, which `trouble` explains."""
        measurement = self._statics.measure(state.R_WB, state.q, state.readings)
        names = (contact.name for contact in self._statics.contacts)
        self.forces = dict(zip(names, measurement.forces_W[:, 2].tolist(), strict=True))
        mass = trunk_mass(measurement)
        self.trouble = self._refusal(measurement, mass)
        if self.trouble:
            return None
        com_B = trunk_com_across_gravity(measurement, mass)
        standing = measurement.forces_W[:, 2] >= FOOT_SHARE * self._statics.weight
        height = -float(measurement.points_W[standing, 2].mean())
        return TrunkReading(measurement, mass, com_B, (state.roll, state.pitch), height)

    def _refusal(self, measurement: StaticMeasurement, mass: float) -> str:
        if _fallen(measurement):
            tilt = math.acos(max(-1.0, float(measurement.R_WB[2, 2])))
            return f"the base is tilted by {tilt:.2f} rad, expected at most {FALLEN_RAD:g} rad"
        if measurement.undetermined:
            return measurement.undetermined
        least = FOOT_SHARE * self._statics.weight
        pulling = [f"'{name}' ({force:.0f} N)" for name, force in self.forces.items() if force < -least]
        if pulling:
            return f"the ground would pull at {listing(pulling)}: check the sign of its {self.source}"
        standing = [name for name, force in self.forces.items() if force >= least]
        if len(standing) < FEWEST_FEET:
            who = f"only '{standing[0]}'" if standing else "no foot"
            expected = f"expected {FEWEST_FEET} or more of {listing(self.forces)}"
            return f"{who} carries {least:.0f} N, {expected}; is the robot on a stand?"
        return "" if mass > 0.0 else "the feet carry no more than the legs weigh; is the robot on a stand?"

    def weigh(self, state: MeanState) -> float | None:
        """Return the mass of the trunk of a robot in motion, m = sum f_z / (g + a_z) less the legs [kg].

        Only the vertical acceleration of the base is used: that of the legs is an error, of about a kilogram
        for HyQ crawling. None where the robot flies or has fallen, or the forces are not determined.
        """
        measurement = self._statics.measure(state.R_WB, state.q, state.readings)
        force = measurement.gravity + state.vertical_acceleration
        if _fallen(measurement) or measurement.undetermined or force < LEAST_GRAVITY * measurement.gravity:
            return None
        return trunk_mass(measurement._replace(gravity=force))


def _fallen(measurement: StaticMeasurement) -> bool:
    return float(measurement.R_WB[2, 2]) < math.cos(FALLEN_RAD)
