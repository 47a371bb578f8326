"""Links that are mirror images of each other across the base's xz plane, found from the kinematics.

With S = diag(1, -1, 1) the left link, at pose (R_l, p_l) in the base, has its image at S p_l. Seen from the
right link, a point x of the left one is at D x + t,

    D = R_r' S R_l,   t = R_r' (S p_l - p_r),

which does not depend on the posture if and only if the links mirror each other, the right joints being at
the mirrored positions. A joint's mirrored position is plus or minus its own: a reflection turns the sense of
rotations about the mirrored axis.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import parameters_from_pseudo_inertia, pseudo_inertia

S = np.diag([1.0, -1.0, 1.0])
MIRROR_TOLERANCE = 2e-3  # robot descriptions round their numbers [m, rad]
POSTURES = 4
TEST_ANGLES = 0.8 * np.sin(1.0 + np.arange(64.0 * POSTURES)).reshape(POSTURES, 64)  # arbitrary postures


@dataclass(frozen=True, eq=False)
class MirrorImage:
    """The map from a left link to the right link that mirrors it.

    Attributes:
        left_joint: Joint that carries the left link; empty for a link of the base.
        right_joint: Joint that carries the right link; empty for a link of the base.
        joint_sign: Position of the right joint that mirrors position 1 of the left one.
        parameters: M with pi_right = M pi_left, each about its link frame, shape (10, 10).
    """

    left_joint: str
    right_joint: str
    joint_sign: float
    parameters: Array


def mirror_image(robot: RobotModel, left: str, right: str) -> MirrorImage:
    """Find how one link mirrors another.

    Args:
        robot: The robot.
        left: Name of a link.
        right: Name of the other.

    Raises:
        ConfigurationError: If they are not mirror images.
        ~inertial_estimation.errors.ModelError: If there is no such link.
    """
    model, data = robot.model, robot.model.createData()
    frames = [robot.frame_id(link) for link in (left, right)]
    chains = [robot.joints_to(link) for link in (left, right)]
    own = [[j for j in chain if j not in other] for chain, other in zip(chains, chains[::-1], strict=True)]
    if len(own[0]) != len(own[1]) or not own[0]:
        raise _no_image(left, right, f"{len(own[0])} and {len(own[1])} joints carry them alone")
    pin.computeJointJacobians(model, data, robot.configuration(np.zeros(robot.n_joints)))
    signs = np.array([_sign(robot, data, pair, (left, right)) for pair in zip(*own, strict=True)])
    poses = []
    for angles in np.vstack((np.zeros(len(signs)), TEST_ANGLES[:, : len(signs)])):
        q = np.zeros(robot.n_joints)
        q[own[0]], q[own[1]] = angles, signs * angles
        pin.framesForwardKinematics(model, data, robot.configuration(q))
        T_l, T_r = (data.oMf[f] for f in frames)
        poses.append(
            np.column_stack(
                (T_r.rotation.T @ S @ T_l.rotation, T_r.rotation.T @ (S @ T_l.translation - T_r.translation))
            )
        )
    spread = max(float(np.abs(pose - poses[0]).max()) for pose in poses)
    if spread > MIRROR_TOLERANCE:
        raise _no_image(left, right, f"their mirrored poses differ by {spread:.2g} (m, rad) over postures")
    T = np.vstack((poses[0], [0.0, 0.0, 0.0, 1.0]))
    M = parameters_from_pseudo_inertia(T @ pseudo_inertia(np.eye(10)) @ T.T).T
    names = [robot.joint_names[chain[-1]] for chain in chains]
    return MirrorImage(names[0], names[1], float(signs[-1]), M)


def _sign(robot: RobotModel, data: pin.Data, pair: tuple[int, int], links: tuple[str, str]) -> float:
    J_l, J_r = (data.J[:, robot.n_base + j] for j in pair)
    turning = np.linalg.norm(J_l[3:]) > 0.5
    mirrored, axis = (-S @ J_l[3:], J_r[3:]) if turning else (S @ J_l[:3], J_r[:3])
    cosine = float(mirrored @ axis)
    if abs(abs(cosine) - 1.0) > MIRROR_TOLERANCE:
        names = [robot.joint_names[j] for j in pair]
        raise _no_image(*links, f"the axes of '{names[0]}' and '{names[1]}' are not at joint positions zero")
    return float(np.sign(cosine))


def _no_image(left: str, right: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"links '{left}' and '{right}' are no mirror images across the base's xz plane: {why}; leave them "
        "out of 'symmetry', or rename"
    )
