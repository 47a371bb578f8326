"""Disturbances of a robot: masses that change, payloads, pushes, impacts.

All times count from the release of the robot [s]; a mass or payload that begins at zero is present before it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array, LinkInertia, frozen_array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

Vector = Array | tuple[float, float, float]
FOREVER = math.inf
WAVES = ("sine", "square", "step")
FRAMES = ("world", "link")
TIME_ROUNDING = 1e-9  # tolerance of times, so that a wave changes at the step nearest to its time [s]


@dataclass(frozen=True)
class MassWaveform:
    """The mass of the body of a link follows a waveform; its inertia scales with it.

    m(t) = offset + amplitude s(2 pi frequency (t - start) + phase), s a sine, the sign of a sine, or one,
    from `start` to `stop`; before and after, the nominal mass. The pseudo-inertia scales by m / m_nominal:
    it stays physically consistent and the centre of mass where it is.

    Attributes:
        link: Name of the link; the body is the link with all that is fixed to it.
        wave: "sine", "square" or "step".
        offset: Mean mass [kg].
        amplitude: Amplitude of the mass [kg].
        frequency: Frequency of the wave [Hz].
        phase: Phase of the wave [rad].
        start: When the wave begins [s].
        stop: When it ends [s].

    Raises:
        ConfigurationError: If the wave is unknown, or the mass does not stay finite and above zero.
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
        _check_times(self.link, self.start, self.stop)
        if not (math.isfinite(self.frequency) and math.isfinite(self.phase)):
            raise ConfigurationError(f"frequency or phase of the mass of '{self.link}' is not finite")
        least = self.offset + (self.amplitude if self.wave == "step" else -abs(self.amplitude))
        if not (least > 0.0 and math.isfinite(self.offset + abs(self.amplitude))):
            raise ConfigurationError(
                f"the mass of '{self.link}' falls to {least:g} kg (offset {self.offset:g} kg, amplitude "
                f"{self.amplitude:g} kg), expected a finite mass above zero"
            )

    def mass(self, time: float) -> float | None:
        """Return the mass at a time [kg], None for the nominal mass."""
        if not self.start - TIME_ROUNDING <= time < self.stop - TIME_ROUNDING:
            return None
        if self.wave == "step":
            return self.offset + self.amplitude
        turns = self.frequency * (time - self.start) + self.phase / (2.0 * math.pi)
        if self.wave == "square":
            return self.offset + self.amplitude * (1.0 if (turns + TIME_ROUNDING) % 1.0 < 0.5 else -1.0)
        return self.offset + self.amplitude * math.sin(2.0 * math.pi * turns)


@dataclass(frozen=True, eq=False)
class Attachment:
    """A body is attached to a link at `start`, and removed at `stop`.

    Attributes:
        body: Its inertia, in the frame of the link it is attached to.
        start: When it is attached [s].
        stop: When it is removed [s].

    Raises:
        ConfigurationError: If the body is physically inconsistent; all violations are listed.
    """

    body: LinkInertia
    start: float = 0.0
    stop: float = FOREVER

    def __post_init__(self) -> None:
        _check_times(self.link, self.start, self.stop)
        value = InertialParameters(self.body.mass, self.body.com_L, self.body.inertia_Lcm)
        violations = value.violations()
        if violations or not math.isfinite(self.body.mass):
            raise ConfigurationError(f"no body can be attached to '{self.link}': {'; '.join(violations)}")

    @property
    def link(self) -> str:
        """Link to which the body is attached."""
        return self.body.link

    def present(self, time: float) -> bool:
        """Return whether the body is attached at a time [s]."""
        return self.start - TIME_ROUNDING <= time < self.stop - TIME_ROUNDING


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a point of a link for a limited time.

    Attributes:
        link: Name of the link.
        force: Force [N], shape (3,).
        start: When it begins [s].
        duration: How long it lasts [s].
        point_L: Point of application in the link frame [m], shape (3,).
        frame: Axes of the force: "world" or "link".

    Raises:
        ConfigurationError: If it is not finite, does not last, or the frame is unknown.
    """

    link: str
    force: Vector
    start: float
    duration: float = 0.1
    point_L: Vector = (0.0, 0.0, 0.0)
    frame: str = "world"

    def __post_init__(self) -> None:
        for name in ("force", "point_L"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), (3,)))
        _check_blow(self, self.start, self.force)
        if not (self.duration > 0.0 and math.isfinite(self.duration)):
            raise ConfigurationError(f"a push lasts {self.duration:g} s, expected more than zero")

    def force_at(self, time: float, step: float) -> Array | None:
        """Return the mean force [N] over the step that begins at a time, None without a force."""
        overlap = min(time + step, self.start + self.duration) - max(time, self.start)
        return None if overlap <= TIME_ROUNDING else np.asarray(self.force) * min(1.0, overlap / step)


@dataclass(frozen=True, eq=False)
class Impact:
    """An impulse on a point of a link within one step.

    Attributes:
        link: Name of the link.
        impulse: Impulse [Ns], shape (3,).
        start: When it acts [s].
        point_L: Point of application in the link frame [m], shape (3,).
        frame: Axes of the impulse: "world" or "link".

    Raises:
        ConfigurationError: If it is not finite or the frame is unknown.
    """

    link: str
    impulse: Vector
    start: float
    point_L: Vector = (0.0, 0.0, 0.0)
    frame: str = "world"

    def __post_init__(self) -> None:
        for name in ("impulse", "point_L"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), (3,)))
        _check_blow(self, self.start, self.impulse)

    def force_at(self, time: float, step: float) -> Array | None:
        """Return the force [N] over the step that begins at a time, None without a force."""
        return (
            np.asarray(self.impulse) / step
            if time - TIME_ROUNDING <= self.start < time + step - TIME_ROUNDING
            else None
        )


Disturbance = MassWaveform | Attachment | Push | Impact


def _check_times(link: str, start: float, stop: float) -> None:
    if not (math.isfinite(start) and stop > start):
        raise ConfigurationError(
            f"a disturbance of '{link}' lasts from {start:g} to {stop:g} s, expected a stop after the start"
        )


def _check_blow(blow: Push | Impact, start: float, strength: Any) -> None:
    if blow.frame not in FRAMES:
        raise ConfigurationError(
            f"frame '{blow.frame}' of a push or impact on '{blow.link}', expected one of {', '.join(FRAMES)}"
        )
    numbers = np.concatenate([[start], strength, np.asarray(blow.point_L)])
    if not np.isfinite(numbers).all():
        raise ConfigurationError(f"a push or impact on '{blow.link}' is not finite: {numbers.tolist()}")


TWELVE_POUNDS = 5.44  # [kg]
STEEL_DENSITY = 7850.0  # [kg/m^3]


def ball(link: str, mass: float, com_L: Sequence[float] | Vector) -> LinkInertia:
    """Return a solid steel ball of a mass, its centre at a point of a link.

    Args:
        link: Link it is attached to.
        mass: Mass [kg].
        com_L: Its centre in the link frame [m].

    Raises:
        ConfigurationError: If the mass is not positive.
    """
    if not (mass > 0.0 and math.isfinite(mass)):
        raise ConfigurationError(f"the payload's mass is {mass} kg, expected a positive one")
    radius = (3.0 * mass / (4.0 * np.pi * STEEL_DENSITY)) ** (1.0 / 3.0)
    return LinkInertia(link, mass, np.array(com_L, dtype=float), 0.4 * mass * radius**2 * np.eye(3))


def attached_ball(
    link: str, mass: float, point_L: Vector = (0.0, 0.0, 0.0), start: float = 0.0, stop: float = FOREVER
) -> Attachment:
    """Return a solid steel ball that is attached to a link for a limited time.

    Args:
        link: Link it is attached to.
        mass: Mass [kg].
        point_L: Its centre in the link frame [m].
        start: When it is attached, from the release [s].
        stop: When it is removed, from the release [s].

    Raises:
        ConfigurationError: If the mass is not positive, or it is removed before it is attached.
    """
    return Attachment(ball(link, mass, np.asarray(point_L, dtype=float)), start, stop)
