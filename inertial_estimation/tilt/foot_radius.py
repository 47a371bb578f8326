"""Radius of round feet, from the collision spheres of the URDF."""

import math
import xml.etree.ElementTree as ElementTree

import numpy as np

from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

OFF_CENTRE = 0.5  # of the radius, by which a contact frame may differ from the centre of the sphere


def foot_radius(setup: RobotSetup, urdf: str) -> float:
    """Return the mean radius of the collision spheres centred at the contact frames [m]; zero without any.

    A contact frame on the surface of a foot, or on a flat one, has no such sphere.

    Args:
        setup: The robot and its contacts.
        urdf: Text of its URDF.
    """
    spheres = _spheres(urdf)
    radii = [_radius(setup.robot, contact.frame, spheres) for contact in setup.contacts]
    return float(np.mean(radii)) if radii and min(radii) > 0.0 else 0.0


def _spheres(urdf: str) -> list[tuple[str, Array, float]]:
    """Link, centre in it and radius of every collision sphere."""
    found = []
    for link in ElementTree.fromstring(urdf.strip().encode()).iter("link"):
        for collision in link.iter("collision"):
            sphere, origin = collision.find("geometry/sphere"), collision.find("origin")
            if sphere is None:
                continue
            xyz = "" if origin is None else origin.get("xyz", "")
            centre = np.array([float(number) for number in xyz.split()] or [0.0] * 3)
            found.append((link.get("name", ""), centre, float(sphere.get("radius", "0"))))
    return found


def _radius(robot: RobotModel, frame: str, spheres: list[tuple[str, Array, float]]) -> float:
    parent = robot.model.frames[robot.frame_id(frame)].parentJoint
    for link, centre, radius in spheres:
        if not robot.model.existFrame(link):
            continue
        if robot.model.frames[robot.frame_id(link)].parentJoint != parent:
            continue
        distance = math.dist(robot.fixed_transform(frame, link).act(centre), (0.0, 0.0, 0.0))
        if distance < OFF_CENTRE * radius:
            return radius
    return 0.0
