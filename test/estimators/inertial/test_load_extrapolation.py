"""Extrapolated loads: exact for a steady change of the mass, within its range, and always consistent."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.load_extrapolation import LoadExtrapolation
from inertial_estimation.spatial.inertial_parameters import parameters_from_pseudo_inertia, pseudo_inertia

DT, LEAD = 0.003, 0.05


def body(rng, mass):
    factor = rng.normal(size=(4, 4))
    J = factor @ factor.T + 0.1 * np.eye(4)
    return parameters_from_pseudo_inertia(mass / J[3, 3] * J)


def test_a_mass_that_changes_steadily_is_known_in_advance():
    unit = body(np.random.default_rng(0), 1.0)
    extrapolation = LoadExtrapolation()
    masses = 3.0 + 5.0 * DT * np.arange(1, 60)
    for mass in masses:
        ahead = extrapolation.ahead(mass * unit, DT, LEAD, 0.0, 100.0)
    np.testing.assert_allclose(ahead, (masses[-1] + 5.0 * LEAD) * unit, rtol=1e-9)


def test_the_mass_stays_within_the_range_it_has_had():
    unit, extrapolation = body(np.random.default_rng(1), 1.0), LoadExtrapolation()
    true = np.linspace(2.0, 4.0, 40)
    masses = [extrapolation.ahead(m * unit, DT, LEAD, 2.0, 4.0)[0] for m in true]
    assert max(masses) == pytest.approx(4.0)
    assert masses[25] > true[25]


def test_any_change_leaves_a_body_consistent():
    rng = np.random.default_rng(2)
    extrapolation = LoadExtrapolation()
    for _ in range(200):
        estimate = body(rng, 10.0 ** rng.uniform(-1, 1))
        ahead = extrapolation.ahead(estimate, rng.uniform(0.001, 0.05), LEAD, 0.1, 10.0)
        assert np.linalg.eigvalsh(pseudo_inertia(ahead)).min() > 0.0
        assert 0.099 < ahead[0] < 10.001
        np.testing.assert_allclose(ahead[1:4] / ahead[0], estimate[1:4] / estimate[0])
