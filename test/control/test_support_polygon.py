import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from inertial_estimation.control.support_polygon import convex_hull, nearest_in_hull, nearest_inside

NUMBER = st.floats(-1.0, 1.0).map(lambda x: round(x, 3))
POINT = st.tuples(NUMBER, NUMBER)


def test_hull_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = rng.standard_normal((12, 2))
        oracle = {tuple(points[i]) for i in ConvexHull(points).vertices}
        assert set(convex_hull([tuple(p) for p in points])) == oracle


@given(st.lists(POINT, min_size=1, max_size=10), POINT)
def test_nearest_point_is_inside_and_no_combination_of_corners_is_nearer(points, point) -> None:
    nearest = np.array(nearest_inside(convex_hull(points), point))
    corners = np.array(points)
    rng = np.random.default_rng(1)
    samples = rng.dirichlet(np.full(len(corners), 0.3), size=200) @ corners
    distance = np.linalg.norm(nearest - point)
    assert distance <= np.linalg.norm(samples - point, axis=1).min() + 1e-9
    assert distance <= np.linalg.norm(corners - point, axis=1).min() + 1e-9
    _, outside = nnls(np.vstack((corners.T, np.ones(len(corners)))), np.append(nearest, 1.0))
    assert outside < 1e-9  # a convex combination of the points
    assert nearest_in_hull(corners, point) == tuple(nearest)


def test_a_point_inside_stays() -> None:
    square = convex_hull([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 0.5)])
    assert nearest_inside(square, (0.3, 0.9)) == (0.3, 0.9)
    assert nearest_inside(square, (0.3, 1.9)) == pytest.approx((0.3, 1.0))
