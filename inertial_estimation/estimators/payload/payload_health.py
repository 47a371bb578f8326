"""How the identification of the trunk is, for diagnostics."""

from collections.abc import Mapping, Sequence

from inertial_estimation.errors import listing
from inertial_estimation.estimators.payload.identification import Identification
from inertial_estimation.estimators.payload.payload_estimate import Phase
from inertial_estimation.estimators.payload.trunk_measurer import TrunkMeasurer
from inertial_estimation.signals import Health, HealthLevel

NAME = "payload"
UNCONFIRMED = (
    Phase.SETTLING,
    Phase.MASS,
)  # phases in which a load change is seen but its mass not averaged yet


def payload_health(
    identification: Identification,
    measurer: TrunkMeasurer,
    *,
    missing: Sequence[str],
    trouble: str,
    at_rest: bool,
    why_not: str,
    changes: Mapping[str, int],
    velocity_source: str,
    failures: str,
) -> Health:
    """Return what the identification does and what hinders it.

    Args:
        identification: Phase and values.
        measurer: Forces of the feet.
        missing: Inputs that do not arrive.
        trouble: What is wrong with the joint states where they are missing.
        at_rest: Whether the robot is at rest.
        why_not: Why the trunk cannot be measured now.
        changes: Load changes by kind.
        velocity_source: Where the joint velocities come from.
        failures: Steps that failed lately; empty for none.
    """
    values = _values(identification, measurer, at_rest, why_not, changes)
    values["joint velocities"] = velocity_source
    if missing:
        reason = f" ({trouble})" if trouble else ""
        return Health(NAME, HealthLevel.STALE, f"waiting for {listing(missing)}{reason}", values)
    if failures:
        return Health(NAME, HealthLevel.WARN, failures, values)
    detector = identification.trunk.load_changes
    if detector.lone.foot is not None:
        foot = measurer.config.robot.contacts[detector.lone.foot]
        message = f"the force at '{foot}' alone has changed, as by no load: check its {measurer.source}"
        return Health(NAME, HealthLevel.WARN, message, values)
    unidentified = detector.unidentified
    if identification.identifying:
        doing = f"identifying by '{identification.method}', phase {identification.phase.value}"
        if unidentified is not None and identification.phase in UNCONFIRMED:
            masses = f"{unidentified.mass_before:.2f} -> {unidentified.mass_measured:.2f} kg"
            return Health(NAME, HealthLevel.WARN, f"{doing}: trunk {masses}, not confirmed yet", values)
        level = HealthLevel.WARN if at_rest and measurer.trouble else HealthLevel.OK  # to move is part of it
        return Health(NAME, level, f"{doing}: {why_not}" if why_not else doing, values)
    if identification.refusal:
        return Health(NAME, HealthLevel.WARN, f"identification given up: {identification.refusal}", values)
    if unidentified is not None:
        masses = f"trunk {unidentified.mass_before:.2f} -> {unidentified.mass_measured:.2f} kg"
        return Health(NAME, HealthLevel.WARN, f"not identified: {unidentified.kind}, {masses}", values)
    if at_rest and measurer.trouble:
        return Health(NAME, HealthLevel.WARN, measurer.trouble, values)
    return Health(NAME, HealthLevel.OK, identification.phase.value, values)


def _values(
    identification: Identification,
    measurer: TrunkMeasurer,
    at_rest: bool,
    why_not: str,
    changes: Mapping[str, int],
) -> dict[str, str]:
    value = identification.trunk.value
    x, y, z = value.com_B.tolist()
    values = {
        "phase": identification.phase.value,
        "method": identification.method,
        "at rest": "yes" if at_rest else f"no: {why_not}",
        "trunk mass [kg]": f"{value.mass:.3f}",
        "mass sigma [kg]": f"{value.mass_sigma:.3g}",
        "mass published [kg]": f"{identification.trunk.target.mass:.3f}",
        "com [m]": f"{x:.4f} {y:.4f} {z:.4f}",
        "residual [m]": f"{value.residual:.3g}",
        "mass expected [kg]": f"{identification.trunk.load_changes.mass:.3f}",
    }
    names = measurer.config.robot.contacts
    values |= {
        f"force {name} [N]": f"{force:.1f}" for name, force in zip(names, measurer.forces, strict=False)
    }
    values |= {f"load changes: {kind}": str(n) for kind, n in changes.items()}
    values |= {f"looks refused: {reason}": str(n) for reason, n in measurer.refused.items()}
    if identification.refusal:
        values["refusal"] = identification.refusal
    return values
