"""Parameters that are varied, as given on the command line: name, range or choices."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.errors import ConfigurationError, listing, one_line
from inertial_estimation.files.yaml_file import load_yaml
from inertial_estimation.parameters import (
    ParameterSpec,
    check_value,
    iterate_parameters,
    parameter_values,
    unknown_name,
)
from inertial_estimation.tilt.config import OBSERVERS

DECADE = 10.0  # factor to either side of the present value where no range is given
SCALES = ("linear", "log")


@dataclass(frozen=True)
class Variation:
    """One parameter and the values it may take.

    Attributes:
        node: Node whose parameter it is.
        name: Its dotted name.
        shipped: Its value in the parameter files, or its default.
        low: Smallest value; of a choice zero.
        high: Largest value; of a choice zero.
        log: Whether its logarithm is varied.
        choices: All values, where it has no range.
        unit: Its unit.
    """

    node: str
    name: str
    shipped: Any
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] = ()
    unit: str = ""

    @property
    def full_name(self) -> str:
        """Node and dotted name."""
        return f"{self.node}.{self.name}"

    def value_at(self, share: float) -> Any:
        """Return the value at a share of the range, 0 to 1."""
        if self.choices:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        value = self.low + share * (self.high - self.low)
        if self.log:
            value = self.low * (self.high / self.low) ** share
        return min(max(value, self.low), self.high)

    def contains(self, value: Any) -> bool:
        """Return whether it is one of the values."""
        return value in self.choices if self.choices else bool(self.low <= value <= self.high)

    def share_of(self, value: float) -> float:
        """Return at which share of the range a value is; below 0 or above 1 outside of it."""
        if self.log:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def parse_variations(texts: Iterable[str], configs: Mapping[str, Any]) -> list[Variation]:
    """Read what is to be varied.

    Args:
        texts: ``NAME=LOW:HIGH``, ``NAME=LOW:HIGH:log``, ``NAME=A,B,C`` or ``NAME`` alone, which is varied
            by a factor of ten to either side. The name may begin with that of the node.
        configs: The configs in effect by node.

    Returns:
        The variations, in the order given.

    Raises:
        ConfigurationError: If a name does not exist, belongs to several nodes or comes twice, if values are
            not of its kind or out of its bounds.
    """
    found: dict[str, Variation] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        variation = _variation(name.strip(), values.strip() if equals else "", configs)
        if variation.full_name in found:
            raise ConfigurationError(f"'{variation.full_name}' is varied twice, expected once")
        found[variation.full_name] = variation
    return list(found.values())


def observer_override(texts: Iterable[str], configs: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what selects the tilt observer whose gains are to be varied, where another one is in use.

    Args:
        texts: What is to be varied, as for `parse_variations`.
        configs: The configs in effect by node.

    Returns:
        Node, name and value; nothing where no gains are named, or the observer itself is varied.

    Raises:
        ConfigurationError: If gains of both observers are named, of which one is in use.
    """
    names = [text.partition("=")[0].strip().removeprefix(f"{TILT_NODE}.") for text in texts]
    if TILT_NODE not in configs or "observer" in names:
        return []
    observers = {name.partition(".")[0] for name in names} & {*OBSERVERS}
    if len(observers) > 1:
        raise ConfigurationError(f"gains of {listing(sorted(observers))} are varied, expected one observer's")
    if not observers or configs[TILT_NODE].observer in observers:
        return []
    return [(TILT_NODE, "observer", observers.pop())]


def _variation(given: str, values: str, configs: Mapping[str, Any]) -> Variation:
    node, spec = _parameter(given, configs)
    shipped = parameter_values(configs[node])[spec.name]
    if "," in values:
        choices = tuple(check_value(spec, load_yaml(text, f"'{given}'")) for text in values.split(","))
        return Variation(node, spec.name, shipped, choices=choices, unit=spec.unit)
    if not isinstance(spec.default, float):
        options = ",".join(spec.choices) or ("true,false" if isinstance(spec.default, bool) else "A,B")
        raise ConfigurationError(f"'{given}' is no real number, expected choices: {given}={options}")
    low, high, log = _range(spec, shipped, given, values)
    return Variation(node, spec.name, shipped, low, high, log, unit=spec.unit)


def _range(spec: ParameterSpec, shipped: float, given: str, values: str) -> tuple[float, float, bool]:
    if not values:
        if shipped <= 0.0:
            raise ConfigurationError(f"'{given}' is {shipped:g}, expected a range: {given}=LOW:HIGH")
        low, high = shipped / DECADE, shipped * DECADE
        low = low if spec.lower is None else max(low, spec.lower)
        return low, high if spec.upper is None else min(high, spec.upper), low > 0.0
    parts = values.split(":")
    scale = parts[2] if len(parts) == 3 else SCALES[0]
    try:
        low, high = (float(part) for part in parts[:2])
    except ValueError:
        low, high = math.nan, math.nan
    if len(parts) not in (2, 3) or scale not in SCALES or not low < high or (scale == "log" and low <= 0.0):
        raise ConfigurationError(
            f"'{given}={one_line(values, limit=80)}' is no range, expected LOW:HIGH or LOW:HIGH:log with "
            "LOW below HIGH, positive for log, or choices A,B,C"
        )
    return float(check_value(spec, low)), float(check_value(spec, high)), scale == "log"


def _parameter(given: str, configs: Mapping[str, Any]) -> tuple[str, ParameterSpec]:
    """Return the node of a name, and its declaration."""
    specs = {
        (node, spec.name): spec
        for node, config in configs.items()
        for spec in iterate_parameters(type(config))
    }
    node, _dot, name = given.partition(".")
    if (node, name) in specs:
        return node, specs[node, name]
    nodes = [node for node, name in specs if name == given]
    if not nodes:
        known = [name for _node, name in specs]
        raise ConfigurationError(unknown_name(given, known, where=f" of {listing(configs)}"))
    if len(nodes) > 1:
        raise ConfigurationError(
            f"'{given}' is a parameter of {listing(nodes)}, expected one of them: {nodes[0]}.{given}"
        )
    return nodes[0], specs[nodes[0], given]
