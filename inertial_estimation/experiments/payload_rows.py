"""Rows and facts that the experiments on a standing robot's trunk share."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.payload_stand import IdentificationTrial
from inertial_estimation.signals import Array


def errors_cm(trials: Sequence[IdentificationTrial]) -> Array:
    """Return the horizontal error of each identification at its end [cm], shape (n,)."""
    return np.array([1e2 * trial.error_xy for trial in trials])


def worst_mass_row(trials: Sequence[IdentificationTrial]) -> TableRow:
    """Return the largest error of the trunk's mass at the end."""
    return TableRow(
        "mass of the trunk, error, worst of all",
        "%",
        1e2 * max(trial.mass_error for trial in trials),
        bound=Bound("<=", 1.0),
        aim=Bound("<=", 0.3),
    )


def unfinished_row(trials: Sequence[IdentificationTrial], *, bound: Bound | None = None) -> TableRow:
    """Return the number of identifications that did not come to their end."""
    count = sum(not trial.converged for trial in trials)
    return TableRow("identifications that did not come to their end", "", float(count), bound=bound)


def refusal_facts(trials: Sequence[IdentificationTrial]) -> tuple[str, ...]:
    """Return a sentence for each reason for which identifications were given up."""
    return tuple(f"Given up: {refusal}" for refusal in sorted({t.refusal for t in trials if t.refusal}))
