"""Contacts and standing posture of a legged robot, each found from the other."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.added_frames import with_frames
from inertial_estimation.models.limbs import Limb, end_links, frame_poses
from inertial_estimation.models.link_shapes import link_shapes
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.standing_posture import standing_posture
from inertial_estimation.setup_assistant.foot_contacts import FootContact, added_frames, placed_contacts
from inertial_estimation.setup_assistant.name_words import FOOT, count_of, side_of
from inertial_estimation.signals import Array

SOLE_JOINTS = 5  # of a leg, from which its foot can be level
TOKEN = re.compile(r"[^a-z0-9_]+")  # what the name of a topic may not hold
SIDES = {2: ("left_foot", "right_foot"), 4: ("lf_foot", "rf_foot", "lh_foot", "rh_foot")}


@dataclass(frozen=True, eq=False)
class StandingFeet:
    """How a robot stands.

    Attributes:
        robot: Its model with the contact frames that the URDF lacks.
        contacts: Contact of every leg, in the order of the legs.
        posture: Joint positions, shape (n_joints,).
        height: Height of the base above the ground [m].
        doubts: What could not be found out, a sentence each.
    """

    robot: RobotModel
    contacts: tuple[FootContact, ...]
    posture: Array
    height: float
    doubts: tuple[str, ...]


def find_feet(
    robot: RobotModel,
    urdf: str,
    folders: Sequence[str | Path],
    legs: Sequence[Limb],
    rng: Generator,
    wanted: Sequence[str] = (),
) -> StandingFeet:
    """Find contact frames and a standing posture.

    The posture is found with the feet where they are at zero joint positions, the contacts are placed anew
    in it, and the posture is found again.

    Args:
        robot: The robot, its base free.
        urdf: The text it is built from.
        folders: Folders in which meshes are searched.
        legs: Its legs.
        rng: Source of the starts of the search.
        wanted: Contact frame of each leg, if they are known.

    Raises:
        ConfigurationError: If there is not one wanted frame a leg, or it is not on the leg's last body.
        ~inertial_estimation.errors.ModelError: If legs share joints.
    """
    if wanted and len(wanted) != len(legs):
        raise ConfigurationError(
            f"--soles has {len(wanted)} frames, expected one for each of {len(legs)} legs"
        )
    soles = len(legs) == 2 and min(len(leg.joints) for leg in legs) >= SOLE_JOINTS
    names = _names(legs)
    of_feet = [link for leg in legs for link in end_links(robot, leg)]
    shapes = link_shapes(urdf, of_feet, folders)
    zero = np.zeros(robot.n_joints)
    first = placed_contacts(robot, zero, legs, names, shapes, soles=soles, named=False)
    posture, _wrong = _posture(robot, legs, first, rng, soles=soles)
    contacts = placed_contacts(robot, posture, legs, names, shapes, soles=soles, wanted=wanted)
    if not soles and all(count_of([c.frame], FOOT) and not c.pose for c in contacts):
        contacts = tuple(replace(c, name=TOKEN.sub("_", c.frame.lower())) for c in contacts)
    posture, wrong = _posture(robot, legs, contacts, rng, soles=soles)
    model = with_frames(robot, added_frames(contacts))
    heights = [float(p[2]) for _R, p in frame_poses(model, posture, [c.frame for c in contacts])]
    doubts = [f"the feet have no readable shapes: {shapes.note}"] if shapes.note else []
    doubts += [f"contact frame of '{c.name}': {c.source}" for c in contacts if c.guessed]
    return StandingFeet(
        model, contacts, posture, -sum(heights) / len(heights), (*doubts, *([wrong] if wrong else []))
    )


def _names(legs: Sequence[Limb]) -> tuple[str, ...]:
    """Return a name for each foot: by the sides that the URDF names, or by their places below the base."""
    sides = [side_of([leg.end, *leg.joints]) for leg in legs]
    if len(legs) == len(SIDES[2]) and set(sides) == {"left", "right"}:
        return tuple(f"{side}_foot" for side in sides)
    return SIDES.get(len(legs)) or tuple(f"foot_{k}" for k in range(1, len(legs) + 1))


def _posture(
    robot: RobotModel, legs: Sequence[Limb], contacts: Sequence[FootContact], rng: Generator, *, soles: bool
) -> tuple[Array, str]:
    model = with_frames(robot, added_frames(contacts))
    return standing_posture(model, legs, [c.frame for c in contacts], rng, soles=soles)
