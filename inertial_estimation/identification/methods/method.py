"""Interface of the identification methods: from weighted, reduced equations to a vector of unknowns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class MethodSolution:
    """Solution of a method.

    Attributes:
        x: Deviation of the unknowns from nominal, shape (n,).
        notes: Remarks on the solution, one sentence each.
        unfinished: Reason why the solution is not the exact optimum of the method; empty if it is.
    """

    x: Array
    notes: tuple[str, ...] = ()
    unfinished: str = ""


class IdentificationMethod(ABC):
    """Solves the reduced equations for the deviation of the unknowns from nominal."""

    name: str
    has_prior: bool = False  # whether it also solves fewer equations than unknowns
    normal_prior: bool = False  # whether its solution has the prior of `prior_factor`

    @abstractmethod
    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the unknowns' deviation from nominal.

        Args:
            equation: The weighted equations of all data.
            parameters: The unknowns and their nominal values.
            config: Parameters of the methods.
        """
