"""What every identification method is: weighted, reduced equations in, a vector of unknowns out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.signals import Array

__all__ = ["IdentificationMethod", "MethodSolution"]


@dataclass(frozen=True, eq=False)
class MethodSolution:
    """What a method found.

    Attributes:
        x: Deviation of the unknowns from nominal, shape (n,).
        notes: What a reader must know, a sentence each.
        unfinished: Why this is not quite what the method promises; empty where it is.
    """

    x: Array
    notes: tuple[str, ...] = ()
    unfinished: str = ""


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
