"""Health of an inertial estimator, for diagnostics."""

from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.errors import listing
from inertial_estimation.inertial.cause_table import CauseKind
from inertial_estimation.inertial.estimator import InertialEstimator
from inertial_estimation.inertial.supervisor import Phase, Supervisor
from inertial_estimation.located_cause import Cause
from inertial_estimation.signals import Health, HealthLevel

BEHIND = 0.1  # relative difference of a published mass from its estimate that is reported


def estimator_health(
    estimator: InertialEstimator, missing: Sequence[str], figures: Mapping[str, str], failures: str
) -> Health:
    """Return whether the estimator waits, learns, holds or calibrates.

    Args:
        estimator: The estimator.
        missing: Required inputs that are lost.
        figures: Figures of the inputs, by name.
        failures: Sentence about recently failed steps; empty if there are none.
    """
    values = {**_figures(estimator), **figures}
    if missing:
        return Health("estimator", HealthLevel.STALE, f"waiting for {listing(missing)}", values)
    if not estimator.learning:
        message = "learning is switched off"
        return Health("estimator", HealthLevel.WARN, message, values, requested=True)
    if estimator.bias.active:
        return Health("estimator", HealthLevel.WARN, "calibrating the residual at rest", values)
    supervised = estimator.supervisor is not None
    noise = estimator.noise.report(too_small=True) if supervised else ""
    said = failures, held_in_words(estimator), _hand_over_in_words(estimator), noise
    trouble = "; ".join(filter(None, said))
    if trouble:
        return Health("estimator", HealthLevel.WARN, trouble, values)
    large = estimator.noise.report(too_small=False) if supervised else ""
    return Health("estimator", HealthLevel.OK, "; ".join(filter(None, ("estimating", large))), values)


def held_in_words(estimator: InertialEstimator) -> str:
    """Return a sentence about why nothing is learned; empty while learning.

    Args:
        estimator: The estimator.
    """
    supervisor = estimator.supervisor
    if supervisor is None or supervisor.phase is not Phase.HOLDING:
        return ""
    located = estimator.located
    if located is None:
        suspect = f"check {_suspect(estimator, supervisor)}"
        return f"no load and no push explains the data: {suspect}; published parameters are held"
    if located.cause is Cause.FAULT:
        return f"the data contradict the parameters: check {located.input}; published ones are held"
    unlisted = located.cause is Cause.LOAD and not located.is_ambiguous
    elsewhere = ", which is not among 'links'" if unlisted else ""
    return f"{located.sentence}{elsewhere}; published parameters are held"


def _hand_over_in_words(estimator: InertialEstimator) -> str:
    """Return a sentence about a published mass that still differs from the estimate; empty if none does."""
    link, published, estimated = estimator.published.furthest()
    if abs(estimated - published) <= BEHIND * published:
        return ""
    masses = f"published {published:.2f} kg, estimated {estimated:.2f} kg"
    return f"{link} is still being handed over (hand_over_rate): {masses}"


def _suspect(estimator: InertialEstimator, supervisor: Supervisor) -> str:
    """Return the input whose error explains the data best, or the input of the row that agrees least."""
    hypotheses = supervisor.verdict.hypotheses if supervisor.verdict else ()
    inputs = [h for h in hypotheses if h.kind is CauseKind.INPUT and h.row]
    if inputs and inputs[0].row:
        return supervisor.table.inputs[inputs[0].row.columns][inputs[0].index]
    if not supervisor.waiting:
        return "the inputs"
    rows = supervisor.waiting[-1].rows
    worst = int(np.argmax(estimator.filter.innovation(rows) ** 2 / rows.noise.diagonal()))
    name = estimator.model.measurement.row_names[worst]
    of_joint = name in estimator.model.robot.joint_names
    return f"the effort or motion of '{name}' in joint_states" if of_joint else "the IMU and the wrenches"


def _figures(estimator: InertialEstimator) -> dict[str, str]:
    values = {f"steps {decision.value}": str(n) for decision, n in estimator.steps.items()}
    informed = estimator.informed
    values["informed directions"] = f"{informed.directions} of {len(informed.information)}"
    supervisor = estimator.supervisor
    if supervisor is not None:
        values |= {
            "supervisor": supervisor.phase.value,
            "events": str(supervisor.progress.events),
            "loads learned": str(supervisor.loads.count),
            "beginnings anew": str(supervisor.progress.starts),
        }
        if estimator.located is not None:
            values |= estimator.located.figures()
        for parameter, factor in estimator.noise.factors().items():
            values[f"{parameter}: shown / stated"] = f"{factor:.3g}"
    for link, parts in estimator.published.informed_parts().items():
        values[f"informed {link}"] = ", ".join(parts) or "nothing, it is nominal"
    at, P = estimator.posterior.at, estimator.posterior.covariance
    for i, body in enumerate(estimator.model.bodies):
        slope = at.G[i, 0]
        variance = float(slope @ P[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] @ slope)
        values[f"mass sigma {body.link} [kg]"] = f"{np.sqrt(max(variance, 0.0)):.4g}"
    return values
