"""The methods for the centre of mass by name."""

from collections.abc import Callable

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.payload.com_method import ComMethod
from inertial_estimation.estimators.payload.contact_forces import ContactForces
from inertial_estimation.estimators.payload.orientation_error import OrientationError
from inertial_estimation.estimators.payload.payload_config import METHODS, TrunkPayloadConfig
from inertial_estimation.estimators.payload.static_poses import StaticPoses

__all__ = ["MethodFactory", "check_method", "make_method"]

MethodFactory = Callable[[str, TrunkPayloadConfig], ComMethod]


def check_method(name: str) -> str:
    """Return the name of a method that exists.

    Raises:
        ConfigurationError: If it does not.
    """
    if name not in METHODS:
        raise ConfigurationError(f"no method '{name}', expected one of: {listing(METHODS)}")
    return name


def make_method(name: str, config: TrunkPayloadConfig) -> ComMethod:
    """Build a method from the parameters in force.

    Raises:
        ConfigurationError: If there is no such method.
    """
    if check_method(name) == "static_poses":
        return StaticPoses(config.static_poses)
    if name == "orientation_error":
        return OrientationError(config.orientation_error)
    return ContactForces(config.contact_forces)
