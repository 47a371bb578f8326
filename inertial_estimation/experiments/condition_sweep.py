"""Rows solved by several methods and condition limits, and evaluated on other motions (Yamane, Table I)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import method_named
from inertial_estimation.identification.reduced_equation import ROUND_OFF, truncated_factor
from inertial_estimation.identification.row_block import RowBlock
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

CONSISTENT, GRADIENT, LEAST_SQUARES = "consistent", "bounded-gradient", "least-squares"


@dataclass(frozen=True, eq=False)
class Fit:
    """What one method found from the first motion.

    Attributes:
        method: Its name.
        condition_limit: c_max; infinite without truncation.
        x: Deviation of the unknowns from nominal, shape (n,).
        costs: ||dF - A x||^2 (Y 17) of each motion, the first being the fitted one [N^2, (Nm)^2].
        masses: Identified mass of each body [kg].
        notes: Remarks of the method.
    """

    method: str
    condition_limit: float
    x: Array
    costs: tuple[float, ...]
    masses: Array
    notes: tuple[str, ...]

    @property
    def possible(self) -> bool:
        """Whether no mass is negative, the only failure one can tell without the truth."""
        return bool(self.masses.min() > 0.0)


class MotionRows:
    """The rows of several motions in one set of unknowns; the first is to be fitted.

    Attributes:
        identifier: Converts signals to rows, and holds the meaning of the unknowns.
        blocks: Rows of each motion.
        equation: The rows of the first motion, unweighted (Y 17), reduced.
        singular_values: Of its regressor, largest first.
    """

    def __init__(self, identifier: Identifier, blocks: Sequence[RowBlock]) -> None:
        """Reduce the rows of the first motion."""
        self.identifier = identifier
        self.blocks = tuple(blocks)
        m, n = self.blocks[0].regressor.shape[1:]
        stack = EquationStack(tuple(f"row {i}" for i in range(m)), n)
        stack.add(self.blocks[0])
        self.equation = stack.reduced(np.ones(m))
        self.singular_values: Array = linear_algebra.singular_values(self.equation.R)

    @classmethod
    def of(cls, identifier: Identifier, motions: Sequence[SignalBlock]) -> "MotionRows":
        """Make the rows of recorded motions."""
        return cls(identifier, [identifier.rows(motion) for motion in motions])

    def of_rows(self, kept: Sequence[int]) -> "MotionRows":
        """Return the same motions with some of the rows only."""
        picked = np.array(kept, dtype=np.int64)
        return MotionRows(
            self.identifier,
            [
                replace(
                    block,
                    regressor=block.regressor[:, picked],
                    value=block.value[:, picked],
                    measured=block.measured[:, picked],
                    used=block.used[:, picked],
                )
                for block in self.blocks
            ],
        )

    @property
    def condition(self) -> float:
        """Condition number of the regressor without what is zero but for round-off."""
        s = self.singular_values
        return float(s[0] / s[s > ROUND_OFF * s[0]][-1])

    def costs(self, x: Array) -> tuple[float, ...]:
        """Return ||dF - A x||^2 of each motion; x = 0: with the nominal parameters."""
        return tuple(float(np.sum((b.value - b.regressor @ x)[b.used] ** 2)) for b in self.blocks)

    def fit(self, method: str, condition_limit: float) -> Fit:
        """Solve for the first motion.

        Args:
            method: Name of the method.
            condition_limit: c_max (Y 21-23): what is smaller than 1 / c_max of the largest singular value is
                taken for zero. Infinite: nothing is.
        """
        parameters = self.identifier.parameters
        equation = replace(self.equation, R=truncated_factor(self.equation.R, condition_limit))
        solution = method_named(method).solve(equation, parameters, MethodConfig())
        phi = parameters.standard(solution.x)
        masses = np.array([parameters.body(phi, i)[0] for i in range(len(parameters.bodies))])
        return Fit(method, condition_limit, solution.x, self.costs(solution.x), masses, solution.notes)
