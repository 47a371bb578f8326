"""Declares the parameters of a config dataclass as ROS parameters of a node.

rclpy ignores values for undeclared parameters, so that a misspelt line of YAML is not reported; here it
stops the node. Whole numbers are accepted where a float is declared. Of what rcl gives a node, and what of
its command line it passes over without a message, `warn_of_lost` says the latter.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from inertial_estimation.configuration.parameter_sections import iterate_sections, node_of, reaches
from inertial_estimation.errors import ConfigurationError, InertialEstimationError, listing
from inertial_estimation.files.safe_yaml import load_yaml, read_yaml, yaml_line
from inertial_estimation.parameters import (
    ParameterSpec,
    build_config,
    check_value,
    iterate_parameters,
    parameter_values,
    replace_value,
)
from inertial_estimation.ros.qos import PREFIX as QOS_OVERRIDES
from inertial_estimation.ros.rclpy_internals import given_parameters

ConfigT = TypeVar("ConfigT")
_OF_RCLPY = ("use_sim_time", "start_type_description_service")
_INTEGER_LIMIT = 2**63 - 1
_RULE = re.compile(r"(?:(?P<node>\w+):(?!=))?(?P<name>.+?):=(?P<value>.*)", re.DOTALL)


def descriptor_from_spec(spec: ParameterSpec) -> ParameterDescriptor:
    """Describe a declared parameter to ROS.

    Args:
        spec: The declaration.

    Returns:
        Descriptor with range, read-only flag, and the unit and choices in the description.
    """
    unit = f" [{spec.unit}]" if spec.unit else ""
    description = f"{spec.description}{unit}"
    descriptor = ParameterDescriptor(
        name=spec.name, description=description, read_only=not spec.runtime, dynamic_typing=False
    )
    if spec.choices:
        descriptor.additional_constraints = f"one of: {listing(spec.choices)}"
    if spec.lower is None and spec.upper is None:
        return descriptor
    if isinstance(spec.default, float):
        low = -sys.float_info.max if spec.lower is None else float(spec.lower)
        high = sys.float_info.max if spec.upper is None else float(spec.upper)
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    elif isinstance(spec.default, int) and not isinstance(spec.default, bool):
        low_int = -_INTEGER_LIMIT if spec.lower is None else int(spec.lower)
        high_int = _INTEGER_LIMIT if spec.upper is None else int(spec.upper)
        descriptor.integer_range = [IntegerRange(from_value=low_int, to_value=high_int, step=1)]
    else:
        descriptor.additional_constraints = f"every entry in [{spec.lower}, {spec.upper}]"
    return descriptor


def to_ros_value(value: Any) -> Any:
    """Convert a config value to one ROS can type: tuples become lists, an empty one becomes ``[""]``."""
    if isinstance(value, tuple):
        return list(value) if value else [""]
    return value


def from_ros_value(value: Any) -> Any:
    """Convert a ROS value to plain Python types: numeric arrays become lists."""
    if isinstance(value, (str, bytes, bool, int, float)) or value is None:
        return value
    return list(value)


class NodeParameters(Generic[ConfigT]):
    """All parameters of a node, declared from its config dataclass."""

    def __init__(self, node: Node, config_class: type[ConfigT], elsewhere: Set[str] = frozenset()) -> None:
        """Declare every parameter with the value from the command line or YAML file.

        Args:
            node: Node on which the parameters are declared.
            config_class: Dataclass declared with `parameter` and `section`.
            elsewhere: Names of other nodes' parameters, which are ignored in a section for all nodes
                (``/**``).

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a given parameter is unknown (the message
                names the nearest one), of the wrong type or out of bounds; all of them are listed.
        """
        self._specs = {spec.name: spec for spec in iterate_parameters(config_class)}
        self._listener: Callable[[str, Any], None] | None = None
        passed_over = elsewhere - self._specs.keys()
        given = {
            name: value for name, value in _given_values(node, self._specs).items() if name not in passed_over
        }
        for name, value in given.items():
            if value is None and name in self._specs and isinstance(self._specs[name].default, tuple):
                given[name] = ()  # rcl reads an empty list of YAML as "not set"
        self._config = build_config(config_class, given, where=f"node '{node.get_name()}'")
        values = parameter_values(self._config)
        for name, spec in self._specs.items():
            descriptor = descriptor_from_spec(spec)
            node.declare_parameter(name, to_ros_value(values[name]), descriptor, ignore_override=True)
        node.add_on_set_parameters_callback(self._on_set)

    @property
    def config(self) -> ConfigT:
        """Current values of all parameters."""
        return self._config

    def on_change(self, listener: Callable[[str, Any], None]) -> None:
        """Call `listener(name, value)` for every change; an exception rejects the change."""
        self._listener = listener

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changes = [(p.name, from_ros_value(p.value)) for p in parameters if p.name in self._specs]
        try:
            config, checked = self._config, []
            for name, value in changes:
                value = check_value(self._specs[name], value)
                config = replace_value(config, name, value)
                checked.append((name, value))
            if self._listener is not None:
                for name, value in checked:
                    self._listener(name, value)
        except InertialEstimationError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._config = config
        return SetParametersResult(successful=True)


def _given_values(node: Node, known: Iterable[str]) -> dict[str, Any]:
    """Return the values from the command line and parameter files, those of unknown names included."""
    values = given_parameters(node)
    if values is None:  # unknown names cannot be detected
        values = {name: value for name in known if (value := _given_value(node, name)) is not None}
    return {
        name: from_ros_value(value)
        for name, value in values.items()
        if name not in _OF_RCLPY and not name.startswith(QOS_OVERRIDES)
    }


def _given_value(node: Node, name: str) -> Any:
    """Return the given value of one parameter by declaring it temporarily; None if none is given."""
    value = node.declare_parameter(name, descriptor=ParameterDescriptor(dynamic_typing=True)).value
    node.undeclare_parameter(name)
    return value


def warn_of_lost(node: Node, arguments: Sequence[str]) -> None:
    """Log a warning for each section and each ``-p`` on a command line that has no effect on a node."""
    for text in lost_parameters(node, arguments):
        node.get_logger().warning(text)


def lost_parameters(node: Node, arguments: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each section with the node's name, and each ``-p``, that has no effect.

    A section without a namespace is for the root namespace alone, and a section of the node's name wins over
    ``-p name:=value``, which is one for all nodes (``/**``).

    Args:
        node: The node, to which rcl has given its parameters.
        arguments: The command line; only the parts between ``--ros-args`` and ``--`` are read.

    Raises:
        ConfigurationError: If a parameter file cannot be read, or rcl would silently take the last of two
            values.
    """
    full, name, given = node.get_fully_qualified_name(), node.get_name(), given_parameters(node) or {}
    in_a_file = f"a parameter file given last with a section '{full}' does"
    words = iter(_ros_arguments(arguments))
    for word in words:
        if word == "--params-file":
            path = next(words, "")
            content = read_yaml(path, "parameter file")
            named = [one for one, _ in iterate_sections(content if isinstance(content, dict) else {})]
            meant = [section for section in named if node_of(section) == name]
            if not any(reaches(section, full) for section in meant):  # else those are of other robots
                for section in meant:
                    yield (
                        f"section '{section}' of {path} does not reach this node, whose full name is "
                        f"'{full}': name it '/**/{name}' for every namespace, or '{full}'"
                    )
        elif word in ("-p", "--param") and (rule := _RULE.fullmatch(next(words, ""))):
            try:
                value = load_yaml(rule["value"], "")
            except ConfigurationError:  # rcl has refused it already, or reads it as text
                continue
            if rule["node"] == name and full != f"/{name}":
                yield (
                    f"'-p {rule[0]}' does not reach this node, whose full name is '{full}': it applies only "
                    f"to the root namespace; {in_a_file}"
                )
            elif rule["node"] in (None, name):
                got = from_ros_value(given.get(rule["name"]))
                if got is not None and got != value:
                    remedy = f"-p {name}:{rule['name']}:={yaml_line(value)} behind the file does"
                    yield (
                        f"'-p {rule[0]}' has no effect: {rule['name']} is {yaml_line(got)} by a section of "
                        "this node in a parameter file, or by another -p, which ROS lets win; "
                        f"{remedy if full == f'/{name}' else in_a_file}"
                    )


def _ros_arguments(arguments: Sequence[str]) -> Iterator[str]:
    inside = False
    for word in arguments:
        if word in ("--ros-args", "--"):
            inside = word == "--ros-args"
        elif inside:
            yield word
