"""Yaw, position and velocity against a reference: constants are taken out, nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from inertial_estimation.replay.base_errors import base_errors
from inertial_estimation.replay.estimate_series import TiltSeries
from inertial_estimation.signals import OrientationSample, PoseSample

N, STEP_NS = 800, 10_000_000
STAMPS = 1_700_000_000_000_000_000 + STEP_NS * np.arange(N, dtype=np.int64)
T = 1e-9 * (STAMPS - STAMPS[0])


def walk() -> TiltSeries:
    """A base that walks a curve, its yaw passing through pi."""
    yaw = 2.8 + 0.2 * T
    positions = np.stack([np.cos(0.3 * T), np.sin(0.3 * T), 0.05 * np.sin(2.0 * T)], axis=1)
    velocities_W = np.gradient(positions, T, axis=0)
    R = Rotation.from_euler("ZYX", np.outer(yaw, [1.0, 0.0, 0.0]))
    return TiltSeries(
        *(STAMPS, R.as_quat(), np.tile([0.0, 0.0, 1.0], (N, 1)), np.zeros((N, 3)), ((),) * N),
        *(np.tile(np.eye(3), (N, 1, 1)), np.ones(N, dtype=bool), positions, R.inv().apply(velocities_W)),
        np.zeros((N, 3)),
    )


def reference(series: TiltSeries, angle: float, shift: np.ndarray) -> list[PoseSample]:
    """The same motion in a world turned about the vertical and shifted."""
    turn = Rotation.from_euler("z", angle)
    quaternions = (turn * Rotation.from_quat(series.quaternions_xyzw)).as_quat()
    positions = turn.apply(series.positions_W) + shift
    return [PoseSample(int(t), q, p) for t, q, p in zip(STAMPS, quaternions, positions, strict=True)]


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.1, -2.0])
def test_the_origin_and_yaw_of_the_reference_do_not_count(angle: float) -> None:
    series = walk()
    errors = base_errors(series, reference(series, angle, np.array([3.0, -2.0, 0.7])))
    assert errors is not None
    metrics = errors.metrics()
    assert metrics["yaw_error_deg"]["max"] < 1e-6
    assert metrics["position_error_m"]["max"] < 1e-9
    assert metrics["velocity_error_m_s"]["max"] < 2e-3  # of the central differences


def test_an_error_of_the_estimate_is_found_where_it_is() -> None:
    series = walk()
    drift = np.where(T > 4.0, 0.1, 0.0)
    wrong = replace(
        series,
        positions_W=series.positions_W + np.outer(drift, [0.0, 0.0, 1.0]),
        velocities_B=series.velocities_B + np.array([0.2, 0.0, 0.0]),
    )
    errors = base_errors(wrong, reference(series, 0.4, np.zeros(3)))
    assert errors is not None
    assert errors.position_errors_W is not None
    jump = errors.position_errors_W[-1] - errors.position_errors_W[0]
    np.testing.assert_allclose(jump, [0.0, 0.0, 0.1], atol=1e-3)
    assert errors.metrics()["velocity_error_m_s"]["rms"] == pytest.approx(0.2, abs=2e-3)


def test_orientations_alone_give_the_yaw_and_few_samples_nothing() -> None:
    series = walk()
    turned = [OrientationSample(s.stamp_ns, s.quaternion_xyzw) for s in reference(series, 1.0, np.zeros(3))]
    errors = base_errors(series, turned)
    assert errors is not None
    assert set(errors.metrics()) == {"yaw_error_deg"}
    assert errors.metrics()["yaw_error_deg"]["max"] < 1e-6
    assert base_errors(series, turned[:10]) is None
    assert base_errors(series, reference(series, 0.0, np.zeros(3))[:60]) is not None
