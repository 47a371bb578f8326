"""Disturbances as YAML mappings, for ROS parameters, command lines and files.

{kind: mass, link: arm_left_5_link, wave: square, offset: 4.5, amplitude: 3, frequency: 1, start: 8}
{kind: ball, link: arm_left_5_link, mass: 5.44, at: [0, 0, 0.05], start: 2, stop: 10}
{kind: push, link: torso_2_link, force: [100, 0, 0], start: 4, duration: 0.1, at: [0, 0, 0.3]}
{kind: impact, link: torso_2_link, impulse: [10, 0, 0], start: 4}

The keys of a kind are the arguments of what it builds (`MassWaveform`, `attached_ball`, `Push`, `Impact`);
the point of application `point_L` is called `at`.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from inertial_estimation.errors import ConfigurationError, did_you_mean, listing, one_line
from inertial_estimation.files.yaml_file import load_yaml
from inertial_estimation.simulation.disturbances import (
    Disturbance,
    Impact,
    MassWaveform,
    Push,
    Vector,
    attached_ball,
)

KINDS: Mapping[str, Callable[..., Disturbance]] = {
    "mass": MassWaveform,
    "ball": attached_ball,
    "push": Push,
    "impact": Impact,
}
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
    if not text.strip():
        raise ConfigurationError(f"an empty text is no disturbance, expected one such as {EXAMPLE}")
    return disturbance_from_mapping(load_yaml(text, f"the disturbance '{one_line(text, limit=80)}'"))


def disturbance_from_mapping(mapping: Any) -> Disturbance:
    """Return the disturbance of a parsed YAML mapping.

    Raises:
        ConfigurationError: As `parse_disturbance`.
    """
    if not isinstance(mapping, Mapping):
        raise ConfigurationError(f"{_shown(mapping)} is no disturbance, expected a mapping such as {EXAMPLE}")
    shown = one_line("{" + ", ".join(f"{key}: {value}" for key, value in mapping.items()) + "}", limit=200)
    kind = mapping.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS, "there are")
        raise ConfigurationError(f"no disturbance of kind '{kind}' in {shown}{hint}")
    arguments = {
        YAML_KEYS.get(name, name): a for name, a in inspect.signature(KINDS[kind]).parameters.items()
    }
    unknown = [str(key) for key in mapping if key not in {"kind", *arguments}]
    if unknown:
        raise ConfigurationError(f"unknown {listing(unknown)} in {shown}; '{kind}' has {listing(arguments)}")
    required = [key for key, argument in arguments.items() if argument.default is argument.empty]
    missing = [key for key in required if key not in mapping]
    if missing:
        raise ConfigurationError(f"{listing(missing)} missing in {shown}; '{kind}' needs {listing(required)}")
    given = {key: argument for key, argument in arguments.items() if key in mapping}
    try:
        return KINDS[kind](**{a.name: _read(key, mapping[key], a) for key, a in given.items()})
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} in {shown}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> float:
    """A number, also as text: YAML 1.1 reads 1e3 as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


def _vector(value: Any) -> Vector:
    if not isinstance(value, list):
        raise TypeError
    x, y, z = map(_number, value)
    return x, y, z


_READERS: Mapping[Any, tuple[Callable[[Any], Any], str]] = {
    str: (_text, "text"),
    float: (_number, "a number"),
    Vector: (_vector, "three numbers"),
}
"""Parser and expected form of a value, by the type of the argument."""


def _read(key: str, value: Any, argument: inspect.Parameter) -> Any:
    read, expected = _READERS[argument.annotation]
    try:
        return read(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(f"'{key}' is {_shown(value)}, expected {expected}") from None


def _shown(value: Any) -> str:
    return one_line(repr(value), limit=80)
