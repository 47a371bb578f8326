"""Models of example robots, made once: whoever changes one changes a copy."""

from functools import cache

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.robot_model import RobotModel


@cache
def talos() -> RobotModel:
    return RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))


@cache
def panda() -> RobotModel:
    urdf = read_urdf("example-robot-data:panda")
    return RobotModel.from_urdf(urdf, floating_base=False, locked_joints=("panda_finger*",))


@cache
def hyq() -> RobotModel:
    return RobotModel.from_urdf(read_urdf("example-robot-data:hyq_no_sensors"))
