"""A two-legged robot, its IMU on a torso that turns, and its exact motion over a fixed foot."""

import functools

import numpy as np
import pinocchio as pin

from inertial_estimation.parameters import build_config
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.pipeline import TiltPipeline

LINK = """<link name="{}"><inertial><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}" rpy="{}"/>
<axis xyz="{}"/><limit effort="1" velocity="9" lower="-3" upper="3"/></joint>"""


def _leg(side, y):
    return [
        (f"{side}_hip", "revolute", "base", f"{side}_thigh", f"0 {y} -0.1", "0 0 0", "0 1 0"),
        (f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shank", "0 0 -0.4", "0 0 0", "0 1 0"),
        (f"{side}_ankle", "revolute", f"{side}_shank", f"{side}_foot", "0 0 -0.4", "0 0 0", "1 0 0"),
        (f"{side}_sole_fixed", "fixed", f"{side}_foot", f"{side}_sole", "0.02 0 -0.05", "0 0 0", "1 0 0"),
        (
            f"{side}_sensor_fixed",
            "fixed",
            f"{side}_foot",
            f"{side}_sensor",
            "0 0.03 0.06",
            "0.5 -0.3 2",
            "1 0 0",
        ),
    ]


JOINTS = [
    ("waist", "revolute", "base", "torso", "0 0 0.1", "0 0 0", "0 0 1"),
    ("imu_fixed", "fixed", "torso", "imu", "0.05 0.02 0.2", "0.4 -1.2 2.0", "1 0 0"),
    ("elbow", "revolute", "torso", "arm", "0 0.2 0.1", "0 0 0", "0 1 0"),
    *_leg("left", 0.1),
    *_leg("right", -0.1),
]
LINKS = ["base", *(joint[3] for joint in JOINTS)]
URDF = (
    "<robot name='legs'>"
    + "".join(map(LINK.format, LINKS))
    + "".join(JOINT.format(*j) for j in JOINTS)
    + "</robot>"
)
CONFIG = {
    "imu_frame": "imu",
    "contacts": ("left", "right"),
    "contact_frames": ("left_sole", "right_sole"),
}
G = np.array([0.0, 0.0, 9.80665])
MODEL = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
NAMES = tuple(MODEL.names[2:])


def tilt_pipeline(**values):
    return TiltPipeline(build_config(TiltPipelineConfig, {**CONFIG, **values}), URDF)


def push_stance(
    pipeline,
    stance,
    stamp,
    t,
    *,
    load=(400.0, 0.0),
    bias=(0.0, 0.0, 0.0),
    sent=lambda joints: joints,
    spoil=lambda imu: imu,
):
    """Push all readings of one instant; the joint state and the IMU sample may be altered."""
    pipeline.push_joints(sent(stance.joints(stamp, t)))
    pipeline.push_wrench("left", stance.wrench(stamp, t, load[0]))
    pipeline.push_wrench("right", WrenchSample(stamp, [0, 0, load[1], 0, 0, 0]))
    pipeline.push_imu(spoil(stance.imu(stamp, t, bias)))


@functools.lru_cache(maxsize=12)
def _readings_of(*_motion):
    """Readings of a motion by their time: many tests look at the same one."""
    return {}


class Stance:
    """Joints follow sinusoids; one point of the left sole stays where it is in the world.

    Args:
        size: Amplitude of the joints [rad].
        foot: Orientation of the sole in the world.
        still_until: When the motion begins [s].
        pivot: The point of the sole that stays, in its frame [m].
        roll: Amplitude of the rotation of the sole about that point [rad].
    """

    def __init__(
        self,
        seed=0,
        size=0.2,
        foot=(0.0, 0.0, 0.0),
        still_until=0.0,
        pivot=(0.0, 0.0, 0.0),
        roll=(0.0, 0.0, 0.0),
    ):
        rng = np.random.default_rng(seed)
        self._phase, self._speed = rng.uniform(0, 6.28, len(NAMES)), rng.uniform(2, 5, len(NAMES))
        self._size, self._still = size, still_until
        self._T_WF = pin.SE3(pin.exp3(np.array(foot)), np.array([0.3, -0.2, 0.0]))
        self._T_FP = pin.SE3(np.eye(3), np.array(pivot))
        self._roll = np.array(roll)
        self._data = MODEL.createData()
        self._readings = _readings_of(seed, size, tuple(foot), still_until, tuple(pivot), tuple(roll))

    def sole(self, t):
        """Pose of the left sole in the world."""
        if not self._roll.any():
            return self._T_WF
        s = max(t - self._still, 0.0)
        turn = pin.exp3(self._roll * (1.0 - np.exp(-(s**3))) * np.sin(3.0 * s))
        return self._T_WF * self._T_FP * pin.SE3(turn, np.zeros(3)) * self._T_FP.inverse()

    def q(self, t):
        s = max(t - self._still, 0.0)
        ramp = 1.0 - np.exp(-(s**3))  # three continuous derivatives' worth of a soft start
        return self._size * ramp * np.sin(self._speed * s + self._phase)

    def v(self, t, d=1e-5):
        return (self.q(t + d) - self.q(t - d)) / (2 * d)

    def pose(self, frame, t):
        configuration = np.concatenate(([0, 0, 0, 0, 0, 0, 1.0], self.q(t)))
        pin.framesForwardKinematics(MODEL, self._data, configuration)
        T_BF = self._data.oMf[MODEL.getFrameId("left_sole")]
        return self.sole(t) * T_BF.inverse() * self._data.oMf[MODEL.getFrameId(frame)]

    def velocity(self, frame, t, d=1e-5):
        """Velocity of a frame's origin and angular velocity, in the frame."""
        before, now, after = (self.pose(frame, t + s) for s in (-d, 0.0, d))
        v = now.rotation.T @ (after.translation - before.translation) / (2 * d)
        w = pin.log3(before.rotation.T @ after.rotation) / (2 * d)
        return v, w

    def force(self, t, d=1e-3):
        before, now, after = (self.pose("imu", t + s) for s in (-d, 0.0, d))
        a = (after.translation - 2 * now.translation + before.translation) / d**2
        return now.rotation.T @ (a + G)

    def imu(self, stamp_ns, t, bias=(0.0, 0.0, 0.0)):
        force, rate, _, _ = self._at(t)
        return ImuSample(stamp_ns, force, rate + bias)

    def joints(self, stamp_ns, t):
        _, _, q, v = self._at(t)
        return JointReading(stamp_ns, NAMES, q, v)

    def _at(self, t):
        """Specific force, angular rate, joint positions and velocities."""
        if t not in self._readings:
            self._readings[t] = self.force(t), self.velocity("imu", t)[1], self.q(t), self.v(t)
        return self._readings[t]

    def wrench(self, stamp_ns, t, newtons, *, point=(0.0, 0.0, 0.0), frame="left_sole"):
        """Vertical force at a point of the left sole, in its frame [m], as a sensor in a frame sees it."""
        f = self.sole(t).rotation.T @ np.array([0.0, 0.0, newtons])
        about_sole = pin.Force(f, pin.skew(np.array(point)) @ f)
        if frame == "left_sole":
            return WrenchSample(stamp_ns, about_sole.vector)
        T_FS = self.pose("left_sole", t).actInv(self.pose(frame, t))
        return WrenchSample(stamp_ns, T_FS.actInv(about_sole).vector)
