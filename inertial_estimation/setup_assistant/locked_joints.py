"""Joints that the estimators should treat as fixed, and why."""

from collections.abc import Sequence

from inertial_estimation.errors import ModelError, listing
from inertial_estimation.models.limbs import Limb, limbs_of, subtree_masses
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.setup_assistant.description import Description
from inertial_estimation.setup_assistant.name_words import GRIPPER, WHEEL, count_of

SMALL_HAND = 0.08  # of the robot's mass, up to which a branching end of a limb counts as a hand
WRIST_DEPTH = 4  # joints from the base, at least, to the branching of a hand


def joints_to_lock(urdf: str, described: Description) -> dict[str, str]:
    """Return the joints to lock, with the reason of each.

    Wheels roll and grippers slide at will, joints that follow another have no motor, the base may be a joint
    of the URDF: none of them informs the estimates, and few are in joint_states.

    Args:
        urdf: XML text.
        described: What it says.

    Returns:
        Reasons by joint, in the order of the URDF.

    Raises:
        ModelError: If no joint is left.
    """
    reasons: dict[str, str] = {}
    for joint in described.joints:
        if joint.name in described.masses:
            continue  # Pinocchio does not lock a joint that has the name of a link
        if joint.kind in ("floating", "planar"):
            reasons[joint.name] = f"a {joint.kind} joint; a moving base is floating_base"
        elif joint.mimics:
            reasons[joint.name] = "it follows another joint"
        elif count_of([joint.name, joint.child], WHEEL):
            reasons[joint.name] = "wheels and rotors"
        elif count_of([joint.name], GRIPPER) and _is_gripper(joint.name, described):
            reasons[joint.name] = "grippers and hands"
    robot = RobotModel.from_urdf(urdf, locked_joints=list(reasons)) if described.joints else None
    if robot is not None:
        reasons |= {n: why for n, why in _of_hands(robot).items() if n not in described.masses}
        robot = RobotModel.from_urdf(urdf, locked_joints=list(reasons))
        reasons |= _without_mass(robot)
    if robot is None or len(reasons) == len(described.joints):
        names = listing((joint.name for joint in described.joints), limit=8)
        raise ModelError(
            f"'{described.name}' has no joint whose torque could be measured (moving joints: {names}): "
            "there is nothing to estimate"
        )
    order = [joint.name for joint in described.joints]
    return dict(sorted(reasons.items(), key=lambda item: order.index(item[0])))


def _is_gripper(name: str, described: Description) -> bool:
    """Return whether a finger belongs to a gripper, not to a robot that is all fingers."""
    others = [joint.name for joint in described.joints if joint.name != name]
    return count_of(others, GRIPPER) < len(others)


def _of_hands(robot: RobotModel) -> dict[str, str]:
    """Return the joints behind the branching of a small hand at the end of a limb."""
    masses = subtree_masses(robot)
    found: dict[str, str] = {}
    limbs, small = limbs_of(robot), SMALL_HAND * robot.total_mass
    for limb in limbs:
        shared = limb.joints[: len(limb.joints) - limb.own]
        if len(shared) >= WRIST_DEPTH and masses[shared[-1]] < small:
            wrist = _first_branching(limb, limbs, masses, small)
            found |= dict.fromkeys(limb.joints[wrist:], "grippers and hands")
    return found


def _first_branching(limb: Limb, limbs: Sequence[Limb], masses: dict[str, float], small: float) -> int:
    """Return the number of joints of a limb before a hand lighter than `small` [kg] begins to branch."""
    for depth in range(WRIST_DEPTH, len(limb.joints)):
        same = [other.joints for other in limbs if other.joints[:depth] == limb.joints[:depth]]
        beyond = {joints[depth] for joints in same if len(joints) > depth}
        if len(beyond) > 1 and masses[limb.joints[depth - 1]] < small:
            return depth
    return len(limb.joints)


def _without_mass(robot: RobotModel) -> dict[str, str]:
    masses = subtree_masses(robot)
    return {name: "no mass behind it in the URDF" for name in robot.joint_names if not masses[name] > 0.0}
