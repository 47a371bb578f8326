"""The registry of methods and the choices of the parameter name the same ones."""

import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.payload.config import METHODS, TrunkPayloadConfig
from inertial_estimation.payload.identification import COM_METHODS, make_method


def test_every_choice_of_the_parameter_is_registered_and_can_be_made() -> None:
    assert set(COM_METHODS) == set(METHODS)
    made = {type(make_method(name, TrunkPayloadConfig())) for name in METHODS}
    assert len(made) == len(METHODS)


def test_an_unknown_method_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ConfigurationError, match=r"guess.*static_poses"):
        make_method("guess", TrunkPayloadConfig())
