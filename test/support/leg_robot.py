"""A two-legged robot, its IMU on a torso that turns, and its exact motion over a fixed foot."""

import functools

import numpy as np
import pinocchio as pin

import inertial_estimation as ie
from support.urdf import joint_xml, link_xml, robot_xml

LIMIT = (-3, 3, 1, 9)
PARTS = ("thigh", "shank", "foot", "sole", "sensor")


def _leg(side, y):
    thigh, shank, foot, sole, sensor = names = [f"{side}_{part}" for part in PARTS]
    return [
        *(link_xml(name, 2) for name in names),
        joint_xml(f"{side}_hip", "base", thigh, xyz=f"0 {y} -0.1", limit=LIMIT),
        joint_xml(f"{side}_knee", thigh, shank, xyz="0 0 -0.4", limit=LIMIT),
        joint_xml(f"{side}_ankle", shank, foot, "1 0 0", "0 0 -0.4", limit=LIMIT),
        joint_xml(f"{side}_sole_fixed", foot, sole, xyz="0.02 0 -0.05", kind="fixed"),
        joint_xml(f"{side}_sensor_fixed", foot, sensor, xyz="0 0.03 0.06", rpy="0.5 -0.3 2", kind="fixed"),
    ]


URDF = robot_xml(
    *(link_xml(name, 2) for name in ("base", "torso", "imu", "arm")),
    joint_xml("waist", "base", "torso", "0 0 1", "0 0 0.1", limit=LIMIT),
    joint_xml("imu_fixed", "torso", "imu", xyz="0.05 0.02 0.2", rpy="0.4 -1.2 2.0", kind="fixed"),
    joint_xml("elbow", "torso", "arm", xyz="0 0.2 0.1", limit=LIMIT),
    *_leg("left", 0.1),
    *_leg("right", -0.1),
    name="legs",
)
CONFIG = {"imu_frame": "imu", "contacts": ("left", "right"), "contact_frames": ("left_sole", "right_sole")}
G = np.array([0.0, 0.0, 9.80665])
MODEL = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
NAMES = tuple(MODEL.names[2:])


def tilt_pipeline(**values):
    return ie.TiltPipeline(ie.build_config(ie.TiltPipelineConfig, {**CONFIG, **values}), URDF)


def push_stance(pipeline, stance, stamp, t, *, spoil=lambda imu: imu):
    """Push all readings of one instant; the IMU sample may be altered."""
    pipeline.push_joints(stance.joints(stamp, t))
    pipeline.push_wrench("left", stance.wrench(stamp, 400.0))
    pipeline.push_wrench("right", ie.WrenchSample(stamp, np.zeros(6)))
    pipeline.push_imu(spoil(stance.imu(stamp, t)))


@functools.lru_cache(maxsize=12)
def _readings_of(*_motion):
    """Readings of a motion by their time: many tests look at the same one."""
    return {}


class Stance:
    """Joints follow sinusoids; the left sole stays where it is in the world.

    Args:
        size: Amplitude of the joints [rad].
        foot: Orientation of the sole in the world.
        still_until: When the motion begins [s].
    """

    def __init__(self, seed=0, size=0.2, foot=(0.0, 0.0, 0.0), still_until=0.0):
        rng = np.random.default_rng(seed)
        self._phase, self._speed = rng.uniform(0, 6.28, len(NAMES)), rng.uniform(2, 5, len(NAMES))
        self._size, self._still = size, still_until
        self._T_WF = pin.SE3(pin.exp3(np.array(foot)), np.array([0.3, -0.2, 0.0]))
        self._data = MODEL.createData()
        self._readings = _readings_of(seed, size, tuple(foot), still_until)

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
        return self._T_WF * T_BF.inverse() * self._data.oMf[MODEL.getFrameId(frame)]

    def rate(self, t, d=1e-5):
        """Angular velocity of the IMU, in its frame."""
        before, after = (self.pose("imu", t + s).rotation for s in (-d, d))
        return pin.log3(before.T @ after) / (2 * d)

    def force(self, t, d=1e-3):
        before, now, after = (self.pose("imu", t + s) for s in (-d, 0.0, d))
        a = (after.translation - 2 * now.translation + before.translation) / d**2
        return now.rotation.T @ (a + G)

    def imu(self, stamp_ns, t):
        force, rate, _, _ = self._at(t)
        return ie.ImuSample(stamp_ns, force, rate)

    def joints(self, stamp_ns, t):
        _, _, q, v = self._at(t)
        return ie.JointReading(stamp_ns, NAMES, q, v)

    def _at(self, t):
        """Specific force, angular rate, joint positions and velocities."""
        if t not in self._readings:
            self._readings[t] = self.force(t), self.rate(t), self.q(t), self.v(t)
        return self._readings[t]

    def wrench(self, stamp_ns, newtons):
        """Vertical force at the left sole, in its frame."""
        f = self._T_WF.rotation.T @ np.array([0.0, 0.0, newtons])
        return ie.WrenchSample(stamp_ns, np.append(f, np.zeros(3)))
