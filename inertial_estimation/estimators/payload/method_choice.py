"""The methods for the centre of mass by name."""

from collections.abc import Callable

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.payload.com_method import ComMethod
from inertial_estimation.estimators.payload.contact_force_recursion import ContactForceRecursion
from inertial_estimation.estimators.payload.orientation_error import OrientationError
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.static_poses import StaticPoses

MethodFactory = Callable[[str, TrunkPayloadConfig], ComMethod]

COM_METHODS: dict[str, Callable[[TrunkPayloadConfig], ComMethod]] = {
    "static_poses": lambda config: StaticPoses(config.static_poses),
    "orientation_error": lambda config: OrientationError(config.orientation_error),
    "contact_forces": lambda config: ContactForceRecursion(config.contact_forces),
}


def check_method(name: str) -> str:
    """Return the name of a method that exists.

    Raises:
        ConfigurationError: If it does not.
    """
    if name not in COM_METHODS:
        raise ConfigurationError(f"no method '{name}', expected one of: {listing(COM_METHODS)}")
    return name


def make_method(name: str, config: TrunkPayloadConfig) -> ComMethod:
    """Build a method from the parameters in force.

    Raises:
        ConfigurationError: If there is no such method.
    """
    return COM_METHODS[check_method(name)](config)
