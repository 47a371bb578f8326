"""Static measurement of trunk mass and centre of mass, with validity checks (T 7-11, 17).

Forces of the ground come from the feet's sensors or from the torques of the legs,
f = -pinv(J') (tau - g) (T V-B), with only the rows of the contact's own limb: the base's rows contain
the unknown trunk, while the gravity torques of a limb depend only on its own links, which are known.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, MeasurementError, NumericalError, listing
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import quaternion_from_rotation
from inertial_estimation.spatial.vectors import ZERO, Vector, add, combine, cross, dot, vector

POINT_UNKNOWNS = 3  # a point foot carries a force and no moment
SOLE_UNKNOWNS = 6
LEAST_LEVER = 0.03  # smallest over largest lever of a limb [1]: a knee within about 9 deg of stretched


@dataclass(frozen=True, slots=True, eq=False)
class StaticMeasurement:
    """Forces and lever arms of one instant, in axes parallel to the world's (z up), origin at the base.

    Attributes:
        R_WB: Orientation of the base, shape (3, 3); its yaw has no effect.
        points_W: Contact points relative to the base origin [m], shape (n, 3).
        forces_W: Forces of the ground on the robot [N], shape (n, 3).
        legs_mass: Mass of all bodies but the trunk's [kg].
        legs_com_W: Centre of mass of all bodies but the trunk, relative to the base origin [m], shape (3,).
        moment_W: Sum of the moments of the ground about the contact points [Nm], shape (3,); zero of point
            feet.
        gravity: Magnitude of gravity [m/s^2].
        singular: Names of contacts whose limb is stretched so far that its torques do not determine the
            force along it; that component is zero.
        silent: Names of contacts whose limb's torques are all exactly zero, as of disconnected sensors.
    """

    R_WB: Array
    points_W: Array
    forces_W: Array
    legs_mass: float
    legs_com_W: Array
    moment_W: Array = field(default_factory=lambda: np.zeros(3))
    gravity: float = STANDARD_GRAVITY
    singular: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


class TrunkStatics:
    """Turns joints, tilt and torques or wrenches at rest into a `StaticMeasurement`.

    Attributes:
        contacts: The contacts, in the order of the measurements.
        trunk_link: Link of the trunk.
        legs_mass: Mass of all bodies but the trunk's [kg].
        estimates_forces: Whether forces of the ground are made from joint torques.
    """

    def __init__(
        self,
        robot: RobotModel,
        contacts: Sequence[ContactFrames],
        trunk_link: str,
        ground_forces: str = "estimated",
        torque_joints: Sequence[str] = ("*",),
    ) -> None:
        """Resolve frames and limbs.

        Args:
            robot: The robot; its nominal legs are taken as known.
            contacts: Point contacts in use.
            trunk_link: A link fixed to the base.
            ground_forces: "estimated" from joint torques, or "measured" by the contacts' wrenches.
            torque_joints: Joints whose torque is measured, by name or shell pattern.

        Raises:
            ConfigurationError: If the base is fixed or there is no contact; the trunk is no part of the base;
                a name matches nothing; a limb has fewer than three measured joints, or two contacts.
            ~inertial_estimation.errors.ModelError: If a frame or link does not exist.
        """
        self.contacts = tuple(contacts)
        self.trunk_link = trunk_link
        self.estimates_forces = _estimates(ground_forces)
        _check_base(robot, self.contacts, trunk_link)
        self._robot = robot
        self._model = robot.model.copy()
        self._model.inertias[BASE_JOINT] = pin.Inertia.Zero()  # the legs remain
        self._data = self._model.createData()
        self.legs_mass = float(sum(inertia.mass for inertia in self._model.inertias))
        self._gravity = float(np.linalg.norm(robot.model.gravity.linear))
        self._points = [robot.frame_id(contact.frame) for contact in self.contacts]
        self._sensors = [robot.frame_id(contact.wrench_frame) for contact in self.contacts]
        if self.estimates_forces:
            limbs = _limbs(robot, self.contacts, torque_joints)
            width = max(len(limb) for limb in limbs)
            # Limbs with fewer joints are padded with a dummy joint whose torque and levers are zero.
            self._limbs = np.full((len(limbs), width), robot.n_joints)
            for i, limb in enumerate(limbs):
                self._limbs[i, : len(limb)] = limb
            self._rows = np.arange(len(limbs))[:, None]
            self._levers = np.zeros((len(limbs), robot.n_joints + 1, 3))
            self._excess = np.zeros(robot.n_joints + 1)

    def measure(
        self, R_WB: Array, q: Array, tau: Array | None = None, wrenches_F: Array | None = None
    ) -> StaticMeasurement:
        """Measure once, at rest.

        Args:
            R_WB: Orientation of the base, shape (3, 3); its yaw has no effect.
            q: Joint positions in the model's order [rad], shape (n_joints,).
            tau: Joint torques [Nm], shape (n_joints,); needed where forces are estimated.
            wrenches_F: Force then torque of the ground about each wrench frame's origin, in its axes
                [N, Nm], shape (n_contacts, 6); needed where forces are measured.

        Returns:
            Points and forces, axes parallel to the world's.

        Raises:
            MeasurementError: If a required input is missing, has another shape, or is not finite.
        """
        needed, shape = (tau, (len(q),)) if self.estimates_forces else (wrenches_F, (len(self.contacts), 6))
        given = self._checked(needed, shape, R_WB, q)
        model, data = self._model, self._data
        configuration = self._robot.configuration(q)
        configuration[3:7] = quaternion_from_rotation(R_WB)
        pin.centerOfMass(model, data, configuration, False)
        points = np.array([pin.updateFramePlacement(model, data, f).translation for f in self._points])
        moment: Array = np.zeros(3)
        singular: tuple[str, ...] = ()
        if self.estimates_forces:
            forces, singular = self._estimated(configuration, given)
        else:
            forces, moment = self._measured(points, given)
        return StaticMeasurement(
            R_WB,
            points,
            forces,
            self.legs_mass,
            data.com[0].copy(),
            moment,
            self._gravity,
            singular,
            self._silent(given) if self.estimates_forces else (),
        )

    def _silent(self, tau: Array) -> tuple[str, ...]:
        if tau.all():
            return ()
        read = np.append(tau, 0.0)[self._limbs].any(axis=1)
        return tuple(c.name for c, some in zip(self.contacts, read, strict=True) if not some)

    def _estimated(self, configuration: Array, tau: Array) -> tuple[Array, tuple[str, ...]]:
        """Return the forces by J' f = g - tau of each limb, and the contacts with a singular limb."""
        model, data = self._model, self._data
        gravity = pin.computeGeneralizedGravity(model, data, configuration)
        np.subtract(gravity[6:], tau, out=self._excess[:-1])
        pin.computeJointJacobians(model, data)
        for i, frame in enumerate(self._points):
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            self._levers[i, :-1] = J[:3, 6:].T
        A = self._levers[self._rows, self._limbs]
        return self._solved(A, self._excess[self._limbs])

    def _solved(self, A: Array, b: Array) -> tuple[Array, tuple[str, ...]]:
        """Solve A f = b limb by limb, shapes (n, k, 3) and (n, k), and name the singular ones."""
        if A.shape[1] == POINT_UNKNOWNS:
            try:
                inverse = linear_algebra.inv(A)
            except NumericalError:
                inverse = np.full(A.shape, np.inf)
            condition = (A * A).sum(axis=(1, 2)) * (inverse * inverse).sum(axis=(1, 2))
            if condition.max() < LEAST_LEVER**-2:  # no less than the squared ratio of the levers
                return np.matmul(inverse, b[:, :, None])[:, :, 0], ()
        U, s, Vt = linear_algebra.svd(A, full_matrices=False)
        weak = s < LEAST_LEVER * s[:, :1]
        share = np.matmul(b[:, None, :], U)[:, 0, :] / np.where(weak, np.inf, s)
        forces: Array = np.matmul(share[:, None, :], Vt)[:, 0, :]
        return forces, tuple(c.name for c, row in zip(self.contacts, weak, strict=True) if row.any())

    def _measured(self, points: Array, wrenches_F: Array) -> tuple[Array, Array]:
        """Return the forces and the sum of their moments about the contact points."""
        forces, moment = [], ZERO
        for frame, point, wrench in zip(self._sensors, points.tolist(), wrenches_F, strict=True):
            T_WC = pin.updateFramePlacement(self._model, self._data, frame)
            force, torque = (T_WC.rotation @ wrench.reshape(2, 3).T).T.tolist()
            lever = combine(vector(T_WC.translation.tolist()), -1.0, point)
            moment = add(moment, add(torque, cross(lever, force)))
            forces.append(force)
        return np.array(forces), np.array(moment)

    def _checked(self, needed: Array | None, shape: tuple[int, ...], R_WB: Array, q: Array) -> Array:
        what = "joint torques" if self.estimates_forces else "wrenches of the contacts"
        if len(q) != self._robot.n_joints:
            raise MeasurementError(f"{len(q)} joint positions, expected {self._robot.n_joints}")
        if not math.isfinite(float(q.sum() + R_WB.sum())):
            raise MeasurementError(f"joint positions or orientation are not finite: {q}, {R_WB}")
        if needed is None:
            raise MeasurementError(f"no {what}, from which the ground reaction forces are computed")
        if needed.shape != shape:
            raise MeasurementError(f"{what} of shape {needed.shape}, expected {shape}")
        if not np.isfinite(needed).all():
            raise MeasurementError(f"{what} are not finite: {needed}")
        return needed


def net_force(measurement: StaticMeasurement) -> Array:
    """Return the total ground reaction force F = sum f_i [N], shape (3,)."""
    return np.array(_resultant(measurement)[0])


def robot_mass(measurement: StaticMeasurement) -> float:
    """Return the mass the ground carries, m = sum f_z / g [kg] (T 7)."""
    return float(measurement.forces_W[:, 2].sum()) / measurement.gravity


def trunk_mass(measurement: StaticMeasurement) -> float:
    """Return the mass of the trunk's body, m_tr = m - m_l [kg]; not positive if the feet carry too little."""
    return robot_mass(measurement) - measurement.legs_mass


def unexplained_moment(measurement: StaticMeasurement, trunk_com_B: Array, trunk_mass: float) -> Array:
    """Return r = mu - c x F, the moment of the ground about an assumed centre of mass (T 8).

    m c = m_tr c_tr + m_l c_l. It is zero at rest where c is the robot's. Otherwise the ground forces
    rotate the robot about c: r > 0 about x means that the true centre of mass is farther along y, r > 0
    about y that it is less far along x.

    Args:
        measurement: At rest.
        trunk_com_B: Assumed centre of mass of the trunk, base frame [m], shape (3,).
        trunk_mass: Mass of the trunk [kg].

    Returns:
        Moment, axes parallel to the world's [Nm], shape (3,).
    """
    legs = measurement.legs_mass
    c = (trunk_mass * (measurement.R_WB @ trunk_com_B) + legs * measurement.legs_com_W) / (trunk_mass + legs)
    F, mu = _resultant(measurement)
    return np.array(combine(mu, -1.0, cross(vector(c.tolist()), F)))


def robot_com_across_gravity(measurement: StaticMeasurement) -> Array:
    """Return the part of the robot's centre of mass across the ground's force, c = F x mu / F'F (T 17).

    It solves c x F = mu with the least norm. The part along F (gravity) is not observable and zero.

    Returns:
        Relative to the base origin, axes parallel to the world's [m], shape (3,).

    Raises:
        MeasurementError: If the ground carries nothing.
    """
    F, mu = _resultant(measurement)
    square = dot(F, F)
    if not square > 0.0:
        raise MeasurementError("the ground carries no force; expected at least two loaded feet")
    return np.array(combine(ZERO, 1.0 / square, cross(F, mu)))


def trunk_com_across_gravity(measurement: StaticMeasurement, trunk_mass: float) -> Array:
    """Return the part of the trunk's centre of mass across gravity (T 11, 17).

    m_tr c_tr = m c - m_l c_l with m = m_tr + m_l, taken across the vertical. What lies along it is not
    observable in one pose and left out: R_WB of the result has no vertical component.

    Args:
        measurement: At rest.
        trunk_mass: Mass of the trunk [kg].

    Returns:
        Base frame [m], shape (3,).

    Raises:
        MeasurementError: If the ground carries nothing or the trunk's mass is not positive.
    """
    if not trunk_mass > 0.0:
        raise MeasurementError(f"mass of the trunk is {trunk_mass:.3g} kg, expected a positive one")
    legs = measurement.legs_mass
    whole = (trunk_mass + legs) * robot_com_across_gravity(measurement)
    c_W = (whole - legs * measurement.legs_com_W) / trunk_mass
    c_W[2] = 0.0
    com: Array = measurement.R_WB.T @ c_W
    return com


def _resultant(measurement: StaticMeasurement) -> tuple[Vector, Vector]:
    """Return F = sum f_i [N] and mu = sum p_i x f_i [Nm]."""
    F, mu = ZERO, vector(measurement.moment_W.tolist())
    for point, force in zip(measurement.points_W.tolist(), measurement.forces_W.tolist(), strict=True):
        F, mu = add(F, force), add(mu, cross(point, force))
    return F, mu


def _estimates(ground_forces: str) -> bool:
    if ground_forces not in ("estimated", "measured"):
        raise ConfigurationError(f"ground_forces is '{ground_forces}', expected 'estimated' or 'measured'")
    return ground_forces == "estimated"


def _check_base(robot: RobotModel, contacts: Sequence[ContactFrames], trunk_link: str) -> None:
    if not robot.floating_base:
        raise ConfigurationError("the trunk of a robot on legs is a floating base, this base is fixed")
    if not contacts:
        raise ConfigurationError("no contacts are given; a legged robot stands on two or more")
    if robot.link_body(trunk_link).joint_id != BASE_JOINT:
        fixed = [link for link in robot.link_names if robot.link_body(link).joint_id == BASE_JOINT]
        raise ConfigurationError(
            f"trunk '{trunk_link}' moves against the base, expected a link fixed to it: {listing(fixed)}"
        )


def _limbs(
    robot: RobotModel, contacts: Sequence[ContactFrames], torque_joints: Sequence[str]
) -> list[list[int]]:
    """Return the measured joints between the base and each contact, by their positions in the robot's."""
    measured = set(robot.joints_matching(torque_joints, "the joints whose torque is measured"))
    owner: dict[int, str] = {}
    limbs = []
    for contact in contacts:
        joint = robot.model.frames[robot.frame_id(contact.frame)].parentJoint
        names = [robot.model.names[j] for j in robot.model.supports[joint] if j > BASE_JOINT]
        joints = [robot.joint_index(name) for name in names]
        limb = [j for j in joints if j in measured]
        if len(limb) < POINT_UNKNOWNS:
            raise ConfigurationError(
                f"the limb of contact '{contact.name}' has {len(limb)} joints whose torque is measured, of "
                f"{listing(names)}; expected {POINT_UNKNOWNS} or more to determine its force"
            )
        if len(limb) >= SOLE_UNKNOWNS:
            raise ConfigurationError(
                f"the limb of contact '{contact.name}' has {len(limb)} joints and may stand on a sole, which "
                "also transmits a moment; expected a point foot with fewer, or 'ground_forces' measured"
            )
        for j in joints:
            if j in owner:
                raise ConfigurationError(
                    f"contacts '{owner[j]}' and '{contact.name}' share joint '{robot.joint_names[j]}', "
                    "expected one contact per limb to determine their forces from joint torques"
                )
            owner[j] = contact.name
        limbs.append(limb)
    return limbs
