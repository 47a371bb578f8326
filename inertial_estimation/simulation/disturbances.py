"""What happens to a robot in time: masses that change, payloads, pushes, impacts."""

import math
from dataclasses import dataclass

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array, LinkInertia, frozen_array

__all__ = ["Attachment", "Disturbance", "Impact", "MassWaveform", "Push"]

FOREVER = math.inf
WAVES = ("sine", "square", "step")


@dataclass(frozen=True)
class MassWaveform:
    """The mass of the body of a link follows a waveform; its inertia scales with it.

    m(t) = offset + amplitude s(t), s a sine, the sign of a sine, or one, from `start` to `stop`; before and
    after, the nominal mass. Scaling the pseudo-inertia by m / m_nominal keeps it physically consistent and
    the centre of mass where it is.

    Attributes:
        link: Name of the link; the body is the link with all that is fixed to it.
        wave: "sine", "square" or "step".
        offset: Mean mass [kg].
        amplitude: [kg].
        frequency: [Hz].
        phase: [rad].
        start: Time of the beginning, from the start of the simulation [s].
        stop: Time of the end [s].
    """

    link: str
    wave: str = "sine"
    offset: float = 0.0
    amplitude: float = 0.0
    frequency: float = 1.0
    phase: float = 0.0
    start: float = 0.0
    stop: float = FOREVER

    def __post_init__(self) -> None:
        if self.wave not in WAVES:
            raise ConfigurationError(
                f"wave '{self.wave}' of '{self.link}', expected one of {', '.join(WAVES)}"
            )
        least = self.offset + self.amplitude if self.wave == "step" else self.offset - abs(self.amplitude)
        if not (least > 0.0 and math.isfinite(self.offset + abs(self.amplitude))):
            raise ConfigurationError(
                f"the mass of '{self.link}' falls to {least:g} kg (offset {self.offset:g} kg, amplitude "
                f"{self.amplitude:g} kg), expected a finite mass above zero"
            )

    def mass(self, time: float) -> float | None:
        """Return the mass at a time [kg], None where it is the nominal one."""
        if not self.start <= time < self.stop:
            return None
        if self.wave == "step":
            return self.offset + self.amplitude
        turn = math.sin(2.0 * math.pi * self.frequency * (time - self.start) + self.phase)
        if self.wave == "square":
            turn = 1.0 if turn >= 0.0 else -1.0
        return self.offset + self.amplitude * turn


@dataclass(frozen=True, eq=False)
class Attachment:
    """A body is attached to a link at `start`, and removed at `stop`.

    Attributes:
        body: Its inertia, in the frame of the link it is attached to.
        start: [s].
        stop: [s].
    """

    body: LinkInertia
    start: float = 0.0
    stop: float = FOREVER

    def __post_init__(self) -> None:
        if not self.body.mass > 0.0:
            raise ConfigurationError(f"the body attached to '{self.body.link}' has {self.body.mass:g} kg")

    @property
    def link(self) -> str:
        """Link it is attached to."""
        return self.body.link


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a point of a link for a while.

    Attributes:
        link: Name of the link.
        force: [N], shape (3,).
        start: [s].
        duration: [s].
        point_L: Point of application in the link frame [m], shape (3,).
        frame: Axes of the force: "world" or "link".
    """

    link: str
    force: Array
    start: float
    duration: float = 0.1
    point_L: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    frame: str = "world"

    def __post_init__(self) -> None:
        object.__setattr__(self, "force", frozen_array("force", self.force, (3,)))
        object.__setattr__(self, "point_L", frozen_array("point_L", self.point_L, (3,)))
        if self.frame not in ("world", "link"):
            raise ConfigurationError(f"frame '{self.frame}' of a push, expected 'world' or 'link'")
        if not self.duration > 0.0:
            raise ConfigurationError(f"a push lasts {self.duration:g} s, expected more than zero")


@dataclass(frozen=True, eq=False)
class Impact:
    """A blow: an impulse on a point of a link within one step.

    Attributes:
        link: Name of the link.
        impulse: [Ns], shape (3,).
        time: [s].
        point_L: Point of application in the link frame [m], shape (3,).
        frame: Axes of the impulse: "world" or "link".
    """

    link: str
    impulse: Array
    time: float
    point_L: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    frame: str = "world"

    def __post_init__(self) -> None:
        object.__setattr__(self, "impulse", frozen_array("impulse", self.impulse, (3,)))
        object.__setattr__(self, "point_L", frozen_array("point_L", self.point_L, (3,)))


Disturbance = MassWaveform | Attachment | Push | Impact
