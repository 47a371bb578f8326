"""Recordings that the tests of the diagnosis share."""

from dataclasses import replace

import numpy as np
import pytest
from support.leg_robot import CONFIG, URDF, Stance
from support.recorded_robots import ARMS, Recorded, recorded

import inertial_estimation as ie
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.messages import BOOL_TYPE, IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.recordings.robot_streams import read_streams
from inertial_estimation.signals import ContactSample

TYPES = {"/imu/data": IMU_TYPE, "/joint_states": JOINT_STATE_TYPE}
TYPES |= {"/left/wrench": BOOL_TYPE, "/right/wrench": BOOL_TYPE}


@pytest.fixture(scope="session")
def panda():
    return recorded("panda", 12.0)


@pytest.fixture(scope="session")
def legs():
    """TALOS whose arms and head are locked: where they do not matter, a check takes a third of the time."""
    return recorded("talos", 8.0, locked_joints=ARMS)


@pytest.fixture(scope="session")
def biped():
    """A small robot that sways over its left foot, with switches in its soles and without efforts."""
    config, stance, rng, entries = RobotConfig(**CONFIG), Stance(1, size=0.4), np.random.default_rng(0), []
    for stamp in range(10**9, 13 * 10**9, 10**7):
        imu, joints = (read(stamp, 1e-9 * stamp) for read in (stance.imu, stance.joints))
        noise = rng.normal(size=6) * [*3 * [0.05], *3 * [0.002]]
        imu = replace(
            imu,
            specific_force_I=imu.specific_force_I + noise[:3],
            angular_rate_I=imu.angular_rate_I + noise[3:],
        )
        samples = imu, joints, ContactSample(stamp, 1.0), ContactSample(stamp, 0.0)
        entries += [ie.RecordingEntry(topic, stamp, one) for topic, one in zip(TYPES, samples, strict=True)]
    recording, setup = ie.MemoryRecording(tuple(entries), TYPES), robot_from_config(config, URDF)
    span = (recording.start_ns, recording.end_ns)
    streams = read_streams(recording, ie.RecordedTopics(), setup, config, span, "switch")
    return Recorded(config, URDF, streams, recording)
