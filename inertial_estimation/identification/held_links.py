"""Links whose inertias are held at the description's values while those of others are identified.

Errors of a held link are attributed to the identified ones, and no standard deviation contains them. So rows
are made in the unknowns of all links as well, and an F test compares the fits with and without these links.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.data_set import RowCollector
from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import HeldLinks
from inertial_estimation.identification.parameter_set import ParameterSet, parameter_set
from inertial_estimation.identification.payload import with_payload
from inertial_estimation.identification.priors import prior_factor, typical_deviations
from inertial_estimation.models.limbs import body_links
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class FreedUnknowns:
    """The unknowns with no link held, to test those that are.

    Attributes:
        links: The links that are held.
        parameters: The unknowns of all links, of friction and of a load.
        typical: Typical deviation of each unknown, shape (n,).
        prior: Triangular factor of their prior, shape (n, n).
    """

    links: tuple[str, ...]
    parameters: ParameterSet
    typical: Array
    prior: Array

    def held(
        self, stack: EquationStack | None, freed: RowCollector | None, space: IdentifiableSpace, sigma: Array
    ) -> HeldLinks:
        """Compare the least-squares fits with the links held and with all links free.

        Args:
            stack: Rows in the unknowns that are identified; None where they allow no test.
            freed: The same rows in the unknowns of all links; likewise.
            space: Identifiable space of `stack` with the weights `sigma`.
            sigma: Noise level of each row, shape (m,).
        """
        if stack is None or freed is None:
            return HeldLinks(self.links)
        correlated = sigma * np.sqrt(stack.correlation)
        equation, wide = stack.reduced(correlated), freed.stack.reduced(correlated)
        wide_space = IdentifiableSpace.of(wide, self.typical)
        left = float((stack.residual_squares(space.minimum(equation)) / correlated**2).sum())
        least = wide_space.minimum(wide)
        left_freed = float((freed.stack.residual_squares(least) / correlated**2).sum())
        correlation = stack.correlation * freed.scatter.inflation(correlated, wide, self.prior)
        further = wide_space.rank - space.rank
        independent = stack.rows / correlation - wide_space.rank
        if further <= 0 or independent <= 0.0 or not left_freed > 0.0:
            return HeldLinks(self.links)
        F = max(left - left_freed, 0.0) / further / (left_freed / independent)
        return HeldLinks(self.links, 1.0 - left_freed / left, F, float(fdtrc(further, independent, F)))


def unknowns(config: IdentificationConfig, robot: RobotModel) -> ParameterSet:
    """Return the unknowns of an identification, those of a load included.

    Raises:
        ConfigurationError: If a name or pattern does not fit the robot.
        ~inertial_estimation.errors.ModelError: If there is no such link.
        ~inertial_estimation.errors.InconsistentInertiaError: If a body has no mass.
    """
    parameters = parameter_set(config, robot)
    return with_payload(parameters, robot, config.payload) if config.payload.link else parameters


def freed_unknowns(
    config: IdentificationConfig, robot: RobotModel, parameters: ParameterSet
) -> FreedUnknowns | None:
    """Return the unknowns with no link held; None where every body that moves is identified.

    Args:
        config: Parameters of the identification.
        robot: The robot.
        parameters: The unknowns of the identification.
    """
    own = [body.link for body in parameters.bodies]
    others = held_links(robot, parameters)
    if not others:
        return None
    try:
        wide = unknowns(replace(config, links=(*own, *others)), robot)
    except ConfigurationError:  # the other links are no mirror images of each other
        wide = unknowns(replace(config, links=(*own, *others), symmetry=()), robot)
    methods = config.methods
    return FreedUnknowns(others, wide, typical_deviations(wide, methods), prior_factor(wide, methods))


def held_links(robot: RobotModel, parameters: ParameterSet) -> tuple[str, ...]:
    """Return one link of every body that moves, has a mass in the description and is not identified."""
    joints = {body.joint_id for body in parameters.bodies}
    return tuple(link for link in identifiable_links(robot) if robot.link_body(link).joint_id not in joints)


def identifiable_links(robot: RobotModel) -> tuple[str, ...]:
    """Return one link of every body that moves and has a mass in the description."""
    joints = [j for j in range(1, robot.model.njoints) if robot.model.inertias[j].mass > 0.0]
    return tuple(body_links(robot, joint)[0] for joint in joints)
