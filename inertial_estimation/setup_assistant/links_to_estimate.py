"""Which links' inertias a filter should estimate: those that carry loads and that its inputs inform."""

from collections.abc import Sequence

from inertial_estimation.errors import ModelError
from inertial_estimation.models.body_reference import has_usable_prior
from inertial_estimation.models.limbs import Limb, body_links, limbs_of, subtree_masses
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.setup_assistant.description import Description
from inertial_estimation.setup_assistant.name_words import ARM, HEAD, LEG, count_of

LEAST_MASS = 0.002  # of the robot's mass: lighter bodies are no prior for a load
ARM_JOINTS = 3
WRISTED_ARM, WRIST_JOINTS = 6, 3  # joints of an arm that ends with a wrist; joints of the wrist
MOST_LIMBS = 4


def trunk_of(robot: RobotModel, described: Description, legs: Sequence[Limb]) -> str:
    """Return the link of the trunk: the heaviest body that belongs to no leg.

    Args:
        robot: The robot, its base free.
        described: What its URDF says.
        legs: Its legs.

    Raises:
        ModelError: If no body besides the legs has a mass.
    """
    of_legs = {link for leg in legs for link in leg.links}
    others = [
        link for link in robot.link_names if link not in of_legs and described.masses.get(link, 0.0) > 0.0
    ]
    bodies = {robot.link_body(link).joint_id: robot.link_body(link) for link in others}
    if not bodies:
        raise ModelError("no link besides those of the legs has a mass, expected a trunk with an <inertial>")
    heaviest = max(bodies.values(), key=lambda body: float(body.nominal_J.mass)).joint_id
    links = [link for link in others if robot.link_body(link).joint_id == heaviest]
    return max(links, key=lambda link: described.masses[link])


def links_to_estimate(
    robot: RobotModel, described: Description, legs: Sequence[Limb], trunk: str
) -> tuple[str, ...]:
    """Return the trunk and the forearms of a legged robot, or the last link of an arm on a fixed base.

    Loads are carried there, and the torques of an arm's joints tell a load in the hand from one on the trunk.
    The small inertias behind a wrist are no aid to balance: their estimates would shake the wrist's joints.
    A body without a usable inertia in the URDF is no prior; the link before it is taken.

    Args:
        robot: The robot.
        described: What its URDF says.
        legs: Its legs.
        trunk: Link of the trunk; empty for a robot with a fixed base.
    """
    masses = subtree_masses(robot)
    chosen = [trunk] if trunk else []
    taken = {robot.link_body(link).joint_id for link in chosen}
    in_legs = {joint for leg in legs for joint in leg.joints}
    for limb in limbs_of(robot):
        own = limb.joints[len(limb.joints) - limb.own :]
        if in_legs & set(limb.joints) or not _is_arm(own, limb, fixed=not trunk):
            continue
        own = own[: len(own) - WRIST_JOINTS] if trunk and len(own) >= WRISTED_ARM else own
        first = len(limb.joints) - limb.own
        for joint, link in zip(reversed(own), reversed(limb.bodies[first : first + len(own)]), strict=True):
            body = robot.link_body(link)
            if masses[joint] > LEAST_MASS * robot.total_mass and has_usable_prior(robot, link):
                chosen += [_named(robot, described, body.joint_id)] if body.joint_id not in taken else []
                taken.add(body.joint_id)
                break
    return tuple(chosen[: MOST_LIMBS + 1])


def _is_arm(own: Sequence[str], limb: Limb, *, fixed: bool) -> bool:
    if count_of([*own, limb.end], HEAD):
        return False
    return fixed or (len(own) >= ARM_JOINTS and count_of(own, ARM) >= count_of(own, LEG))


def _named(robot: RobotModel, described: Description, joint: int) -> str:
    """Return the first link of a body with a mass, after which the body is best called."""
    links = body_links(robot, joint)
    return next((link for link in links if described.masses.get(link, 0.0) > 0.0), links[0])
