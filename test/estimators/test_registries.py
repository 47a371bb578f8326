"""Observers and filters are chosen by name; a name that does not exist is refused, never replaced."""

import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.filters import FILTERS, filter_named
from inertial_estimation.estimators.tilt.observers import OBSERVERS, make_observer
from inertial_estimation.parameters import build_config
from inertial_estimation.tilt.config import TiltPipelineConfig


@pytest.mark.parametrize("name", OBSERVERS)
def test_an_observer_takes_the_gains_of_its_own_section(name):
    config = build_config(TiltPipelineConfig, {"observer": name})
    observer = make_observer(config.observer, config.gains, config.gravity)
    assert type(observer) is OBSERVERS[name]
    assert observer.config is getattr(config, name)
    assert observer.convergence_rate > 0.0


def test_names_that_do_not_exist_are_refused():
    config = TiltPipelineConfig()
    with pytest.raises(ConfigurationError, match="no tilt observer 'three_stage', did you mean 'two_stage'"):
        make_observer("three_stage", config.gains, config.gravity)
    with pytest.raises(ConfigurationError, match="no inertial filter 'quadratic'; there are log_cholesky"):
        filter_named("quadratic")
    assert set(FILTERS) == {"log_cholesky", "linear"}
