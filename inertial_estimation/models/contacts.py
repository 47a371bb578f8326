"""Contacts: their kinematics relative to the IMU, their weights by force, the velocity they give.

A contact point fixed in the world, at r_i in the IMU frame and moving at r_i' there, determines the velocity
of the IMU: y_v,i = -(r_i' + w x r_i). The moving anchor of (B 12), p_a = sum s_i p_i with weights s_i >= 0 of
sum 1, gives y_v = sum s_i y_v,i: the derivatives of the weights cancel.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Matrix,
    Vector,
    add,
    combine,
    cross,
    matrix,
    times,
    vector,
)

__all__ = [
    "ContactConfig",
    "ContactKinematics",
    "ContactLoad",
    "ContactTrigger",
    "KinematicState",
    "RelativeContact",
    "anchor_velocity",
    "centre_of_pressure",
    "normalised_weights",
]

SOLE_JOINTS = 6  # joints from which a leg can place its foot in any pose


@dataclass(frozen=True)
class ContactConfig:
    """When a contact is used, and which point of it is at rest."""

    force_on: float = parameter(
        50.0, "Vertical force above which a contact comes into use.", unit="N", lower=0.1, runtime=True
    )
    force_off: float = parameter(
        30.0,
        "Vertical force below which a contact is no longer used; its weight decreases to zero there.",
        unit="N",
        lower=0.0,
        runtime=True,
    )
    point: str = parameter(
        "origin",
        "Point of a contact that is assumed at rest: the origin of its frame, or the centre of pressure.",
        choices=("origin", "centre_of_pressure"),
        runtime=True,
    )
    extent: float = parameter(
        0.1,
        "Largest distance of the centre of pressure from the origin of the contact frame, along each axis.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    velocity: str = parameter(
        "joint_velocity",
        "Source of the contact velocities: joint velocities, or differences of joint positions.",
        choices=("joint_velocity", "position_difference"),
        runtime=True,
    )


@dataclass(frozen=True, slots=True)
class RelativeContact:
    """One contact relative to the IMU, in the IMU frame.

    Attributes:
        R_IC: Orientation of the contact frame.
        r_I: Position of its origin [m].
        v_I: Velocity of its origin relative to the IMU [m/s].
        w_I: Angular velocity relative to the IMU [rad/s].
        R_CF: Orientation of the wrench frame in the contact frame.
        p_CF: Position of the wrench frame in the contact frame [m].
    """

    R_IC: Matrix
    r_I: Vector
    v_I: Vector
    w_I: Vector
    R_CF: Matrix
    p_CF: Vector


@dataclass(frozen=True, slots=True)
class ContactLoad:
    """Contact point, ground reaction force and weight of one contact, in the base frame.

    Attributes:
        name: Name of the contact.
        point_B: The point of the contact that is taken to be at rest, base frame [m].
        force_B: Force of the ground on the robot, base frame [N].
        weight: Share of the contact in the velocity of the base; 0: not in use.
    """

    name: str
    point_B: Vector
    force_B: Vector
    weight: float


@dataclass(frozen=True, slots=True)
class KinematicState:
    """Contacts and base relative to the IMU at one instant.

    Attributes:
        contacts: One entry per contact, in the configured order.
        R_BI: Orientation of the IMU in the base.
        p_BI: Position of the IMU in the base [m].
        v_BI_B: Velocity of the IMU relative to the base, base frame [m/s].
        w_BI_B: Angular velocity of the IMU relative to the base, base frame [rad/s].
    """

    contacts: tuple[RelativeContact, ...]
    R_BI: Matrix
    p_BI: Vector
    v_BI_B: Vector
    w_BI_B: Vector


@dataclass(frozen=True, slots=True)
class _ImuMotion:
    """Pose and spatial velocity (IMU axes) of the IMU relative to the base, also as numpy arrays."""

    T_BI: pin.SE3
    V_BI_I: pin.Motion
    R_BI: Matrix
    p_BI: Vector
    v_BI_B: Vector
    w_BI_B: Vector


class ContactKinematics:
    """Forward kinematics of all contacts in one pass, over the joints between base, IMU and contacts.

    Attributes:
        joints: Indices, in the robot's joint order, of the joints that move the IMU or a contact.
        soles: Whether each contact is moved by at least six joints, which can keep it from turning.
    """

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames], imu: ImuMount) -> None:
        """Look up all frames and lock the joints that move none of them.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        names = [contact.frame for contact in contacts]
        for name in names:
            robot.frame_id(name)
        chain = _supporting_joints(robot, (imu.frame, *names))
        self.soles = tuple(len(_supporting_joints(robot, (name,))) >= SOLE_JOINTS for name in names)
        locked = [name for name in robot.joint_names if name not in chain]
        self.joints = np.array([i for i, name in enumerate(robot.joint_names) if name in chain], dtype=int)
        self._robot = _locked(robot, locked)
        model = self._robot.model
        self._data = model.createData()
        self._v = np.zeros(model.nv)
        self._n_base = self._robot.n_base
        self._imu_id = self._robot.frame_id(imu.frame)
        self._contact_ids = [self._robot.frame_id(name) for name in names]
        wrench_poses = [robot.fixed_transform(c.frame, c.wrench_frame) for c in contacts]
        self._wrench_frames = [(matrix(T.rotation), vector(T.translation)) for T in wrench_poses]
        pin.forwardKinematics(model, self._data, pin.neutral(model), self._v)
        imu_fixed = not _supporting_joints(robot, (imu.frame,))
        self._fixed_imu = self._imu_motion() if imu_fixed else None

    def update(self, q: Array, v: Array) -> KinematicState:
        """Compute poses and velocities of all contacts relative to the IMU.

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
            v: Joint velocities [rad/s or m/s], shape (n_joints,).

        Returns:
            The kinematic state.
        """
        model, data = self._robot.model, self._data
        self._v[self._n_base :] = v[self.joints]
        pin.forwardKinematics(model, data, self._robot.configuration(q[self.joints]), self._v)
        imu = self._fixed_imu or self._imu_motion()
        contacts = [
            _relative_motion(imu, *self._frame_motion(frame_id), wrench_frame)
            for frame_id, wrench_frame in zip(self._contact_ids, self._wrench_frames, strict=True)
        ]
        return KinematicState(tuple(contacts), imu.R_BI, imu.p_BI, imu.v_BI_B, imu.w_BI_B)

    def _frame_motion(self, frame_id: int) -> tuple[pin.SE3, pin.Motion]:
        """Pose of a frame in the base, and its spatial velocity relative to the base, its own axes."""
        T_BF = pin.updateFramePlacement(self._robot.model, self._data, frame_id)
        return T_BF, pin.getFrameVelocity(self._robot.model, self._data, frame_id)

    def _imu_motion(self) -> _ImuMotion:
        T_BI, V_BI_I = self._frame_motion(self._imu_id)
        R_BI, p_BI = _rotation_and_translation(T_BI)
        vx, vy, vz, wx, wy, wz = V_BI_I.vector.tolist()
        v_BI_B, w_BI_B = times(R_BI, (vx, vy, vz)), times(R_BI, (wx, wy, wz))
        return _ImuMotion(T_BI.copy(), V_BI_I, R_BI, p_BI, v_BI_B, w_BI_B)


class ContactTrigger:
    """Schmitt trigger whose weight is a continuous function of force.

    A contact comes into use above `force_on` and goes out of use below `force_off`. Its weight is
    max(0, f - theta). The threshold theta starts at `force_on` and decreases to `force_off` while the force
    rises by the same amount above `force_on`. The weight therefore rises from zero, returns to zero at
    `force_off` at the latest, and is continuous wherever the force is.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Take the contact out of use."""
        self.closed = False
        self._threshold = 0.0

    def weight(self, force: float, force_on: float, force_off: float) -> float:
        """Return the weight at a vertical force.

        Args:
            force: Vertical force, the ground pushing up positive [N].
            force_on: Force above which the contact comes into use [N].
            force_off: Force below which it goes out of use [N]; at most `force_on`.

        Returns:
            Weight [N], zero or positive.
        """
        force_off = min(force_off, force_on)
        if self.closed and force <= force_off:
            self.closed = False
        elif not self.closed and force > force_on:
            self.closed = True
            self._threshold = force_on
        if not self.closed:
            return 0.0
        self._threshold = max(force_off, min(self._threshold, 2.0 * force_on - force))
        return max(0.0, force - self._threshold)


def normalised_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Scale weights to sum 1; all zero where no contact is in use."""
    total = sum(weights)
    return tuple(w / total for w in weights) if total > 0.0 else (0.0,) * len(weights)


def centre_of_pressure(wrench_C: Sequence[float], extent: float, last: Vector = ZERO) -> Vector:
    """Return the point of the sole about which the contact's horizontal torque vanishes.

    With force f and torque n about the origin: x = -n_y / f_z, y = n_x / f_z, in the contact frame.

    Args:
        wrench_C: Force and torque in the contact frame [N, Nm].
        extent: Farthest it may lie from the origin along each axis [m].
        last: Last centre of pressure, contact frame [m].

    Returns:
        Position in the contact frame [m]; `last` where f_z is not positive: a foot that tips until the force
        lies in its plane still stands on the edge it tipped over.
    """
    f_z = wrench_C[2]
    if f_z <= 0.0:
        return last
    x, y = -wrench_C[4] / f_z, wrench_C[3] / f_z
    return max(-extent, min(extent, x)), max(-extent, min(extent, y)), 0.0


def anchor_velocity(
    points: Sequence[Vector], velocities: Sequence[Vector], weights: Sequence[float], w_I: Vector
) -> Vector:
    """Return the velocity of the IMU from contact points at rest (B 12).

    y_v = -sum_i s_i (r_i' + w x r_i).

    Args:
        points: Positions of the contact points in the IMU frame [m].
        velocities: Their velocities relative to the IMU [m/s].
        weights: Weights of sum 1.
        w_I: Angular velocity of the IMU [rad/s].

    Returns:
        Velocity of the IMU in its own frame [m/s].
    """
    r, v = ZERO, ZERO
    for point, velocity, weight in zip(points, velocities, weights, strict=True):
        r = combine(r, weight, point)
        v = combine(v, weight, velocity)
    x, y, z = add(v, cross(w_I, r))
    return -x, -y, -z


def _relative_motion(
    imu: _ImuMotion, T_BC: pin.SE3, V_BC_C: pin.Motion, wrench_frame: tuple[Matrix, Vector]
) -> RelativeContact:
    """Motion of a contact relative to the IMU, seen in the turning IMU frame.

    The spatial velocity X_IC V_BC - V_BI is taken at the IMU's origin; the contact is at r_I.
    """
    T_IC = imu.T_BI.actInv(T_BC)
    vx, vy, vz, wx, wy, wz = (T_IC.act(V_BC_C) - imu.V_BI_I).vector.tolist()
    R_IC, r_I = _rotation_and_translation(T_IC)
    w_I = (wx, wy, wz)
    v_I = add((vx, vy, vz), cross(w_I, r_I))
    return RelativeContact(R_IC, r_I, v_I, w_I, *wrench_frame)


def _rotation_and_translation(T: pin.SE3) -> tuple[Matrix, Vector]:
    """Both parts of a placement, by one call of Pinocchio."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), _last = T.homogeneous.tolist()
    return ((a, b, c), (d, e, f), (g, h, i)), (x, y, z)


def _supporting_joints(robot: RobotModel, frames: Sequence[str]) -> set[str]:
    """Names of the joints between the base and any of the frames."""
    model = robot.model
    moving = set(robot.joint_names)
    supports: set[str] = set()
    for frame in frames:
        joint = model.frames[robot.frame_id(frame)].parentJoint
        supports |= {model.names[j] for j in model.supports[joint]} & moving
    return supports


def _locked(robot: RobotModel, names: Sequence[str]) -> RobotModel:
    if not names:
        return robot
    ids = [robot.model.getJointId(name) for name in names]
    reduced = pin.buildReducedModel(robot.model, ids, pin.neutral(robot.model))
    return RobotModel(reduced, floating_base=robot.floating_base, base_link=robot.base_link)
