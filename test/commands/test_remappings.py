import pytest

from inertial_estimation.commands.arguments import parse_remappings
from inertial_estimation.errors import ConfigurationError


def test_names_are_absolute_with_or_without_a_slash():
    assert parse_remappings(["imu/data:=/torso/imu", "/a:=b"]) == {"/imu/data": "/torso/imu", "/a": "/b"}


@pytest.mark.parametrize("text", ["imu/data", "a:=", ":=b", "", "a=b"])
def test_what_is_no_remapping_is_named(text):
    with pytest.raises(ConfigurationError, match="no remapping"):
        parse_remappings([text])
