"""Postures of a recording: joints and orientations of the same moment, or none."""

import numpy as np
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.messages import JOINT_STATE_TYPE, QUATERNION_TYPE
from inertial_estimation.models.robot_config import JointOffsets
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.postures import read_bag_postures
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry
from inertial_estimation.signals import JointReading, OrientationSample

SPEED = 0.1  # of all joints [rad/s]
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def panda():
    urdf = read_urdf("example-robot-data:panda")
    return RobotModel.from_urdf(urdf, floating_base=False, locked_joints=["panda_finger_joint*"])


def table(robot, stamps_s, config=RobotConfig(), parts=1, **changes):  # noqa: B008
    entries = []
    for t in stamps_s:
        stamp = round((t + 5.0) * 1e9)
        q = np.full(robot.n_joints, SPEED * t)
        for names, part in zip(
            np.array_split(robot.joint_names, parts), np.array_split(q, parts), strict=True
        ):
            entries.append(RecordingEntry("/joints", stamp, JointReading(stamp, tuple(names.tolist()), part)))
    for t in np.arange(0.0, 4.0, 0.05):
        stamp = round((t + 5.0) * 1e9)
        entries.append(RecordingEntry("/imu", stamp, OrientationSample(stamp, UPRIGHT)))
    recording = MemoryRecording(tuple(entries), {"/joints": JOINT_STATE_TYPE, "/imu": QUATERNION_TYPE})
    arguments = {"interval_s": 0.8, "held_out_interval_s": 0.4, "joints": robot.joint_names, **changes}
    return read_bag_postures(
        recording, robot, config, joint_topic="/joints", imu_topics={"panda_link0": "/imu"}, **arguments
    )


def test_postures_are_those_of_their_times_whatever_the_stamps(panda):
    rng = np.random.default_rng(0)
    stamps = np.arange(0.0, 3.0, 0.01) + np.concatenate(([0.0], 4e-3 * rng.uniform(-1.0, 1.0, 299)))
    found = table(panda, stamps)
    expected = SPEED * 0.4 * np.arange(8)
    assert len(found.q) == 8
    assert np.abs(found.q - expected[:, None]).max() < SPEED * 0.01
    assert found.held_out.tolist() == [False, True] * 4


def test_a_gap_gives_no_posture_instead_of_a_later_one(panda):
    stamps = np.arange(0.0, 3.0, 0.01)
    found = table(panda, stamps[(stamps < 0.6) | (stamps > 1.05)])
    assert len(found.q) == 7
    assert found.dropped == {"incomplete or moving": 1}
    assert not np.isclose(found.q[:, 0], SPEED * 0.8, atol=SPEED * 0.3).any()


def test_several_orientations_near_a_posture_are_one_orientation(panda):
    found = table(panda, np.arange(0.0, 3.0, 0.01))
    quaternions = found.stacked([f"panda_link0/{name}" for name in ("qx", "qy", "qz", "qw")], "bag")
    np.testing.assert_allclose(quaternions, np.tile(UPRIGHT, (8, 1)), atol=1e-12)


def test_joint_states_in_parts_make_whole_postures_without_the_known_offsets(panda):
    stamps = np.arange(0.0, 3.0, 0.01)
    offsets = JointOffsets((panda.joint_names[0],), (0.3,))
    found = table(panda, stamps, RobotConfig(joint_offsets=offsets), parts=2)
    assert len(found.q) >= 7
    assert np.ptp(found.q, axis=1).max() < SPEED * 0.011, "all joints have one position"
    np.testing.assert_allclose(np.diff(found.q[:, 0]), SPEED * 0.4, atol=SPEED * 0.011)
