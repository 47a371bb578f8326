"""The frame and the scale in which a body's inertia is estimated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters, transfer_matrix

WORST_INCONSISTENCY = 0.02  # share of an inertia that is still repaired: round-off, rounded numbers


@dataclass(frozen=True, eq=False)
class BodyReference:
    """A body to estimate: its joint J, its link L, and the frame C of its coordinates.

    C has its origin at the nominal centre of mass and the axes of the link; lengths in it are counted
    in units of the nominal radius of gyration, so that all coordinates are of order one.

    Attributes:
        link: Name of the link.
        joint_id: Pinocchio joint that carries the body.
        length: Nominal radius of gyration sqrt(tr(Sigma) / m) [m].
        nominal_J: Nominal parameters about the joint frame, made consistent.
        to_joint: X with pi_J = X pi_C, pi_C in units of `length`, shape (10, 10).
        to_link: X with pi_L = X pi_C, shape (10, 10).
        from_joint: Inverse of `to_joint`, shape (10, 10).
        nominal_C: Nominal parameters in C, in units of `length`, shape (10,).
    """

    link: str
    joint_id: int
    length: float
    nominal_J: InertialParameters
    to_joint: Array
    to_link: Array
    from_joint: Array
    nominal_C: Array

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
    """Set up the references of several links.

    Args:
        robot: The robot.
        links: Names of links, each on another body.

    Raises:
        ConfigurationError: If there is none, or two belong to one body.
    """
    if not links:
        raise ConfigurationError(f"no link to estimate is given in 'links'; the model moves {_moving(robot)}")
    bodies = tuple(BodyReference.of_link(robot, link) for link in links)
    owner: dict[int, str] = {}
    for body in bodies:
        if body.joint_id in owner:
            raise ConfigurationError(
                f"links '{owner[body.joint_id]}' and '{body.link}' belong to one rigid body; name one of them"
            )
        owner[body.joint_id] = body.link
    return bodies


def check_priors(robot: RobotModel, bodies: tuple[BodyReference, ...]) -> None:
    """Check that the URDF's inertias can be priors: that bodies have them, or ones that are repaired.

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
    """Whether the URDF's inertia of a link's body can be a prior.

    Raises:
        ~inertial_estimation.errors.ModelError: If there is no such link.
        ConfigurationError: If the link does not move.
    """
    try:
        check_priors(robot, (BodyReference.of_link(robot, link),))
    except InconsistentInertiaError:
        return False
    return True


def robot_with_bodies(
    robot: RobotModel, bodies: Sequence[BodyReference], parameters_L: Sequence[Array]
) -> RobotModel:
    """Return a robot with other parameters of some bodies, also such that no mass distribution has.

    Args:
        robot: The robot.
        bodies: Those that change.
        parameters_L: Their parameters about their link frames, shape (10,) each.
    """
    model = robot.model.copy()
    for body, pi_L in zip(bodies, parameters_L, strict=True):
        X_JL = transfer_matrix(robot.link_body(body.link).T_JL)
        model.inertias[body.joint_id] = pin.Inertia.FromDynamicParameters(X_JL @ pi_L)
    return RobotModel(model, floating_base=robot.floating_base, base_link=robot.base_link)


def _moving(robot: RobotModel) -> str:
    return listing(link for link in robot.link_names if robot.link_body(link).joint_id != 0)
