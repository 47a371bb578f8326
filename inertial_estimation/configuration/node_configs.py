"""The config dataclasses of every node and offline tool that has a section in a parameter file."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from inertial_estimation.configuration.config_file import ALL_NODES, ConfigFile, parse_overrides
from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    IDENTIFICATION,
    INERTIAL_NODE,
    PAYLOAD_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.configuration.node_options import (
    ControllerNodeOptions,
    InertialNodeOptions,
    PipelineNodeOptions,
    SimulatorOptions,
    TiltNodeOptions,
)
from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.parameters import build_config, iterate_parameters, unknown_name
from inertial_estimation.payload.config import TrunkPayloadConfig
from inertial_estimation.simulation.config import SimulationConfig
from inertial_estimation.tilt.config import TiltPipelineConfig

ConfigT = TypeVar("ConfigT")
NODE_CONFIGS: dict[str, tuple[type, ...]] = {
    TILT_NODE: (TiltPipelineConfig, TiltNodeOptions),
    INERTIAL_NODE: (InertialPipelineConfig, InertialNodeOptions),
    PAYLOAD_NODE: (TrunkPayloadConfig, PipelineNodeOptions),
    SIMULATOR_NODE: (SimulationConfig, SimulatorOptions),
    CONTROLLER_NODE: (ControllerConfig, ControllerNodeOptions),
    IDENTIFICATION: (IdentificationConfig,),
}


def parameters_of(node: str) -> frozenset[str]:
    """Return the dotted names of the parameters of a node or tool."""
    return frozenset(spec.name for config in NODE_CONFIGS[node] for spec in iterate_parameters(config))


def all_parameters() -> frozenset[str]:
    """Return the dotted parameter names of all nodes, which a section for all nodes (``/**``) may contain."""
    return frozenset().union(*map(parameters_of, NODE_CONFIGS))


def robot_config(file: ConfigFile) -> RobotConfig:
    """Return the parameters of the robot, whichever node's section they are in.

    Raises:
        ConfigurationError: If a value is out of bounds, or a shared name is a parameter of no node.
    """
    file.check_shared(all_parameters())
    known = {spec.name for spec in iterate_parameters(RobotConfig)}
    return build_config(RobotConfig, file.anywhere(known), where=file.name, origins=file.origins_of())


def config_of(file: ConfigFile, node: str, config_class: type[ConfigT]) -> ConfigT:
    """Return the parameters of a node, or of its pipeline, from a file.

    Raises:
        ConfigurationError: If a value is out of bounds, or a name in the node's own section unknown.
    """
    values = file.values(node, {spec.name for spec in iterate_parameters(config_class)})
    where = f"section '{node}' of {file.name}"
    return build_config(config_class, values, where=where, origins=file.origins_of(node))


def checked_overrides(texts: Iterable[str], nodes: Sequence[str]) -> list[tuple[str, str, Any]]:
    """Parse texts of ``--param`` into triples of node, dotted name and value; check that node and name exist.

    Raises:
        ConfigurationError: If a text does not have the form ``node.name=value``, or names no node that the
            command uses, or no parameter of that node; the message gives the nearest name.
    """
    overrides = parse_overrides(texts)
    for node, name, _value in overrides:
        if node not in (*nodes, ALL_NODES):
            hint = did_you_mean(node, [*nodes, ALL_NODES], "there are")
            raise ConfigurationError(f"--param {node}.{name}: no node '{node}' in this command{hint}")
        known = all_parameters() if node == ALL_NODES else parameters_of(node)
        if name not in known:
            raise ConfigurationError(f"--param: {unknown_name(name, known, where=f' of {node}')}")
    return overrides
