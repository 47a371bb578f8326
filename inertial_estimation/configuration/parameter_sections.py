"""Sections of ROS 2 parameter files: which nodes they are for, by rcl's rules (the same in Humble and Jazzy).

A section is named after a node, with its namespace (``/robot1/tilt_observer``) or wildcards: ``/*`` is one
name, ``/**`` any number of them. Without a slash in front it is the node of the root namespace alone.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

EVERY_NODE = "/**"
ROS_PARAMETERS_KEY = "ros__parameters"


def iterate_sections(content: Mapping[Any, Any], namespace: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the sections of a parameter file in their order, namespaces given by nesting included.

    Args:
        content: Content of the file, or of one namespace in it.
        namespace: Prefix of the names.

    Yields:
        Name of the section as rcl matches it, and its body. A body that is no section, and no namespace
        with sections in it either, is yielded as it is.
    """
    for name, body in content.items():
        section = f"{namespace}{name}"
        inner = _inner(body)
        if not inner or ROS_PARAMETERS_KEY in body:
            yield section, body
        yield from iterate_sections(inner, f"{section}/")


def reaches(section: str, node: str) -> bool:
    """Return whether rcl gives the values of a section to a node.

    Args:
        section: Name of the section.
        node: Full name of the node (``/robot1/tilt_observer``).
    """
    pattern = f"/{section.removeprefix('/')}".replace("/*", r"(/\w+)")  # as rclpy's node.cpp
    return re.fullmatch(pattern, node, re.ASCII) is not None


def node_of(section: str) -> str:
    """Return the name of the node a section is for, without its namespace; ``**`` for all nodes."""
    return section.rpartition("/")[2]


def _inner(body: Any) -> Mapping[Any, Any]:
    """Return the sections within a namespace; empty if the mapping is not a namespace."""
    if not isinstance(body, dict):
        return {}
    inner = {name: value for name, value in body.items() if name != ROS_PARAMETERS_KEY}
    return inner if all(isinstance(value, dict) for value in inner.values()) else {}
