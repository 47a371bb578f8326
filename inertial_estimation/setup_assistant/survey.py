"""Survey of a robot's description: kind, joints to lock, sensors, feet, posture, and links to estimate."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError, ModelError, listing
from inertial_estimation.identification.parameter_set import identifiable_links
from inertial_estimation.models.bodies import has_usable_prior
from inertial_estimation.models.contacts import FORCE_JOINTS, WRENCH_JOINTS
from inertial_estimation.models.imu import STANDARD_GRAVITY, ImuMount
from inertial_estimation.models.joint_limits import joint_limits, urdf_limits
from inertial_estimation.models.limbs import (
    Limb,
    end_links,
    gravity_torques,
    limbs_of,
    rest_posture,
    standing_posture,
    subtree_masses,
)
from inertial_estimation.models.link_shapes import link_shapes
from inertial_estimation.models.robot_config import with_frames
from inertial_estimation.models.robot_model import RobotModel, matching
from inertial_estimation.setup_assistant.description import Description, describe
from inertial_estimation.setup_assistant.foot_contacts import FootContact, added_frames, placed_contacts
from inertial_estimation.setup_assistant.name_words import (
    ARM,
    FOOT,
    GRIPPER,
    HEAD,
    LEG,
    SCANNER,
    WHEEL,
    count_of,
    is_imu,
    side_of,
)
from inertial_estimation.setup_assistant.robot_kind import Kind, KindDecision, decide_kind
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

SOLE_JOINTS = 5  # least number of joints of a leg with which its foot can be level
TOKEN = re.compile(r"[^a-z0-9_]+")  # characters that the name of a topic may not contain
SIDES = {2: ("left_foot", "right_foot"), 4: ("lf_foot", "rf_foot", "lh_foot", "rh_foot")}


def find_feet(
    robot: RobotModel,
    urdf: str,
    folders: Sequence[str | Path],
    legs: Sequence[Limb],
    rng: Generator,
    wanted: Sequence[str] = (),
) -> tuple[RobotModel, tuple[FootContact, ...], Array, float, list[str]]:
    """Find contact frames and a standing posture.

    A first posture is found with contacts placed at zero joint positions. The contacts are then placed again
    in this posture, and the posture is found again with them.

    Returns:
        The model with the contact frames that the URDF lacks, the contacts in the order of the legs, joint
        positions, shape (n_joints,), height of the base above the ground [m], and what is not known.

    Raises:
        ConfigurationError: If there is not one wanted frame a leg, or it is not on the leg's last body.
        ~inertial_estimation.errors.ModelError: If legs share joints.
    """
    if wanted and len(wanted) != len(legs):
        raise ConfigurationError(
            f"--soles has {len(wanted)} frames, expected one for each of {len(legs)} legs"
        )
    soles = len(legs) == 2 and min(len(leg.joints) for leg in legs) >= SOLE_JOINTS

    def standing(contacts: Sequence[FootContact]) -> tuple[Array, str]:
        model = with_frames(robot, added_frames(contacts))
        return standing_posture(model, legs, [c.frame for c in contacts], rng, soles=soles)

    names = _names(legs)
    of_feet = [link for leg in legs for link in end_links(robot, leg)]
    shapes = link_shapes(urdf, of_feet, folders)
    zero = np.zeros(robot.n_joints)
    posture, _ = standing(placed_contacts(robot, zero, legs, names, shapes, soles=soles, named=False))
    contacts = placed_contacts(robot, posture, legs, names, shapes, soles=soles, wanted=wanted)
    if not soles and all(count_of([c.frame], FOOT) and not c.pose for c in contacts):
        contacts = tuple(replace(c, name=TOKEN.sub("_", c.frame.lower())) for c in contacts)
    posture, wrong = standing(contacts)
    model = with_frames(robot, added_frames(contacts))
    heights = [float(p[2]) for _R, p in model.frame_poses(posture, [c.frame for c in contacts])]
    open_points = [f"the feet have no readable shapes: {shapes.note}"] if shapes.note else []
    open_points += [f"contact frame of '{c.name}': {c.source}" for c in contacts if c.guessed]
    open_points += [wrong] if wrong else []
    return model, contacts, posture, -sum(heights) / len(heights), open_points


def _names(legs: Sequence[Limb]) -> tuple[str, ...]:
    """Return a name for each foot: by left and right in the names of the URDF, else by its position."""
    sides = [side_of([leg.end, *leg.joints]) for leg in legs]
    if len(legs) == len(SIDES[2]) and set(sides) == {"left", "right"}:
        return tuple(f"{side}_foot" for side in sides)
    return SIDES.get(len(legs)) or tuple(f"foot_{k}" for k in range(1, len(legs) + 1))


WHEELS, HANDS = "wheels and rotors", "grippers and hands"  # reasons to lock their joints
CENTRED = 0.01  # largest distance of a wheel's centre of mass from its axis [m]
SMALL_HAND = 0.08  # largest share of the robot's mass of a limb's branched end that counts as a hand
WRIST_DEPTH = 4  # least number of joints from the base to the palm of a hand


def joints_to_lock(urdf: str, described: Description, kept: Collection[str]) -> dict[str, str]:
    """Return the joints to lock, with the reason of each.

    Wheels, rotating scanners, grippers, joints that mimic another one, and joints that model a floating base
    in the URDF do not inform the estimates, and few of them are in joint_states.

    Raises:
        ModelError: If no joint is left.
    """
    reasons: dict[str, str] = {}
    for joint in described.joints:
        if joint.kind in ("floating", "planar"):
            reasons[joint.name] = f"a {joint.kind} joint; a moving base is floating_base"
        elif joint.name in kept:
            continue
        elif joint.mimics:
            reasons[joint.name] = "it follows another joint"
        elif count_of([joint.name, *([joint.child] if joint.kind == "continuous" else [])], WHEEL):
            reasons[joint.name] = WHEELS
        elif joint.kind == "continuous" and count_of([joint.name, joint.child], SCANNER):
            reasons[joint.name] = "a sensor that spins"
    if not any(described.masses.values()):
        raise ModelError(
            f"no link of '{described.name}' has a mass: there is nothing to compare with what is measured; "
            "expected a description with <inertial>"
        )
    if len(reasons) < len(described.joints):
        hands = _behind_wrists(RobotModel.from_urdf(urdf, locked_joints=list(reasons)))
        reasons |= dict.fromkeys((name for name in hands if name not in kept), HANDS)
        robot = RobotModel.from_urdf(urdf, locked_joints=list(reasons))
        masses = subtree_masses(robot)
        massless = [name for name in robot.joint_names if not masses[name] > 0.0 and name not in kept]
        reasons |= dict.fromkeys(massless, "no mass behind it in the URDF")
    if len(reasons) == len(described.joints):
        names = listing((joint.name for joint in described.joints), limit=8)
        raise ModelError(
            f"'{described.name}' has no joint whose torque could be measured (moving joints: {names}): "
            "no inertia can be estimated (--unlock JOINT keeps one). The tilt of an IMU alone needs no init: "
            "a parameter file with urdf, imu_frame and contacts: [] is enough"
        )
    return reasons


def _behind_wrists(robot: RobotModel) -> list[str]:
    """Return the joints of grippers and hands: all joints behind a body (palm) that carries a finger.

    A finger is a joint with such a name, or one of several prismatic joints at the end of one body. Fingers
    on the base are kept: the robot is a hand by itself.
    """
    model, first = robot.model, robot.model.njoints - robot.n_joints
    parents = [int(parent) for parent in model.parents]
    slides = {*range(first, model.njoints)} - {first + int(j) for j in robot.turning_joints} - {*parents}
    jaws = {j for j in slides if sum(parents[other] == parents[j] for other in slides) > 1}
    fingers = {j for j in range(first, model.njoints) if count_of([str(model.names[j])], GRIPPER)} | jaws
    palms = {parents[j] for j in fingers} - fingers
    palms -= set(range(first))
    chains = ([int(j) for j in model.supports[k]] for k in range(first, model.njoints))
    return [str(model.names[chain[-1]]) for chain in chains if palms & set(chain[:-1])]


def ends_to_lock(robot: RobotModel, legs: Sequence[Limb]) -> dict[str, str]:
    """Return the joints of rods beside feet, of wheels as feet, and of hands without names of fingers.

    A wheel is the last and only continuous joint of a leg, about an axis through its centre of mass. A hand
    is a light body of a limb at which the limb branches.
    """
    masses, limits = subtree_masses(robot), urdf_limits(robot)
    endless = {n for n, low in zip(robot.joint_names, limits.lower, strict=True) if np.isinf(low)}
    feet = [leg.joints[-1] for leg in legs if endless & set(leg.joints) == {leg.joints[-1]}]
    turned = np.outer((0.0, 0.5 * np.pi), [name in feet for name in robot.joint_names])
    torques = np.abs(gravity_torques(robot, turned)[:, robot.n_base :]).max(axis=0)
    levers = dict(zip(robot.joint_names, torques / STANDARD_GRAVITY, strict=True))  # [kg m]
    found = {name: WHEELS for name in feet if levers[name] < CENTRED * masses[name]}
    small, branches = SMALL_HAND * robot.total_mass, Counter(robot.model.parents)
    palms = {n for n in robot.joint_names if branches[robot.model.getJointId(n)] > 1 and masses[n] < small}
    of_legs = {joint for leg in legs for joint in leg.joints}
    for limb in limbs_of(robot):
        if limb.joints[-1] not in of_legs and set(limb.joints) & of_legs:
            rod = max(k for k, joint in enumerate(limb.joints) if joint in of_legs) + 1
            found |= dict.fromkeys(limb.joints[rod:], "a rod beside the foot")
        elif limb.joints[-1] not in of_legs and (beyond := palms & set(limb.joints[WRIST_DEPTH - 1 :])):
            wrist = min(limb.joints.index(palm) for palm in beyond) + 1
            found |= dict.fromkeys(limb.joints[wrist:], HANDS)
    return found


LEAST_MASS = 0.002  # share of the robot's mass: lighter bodies are no usable prior for a load
ARM_JOINTS = 3  # least number of joints of an arm
WRISTED_ARM, WRIST_JOINTS = 6, 3  # least number of joints of an arm with a wrist; joints of the wrist


def trunk_of(robot: RobotModel, described: Description, legs: Sequence[Limb]) -> str:
    """Return the link of the trunk: the heaviest body that belongs to no leg.

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


def links_to_estimate(robot: RobotModel, legs: Sequence[Limb], trunk: str) -> tuple[str, ...]:
    """Return the trunk and the forearms of a legged robot, or all links of an arm on a fixed base.

    These links carry loads, and the torques of an arm's joints distinguish a load in the hand from one on the
    trunk. Inertias behind a wrist are too small to matter for balance, and noise of their estimates would
    excite the wrist's joints. A forearm without a usable inertia in the URDF is replaced by the link before
    it; without that of the trunk nothing is estimated. Errors of an arm's link left out bias the others.

    Raises:
        ModelError: If no body that moves has a usable inertia.
    """
    if not trunk:
        moving = identifiable_links(robot)
        usable = tuple(link for link in moving if has_usable_prior(robot, link))
        if not usable:
            inertias = [InertialParameters.from_pinocchio(robot.link_body(link).nominal_J) for link in moving]
            violated = ["; ".join(inertia.violations()) for inertia in inertias]
            each = (f"'{link}' ({text})" for link, text in zip(moving, violated, strict=True))
            why = listing(each, limit=3)
            raise ModelError(f"no link that moves has a usable inertia, expected one to estimate: {why}")
        return usable
    if not has_usable_prior(robot, trunk):
        return ()
    masses, chosen = subtree_masses(robot), [trunk]
    in_legs = {joint for leg in legs for joint in leg.joints}
    for limb in limbs_of(robot):
        own = limb.joints[len(limb.joints) - limb.own :]
        is_leg = bool(in_legs & set(limb.joints)) or count_of(own, ARM) < count_of(own, LEG)
        if is_leg or len(own) < ARM_JOINTS or count_of([*own, limb.end], HEAD):
            continue
        own = own[: len(own) - WRIST_JOINTS] if len(own) >= WRISTED_ARM else own
        bodies = limb.bodies[len(limb.joints) - limb.own :][: len(own)]
        for joint, link in zip(reversed(own), reversed(bodies), strict=True):
            if masses[joint] > LEAST_MASS * robot.total_mass and has_usable_prior(robot, link):
                chosen.append(link)
                break
    return tuple(chosen)


NO_IMU = "the URDF names no IMU: taken to be in the axes of the base"
AS_REQUESTED = "as requested"
NO_SENSOR = "the URDF has no force sensor in every foot"


def imu_frame(robot: RobotModel, described: Description, wanted: str) -> tuple[str, str]:
    """Return the link of the IMU, and the reason for the choice.

    Raises:
        ~inertial_estimation.errors.ModelError: If there is no link of the wanted name.
    """
    if wanted:
        robot.frame_id(wanted)
        return wanted, AS_REQUESTED
    if not described.imus:
        return robot.base_link, NO_IMU
    distance = {link: len(ImuMount.on(robot, link).moving) for link in described.imus}
    best = min(described.imus, key=lambda link: (distance[link], not is_imu(link), "gyro" in link.lower()))
    others = [link for link in described.imus if link != best]
    where = "fixed to the base" if not distance[best] else f"joints between it and the base: {distance[best]}"
    also = f"; others: {', '.join(others[:4])}" if others else ""
    return best, f"{where}{also}"


def foot_sensors(
    robot: RobotModel, described: Description, contacts: Sequence[FootContact]
) -> list[list[str]]:
    """Return one frame for each force sensor of each foot; frames close together belong to one sensor."""
    sensors, found = described.force_sensors, []
    places = dict(zip(sensors, robot.frame_poses(np.zeros(robot.n_joints), sensors), strict=True))
    for body in [robot.link_body(contact.link).joint_id for contact in contacts]:
        of_foot: list[str] = []
        for name in (name for name in sensors if robot.link_body(name).joint_id == body):
            away = [float(np.linalg.norm(places[name][1] - places[other][1])) for other in of_foot]
            of_foot += [name] if min(away, default=np.inf) > SAME_SENSOR else []
        found.append(of_foot)
    return found


SAME_SENSOR = 0.02  # largest distance between frames of one force sensor [m]
POSTURES = 200  # number of drawn postures among which an arm's start is sought
HELD = 0.7  # share of the effort limits that may hold a posture, so that the rest can move it


@dataclass(frozen=True)
class Wishes:
    """Choices of the user; an empty field is determined from the description."""

    kind: str = ""  # humanoid, quadruped or arm
    imu: str = ""  # link of the IMU
    soles: tuple[str, ...] = ()  # contact frames, one a leg
    links: tuple[str, ...] = ()  # links to estimate
    lock: tuple[str, ...] = ()  # further joints to lock, names or shell patterns
    unlock: tuple[str, ...] = ()  # joints not to lock, likewise


@dataclass(frozen=True, eq=False)
class Survey:
    """Everything that a parameter file is written from."""

    described: Description  # the parts of the URDF that matter
    robot: RobotModel  # the robot with joints locked and contact frames added
    decision: KindDecision  # kind and legs
    locked: Mapping[str, str]  # reason for each locked joint
    imu: str  # link of the IMU; empty without one
    imu_reason: str  # reason for this link
    posture: Array  # positions in which it stands, or in which an arm starts [rad, m], shape (n_joints,)
    links: tuple[str, ...]  # links to estimate, the trunk first; none if the trunk has no possible inertia
    open_points: tuple[str, ...]  # what could not be determined, a sentence each
    contacts: tuple[FootContact, ...] = ()  # contact of every foot
    wrench_frames: tuple[str, ...] = ()  # force sensor of every foot if each has one; empty: contact frames
    height: float = 0.0  # height of the base above the ground [m]; zero for an arm
    trunk: str = ""  # link of the trunk; empty for an arm

    @property
    def legged(self) -> bool:
        """Whether the robot stands on legs."""
        return self.decision.kind is not Kind.ARM

    @property
    def forces_by_torques(self) -> bool:
        """Whether no foot has a force sensor and the torques of every leg determine the force on its foot."""
        if not self.legged or self.wrench_frames:
            return False
        least = min(len(leg.joints) for leg in self.decision.legs)
        soles = any(contact.sole for contact in self.contacts)
        return least >= WRENCH_JOINTS if soles else FORCE_JOINTS <= least < WRENCH_JOINTS

    @property
    def leg_height(self) -> float:
        """Height of base or hips above the ground, whichever is higher [m]; zero for an arm."""
        hips = [leg.bodies[0] for leg in self.decision.legs]
        poses = self.robot.frame_poses(self.posture, hips)
        return self.height + max([0.0, *(float(p[2]) for _R, p in poses)])

    @property
    def stance_width(self) -> float:
        """Lateral distance between the outermost contact frames [m]; zero for an arm."""
        poses = self.robot.frame_poses(self.posture, [contact.frame for contact in self.contacts])
        sides = [float(p[1]) for _R, p in poses]
        return max(sides) - min(sides) if sides else 0.0

    @property
    def can_stand(self) -> bool:
        """Whether its feet can carry it at rest: two need soles."""
        return not self.legged or len(self.contacts) > 2 or all(c.sole for c in self.contacts)


def survey_robot(urdf: str, folders: Sequence[str | Path], wishes: Wishes, rng: Generator) -> Survey:
    """Determine everything that a parameter file needs from a robot's description and the user's choices.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If a choice of the user does not fit the robot.
        ~inertial_estimation.errors.ModelError: If the description is not that of a usable robot.
    """
    described = describe(urdf)
    locked, free, decision = _locked(urdf, described, wishes)
    if decision.kind is Kind.ARM:
        return _arm(urdf, described, locked, decision, wishes, rng)
    robot, contacts, posture, height, of_feet = find_feet(
        free, urdf, folders, decision.legs, rng, wishes.soles
    )
    trunk = trunk_of(free, described, decision.legs)
    imu, reason = imu_frame(free, described, wishes.imu)
    sensors = foot_sensors(robot, described, contacts)
    links = wishes.links or links_to_estimate(free, decision.legs, trunk)
    unusable = (
        f"estimates: of the tilt alone, until the URDF has a possible inertia of '{trunk}' (or --links)"
    )
    open_points = *decision.open_points, *_open_points(described, (imu, reason), locked, sensors)
    return Survey(
        *(described, robot, decision, locked, imu, reason, posture, links),
        (*open_points, *of_feet, *(() if links else (unusable,))),
        contacts,
        tuple(of_foot[0] for of_foot in sensors) if all(len(of_foot) == 1 for of_foot in sensors) else (),
        height,
        trunk,
    )


def _locked(
    urdf: str, described: Description, wishes: Wishes
) -> tuple[dict[str, str], RobotModel, KindDecision]:
    """Return the locked joints with reasons, the floating robot without them, and its kind."""
    names = [joint.name for joint in described.joints]
    kept = [names[j] for j in matching(wishes.unlock, names, "joint", "--unlock")]
    locked = joints_to_lock(urdf, described, kept)
    asked = matching(wishes.lock, names, "joint", "--lock")
    locked |= dict.fromkeys((names[j] for j in asked), AS_REQUESTED)
    while True:
        free = RobotModel.from_urdf(urdf, locked_joints=list(locked))
        if not free.n_joints:
            raise ConfigurationError("every joint is locked, expected at least one that moves (--unlock)")
        for link in wishes.links:
            free.link_body(link)
        decision = decide_kind(free, wishes.kind)
        ends = {j: reason for j, reason in ends_to_lock(free, decision.legs).items() if j not in kept}
        if not ends:
            return {name: locked[name] for name in names if name in locked}, free, decision
        locked |= ends


def _open_points(
    described: Description,
    imu: tuple[str, str],
    locked: Mapping[str, str],
    sensors: Sequence[Sequence[str]],
) -> list[str]:
    """Return what could not be determined about IMU, wheels and force sensors, a sentence each."""
    (link, reason), found = imu, list[str]()
    pose = described.turned_imus.get(link)
    if reason == NO_IMU:
        found.append(f"imu_frame: {NO_IMU} (--imu LINK, or a frame by the parameter frames)")
    elif pose and reason != AS_REQUESTED:
        turned = f"the sensor is turned in '{link}' (<pose> {pose})"
        found.append(f"imu_frame: {turned}: give it a frame (parameter frames)")
    if wheels := [name for name, why in locked.items() if why == WHEELS]:
        rolls = "a foot on a wheel stands still only while it does not roll"
        found.append(f"contacts: {rolls} ({listing(wheels, limit=4)})")
    if several := [listing(of_foot, limit=4) for of_foot in sensors if len(of_foot) > 1]:
        feet = "; ".join(several)
        found.append(f"contacts: several force sensors in a foot ({feet}): publish the sum of their wrenches")
    return found


def _arm(
    urdf: str,
    described: Description,
    locked: Mapping[str, str],
    decision: KindDecision,
    wishes: Wishes,
    rng: Generator,
) -> Survey:
    robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=list(locked))
    if wishes.imu:
        robot.frame_id(wishes.imu)
    still = ": estimate while its wheels stand still" if WHEELS in locked.values() else ""
    return Survey(
        *(described, robot, decision, locked, wishes.imu),
        AS_REQUESTED if wishes.imu else f"a fixed base needs none{still}",
        _held_posture(robot, rng),
        wishes.links or links_to_estimate(robot, (), ""),
        decision.open_points,
    )


def _held_posture(robot: RobotModel, rng: Generator) -> Array:
    """Return the posture nearest to the rest posture that the joints hold well within their effort limits."""
    rest, limits = rest_posture(robot, room=0.4, share=0.3), joint_limits(robot)  # with room to move [rad]
    postures = np.vstack((rest, rng.uniform(limits.lower, limits.upper, size=(POSTURES, robot.n_joints))))
    torques = np.abs(gravity_torques(robot, postures))
    held = postures[(torques < HELD * urdf_limits(robot).effort).all(axis=1)]
    return min(held, key=lambda q: float(np.linalg.norm(q - rest)), default=rest)
