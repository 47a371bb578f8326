"""Sources of a node's parameters, and detection of given parameters that have no effect.

rcl keeps one table per section name, in the order in which the names first appear on the command line, in
files or in ``-p name:=value`` (section ``/**``). A node gets the tables that match its full name; later
tables override earlier ones. A file's section of the node therefore overrides ``-p rate:=100.0``, and a
section of another namespace is ignored, both without a message. This module detects such cases from the
command line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from inertial_estimation.configuration.config_file import flatten
from inertial_estimation.configuration.parameter_sections import (
    EVERY_NODE,
    ROS_PARAMETERS_KEY,
    iterate_sections,
    node_of,
    reaches,
)
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.safe_yaml import load_yaml, read_yaml, yaml_line

_RULE = re.compile(r"(?:(?P<node>\w+):(?!=))?(?P<name>.+?):=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class ParameterSource:
    """Parameters of one section, or of one ``-p``.

    Attributes:
        section: Name of the section, as rcl matches it.
        values: Values by dotted name.
        file: The file; None for a ``-p``.
    """

    section: str
    values: Mapping[str, Any]
    file: str | None = None


def parameter_sources(arguments: Sequence[str]) -> list[ParameterSource]:
    """Return the parameter sources on a command line, in its order.

    Args:
        arguments: The command line; only the parts between ``--ros-args`` and ``--`` are read.

    Returns:
        The sources, without a ``-p`` that rcl reads as text.

    Raises:
        ConfigurationError: If a file cannot be read, or rcl would silently take the last of two values.
    """
    sources: list[ParameterSource] = []
    words = iter(_ros_arguments(arguments))
    for word in words:
        if word == "--params-file":
            sources += _of_file(next(words, ""))
        elif word in ("-p", "--param"):
            sources += _of_rule(next(words, ""))
    return sources


def values_of_node(sources: Sequence[ParameterSource], node: str) -> dict[str, tuple[Any, ParameterSource]]:
    """Return the effective parameters of a node by name: the value and its source.

    Args:
        sources: All that is given.
        node: Its full name.
    """
    tables: dict[str, dict[str, tuple[Any, ParameterSource]]] = {}
    for source in sources:
        table = tables.setdefault(source.section, {})
        table.update({name: (value, source) for name, value in source.values.items()})
    reaching = (table for section, table in tables.items() if reaches(section, node))
    return {name: entry for table in reaching for name, entry in table.items()}


def parameter_warnings(sources: Sequence[ParameterSource], node: str) -> list[str]:
    """Describe the parameters that are given for a node and have no effect.

    Args:
        sources: All sources on the command line.
        node: Full name of the node.

    Returns:
        One sentence for each section with the node's name, and for each ``-p``, that has no effect.
    """
    return [*_unreached(sources, node), *_overruled(sources, node)]


def warn_of_lost(node: Node, arguments: Sequence[str]) -> None:
    """Log a warning for each section and each ``-p`` on a command line that has no effect on a node."""
    for text in parameter_warnings(parameter_sources(arguments), node.get_fully_qualified_name()):
        node.get_logger().warning(text)


def _unreached(sources: Sequence[ParameterSource], node: str) -> Iterator[str]:
    name = node_of(node)
    meant = [source for source in sources if node_of(source.section) == name]
    served = {source.file for source in meant if source.file and reaches(source.section, node)}
    for source in meant:
        if reaches(source.section, node) or source.file in served:  # a file may have sections of other robots
            continue
        lost = f"does not reach this node, whose full name is '{node}'"
        if source.file is None:
            yield f"'{_rule_text(source)}' {lost}: it applies only to the root namespace; {_in_a_file(node)}"
        else:
            yield (
                f"section '{source.section}' of {source.file} {lost}: "
                f"name it '/**/{name}' for every namespace, or '{node}'"
            )


def _overruled(sources: Sequence[ParameterSource], node: str) -> Iterator[str]:
    arriving = values_of_node(sources, node)
    for source in sources:
        if source.file is not None or not reaches(source.section, node):
            continue
        ((name, value),) = source.values.items()
        winner_value, winner = arriving[name]
        if winner.file is None or winner_value == value:
            continue
        in_root = node.count("/") == 1
        way = (
            f"-p {node[1:]}:{name}:={yaml_line(value)} behind the file does" if in_root else _in_a_file(node)
        )
        yield (
            f"'{_rule_text(source)}' has no effect: section '{winner.section}' of {winner.file} sets "
            f"{name} to {yaml_line(winner_value)}, which ROS lets win; {way}"
        )


def _in_a_file(node: str) -> str:
    return f"a parameter file given last with a section '{node}' does"


def _rule_text(source: ParameterSource) -> str:
    ((name, value),) = source.values.items()
    prefix = "" if source.section == EVERY_NODE else f"{source.section}:"
    return f"-p {prefix}{name}:={yaml_line(value)}"


def _ros_arguments(arguments: Sequence[str]) -> Iterator[str]:
    inside = False
    for word in arguments:
        if word in ("--ros-args", "--"):
            inside = word == "--ros-args"
        elif inside:
            yield word


def _of_file(path: str) -> list[ParameterSource]:
    content = read_yaml(path, "parameter file")
    bodies = iterate_sections(content) if isinstance(content, dict) else ()
    return [
        ParameterSource(
            section, flatten(body[ROS_PARAMETERS_KEY], f"section '{section}' of '{path}'")[0], path
        )
        for section, body in bodies
        if isinstance(body, dict) and isinstance(body.get(ROS_PARAMETERS_KEY), dict)
    ]


def _of_rule(text: str) -> list[ParameterSource]:
    found = _RULE.fullmatch(text)
    if found is None:
        return []
    try:
        value = load_yaml(found["value"], "")
    except ConfigurationError:  # rcl has refused it already, or reads it as text
        return []
    return [ParameterSource(found["node"] or EVERY_NODE, {found["name"]: value})]
