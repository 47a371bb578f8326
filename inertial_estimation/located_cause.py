"""Cause of large innovations of the inertial filter: a load, a push, a fault of an input, or noise."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Cause(Enum):
    """Kind of a cause; files and displays show the value."""

    NOISE = "noise"
    LOAD = "load"
    PUSH = "push"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, eq=False)
class LocatedCause:
    """The most probable cause of innovations that disagree.

    Attributes:
        cause: Kind of the cause.
        probability: Probability of a cause of this kind, on any link.
        is_ambiguous: Whether the cause is certainly a load or a push of the same downward force, but not
            which of the two: it is reported as a load, and the parameters are not changed.
        links: Links that the data hardly distinguish, the most probable first; empty for noise and faults.
        as_push: Probability that a reported load is a push of the same downward force; zero for other causes.
        mass: Mass of a load [kg], negative for one that has been taken off; zero otherwise.
        com_L: Position of a load in the frame of the first link [m], shape (3,).
        force_L: Force of a push, axes of the first link [N], shape (3,).
        torque_L: Moment of a push about the origin of the first link, its axes [Nm], shape (3,).
        point_L: Point of attack of a push in the frame of the first link [m], shape (3,); None where the data
            do not determine it.
        input: Name of the faulty input; empty otherwise.
    """

    cause: Cause
    probability: float
    is_ambiguous: bool = False
    links: tuple[str, ...] = ()
    mass: float = 0.0
    com_L: Array | None = None
    force_L: Array | None = None
    torque_L: Array | None = None
    point_L: Array | None = None
    input: str = ""
    as_push: float = 0.0

    @property
    def identity(self) -> tuple[object, ...]:
        """Properties that distinguish causes: kind, certainty, likeliest link, sign of the load, input."""
        return self.cause, self.is_ambiguous, self.links[:1], self.mass < 0.0, self.input

    @property
    def sentence(self) -> str:
        """The cause in words, for messages."""
        place = " or ".join(self.links)
        if self.cause is Cause.LOAD:
            push = f" (or a push, probability {self.as_push:.2f})" if self.is_ambiguous else ""
            change = "a load of" if self.mass >= 0.0 else "the loss of a load of"
            return f"{change} {abs(self.mass):.2f} kg on {place}{push} explains the data"
        if self.cause is Cause.PUSH and self.force_L is not None:
            strength = float(np.sqrt(self.force_L @ self.force_L))
            return f"a push of {strength:.0f} N on {place} explains the data"
        if self.cause is Cause.FAULT:
            return f"an error of {self.input} explains the data"
        return "no single cause explains the data"

    def figures(self) -> dict[str, str]:
        """Return the figures of the cause by name, rendered as text; empty for noise."""
        if self.cause is Cause.NOISE:
            return {}
        values = {"cause": self.cause.value, "probability": f"{self.probability:.4f}"}
        if self.links:
            values["link"] = self.links[0]
            values["indistinguishable links"] = ", ".join(self.links[1:])
        if self.input:
            values["input"] = self.input
        if self.com_L is not None:
            values["mass [kg]"] = f"{self.mass:.4g}"
            values["probability of a push instead"] = f"{self.as_push:.4f}"
        for name, unit, vector in (
            ("com", "m", self.com_L),
            ("force", "N", self.force_L),
            ("torque", "Nm", self.torque_L),
            ("point of attack", "m", self.point_L),
        ):
            if vector is not None:
                numbers = zip("xyz", vector.tolist(), strict=True)
                values |= {f"{name} {axis} [{unit}]": f"{number:.4g}" for axis, number in numbers}
        return values

    @classmethod
    def nothing(cls) -> "LocatedCause":
        """Return the cause where there are no data to explain: noise, of probability one."""
        return cls(Cause.NOISE, 1.0)
