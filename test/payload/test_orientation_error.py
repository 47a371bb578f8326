"""Recursion on the orientation error of a trunk on springs: what it finds and whom it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.payload.com_methods import TILT_RAD as PITCH
from inertial_estimation.payload.orientation_error import (
    OrientationError,
    heading_rotation,
    orientation_error,
)
from inertial_estimation.payload.statics import StaticMeasurement
from inertial_estimation.spatial.rotations import exp_so3, log_so3, rotation_from_roll_pitch_yaw

TRUE = np.array([-0.057, 0.075, 0.02])
START = np.array([0.04, 0.0, 0.0])
ANGLE = st.floats(-0.5, 0.5)


class SpringTrunk:
    """A rigid trunk in free rotation under a posture controller, by Euler's equation.

    The controller carries the weight through the centre of mass it believes in and turns the trunk with
    springs and dampers; it may integrate, and a second controller may hold the trunk level.
    """

    H = 0.01

    def __init__(self, com, *, springs=(450.0, 600.0), integral=0.0, other=0.0, noise=0.0, other_way=False):
        self.com = np.array(com, dtype=float)
        self.springs = np.array([*springs, 0.0])
        self.integral, self.other, self.noise = integral, other, noise
        self.sign = -1.0 if other_way else 1.0
        self.mass, self.inertia, self.gravity = 71.0, 8.0, 9.81
        self.R, self.w, self.summed = np.eye(3), np.zeros(3), np.zeros(3)
        self.reference = np.zeros(2)
        self.time, self.rng = 0.0, np.random.default_rng(0)
        self.tilts = []

    def step(self, com, tilt):
        h = self.H
        self.reference = self.reference + np.clip(np.array(tilt) - self.reference, -0.3 * h, 0.3 * h)
        error = log_so3(rotation_from_roll_pitch_yaw(*self.reference, 0.0) @ self.R.T)
        self.summed += self.integral * self.springs * error * h
        weight = np.array([0.0, 0.0, self.mass * self.gravity])
        lever = self.R @ (self.sign * (com - self.com))
        damping = 1.4 * np.sqrt(self.inertia * self.springs.max())
        moment = np.cross(lever, weight) + self.springs * error + self.summed
        moment = moment - self.other * log_so3(self.R) - damping * self.w
        stiff = 1.0 + h * (damping + h * (self.springs.max() + self.other)) / self.inertia  # implicit
        self.w = (self.w + h * moment / self.inertia) / stiff * [1.0, 1.0, 0.0]
        self.R = exp_so3(h * self.w) @ self.R
        self.time += h

    def measurement(self) -> StaticMeasurement:
        R = exp_so3(self.noise * self.rng.standard_normal(3)) @ self.R
        R = rotation_from_roll_pitch_yaw(0.0, 0.0, 0.9) @ R
        nothing = np.zeros((4, 3))
        return StaticMeasurement(R, nothing, nothing, 10.0, np.zeros(3), gravity=self.gravity)

    def identify(self, method, duration=150.0):
        """Run a method from a trunk that has come to rest; it sees the trunk at rest alone."""
        com, tilt, last = method.com_B, (0.0, 0.0), 0.0
        for _ in range(round(2.0 / self.H)):
            self.step(com, tilt)
        self.time = 0.0
        step = None
        while self.time < duration:
            self.step(com, tilt)
            if np.abs(self.w).max() < 0.03:
                step = method.update(self.measurement(), self.time - last)
                last = self.time
                assert step.to_controller
                com, tilt = step.com_B, step.tilt or (0.0, 0.0)
                self.tilts.append(tilt)
                if step.done or step.refusal:
                    break
        return step


def run(trunk, start=START):
    method = OrientationError(start, trunk.mass)
    return method, trunk.identify(method)


@given(roll=ANGLE, pitch=ANGLE, yaw=st.floats(-3.1, 3.1))
def test_error_is_free_of_yaw_and_zero_where_the_reference_is(roll, pitch, yaw) -> None:
    R_HB = heading_rotation(rotation_from_roll_pitch_yaw(roll, pitch, yaw))
    np.testing.assert_allclose(R_HB, rotation_from_roll_pitch_yaw(roll, pitch, 0.0), atol=1e-12)
    np.testing.assert_allclose(orientation_error(R_HB, (roll, pitch)), 0.0, atol=1e-12)


def test_small_error_of_a_level_base_is_that_of_the_paper() -> None:
    R_HB = rotation_from_roll_pitch_yaw(0.002, -0.003, 0.0)
    np.testing.assert_allclose(orientation_error(R_HB, (0.0, 0.0)), [-0.002, 0.003], atol=1e-5)


def test_all_three_components_within_the_tolerances() -> None:
    trunk = SpringTrunk(TRUE)
    method, step = run(trunk)
    assert step.done
    assert np.linalg.norm(step.com_B[:2] - TRUE[:2]) < 6e-4
    assert abs(step.com_B[2] - TRUE[2]) < 2.5e-3
    assert step.tilt is None
    assert {tilt[1] for tilt in trunk.tilts} == {0.0, PITCH, -PITCH}
    weight, (K_x, K_y) = trunk.mass * trunk.gravity, trunk.springs[:2]
    expected = np.array([[0.0, -weight / K_x], [weight / K_y, 0.0]])
    np.testing.assert_allclose(method.response, expected, atol=0.1 * np.abs(expected).max())


def test_robot_that_keeps_another_posture_is_asked_to_be_level() -> None:
    """As on a slope: its springs turn it to that posture unless another is asked for."""
    own, h = (0.0, -0.17), 0.01
    trunk = SpringTrunk(TRUE)
    method = OrientationError(START, trunk.mass)
    com, tilt = START, own
    for _ in range(round(100.0 / h)):
        trunk.step(com, tilt)
        step = method.update(trunk.measurement(), h)
        if step.done or step.refusal:
            break
        com, tilt = step.com_B, own if step.tilt is None else step.tilt
    assert step.done, step.refusal
    np.testing.assert_allclose(step.com_B, TRUE, atol=2.5e-3)


def test_noise_stays_within_the_stated_deviations() -> None:
    """Tolerances come on top: a recursion ends that far from what it measures."""
    _, step = run(SpringTrunk(TRUE, noise=1e-3))
    assert step.done
    room = 4.0 * step.sigma_B + np.array([5e-4, 5e-4, 2e-3])
    assert np.all(np.abs(step.com_B - TRUE) < room)
    assert np.all(step.sigma_B < 2e-3)


class Deaf(SpringTrunk):
    """Its controller stops listening half way."""

    def step(self, com, tilt):
        if self.time > 7.0:
            com = self.heard
        self.heard = com
        super().step(com, tilt)


@pytest.mark.parametrize(
    ("trunk", "words"),
    [
        (SpringTrunk(TRUE, integral=0.03), "integrates"),
        (SpringTrunk(TRUE, integral=3.0), "integrates"),
        (SpringTrunk(TRUE, other=2e5), "does not follow: a probe of 20 mm"),
        (SpringTrunk(TRUE, other=500.0), "does not take the pitch asked for"),
        (SpringTrunk(TRUE, other_way=True), "turns the wrong way"),
        (Deaf(TRUE), "does not follow a correction"),
    ],
)
def test_a_posture_controller_that_fights_is_refused(trunk, words) -> None:
    """Each would have the plain recursion (T 14) end somewhere, most of them far from the truth."""
    _, step = run(trunk)
    assert words in step.refusal
    assert not step.done


def test_integral_action_that_has_levelled_the_trunk_before() -> None:
    """No error is left at the start: without a probe the nominal value would be the result."""
    trunk = SpringTrunk(TRUE, integral=1.0)
    for _ in range(2000):
        trunk.step(START, (0.0, 0.0))
    assert math.degrees(np.abs(trunk.R[2, :2]).max()) < 0.01
    _, step = run(trunk)
    assert "integrates" in step.refusal
    np.testing.assert_array_equal(step.com_B, START)


def test_trunk_of_the_whole_body_controller_turns_as_equation_12_says() -> None:
    """The posture task of the quadratic program is such a spring: HyQ, simulated, true base state."""
    pytest.importorskip("mujoco")
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.signals import LinkInertia
    from inertial_estimation.spatial.rotations import rotation_from_quaternion

    loop = RobotLoop("hyq").build(adaptation=False)
    loop.tilt = loop.inertial = None
    nominal = loop.simulation.robot.link_body("trunk").nominal_J
    believed = np.array(nominal.lever) + np.array([0.02, 0.01, 0.0])
    inertia = LinkInertia("trunk", nominal.mass, believed, np.array(nominal.inertia))
    loop.controller.push_inertia(0, inertia)
    loop.release(0.02)
    loop.run(0.5)
    R_WB = rotation_from_quaternion(loop.simulation.truth().base.quaternion_xyzw)
    error = orientation_error(heading_rotation(R_WB), (0.0, 0.0))
    assert -0.1 < error[0] < -0.005
    assert 0.005 < error[1] < 0.1
