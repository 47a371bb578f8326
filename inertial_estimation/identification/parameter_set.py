"""What the unknowns of an identification mean."""

from dataclasses import dataclass

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.signals import Array

__all__ = ["ParameterSet"]


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Standard parameters phi = phi_nominal + E x of deviations x.

    phi stacks ten parameters of each body about its link frame, Pinocchio's order, then friction. E picks
    (a subset), ties (mirrored links) or keeps all.

    Attributes:
        bodies: The identified bodies.
        friction: The identified friction, None for none.
        names: Name of each entry of phi.
        units: Unit of each entry of phi.
        nominal: phi_nominal, shape (p,).
        unknowns: Name of each entry of x.
        E: Shape (p, n).
        to_joint: phi about the joint frames = to_joint @ phi, shape (p, p); what the regressor multiplies.
    """

    bodies: tuple[BodyReference, ...]
    friction: FrictionModel | None
    names: tuple[str, ...]
    units: tuple[str, ...]
    nominal: Array
    unknowns: tuple[str, ...]
    E: Array
    to_joint: Array
