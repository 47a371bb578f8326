"""The config dataclasses of every node and offline tool that has a section in a parameter file."""

from inertial_estimation.configuration.node_options import (
    ControllerNodeOptions,
    InertialNodeOptions,
    PayloadNodeOptions,
    SimulatorOptions,
    TiltNodeOptions,
)
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.parameters import iterate_parameters
from inertial_estimation.simulation.simulation_config import SimulationConfig

__all__ = ["IDENTIFICATION", "NODE_CONFIGS", "all_parameters", "parameters_of"]

IDENTIFICATION = "identification"  # no node: the section of `inertial-estimation identify`
NODE_CONFIGS: dict[str, tuple[type, ...]] = {
    "tilt_observer": (TiltPipelineConfig, TiltNodeOptions),
    "inertial_ekf": (InertialPipelineConfig, InertialNodeOptions),
    "trunk_payload": (TrunkPayloadConfig, PayloadNodeOptions),
    "simulator": (SimulationConfig, SimulatorOptions),
    "whole_body_controller": (ControllerConfig, ControllerNodeOptions),
    IDENTIFICATION: (IdentificationConfig,),
}


def parameters_of(node: str) -> frozenset[str]:
    """Return the dotted names of the parameters of a node or tool."""
    return frozenset(spec.name for config in NODE_CONFIGS[node] for spec in iterate_parameters(config))


def all_parameters() -> frozenset[str]:
    """Return the dotted parameter names of all nodes, which a section for all nodes (``/**``) may contain."""
    return frozenset().union(*map(parameters_of, NODE_CONFIGS))
