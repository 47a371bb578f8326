"""State of an inertial filter, for diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.errors import listing
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.information import InformationReport
from inertial_estimation.signals import Decision, Health, HealthLevel

__all__ = ["FilterStepCounts", "filter_figures", "filter_health"]


@dataclass
class FilterStepCounts:
    """Numbers of steps since the last restart.

    Attributes:
        by_decision: Steps with all inputs, by the decision of the gate.
        incomplete: Steps with a missing input.
    """

    by_decision: dict[Decision, int] = field(default_factory=dict)
    incomplete: int = 0

    def count(self, decision: Decision) -> None:
        """Count a step with all inputs."""
        self.by_decision[decision] = self.by_decision.get(decision, 0) + 1

    def reset(self) -> None:
        """Set all counters to zero."""
        self.by_decision.clear()
        self.incomplete = 0


def filter_figures(
    steps: FilterStepCounts,
    information: InformationReport,
    filter_: InertialFilter,
    *,
    short_windows: int,
    velocity_source: str,
) -> dict[str, str]:
    """Return the counters and figures of the filter by name, rendered as text.

    Args:
        steps: Numbers of steps.
        information: Information of the data about each direction of the state.
        filter_: The filter.
        short_windows: Number of windows that held too few samples.
        velocity_source: Human-readable source of the joint velocities.
    """
    values = {f"steps {decision.value}": str(n) for decision, n in steps.by_decision.items()}
    values |= {
        "steps without an input": str(steps.incomplete),
        "windows too short": str(short_windows),
        "joint velocities": velocity_source,
        "informed directions": f"{information.informed} of {len(information.eigenvalues)}",
    }
    _parameters, covariance_C = filter_.body_parameters()
    for body, covariance in zip(filter_.bodies, covariance_C, strict=True):
        values[f"mass sigma {body.link} [kg]"] = f"{float(np.sqrt(max(covariance[0, 0], 0.0))):.4g}"
    return values


def filter_health(
    missing: Sequence[str], values: dict[str, str], *, learning: bool, calibrating: bool
) -> Health:
    """Report whether the filter waits, learns or calibrates.

    Args:
        missing: Required inputs that are lost.
        values: Counters and figures.
        learning: Whether the filter corrects its state.
        calibrating: Whether the residual at rest is being averaged.
    """
    if missing:
        return Health("estimator", HealthLevel.STALE, f"waiting for {listing(missing)}", values)
    if not learning:
        message = "learning is switched off"
        return Health("estimator", HealthLevel.WARN, message, values, requested=True)
    if calibrating:
        return Health("estimator", HealthLevel.WARN, "calibrating the residual at rest", values)
    return Health("estimator", HealthLevel.OK, "estimating", values)
