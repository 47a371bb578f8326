"""Perturbed robot descriptions for the estimators and the controller of an experiment."""

from collections.abc import Mapping

import numpy as np

from inertial_estimation.errors import ModelError, did_you_mean
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_document import UrdfDocument, child_of, numbers_of, set_child
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters


def urdf_with_moved_com(urdf: str, link: str, move_L: Array) -> str:
    """Return a URDF in which the centre of mass of a body lies elsewhere; mass and moments about it stay.

    Args:
        urdf: XML text.
        link: Link of the body.
        move_L: Added to the centre of mass, link frame [m], shape (3,).

    Raises:
        ~inertial_estimation.errors.ModelError: If there is no such link.
    """
    robot = RobotModel.from_urdf(urdf)
    body = BodyReference.of_link(robot, link)
    own = InertialParameters.from_vector(body.to_link @ body.nominal_C)
    moved = InertialParameters(own.mass, own.com_F + move_L, own.inertia_Fcm)
    return urdf_with_bodies(urdf, robot, [body], [moved.vector])


def urdf_with_moved_links(urdf: str, moves_P: Mapping[str, Array]) -> str:
    """Return a URDF in which links sit elsewhere on their parents, such as feet on their shanks.

    Args:
        urdf: XML text.
        moves_P: By link, added to where its joint to the parent is, parent's axes [m], shape (3,).

    Raises:
        ModelError: If a link has no joint to a parent.
    """
    document = UrdfDocument(urdf)
    joints = document.parent_joints
    for link, move in moves_P.items():
        if link not in joints:
            hint = did_you_mean(link, joints, "there are")
            raise ModelError(f"no link '{link}' with a parent in the URDF{hint}")
        xyz = np.array(numbers_of(child_of(joints[link], "origin"), "xyz")) + move
        set_child(joints[link], "origin", {"xyz": " ".join(f"{number:.12g}" for number in xyz)})
    return document.text()
