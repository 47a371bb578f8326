"""Declaration of the parameters of a config dataclass as ROS parameters of a node.

rclpy ignores values of undeclared parameters without a report; here a misspelt name in a parameter file stops
the node. Whole numbers are accepted for parameters that are floats, in files and by `ros2 param set`.
"""

from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from inertial_estimation.errors import InertialEstimationError, listing
from inertial_estimation.parameters import (
    ParameterSpec,
    bounds_in_words,
    build_config,
    check_value,
    iterate_parameters,
    parameter_values,
    replace_value,
)
from inertial_estimation.ros.qos import OVERRIDES_PREFIX

_OF_RCLPY = ("use_sim_time", "start_type_description_service")


def descriptor_from_spec(spec: ParameterSpec) -> ParameterDescriptor:
    """Describe a declared parameter to ROS: range, read-only flag, unit and choices."""
    description = spec.description + (f" [{spec.unit}]" if spec.unit else "")
    descriptor = ParameterDescriptor(name=spec.name, description=description, read_only=not spec.runtime)
    low, high = spec.lower, spec.upper
    if spec.choices:
        descriptor.additional_constraints = f"one of: {listing(spec.choices)}"
    elif low is None and high is None:
        return descriptor
    elif isinstance(spec.default, tuple) or low is None or high is None:  # a range of ROS has two ends
        descriptor.additional_constraints = bounds_in_words(spec)
    elif isinstance(spec.default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high))]
    else:
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=1)]
    return descriptor


class NodeParameters:
    """All parameters of a node, declared from its config dataclass.

    Attributes:
        config: Current values of all parameters.
    """

    def __init__(
        self,
        node: Node,
        config_class: type[Any],
        elsewhere: Set[str] = frozenset(),
        on_change: Callable[[str, Any], None] = lambda _name, _value: None,
    ) -> None:
        """Declare every parameter with the value from the command line or YAML file.

        Names `elsewhere` are parameters of other nodes, which are ignored (in a section for all nodes,
        ``/**``). At every later change `on_change(name, value)` is called; an exception rejects the change.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a given parameter is unknown (the message
                names the nearest one), of the wrong type or out of bounds; all of them are listed.
        """
        self._specs = {spec.name: spec for spec in iterate_parameters(config_class)}
        self._listener = on_change
        ignored = elsewhere - self._specs.keys()
        given = {name: value for name, value in given_values(node).items() if name not in ignored}
        for name, value in given.items():
            if value is None and name in self._specs and isinstance(self._specs[name].default, tuple):
                given[name] = ()  # rcl reads an empty list of YAML as "not set"
        self.config = build_config(config_class, given, where=f"node '{node.get_name()}'")
        values = parameter_values(self.config)
        for name, spec in self._specs.items():
            descriptor = descriptor_from_spec(spec)
            node.declare_parameter(name, to_ros_value(values[name]), descriptor, ignore_override=True)
        if hasattr(node, "add_pre_set_parameters_callback"):  # not in Humble
            node.add_pre_set_parameters_callback(self._as_declared)
        node.add_on_set_parameters_callback(self._on_set)

    def _as_declared(self, parameters: list[Parameter]) -> list[Parameter]:
        """Return parameters in which whole numbers are floats if floats are declared."""
        converted = []
        for given in parameters:
            with suppress(KeyError, InertialEstimationError):  # rclpy or `_on_set` rejects it with a reason
                value = check_value(self._specs[given.name], from_ros_value(given.value))
                given = Parameter(given.name, value=to_ros_value(value))
            converted.append(given)
        return converted

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        own = [given for given in parameters if given.name in self._specs]
        config, checked, applied = self.config, [], list[str]()
        try:
            for given in own:
                value = check_value(self._specs[given.name], from_ros_value(given.value))
                config = replace_value(config, given.name, value)
                checked.append((given.name, value))
            for name, value in checked:
                self._listener(name, value)
                applied.append(name)
        except InertialEstimationError as error:
            before = parameter_values(self.config)
            for name in applied:  # parameters that are set together are changed all or none
                self._listener(name, before[name])
            return SetParametersResult(successful=False, reason=str(error))
        self.config = config
        return SetParametersResult(successful=True)


def to_ros_value(value: Any) -> Any:
    """Convert a config value to a ROS value: tuples become lists, an empty one ``[""]``, which has a type."""
    return (list(value) or [""]) if isinstance(value, tuple) else value


def from_ros_value(value: Any) -> Any:
    """Convert a ROS value to plain Python types: numeric arrays become lists."""
    plain = value is None or isinstance(value, str | bytes | bool | int | float)
    return value if plain else list(value)


def given_values(node: Node) -> dict[str, Any]:
    """Return the values from command line and parameter files, including those of unknown names.

    rclpy keeps them in an undocumented attribute, from Humble to Rolling.
    """
    overrides: Mapping[str, Parameter] = node._parameter_overrides
    return {
        name: from_ros_value(given.value)
        for name, given in overrides.items()
        if name not in _OF_RCLPY and not name.startswith(OVERRIDES_PREFIX)
    }
