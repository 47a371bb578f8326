"""ROS 2 parameter files read without ROS: one flat mapping of dotted names per node.

A section is named after a node, with its namespace (``/robot1/tilt_observer``) or wildcards: ``/*`` is one
name, ``/**`` any number of names. As a replay has no namespace, a section applies here to the node that its
last part names, in any namespace. As in rcl, sections of the same name in several files are merged at the
position of the first one, with the values of the last file. Of the sections that apply to a node, later ones
override.
"""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from inertial_estimation.configuration.node_options import ROS_PARAMETERS
from inertial_estimation.errors import ConfigurationError, did_you_mean, listing, one_line
from inertial_estimation.files.yaml_file import YamlMapping, load_yaml, packaged_files, read_yaml
from inertial_estimation.parameters import unknown_name

ALL_NODES = "/**"
KEY = "ros__parameters"
PARAM = "--param"


class Given(NamedTuple):
    """Value of a parameter in a file."""

    value: Any
    origin: str  # file and line of the value, for messages


@dataclass(frozen=True)
class ConfigFile:
    """A ROS parameter file, or several that are merged."""

    name: str  # path of the file, for messages
    # parameters by dotted name, for each section, in the order in which sections apply
    sections: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)

    @cached_property
    def _by_node(self) -> dict[str, dict[str, Given]]:
        """Values in effect of the parameters in each node's sections; under `ALL_NODES` the shared ones."""
        found: dict[str, dict[str, Given]] = {ALL_NODES: {}}
        for section, given in self.sections.items():
            if "*" in (node := section.rpartition("/")[2]):
                for own in found.values():
                    own |= {name: given[name] for name in own if name in given}
            found.setdefault(ALL_NODES if "*" in node else node, {}).update(given)
        return found

    @property
    def shared(self) -> dict[str, Any]:
        """Values of the sections for all nodes (``/**``), by dotted name."""
        return _values(self._by_node[ALL_NODES])

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Values by node (name without namespace) and dotted name."""
        return {node: _values(given) for node, given in self._by_node.items() if node != ALL_NODES}

    def has(self, node: str) -> bool:
        """Return whether the file has a section for a node."""
        return node in self.nodes

    def values(self, node: str, known: Collection[str]) -> dict[str, Any]:
        """Return the values for one node by dotted name; its own section overrides the shared one.

        Args:
            node: Name of the node.
            known: Names of the node's parameters. Shared values of other names are left out; those of the
                node's own section are kept, so that a misspelt name is found when the config is built.
        """
        shared = {name: value for name, value in self.shared.items() if name in known}
        own = {n: v for n, v in self.nodes.get(node, {}).items() if n not in ROS_PARAMETERS}
        return {**shared, **own}

    def origins_of(self, *nodes: str) -> dict[str, str]:
        """Return file and line of the values of some nodes by dotted name; a later node's override."""
        found = [self._by_node.get(node, {}) for node in (ALL_NODES, *nodes)]
        return {name: given.origin for section in found for name, given in section.items()}

    def anywhere(self, known: Collection[str]) -> dict[str, Any]:
        """Return the values of known names: shared ones, or else those of the first node that has them."""
        sections = (self.shared, *self.nodes.values())
        return {
            name: value for section in reversed(sections) for name, value in section.items() if name in known
        }

    def check_shared(self, known: Collection[str]) -> None:
        """Check that every shared name is a parameter of at least one node.

        Raises:
            ConfigurationError: If no node has it; the message gives the closest existing name.
        """
        for name, given in self._by_node[ALL_NODES].items():
            if name not in known and name not in ROS_PARAMETERS:
                where = f" in section '{ALL_NODES}' of {given.origin}"
                raise ConfigurationError(unknown_name(name, known, where=where))

    def check_nodes(self, expected: Collection[str], others: Collection[str] = ()) -> None:
        """Check that one of the expected nodes has a section, and no section a misspelt name (of all nodes).

        Raises:
            ConfigurationError: If none has a section (lists those of the file), or a name is misspelt.
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
        names = dict.fromkeys((*self.sections, *later.sections))
        merged = {name: {**self.sections.get(name, {}), **later.sections.get(name, {})} for name in names}
        return replace(self, sections=merged)

    def overridden(self, overrides: Iterable[tuple[str, str, Any]]) -> "ConfigFile":
        """Return a copy with single values replaced, given as (node, dotted name, value)."""
        sections = {section: dict(given) for section, given in self.sections.items()}
        for node, name, value in overrides:  # in additional sections, which apply after all others
            sections.setdefault(f"{PARAM}/{node}", {})[name] = Given(value, PARAM)
        return replace(self, sections=sections)


def _values(given: Mapping[str, Given]) -> dict[str, Any]:
    return {name: one.value for name, one in given.items()}


def load_config_file(path: str | Path) -> ConfigFile:
    """Read a ROS 2 parameter file; dotted names may be nested.

    Raises:
        ConfigurationError: If the file is missing, is not YAML, does not have the form of a ROS parameter
            file (node name, ``ros__parameters``, values), or has one node in two namespaces.
    """
    content = read_yaml(path, "parameter file")
    if not isinstance(content, dict) or not content:
        raise ConfigurationError(
            f"'{path}' is no ROS parameter file: expected sections named after nodes, got {_as_text(content)}"
        )
    sections: dict[str, dict[str, Given]] = {}
    named: dict[str, str] = {}
    for section, body in _sections(content):
        sections[section] = _parameters(str(path), section, body)
        node = section.rpartition("/")[2]
        if "*" not in section and named.setdefault(node, section).strip("/") != section.strip("/"):
            raise ConfigurationError(
                f"'{path}' has '{named[node]}' and '{section}', expected one robot's sections "
                f"('/**/{node}' reaches the node in every namespace)"
            )
    return ConfigFile(str(path), sections)


def _sections(content: Mapping[Any, Any], namespace: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and bodies of the sections in their order; namespaces may be nested mappings.

    A body that is neither a section nor a namespace with sections is yielded unchanged.
    """
    for name, body in content.items():
        rest = {key: value for key, value in body.items() if key != KEY} if isinstance(body, dict) else {}
        inner = rest if all(isinstance(value, dict) for value in rest.values()) else {}
        if not inner or KEY in body:
            yield f"{namespace}{name}", body
        yield from _sections(inner, f"{namespace}{name}/")


def _parameters(path: str, section: str, body: Any) -> dict[str, Given]:
    """Return the parameters of a section by dotted name."""
    if not isinstance(body, dict) or KEY not in body:
        got = listing(body) if isinstance(body, dict) else _as_text(body)
        raise ConfigurationError(f"section '{section}' of '{path}' holds {got}, expected '{KEY}'")
    parameters = body[KEY]
    if not isinstance(parameters, YamlMapping | None):
        raise ConfigurationError(
            f"'{KEY}' of section '{section}' of '{path}' is {_as_text(parameters)}, expected parameters"
        )
    found: dict[str, Given] = {}
    for name, value, line in _flat(parameters or YamlMapping()):
        given = Given(value, f"'{path}', line {line}")
        if name in found:
            raise ConfigurationError(
                f"section '{section}' has the parameter '{name}' twice, in {found[name].origin} "
                f"and {given.origin}"
            )
        found[name] = given
    return found


def _flat(values: YamlMapping, prefix: str = "") -> Iterator[tuple[str, Any, int]]:
    """Yield dotted name, value and line of nested parameters."""
    for key, value in values.items():
        if isinstance(value, YamlMapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value, values.lines[key]


def _as_text(value: Any) -> str:
    return one_line(repr(value), limit=80)


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


def find_config(name: str) -> Path:
    """Return the path of a parameter file, given its path or the name of a robot of the package (``icub``).

    Raises:
        ConfigurationError: If there is none; lists the names that exist.
    """
    path = Path(name)
    if path.is_file():
        return path
    known = packaged_files("config")
    if name in known:
        return known[name]
    raise ConfigurationError(
        f"no parameter file '{name}': neither a file nor the name of a robot"
        f"{did_you_mean(name, sorted(known), 'there are the robots')}"
    )


def load_configs(names: Sequence[str]) -> ConfigFile:
    """Read a robot's parameter file and further files that override it (offsets, friction), in this order.

    Args:
        names: Paths or names of robots, at least one; relative paths in the files are relative to the first.

    Raises:
        ConfigurationError: If a file does not exist or is no parameter file.
    """
    first, *later = (load_config_file(find_config(name)) for name in names)
    for file in later:
        first = first.overlaid(file)
    return first
