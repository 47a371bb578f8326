"""Links whose inertias are held at the description's values while those of others are identified.

Errors of a held link are attributed to the identified ones, and no standard deviation contains them. So rows
are made in the unknowns of all links as well, and an F test compares the fits with and without these links.
"""

from dataclasses import replace

import numpy as np
from scipy.special import fdtrc

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.equations import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import HeldLinks
from inertial_estimation.identification.parameter_set import ParameterSet, parameter_set
from inertial_estimation.identification.priors import prior_factor, typical_deviations
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


def identifiable_links(robot: RobotModel) -> tuple[str, ...]:
    """Return one link of every body that moves and has a mass in the description."""
    joints = [j for j in range(1, robot.model.njoints) if robot.model.inertias[j].mass > 0.0]
    return tuple(robot.body_links(joint)[0] for joint in joints)


def held_links(robot: RobotModel, parameters: ParameterSet) -> tuple[str, ...]:
    """Return one link of every body that moves, has a mass in the description and is not identified."""
    joints = {body.joint_id for body in parameters.bodies}
    return tuple(link for link in identifiable_links(robot) if robot.link_body(link).joint_id not in joints)


def freed_unknowns(config: IdentificationConfig, robot: RobotModel, parameters: ParameterSet) -> ParameterSet:
    """Return the unknowns of an identification with no link held."""
    links = (*(body.link for body in parameters.bodies), *held_links(robot, parameters))
    try:
        return parameter_set(replace(config, links=links), robot)
    except ConfigurationError:  # the other links are no mirror images of each other
        return parameter_set(replace(config, links=links, symmetry=()), robot)


def held_links_test(
    links: tuple[str, ...],
    stack: EquationStack,
    space: IdentifiableSpace,
    freed: EquationStack,
    parameters: ParameterSet,
    mass_deviation: float,
    sigma: Array,
) -> HeldLinks:
    """Compare the least-squares fits with links held and with all links free.

    Args:
        links: The links that are held.
        stack: Rows in the unknowns that are identified.
        space: Identifiable space of `stack` with the weights `sigma`.
        freed: The same rows in the unknowns of all links.
        parameters: The unknowns of all links.
        mass_deviation: Relative prior standard deviation of the masses.
        sigma: Noise level of each row, shape (m,).
    """
    correlated = sigma * np.sqrt(stack.correlation)
    equation, wide = stack.reduced(correlated), freed.reduced(correlated)
    wide_space = IdentifiableSpace.of(wide, typical_deviations(parameters, mass_deviation))
    left, left_freed = (
        float((rows.residual_squares(x) / correlated**2).sum())
        for rows, x in ((stack, space.minimum(equation)), (freed, wide_space.minimum(wide)))
    )
    inflation = freed.scatter.inflation(correlated, wide, prior_factor(parameters, mass_deviation))
    further = wide_space.rank - space.rank
    independent = stack.rows / (stack.correlation * inflation) - wide_space.rank
    if further <= 0 or independent <= 0.0 or not left_freed > 0.0:
        return HeldLinks(links)
    F = max(left - left_freed, 0.0) / further / (left_freed / independent)
    return HeldLinks(links, 1.0 - left_freed / left, F, float(fdtrc(further, independent, F)))
