"""Tournois et al., V-B, Table IV: torque offsets and misplaced feet against approach (c).

The paper adds constant Gaussian errors to "the joint torque measurements and feet positions" and does not say
where else they act, which decides the result (docs/experiments.md). So both readings of each error are run.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.experiments.tournois_standing import (
    FORCES,
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


class _Kind(NamedTuple):
    """A reading of the paper's errors, and the paper's results of it [cm]."""

    name: str
    of_torques: bool  # else of the feet's positions
    shared: bool  # whether it acts alike on controller and identification
    paper: tuple[float, ...] = ()

    @property
    def levels(self) -> tuple[float, ...]:
        """Means of the torques [Nm], or standard deviations of the feet [cm]."""
        return (0.0, 10.0, 20.0) if self.of_torques else (1.0, 2.0, 3.0)

    def text(self, level: float) -> str:
        """Return what it is at a level."""
        noise = f"mu {level:g}, sigma 1 Nm" if self.of_torques else f"sigma {level:g} cm"
        return f"{self.name}, {noise}"


TORQUES = (0.073, 0.190, 0.255)  # our copy of the paper lacks those of misplaced feet
KINDS = (
    _Kind("torques off, sensors do not see it", of_torques=True, shared=True, paper=TORQUES),
    _Kind("torques off, sensors see it", of_torques=True, shared=False, paper=TORQUES),
    _Kind("feet misplaced for all", of_torques=False, shared=True),
    _Kind("feet misplaced for the identification", of_torques=False, shared=False),
)


def run(trials: Trials) -> ExperimentResult:
    """Identify with every error, for every seed of errors and sensor noise."""
    robot = RobotLoop(ROBOT)
    cases = [(kind, level) for kind in range(len(KINDS)) for level in range(3)]
    if trials.quick:
        cases = [(0, 1)]
    found = trials.by_case({case: partial(_identified, robot, *case, trials.quick) for case in cases})
    rows, refusals = list[TableRow](), set[str]()
    for (number, level), some in found.items():
        kind, text = KINDS[number], KINDS[number].text(KINDS[number].levels[level])
        paper = kind.paper[level] if kind.paper else None
        bound = f"<= {2.0 * paper}" if paper is not None and not kind.shared else ""
        rows.append(row(f"(c), {text}, median", "cm", errors_cm(some), "median", paper=paper, bound=bound))
        refusals |= {f"Given up: {text}: {trial.refusal}" for trial in some if trial.refusal}
    rows.append(unfinished_row([one for some in found.values() for one in some]))
    caveat = "our copy of the paper lacks the row of (c) for misplaced feet"
    return ExperimentResult(trials.seeds, rows, facts=sorted(refusals), caveat=caveat)


def _identified(robot: RobotLoop, number: int, level: int, quick: bool, seed: int) -> IdentificationTrial:
    """Identify with an error.

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
    return identification(loop, FORCES)
