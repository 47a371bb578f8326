import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.observer_simulation import Body, vec
from support.triad import rotation_from_tilt_and_yaw

from inertial_estimation.estimators.tilt.yaw import turned
from inertial_estimation.spatial.rotations import yaw_of
from inertial_estimation.spatial.vectors import align_rows, matrix


@given(st.integers(0, 10**6), st.floats(1e-6, 1.5))
def test_smallest_rotation_to_a_tilt_is_triad(seed, size):
    rng = np.random.default_rng(seed)
    R_ref = Rotation.random(random_state=seed).as_matrix()
    x2 = R_ref[2] + size * rng.normal(size=3)
    x2 /= np.linalg.norm(x2)
    R = np.array(align_rows(matrix(R_ref), vec(x2)))
    np.testing.assert_allclose(R, rotation_from_tilt_and_yaw(x2, R_ref), atol=1e-6)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_opposite_tilt_still_gives_a_rotation():
    R = np.array(align_rows(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, -1.0)))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(R[2], [0.0, 0.0, -1.0])


def test_integration_follows_the_body_with_exact_tilt():
    body, h = Body(1), 0.002
    R_WB = matrix(body.rotation(0.0))
    for k in range(2000):
        R_WB = turned(h, vec(body.rate((k + 0.5) * h)), vec(body.vertical((k + 1) * h)), R_WB)
    np.testing.assert_allclose(R_WB, body.rotation(4.0), atol=1e-4)


def test_yaw_follows_the_reference_and_tilt_does_not():
    R_ref = Rotation.from_euler("ZYX", [0.7, 0.2, -0.1]).as_matrix()
    x2 = vec(Rotation.from_euler("ZYX", [0.0, 0.05, 0.02]).as_matrix()[2])
    R_WB = align_rows(matrix(R_ref), x2)
    np.testing.assert_allclose(R_WB[2], x2)
    assert yaw_of(np.array(R_WB)) == pytest.approx(0.7, abs=0.02)


def test_yaw_goes_on_from_the_last_orientation():
    R_WB = turned(0.01, (0.0, 0.0, 0.3), (0.0, 0.0, 1.0), matrix(Rotation.from_euler("z", 1.2).as_matrix()))
    assert yaw_of(np.array(R_WB)) == pytest.approx(1.203)
