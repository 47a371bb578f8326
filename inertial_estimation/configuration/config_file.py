"""ROS 2 parameter files read without ROS: one flat mapping of dotted names per node."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.node_options import (
    ControllerNodeOptions,
    InertialNodeOptions,
    PayloadNodeOptions,
    SimulatorOptions,
    TiltNodeOptions,
)
from inertial_estimation.configuration.parameter_sections import EVERY_NODE, iterate_sections, node_of
from inertial_estimation.errors import ConfigurationError, listing, one_line
from inertial_estimation.files.safe_yaml import YamlMapping, load_yaml, read_yaml
from inertial_estimation.parameters import iterate_parameters, unknown_name

ALL_NODES = EVERY_NODE
_OPTION_CLASSES = (
    TiltNodeOptions,
    InertialNodeOptions,
    PayloadNodeOptions,
    SimulatorOptions,
    ControllerNodeOptions,
)
_OPTIONS = (spec.name for cls in _OPTION_CLASSES for spec in iterate_parameters(cls))
ROS_PARAMETERS = frozenset({"use_sim_time", *_OPTIONS})  # used only by nodes; a replay ignores them


@dataclass(frozen=True)
class ConfigFile:
    """A ROS parameter file.

    Attributes:
        name: Where it came from, for messages.
        shared: Values for every node (``/**``) by dotted name.
        nodes: Values by node (its name without a namespace), then by dotted name.
        origins: File and line of each value, for messages, by node (`ALL_NODES` for shared ones) and name.
    """

    name: str
    shared: Mapping[str, Any] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    origins: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def has(self, node: str) -> bool:
        """Return whether the file has a section for a node."""
        return node in self.nodes

    def values(self, node: str, known: Collection[str]) -> dict[str, Any]:
        """Return the values for one node, its own section over the shared one.

        Args:
            node: Name of the node.
            known: Names of the parameters the node has; shared values of other nodes are left out.

        Returns:
            Values by dotted name; what the node's own section holds is never left out, so that a
            misspelt name is found when the config is built.
        """
        shared = {name: value for name, value in self.shared.items() if name in known}
        own = {n: v for n, v in self.nodes.get(node, {}).items() if n not in ROS_PARAMETERS}
        return {**shared, **own}

    def origins_of(self, *nodes: str) -> dict[str, str]:
        """Return file and line of the values for one node by dotted name, for the errors of `build_config`.

        Args:
            nodes: The node; of several, the last one's own values count.
        """
        return {
            name: origin
            for wanted in (ALL_NODES, *nodes)
            for (node, name), origin in self.origins.items()
            if node == wanted
        }

    def anywhere(self, known: Collection[str]) -> dict[str, Any]:
        """Return the values that describe the robot: shared ones, or else those of the first node with them.

        Args:
            known: The names.
        """
        sections = (self.shared, *self.nodes.values())
        return {
            name: value for section in reversed(sections) for name, value in section.items() if name in known
        }

    def check_shared(self, known: Collection[str]) -> None:
        """Check that every shared name is a parameter of at least one node.

        Raises:
            ConfigurationError: If no node has it; the message gives the closest existing name.
        """
        for name in self.shared:
            if name not in known and name not in ROS_PARAMETERS:
                origin = self.origins.get((ALL_NODES, name), self.name)
                where = f" in section '{ALL_NODES}' of {origin}"
                raise ConfigurationError(unknown_name(name, known, where=where))

    def check_nodes(self, expected: Collection[str], others: Collection[str] = ()) -> None:
        """Check that at least one of some nodes has a section, and that none is misspelt.

        Args:
            expected: Nodes of which one must be there.
            others: Nodes that may be there.

        Raises:
            ConfigurationError: Lists the sections the file has.
        """
        known = [*expected, *others]
        for node in self.nodes:
            close = difflib.get_close_matches(node, known, n=1, cutoff=0.8)
            if close and node not in known:
                raise ConfigurationError(f"no node '{node}' (in {self.name}), did you mean '{close[0]}'?")
        if not any(self.has(node) for node in expected):
            raise ConfigurationError(
                f"{self.name} has no section for {' or '.join(expected)}; it has {listing(self.nodes)}"
            )

    def overlaid(self, later: "ConfigFile") -> "ConfigFile":
        """Return this file merged with another one; as in ROS, later values override earlier ones."""
        nodes = {node: dict(values) for node, values in self.nodes.items()}
        for node, values in later.nodes.items():
            nodes.setdefault(node, {}).update(values)
        origins = {**self.origins, **later.origins}
        return ConfigFile(self.name, {**self.shared, **later.shared}, nodes, origins)

    def overridden(self, overrides: Iterable[tuple[str, str, Any]]) -> "ConfigFile":
        """Return a copy with single values replaced, given as (node, dotted name, value)."""
        shared = dict(self.shared)
        nodes = {node: dict(values) for node, values in self.nodes.items()}
        origins = dict(self.origins)
        for node, name, value in overrides:
            target = shared if node == ALL_NODES else nodes.setdefault(node, {})
            target[name] = value
            origins[node, name] = "--param"
        return ConfigFile(self.name, shared, nodes, origins)


def load_config_file(path: str | Path) -> ConfigFile:
    """Read a ROS 2 parameter file.

    A section applies to the node that its last part names, in any namespace (``/**/tilt_observer``,
    ``/robot1/tilt_observer``, ``tilt_observer``), because a replay has no namespace.

    Args:
        path: The YAML file. Dotted names may be nested.

    Returns:
        Its values, flat.

    Raises:
        ConfigurationError: If the file is missing, is not YAML, has not the form of a ROS parameter
            file (node name, ``ros__parameters``, values), or has one node in two namespaces.
    """
    content = read_yaml(path, "parameter file")
    if not isinstance(content, dict) or not content:
        raise ConfigurationError(
            f"'{path}' is no ROS parameter file: expected sections named after nodes, got {_shown(content)}"
        )
    file = ConfigFile(str(path), {}, {}, {})
    named: dict[str, str] = {}
    for section, body in iterate_sections(content):
        values, lines = _parameters(str(path), section, body)
        node = node_of(section)
        if "*" not in section and named.setdefault(node, section).strip("/") != section.strip("/"):
            raise ConfigurationError(
                f"'{path}' has '{named[node]}' and '{section}', expected one robot's sections "
                f"('/**/{node}' reaches the node in every namespace)"
            )
        file = _with_section(file, ALL_NODES if "*" in node else node, values, lines)
    return file


def _with_section(
    file: ConfigFile, node: str, values: Mapping[str, Any], lines: Mapping[str, int]
) -> ConfigFile:
    """Return a file with the values of one more section, the later of which wins as in rcl."""
    origins = {(node, name): f"'{file.name}', line {line}" for name, line in lines.items()}
    if node != ALL_NODES:
        return file.overlaid(ConfigFile(file.name, {}, {node: values}, origins))
    nodes = {
        own: {name: values.get(name, value) for name, value in given.items()}
        for own, given in file.nodes.items()
    }
    for own, given in nodes.items():
        origins |= {(own, name): origins[node, name] for name in given if name in values}
    return file.overlaid(ConfigFile(file.name, values, nodes, origins))


def parse_overrides(texts: Iterable[str]) -> list[tuple[str, str, Any]]:
    """Parse ``node.name=value`` as given on the command line, the value in YAML.

    Returns:
        Triples of node, dotted name and value.

    Raises:
        ConfigurationError: If a text has not that form.
    """
    overrides: list[tuple[str, str, Any]] = []
    for text in texts:
        target, equals, value = text.partition("=")
        node, dot, name = target.strip().partition(".")
        if not (equals and dot and node and name):
            raise ConfigurationError(f"'{text}' is no parameter, expected node.name=value")
        overrides.append((node, name, load_yaml(value, f"the value in '{one_line(text, limit=80)}'")))
    return overrides


def _parameters(path: str, section: str, body: Any) -> tuple[dict[str, Any], dict[str, int]]:
    if not isinstance(body, dict) or "ros__parameters" not in body:
        got = listing(body) if isinstance(body, dict) else _shown(body)
        raise ConfigurationError(f"section '{section}' of '{path}' holds {got}, expected 'ros__parameters'")
    parameters = body["ros__parameters"]
    if parameters is None:
        return {}, {}
    if not isinstance(parameters, YamlMapping):
        raise ConfigurationError(
            f"'ros__parameters' of section '{section}' of '{path}' is {_shown(parameters)}, "
            "expected parameters"
        )
    return flatten(parameters, f"section '{section}' of '{path}'")


def flatten(values: YamlMapping, where: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return nested parameters by dotted name.

    Args:
        values: Parameters, nested ones as mappings.
        where: Where they came from, for the message.

    Returns:
        Values, and the lines they are in, by dotted name.

    Raises:
        ConfigurationError: If a name is there twice, once nested and once with dots.
    """
    flat: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for prefix, mapping in _nested(values):
        for key, value in mapping.items():
            name, line = f"{prefix}{key}", mapping.lines[key]
            if isinstance(value, YamlMapping):
                continue
            if name in flat:
                raise ConfigurationError(
                    f"{where} has the parameter '{name}' twice, in line {lines[name]} and line {line}"
                )
            flat[name], lines[name] = value, line
    return flat, lines


def _nested(values: YamlMapping, prefix: str = "") -> Iterator[tuple[str, YamlMapping]]:
    """Yield a mapping and those nested in it, with the prefix of their names."""
    yield prefix, values
    for key, value in values.items():
        if isinstance(value, YamlMapping):
            yield from _nested(value, f"{prefix}{key}.")


def _shown(value: Any) -> str:
    return one_line(repr(value), limit=80)
