"""No observer knows a preferred axis: readings in other axes give the same estimates in those axes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.observer_simulation import vec

from inertial_estimation.estimators.tilt.first_stage_observer import FirstStageConfig, FirstStageObserver
from inertial_estimation.estimators.tilt.hua_observer import HuaConfig, HuaObserver
from inertial_estimation.estimators.tilt.r3s2_observer import R3S2Config, R3S2Observer
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, TwoStageObserver

H = 0.02
FALLBACK = GravityFallbackConfig(gain=2.0, tolerance=0.5)
OBSERVERS = {
    "two_stage": lambda: TwoStageObserver(TwoStageConfig(7.0, 30.0, 2.0), FALLBACK),
    "first_stage": lambda: FirstStageObserver(FirstStageConfig(7.0, 30.0), FALLBACK),
    "r3s2": lambda: R3S2Observer(R3S2Config(20.0, 100.0), FALLBACK),
    "hua": lambda: HuaObserver(HuaConfig(5.0, 40.0, 100.0), FALLBACK),
}


def outcome(kind, R, *, contact):
    """Every output after some steps with random readings, given in axes turned by R and turned back."""
    rng, observer = np.random.default_rng(5), OBSERVERS[kind]()
    observer.initialise(vec(R @ rng.normal(size=3)), vec(R @ rng.normal(size=3)))
    outputs = []
    for aided in contact:
        f, w, y_v = rng.normal(size=(3, 3)) * [[1.0], [2.0], [1.0]]
        f = f if aided else 9.9 * f / np.linalg.norm(f)  # near enough to gravity to be believed
        observer.step(H, vec(R @ w), vec(R @ f), vec(R @ y_v) if aided else None)
        outputs += [observer.x1, observer.x2, observer.innovation, observer.correction]
    return np.array(outputs) @ R


@pytest.mark.parametrize("contact", [5 * [True], 5 * [False], [True, False, True, True]])
@pytest.mark.parametrize("kind", OBSERVERS)
def test_estimates_turn_with_the_axes_of_the_imu(kind, contact):
    as_it_is = outcome(kind, np.eye(3), contact=contact)
    for seed in range(3):
        R = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
        np.testing.assert_allclose(outcome(kind, R, contact=contact), as_it_is, atol=1e-11)
    assert np.ptp(as_it_is, axis=0).min() > 0.1
