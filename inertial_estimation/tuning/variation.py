"""Parameters to vary, as given on the command line: name and range."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.errors import ConfigurationError, listing, one_line
from inertial_estimation.parameters import (
    ParameterSpec,
    check_value,
    iterate_parameters,
    parameter_values,
    unknown_name,
)
from inertial_estimation.tilt.config import OBSERVERS

DECADE = 10.0  # factor to either side of the present value if no range is given


@dataclass(frozen=True)
class Variation:
    """One parameter and its range; if the range is positive, the logarithm is varied."""

    node: str  # node of the parameter
    name: str  # dotted name
    shipped: float  # value in the parameter files, or the default
    low: float  # smallest value
    high: float  # largest value
    unit: str = ""  # unit of the values

    @property
    def log(self) -> bool:
        """Whether its logarithm is varied."""
        return self.low > 0.0

    def value_at(self, share: float) -> float:
        """Return the value at a share of the range, 0 to 1."""
        value = self.low + share * (self.high - self.low)
        if self.log:
            value = self.low * (self.high / self.low) ** share
        return min(max(value, self.low), self.high)

    def share_of(self, value: float) -> float:
        """Return the share of the range at which a value is; below 0 or above 1 outside the range."""
        if self.log:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def parse_variations(texts: Iterable[str], configs: Mapping[str, Any]) -> list[Variation]:
    """Parse the parameters to vary.

    Args:
        texts: ``NAME=LOW:HIGH``, or ``NAME`` alone, which is varied by a factor of ten to either side. The
            name may begin with that of the node.
        configs: The configs in effect by node.

    Returns:
        The variations, in the order given.

    Raises:
        ConfigurationError: If a name does not exist, belongs to several nodes or comes twice, is no gain of
            the observer in use, or if values are no numbers or out of its bounds.
    """
    found: dict[tuple[str, str], Variation] = {}
    for text in texts:
        given, equals, values = (part.strip() for part in text.partition("="))
        node, spec = _parameter(given, configs)
        if (node, spec.name) in found:
            raise ConfigurationError(f"'{node}.{spec.name}' is varied twice, expected once")
        observer = spec.name.partition(".")[0]
        if node == TILT_NODE and observer in OBSERVERS and observer != configs[node].observer:
            raise ConfigurationError(
                f"'{given}' has no effect on the observer in use, {configs[node].observer}: "
                f"select the other one with --param {TILT_NODE}.observer={observer}"
            )
        if not isinstance(spec.default, float) or (node == TILT_NODE and observer not in OBSERVERS):
            raise ConfigurationError(
                f"'{given}' is no noise, prior or gain of an observer: compare two values of it by replays"
            )
        shipped = parameter_values(configs[node])[spec.name]
        low, high = _range(spec, given, values) if equals else _decades(spec, shipped, given)
        found[node, spec.name] = Variation(node, spec.name, shipped, low, high, spec.unit)
    return list(found.values())


def _decades(spec: ParameterSpec, shipped: float, given: str) -> tuple[float, float]:
    if shipped <= 0.0:
        raise ConfigurationError(f"'{given}' is {shipped:g}, expected a range: {given}=LOW:HIGH")
    low, high = shipped / DECADE, shipped * DECADE
    return max(low, low if spec.lower is None else spec.lower), min(
        high, high if spec.upper is None else spec.upper
    )


def _range(spec: ParameterSpec, given: str, values: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in values.split(":"))
    except ValueError:
        low, high = math.nan, math.nan
    if not low < high:
        raise ConfigurationError(
            f"'{given}={one_line(values, limit=80)}' is no range, expected LOW:HIGH with LOW below HIGH"
        )
    return float(check_value(spec, low)), float(check_value(spec, high))


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
