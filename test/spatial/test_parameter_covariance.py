import numpy as np
import pytest

from inertial_estimation.errors import MeasurementError
from inertial_estimation.spatial.inertial_parameters import (
    COVARIANCE_NAMES,
    PARAMETER_NAMES,
    covariance_from_upper,
    upper_triangle,
)


def test_there_and_back_is_the_same_matrix():
    factor = np.random.default_rng(0).normal(size=(10, 10))
    covariance = factor @ factor.T
    upper = upper_triangle(covariance)
    assert upper.shape == (55,)
    np.testing.assert_array_equal(covariance_from_upper(upper.tolist()), covariance_from_upper(upper).T)
    np.testing.assert_allclose(covariance_from_upper(upper), covariance, rtol=1e-14)


def test_a_name_says_which_entry_it_is_and_its_unit():
    units = {"m": "kg", "mc": "kg m", "I": "kg m^2"}
    for k, name in enumerate(COVARIANCE_NAMES):
        pair, _, unit = name.partition(" [")
        i, j = (PARAMETER_NAMES.index(part) for part in pair.split("/"))
        unit_matrix = np.zeros((10, 10))
        unit_matrix[i, j] = unit_matrix[j, i] = 1.0
        assert upper_triangle(unit_matrix)[k] == 1.0
        first, second = (units[PARAMETER_NAMES[a].rstrip("xyz")] for a in (i, j))
        assert _powers(unit[:-1]) == tuple(map(sum, zip(_powers(first), _powers(second), strict=True)))


def _powers(unit):
    """Powers of kilogram and metre."""
    powers = {"kg": 0, "m": 0}
    for factor in unit.split():
        base, _, power = factor.partition("^")
        powers[base] += int(power or 1)
    return powers["kg"], powers["m"]


def test_another_number_of_entries_is_refused():
    with pytest.raises(MeasurementError, match=r"\(54,\), expected \(55,\)"):
        covariance_from_upper(np.zeros(54))
