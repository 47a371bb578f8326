"""Assignment of contact points to the contacts of a robot, and their positions on its links."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stance_config import contact_points
from inertial_estimation.signals import Array
from inertial_estimation.simulation.contact_points import ContactPoints
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.robot_build import BuiltRobot
from inertial_estimation.simulation.simulation_config import SimulationConfig


@dataclass(frozen=True, eq=False)
class ContactPatch:
    """The points of one contact.

    Attributes:
        name: Name of the contact.
        wrench_frame: Frame its wrench is about.
        where: Which of all the points are its own.
        points_F: Its points in the wrench frame [m], shape (k, 3).
    """

    name: str
    wrench_frame: str
    where: slice
    points_F: Array


def make_contact_points(
    robot: RobotModel, contacts: Sequence[ContactFrames], built: BuiltRobot, config: SimulationConfig
) -> tuple[ContactPoints, tuple[ContactPatch, ...]]:
    """Place the contact points of a robot: the corners of its soles, or the origins of its contact frames.

    Args:
        robot: The robot.
        contacts: Its contacts.
        built: Its MuJoCo model.
        config: Stance and ground.

    Returns:
        All points, and for each contact which of them are its own.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the stance and the contacts are inconsistent.
    """
    bodies: list[int] = []
    points_B: list[Array] = []
    patches: list[ContactPatch] = []
    for contact, points in zip(contacts, contact_points(config.stance, config.robot.contacts), strict=True):
        frame = robot.model.frames[robot.frame_id(contact.frame)]
        T_FC = robot.fixed_transform(contact.wrench_frame, contact.frame)
        where = slice(len(bodies), len(bodies) + len(points))
        points_F = np.array([T_FC.act(point) for point in points])
        patches.append(ContactPatch(contact.name, contact.wrench_frame, where, points_F))
        bodies += [built.bodies[frame.parentJoint]] * len(points)
        points_B += [frame.placement.act(point) for point in points]
    terrain = terrain_from_config(config.ground)
    return ContactPoints(built.model, bodies, np.reshape(points_B, (-1, 3)), terrain), tuple(patches)
