"""Joint states by name to the model's order; offsets of encoders and gains of drives on the way."""

import numpy as np
import pytest

from inertial_estimation.errors import (
    ConfigurationError,
    DuplicateJointError,
    MeasurementError,
    ModelError,
)
from inertial_estimation.models.joint_corrections import DriveGains, JointOffsets
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import JointReading

LINK = """<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0"
iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>
<limit effort="1" velocity="1" lower="-1" upper="1"/></joint>"""
LINKS = "".join(LINK.format(name) for name in ("base", "upper", "lower"))
JOINTS = JOINT.format("shoulder", "base", "upper") + JOINT.format("elbow", "upper", "lower")
ROBOT = RobotModel.from_urdf(f"<robot name='r'>{LINKS}{JOINTS}</robot>")


def reading(names, **fields):
    n = len(names)
    values = {"velocity": np.arange(n) + 10.0, "effort": np.arange(n) + 20.0, **fields}
    return JointReading(5, tuple(names), np.arange(n, dtype=float), **values)


def test_any_order_and_extra_joints():
    sample = JointMap(ROBOT, need_effort=True).sample(reading(["x", "elbow", "shoulder"]))
    np.testing.assert_array_equal(sample.q, [2, 1])
    np.testing.assert_array_equal(sample.v, [12, 11])
    np.testing.assert_array_equal(sample.tau, [22, 21])


@pytest.mark.parametrize("need_effort", [True, False])
def test_a_row_is_the_sample_in_one_piece(need_effort):
    joint_map = JointMap(ROBOT, need_effort=need_effort)
    given = reading(["x", "elbow", "shoulder"])
    sample = joint_map.sample(given)
    parts = [sample.q, sample.v] + ([sample.tau] if need_effort else [])
    np.testing.assert_array_equal(joint_map.row(given), np.concatenate(parts))


def test_names_that_change_are_followed_and_counted():
    joint_map = JointMap(ROBOT)
    joint_map.sample(reading(["shoulder", "elbow"]))
    sample = joint_map.sample(reading(["elbow", "shoulder"]))
    np.testing.assert_array_equal(sample.q, [1, 0])
    assert joint_map.name_changes == 1


def test_a_missing_joint_is_named():
    with pytest.raises(MeasurementError, match=r"misses elbow.*it has shoulder"):
        JointMap(ROBOT).sample(reading(["shoulder"]))


@pytest.mark.parametrize("missing", ["velocity", "effort"])
def test_a_missing_field_is_named(missing):
    given = reading(["shoulder", "elbow"], **{missing: None})
    with pytest.raises(MeasurementError, match=missing):
        JointMap(ROBOT, need_effort=True).sample(given)


def test_effort_is_not_needed_unless_asked_for():
    given = reading(["shoulder", "elbow"], effort=None)
    assert JointMap(ROBOT).sample(given).tau is None


def test_offsets_and_gains_reach_their_joints_and_nothing_else():
    config = RobotConfig(
        joint_offsets=JointOffsets(("elbow",), (0.25,)), drive_gains=DriveGains(("shoulder",), (-2.0,))
    )
    joint_map = JointMap(ROBOT, config, need_effort=True)
    plain = JointMap(ROBOT, need_effort=True).sample(reading(["elbow", "shoulder"]))
    sample = joint_map.sample(reading(["elbow", "shoulder"]))
    np.testing.assert_array_equal(sample.q - plain.q, [0.0, 0.25])
    np.testing.assert_array_equal(sample.v, plain.v)
    np.testing.assert_array_equal(sample.tau / plain.tau, [-2.0, 1.0])


@pytest.mark.parametrize(
    ("config", "error", "said"),
    [
        (
            RobotConfig(joint_offsets=JointOffsets(("elbow",), ())),
            ConfigurationError,
            "0 values.*its 1 joints",
        ),
        (RobotConfig(joint_offsets=JointOffsets(("knee",), (0.1,))), ModelError, "no joint 'knee'.*shoulder"),
        (RobotConfig(joint_offsets=JointOffsets(("elbow",), ("x",))), ConfigurationError, "'x' for 'elbow'"),
        (RobotConfig(drive_gains=DriveGains(("elbow",), (0.0,))), ConfigurationError, "gain of 'elbow' is 0"),
        (
            RobotConfig(drive_gains=DriveGains(("elbow",) * 2, (1.0, 2.0))),
            ConfigurationError,
            "more than once",
        ),
    ],
)
def test_corrections_that_do_not_fit_are_refused(config, error, said):
    with pytest.raises(error, match=said):
        JointMap(ROBOT, config)


@pytest.mark.parametrize("names", [["elbow", "shoulder", "elbow"], ["shoulder", "x", "elbow", "shoulder"]])
def test_a_joint_named_twice_is_refused_and_named(names):
    """Even with equal values: which publisher is right cannot be known."""
    twice = names[-1]
    with pytest.raises(DuplicateJointError, match=f"names {twice} more than once"):
        JointMap(ROBOT).row(reading(names))


def test_a_joint_of_another_robot_may_be_named_twice():
    assert JointMap(ROBOT).row(reading(["x", "x", "elbow", "shoulder"]))[0] == 3.0
