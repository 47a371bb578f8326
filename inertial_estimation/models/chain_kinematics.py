"""Poses of frames relative to a reference frame, and how they move with the joints."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
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


class ChainKinematics:
    """Poses of frames in a reference frame as functions of joint positions.

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
        ids = [robot.model.getJointId(name) for name in self.joints]
        self._columns = np.array([robot.model.idx_vs[j] for j in ids], dtype=int)
        self._model = robot.model

    @property
    def prismatic(self) -> tuple[bool, ...]:
        """Which of `joints` are prismatic, so that their positions are lengths."""
        return tuple(j not in self.robot.turning_joints for j in self._index)

    def displaced(self, joint: str, shift: Array) -> "ChainKinematics":
        """Return the kinematics with the placement of a joint moved in its parent [m]."""
        moved = copy.copy(self)
        moved._model = self._model.copy()
        moved._model.jointPlacements[moved._model.getJointId(joint)].translation += shift
        return moved

    def poses(self, q: Array, offsets: Array) -> FramePoses:
        """Return the poses at measured positions plus offsets.

        Args:
            q: Measured joint positions in the model's order [rad or m], shape (K, n_joints).
            offsets: Added to the positions of `joints`, shape (n,).

        Returns:
            Poses and derivatives.
        """
        model = self._model
        data = model.createData()
        ids = (*self._frame_ids, self._reference_id)
        R_B, p_B = np.empty((len(q), len(ids), 3, 3)), np.empty((len(q), len(ids), 3))
        J_B = np.empty((len(q), len(ids), 6, len(self.joints)))
        for k, row in enumerate(q):
            moved = np.array(row)
            moved[self._index] += offsets
            pin.computeJointJacobians(model, data, self.robot.configuration(moved))
            pin.updateFramePlacements(model, data)
            for f, frame in enumerate(ids):
                R_B[k, f], p_B[k, f] = data.oMf[frame].rotation, data.oMf[frame].translation
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
                J_B[k, f] = J.reshape(6, -1)[:, self._columns]
        return _relative(R_B, p_B, J_B)


def _relative(R_B: Array, p_B: Array, J_B: Array) -> FramePoses:
    """Turn poses and velocities in the base into those relative to the reference, the last frame."""
    R_SB = np.swapaxes(R_B[:, -1:], 2, 3)
    arm = p_B[:, :-1] - p_B[:, -1:]
    w = J_B[:, :-1, 3:] - J_B[:, -1:, 3:]
    v = J_B[:, :-1, :3] - J_B[:, -1:, :3] + skews(arm) @ J_B[:, -1:, 3:]
    return FramePoses(R_SB @ R_B[:, :-1], (R_SB @ arm[..., None])[..., 0], R_SB @ w, R_SB @ v)
