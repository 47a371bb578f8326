"""Filters are chosen by name; a name that does not exist is refused, never replaced."""

import pytest
from inertial_estimation.estimators.inertial.filters import FILTERS, filter_named

from inertial_estimation.errors import ConfigurationError


def test_names_that_do_not_exist_are_refused():
    with pytest.raises(ConfigurationError, match="no inertial filter 'quadratic'; there are log_cholesky"):
        filter_named("quadratic")
    assert set(FILTERS) == {"log_cholesky", "linear"}
