"""All weighted rows of an identification, reduced to a triangular factor."""

from dataclasses import dataclass

from inertial_estimation.signals import Array

__all__ = ["ReducedEquation"]


@dataclass(frozen=True, eq=False)
class ReducedEquation:
    """R dphi = z + noise of unit variance: all weighted rows, reduced by a QR to one for each unknown.

    ||A dphi - b||^2 = ||R dphi - z||^2 + rest for every dphi.

    Attributes:
        R: Upper triangular, shape (n, n).
        z: Shape (n,).
        rest: Squared norm of what no dphi explains.
        rows: Number of rows it was reduced from.
    """

    R: Array
    z: Array
    rest: float
    rows: int
