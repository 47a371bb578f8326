"""Pipelines built from a parameter file, shared by replay and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters, config_of
from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, did_you_mean, listing
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.models.urdf import urdf_warnings
from inertial_estimation.parameters import parameter_values
from inertial_estimation.payload.config import TrunkPayloadConfig
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.recordings.recorded_topics import NAMESPACE, RecordedTopics
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.pipeline import TiltPipeline

CONFIG_CLASSES: dict[str, type] = {
    TILT_NODE: TiltPipelineConfig,
    INERTIAL_NODE: InertialPipelineConfig,
    PAYLOAD_NODE: TrunkPayloadConfig,
}


@dataclass(frozen=True, eq=False)
class Pipelines:
    """The pipelines that a parameter file configures."""

    tilt: TiltPipeline | None  # tilt pipeline, None where the file has no section for it
    inertial: InertialPipeline | None  # inertial pipeline, None where the file has no section for it
    payload: TrunkPayloadPipeline | None  # trunk payload pipeline, None where the file has no section for it
    parameters: Mapping[str, Mapping[str, Any]]  # all parameters in effect, by node and dotted name
    urdf: str  # text of the robot's description
    nominal_mass: float  # sum of the URDF's masses [kg]
    urdf_warnings: tuple[str, ...]  # doubtful properties of the URDF, a sentence each
    robot: tuple[RobotSetup, RobotConfig]  # the robot, and its parameters

    @property
    def values(self) -> Mapping[str, Any]:
        """Parameters of the first pipeline by dotted name; those that describe the robot are shared."""
        return next(iter(self.parameters.values()))

    @property
    def inertial_values(self) -> Mapping[str, Any]:
        """Parameters of the inertial pipeline by dotted name, empty without one."""
        return self.parameters.get(INERTIAL_NODE, {})

    def topics(self, remappings: Mapping[str, str]) -> RecordedTopics:
        """Return the topics of their inputs; see `replay_topics`."""
        return replay_topics(self.values, remappings)


def build_pipelines(config: ConfigFile, *, urdf: str = "", only: Sequence[str] = ()) -> Pipelines:
    """Build the pipelines for which a parameter file has a section.

    Args:
        config: The parameter file.
        urdf: Source of the robot description (see `read_urdf`); empty takes the parameter ``urdf``.
        only: Nodes whose pipelines are built; empty: all.

    Returns:
        The pipelines.

    Raises:
        ConfigurationError: If one of `only` is no estimator or has no section, or if a section or a
            parameter is misspelt or out of bounds.
        ~inertial_estimation.errors.ModelError: If the description is missing or lacks a name in use.
    """
    config.check_nodes(list(CONFIG_CLASSES), list(NODE_CONFIGS))
    config.check_shared(all_parameters())
    chosen = _chosen(config, only)
    built: dict[str, Any] = {}
    for node, config_class in CONFIG_CLASSES.items():
        if config.has(node) and node in chosen:
            built[node] = config_of(config, node, config_class)
    first = next(iter(built.values()))
    text = read_urdf(urdf or first.robot.urdf, folder=Path(config.name).parent)
    setup = robot_from_config(first.robot, text)
    return Pipelines(
        tilt=TiltPipeline(built[TILT_NODE], text) if TILT_NODE in built else None,
        inertial=InertialPipeline(built[INERTIAL_NODE], text) if INERTIAL_NODE in built else None,
        payload=TrunkPayloadPipeline(built[PAYLOAD_NODE], text) if PAYLOAD_NODE in built else None,
        parameters={node: parameter_values(built[node]) for node in built},
        urdf=text,
        nominal_mass=setup.robot.total_mass,
        urdf_warnings=tuple(urdf_warnings(text)),
        robot=(setup, first.robot),
    )


def _chosen(config: ConfigFile, only: Sequence[str]) -> Sequence[str]:
    """Return the nodes to build, after a check of their names."""
    for node in only:
        if node not in CONFIG_CLASSES:
            raise ConfigurationError(
                f"no estimator '{node}'{did_you_mean(node, CONFIG_CLASSES, 'there are')}"
            )
        if not config.has(node):
            raise ConfigurationError(
                f"{config.name} has no section for '{node}'; it has {listing(config.nodes)}"
            )
    return only or list(CONFIG_CLASSES)


def replay_topics(values: Mapping[str, Any], remappings: Mapping[str, str]) -> RecordedTopics:
    """Return the inputs' topics: the nodes' relative names in the root namespace, remapped.

    Args:
        values: Parameters that describe the robot (``contacts``, ``joint_states.topics``, ``inputs.map``).
        remappings: New names by old ones, with or without leading slash; ``__ns`` gives the namespace of
            inputs that are not remapped.

    Raises:
        ConfigurationError: If a remapping names no input.
    """
    renamed = {old.lstrip("/"): "/" + new.lstrip("/") for old, new in remappings.items()}
    namespace = renamed.pop(NAMESPACE, "")
    contacts = tuple(values["contacts"])
    own = RecordedTopics(contacts).names
    others = [name for name in values.get("joint_states.topics", ()) if name not in own]
    others += [name for name in renamed if name not in own] if values.get("inputs.map") else []
    topics = RecordedTopics(contacts, renamed, others, namespace)
    for old in renamed:
        if old not in topics.names:
            hint = did_you_mean(old, topics.names, "the inputs are")
            raise ConfigurationError(f"no input '{old}' to remap{hint}")
    return topics
