"""Robots as small as one can be: a two-joint arm, bolted down, and a trunk with an IMU on one leg."""

from support.urdf import joint_xml, link_xml, robot_xml

URDF = robot_xml(
    link_xml("base", 1),
    link_xml("upper", 2, "0.2 0 0", (0.01, 0.02, 0.02)),
    link_xml("lower", 1, "0.1 0 0", (0.005, 0.01, 0.01)),
    joint_xml("shoulder", "base", "upper"),
    joint_xml("elbow", "upper", "lower", xyz="0.4 0 0", limit=(-3, 3, 50, 10)),
    name="arm",
)
JOINTS = ("shoulder", "elbow")
"""Torques that hold it at zero: the weights' levers by hand."""
HOLDING = {"elbow": -9.80665 * 1 * 0.1, "shoulder": -9.80665 * (2 * 0.2 + 1 * 0.5)}
HOPPER = robot_xml(
    link_xml("trunk", 8, "0 0 0.1", (0.2, 0.2, 0.1)),
    link_xml("imu"),
    joint_xml("imu_joint", "trunk", "imu", kind="fixed"),
    link_xml("leg", 2, "0 0 -0.2", (0.02, 0.02, 0.01)),
    joint_xml("hip", "trunk", "leg", limit=(-1, 1, 50, 5)),
    link_xml("sole"),
    joint_xml("sole_joint", "leg", "sole", xyz="0 0 -0.4", kind="fixed"),
    name="hopper",
)
