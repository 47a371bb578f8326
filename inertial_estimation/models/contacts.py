"""Contacts: their frames, where they are by the joint positions, and their forces from joint torques.

The momentum observer needs no acceleration and no inverse of the mass matrix.

With p = M(q) v, p' = C'v - g + S'tau + J'f, and the residual

    r = K (p - p(0) - int (C'v - g + S'tau + r) dt)

follows J'f with one pole: r' = K (J'f - r). Source: De Luca and Mattone, "Sensorless robot collision
detection and hybrid force/motion control" (2005), eq. (8).

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
from enum import Enum
from typing import Any

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

FORCE_JOINTS = 3  # of a limb of its own, which determine the force on its foot
WRENCH_JOINTS = 6  # of one that can place a sole in any pose, which determine its moment as well
LEAST_LEVER = 0.03  # smallest over largest lever of a limb [1]: knees within 9 deg of stretched, of soles 13
FOOT_SHARE = 0.035  # of the weight, from which a foot carries, or pulls where its force is downward
FALLEN_RAD = 1.0  # tilt of a base that no longer stands on its feet
IN_REACH = 0.95  # least part of a direction that must move the joints for the force along it to be determined


class WrenchAxes(Enum):
    """Axes in which the messages of a contact have its wrench."""

    SENSOR = "sensor"  # of the contact's wrench frame, about its origin
    BASE = "base"  # of the base, about the origin of the contact's wrench frame
    WORLD = "world"  # of the world, about it

    def in_base(self, vectors: Array, R_BF: Array) -> Array:
        """Return vectors in the axes of the base, where R_BF is the orientation of the wrench frame."""
        return vectors @ R_BF.T if self is WrenchAxes.SENSOR else vectors

    @classmethod
    def named(cls, frame: str, base_link: str) -> "WrenchAxes":
        """Return the axes that the name of a frame means: those of the base, of the world, or of a sensor."""
        if frame in (cls.BASE.value, base_link):
            return cls.BASE
        return cls.WORLD if frame in ("world", "map", "odom") else cls.SENSOR


@dataclass(frozen=True)
class ContactFrames:
    """One contact resolved against the model."""

    name: str
    frame: str
    wrench_frame: str
    axes: WrenchAxes = WrenchAxes.SENSOR


class ContactView:
    """Forward kinematics over the joints between base, IMU and contacts alone; each update makes new arrays.

    Attributes:
        soles: One for each contact that is moved by six joints or more, which can keep it flat on the ground,
            else zero, shape (n,).
        points: Origins of the contact frames in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from each contact frame, shape (n, 3, 3).
        offsets: Frame of each contact from its wrench frame, shape (n, 3, 3).
        T_BI: Pose of the IMU in the base, homogeneous, shape (4, 4).
        imu_moves: Whether joints move the IMU relative to the base.
    """

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames], imu: ImuMount | None) -> None:
        """Resolve all frames.

        Raises:
            ConfigurationError: If the robot has no IMU.
        """
        if imu is None:
            raise ConfigurationError("'imu_frame' is empty, expected the link of the IMU")
        frames = [contact.frame for contact in contacts]
        self.soles = np.array([len(robot.joints_to(f)) >= WRENCH_JOINTS for f in frames], dtype=float)
        self.imu_moves = bool(robot.joints_to(imu.frame))
        self._mount, self._chain = _Chains(robot, [imu.frame]), _Chains(robot, frames)
        offsets = [robot.fixed_transform(c.frame, c.wrench_frame).rotation for c in contacts]
        self.offsets: Array = np.array(offsets).reshape(-1, 3, 3)
        self.points, self.rotations = np.zeros((len(frames), 3)), np.zeros((len(frames), 3, 3))
        self.update_imu(np.zeros(robot.n_joints))
        self.update(np.zeros(robot.n_joints))

    def update(self, q: Array) -> None:
        """Compute all poses.

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
        """
        if self.imu_moves:
            self.update_imu(q)
        frames = self._chain.placements(q)
        if frames:
            T_BC, R_BI = np.array([T.homogeneous for T in frames]), self.R_BI
            self.points = (T_BC[:, :3, 3] - self.p_BI) @ R_BI
            self.rotations = np.matmul(R_BI.T, T_BC[:, :3, :3])

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


class MomentumObserver:
    """Estimates the joint torques that the environment adds to those of the drives."""

    def __init__(self, robot: RobotModel, *, gain: float) -> None:
        """Prepare the models; the residual follows a step to 63 % in 1/gain [s]."""
        self._robot, self._gain = robot, gain
        self._model = robot.model.copy()
        if robot.floating_base:
            self._model.gravity = pin.Motion.Zero()  # the proper acceleration contains it
        self._data = self._model.createData()
        self._integral = np.zeros(robot.n_joints)
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._integral[:] = np.nan

    def update(
        self, q: Array, v: Array, tau: Array, dt: float, base: tuple[Array, Array, Array] | None = None
    ) -> Array:
        """Take the readings at the end of one step; return r [Nm], shape (n_joints,).

        The step is implicit in r, hence stable for any gain: r = K (p - p(0) - I - beta dt) / (1 + K dt). The
        first update takes the momentum for constant, r = -beta, for a joint also the one after a torque of
        NaN, at which its r is NaN.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
            tau: Torques that act on the bodies: measured ones less friction [Nm], shape (n_joints,).
            dt: Time since the last update [s]; of the first update it is not used.
            base: Of a floating base: proper acceleration of the IMU, one g upwards at rest [m/s^2], angular
                velocity [rad/s] and position of the IMU [m], in base axes, shape (3,) each.
        """
        model, data, K = self._model, self._data, self._gain
        configuration = self._robot.configuration(q)
        n, velocity, acceleration = self._robot.n_base, v, np.zeros(model.nv)
        if base is not None:
            f_B, w_B, p_BI = base
            velocity, acceleration[:3] = np.concatenate((pin.skew(p_BI) @ w_B, w_B, v)), f_B
        momentum = pin.crba(model, data, configuration)[n:] @ velocity
        C = pin.computeCoriolisMatrix(model, data, configuration, velocity)
        rate = C[n:] @ velocity + velocity @ C[:, n:]  # M' v, as M' = C + C'
        beta = rate - pin.rnea(model, data, configuration, velocity, acceleration)[n:] + tau
        integral = self._integral + dt * beta
        begins = np.isnan(self._integral)
        residual: Array = np.where(begins, -beta, K * (momentum - integral) / (1.0 + K * dt))
        self._integral = np.where(begins, momentum + beta / K, integral + dt * residual)
        return residual


class ContactForces:
    """Turns torques of the environment, as the residual of a `MomentumObserver`, into forces at contacts.

    Attributes:
        limbs: Joints that move each contact and no other, shape (k,) each.
    """

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames]) -> None:
        """Find the limbs; a contact with fewer than six joints of its own is a point.

        Raises:
            ConfigurationError: If no joint moves a contact, or all that do move others, too.
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        self._robot, self._data = robot, robot.model.createData()
        self._frames = [robot.frame_id(contact.frame) for contact in contacts]
        self.limbs = _limbs(robot, contacts)

    def forces(self, q: Array, residual: Array) -> list[tuple[Array, Array]]:
        """Return the force at each contact and the forces of a basis of what the torques determine.

        As `limb_wrench`, in axes of the base; moments count over the mean lever of the limb, so that a short
        leg is as near to stretched as a long one.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            residual: Torques of the environment [Nm], shape (n_joints,).
        """
        model, data, n = self._robot.model, self._data, self._robot.n_base
        pin.computeJointJacobians(model, data, self._robot.configuration(q))
        found = []
        for frame, limb in zip(self._frames, self.limbs, strict=True):
            pin.updateFramePlacement(model, data, frame)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, n + limb]
            moving, turning = J[:3], J[3:]
            if len(limb) >= WRENCH_JOINTS:
                turns = max(float(np.linalg.norm(turning)), 1.0)  # sliding joints turn nothing
                moving = np.vstack((moving, np.linalg.norm(moving) / turns * turning))
            wrench, shown = limb_wrench(moving, residual[limb])
            found.append((wrench[:3], shown[:, :3]))
        return found

    def along(self, q: Array, residual: Array, direction_B: Array) -> Array:
        """Return the force along a direction at each contact [N], NaN where the torques do not determine it.

        Args:
            q: As of `forces`.
            residual: As of `forces`.
            direction_B: Unit vector, axes of the base, shape (3,).
        """
        forces = np.full(len(self.limbs), np.nan)
        for i, (force, shown) in enumerate(self.forces(q, residual)):
            if np.linalg.norm(shown @ direction_B) > IN_REACH:
                forces[i] = force @ direction_B
        return forces


def limb_wrench(J: Array, torques: Array) -> tuple[Array, Array]:
    """Return the smallest force, or wrench, with J'w = torques, and a basis of what the torques determine.

    Args:
        J: Jacobian of the contact by the joints of its limb, shape (3, k) or (6, k).
        torques: Torques of the environment at these joints [Nm], shape (k,).

    Returns:
        Force or wrench, shape (3,) or (6,), and orthonormal rows: a stretched limb has one less.
    """
    U, s, Vt = linear_algebra.svd(J.T, full_matrices=False)
    strong = s > LEAST_LEVER * s[0]
    return Vt[strong].T @ ((torques @ U[:, strong]) / s[strong]), Vt[strong]


def _limbs(
    robot: RobotModel, contacts: Sequence[ContactFrames]
) -> list["np.ndarray[Any, np.dtype[np.int64]]"]:
    """Return the joints that move each contact and no other, shape (k,) each."""
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
        limbs.append(np.array(own, dtype=np.int64))
    return limbs
