"""Identification methods, one file each."""

from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.identification.methods.bounded_gradient import BoundedGradient
from inertial_estimation.identification.methods.consistent import Consistent
from inertial_estimation.identification.methods.least_squares import LeastSquares
from inertial_estimation.identification.methods.method import IdentificationMethod
from inertial_estimation.identification.methods.nullspace_prior import NullspacePrior
from inertial_estimation.identification.methods.ridge import Ridge
from inertial_estimation.identification.methods.truncated_svd import TruncatedSvd

__all__ = ["METHODS", "IdentificationMethod", "method_named"]

METHODS: dict[str, IdentificationMethod] = {
    method.name: method
    for method in (LeastSquares(), TruncatedSvd(), BoundedGradient(), NullspacePrior(), Ridge(), Consistent())
}


def method_named(name: str) -> IdentificationMethod:
    """Return a method.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if name not in METHODS:
        raise ConfigurationError(f"no method '{name}'{did_you_mean(name, METHODS, 'there are')}")
    return METHODS[name]
