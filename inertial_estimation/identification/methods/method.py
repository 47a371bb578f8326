"""What every identification method is: weighted, reduced equations in, a vector of unknowns out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.signals import Array

__all__ = ["IdentificationMethod", "MethodSolution", "ReducedEquation"]


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


@dataclass(frozen=True, eq=False)
class MethodSolution:
    """What a method found.

    Attributes:
        x: Deviation of the unknowns from nominal, shape (n,).
        notes: What a reader must know, a sentence each.
    """

    x: Array
    notes: tuple[str, ...] = ()


class IdentificationMethod(ABC):
    """Solves the reduced equations for the deviation of the unknowns from nominal."""

    name: str
    has_prior: bool = False  # whether it has an answer where there are fewer equations than unknowns

    @abstractmethod
    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the unknowns' deviation from nominal.

        Args:
            equation: All data.
            parameters: What the unknowns mean, and their nominal values.
            config: Settings.
        """
