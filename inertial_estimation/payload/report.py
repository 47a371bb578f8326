"""Events and health of the identification of the trunk."""

from collections.abc import Mapping, Sequence
from math import isfinite

from inertial_estimation.errors import listing, with_sigma
from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate, Phase
from inertial_estimation.payload.identification import Identification
from inertial_estimation.payload.statics import TrunkMeasurer
from inertial_estimation.signals import Array, Health, HealthLevel

NAME = "payload"  # name of the part whose health is reported
LOAD = "load"  # name of the part of which an event is the state
KIND = "kind"  # key of the kind among the values of a published event
LEVELS = {"identified": HealthLevel.OK, "refused": HealthLevel.ERROR}  # of events by kind; else WARN


def events_of(estimate: PayloadEstimate) -> list[Health]:
    """Return the events of one step, mostly none: an identification has ended, a load change was detected.

    An event is the state of the part `load`. Its first value is its kind: "loaded", "unloaded" or "shifted"
    (load changes), "identified", "refused" or "cancelled" (ends of an identification).
    """
    events = []
    if estimate.ended:
        messages = {
            "identified": _identified(estimate),
            "refused": f"identification refused: {estimate.refusal}",
            "cancelled": "identification cancelled, the trunk in force before is kept",
        }
        events.append(_event(estimate.ended, messages[estimate.ended], _result(estimate)))
    return events if estimate.change is None else [*events, _found(estimate.change)]


def _event(kind: str, message: str, values: Mapping[str, str]) -> Health:
    return Health(LOAD, LEVELS.get(kind, HealthLevel.WARN), message, {KIND: kind, **values})


def _found(change: LoadChange) -> Health:
    message = f"{change.kind}: {_masses(change)}"
    values = {"mass before [kg]": change.mass_before, "mass measured [kg]": change.mass_measured}
    if change.shift_B.any():  # zero where it is not known, in motion
        x, y, z = 1e3 * change.shift_B
        message += f", centre of mass {x:+.0f} {y:+.0f} {z:+.0f} mm off across gravity"
        values |= _vector("shift", change.shift_B)
    return _event(change.kind, message, _texts(values))


def _identified(estimate: PayloadEstimate) -> str:
    com = zip("xyz", estimate.estimate.com_L.tolist(), estimate.com_sigma_B.tolist(), strict=True)
    parts = [
        f"{axis} {value:.4f}" if isfinite(sigma) else f"{axis} not measured" for axis, value, sigma in com
    ]
    mass = f"trunk {estimate.estimate.mass:.2f} kg"
    return f"identified by {estimate.method}: {mass}, centre of mass {', '.join(parts)} [m]"


def _result(estimate: PayloadEstimate) -> dict[str, str]:
    mass = {"mass [kg]": estimate.estimate.mass, "mass sigma [kg]": estimate.mass_sigma}
    com = _vector("com", estimate.estimate.com_L) | _vector("com sigma", estimate.com_sigma_B)
    return {"method": estimate.method, **_texts({**mass, **com, "residual [m]": estimate.residual})}


def _vector(name: str, values: Array) -> dict[str, float]:
    return {f"{name} {axis} [m]": value for axis, value in zip("xyz", values.tolist(), strict=True)}


def _texts(values: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{value:.6g}" for name, value in values.items()}


def _masses(change: LoadChange) -> str:
    return f"trunk {change.mass_before:.2f} -> {change.mass_measured:.2f} kg"


def payload_health(
    identification: Identification,
    measurer: TrunkMeasurer,
    moving: str,
    missing: Sequence[str],
    failures: str,
    figures: Mapping[str, str],
) -> Health:
    """Return the state of the identification, or what hinders it: the first row of a table that applies.

    `moving` tells why the robot is not at rest; empty if it is. `missing` names inputs that do not arrive,
    `failures` describes steps that failed lately, `figures` are further values by name.
    """
    detector, unidentified = identification.load_changes, identification.load_changes.unidentified
    trouble = "" if moving else measurer.trouble
    doing = f"identifying by '{identification.method}', phase {identification.phase.value}"
    hindered = f"{doing}: {moving or trouble}" if moving or trouble else doing
    identifying = identification.identifying
    change = "" if unidentified is None else f"{unidentified.kind}, {_masses(unidentified)}"
    unconfirmed = identifying and change and identification.phase is not Phase.COM  # not averaged yet
    lone = "" if detector.lone_foot is None else list(measurer.forces)[detector.lone_foot]
    sensor = f"the force at '{lone}' alone has changed, which no load does: check its {measurer.source}"
    refusal = f"identification given up: {identification.refusal}"
    table: tuple[tuple[object, HealthLevel, str], ...] = (
        (missing, HealthLevel.STALE, f"waiting for {listing(missing)}"),
        (failures, HealthLevel.WARN, failures),
        (lone, HealthLevel.WARN, sensor),
        (unconfirmed, HealthLevel.WARN, f"{doing}: {change}, not confirmed yet"),
        (identifying and trouble, HealthLevel.WARN, hindered),
        (identifying, HealthLevel.OK, hindered),  # motion of the base is part of an identification
        (identification.refusal, HealthLevel.WARN, refusal),
        (change, HealthLevel.WARN, f"not identified: {change}"),
        (trouble, HealthLevel.WARN, trouble),
        (True, HealthLevel.OK, identification.phase.value),
    )
    level, message = next((level, message) for applies, level, message in table if applies)
    return Health(NAME, level, message, {**_values(identification, measurer, moving), **figures})


def _values(identification: Identification, measurer: TrunkMeasurer, moving: str) -> dict[str, str]:
    value = identification.trunk.value
    values = {
        "phase": identification.phase.value,
        "method": identification.method,
        "at rest": f"no: {moving}" if moving else "yes",
        "trunk mass [kg]": with_sigma(value.mass, value.mass_sigma),
        "com [m]": " ".join(f"{x:.4f}" for x in value.com_B.tolist()),
        "mass expected [kg]": f"{identification.load_changes.expected.mass:.3f}",
        "refusal": identification.refusal,
    }
    return values | {f"force {name} [N]": f"{force:.1f}" for name, force in measurer.forces.items()}
