"""Models of example robots from their descriptions alone: their meshes take a second of a processor."""

import pinocchio as pin

from inertial_estimation.configuration.urdf_source import read_urdf


def fixed_model(name: str) -> pin.Model:
    """The model of an arm by its name in example-robot-data, its base fixed."""
    return pin.buildModelFromXML(read_urdf(f"example-robot-data:{name}"))


def floating_model(name: str) -> pin.Model:
    """The model of a legged robot, its base free."""
    return pin.buildModelFromXML(read_urdf(f"example-robot-data:{name}"), pin.JointModelFreeFlyer())
