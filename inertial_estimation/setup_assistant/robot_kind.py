"""Whether a robot is a humanoid, a quadruped or an arm: which of its limbs are legs, and why."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.limbs import Limb, end_links, limbs_of, rest_posture
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.setup_assistant.name_words import ARM, LEG, count_of
from inertial_estimation.signals import Array

LEAST_LEG_JOINTS = 2
HUMANOID_LEGS, QUADRUPED_LEGS, MOST_LEGS = 2, 4, 6


class Kind(enum.Enum):
    """Kinds of robots, by what supports them."""

    HUMANOID = "humanoid"
    QUADRUPED = "quadruped"
    ARM = "arm"


@dataclass(frozen=True, eq=False)
class KindDecision:
    """The kind of a robot, with the reason for the decision."""

    kind: Kind  # the kind; a robot on three or more legs is a quadruped
    legs: tuple[Limb, ...]  # its legs, left before right and front before rear
    reason: str  # reason for the decision, one sentence
    open_points: tuple[str, ...] = ()  # arguments against the decision, one sentence each


def decide_kind(robot: RobotModel, wanted: str = "") -> KindDecision:
    """Decide of which kind a robot is.

    Limbs are legs if at least two are named like legs; if their number is not that of the wanted kind, legs
    are the limbs that reach furthest down. Joints that several legs share belong to the trunk.

    Raises:
        ConfigurationError: If the robot does not have as many limbs as the wanted kind has legs.
    """
    limbs = limbs_of(robot)
    ends = _ends(robot, limbs)
    armed = [count_of(limb.joints + limb.bodies, ARM) for limb in limbs]
    jointed = [i for i, limb in enumerate(limbs) if len(limb.joints) >= LEAST_LEG_JOINTS]
    named = [i for i in jointed if count_of(limbs[i].joints + limbs[i].bodies, LEG) > armed[i]]
    legs = named = _one_end_each(limbs, ends, named)
    if wanted == Kind.ARM.value:
        return KindDecision(Kind.ARM, (), "as requested: the base is taken as fixed")
    if not wanted and len(legs) < HUMANOID_LEGS:
        which = f"only {limbs[named[0]].end}" if named else "none"
        text = f"{which} of its {len(limbs)} limbs is named like a leg"
        text = text if len(limbs) > 1 or named else "it has a single limb"
        many = len({limbs[i].joints[0] for i in jointed}) >= QUADRUPED_LEGS  # more than the arms of a torso
        unclear = named or (len(jointed) > 1 and not any(armed)) or many
        against = (f"kind: {text} (--kind says what it is)",) if unclear else ()
        return KindDecision(Kind.ARM, (), f"{text}: the base is taken as fixed", against)
    needed = {Kind.HUMANOID.value: HUMANOID_LEGS, Kind.QUADRUPED.value: QUADRUPED_LEGS}.get(wanted, len(legs))
    if len(legs) < needed or (wanted == Kind.HUMANOID.value and len(legs) > needed):
        legs = np.argsort(ends[:, 2], kind="stable")[:needed].tolist()
    if len(legs) < needed:
        raise ConfigurationError(
            f"--kind {wanted}: expected {needed} legs, got the limbs {listing(limb.end for limb in limbs)}"
        )
    kind = Kind.HUMANOID if len(legs) == HUMANOID_LEGS else Kind.QUADRUPED
    ordered = sorted(legs, key=lambda i: (-round(float(ends[i, 0]), 1), -float(ends[i, 1])))
    chosen = _apart(robot, [limbs[i] for i in ordered])
    how = "named like legs" if set(legs) <= set(named) else "that reach furthest down"
    reason = f"{len(chosen)} limbs {how}, of {len(chosen[0].joints)} joints each"
    trunk = [joint for joint in limbs[ordered[0]].joints if joint not in chosen[0].joints]
    reason += f", behind {listing(trunk, limit=4)}" if trunk else ""
    doubled = f"kind: {len(legs)} legs: where two drive one foot, lock the joints of one (--lock)"
    against = (doubled,) if len(legs) > MOST_LEGS else ()
    return KindDecision(kind, chosen, f"as requested; {reason}" if wanted else reason, against)


def _one_end_each(limbs: Sequence[Limb], ends: Array, legs: Sequence[int]) -> list[int]:
    """Return one limb for each leg: of limbs that share a leg's joint, the one that reaches furthest down.

    A URDF is a tree and cuts closed chains open: their rods and springs are limbs that end above the foot.
    """

    def same_leg(i: int, j: int) -> bool:
        return count_of(set(limbs[i].joints) & set(limbs[j].joints), LEG) > 0

    return [i for i in legs if not any(same_leg(i, j) and ends[j, 2] < ends[i, 2] for j in legs)]


def _apart(robot: RobotModel, legs: Sequence[Limb]) -> tuple[Limb, ...]:
    """Return legs without the joints that they share, which belong to the trunk, as those of a waist."""
    apart = []
    for leg in legs:
        others = {joint for other in legs if other is not leg for joint in other.joints}
        own = sum(joint not in others for joint in leg.joints)
        bodies = leg.bodies[-own:]
        links = tuple(link for body in bodies for link in robot.body_links(robot.link_body(body).joint_id))
        apart.append(replace(leg, joints=leg.joints[-own:], bodies=bodies, links=links))
    return tuple(apart)


def _ends(robot: RobotModel, limbs: Sequence[Limb]) -> Array:
    """Return the lowest frame of every limb's last body in the base [m], near zero posture, shape (n, 3)."""
    q = rest_posture(robot)
    points = [[p for _R, p in robot.frame_poses(q, end_links(robot, limb))] for limb in limbs]
    return np.array([min(of_limb, key=lambda p: float(p[2])) for of_limb in points]).reshape(-1, 3)
