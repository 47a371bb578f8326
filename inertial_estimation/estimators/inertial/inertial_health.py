"""State of an inertial filter, for diagnostics."""

from collections.abc import Sequence

from inertial_estimation.errors import listing
from inertial_estimation.estimators.inertial.adaptive_noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter, WatchPhase
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.information import InformationReport
from inertial_estimation.located_cause import Cause
from inertial_estimation.signals import Array, Decision, Health, HealthLevel


class FilterRecord:
    """What the steps of a filter have shown since its last reset, for diagnostics and estimates.

    Attributes:
        by_decision: Steps with all inputs, by the decision of the gate.
        incomplete: Steps with a missing input.
        information: Information of the data about each direction of the state.
    """

    def __init__(self, config: InertialPipelineConfig, states: int) -> None:
        """Begin without steps.

        Args:
            config: The parameters.
            states: Number of states of the filter.
        """
        self.by_decision: dict[Decision, int] = {}
        self.incomplete = 0
        self.information = InformationReport(states, config.information_period)

    def count(self, update: FilterUpdate) -> None:
        """Count a step with all inputs.

        Args:
            update: Its outcome.
        """
        self.by_decision[update.decision] = self.by_decision.get(update.decision, 0) + 1

    def reset(self) -> None:
        """Set all counters to zero."""
        self.by_decision.clear()
        self.incomplete = 0
        self.information.reset()

    def set_config(self, config: InertialPipelineConfig) -> None:
        """Take parameters that have changed."""
        self.information.period = config.information_period

    def figures(
        self,
        guarded: GuardedFilter,
        noise: AdaptiveNoise,
        sigma_mass: Array,
        *,
        short_windows: int,
        velocity_source: str,
    ) -> dict[str, str]:
        """Return the counters and figures of the filter by name, rendered as text.

        Args:
            guarded: The filter under watch.
            noise: Noise of the rows.
            sigma_mass: Standard deviation of the mass of every body [kg], shape (n_bodies,).
            short_windows: Number of windows that held too few samples.
            velocity_source: Human-readable source of the joint velocities.
        """
        information = self.information
        values = {f"steps {decision.value}": str(n) for decision, n in self.by_decision.items()}
        values |= {
            "steps without an input": str(self.incomplete),
            "windows too short": str(short_windows),
            "joint velocities": velocity_source,
            "informed directions": f"{information.informed} of {len(information.eigenvalues)}",
            "watch": guarded.phase.value,
            "returns to an earlier state": str(guarded.returns),
            "suspensions of learning": str(guarded.freezes),
        }
        values |= guarded.inquiry.found.figures()
        for parameter, (seen, used) in noise.factors().items():
            values[f"{parameter}: seen / stated"] = f"{seen:.3g}"
            values[f"{parameter}: used / stated"] = f"{used:.3g}"
        for body, sigma in zip(guarded.filter.bodies, sigma_mass.tolist(), strict=True):
            values[f"mass sigma {body.link} [kg]"] = f"{sigma:.4g}"
        return values


def filter_health(
    missing: Sequence[str],
    values: dict[str, str],
    *,
    learning: bool,
    calibrating: bool,
    failures: str,
    watch: str,
    noise: str,
    remark: str = "",
) -> Health:
    """Report whether the filter waits, learns or calibrates.

    Args:
        missing: Required inputs that are lost.
        values: Counters and figures.
        learning: Whether the filter corrects its state.
        calibrating: Whether the residual at rest is being averaged.
        failures: Steps that failed lately; empty for none.
        watch: Why the parameters are not trusted; empty if they are.
        noise: Noise parameters that are too small for the data; empty if none is.
        remark: What is worth knowing and no trouble, as noise stated too large; empty for nothing.
    """
    if missing:
        return Health("estimator", HealthLevel.STALE, f"waiting for {listing(missing)}", values)
    if not learning:
        message = "learning is switched off"
        return Health("estimator", HealthLevel.WARN, message, values, requested=True)
    if calibrating:
        return Health("estimator", HealthLevel.WARN, "calibrating the residual at rest", values)
    trouble = "; ".join(text for text in (failures, watch, noise) if text)
    if trouble:
        return Health("estimator", HealthLevel.WARN, trouble, values)
    message = "; ".join(text for text in ("estimating", remark) if text)
    return Health("estimator", HealthLevel.OK, message, values)


def remarks(guarded: GuardedFilter, noise: AdaptiveNoise, nis_factor: float) -> str:
    """Say what is worth knowing and no trouble; empty for nothing.

    Args:
        guarded: The filter under watch.
        noise: Noise of the rows.
        nis_factor: Factor of the variance from which on noise stated too large is told.
    """
    links = guarded.good.located.varying
    varying = f"the load on {listing(links)} varies and is followed" if links else ""
    return "; ".join(text for text in (varying, noise.too_large(nis_factor)) if text)


def watch_in_words(guarded: GuardedFilter) -> str:
    """Say why the parameters of a filter are not trusted; empty if they are.

    Args:
        guarded: The filter under watch.
    """
    suspect = f"check {guarded.cause}" if guarded.cause else "check the inputs"
    if guarded.is_hidden:
        return f"learning is suspended at the last good state, since no load explains the data; {suspect}"
    certain = guarded.inquiry.certain
    if guarded.phase is WatchPhase.PUSHED and certain is not None and certain.cause is not Cause.FAULT:
        elsewhere = ", which is not among 'links'" if certain.cause is Cause.LOAD else ""
        return f"{certain.sentence}{elsewhere}; published parameters are held"
    if guarded.phase is WatchPhase.PUSHED and guarded.needs_report:
        if certain is not None and certain.may_be_push:
            suspect += ", unless its link is pushed"
        return f"the data contradict the parameters: {suspect}; published ones are held"
    if guarded.phase is WatchPhase.TRIAL:
        return (
            f"the data contradict the parameters: a load has changed, or {suspect}; published ones are held"
        )
    if guarded.needs_report:
        if guarded.phase is WatchPhase.SUSPECT and guarded.inquiry.found.is_open:
            return f"{guarded.inquiry.found.sentence}; published parameters are held"
        if guarded.phase is WatchPhase.SUSPECT:
            return f"the innovations are much larger than usual: {suspect}; published parameters are held"
        return f"the parameters have followed a change that need not be a load on one body: {suspect}"
    return ""
