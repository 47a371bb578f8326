"""Limbs of a robot: the chains of moving joints from its base to every end of the tree."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

MARGIN, MARGIN_SHARE = 0.05, 0.1  # kept from a position limit: at most so much, and so much of the range


@dataclass(frozen=True, eq=False)
class Limb:
    """A chain from the base to one end of the tree of moving joints.

    Attributes:
        joints: Names of its joints, from the base outwards.
        links: All links that these joints move, from the base outwards.
        bodies: First link of every moving body, from the base outwards.
        own: How many of the last joints belong to no other limb.
    """

    joints: tuple[str, ...]
    links: tuple[str, ...]
    bodies: tuple[str, ...]
    own: int

    @property
    def end(self) -> str:
        """First link of the last body."""
        return self.bodies[-1]


def limbs_of(robot: RobotModel) -> tuple[Limb, ...]:
    """Return the limbs of a robot, in the order of the model.

    Args:
        robot: The robot.
    """
    model = robot.model
    first = model.njoints - robot.n_joints
    children = {
        j: [k for k in range(first, model.njoints) if model.parents[k] == j] for j in range(model.njoints)
    }
    links = {j: robot.body_links(j) for j in range(model.njoints)}
    found = []
    for leaf in (j for j in range(first, model.njoints) if not children[j]):
        chain = [int(j) for j in model.supports[leaf] if j >= first]
        own = 1
        while own < len(chain) and len(children[chain[-own - 1]]) == 1:
            own += 1
        found.append(
            Limb(
                tuple(str(model.names[j]) for j in chain),
                tuple(link for j in chain for link in links[j]),
                tuple(links[j][0] if links[j] else str(model.names[j]) for j in chain),
                own,
            )
        )
    return tuple(found)


def end_links(robot: RobotModel, limb: Limb) -> tuple[str, ...]:
    """Return the links of the last body of a limb, the first one nearest to its joint."""
    return robot.body_links(robot.link_body(limb.end).joint_id)


def subtree_masses(robot: RobotModel) -> dict[str, float]:
    """Return the mass that every joint moves [kg], by the joint's name."""
    model = robot.model
    masses = [float(inertia.mass) for inertia in model.inertias]
    for j in range(model.njoints - 1, 0, -1):
        masses[model.parents[j]] += masses[j]
    return {str(model.names[j]): masses[j] for j in range(1, model.njoints)}


def rest_posture(robot: RobotModel) -> Array:
    """Return the posture nearest to zero that keeps a margin from the position limits, shape (n_joints,)."""
    limits = urdf_limits(robot)
    posture = np.zeros(robot.n_joints)
    for i, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
        if high - low < np.inf:
            margin = min(MARGIN, MARGIN_SHARE * (high - low))
            posture[i] = min(max(0.0, low + margin), high - margin)
    return posture
