"""Tournois et al., V-B, Table IV: torque offsets and misplaced feet against approaches (b) and (c).

The paper adds constant Gaussian errors to "the joint torque measurements and feet positions" and does not say
where else they act, which decides the result (docs/experiments.md). So both readings of each error are run.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

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
from inertial_estimation.simulation.config import SimulationConfig

LETTERS = {ORIENTATION: "(b)", FORCES: "(c)"}


class _Kind(NamedTuple):
    """A reading of the paper's errors, and the paper's results of it by approach [cm]."""

    name: str
    of_torques: bool  # else of the feet's positions
    shared: bool  # whether it acts alike on all: controller, (b) and (c); else it gives the paper's pattern
    paper: Mapping[str, tuple[float, ...]]

    @property
    def levels(self) -> tuple[float, ...]:
        """Means of the torques [Nm], or standard deviations of the feet [cm]."""
        return (0.0, 10.0, 20.0) if self.of_torques else (1.0, 2.0, 3.0)

    def text(self, level: float) -> str:
        """Return what it is at a level."""
        noise = f"mu {level:g}, sigma 1 Nm" if self.of_torques else f"sigma {level:g} cm"
        return f"{self.name}, {noise}"


TORQUES = {ORIENTATION: (0.410, 1.114, 2.098), FORCES: (0.073, 0.190, 0.255)}
FEET = {ORIENTATION: (0.001, 0.060, 0.202)}  # our copy of the paper lacks the row of (c)
KINDS = (
    _Kind("torques off, sensors do not see it", of_torques=True, shared=True, paper=TORQUES),
    _Kind("torques off, sensors see it", of_torques=True, shared=False, paper=TORQUES),
    _Kind("feet misplaced for all", of_torques=False, shared=True, paper=FEET),
    _Kind("feet misplaced for the identification", of_torques=False, shared=False, paper=FEET),
)


def run(trials: Trials) -> ExperimentResult:
    """Identify with every error, for every seed of errors and sensor noise."""
    robot, approaches = RobotLoop(ROBOT), tuple(LETTERS)
    cases = [(kind, level) for kind in range(len(KINDS)) for level in range(3)]
    if trials.quick:
        cases, approaches = [(0, 1)], (FORCES,)
    found = trials.by_case(
        {case: partial(_identified, robot, *case, trials.quick, approaches) for case in cases}
    )
    rows, apart, refusals = list[TableRow](), list[float](), set[str]()
    for (number, level), every in found.items():
        kind, text = KINDS[number], KINDS[number].text(KINDS[number].levels[level])
        by_approach = dict(zip(approaches, zip(*every, strict=True), strict=True))
        for approach, some in by_approach.items():
            paper = kind.paper[approach][level] if approach in kind.paper else None
            bound = f"<= {2.0 * paper}" if paper is not None and not kind.shared else ""
            name = f"{LETTERS[approach]}, {text}, median"
            rows.append(row(name, "cm", errors_cm(some), "median", paper=paper, bound=bound))
            refusals |= {f"Given up: {LETTERS[approach]}, {text}: {t.refusal}" for t in some if t.refusal}
        if kind.shared and ORIENTATION in by_approach:
            pairs = zip(*by_approach.values(), strict=True)
            apart += [1e2 * math.hypot(*(b.error_L[-1] - c.error_L[-1])[:2]) for b, c in pairs]
    if apart:
        name = "(b) and (c) apart, where torques and kinematics are the same for both, worst"
        rows.append(row(name, "cm", apart, "max"))
    rows.append(unfinished_row([one for every in found.values() for some in every for one in some]))
    return ExperimentResult(
        trials.seeds,
        rows,
        facts=("(b) first, from a start that is off; then (c) in the same loop.", *sorted(refusals)),
        caveat="our copy of the paper lacks the row of (c) for misplaced feet",
    )


def _identified(
    robot: RobotLoop, number: int, level: int, quick: bool, approaches: Sequence[str], seed: int
) -> list[IdentificationTrial]:
    """Identify by one approach after the other in the same loop.

    The hind legs mirror the front ones, so hips and knees turn the other way: torques of mirrored sign bend
    all legs equally.
    """
    kind = KINDS[number]
    rng = default_rng([seed, level, int(kind.of_torques)])
    model, identified, size = perturbed(robot), None, kind.levels[level]
    overrides: dict[str, dict[str, Any]] = {}
    if kind.of_torques:
        names = list(RobotModel.from_urdf(robot.urdf).joint_names)
        signs = np.array([-1.0 if name[1] == "h" and "haa" not in name else 1.0 for name in names])
        overrides[SIMULATOR_NODE] = {
            "nominal_friction.joints": names,
            "nominal_friction.terms": ["offset"],
            "nominal_friction.values": (rng.normal(size, 1.0, len(names)) * signs).tolist(),
            "sensors.effort_at": "motor" if kind.shared else "link",
        }
    else:
        feet = robot.config(SIMULATOR_NODE, SimulationConfig).robot.contacts
        moves = {foot: 1e-2 * rng.normal(0.0, size, 3) for foot in feet}
        identified = model.believing(urdf_with_moved_links(model.urdf, moves))
        model = identified if kind.shared else model
    loop = standing_loop(model, Scene(), seed, quick=quick, overrides=overrides, identified=identified)
    return [identification(loop, approach) for approach in approaches]
