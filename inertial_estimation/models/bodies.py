"""Bodies of a robot: frames in which inertias are estimated, mirror images, placements, centre of mass.

With S = diag(1, -1, 1) a link on the left, at pose (R_l, p_l) in the base, has its image at S p_l across the
base's xz plane. Seen from the right link, a point x of the left one is at D x + t,

    D = R_r' S R_l,   t = R_r' (S p_l - p_r),

which does not depend on the posture if and only if the links mirror each other, the right joints being at the
mirrored positions. A joint's mirrored position is plus or minus its own: a reflection turns the sense of
rotations about the mirrored axis.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial.inertial_parameters import (
    InertialParameters,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
    transfer_matrix,
)

LOAD_SHARE = 0.05  # expected load, as share of the robot's mass; an expected push has its weight
REACH = 0.05  # standard deviation of a load's position beyond the extent of its body, per axis [m]
WORST_INCONSISTENCY = 0.02  # largest relative inconsistency of an inertia that is repaired: rounded numbers


@dataclass(frozen=True, eq=False)
class BodyReference:
    """A body to estimate: its joint J, its link L, and the frame C of its coordinates.

    C has its origin at the nominal centre of mass and the axes of the link; lengths in it are counted
    in units of the nominal radius of gyration, so that all coordinates are of order one.
    """

    link: str  # name of the link
    joint_id: int  # Pinocchio joint that carries the body
    length: float  # nominal radius of gyration sqrt(tr(Sigma) / m) [m]
    nominal_J: InertialParameters  # nominal parameters about the joint frame, made consistent
    to_joint: Array  # X with pi_J = X pi_C, pi_C in units of `length`, shape (10, 10)
    to_link: Array  # X with pi_L = X pi_C, shape (10, 10)
    from_joint: Array  # inverse of `to_joint`, shape (10, 10)
    nominal_C: Array  # nominal parameters in C, in units of `length`, shape (10,)

    @classmethod
    def of_link(cls, robot: RobotModel, link: str) -> "BodyReference":
        """Set up the reference of a link's body.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
            ConfigurationError: If the link does not move.
            ~inertial_estimation.errors.InconsistentInertiaError: If its nominal mass is not positive.
        """
        body = robot.link_body(link)
        if body.joint_id == 0:
            raise ConfigurationError(
                f"link '{link}' is fixed to the world and has no dynamics; the model moves {_moving(robot)}"
            )
        nominal = InertialParameters.from_pinocchio(body.nominal_J).made_consistent(link)
        length = float(np.sqrt(0.5 * np.trace(nominal.inertia_Fcm) / nominal.mass))
        T_JC = pin.SE3(body.T_JL.rotation, np.array(nominal.com_F))
        unit = np.array([1.0] + 3 * [length] + 6 * [length**2])
        to_joint = transfer_matrix(T_JC) * unit
        to_link = transfer_matrix(body.T_JL.actInv(T_JC)) * unit
        from_joint = transfer_matrix(T_JC.inverse()) / unit[:, None]
        nominal_C = from_joint @ nominal.vector
        return cls(link, body.joint_id, length, nominal, to_joint, to_link, from_joint, nominal_C)


def estimated_bodies(robot: RobotModel, links: tuple[str, ...]) -> tuple[BodyReference, ...]:
    """Set up the references of several links, each on another body.

    Raises:
        ConfigurationError: If there is none, or two belong to one body.
    """
    if not links:
        raise ConfigurationError(f"no link to estimate is given in 'links'; the model moves {_moving(robot)}")
    return tuple(BodyReference.of_link(robot, link) for link in robot.link_bodies(links))


def carries_loads(robot: RobotModel, body: BodyReference, bodies: Iterable[BodyReference]) -> bool:
    """Return whether loads are expected on a body: a trunk, or the last of the given bodies of a limb."""
    model, others = robot.model, {other.joint_id for other in bodies} - {body.joint_id}
    return len(model.children[body.joint_id]) > 1 or others.isdisjoint(model.subtrees[body.joint_id])


def check_priors(robot: RobotModel, bodies: tuple[BodyReference, ...]) -> None:
    """Check that the URDF's inertias are consistent, or nearly so, to be means of priors.

    Raises:
        ~inertial_estimation.errors.InconsistentInertiaError: Otherwise; names the link and every violation.
    """
    for body in bodies:
        described = InertialParameters.from_pinocchio(robot.link_body(body.link).nominal_J)
        if described.inconsistency > WORST_INCONSISTENCY:
            raise InconsistentInertiaError(
                f"the URDF's inertia of '{body.link}', with all that is fixed to it, cannot be the prior of "
                f"an estimate: {'; '.join(described.violations())}"
            )


def has_usable_prior(robot: RobotModel, link: str) -> bool:
    """Return whether the URDF's inertia of a link's body can be the mean of a prior."""
    described = InertialParameters.from_pinocchio(robot.link_body(link).nominal_J)
    return described.mass > 0.0 and described.inconsistency <= WORST_INCONSISTENCY


def _moving(robot: RobotModel) -> str:
    return listing(link for link in robot.link_names if robot.link_body(link).joint_id != 0)


S = np.diag([1.0, -1.0, 1.0])
MIRROR_TOLERANCE = 2e-3  # robot descriptions round their numbers [m, rad]


@dataclass(frozen=True, eq=False)
class MirrorImage:
    """The map from a left link to the right link that mirrors it."""

    left_joint: str  # joint that carries the left link; empty for a link of the base
    right_joint: str  # joint that carries the right link; empty for a link of the base
    joint_sign: float  # position of the right joint that mirrors position 1 of the left one
    parameters: Array  # M with pi_right = M pi_left, each about its link frame, shape (10, 10)


def mirror_image(robot: RobotModel, left: str, right: str) -> MirrorImage:
    """Find how one link mirrors another.

    Raises:
        ConfigurationError: If they are not mirror images.
        ~inertial_estimation.errors.ModelError: If there is no such link.
    """
    chains = [robot.joints_to(link) for link in (left, right)]
    own = [[j for j in chain if j not in other] for chain, other in zip(chains, chains[::-1], strict=True)]
    if len(own[0]) != len(own[1]) or not own[0]:
        raise _no_image(left, right, f"{len(own[0])} and {len(own[1])} joints carry them alone")
    model, data = robot.model, robot.model.createData()
    pin.computeJointJacobians(model, data, robot.configuration(np.zeros(robot.n_joints)))
    signs = []
    for pair in zip(*own, strict=True):
        J_l, J_r = (data.J[:, robot.n_base + j] for j in pair)
        # A reflection turns the sense of rotations: the axis of a joint that turns is mirrored to -S axis.
        cosine = float(-(S @ J_l[3:]) @ J_r[3:] if np.any(J_l[3:]) else (S @ J_l[:3]) @ J_r[:3])
        if abs(abs(cosine) - 1.0) > MIRROR_TOLERANCE:
            names = [robot.joint_names[j] for j in pair]
            raise _no_image(
                left, right, f"the axes of '{names[0]}' and '{names[1]}' are not, at positions zero"
            )
        signs.append(np.sign(cosine))
    poses = []
    for reach in (0.0, 0.8, -0.5):  # of arbitrary postures [rad]
        q = np.zeros(robot.n_joints)
        q[own[0]] = reach * np.sin(1.0 + np.arange(len(signs)))
        q[own[1]] = signs * q[own[0]]
        (R_l, p_l), (R_r, p_r) = robot.frame_poses(q, (left, right))
        poses.append(np.column_stack((R_r.T @ S @ R_l, R_r.T @ (S @ p_l - p_r))))
    spread = max(float(np.abs(pose - poses[0]).max()) for pose in poses)
    if spread > MIRROR_TOLERANCE:
        raise _no_image(left, right, f"their mirrored poses differ by {spread:.2g} (m, rad) over postures")
    T = np.vstack((poses[0], [0.0, 0.0, 0.0, 1.0]))
    M = parameters_from_pseudo_inertia(T @ pseudo_inertia(np.eye(10)) @ T.T).T
    names = [robot.joint_names[chain[-1]] for chain in chains]
    return MirrorImage(names[0], names[1], float(signs[-1]), M)


def _no_image(left: str, right: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"links '{left}' and '{right}' are no mirror images across the base's xz plane: {why}; leave them "
        "out of 'symmetry', or rename"
    )


class BodyPlacements:
    """Placements of all bodies in the base frame, at zero joint positions until `update` is called."""

    def __init__(self, robot: RobotModel) -> None:
        self._robot, self._data = robot, robot.model.createData()
        self.update(np.zeros(robot.n_joints))

    def update(self, q: Array) -> None:
        """Place the bodies.

        Args:
            q: Joint positions in the model's order [rad or m], shape (n_joints,).
        """
        pin.forwardKinematics(self._robot.model, self._data, self._robot.configuration(q))

    @property
    def extent(self) -> float:
        """Largest distance of a joint from the origin of the base [m]."""
        return max(float(np.linalg.norm(T.translation)) for T in self._data.oMi)

    def frame_B(self, frame: str) -> tuple[Array, Array]:
        """Return orientation and position [m] of a frame in the base, shapes (3, 3) and (3,).

        Raises:
            ~inertial_estimation.errors.ModelError: If it does not exist.
        """
        placed = self._robot.model.frames[self._robot.frame_id(frame)]
        T_BF = self._data.oMi[placed.parentJoint] * placed.placement
        return T_BF.rotation, T_BF.translation

    def com_B(self, inertias: Iterable[LinkInertia] = ()) -> Array:
        """Return the centre of mass in the base frame [m], shape (3,); NaN for a robot without mass.

        Args:
            inertias: Inertias that replace those of the description, each of the whole body of a link.

        Raises:
            ~inertial_estimation.errors.ModelError: If a link does not exist.
        """
        bodies = {
            j: (one.mass, one.lever) for j, one in enumerate(self._robot.model.inertias) if one.mass > 0.0
        }
        for inertia in inertias:
            body = self._robot.link_body(inertia.link)
            bodies[body.joint_id] = inertia.mass, body.T_JL.act(np.asarray(inertia.com_L))
        moments = sum((m * self._data.oMi[j].act(lever) for j, (m, lever) in bodies.items()), np.zeros(3))
        total = sum(mass for mass, _lever in bodies.values())
        return moments / total if total > 0.0 else np.full(3, np.nan)
