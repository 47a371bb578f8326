"""Extrapolated parameters: exact for a steady change, physically consistent whatever the change."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.load_extrapolation import LoadExtrapolation
from inertial_estimation.spatial.inertial_parameters import parameters_from_pseudo_inertia, pseudo_inertia

DT, LEAD = 0.003, 0.05


def body(rng, mass):
    factor = rng.normal(size=(4, 4))
    J = factor @ factor.T + 0.1 * np.eye(4)
    return parameters_from_pseudo_inertia(mass / J[3, 3] * J)


def test_a_steady_change_is_known_in_advance():
    rng = np.random.default_rng(0)
    first, rate = body(rng, 3.0), 0.2 * body(rng, 1.0)
    extrapolation, times = LoadExtrapolation(), DT * np.arange(1, 60)
    for t in times:
        ahead = extrapolation.ahead(first + t * rate, DT, LEAD, 0.0, 100.0)
    np.testing.assert_allclose(ahead, first + (times[-1] + LEAD) * rate, rtol=1e-9)


def test_the_mass_stays_within_the_range_it_has_had():
    rng = np.random.default_rng(1)
    pi, extrapolation = body(rng, 1.0), LoadExtrapolation()
    masses = [extrapolation.ahead(m * pi, DT, LEAD, 2.0, 4.0)[0] for m in np.linspace(2.0, 4.0, 40)]
    assert max(masses) == pytest.approx(4.0)
    assert masses[25] > np.linspace(2.0, 4.0, 40)[25]


@pytest.mark.parametrize("seed", range(3))
def test_any_change_leaves_a_body_consistent(seed):
    rng = np.random.default_rng(seed)
    extrapolation = LoadExtrapolation()
    for _ in range(200):
        estimate = body(rng, 10.0 ** rng.uniform(-1, 1))
        ahead = extrapolation.ahead(estimate, rng.uniform(0.001, 0.05), LEAD, 0.1, 10.0)
        assert np.linalg.eigvalsh(pseudo_inertia(ahead)).min() > 0.0
        assert ahead[0] * (1.0 + 1e-12) >= 0.1
        assert ahead[0] <= 10.0 * (1.0 + 1e-12)
