"""Geometry of the crawl: regions over the feet, the frame they carry, their order, the body's path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.control.walking.body_motion import BodyPath, path_duration
from inertial_estimation.control.walking.crawl_phases import edge_distance, region_within, rest_point
from inertial_estimation.control.walking.crawl_plan import Footholds, foot_sequence
from inertial_estimation.control.walking.ground_map import GroundMap
from inertial_estimation.errors import ConfigurationError

NAMES = ("lf", "rf", "lh", "rh")
HOME = np.array([[0.37, 0.3, 0.0], [0.37, -0.3, 0.0], [-0.37, 0.3, 0.0], [-0.37, -0.3, 0.0]])
LH, LF, RH, RF = 2, 0, 3, 1
small = st.floats(-0.08, 0.08)


def without(foot: int, places: np.ndarray = HOME) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for i, (x, y, _) in enumerate(places) if i != foot]


def barycentric(triangle: list[tuple[float, float]], point: tuple[float, float]) -> np.ndarray:
    return np.linalg.solve(np.vstack((np.array(triangle).T, np.ones(3))), [*point, 1.0])


@given(st.lists(small, min_size=8, max_size=8), small, small, st.floats(0.005, 0.05))
def test_a_rest_point_bears_the_margin_in_the_triangles_of_both_swings_of_a_side(moves, x, y, margin) -> None:
    places = HOME.copy()
    places[:, :2] += np.reshape(moves, (4, 2))
    triangles = [without(LH, places), without(LF, places)]
    point = rest_point(triangles, (x, y), margin)
    for triangle in triangles:
        corners = np.array(triangle)
        assert (barycentric(triangle, point) > 0.0).all()
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            off = abs((b - a)[0] * (point[1] - a[1]) - (b - a)[1] * (point[0] - a[0])) / np.linalg.norm(b - a)
            assert off >= margin - 1e-9


def test_a_place_that_is_safe_already_is_kept_and_others_move_least() -> None:
    inside = (0.02, -0.2)
    assert rest_point([without(LH)], inside, 0.05) == inside
    point = rest_point([without(LH)], (0.0, 0.0), 0.05)  # the middle lies on the edge from lf to rh
    assert np.hypot(*point) == pytest.approx(0.05)


def test_a_triangle_too_narrow_for_the_margin_still_has_a_place_inside() -> None:
    narrow = [(0.0, 0.0), (0.5, 0.01), (1.0, 0.0)]
    assert not region_within([narrow], 0.05)
    assert (barycentric(narrow, rest_point([narrow], (0.5, 1.0), 0.05)) > 0.0).all()


def test_a_point_outside_has_a_negative_distance() -> None:
    assert edge_distance(without(LH), (-0.3, 0.25)) < 0.0 < edge_distance(without(LH), (0.3, -0.2))


def test_feet_step_rear_to_front_on_the_left_then_on_the_right() -> None:
    assert foot_sequence(NAMES, (), HOME) == (LH, LF, RH, RF)
    assert foot_sequence(NAMES, ("rf", "lh", "rh", "lf"), HOME) == (RF, LH, RH, LF)


def test_a_sequence_that_misses_a_foot_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"crawl.sequence is .*expected each contact once.*rh"):
        foot_sequence(NAMES, ("lf", "rf", "lh"), HOME)


@pytest.mark.parametrize(
    ("steps", "length", "rounds"), [(8, 0.2, 2), (10, 0.2, 2), (4, -0.1, 1), (3, 0.2, 0)]
)
def test_a_walk_ends_in_the_nominal_stance_a_length_further_for_every_round(steps, length, rounds) -> None:
    footholds, places = Footholds(HOME[:, :2]), HOME.copy()
    order = (LH, LF, RH, RF)
    footholds.walk(places, order, steps, length)
    for k in range(steps):
        foot = order[k % 4]
        landing = footholds.landing(places, foot)
        assert np.abs(landing - places[foot, :2]).max() <= abs(length) + 1e-12
        places[foot, :2] = landing
    np.testing.assert_allclose(
        places - HOME, np.broadcast_to([rounds * length, 0.0, 0.0], (4, 3)), atol=1e-12
    )


def test_feet_that_landed_elsewhere_return_to_the_line() -> None:
    footholds, places = Footholds(HOME[:, :2]), HOME.copy()
    places[LH, :2] += (0.05, -0.04)
    footholds.walk(places, (LH, LF, RH, RF), 4, 0.2)
    np.testing.assert_allclose(footholds.landing(places, LH), HOME[LH, :2] + [0.2, 0.0], atol=1e-12)


@given(st.floats(-3.0, 3.0), small, small, small, st.integers(0, 3))
def test_the_feet_carry_their_frame_wherever_the_base_is(yaw, x, y, z, missing) -> None:
    c, s = np.cos(yaw), np.sin(yaw)
    R, p = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.array([x, y, z - 0.5])
    centres = [p + R @ place for place in HOME]
    standing = [i for i in range(4) if i != missing]
    frame = GroundMap(HOME).locate(centres, standing)
    np.testing.assert_allclose(frame.to_ground(centres[missing]), HOME[missing], atol=1e-12)
    np.testing.assert_allclose(frame.from_ground(HOME[missing]), centres[missing], atol=1e-12)


@given(small, small, small)
def test_the_plane_of_feet_on_a_ramp_has_its_slope_and_its_normal(sx, sy, z) -> None:
    places = HOME.copy()
    places[:, 2] = z + HOME[:, :2] @ [sx, sy]
    plane = GroundMap(places).plane()
    assert plane.height(0.9, -0.4) == pytest.approx(z + 0.9 * sx - 0.4 * sy, abs=1e-6)
    axes = plane.axes()
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((places[1:] - places[0]) @ axes[:, 2], 0.0, atol=1e-6)


def test_a_path_begins_in_motion_ends_at_rest_and_keeps_to_its_acceleration() -> None:
    start, velocity, acceleration, goal = np.array([[0.1, 0.2], [0.05, 0.0], [0.0, -0.3], [0.2, 0.1]])
    path = BodyPath(start, velocity, acceleration, goal, 0.8)
    for found, wanted in zip(path.at(0.0), (start, velocity, acceleration), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    for t in (0.8, 5.0):
        for found, wanted in zip(path.at(t), (goal, np.zeros(2), np.zeros(2)), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-12)
    t, dt = 0.37, 1e-5
    np.testing.assert_allclose((path.at(t + dt)[0] - path.at(t - dt)[0]) / (2 * dt), path.at(t)[1], atol=1e-8)
    duration = path_duration(0.15, 1.2, 0.1)
    rest = BodyPath(np.zeros(2), np.zeros(2), np.zeros(2), np.array([0.15, 0.0]), duration)
    peak = max(float(np.abs(rest.at(t)[2]).max()) for t in np.linspace(0.0, duration, 400))
    assert peak == pytest.approx(1.2, rel=1e-2)
