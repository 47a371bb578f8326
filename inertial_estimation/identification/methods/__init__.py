"""Identification methods, one file each."""

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.identification.methods.least_squares import LeastSquares
from inertial_estimation.identification.methods.method import IdentificationMethod

__all__ = ["METHODS", "IdentificationMethod", "method_named"]

METHODS: dict[str, IdentificationMethod] = {method.name: method for method in (LeastSquares(),)}


def method_named(name: str) -> IdentificationMethod:
    """Return a method.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if name not in METHODS:
        raise ConfigurationError(f"no method '{name}'; there are {listing(METHODS)}")
    return METHODS[name]
