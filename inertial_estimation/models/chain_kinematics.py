"""Poses of frames relative to a reference frame, and how they move with the joints and their placements."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel
from inertial_estimation.signals import Array

__all__ = ["ChainKinematics", "FramePoses"]


@dataclass(frozen=True, slots=True, eq=False)
class FramePoses:
    """Poses of F frames in the reference S at K configurations, with derivatives.

    A derivative with respect to a rotation is the vector w with dR = S(w) R, in axes of S.

    Attributes:
        R_SF: Orientations, shape (K, F, 3, 3).
        p_SF: Positions [m], shape (K, F, 3).
        dR: Derivatives of the orientations by the joints, shape (K, F, 3, n).
        dp: Derivatives of the positions by the joints, shape (K, F, 3, n).
        dR_twist: By the placement twists, shape (K, F, 3, 6 n); empty where not asked for.
        dp_twist: Likewise of the positions.
    """

    R_SF: Array
    p_SF: Array
    dR: Array
    dp: Array
    dR_twist: Array
    dp_twist: Array


class ChainKinematics:
    """Poses of frames in a reference frame as functions of joint positions and of placement twists.

    The placement of joint j in its parent becomes M_j exp(xi_j): xi_j (linear, angular) is what is wrong
    with the frame the joint turns in.

    Attributes:
        robot: The model.
        reference: Name of the reference frame S.
        frames: Names of the frames F.
        joints: Names of the joints considered, n of them.
    """

    def __init__(
        self, robot: RobotModel, *, reference: str, frames: Sequence[str], joints: Sequence[str] | None = None
    ) -> None:
        """Resolve the names.

        Args:
            robot: The model.
            reference: Frame in which poses are expressed.
            frames: Frames whose poses are asked for.
            joints: Joints considered; None: those that move a frame relative to the reference.

        Raises:
            ~inertial_estimation.errors.ModelError: If a name does not exist.
            ConfigurationError: If no joint moves a frame.
        """
        self.robot = robot
        self.reference = reference
        self.frames = tuple(frames)
        self._reference_id = robot.frame_id(reference)
        self._frame_ids = [robot.frame_id(frame) for frame in self.frames]
        self.moving = self._moving_joints()
        if not self.moving:
            raise ConfigurationError(f"no joint moves {listing(self.frames)} relative to '{reference}'")
        self.joints = self.moving if joints is None else tuple(joints)
        self._index = np.array([robot.joint_index(name) for name in self.joints], dtype=int)
        self._joint_ids = [int(robot.model.getJointId(name)) for name in self.joints]
        self._columns = np.array([robot.model.idx_vs[j] for j in self._joint_ids], dtype=int)
        above = [self._supports(frame) for frame in (*self._frame_ids, self._reference_id)]
        self._supported = np.array([[j in ids for j in self._joint_ids] for ids in above])

    def placement_basis(self) -> Array:
        """Return the placement errors of each joint that its own offset cannot stand for.

        Returns:
            Directions of the twist (linear, angular), orthonormal, shape (n, 5, 6).
        """
        bases = []
        for joint in self._joint_ids:
            model = self.robot.model.joints[joint]
            data = model.createData()
            model.calc(data, pin.neutral(self.robot.model)[model.idx_q : model.idx_q + model.nq])
            axis = np.asarray(data.S).reshape(6)
            turns = float(np.abs(axis[3:]).max()) > 0.5
            free = np.linalg.svd((axis[3:] if turns else axis[:3])[None])[2][1:]
            basis = np.zeros((5, 6))
            basis[:2, slice(3, 6) if turns else slice(0, 3)] = free
            basis[2:, slice(0, 3) if turns else slice(3, 6)] = np.eye(3)
            bases.append(basis)
        return np.array(bases)

    def poses(self, q: Array, offsets: Array, twists: Array | None = None) -> FramePoses:
        """Return the poses at measured positions plus offsets.

        Args:
            q: Measured joint positions in the model's order [rad or m], shape (K, n_joints).
            offsets: Added to the positions of `joints`, shape (n,).
            twists: Placement twists of `joints`, shape (n, 6); None: zero, and no derivatives by them.

        Returns:
            Poses and derivatives.
        """
        model = self.robot.model if twists is None else self._displaced(twists)
        data = model.createData()
        n, count = len(self.joints), len(self._frame_ids)
        shape, width = (len(q), count, 3), 0 if twists is None else 6 * n
        R_SF, p_SF = np.empty((*shape, 3)), np.empty(shape)
        dR, dp = np.empty((*shape, n)), np.empty((*shape, n))
        dR_twist, dp_twist = np.empty((*shape, width)), np.empty((*shape, width))
        right = [] if twists is None else [pin.Jexp6(xi) for xi in twists]
        for k, row in enumerate(q):
            moved = np.array(row)
            moved[self._index] += offsets
            pin.computeJointJacobians(model, data, self.robot.configuration(moved))
            pin.updateFramePlacements(model, data)
            columns = self._frame_columns(model, data)
            R_SF[k], p_SF[k], dR[k], dp[k] = self._relative(data, columns)
            if twists is not None:
                columns = self._twist_columns(model, data, right)
                dR_twist[k], dp_twist[k] = self._relative(data, columns)[2:]
        return FramePoses(R_SF, p_SF, dR, dp, dR_twist, dp_twist)

    def _frame_columns(self, model: pin.Model, data: pin.Data) -> list[Array]:
        kind = pin.LOCAL_WORLD_ALIGNED
        ids = (*self._frame_ids, self._reference_id)
        return [pin.getFrameJacobian(model, data, i, kind)[:, self._columns] for i in ids]

    def _twist_columns(self, model: pin.Model, data: pin.Data, right: list[Array]) -> list[Array]:
        """Velocity (linear, angular; base axes) of each frame by the twist of each joint's placement."""
        columns = [np.zeros((6, 6 * len(right))) for _ in self._supported]
        for j, (joint, J_exp) in enumerate(zip(self._joint_ids, right, strict=True)):
            T_BJ = data.oMi[int(model.parents[joint])] * model.jointPlacements[joint]
            twist = T_BJ.action @ J_exp  # spatial velocity at the base's origin
            for f, frame in enumerate((*self._frame_ids, self._reference_id)):
                if self._supported[f, j]:
                    p = data.oMf[frame].translation
                    linear = twist[:3] + np.cross(twist[3:], p, axisa=0, axisc=0)
                    columns[f][:, 6 * j : 6 * j + 6] = np.vstack([linear, twist[3:]])
        return columns

    def _relative(self, data: pin.Data, columns: list[Array]) -> tuple[Array, Array, Array, Array]:
        """Turn poses and velocities in the base into those relative to the reference."""
        T_BS, J_S = data.oMf[self._reference_id], columns[-1]
        R_SB = T_BS.rotation.T
        R, p, dR, dp = [], [], [], []
        for frame, J in zip(self._frame_ids, columns[:-1], strict=True):
            T_BF = data.oMf[frame]
            arm = T_BF.translation - T_BS.translation
            R.append(R_SB @ T_BF.rotation)
            p.append(R_SB @ arm)
            dR.append(R_SB @ (J[3:] - J_S[3:]))
            dp.append(R_SB @ (J[:3] - J_S[:3] - np.cross(J_S[3:], arm, axisa=0, axisc=0)))
        return np.array(R), np.array(p), np.array(dR), np.array(dp)

    def _displaced(self, twists: Array) -> pin.Model:
        model = self.robot.model.copy()
        for joint, xi in zip(self._joint_ids, twists, strict=True):
            model.jointPlacements[joint] = model.jointPlacements[joint] * pin.exp6(np.asarray(xi))
        return model

    def _supports(self, frame: int) -> set[int]:
        joint = int(self.robot.model.frames[frame].parentJoint)
        supports: set[int] = set()
        while joint > 0:
            supports.add(joint)
            joint = int(self.robot.model.parents[joint])
        return supports

    def _moving_joints(self) -> tuple[str, ...]:
        reference = self._supports(self._reference_id)
        moving: set[int] = set()
        for frame in self._frame_ids:
            moving |= self._supports(frame) ^ reference
        if self.robot.floating_base:
            moving.discard(BASE_JOINT)
        names = [str(self.robot.model.names[j]) for j in sorted(moving)]
        return tuple(name for name in names if name in self.robot.joint_names)
