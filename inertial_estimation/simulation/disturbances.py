"""Disturbances of a robot: masses that change, payloads, pushes; as values and as YAML mappings.

{kind: mass, link: arm_left_5_link, wave: square, offset: 4.5, amplitude: 3, frequency: 1, start: 8}
{kind: ball, link: arm_left_5_link, mass: 5.44, at: [0, 0, 0.05], start: 2, stop: 10}
{kind: push, link: torso_2_link, force: [100, 0, 0], start: 4, duration: 0.1, at: [0, 0, 0.3]}

All times count from the release of the robot [s]; a mass or payload that begins at zero is present before it.
The keys of a kind are the arguments of its constructor; the point of application `point_L` is called `at`.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, did_you_mean, listing, one_line
from inertial_estimation.files.yaml_file import load_yaml
from inertial_estimation.signals import Array, LinkInertia, frozen_array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

Vector = Array | tuple[float, float, float]
FOREVER = math.inf
WAVES = ("sine", "square")
FRAMES = ("world", "link")
TIME_ROUNDING = 1e-9  # tolerance of times, so that a wave changes at the step nearest to its time [s]
TWELVE_POUNDS = 5.44  # [kg]
STEEL_DENSITY = 7850.0  # [kg/m^3]


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ConfigurationError(otherwise)


def _expect_times(link: str, start: float, stop: float) -> None:
    message = f"a disturbance of '{link}' lasts from {start:g} to {stop:g} s, expected a stop after the start"
    _expect(math.isfinite(start) and stop > start, message)


def _during(time: float, start: float, stop: float) -> bool:
    return start - TIME_ROUNDING <= time < stop - TIME_ROUNDING


@dataclass(frozen=True)
class MassWaveform:
    """The mass of the body of a link follows a waveform; its inertia scales with it.

    m(t) = offset + amplitude s(2 pi frequency (t - start) + phase), s a sine or the sign of a sine,
    from `start` to `stop`; before and after, the nominal mass. The pseudo-inertia scales by m / m_nominal:
    it remains physically consistent and the centre of mass does not move.

    Raises:
        ConfigurationError: If the wave is unknown, or the mass is not always finite and above zero.
    """

    link: str  # name of the link; the body is the link with all that is fixed to it
    wave: str = "sine"  # "sine" or "square"
    offset: float = 0.0  # mean mass [kg]
    amplitude: float = 0.0  # amplitude of the mass [kg]
    frequency: float = 1.0  # frequency of the wave [Hz]
    phase: float = 0.0  # phase of the wave [rad]
    start: float = 0.0  # time at which the wave begins [s]
    stop: float = FOREVER  # time at which it ends [s]

    def __post_init__(self) -> None:
        _expect(self.wave in WAVES, f"wave '{self.wave}' of '{self.link}', expected one of {listing(WAVES)}")
        _expect_times(self.link, self.start, self.stop)
        least = self.offset - abs(self.amplitude)
        numbers = (self.offset, self.amplitude, self.frequency, self.phase)
        _expect(
            least > 0.0 and all(map(math.isfinite, numbers)),
            f"the mass of '{self.link}' falls to {least:g} kg (offset, amplitude, frequency and phase "
            f"{listing(f'{number:g}' for number in numbers)}), expected a finite one above zero",
        )

    def mass(self, time: float) -> float | None:
        """Return the mass at a time [kg], None for the nominal mass."""
        if not _during(time, self.start, self.stop):
            return None
        turns = self.frequency * (time - self.start) + self.phase / (2.0 * math.pi)
        if self.wave == "square":
            return self.offset + self.amplitude * (1.0 if (turns + TIME_ROUNDING) % 1.0 < 0.5 else -1.0)
        return self.offset + self.amplitude * math.sin(2.0 * math.pi * turns)


@dataclass(frozen=True, eq=False)
class Attachment:
    """A body is attached to a link at `start`, and removed at `stop`.

    Raises:
        ConfigurationError: If the body is physically inconsistent; all violations are listed.
    """

    body: LinkInertia  # its inertia, in the frame of the link it is attached to
    start: float = 0.0  # time at which it is attached [s]
    stop: float = FOREVER  # time at which it is removed [s]

    def __post_init__(self) -> None:
        _expect_times(self.link, self.start, self.stop)
        violations = self.inertia.violations()
        consistent = not violations and math.isfinite(self.body.mass)
        _expect(consistent, f"no body can be attached to '{self.link}': {'; '.join(violations)}")

    @property
    def link(self) -> str:
        """Link to which the body is attached."""
        return self.body.link

    @property
    def inertia(self) -> InertialParameters:
        """The body's inertia, in the frame of that link."""
        return InertialParameters(self.body.mass, self.body.com_L, self.body.inertia_Lcm)

    def mass(self, time: float) -> float | None:
        """Return the mass that is attached at a time [kg], None for none."""
        return self.body.mass if _during(time, self.start, self.stop) else None


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a point of a link for a limited time.

    Raises:
        ConfigurationError: If it is not finite, does not last, or the frame is unknown.
    """

    link: str  # name of the link
    force: Vector  # force [N], shape (3,)
    start: float  # time at which it begins [s]
    duration: float = 0.1  # duration [s]
    point_L: Vector = (0.0, 0.0, 0.0)  # point of application in the link frame [m], shape (3,)
    frame: str = "world"  # axes of the force: "world" or "link"

    def __post_init__(self) -> None:
        for name in ("force", "point_L"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), (3,)))
        numbers = [self.start, self.duration, *self.force, *self.point_L]
        push = f"a push on '{self.link}'"
        _expect(
            self.frame in FRAMES, f"{push} in the frame '{self.frame}', expected one of {listing(FRAMES)}"
        )
        _expect(bool(np.isfinite(numbers).all()), f"{push} is not finite: {numbers}")
        _expect(self.duration > 0.0, f"{push} lasts {self.duration:g} s, expected more than zero")

    def force_at(self, time: float, step: float) -> Array | None:
        """Return the mean force [N] over the step that begins at a time, None without a force."""
        overlap = min(time + step, self.start + self.duration) - max(time, self.start)
        return None if overlap <= TIME_ROUNDING else np.asarray(self.force) * min(1.0, overlap / step)


Disturbance = MassWaveform | Attachment | Push


def ball(link: str, mass: float, com_L: Sequence[float] | Vector) -> LinkInertia:
    """Return a solid steel ball of a mass [kg], its centre at a point of a link [m].

    Raises:
        ConfigurationError: If the mass is not positive.
    """
    _expect(mass > 0.0 and math.isfinite(mass), f"the payload's mass is {mass} kg, expected a positive one")
    radius = (3.0 * mass / (4.0 * np.pi * STEEL_DENSITY)) ** (1.0 / 3.0)
    return LinkInertia(link, mass, np.array(com_L, dtype=float), 0.4 * mass * radius**2 * np.eye(3))


def attached_ball(
    link: str, mass: float, point_L: Vector = (0.0, 0.0, 0.0), start: float = 0.0, stop: float = FOREVER
) -> Attachment:
    """Return a solid steel ball that is attached to a link, its centre at a point, for a limited time.

    Raises:
        ConfigurationError: If the mass is not positive, or it is removed before it is attached.
    """
    return Attachment(ball(link, mass, point_L), start, stop)


KINDS: Mapping[str, Callable[..., Disturbance]] = {"mass": MassWaveform, "ball": attached_ball, "push": Push}
EXAMPLE = "{kind: ball, link: trunk, mass: 5, start: 2}"
YAML_KEYS = {"point_L": "at"}  # keys of arguments that have another name in YAML


def parse_disturbance(text: str) -> Disturbance:
    """Read one disturbance from a YAML mapping.

    Args:
        text: For instance ``{kind: ball, link: trunk, mass: 10, at: [-0.5, 0.2, 0], start: 5}``.

    Returns:
        The disturbance.

    Raises:
        ConfigurationError: If the text is not YAML, the kind or a key is unknown, a value is missing or has
            the wrong type, or the disturbance itself is impossible.
    """
    shown = one_line(text, limit=200)
    mapping = load_yaml(text, f"the disturbance '{shown}'")
    _expect(
        isinstance(mapping, Mapping), f"'{shown}' is no disturbance, expected a mapping such as {EXAMPLE}"
    )
    kind = str(mapping.get("kind"))
    hint = did_you_mean(kind, KINDS, "there are")
    _expect(kind in KINDS, f"no disturbance of kind '{kind}' in {shown}{hint}")
    arguments = {
        YAML_KEYS.get(name, name): a for name, a in inspect.signature(KINDS[kind]).parameters.items()
    }
    unknown = [str(key) for key in mapping if key not in {"kind", *arguments}]
    _expect(not unknown, f"unknown {listing(unknown)} in {shown}; '{kind}' has {listing(arguments)}")
    required = [key for key, argument in arguments.items() if argument.default is argument.empty]
    missing = [key for key in required if key not in mapping]
    _expect(not missing, f"{listing(missing)} missing in {shown}; '{kind}' needs {listing(required)}")
    given = {key: argument for key, argument in arguments.items() if key in mapping}
    try:
        return KINDS[kind](**{a.name: _read(key, mapping[key], a) for key, a in given.items()})
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} in {shown}") from error


def _read(key: str, value: Any, argument: inspect.Parameter) -> Any:
    """Return a text, a number (YAML 1.1 reads 1e3 as text), or three numbers, by the argument's type."""
    of_text, count = argument.annotation is str, 3 if argument.annotation is Vector else 1
    given = value if count == 3 and isinstance(value, list) else [value]
    if of_text and isinstance(value, str):
        return value
    try:
        if of_text or len(given) != count or any(isinstance(one, bool) for one in given):
            raise TypeError
        numbers = tuple(map(float, given))
    except (TypeError, ValueError, OverflowError):
        shown = one_line(repr(value), limit=80)
        expected = "text" if of_text else {1: "a number", 3: "three numbers"}[count]
        raise ConfigurationError(f"'{key}' is {shown}, expected {expected}") from None
    return numbers if count == 3 else numbers[0]
