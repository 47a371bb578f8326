"""Contacts: where they are by the joint positions, and their forces from joint torques.

The momentum observer needs no acceleration and no inverse of the mass matrix.

With p = M(q) v, p' = C'v - g + S'tau + J'f, and the residual

    r = K (p - p(0) - int (C'v - g + S'tau + r) dt)

follows J'f with one pole: r' = K (J'f - r). Source: De Luca and Mattone, "Sensorless robot collision
detection and hybrid force/motion control" (2005), eq. (8); De Luca et al., "Collision detection and safe
reaction with the DLR-III lightweight manipulator arm" (2006), for a fixed base.

A floating base needs neither its velocity nor its tilt nor its angular acceleration: by the principle of
equivalence the equations hold in the frame that moves with a point of the base, the IMU, and does not turn.
In it that point is at rest, and gravity less its acceleration is a uniform field -f, with f the proper
acceleration that the accelerometer senses. So v = (v_B, w, q'), with v_B = -w x p_BI the velocity of the
base's origin and w the gyroscope's rate, and g is the inverse dynamics of f. Only the joints' rows are used.
Those of a limb contain the inertias of that limb alone: neither the trunk's mass nor a load on it has an
effect.

The wrenches at contacts follow limb by limb, J_i' w_i = r_i. Only the joints between the base and the contact
carry its wrench; those that another contact shares tell nothing of one alone and are left out. With three
joints the force at a point follows completely, with six the wrench at a sole; with fewer, or in a singular
posture, in the directions that move the joints. A stretched limb bears forces without torques: there the
force is not determined, and the estimate says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_config import ContactFrames, RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import skew

SOLE_JOINTS = 6  # of a limb of its own, from which it can place a sole in any pose, and determines a moment


class ContactView:
    """Forward kinematics over the joints between base, IMU and contacts alone; each update makes new arrays.

    Attributes:
        soles: Whether each contact is moved by six joints or more, which can keep it flat on the ground,
            shape (n,).
        points: Origins of the contact frames in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from each contact frame, shape (n, 3, 3).
        wrench_rotations: IMU frame from each wrench frame, shape (n, 3, 3).
        T_BI: Pose of the IMU in the base, homogeneous, shape (4, 4).
        imu_moves: Whether joints move the IMU relative to the base.
    """

    def __init__(self, setup: RobotSetup) -> None:
        """Resolve all frames.

        Args:
            setup: The robot, its contacts and its IMU.

        Raises:
            ConfigurationError: If the robot has no IMU.
        """
        robot, imu = setup.robot, setup.imu
        if imu is None:
            raise ConfigurationError("'imu_frame' is empty, expected the link of the IMU")
        frames = [contact.frame for contact in setup.contacts]
        self.soles = np.array([len(robot.joints_to(f)) >= SOLE_JOINTS for f in frames], dtype=bool)
        self.imu_moves = bool(robot.joints_to(imu.frame))
        self._mount, self._chain = _Chains(robot, [imu.frame]), _Chains(robot, frames)
        offsets = [robot.fixed_transform(c.frame, c.wrench_frame).rotation for c in setup.contacts]
        self._wrench_offsets = np.array(offsets).reshape(-1, 3, 3)
        self.points, self.rotations = np.zeros((len(frames), 3)), np.zeros((len(frames), 3, 3))
        self.wrench_rotations = self.rotations
        self.update(np.zeros(robot.n_joints))

    def update(self, q: Array) -> None:
        """Compute all poses.

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
        """
        self.update_imu(q)
        frames = self._chain.placements(q)
        if frames:
            p, R = np.array([T.translation for T in frames]), np.array([T.rotation for T in frames])
            self.points, self.rotations = (p - self.p_BI) @ self.R_BI, self.R_BI.T @ R
            self.wrench_rotations = self.rotations @ self._wrench_offsets

    def update_imu(self, q: Array) -> None:
        """Compute the pose of the IMU alone; those of the contacts stay. The argument is that of `update`."""
        self.T_BI: Array = self._mount.placements(q)[0].homogeneous

    @property
    def R_BI(self) -> Array:
        """Orientation of the IMU in the base, shape (3, 3)."""
        return self.T_BI[:3, :3]

    @property
    def p_BI(self) -> Array:
        """Position of the IMU in the base [m], shape (3,)."""
        return self.T_BI[:3, 3]

    @property
    def points_B(self) -> Array:
        """Origins of the contact frames in the base frame [m], shape (n, 3)."""
        points: Array = self.p_BI + self.points @ self.R_BI.T
        return points


class _Chains:
    """Kinematics of frames with the joints that move them alone, the others locked."""

    def __init__(self, robot: RobotModel, frames: Sequence[str]) -> None:
        self._joints = np.array(robot.joints_to(*frames), dtype=int)
        names = robot.joint_names
        self._robot = robot.without([name for j, name in enumerate(names) if j not in self._joints])
        self._model, self._data = self._robot.model, self._robot.model.createData()
        self._frames = [self._robot.frame_id(name) for name in frames]

    def placements(self, q: Array) -> list[pin.SE3]:
        """Return the poses of the frames in the base, views until the next call."""
        pin.forwardKinematics(self._model, self._data, self._robot.configuration(q[self._joints]))
        return [pin.updateFramePlacement(self._model, self._data, frame) for frame in self._frames]


LEAST_LEVER = 0.03  # smallest over largest lever of a limb [1]: a knee within about 9 deg of stretched
IN_REACH = 0.95  # least part of a direction that must move the joints for the force along it to be determined


@dataclass(frozen=True, slots=True, eq=False)
class BaseFrameMotion:
    """Motion of a floating base as an IMU senses it, in the axes of the base.

    Attributes:
        proper_acceleration_B: That of the IMU: one g upwards at rest [m/s^2], shape (3,).
        w_WB_B: Angular velocity [rad/s], shape (3,).
        v_B: Velocity of the origin of the base relative to the IMU, in axes that do not turn [m/s], shape
            (3,): -w x p_BI for an IMU on the base, zero at its origin.
    """

    proper_acceleration_B: Array
    w_WB_B: Array
    v_B: Array


class MomentumObserver:
    """Estimates the joint torques that the environment adds to those of the drives."""

    def __init__(self, robot: RobotModel, *, gain: float = 100.0, armature: Array | float = 0.0) -> None:
        """Prepare the models.

        Args:
            robot: The robot.
            gain: K [1/s]; the residual follows a step to 63 % in 1/K.
            armature: Rotor inertia seen at each joint [kg m^2], shape (n_joints,), or that of all joints.
        """
        self._armature = armature
        self._robot = robot
        self._gain = gain
        self._model = robot.model.copy()
        if robot.floating_base:
            self._model.gravity = pin.Motion.Zero()  # the proper acceleration contains it
        self._data = self._model.createData()
        self._v = np.zeros(self._model.nv)
        self._a = np.zeros(self._model.nv)
        self._integral: Array | None = None
        self._residual = np.zeros(robot.n_joints)

    @property
    def residual(self) -> Array:
        """Torques of the environment r [Nm], shape (n_joints,); zero before the first update."""
        return self._residual

    def reset(self) -> None:
        """Begin anew; until the next update the residual is zero."""
        self._integral = None
        self._residual = np.zeros(self._robot.n_joints)

    def update(self, q: Array, v: Array, tau: Array, dt: float, base: BaseFrameMotion | None = None) -> Array:
        """Take the readings at the end of one step.

        The step is implicit in r, hence stable for any gain: r = K (p - p(0) - I - beta dt) / (1 + K dt). The
        first update takes the momentum for constant, r = -beta.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
            tau: Torques that act on the bodies: measured ones less friction [Nm], shape (n_joints,).
            dt: Time since the last update [s]; of the first update it is not used.
            base: Motion of a floating base; None for a fixed one.

        Returns:
            r [Nm], shape (n_joints,).
        """
        momentum, rate = self._momentum(q, v, base)
        K, beta = self._gain, rate + tau
        if self._integral is None:
            self._residual = -beta
            self._integral = momentum + beta / K
            return self._residual
        self._integral = self._integral + dt * beta
        self._residual = K * (momentum - self._integral) / (1.0 + K * dt)
        self._integral = self._integral + dt * self._residual
        return self._residual

    def _momentum(self, q: Array, v: Array, base: BaseFrameMotion | None) -> tuple[Array, Array]:
        """Return the joints' rows of M v and of C'v - g, shape (n_joints,) each."""
        n = self._robot.n_base
        model, data = self._model, self._data
        configuration = self._robot.configuration(q)
        velocity, acceleration = self._v, self._a
        velocity[n:] = v
        if base is not None:
            velocity[:3], velocity[3:6] = base.v_B, base.w_WB_B
            acceleration[:3] = base.proper_acceleration_B
        M = pin.crba(model, data, configuration)
        momentum: Array = M[n:] @ velocity + self._armature * v
        C = pin.computeCoriolisMatrix(model, data, configuration, velocity)
        turned = C[n:] @ velocity + velocity @ C[:, n:]  # M' = C + C'
        bias = pin.rnea(model, data, configuration, velocity, acceleration)[n:]
        return momentum, turned - bias


@dataclass(frozen=True, slots=True, eq=False)
class LimbForces:
    """Wrenches of the environment at the contacts, in their order.

    Attributes:
        wrenches_F: Force then moment about the origin of each wrench frame, in its axes [N, Nm], shape
            (n, 6); zero in directions that are not determined.
        R_BF: Orientation of each wrench frame in the base, shape (n, 3, 3).
        directions_F: Orthonormal rows that span the directions determined, of force and moment about the
            contact, the others zero, shape (n, k, 6).
    """

    wrenches_F: Array
    R_BF: Array
    directions_F: Array

    def along(self, direction_B: Array) -> Array:
        """Return the forces along a direction [N], shape (n,), NaN where they are not determined.

        Args:
            direction_B: Unit vector, axes of the base, shape (3,).
        """
        direction_F = direction_B @ self.R_BF
        reached = np.matmul(self.directions_F[:, :, :3], direction_F[:, :, None])[:, :, 0]
        known = (reached * reached).sum(axis=1) > IN_REACH**2
        forces = (self.wrenches_F[:, :3] * direction_F).sum(axis=1)
        return np.where(known, forces, np.nan)


class ContactForces:
    """Turns the residual of a `MomentumObserver` into wrenches at contacts."""

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames]) -> None:
        """Find the limbs.

        Args:
            robot: The robot.
            contacts: The contacts; one with fewer than six joints of its own is a point.

        Raises:
            ConfigurationError: If no joint moves a contact, or all that do move others, too.
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        self._robot = robot
        self._data = robot.model.createData()
        limbs = _limbs(robot, contacts)
        # Limbs with fewer joints are padded with a dummy joint whose torque and levers are zero.
        self._limbs = np.full((len(limbs), max(map(len, limbs), default=0)), robot.n_joints)
        for i, limb in enumerate(limbs):
            self._limbs[i, : len(limb)] = limb
        self._rows = np.arange(len(limbs))[:, None]
        self._levers = np.zeros((len(limbs), robot.n_joints + 1, 6))
        self._torques = np.zeros(robot.n_joints + 1)
        frames = [robot.model.frames[robot.frame_id(contact.wrench_frame)] for contact in contacts]
        self._joints = [int(frame.parentJoint) for frame in frames]
        self._R_JF = [frame.placement.rotation for frame in frames]
        self._moments = np.array([_moments(robot, *pair) for pair in zip(contacts, limbs, strict=True)])
        inverses = [frame.placement.toActionMatrixInverse() for frame in frames]
        self._maps = [moment.T @ X for moment, X in zip(self._moments, inverses, strict=True)]

    def estimate(self, q: Array, residual: Array) -> LimbForces:
        """Return the wrench at each contact.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            residual: Torques of the environment [Nm], shape (n_joints,).
        """
        model, data, n = self._robot.model, self._data, self._robot.n_base
        pin.computeJointJacobians(model, data, self._robot.configuration(q))
        for levers, joint, X in zip(self._levers, self._joints, self._maps, strict=True):
            levers[:-1] = (X @ pin.getJointJacobian(model, data, joint, pin.LOCAL))[:, n:].T
        self._torques[:-1] = residual
        unknowns, directions = _solved(self._levers[self._rows, self._limbs], self._torques[self._limbs])
        wrenches = np.matmul(self._moments, unknowns[:, :, None])[:, :, 0]
        pairs = zip(self._joints, self._R_JF, strict=True)
        return LimbForces(wrenches, np.array([data.oMi[j].rotation @ R for j, R in pairs]), directions)


def _limbs(robot: RobotModel, contacts: Sequence[ContactFrames]) -> list[list[int]]:
    """Return the joints that move each contact and no other."""
    chains = [robot.joints_to(contact.frame) for contact in contacts]
    limbs = []
    for contact, chain in zip(contacts, chains, strict=True):
        own = [j for j in chain if sum(j in other for other in chains) == 1]
        if not own:
            names = listing(robot.joint_names[j] for j in chain)
            why = f"shares all its joints ({names}) with others" if chain else "is moved by no joint"
            raise ConfigurationError(
                f"the contact '{contact.name}' {why}; its force does not follow from torques"
            )
        limbs.append(own)
    return limbs


def _moments(robot: RobotModel, contact: ContactFrames, limb: Sequence[int]) -> Array:
    """Return the wrench in the wrench frame of each unknown, shape (6, 6).

    The unknowns are force and moment there; of a point the moment about the contact is zero.
    """
    if len(limb) >= SOLE_JOINTS:
        return np.eye(6)
    wrench: Array = np.zeros((6, 6))
    wrench[:3, :3] = np.eye(3)
    wrench[3:, :3] = skew(robot.fixed_transform(contact.wrench_frame, contact.frame).translation)
    return wrench


def _solved(A: Array, r: Array) -> tuple[Array, Array]:
    """Solve A u = r limb by limb in the directions in which A is large enough.

    Args:
        A: Shape (n, k, 6).
        r: Shape (n, k).

    Returns:
        u, shape (n, 6), and those directions, shape (n, k, 6), zero where A is not.
    """
    U, s, Vt = linear_algebra.svd(A, full_matrices=False)
    strong = (s > LEAST_LEVER * s[:, :1]) & (s > 0.0)
    directions = np.where(strong[:, :, None], Vt, 0.0)
    shares = np.matmul(r[:, None, :], U)[:, 0, :] / np.where(strong, s, 1.0)
    return np.matmul(shares[:, None, :], directions)[:, 0, :], directions
