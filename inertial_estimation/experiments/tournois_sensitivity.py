"""Tournois et al., V-B, Table IV: torque offsets and misplaced feet against approaches (b) and (c).

The paper adds constant Gaussian errors to "the joint torque measurements and feet positions" and does not say
where else they act, which decides the result (docs/experiments.md). So both readings of each error are run.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.experiments.tournois_standing import (
    FORCES,
    ORIENTATION,
    ROBOT,
    IdentificationTrial,
    Scene,
    errors_cm,
    identification,
    perturbed,
    standing_loop,
    unfinished_row,
    urdf_with_moved_links,
)
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import SimulationConfig

B, C = ORIENTATION, FORCES
LETTERS = {B: "(b)", C: "(c)"}
TORQUE_SIGMA = 1.0  # [Nm]
UNSEEN, SEEN = "torques off, sensors do not see it", "torques off, sensors see it"
ALL_BELIEVE, ONE_BELIEVES = "feet misplaced for all", "feet misplaced for the identification"
LEVELS = {  # of each kind: mean of the torques [Nm], standard deviation of the feet [cm]
    **dict.fromkeys((UNSEEN, SEEN), (0.0, 10.0, 20.0)),
    **dict.fromkeys((ALL_BELIEVE, ONE_BELIEVES), (1.0, 2.0, 3.0)),
}
PAPER_CM: dict[tuple[bool, str], tuple[float, ...]] = {  # by whether it is the torques, and approach
    (True, B): (0.410, 1.114, 2.098),
    (True, C): (0.073, 0.190, 0.255),
    (False, B): (0.001, 0.060, 0.202),
}
LIKE_THE_PAPER = (SEEN, ONE_BELIEVES)  # the readings that give its pattern


class _Case(NamedTuple):
    """One kind of error and who is subject to it, at one of its levels."""

    kind: str
    level: float

    @property
    def torque(self) -> bool:
        """Whether it is an error of the torques."""
        return self.kind in (UNSEEN, SEEN)

    def __str__(self) -> str:
        noise = f"mu {self.level:g}, sigma 1 Nm" if self.torque else f"sigma {self.level:g} cm"
        return f"{self.kind}, {noise}"


Identifications = Mapping[tuple[_Case, str], Sequence[IdentificationTrial]]


def run(trials: Trials) -> ExperimentResult:
    """Identify with every error, for every seed of errors and sensor noise."""
    robot, quick = RobotLoop(ROBOT), trials.quick
    cases = [_Case(kind, level) for kind, levels in LEVELS.items() for level in levels]
    approaches: tuple[str, ...] = (B, C)
    if quick:
        cases, approaches = [_Case(UNSEEN, 10.0)], (C,)
    found = trials.by_case({case: partial(_identified, robot, case, quick, approaches) for case in cases})
    by_approach = {
        (case, approach): [one[k] for one in every]
        for case, every in found.items()
        for k, approach in enumerate(approaches)
    }
    rows = [one for case in cases for one in _case_rows(case, by_approach)]
    rows += _apart(by_approach)
    rows.append(unfinished_row([one for some in by_approach.values() for one in some]))
    refusals = {
        f"Given up: {LETTERS[approach]}, {case}: {one.refusal}"
        for (case, approach), some in by_approach.items()
        for one in some
        if one.refusal
    }
    return ExperimentResult(
        trials.seeds,
        rows,
        facts=(
            "(b) first, from a start that is off; then (c) in the same loop.",
            *sorted(refusals),
        ),
        caveat="our copy of the paper lacks the row of (c) for misplaced feet",
    )


def _identified(
    robot: RobotLoop, case: _Case, quick: bool, approaches: Sequence[str], seed: int
) -> list[IdentificationTrial]:
    """Identify by one approach after the other in the same loop."""
    rng = default_rng([seed, LEVELS[case.kind].index(case.level), int(case.torque)])
    model, identified = perturbed(robot), None
    overrides: dict[str, dict[str, Any]] = {}
    if case.torque:
        names = list(RobotModel.from_urdf(robot.urdf).joint_names)
        offsets = rng.normal(case.level, TORQUE_SIGMA, len(names)) * _mirrored(names)
        overrides[SIMULATOR_NODE] = {
            "nominal_friction.joints": names,
            "nominal_friction.terms": ["offset"],
            "nominal_friction.values": offsets.tolist(),
            "sensors.effort_at": "motor" if case.kind == UNSEEN else "link",
        }
    else:
        feet = robot.config(SIMULATOR_NODE, SimulationConfig).robot.contacts
        urdf = urdf_with_moved_links(model.urdf, _foot_moves(feet, case.level, rng))
        identified = model.believing(urdf)
        model = identified if case.kind == ALL_BELIEVE else model
    loop = standing_loop(model, Scene(), seed, quick=quick, overrides=overrides, identified=identified)
    return [identification(loop, approach) for approach in approaches]


def _mirrored(names: Sequence[str]) -> Array:
    """Return the signs of joints: the hind legs mirror the front ones, so hips and knees turn the other way.

    Equal offsets of mirrored sign bend all legs equally.
    """
    return np.array([-1.0 if name[1] == "h" and "haa" not in name else 1.0 for name in names])


def _foot_moves(feet: Sequence[str], sigma_cm: float, rng: Generator) -> dict[str, Array]:
    return {foot: 1e-2 * rng.normal(0.0, sigma_cm, 3) for foot in feet}


def _case_rows(case: _Case, trials: Identifications) -> list[TableRow]:
    rows = []
    for approach in (approach for one, approach in trials if one == case):
        table = PAPER_CM.get((case.torque, approach))
        paper = None if table is None else table[LEVELS[case.kind].index(case.level)]
        bound = f"<= {2.0 * paper}" if paper is not None and case.kind in LIKE_THE_PAPER else ""
        errors, name = errors_cm(trials[case, approach]), f"{LETTERS[approach]}, {case}, median"
        rows.append(row(name, "cm", errors, "median", paper=paper, bound=bound))
    return rows


def _apart(trials: Identifications) -> list[TableRow]:
    """Return how far (b) and (c) end from one another where they read the same torques and kinematics."""
    alike = [case for case, approach in trials if approach == B and case.kind in (UNSEEN, ALL_BELIEVE)]
    pairs = [pair for case in alike for pair in zip(trials[case, B], trials[case, C], strict=True)]
    apart = [1e2 * math.hypot(*(b.error_L[-1] - c.error_L[-1])[:2]) for b, c in pairs]
    name = "(b) and (c) apart, where torques and kinematics are the same for both, worst"
    return [row(name, "cm", apart, "max")] if apart else []
