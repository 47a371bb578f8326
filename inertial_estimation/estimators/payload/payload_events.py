"""Events of the trunk's load: a change found, a result, a refusal; each is reported once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from inertial_estimation.estimators.payload.payload_estimate import LoadChange, PayloadEstimate, Phase
from inertial_estimation.signals import Array, Health, HealthLevel

KIND = "kind"  # key of the kind among the values of a published event
LOAD = "load"  # part of the node whose state an event is
UNDER_WAY = (Phase.SETTLING, Phase.MASS, Phase.COM)


@dataclass(frozen=True, slots=True)
class PayloadEvent:
    """One event.

    Attributes:
        stamp_ns: Stamp of the measurement it was seen in [ns].
        kind: "loaded", "unloaded", "shifted" (found), "identified", "refused" or "cancelled".
        level: OK for a result, WARN for what is not identified yet, ERROR for a refusal.
        message: One sentence.
        values: Figures by name, as text.
    """

    stamp_ns: int
    kind: str
    level: HealthLevel
    message: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def health(self) -> Health:
        """The event as the state of the part `load`, as it is published: its kind is the first value."""
        return Health(LOAD, self.level, self.message, {KIND: self.kind, **self.values})


class PayloadEvents:
    """Finds the events in the estimates, given in order and without gaps."""

    def __init__(self) -> None:
        self._under_way = False
        self._refusal = ""

    def begin(self) -> None:
        """Note that an identification was asked for; it may be cancelled before the next estimate."""
        self._under_way = True

    def take(self, estimate: PayloadEstimate) -> list[PayloadEvent]:
        """Return what happened in one step.

        Args:
            estimate: The next estimate.

        Returns:
            The events; mostly none.
        """
        events: list[PayloadEvent] = []
        refused = estimate.refusal and (self._under_way or estimate.refusal != self._refusal)
        if estimate.phase not in UNDER_WAY:
            if refused:
                events.append(_refused(estimate))
            elif self._under_way and estimate.converged:
                events.append(_identified(estimate))
            elif self._under_way and estimate.phase is Phase.WATCHING:
                message = "identification cancelled, what was in force before stays"
                events.append(
                    PayloadEvent(estimate.stamp_ns, "cancelled", HealthLevel.WARN, message, _result(estimate))
                )
            if events or estimate.phase is Phase.WATCHING:
                self._under_way = False
            self._refusal = estimate.refusal
        else:
            self._under_way = True
        if estimate.change is not None:
            events.append(_found(estimate.change))
        return events


def _found(change: LoadChange) -> PayloadEvent:
    message = f"{change.kind}: trunk {change.mass_before:.2f} -> {change.mass_measured:.2f} kg"
    values = {
        "mass before [kg]": _text(change.mass_before),
        "mass measured [kg]": _text(change.mass_measured),
    }
    if change.shift_B.any():  # else found in motion: it is not known
        x, y, z = 1e3 * change.shift_B
        message += f", centre of mass {x:+.0f} {y:+.0f} {z:+.0f} mm off across gravity"
        values |= _vector("shift", change.shift_B)
    return PayloadEvent(change.stamp_ns, change.kind, HealthLevel.WARN, message, values)


def _refused(estimate: PayloadEstimate) -> PayloadEvent:
    message = f"identification refused: {estimate.refusal}"
    return PayloadEvent(estimate.stamp_ns, "refused", HealthLevel.ERROR, message, _result(estimate))


def _identified(estimate: PayloadEstimate) -> PayloadEvent:
    com = zip("xyz", estimate.estimate.com_L.tolist(), estimate.com_sigma_B.tolist(), strict=True)
    parts = [
        f"{axis} {value:.4f}" if isfinite(sigma) else f"{axis} not measured" for axis, value, sigma in com
    ]
    message = (
        f"identified by {estimate.method}: trunk {estimate.estimate.mass:.2f} kg, "
        f"centre of mass {', '.join(parts)} [m]"
    )
    return PayloadEvent(estimate.stamp_ns, "identified", HealthLevel.OK, message, _result(estimate))


def _result(estimate: PayloadEstimate) -> dict[str, str]:
    return {
        "method": estimate.method,
        "mass [kg]": _text(estimate.estimate.mass),
        "mass sigma [kg]": _text(estimate.mass_sigma),
        **_vector("com", estimate.estimate.com_L),
        **_vector("com sigma", estimate.com_sigma_B),
        "residual [m]": _text(estimate.residual),
    }


def _vector(name: str, values: Array) -> dict[str, str]:
    return {f"{name} {axis} [m]": _text(value) for axis, value in zip("xyz", values.tolist(), strict=True)}


def _text(value: float) -> str:
    return f"{value:.6g}"
