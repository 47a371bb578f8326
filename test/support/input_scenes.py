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

MS = 1_000_000
STEPS, NEEDS = Steps(IMU), JointNeeds()
START = 1_700_000_000_000_000_000
JOINTS_OF = ("L_hip", "L_knee", "R_hip", "R_knee")
INERTIA = (
    '<inertial><mass value="{}"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial>'
)
QUARTER = 'rpy="0 0 1.5707963267948966"'
LEG = """
<link name="{s}_thigh">{i}</link><link name="{s}_shank">{i}</link><link name="{s}_foot"/>
<link name="{s}_cell"/>
<joint name="{s}_hip" type="revolute"><parent link="base"/><child link="{s}_thigh"/><origin xyz="0 {y} 0"/>
<axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="40" velocity="20"/></joint>
<joint name="{s}_knee" type="revolute"><parent link="{s}_thigh"/><child link="{s}_shank"/>
<origin xyz="0 0 -.2"/><axis xyz="0 1 0"/><limit lower="-2.0" upper="0.5" effort="40" velocity="20"/></joint>
<joint name="{s}_ankle" type="fixed"><parent link="{s}_shank"/><child link="{s}_foot"/>
<origin xyz="0 0 -.2"/></joint><joint name="{s}_mount" type="fixed"><parent link="{s}_foot"/>
<child link="{s}_cell"/><origin xyz="0 0 .1" {quarter}/></joint>"""
LEGS = [LEG.format(s=s, y=y, i=INERTIA.format(1), quarter=QUARTER) for s, y in (("L", 0.1), ("R", -0.1))]
URDF = (
    f'<robot name="r"><link name="base">{INERTIA.format(10)}</link><link name="imu_link"/>'
    '<link name="turned"/>'
    '<joint name="mount" type="fixed"><parent link="base"/><child link="imu_link"/></joint>'
    '<joint name="other" type="fixed"><parent link="base"/><child link="turned"/>'
    f"<origin {QUARTER}/></joint>{''.join(LEGS)}{{}}</robot>"
)
SPIN = (
    f'<link name="wheel">{INERTIA.format(1)}</link><joint name="spin" type="continuous"><parent link="base"/>'
    '<child link="wheel"/><axis xyz="0 0 1"/></joint>'
)


def setup(*, spin=False, **changes):
    config = RobotConfig(
        **{
            "imu_frame": "imu_link",
            "contacts": ("l_foot", "r_foot"),
            "contact_frames": ("L_foot", "R_foot"),
            **changes,
        }
    )
    return robot_from_config(config, URDF.format(SPIN if spin else ""))


def parameters(**values):
    """Parameters of the inputs by name, two underscores for a dot."""
    return build_config(
        RobotGeometryConfig, {name.replace("__", "."): value for name, value in values.items()}
    )


def inputs(config=None, *, sources=None, spin=False, robot=None, steps=STEPS, needs=NEEDS, **options):
    chosen = setup(spin=spin) if robot is None else robot
    given = {} if sources is None else sources
    return RobotInputs(chosen, config or parameters(), steps, needs, sources=given, **options)


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
