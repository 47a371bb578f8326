"""Whether a robot is a humanoid, a quadruped or an arm: which of its limbs are legs, and why."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.limbs import Limb, end_links, limbs_of, rest_posture, subtree_masses
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.setup_assistant.name_words import ARM, FOOT, LEG, count_of
from inertial_estimation.signals import Array

LOW_BAND, LOW_SHARE = 0.15, 0.25  # of the robot's height: ends count as equally low; as below the base
SAME_PLACE = 0.1  # of the robot's extent, within which legs end alike
SAME_BUILD = 0.05  # of masses and distances, within which legs are built alike
ALIKE = "equally low and far from the base's vertical (z must be upwards)"
LEVEL_FRAMES = 0.005  # [m], frames of a foot within it count as equally low
LEAST_LEG_JOINTS = 2
HUMANOID_LEGS, QUADRUPED_LEGS = 2, 4


Pairs = NDArray[np.bool_]


class Kind(enum.Enum):
    """Kinds of robots, by what carries them."""

    HUMANOID = "humanoid"
    QUADRUPED = "quadruped"
    ARM = "arm"


@dataclass(frozen=True, eq=False)
class KindDecision:
    """The kind of a robot."""

    kind: Kind  # the kind; a robot on four or more legs is a quadruped
    legs: tuple[Limb, ...]  # its legs, left before right and front before rear
    reason: str  # why, one sentence
    open_point: str = ""  # what speaks against it; empty without


def decide_kind(robot: RobotModel, wanted: str = "") -> KindDecision:
    """Decide what kind of robot a description is of.

    Limbs are legs if joints and links are named like those of a leg, or if their ends are the lowest and
    nothing is named like an arm; and if another ends as low and as far from the base's vertical.
    Joints that lie before several legs belong to the trunk.

    Raises:
        ConfigurationError: If the robot does not have the legs that the wanted kind stands on.
    """
    limbs = limbs_of(robot)
    ends = _ends(robot, limbs)
    low = _are_low(robot, ends)
    named = [count_of(limb.joints + limb.bodies, LEG) for limb in limbs]
    armed = [count_of(limb.joints + limb.bodies, ARM) for limb in limbs]
    like_legs = [
        i
        for i, limb in enumerate(limbs)
        if len(limb.joints) >= LEAST_LEG_JOINTS and (named[i] > armed[i] or (low[i] and not armed[i]))
    ]
    like_legs = _one_end_each(limbs, ends, like_legs)
    legs = _with_a_twin(like_legs, _placed_alike(ends) | _built_alike(robot, limbs, named, armed))
    if wanted == Kind.ARM.value or (not wanted and len(legs) < HUMANOID_LEGS):
        said = "as asked" if wanted else _no_legs(limbs, [i for i in like_legs if named[i] > armed[i]])
        open_point = f"kind: {said}" if like_legs and not wanted else ""
        return KindDecision(Kind.ARM, (), f"{said}: the base is taken as fixed", open_point)
    needed = {Kind.HUMANOID.value: HUMANOID_LEGS, Kind.QUADRUPED.value: QUADRUPED_LEGS}.get(wanted, len(legs))
    if len(legs) < needed or (wanted == Kind.HUMANOID.value and len(legs) > needed):
        lowest = np.argsort(ends[:, 2], kind="stable")[:needed].tolist()
        legs = _with_a_twin(lowest, _placed_alike(ends))
    if len(legs) < needed:
        raise ConfigurationError(
            f"--kind {wanted}: expected {needed} legs that end {ALIKE}, got the limbs "
            f"{listing(limb.end for limb in limbs)}"
        )
    kind = Kind.HUMANOID if len(legs) == HUMANOID_LEGS else Kind.QUADRUPED
    ordered = sorted(legs, key=lambda i: (-round(float(ends[i, 0]), 1), -float(ends[i, 1])))
    chosen = _apart(robot, [limbs[i] for i in ordered])
    by_name = all(named[i] > armed[i] for i in ordered)
    how = "named like legs" if by_name else "that reach furthest down"
    reason = f"{len(chosen)} limbs {how}, of {len(chosen[0].joints)} joints each"
    trunk = [joint for joint in limbs[ordered[0]].joints if joint not in chosen[0].joints]
    reason += f", behind {listing(trunk, limit=4)}" if trunk else ""
    return KindDecision(kind, chosen, f"as asked; {reason}" if wanted else reason)


def _one_end_each(limbs: Sequence[Limb], ends: Array, legs: Sequence[int]) -> list[int]:
    """Return limbs like legs, of those that part behind the hip the one with the foot.

    The rods and springs of closed chains, which a tree of links can only cut, end beside the foot.
    """
    joints = [set(limbs[i].joints) for i in legs]
    of_all = set.intersection(*joints) if joints else set()

    def foot(i: int) -> tuple[int, float]:
        return count_of(limbs[i].joints[-1:] + limbs[i].bodies[-1:], FOOT), -float(ends[i, 2])

    def same_leg(i: int, j: int) -> bool:
        shared = (set(limbs[i].joints) & set(limbs[j].joints)) - of_all
        return bool(shared) and float(ends[i, 1] * ends[j, 1]) > -(LEVEL_FRAMES**2)

    return [i for i in legs if not any(j != i and same_leg(i, j) and foot(j) > foot(i) for j in legs)]


def _apart(robot: RobotModel, legs: Sequence[Limb]) -> tuple[Limb, ...]:
    """Return legs from the joint at which they part: a waist before them belongs to the trunk."""
    apart = []
    for leg in legs:
        others = {joint for other in legs if other is not leg for joint in other.joints}
        own = sum(joint not in others for joint in leg.joints)
        bodies = leg.bodies[-own:]
        links = tuple(link for body in bodies for link in robot.body_links(robot.link_body(body).joint_id))
        apart.append(replace(leg, joints=leg.joints[-own:], bodies=bodies, links=links))
    return tuple(apart)


def _no_legs(limbs: Sequence[Limb], like_legs: Sequence[int]) -> str:
    ends = listing((limbs[i].end for i in like_legs), limit=4)
    if len(like_legs) == 1:
        return f"{ends} looks like a leg, but it is the only one"
    if like_legs:
        return f"{ends} look like legs, but do not end {ALIKE} (--kind says what it is)"
    many = f"none of its {len(limbs)} limbs reaches down like a leg"
    return many if len(limbs) > 1 else "it has a single limb"


def _ends(robot: RobotModel, limbs: Sequence[Limb]) -> Array:
    """Middle of the lowest frames of every limb's last body in the base [m], posture near zero; (n, 3)."""
    q = rest_posture(robot)
    ends = []
    for limb in limbs:
        points = [p for _R, p in robot.frame_poses(q, end_links(robot, limb))]
        lowest = min(float(p[2]) for p in points)
        ends.append(np.mean([p for p in points if p[2] < lowest + LEVEL_FRAMES], axis=0))
    return np.array(ends).reshape(-1, 3)


def _are_low(robot: RobotModel, ends: Array) -> list[bool]:
    q = rest_posture(robot)
    heights = np.array([p[2] for _R, p in robot.frame_poses(q, robot.link_names)])
    height = float(heights.max() - heights.min())
    lowest = float(ends[:, 2].min())
    low: list[bool] = (ends[:, 2] < min(lowest + LOW_BAND * height, -LOW_SHARE * height)).tolist()
    return low


def _with_a_twin(legs: Sequence[int], alike: Pairs) -> list[int]:
    """Return the legs of which another one is the mirror image or a turned copy."""
    return [i for i in legs if any(j != i and alike[i, j] for j in legs)]


def _placed_alike(ends: Array) -> Pairs:
    """Return which limbs end as low and as far from the base's vertical as which, shape (n, n)."""
    near = SAME_PLACE * float(np.ptp(ends, axis=0).max()) if len(ends) else 0.0
    place = np.column_stack((np.hypot(ends[:, 0], ends[:, 1]), ends[:, 2]))
    alike: Pairs = np.abs(place[:, None] - place).max(axis=2) < near
    return alike


def _built_alike(
    robot: RobotModel, limbs: Sequence[Limb], named: Sequence[int], armed: Sequence[int]
) -> Pairs:
    """Return which limbs that are named like legs are built like which, wherever they are at zero; (n, n).

    The zero of a joint may lie anywhere: limbs are built alike with equal masses behind equal distances of
    their joints.
    """
    model, masses = robot.model, subtree_masses(robot)
    built = []
    for i, limb in enumerate(limbs):
        own = [model.getJointId(name) for name in limb.joints[-limb.own :]]
        steps = [float(np.linalg.norm(model.jointPlacements[j].translation)) for j in own[1:]]
        built.append(
            np.array([*steps, *(masses[str(model.names[j])] for j in own)]) if named[i] > armed[i] else None
        )

    def alike(a: Array | None, b: Array | None) -> bool:
        return a is not None and b is not None and len(a) == len(b) and np.allclose(a, b, rtol=SAME_BUILD)

    return np.array([[alike(a, b) for b in built] for a in built], dtype=bool).reshape(len(limbs), -1)
