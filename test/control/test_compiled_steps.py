"""Compiled functions of the controller against numpy and Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from support.program_scene import ProgramScene

from inertial_estimation.control.contact_constraints import turn_into_sole
from inertial_estimation.control.inertia_limits import JUMP_ARM_M, InertiaLimits, largest_difference
from inertial_estimation.control.input_jumps import base_changes, largest_changes
from inertial_estimation.control.safety_config import InertiaLimitsConfig
from inertial_estimation.control.state_limits import within_limits
from inertial_estimation.models.whole_body_dynamics import place_inertia
from inertial_estimation.signals import LinkInertia

RNG = np.random.default_rng(5)
SPECIAL = (np.nan, np.inf, -np.inf, 1e308, -1e308)


def rotation():
    return pin.exp3(RNG.standard_normal(3))


def with_specials(values):
    for place in RNG.integers(0, len(values), RNG.integers(0, 3)):
        values[place] = RNG.choice(SPECIAL)
    return values


def test_usual_inertias_are_those_that_the_list_of_violations_and_limits_leaves():
    limits = InertiaLimits({"body": 5.0}, 60.0, InertiaLimitsConfig())
    usual, others, near = 0, 0, 0
    for _ in range(3000):
        mass = RNG.choice([RNG.uniform(0.1, 12.0), RNG.uniform(-1.0, 100.0)])
        moments = RNG.uniform(-0.01, 0.3, 3) if RNG.random() < 0.7 else np.array([0.1, 0.2, 0.3 + 1e-13])
        R = rotation()
        inertia = R @ np.diag(moments) @ R.T
        inertia = 0.5 * (inertia + inertia.T)
        numbers = with_specials(np.concatenate(([mass], RNG.normal(0.0, 0.4, 3), inertia.ravel())))
        value = LinkInertia("body", float(numbers[0]), numbers[1:4], numbers[4:].reshape(3, 3))
        with np.errstate(all="ignore"):
            good = not limits.inconsistency(value) and not limits.implausibility(value)
        found = limits.usual(value)
        assert good or not found
        trace = np.trace(value.inertia_Lcm)
        if good and not found:  # only within the margins above round-off
            second = 0.5 * trace * np.eye(3) - value.inertia_Lcm
            assert np.linalg.eigvalsh(second)[0] < 2e-9 * trace
            near += 1
        usual, others = usual + found, others + (not good)
    assert min(usual, others) > 300


def test_an_inertia_of_another_shape_is_not_usual():
    flat = LinkInertia("body", 5.0, np.zeros(3), np.eye(3)[:, :2])
    assert not InertiaLimits({"body": 5.0}, 60.0, InertiaLimitsConfig()).usual(flat)


def test_the_largest_difference_of_inertias_is_that_of_masses_and_first_moments():
    for _ in range(50):
        one, other = RNG.standard_normal((2, 3, 4))
        weighted = [np.column_stack((b[:, 0], b[:, :1] * b[:, 1:] / JUMP_ARM_M)) for b in (one, other)]
        assert largest_difference(one, other) == pytest.approx(np.abs(weighted[0] - weighted[1]).max())


def test_the_largest_changes_are_those_of_argmax_with_nan_first():
    for _ in range(500):
        q, v, q_before, v_before = (with_specials(row) for row in RNG.standard_normal((4, 7)))
        speed, h = RNG.uniform(1.0, 5.0, 7), 0.003
        with np.errstate(all="ignore"):
            oracle = np.argmax(np.abs(v - v_before)), np.argmax(np.abs(q - q_before) - speed * h)
        assert largest_changes(q, v, q_before, v_before, speed, h) == oracle


def test_changes_of_a_base_are_those_of_its_vectors_and_the_angle_of_the_rotation_between():
    for size in (1e-6, 1e-3, 0.1, 1.0, 3.0):
        for _ in range(50):
            v, w, v_before, w_before = RNG.standard_normal((4, 3))
            turn, R = RNG.standard_normal(3), rotation()
            turn *= size / np.linalg.norm(turn)
            before, now = pin.Quaternion(R).coeffs(), pin.Quaternion(R @ pin.exp3(turn)).coeffs()
            found = base_changes(RNG.choice([-1.0, 1.0]) * now, v, w, before, v_before, w_before)
            expected = np.linalg.norm(v - v_before), np.linalg.norm(w - w_before), size
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_changes_of_a_base_to_numbers_that_are_none_exceed_no_limit():
    x, v = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3)
    assert all(not change > 0.0 for change in base_changes(np.nan * x, np.nan * v, np.nan * v, x, v, v))


def test_a_state_within_its_limits_is_one_of_which_every_number_is():
    inside = 0
    for _ in range(500):
        q, v = RNG.standard_normal((2, 4))
        q, v = (with_specials(row) if RNG.random() < 0.5 else row for row in (q, v))
        middle, half, speed = np.zeros(4), np.array([1.0, 2.0, np.inf, 2.0]), np.full(4, 2.0)
        near = bool((np.abs(q - middle) <= half).all() and (np.abs(v) <= speed).all())
        assert within_limits(q, v, middle, half, speed) == near
        inside += near
    assert 50 < inside < 450


def test_motions_in_the_axes_of_a_sole_are_those_of_pinocchio():
    scene = ProgramScene("talos")
    _, state = scene.state(np.random.default_rng(2))
    for motion in state.frames:
        turned = np.kron(np.eye(2), motion.R_WF.T)
        jacobian, vectors = np.empty(motion.jacobian.shape), np.empty((2, 6))
        by_column = np.ascontiguousarray(motion.jacobian.T)
        turn_into_sole(motion.R_WF, by_column, motion.velocity, motion.drift, jacobian, vectors)
        np.testing.assert_allclose(jacobian, turned @ motion.jacobian, atol=1e-14)
        np.testing.assert_allclose(vectors, [turned @ motion.velocity, turned @ motion.drift], atol=1e-13)


def test_an_inertia_in_the_frame_of_the_joint_is_that_of_pinocchio():
    for _ in range(20):
        inertia, T = pin.Inertia.Random(), pin.SE3.Random()
        pose, row = np.concatenate((T.rotation.ravel(), T.translation)), np.empty(10)
        place_inertia(inertia.mass, inertia.lever.copy(), inertia.inertia.copy(), pose, row)
        placed = T.act(inertia)
        moments = placed.inertia
        expected = [moments[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
        np.testing.assert_allclose(row, [placed.mass, *placed.lever, *expected], atol=1e-12)
