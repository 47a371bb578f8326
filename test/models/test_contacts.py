import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.leg_robot import CONFIG, NAMES, URDF, Stance

from inertial_estimation.errors import ModelError
from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.models.contacts import anchor_velocity, centre_of_pressure, trigger
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_config import ContactFrames, RobotConfig, robot_from_config
from inertial_estimation.spatial.vectors import ZERO

ON, OFF = 50.0, 30.0


def kinematics(imu="imu"):
    setup = robot_from_config(RobotConfig(**{**CONFIG, "imu_frame": imu}), URDF)
    return setup.robot, ContactKinematics(setup.robot, setup.contacts, setup.imu)


def in_order(robot, values):
    return values[[NAMES.index(name) for name in robot.joint_names]]


@pytest.mark.parametrize("imu", ["imu", "base"])
@pytest.mark.parametrize("t", [0.4, 1.3, 2.9])
def test_a_fixed_foot_gives_the_velocity_of_the_imu(imu, t):
    """Oracle: differences of the IMU's pose over a foot that stands still in the world."""
    robot, legs = kinematics(imu)
    stance = Stance(1, foot=(0.1, -0.2, 0.5))
    v, w = stance.velocity(imu, t)
    state = legs.update(in_order(robot, stance.q(t)), in_order(robot, stance.v(t)))
    left = state.contacts[0]
    y_v = anchor_velocity(left.r_I, left.v_I, tuple(w))
    np.testing.assert_allclose(y_v, v, atol=1e-7)
    # The foot does not turn in the world: its rate relative to the IMU is the IMU's, reversed.
    np.testing.assert_allclose(left.w_I, -w, atol=1e-7)
    T_IC = stance.pose(imu, t).actInv(stance.pose("left_sole", t))
    np.testing.assert_allclose(left.r_I, T_IC.translation, atol=1e-12)
    np.testing.assert_allclose(left.R_IC, T_IC.rotation, atol=1e-12)


def test_motion_of_the_imu_relative_to_the_base_matches_differences():
    robot, legs = kinematics()
    stance, t, d = Stance(2), 1.7, 1e-6
    state = legs.update(in_order(robot, stance.q(t)), in_order(robot, stance.v(t)))

    def T_BI(time):
        return stance.pose("base", time).actInv(stance.pose("imu", time))

    np.testing.assert_allclose(state.p_BI, T_BI(t).translation, atol=1e-12)
    np.testing.assert_allclose(state.R_BI, T_BI(t).rotation, atol=1e-12)
    v = (T_BI(t + d).translation - T_BI(t - d).translation) / (2 * d)
    np.testing.assert_allclose(state.v_BI_B, v, atol=1e-7)


def test_only_joints_between_base_imu_and_contacts_are_computed():
    robot, legs = kinematics()
    used = {robot.joint_names[i] for i in legs.joints}
    assert used == set(robot.joint_names) - {"elbow"}
    _, legs = kinematics("base")
    assert {robot.joint_names[i] for i in legs.joints} == used - {"waist"}


def test_unknown_frames_are_named():
    robot, _ = kinematics()
    with pytest.raises(ModelError, match="no frame 'nose'"):
        ContactKinematics(robot, [ContactFrames("left", "nose", "nose")], ImuMount.on(robot, "imu"))


class Trigger:
    """A contact's trigger with its state."""

    def __init__(self):
        self.closed, self._threshold = False, 0.0

    def weight(self, force, on, off):
        weight, self.closed, self._threshold = trigger(force, on, off, self.closed, self._threshold)
        return weight


def test_trigger_switches_with_hysteresis():
    contact = Trigger()
    on = []
    for force in (0, 40, 49, 51, 120, 40, 31, 29, 40, 49, 51):
        contact.weight(force, ON, OFF)
        on.append(contact.closed)
    assert on == [False, False, False, True, True, True, True, False, False, False, True]


@given(st.lists(st.floats(-50.0, 50.0), min_size=5, max_size=60))
def test_weight_is_a_continuous_function_of_force(jumps):
    """Along any path of force, in steps of at most 0.1 N, it moves by no more than twice the force."""
    contact, force, last = Trigger(), 0.0, 0.0
    for jump in jumps:
        for _ in range(10 * int(abs(jump)) + 1):
            force = float(np.clip(force + np.sign(jump) * 0.1, 0.0, 300.0))
            weight = contact.weight(force, ON, OFF)
            assert abs(weight - last) <= 0.2 + 1e-9
            assert weight >= 0.0
            last = weight


def test_weight_reaches_zero_at_the_off_threshold_and_full_force_above():
    contact = Trigger()
    assert contact.weight(300.0, ON, OFF) == pytest.approx(270.0)
    assert contact.weight(OFF + 1e-6, ON, OFF) == pytest.approx(1e-6)
    assert contact.weight(OFF, ON, OFF) == 0.0


def test_torque_vanishes_about_the_centre_of_pressure():
    force, point = np.array([5.0, -3.0, 200.0]), np.array([0.04, -0.02, 0.0])
    c = centre_of_pressure(force, np.cross(point, force), 0.1, ZERO)
    np.testing.assert_allclose(c, point)
    assert centre_of_pressure((0, 0, -1), (5, 5, 0), 0.1, ZERO) == (0.0, 0.0, 0.0)
    assert centre_of_pressure((0, 0, -1), (5, 5, 0), 0.1, (0.1, 0.02, 0.0)) == (0.1, 0.02, 0.0)
    assert centre_of_pressure((0, 0, 10), (50, 0, 0), 0.1, ZERO)[1] == pytest.approx(0.1)


def test_the_thresholds_themselves_neither_close_nor_hold_a_contact():
    contact = Trigger()
    contact.weight(ON, ON, OFF)
    assert not contact.closed
    contact.weight(np.nextafter(ON, 100.0), ON, OFF)
    assert contact.closed
    contact.weight(OFF, ON, OFF)
    assert not contact.closed
    contact.weight(ON - 1.0, ON, OFF)
    assert not contact.closed


def test_forces_however_small_have_a_centre():
    force, point, last = np.array([0.01, -0.02, 0.5]), np.array([0.04, -0.02, 0.0]), (0.1, 0.1, 0.0)
    np.testing.assert_allclose(centre_of_pressure(force, np.cross(point, force), 0.1, last), point)
    assert centre_of_pressure((1.0, 0.0, 0.0), (5.0, 5.0, 0.0), 0.1, last) == last
    assert centre_of_pressure((0.0, 0.0, 10.0), (-50.0, 50.0, 0.0), 0.1, ZERO) == (-0.1, -0.1, 0.0)


def test_an_off_threshold_above_the_other_counts_as_that_one():
    contact = Trigger()
    assert contact.weight(60.0, ON, 2.0 * ON) == pytest.approx(10.0)
    assert contact.weight(ON - 1e-9, ON, 2.0 * ON) == 0.0
