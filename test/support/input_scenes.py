"""A small robot and its readings, for the tests of the inputs."""

import numpy as np

from inertial_estimation.inputs.alignment import Steps
from inertial_estimation.inputs.config import RobotConfig, RobotGeometryConfig
from inertial_estimation.inputs.joints import JointNeeds
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample
from support.urdf import joint_xml, link_xml, robot_xml

MS = 1_000_000
STEPS, NEEDS = Steps(IMU), JointNeeds()
START = 1_700_000_000_000_000_000
JOINTS_OF = ("L_hip", "L_knee", "R_hip", "R_knee")
TURNED = "0 0 1.5707963267948966"


def _leg(side, y):
    thigh, shank, foot, cell = names = [f"{side}_{part}" for part in ("thigh", "shank", "foot", "cell")]
    return [
        *(link_xml(name, mass) for name, mass in zip(names, (1, 1, 0, 0), strict=True)),
        joint_xml(f"{side}_hip", "base", thigh, xyz=f"0 {y} 0", limit=(-1.5, 1.5, 40, 20)),
        joint_xml(f"{side}_knee", thigh, shank, xyz="0 0 -.2", limit=(-2.0, 0.5, 40, 20)),
        joint_xml(f"{side}_ankle", shank, foot, xyz="0 0 -.2", kind="fixed"),
        joint_xml(f"{side}_mount", foot, cell, xyz="0 0 .1", rpy=TURNED, kind="fixed"),
    ]


PARTS = [
    *(link_xml(name, mass) for name, mass in (("base", 10), ("imu_link", 0), ("turned", 0), ("tilted", 0))),
    joint_xml("mount", "base", "imu_link", kind="fixed"),
    joint_xml("other", "base", "turned", rpy=TURNED, kind="fixed"),
    joint_xml("slight", "base", "tilted", rpy="0 0 0.2", kind="fixed"),
    *_leg("L", 0.1),
    *_leg("R", -0.1),
]
TURN = (-3.1416, 3.1416, 40, 20)  # limits of software


def setup(*, spin="", **changes):
    """The robot, also with a wheel by a joint of a kind."""
    wheel = link_xml("wheel", 1), joint_xml("spin", "base", "wheel", "0 0 1", kind=spin, limit=TURN)
    feet = {"contacts": ("l_foot", "r_foot"), "contact_frames": ("L_foot", "R_foot")}
    config = RobotConfig(**{"imu_frame": "imu_link", **feet, **changes})
    return robot_from_config(config, robot_xml(*PARTS, *(wheel if spin else ())))


def parameters(**values):
    """Parameters of the inputs by name, two underscores for a dot."""
    return build_config(
        RobotGeometryConfig, {name.replace("__", "."): value for name, value in values.items()}
    )


def inputs(config=None, *, sources=None, spin="", robot=None, steps=STEPS, needs=NEEDS, **options):
    chosen = setup(spin=spin) if robot is None else robot
    given = {} if sources is None else sources
    return RobotInputs(chosen, config or parameters(), steps, needs, sources=given, **options)


def message(robot, name, at_ns=START):
    """What health says of a stream at a time."""
    return next(health.message for health in robot.health(at_ns) if health.name == name)


def imu(stamp_ns, force=(0.0, 0.0, 9.81), rate=(0.0, 0.0, 0.0)):
    return ImuSample(stamp_ns, np.array(force), np.array(rate))


def joints(stamp_ns, q=(0.1, -0.2, 0.3, -0.4), v=(0.0, 0.0, 0.0, 0.0), tau=None, names=JOINTS_OF):
    n = len(names)
    sent = [None if values is None else np.array(values[:n], dtype=float) for values in (q, v, tau)]
    return JointReading(stamp_ns, names, *sent)


def wrench(stamp_ns, force=(0.0, 0.0, 60.0), moment=(0.0, 0.0, 0.0)):
    return WrenchSample(stamp_ns, np.array([*force, *moment]))


def swing(t, k=0, amplitude=0.3, frequency=3.0):
    """Position and velocity of a joint that swings, at a time [s]."""
    angle = frequency * t + k
    return amplitude * np.sin(angle), amplitude * frequency * np.cos(angle)
