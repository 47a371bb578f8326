"""Solves the inverse-dynamics program with ProxQP, warm started."""

from dataclasses import dataclass

import numpy as np
from proxsuite import proxqp

from inertial_estimation.control.controller_config import SolverConfig
from inertial_estimation.control.inverse_dynamics_problem import InverseDynamicsProblem
from inertial_estimation.signals import Array

INFINITE = 1e20  # ProxQP's infinity
STATUS = {
    proxqp.QPSolverOutput.PROXQP_SOLVED: "solved",
    proxqp.QPSolverOutput.PROXQP_MAX_ITER_REACHED: "iterations exhausted",
    proxqp.QPSolverOutput.PROXQP_PRIMAL_INFEASIBLE: "infeasible",
    proxqp.QPSolverOutput.PROXQP_DUAL_INFEASIBLE: "unbounded",
}


@dataclass(frozen=True, slots=True, eq=False)
class QpSolution:
    """Result of the solver.

    Attributes:
        x: The unknowns, shape (n,); only to be used when `solved`.
        status: "solved", "infeasible", "iterations exhausted", "unbounded", "not finite", "not run".
        iterations: Iterations used.
    """

    x: Array
    status: str
    iterations: int

    @property
    def solved(self) -> bool:
        """Whether `x` is the solution."""
        return self.status == "solved"


class QuadraticProgram:
    """One dense solver, set up at the first problem and updated in place from then on.

    The iterations are bounded, and with them the time of a solution.
    """

    def __init__(self, n: int, n_equal: int, n_rows: int, config: SolverConfig) -> None:
        """Set the size of the program.

        Args:
            n: Number of unknowns.
            n_equal: Number of equality rows.
            n_rows: Number of inequality rows.
            config: Tolerance and iterations.
        """
        self._size = (n, n_equal, n_rows)
        self._config = config
        self.reset()

    def reset(self) -> None:
        """Forget the last solution."""
        self._qp = proxqp.dense.QP(*self._size)
        self._qp.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
        self._qp.settings.eps_abs = self._config.tolerance
        self._qp.settings.eps_rel = 0.0
        self._qp.settings.max_iter = self._config.max_iterations
        self._qp.settings.max_iter_in = self._config.max_inner_iterations
        self._started = False

    def solve(self, problem: InverseDynamicsProblem) -> QpSolution:
        """Solve one problem.

        Args:
            problem: Of the size given at construction.

        Returns:
            The solution, or why there is none.
        """
        p = problem
        lower, upper = np.maximum(p.lower, -INFINITE), np.minimum(p.upper, INFINITE)
        if not (np.isfinite(p.H).all() and np.isfinite(p.g).all() and np.isfinite(p.tau_offset).all()):
            return QpSolution(np.zeros(self._size[0]), "not finite", 0)
        arguments = {"H": p.H, "g": p.g, "C": p.C, "l": lower, "u": upper}
        if self._size[1]:
            arguments |= {"A": p.A, "b": p.b}
        if self._started:
            self._qp.update(**arguments, update_preconditioner=False)
        else:
            self._qp.init(**arguments)
        self._started = True
        self._qp.solve()
        results = self._qp.results
        info, x = results.info, np.array(results.x)
        status = STATUS.get(info.status, "not run")
        if status != "solved" or not np.isfinite(x).all():
            self._started = False
            self.reset()
            status = "not finite" if status == "solved" else status
        return QpSolution(x, status, int(info.iter))
