"""Yamane, Table I: methods and condition limits on one motion, judged on others and by the true robot."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.closed_loop.time_series import rms
from inertial_estimation.experiments.result import TableRow, row
from inertial_estimation.identification.equations import ROUND_OFF, EquationStack
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import method_named
from inertial_estimation.identification.rows import RowBlock
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

CONSISTENT, GRADIENT, LEAST_SQUARES = "consistent", "bounded-gradient", "least-squares"


class Fit(NamedTuple):
    """What one method found from the first motion."""

    x: Array  # deviation of the unknowns from nominal, shape (n,)
    costs: tuple[float, ...]  # ||dF - A x||^2 (Y 17) of each motion, fitted one first [N^2, (Nm)^2]
    masses: Array  # identified, of each body [kg]

    @property
    def possible(self) -> bool:
        """Whether no mass is negative, the only failure that shows without the truth."""
        return bool(self.masses.min() > 0.0)


class MotionRows:
    """The rows of several motions in one set of unknowns; the first is to be fitted.

    Attributes:
        identifier: Converts signals to rows, and holds the meaning of the unknowns.
        blocks: Rows of each motion.
        equation: The rows of the first motion, unweighted (Y 17), reduced.
    """

    def __init__(self, identifier: Identifier, blocks: Sequence[RowBlock]) -> None:
        """Reduce the rows of the first motion."""
        self.identifier = identifier
        self.blocks = tuple(blocks)
        m, n = self.blocks[0].regressor.shape[1:]
        stack = EquationStack(tuple(f"row {i}" for i in range(m)), n)
        stack.add(self.blocks[0])
        self.equation = stack.reduced(np.ones(m))

    def of_rows(self, kept: Sequence[int]) -> "MotionRows":
        """Return the same motions with some of the rows only."""
        names, picked = ("regressor", "value", "measured"), np.array(kept, dtype=np.int64)
        blocks = [replace(block, **{n: getattr(block, n)[:, picked] for n in names}) for block in self.blocks]
        return MotionRows(self.identifier, blocks)

    @property
    def condition(self) -> float:
        """Condition number of the regressor without what is zero but for round-off."""
        s = linear_algebra.singular_values(self.equation.R)
        return float(s[0] / s[s > ROUND_OFF * s[0]][-1])

    def costs(self, x: Array) -> tuple[float, ...]:
        """Return ||dF - A x||^2 of each motion; x = 0: with the nominal parameters."""
        return tuple(float(np.sum((b.value - b.regressor @ x) ** 2)) for b in self.blocks)

    def fit(self, method: str, condition_limit: float) -> Fit:
        """Solve for the first motion, with the condition limit c_max (Y 21-23).

        Singular values smaller than 1 / c_max of the largest are taken for zero; infinite: none is.
        """
        parameters = self.identifier.parameters
        equation = self.equation.truncated(condition_limit)
        solution = method_named(method)(equation, parameters, IdentificationConfig().mass_deviation)
        phi = parameters.standard(solution.x)
        masses = np.array([parameters.body(phi, i)[0] for i in range(len(parameters.bodies))])
        return Fit(solution.x, self.costs(solution.x), masses)


MOTIONS = ("direct", "cross-validation (1)", "cross-validation (2)")
PAPER_NOMINAL = 2.2e7  # 2.11e7 to 2.29e7
PAPER_UNKNOWNS = {"L": 92, "LS": 56}
PAPER_CONDITION = {"L": 1.38e5, "LS": 3.81e4}
PAPER_COSTS: Mapping[tuple[str, str, float], tuple[float, float, float]] = {
    ("L", LEAST_SQUARES, 1e2): (1.56e5, 7.13e5, 7.93e5),
    ("LS", LEAST_SQUARES, 1e2): (1.97e5, 5.77e5, 9.47e5),
    ("L", GRADIENT, 1e6): (1.52e5, 5.28e5, 7.29e5),
    ("L", GRADIENT, 1e3): (1.52e5, 5.28e5, 7.29e5),
    ("L", GRADIENT, 1e2): (1.52e5, 5.29e5, 7.30e5),
    ("LS", GRADIENT, 1e6): (1.99e5, 4.51e5, 5.81e5),
    ("LS", GRADIENT, 1e3): (1.99e5, 4.51e5, 5.81e5),
    ("LS", GRADIENT, 1e2): (1.99e5, 4.50e5, 5.84e5),
}
AIM = 1.0 / 42.0  # of the paper's gradient, L, cross-validation (1)
LOWEST_LIMIT = 1e2  # the only c_max at which the paper's least squares has possible masses
PAPER_RATIOS = (5.28 / 7.13, 7.29 / 7.93, 4.51 / 5.77, 5.81 / 9.47)  # gradient (1e6) / least squares (1e2)


class SetOfFits(NamedTuple):
    """All fits of one set of unknowns."""

    rows: MotionRows
    fits: Mapping[tuple[str, float], Fit]  # by method and condition limit
    true: MotionRows  # the same motions' rows about the true robot: x = 0 is the truth

    @property
    def nominal_costs(self) -> tuple[float, ...]:
        """Costs of each motion with the nominal parameters."""
        return self.rows.costs(np.zeros(len(self.rows.identifier.parameters.unknowns)))

    @property
    def true_costs(self) -> tuple[float, ...]:
        """Costs that noise and smoothing leave with the true parameters, moments of inertia too."""
        return self.true.costs(np.zeros(len(self.true.identifier.parameters.unknowns)))

    def ratios(self, method: str, limit: float) -> Array:
        """Return cost / nominal of each motion; NaN where a mass is negative, as the paper's n/a."""
        fit = self.fits[method, limit]
        share: Array = np.divide(fit.costs, self.nominal_costs)
        return share if fit.possible else np.full(len(share), math.nan)

    @property
    def true_x(self) -> Array:
        """What the unknowns would be, were they those of the true robot."""
        nominal, true = self.rows.identifier.parameters, self.true.identifier.parameters
        value = {
            name: t - n
            for name, t, n in zip(nominal.names, true.nominal.tolist(), nominal.nominal.tolist(), strict=True)
        }
        return np.array([value[name] for name in nominal.unknowns])


def table_rows(seeds: Sequence[Mapping[str, SetOfFits]]) -> list[TableRow]:
    """Return the judged rows, then Table I, of the sets L and LS of each seed."""
    rows = _judged(seeds)
    for name, first in seeds[0].items():
        sets = [seed[name] for seed in seeds]
        conditions = [one.rows.condition for one in sets]
        unknowns = len(first.rows.identifier.parameters.unknowns)
        rows += [
            row(f"{name}: number of parameters", "", unknowns, paper=PAPER_UNKNOWNS[name]),
            row(f"{name}: condition number of the regressor", "", conditions, paper=PAPER_CONDITION[name]),
        ]
        nominal, true = np.array([(one.nominal_costs, one.true_costs) for one in sets]).transpose(1, 0, 2)
        for k, motion in enumerate(MOTIONS):
            label = f"{name}: {motion}"
            rows += [
                row(f"{label}, cost with nominal parameters", "", nominal[:, k], paper=PAPER_NOMINAL),
                row(f"{label}, true parameters, cost / nominal", "", (true / nominal)[:, k]),
            ]
        for method, limit in first.fits:
            ratios = np.array([one.ratios(method, limit) for one in sets])
            paper = PAPER_COSTS.get((name, method, limit))
            for k, motion in enumerate(MOTIONS):
                label = f"{name}: {method}, {_limit(limit)}, {motion}, cost / nominal"
                rows.append(row(label, "", ratios[:, k], paper=paper[k] / PAPER_NOMINAL if paper else None))
    return rows


def truth_rows(name: str, sets: Sequence[SetOfFits]) -> list[TableRow]:
    """Return errors against the true robot, nominal and by some of the fits; the name begins the rows."""
    cases = [case for case in TRUTH_CASES if case in sets[0].fits]
    solutions = {"nominal": [np.zeros(len(one.true_x)) for one in sets]}
    for method, limit in cases:
        solutions[f"{method}, {_limit(limit)}"] = [one.fits[method, limit].x for one in sets]
    errors = {
        case: np.array([_true_errors(one, x) for one, x in zip(sets, xs, strict=True)])
        for case, xs in solutions.items()
    }
    return [
        row(f"{name}: {quantity}: {case}", unit, values[:, k])
        for k, (quantity, unit) in enumerate(TRUE_ERRORS)
        for case, values in errors.items()
    ]


TRUTH_CASES = (
    (LEAST_SQUARES, LOWEST_LIMIT),
    (GRADIENT, math.inf),
    (GRADIENT, LOWEST_LIMIT),
    (CONSISTENT, math.inf),
)
TRUE_ERRORS = (
    ("error of the total mass", "kg"),
    ("error of the whole centre of mass, horizontal, rms over cross-validation (1)", "mm"),
    ("error of the joint torques against the truth, rms over cross-validation (1)", "Nm"),
    ("error of the links' masses, rms (not identifiable individually)", "kg"),
)


def _true_errors(fits: SetOfFits, x: Array) -> list[float]:
    identifier = fits.rows.identifier
    names, total = list(identifier.row_model.row_names), fits.true.identifier.robot.total_mass
    wrong = x - fits.true_x
    forces = fits.rows.blocks[1].regressor @ wrong
    moments = [names.index("base_moment_x"), names.index("base_moment_y")]
    shift = np.linalg.norm(forces[:, moments], axis=1) / (total * STANDARD_GRAVITY)
    torques = forces[:, [i for i, name in enumerate(names) if name not in BASE_ROWS]]
    each = (identifier.parameters.E @ wrong)[[name.endswith("/m") for name in identifier.parameters.names]]
    return [abs(float(each.sum())), 1e3 * rms(shift), rms(torques.ravel()), rms(each)]


def _judged(seeds: Sequence[Mapping[str, SetOfFits]]) -> list[TableRow]:
    sets = [one for seed in seeds for one in seed.values()]
    plain = [float((one.fits[LEAST_SQUARES, math.inf].masses < 0.0).sum()) for one in sets]
    gradients = [fit for one in sets for (method, _), fit in one.fits.items() if method == GRADIENT]
    least = [float(fit.masses.min()) for fit in gradients]
    crossed = [float(one.ratios(GRADIENT, math.inf)[1:].max()) for one in sets]
    lowest = [one.ratios(LEAST_SQUARES, LOWEST_LIMIT)[1:] for one in sets]
    against, same = (
        [one.ratios(GRADIENT, limit)[1:] / other for one, other in zip(sets, lowest, strict=True)]
        for limit in (math.inf, LOWEST_LIMIT)
    )
    gradient = "cross-validation, gradient without truncation"
    negative = "negative masses, least squares without truncation, fewest of all sets"
    ratio, paper = f"{gradient} / least squares at 1e2, mean", float(np.mean(PAPER_RATIOS))
    largest, paper_largest = f"{gradient}, cost / nominal, largest", 7.29e5 / PAPER_NOMINAL
    return [
        row(negative, "", plain, "min", bound=">= 1"),
        row("smallest mass, bounded gradient, all sets and limits", "kg", least, "min", bound="> 0"),
        row(ratio, "", float(np.mean(against)), paper=paper, bound="<= 1"),
        row("the same, largest", "", float(np.max(against)), paper=max(PAPER_RATIOS)),
        row("the same, both at 1e2, largest", "", float(np.max(same)), paper=7.30 / 7.93),
        row(largest, "", crossed, "max", paper=paper_largest, bound=f"aim <= {AIM}"),
    ]


def _limit(limit: float) -> str:
    return f"c_max {limit:.0e}" if math.isfinite(limit) else "no truncation"
