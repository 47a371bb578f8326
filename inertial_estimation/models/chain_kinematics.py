"""Poses of frames relative to a reference frame, and how they move with the joints and their placements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import skews


@dataclass(frozen=True, slots=True, eq=False)
class FramePoses:
    """Poses of F frames in the reference S at K configurations, with derivatives.

    A derivative with respect to a rotation is the vector w with dR = S(w) R, in axes of S.
    """

    R_SF: Array  # orientations, shape (K, F, 3, 3)
    p_SF: Array  # positions [m], shape (K, F, 3)
    dR: Array  # derivatives of the orientations by the joints, shape (K, F, 3, n)
    dp: Array  # derivatives of the positions by the joints, shape (K, F, 3, n)
    dR_twist: Array  # by the placement twists, shape (K, F, 3, 6 n); empty if not requested
    # derivatives of the positions by the placement twists, shape (K, F, 3, 6 n); empty if not requested
    dp_twist: Array


class ChainKinematics:
    """Poses of frames in a reference frame as functions of joint positions and of placement twists.

    The placement of joint j in its parent becomes M_j exp(xi_j): xi_j (linear, angular) is the placement
    error of the joint's frame.

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
            frames: Frames whose poses are computed.
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
        above = set(robot.joints_to(reference))
        moving = {j for frame in self.frames for j in above.symmetric_difference(robot.joints_to(frame))}
        self.moving = tuple(robot.joint_names[j] for j in sorted(moving))
        if not self.moving:
            raise ConfigurationError(f"no joint moves {listing(self.frames)} relative to '{reference}'")
        self.joints = self.moving if joints is None else tuple(joints)
        self._index = np.array([robot.joint_index(name) for name in self.joints], dtype=int)
        self._joint_ids = [int(robot.model.getJointId(name)) for name in self.joints]
        self._columns = np.array([robot.model.idx_vs[j] for j in self._joint_ids], dtype=int)
        chains = [robot.joints_to(frame) for frame in (*self.frames, reference)]
        self._supported = np.array([np.isin(self._index, chain) for chain in chains])

    @property
    def prismatic(self) -> tuple[bool, ...]:
        """Which of `joints` are prismatic, so that their positions are lengths."""
        return tuple(j not in self.robot.turning_joints for j in self._index)

    def placement_basis(self) -> Array:
        """Return the placement errors of each joint that its position offset cannot represent.

        Returns:
            Directions of the twist (linear, angular), orthonormal, shape (n, 5, 6).
        """
        bases = []
        for joint, prismatic in zip(self._joint_ids, self.prismatic, strict=True):
            axis, turns = self._axis(joint), not prismatic
            free = linear_algebra.svd((axis[3:] if turns else axis[:3])[None])[2][1:]
            basis = np.zeros((5, 6))
            basis[:2, slice(3, 6) if turns else slice(0, 3)] = free
            basis[2:, slice(0, 3) if turns else slice(3, 6)] = np.eye(3)
            bases.append(basis)
        return np.array(bases)

    def _axis(self, joint: int) -> Array:
        """Return the motion of a joint in its own frame (linear, angular), shape (6,)."""
        model = self.robot.model.joints[joint]
        data = model.createData()
        model.calc(data, pin.neutral(self.robot.model))  # of all joints: it takes its own part of it
        return np.asarray(data.S).reshape(6)

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
        ids = (*self._frame_ids, self._reference_id)
        R_B, p_B = np.empty((len(q), len(ids), 3, 3)), np.empty((len(q), len(ids), 3))
        J_B = np.empty((len(q), len(ids), 6, len(self.joints)))
        at_joints = np.empty((len(q), len(self.joints), 6, 6))
        for k, row in enumerate(q):
            moved = np.array(row)
            moved[self._index] += offsets
            pin.computeJointJacobians(model, data, self.robot.configuration(moved))
            pin.updateFramePlacements(model, data)
            for f, frame in enumerate(ids):
                R_B[k, f], p_B[k, f] = data.oMf[frame].rotation, data.oMf[frame].translation
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
                J_B[k, f] = J[:, self._columns]
            if twists is not None:
                for j, joint in enumerate(self._joint_ids):
                    parent = int(model.parents[joint])
                    at_joints[k, j] = (data.oMi[parent] * model.jointPlacements[joint]).action
        R_SF, p_SF, dR, dp = _relative(R_B, p_B, J_B)
        none = np.empty((*dR.shape[:3], 0))
        if twists is None:
            return FramePoses(R_SF, p_SF, dR, dp, none, none)
        right = np.array([pin.Jexp6(xi) for xi in twists])
        J_twist = _twist_columns(p_B, at_joints @ right, self._supported)
        return FramePoses(R_SF, p_SF, dR, dp, *_relative(R_B, p_B, J_twist)[2:])

    def _displaced(self, twists: Array) -> pin.Model:
        model = self.robot.model.copy()
        for joint, xi in zip(self._joint_ids, twists, strict=True):
            model.jointPlacements[joint] = model.jointPlacements[joint] * pin.exp6(np.asarray(xi))
        return model


def _twist_columns(p_B: Array, twists_B: Array, supported: "np.ndarray[Any, np.dtype[np.bool_]]") -> Array:
    """Velocities (linear, angular; base axes) of F + 1 frames by n placement twists.

    Args:
        p_B: Origins of the frames, shape (K, F + 1, 3).
        twists_B: Spatial velocities at the base's origin, shape (K, n, 6, 6).
        supported: Whether a joint carries a frame, shape (F + 1, n).

    Returns:
        Shape (K, F + 1, 6, 6 n).
    """
    spatial = (
        np.moveaxis(twists_B, 1, 2).reshape(len(twists_B), 1, 6, -1)
        * np.repeat(supported, 6, axis=1)[None, :, None]
    )
    spatial[:, :, :3] -= skews(p_B) @ spatial[:, :, 3:]  # v + w x p
    return spatial


def _relative(R_B: Array, p_B: Array, J_B: Array) -> tuple[Array, Array, Array, Array]:
    """Turn poses and velocities in the base into those relative to the reference, the last frame."""
    R_SB = np.swapaxes(R_B[:, -1:], 2, 3)
    arm = p_B[:, :-1] - p_B[:, -1:]
    w = J_B[:, :-1, 3:] - J_B[:, -1:, 3:]
    v = J_B[:, :-1, :3] - J_B[:, -1:, :3] + skews(arm) @ J_B[:, -1:, 3:]
    return R_SB @ R_B[:, :-1], (R_SB @ arm[..., None])[..., 0], R_SB @ w, R_SB @ v
