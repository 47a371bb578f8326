"""Balance and gaits: DCM, polygons, loads of feet; paths of feet and body; the frame that the feet carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize, nnls
from scipy.spatial import ConvexHull

from inertial_estimation.control.balance import (
    INTEGRAL_LIMIT,
    DcmFeedback,
    PressureSegment,
    convex_hull,
    dcm_of_plan,
    edge_distance,
    load_shares,
    nearest_inside,
    nearest_within,
)
from inertial_estimation.control.config import BalanceConfig
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.walking.biped import mean_angle
from inertial_estimation.control.walking.crawl_plan import BodyMotion, CrawlPlan, rest_point
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


def test_mean_angle_goes_the_short_way_round() -> None:
    assert abs(mean_angle([3.1, -3.1], [0.5, 0.5])) == pytest.approx(np.pi)
    assert mean_angle([0.2, 0.4], [0.75, 0.25]) == pytest.approx(0.25, abs=1e-3)


HOME = np.array([[0.37, 0.3, 0.0], [0.37, -0.3, 0.0], [-0.37, 0.3, 0.0], [-0.37, -0.3, 0.0]])
LH, LF, RH, RF = 2, 0, 3, 1
small = st.floats(-0.08, 0.08)


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


OMEGA = 3.3
PLACES = np.array([(0.0, 0.0), (0.0, -0.08), (0.0, -0.08), (0.15, 0.08), (0.1, 0.0)])
PLAN = [
    PressureSegment(PLACES[i], PLACES[i + 1], duration) for i, duration in enumerate((0.6, 0.7, 0.3, 0.5))
]
SQUARE = np.array([(-0.1, -0.1), (-0.1, 0.1), (0.1, 0.1), (0.1, -0.1)])
TRIANGLE = np.array([(-1.0, -1.0), (1.0, -1.0), (0.0, 1.0)])


def test_reference_integrated_forwards_ends_on_the_last_pressure_point() -> None:
    xi = dcm_of_plan(PLAN, OMEGA)
    for segment in PLAN:

        def rate(t, x, start=segment.start, end=segment.end, duration=segment.duration):
            return OMEGA * (x - start - (end - start) * t / duration)

        xi = solve_ivp(rate, (0.0, segment.duration), xi, rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(xi, PLAN[-1].end, atol=1e-7)
    np.testing.assert_array_equal(dcm_of_plan([PressureSegment(*PLACES[:2], 0.0)], OMEGA), PLACES[1])


def simulate(config: BalanceConfig, offset: float, shift: np.ndarray, integral: float):
    """Error of a pendulum whose true centre of mass is off along x from the measured one."""
    feedback, h = DcmFeedback(integral), 0.003
    com, velocity, errors = shift.copy(), np.zeros(2), []
    for _ in range(int(8.0 / h)):
        xi = com - [offset, 0.0] + velocity / OMEGA
        errors.append(np.abs(xi).max())
        p = feedback.centre_of_pressure(config, xi, np.zeros(2), SQUARE, OMEGA, h)
        assert np.abs(p).max() <= 0.1 + 1e-12
        com, velocity = com + h * velocity, velocity + h * OMEGA**2 * (com - p)
    return np.array(errors)


def test_error_decays_at_the_rate_of_the_gain() -> None:
    errors = simulate(BalanceConfig(gain=4.0), 0.0, np.array([0.02, -0.01]), integral=0.0)
    assert errors[int(0.5 / 0.003)] / errors[0] == pytest.approx(np.exp(-4.0 * 0.5), rel=0.05)


def test_integral_takes_out_the_error_of_a_wrong_mass_distribution() -> None:
    without = simulate(BalanceConfig(), 0.015, np.zeros(2), integral=0.0)
    with_integral = simulate(BalanceConfig(), 0.015, np.zeros(2), 12.0)
    assert without[-1] > 0.01
    assert with_integral[-1] < 0.002


def test_integral_stays_within_its_limit() -> None:
    feedback, config = DcmFeedback(integral=20.0), BalanceConfig()
    for error in [np.array([0.01, -0.01])] * 1000 + [np.zeros(2)]:
        reached = feedback.centre_of_pressure(config, error, np.zeros(2), TRIANGLE, OMEGA, 0.01)
    assert np.linalg.norm(reached) == pytest.approx(INTEGRAL_LIMIT)


TWO = [np.array([0.0, 0.1]), np.array([0.0, -0.1])]
FOUR = [np.array(p) for p in ((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))]


@pytest.mark.parametrize("pressure", [(0.0, 0.0), (0.05, 0.04), (-0.1, -0.1)])
def test_shares_of_four_points_hold_the_pressure_with_the_least_norm(pressure) -> None:
    shares = load_shares(FOUR, [1.0] * 4, np.array(pressure))
    holds = [
        {"type": "eq", "fun": lambda s: s.sum() - 1.0},
        {"type": "eq", "fun": lambda s: s @ np.array(FOUR) - pressure},
    ]
    oracle = minimize(lambda s: s @ s, np.full(4, 0.25), constraints=holds).x
    np.testing.assert_allclose(shares, oracle, atol=1e-6)


@pytest.mark.parametrize(("y", "left"), [(0.1, 1.0), (0.05, 0.75), (0.0, 0.5), (-0.3, 0.0)])
def test_two_feet_share_by_the_lever_rule(y: float, left: float) -> None:
    assert load_shares(TWO, [1.0, 1.0], np.array([0.02, y])) == pytest.approx([left, 1.0 - left])


def test_a_foot_in_the_air_gets_nothing_and_one_that_leaves_no_more_than_its_capacity() -> None:
    assert load_shares(TWO, [0.0, 1.0], np.zeros(2)).tolist() == [0.0, 1.0]
    assert load_shares(TWO, [0.0, 0.0], np.zeros(2)).tolist() == [0.0, 0.0]
    shares = load_shares(TWO, [0.1, 1.0], np.zeros(2))
    assert sum(shares) == pytest.approx(1.0)
    assert shares[0] < 0.2


NUMBER = st.floats(-1.0, 1.0).map(lambda x: round(x, 3))
POINT = st.tuples(NUMBER, NUMBER)


@given(st.lists(POINT, min_size=1, max_size=10), POINT)
def test_nearest_point_is_inside_and_no_combination_of_corners_is_nearer(points, point) -> None:
    nearest = np.array(nearest_inside(convex_hull(points), point))
    corners = np.array(points)
    samples = np.random.default_rng(1).dirichlet(np.full(len(corners), 0.3), size=200) @ corners
    distance = np.linalg.norm(nearest - point)
    assert distance <= np.linalg.norm(np.vstack((samples, corners)) - point, axis=1).min() + 1e-9
    _, outside = nnls(np.vstack((corners.T, np.ones(len(corners)))), np.append(nearest, 1.0))
    assert outside < 1e-9  # a convex combination of the points


HIND, FORE = 2, 0


def without(foot: int, places: np.ndarray = HOME) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for i, (x, y, _) in enumerate(places) if i != foot]


@given(st.lists(small, min_size=8, max_size=8), small, small, st.floats(0.005, 0.05))
def test_a_rest_point_bears_the_margin_in_the_triangles_of_both_swings_of_a_side(moves, x, y, margin) -> None:
    places = HOME.copy()
    places[:, :2] += np.reshape(moves, (4, 2))
    triangles = [without(HIND, places), without(FORE, places)]
    point = np.array(rest_point(triangles, (x, y), margin))
    for triangle in triangles:
        hull = ConvexHull(triangle).equations  # n p + d <= 0 inside
        assert (hull[:, :2] @ point + hull[:, 2]).max() <= -margin + 1e-9


def test_a_place_that_is_safe_already_is_kept_and_others_move_least() -> None:
    inside = (0.02, -0.2)
    assert rest_point([without(HIND)], inside, 0.05) == inside
    point = rest_point([without(HIND)], (0.0, 0.0), 0.05)  # the middle lies on the edge from lf to rh
    assert np.hypot(*point) == pytest.approx(0.05)


def test_a_triangle_too_narrow_for_the_margin_still_has_a_place_inside() -> None:
    narrow = [(0.0, 0.0), (0.5, 0.01), (1.0, 0.0)]
    assert nearest_within([narrow], 0.05, (0.5, 1.0)) is None
    assert edge_distance(narrow, rest_point([narrow], (0.5, 1.0), 0.05)) > 0.0
    assert edge_distance(without(HIND), (-0.3, 0.25)) < 0.0 < edge_distance(without(HIND), (0.3, -0.2))
