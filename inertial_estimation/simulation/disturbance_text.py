"""Disturbances as text, one a line, for ROS parameters and command lines.

mass link=arm_left_5_link wave=square offset=4.5 amplitude=3 frequency=1 start=8
ball link=arm_left_5_link mass=5.44 at=0,0,0.05 start=2 stop=10
push link=torso_2_link force=100,0,0 start=4 duration=0.1
impact link=torso_2_link impulse=10,0,0 start=4
"""

from collections.abc import Callable, Mapping
from typing import Any

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.simulation.disturbances import (
    FOREVER,
    Attachment,
    Disturbance,
    Impact,
    MassWaveform,
    Push,
)
from inertial_estimation.simulation.payload import ball

__all__ = ["parse_disturbance"]

Vector = tuple[float, float, float]
Fields = Mapping[str, Callable[[str], Any]]


def parse_disturbance(text: str) -> Disturbance:
    """Read one disturbance.

    Args:
        text: Kind, then ``name=value`` in any order; vectors as three numbers with commas.

    Returns:
        The disturbance.

    Raises:
        ConfigurationError: If the kind or a name is unknown, a value is missing or cannot be read, or the
            disturbance itself is impossible.
    """
    kind, *items = text.split() or [""]
    if kind not in _KINDS:
        raise ConfigurationError(f"no disturbance of kind '{kind}' in '{text}'; there are {listing(_KINDS)}")
    fields, required, build = _KINDS[kind]
    values: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or name not in fields:
            raise ConfigurationError(f"'{item}' in '{text}', expected name=value of {listing(fields)}")
        try:
            values[name] = fields[name](value)
        except ValueError:
            wanted = "three numbers with commas" if fields[name] is _vector else "a number"
            raise ConfigurationError(f"'{item}' in '{text}', expected {wanted}") from None
    missing = [name for name in required if name not in values]
    if missing:
        raise ConfigurationError(
            f"{listing(missing)} missing in '{text}'; expected {listing(required)} at least"
        )
    return build(values)


def _vector(text: str) -> Vector:
    x, y, z = (float(number) for number in text.split(","))
    return x, y, z


def _mass(values: dict[str, Any]) -> MassWaveform:
    return MassWaveform(**values)


def _ball(values: dict[str, Any]) -> Attachment:
    body = ball(values["link"], values["mass"], values.get("at", (0.0, 0.0, 0.0)))
    return Attachment(body, values.get("start", 0.0), values.get("stop", FOREVER))


def _push(values: dict[str, Any]) -> Push:
    return Push(**_renamed(values, at="point_L"))


def _impact(values: dict[str, Any]) -> Impact:
    return Impact(**_renamed(values, at="point_L"))


def _renamed(values: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


_TIMES: Fields = {"start": float, "stop": float}
_BLOW: Fields = {"link": str, "start": float, "at": _vector, "frame": str}
_WAVE: Fields = dict.fromkeys(("offset", "amplitude", "frequency", "phase"), float)
_KINDS: dict[str, tuple[Fields, tuple[str, ...], Callable[[dict[str, Any]], Disturbance]]] = {
    "mass": ({"link": str, "wave": str, **_WAVE, **_TIMES}, ("link", "offset"), _mass),
    "ball": ({"link": str, "mass": float, "at": _vector, **_TIMES}, ("link", "mass"), _ball),
    "push": ({**_BLOW, "force": _vector, "duration": float}, ("link", "force", "start"), _push),
    "impact": ({**_BLOW, "impulse": _vector}, ("link", "impulse", "start"), _impact),
}
