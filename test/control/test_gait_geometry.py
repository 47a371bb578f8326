"""Geometry of the gaits: paths of feet and body, footholds, the frame that the feet carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.walking.biped import mean_angle
from inertial_estimation.control.walking.crawl_plan import BodyMotion, CrawlPlan, foot_sequence
from inertial_estimation.control.walking.gait import SwingPath
from inertial_estimation.control.walking.ground import WalkingGround
from inertial_estimation.spatial.rotations import exp_so3

LANDING, ORIGIN = np.array([0.3, 0.2, 0.0]), np.array([0.1, -0.1, -0.8])
START, TURN = np.array([-0.1, 0.2, 0.01]), np.array([0.02, -0.03, 0.0])
DURATION, SPEED, HEIGHT, YAW = 0.7, 0.05, 0.07, 2.0
PATH = SwingPath(START, TURN, DURATION, 0.01 + HEIGHT, SPEED)
R_WH = exp_so3(np.array([0.0, 0.0, YAW]))


def at(t: float):
    return PATH.reference(t, LANDING, YAW, ORIGIN)


def test_path_begins_at_the_foot_and_lands_flat_where_it_should() -> None:
    start, end = at(0.0), at(DURATION)
    np.testing.assert_allclose(start.p_BF_W, ORIGIN + R_WH @ START, atol=1e-12)
    np.testing.assert_allclose(start.R_WF, R_WH @ exp_so3(TURN), atol=1e-12)
    np.testing.assert_allclose(start.velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(end.p_BF_W, ORIGIN + R_WH @ LANDING, atol=1e-12)
    np.testing.assert_allclose(end.R_WF, R_WH, atol=1e-12)
    np.testing.assert_allclose(end.velocity, [0.0, 0.0, -SPEED], atol=1e-12)


def test_velocity_and_acceleration_are_derivatives_also_past_the_touchdown() -> None:
    h = 1e-5
    for t in np.linspace(0.02, 1.3 * DURATION, 37):
        before, now, after = (at(t + s * h) for s in (-1.0, 0.0, 1.0))
        np.testing.assert_allclose((after.p_BF_W - before.p_BF_W) / (2 * h), now.velocity, atol=1e-5)
        np.testing.assert_allclose((after.velocity - before.velocity) / (2 * h), now.acceleration, atol=1e-3)


def test_foot_clears_the_ground_by_the_swing_height() -> None:
    heights = [at(t).p_BF_W[2] - ORIGIN[2] for t in np.linspace(0.0, DURATION, 200)]
    assert max(heights) == pytest.approx(0.08, abs=1e-4)  # 0.01 m is where it stood
    assert min(heights) > -1e-9


def test_mean_angle_goes_the_short_way_round() -> None:
    assert abs(mean_angle([3.1, -3.1], [0.5, 0.5])) == pytest.approx(np.pi)
    assert mean_angle([0.2, 0.4], [0.75, 0.25]) == pytest.approx(0.25, abs=1e-3)


HOME = np.array([[0.37, 0.3, 0.0], [0.37, -0.3, 0.0], [-0.37, 0.3, 0.0], [-0.37, -0.3, 0.0]])
LH, LF, RH, RF = 2, 0, 3, 1
small = st.floats(-0.08, 0.08)


def test_feet_step_rear_to_front_on_the_left_then_on_the_right() -> None:
    assert foot_sequence(HOME) == [LH, LF, RH, RF]


@pytest.mark.parametrize(
    ("steps", "length", "rounds"), [(8, 0.2, 2), (10, 0.2, 2), (4, -0.1, 1), (3, 0.2, 0)]
)
def test_a_walk_ends_in_the_nominal_stance_a_length_further_for_every_round(steps, length, rounds) -> None:
    plan, places, swung = CrawlPlan(), HOME.copy(), []
    plan.stand(places)
    plan.walk(places, WalkCommand(steps, length))
    for _ in range(steps):
        landing = plan.landing(places, plan.foot)
        assert np.abs(landing - places[plan.foot, :2]).max() <= abs(length) + 1e-12
        places[plan.foot, :2] = landing
        swung.append(plan.foot)
        plan.next_foot()
    assert swung == ([LH, LF, RH, RF] * 3)[:steps]
    np.testing.assert_allclose(places, HOME + np.array([rounds * length, 0.0, 0.0]), atol=1e-12)


def test_feet_that_landed_elsewhere_return_to_the_line() -> None:
    plan, places = CrawlPlan(), HOME.copy()
    plan.stand(HOME)
    places[LH, :2] += (0.05, -0.04)
    plan.walk(places, WalkCommand(4, 0.2))
    np.testing.assert_allclose(plan.landing(places, LH), HOME[LH, :2] + [0.2, 0.0], atol=1e-12)


@given(st.floats(-3.0, 3.0), small, small, small, st.integers(0, 3))
def test_the_feet_carry_their_frame_wherever_the_base_is(yaw, x, y, z, missing) -> None:
    R, p = exp_so3(np.array([0.0, 0.0, yaw])), np.array([x, y, z - 0.5])
    centres = [p + R @ place for place in HOME]
    standing = [i for i in range(4) if i != missing]
    frame = WalkingGround(list(HOME), 0.0).locate(centres, standing)
    np.testing.assert_allclose(frame.to_ground(centres[missing]), HOME[missing], atol=1e-12)
    np.testing.assert_allclose(frame.from_ground(HOME[missing]), centres[missing], atol=1e-12)


@given(small, small, small)
def test_the_plane_of_feet_on_a_ramp_has_its_slope_and_its_normal(sx, sy, z) -> None:
    places = HOME.copy()
    places[:, 2] = z + HOME[:, :2] @ [sx, sy]
    plane = WalkingGround(list(places), 0.0).plane
    assert plane.height(0.9, -0.4) == pytest.approx(z + 0.9 * sx - 0.4 * sy, abs=1e-6)
    axes = plane.axes()
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((places[1:] - places[0]) @ axes[:, 2], 0.0, atol=1e-6)


def test_the_body_goes_on_from_its_motion_ends_at_rest_and_keeps_to_its_acceleration() -> None:
    body, h, limit = BodyMotion(np.array([0.2, 0.1])), 1e-4, 1.2
    start, velocity = np.array([[0.1, 0.2], [0.05, 0.0]])
    assert body.follow(start, velocity, 0.0, limit), "the first place is a beginning"
    assert not body.follow(start + 0.003 * velocity, velocity, 0.003, limit)
    np.testing.assert_allclose(body.reference()[:2], (start, velocity), atol=1e-12)
    for goal in ((0.35, 0.1), (0.35, 0.25)):
        body.move_to(goal, limit)
        places, peak = [], 0.0
        while not body.arrived:
            place, _velocity, acceleration = body.reference()
            places.append(place)
            peak = max(peak, float(np.hypot(*acceleration)))
            body.advance(h)
        rates = np.gradient(np.array(places), h, axis=0)
        assert np.abs(np.diff(rates, axis=0) / h).max() < 2.0 * limit, "no jump of the velocity"
        np.testing.assert_allclose(body.reference(), [goal, [0.0, 0.0], [0.0, 0.0]], atol=1e-12)
    assert peak == pytest.approx(limit, rel=1e-2)
