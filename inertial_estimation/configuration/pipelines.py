"""Pipelines built from a parameter file, shared by replay and tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters
from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline, InertialPipelineConfig
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline, TiltPipelineConfig
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.models.urdf_check import urdf_warnings
from inertial_estimation.parameters import build_config, iterate_parameters, parameter_values
from inertial_estimation.recordings.recorded_topics import INPUT_NAMES, RecordedTopics

__all__ = [
    "CONFIG_CLASSES",
    "Pipelines",
    "build_pipelines",
    "replay_topics",
]

CONFIG_CLASSES: dict[str, type] = {
    TILT_NODE: TiltPipelineConfig,
    INERTIAL_NODE: InertialPipelineConfig,
    PAYLOAD_NODE: TrunkPayloadConfig,
}


@dataclass(frozen=True, eq=False)
class Pipelines:
    """The pipelines that a parameter file configures.

    Attributes:
        tilt: Tilt pipeline, None where the file has no section for it.
        inertial: Inertial pipeline, None where the file has no section for it.
        payload: Trunk payload pipeline, None where the file has no section for it.
        values: Parameters of the first of them, by dotted name (those that describe the robot are
            shared).
        inertial_values: Parameters of the inertial pipeline, empty without one.
        nominal_mass: Sum of the URDF's masses [kg].
        robot: Parameters that describe the robot.
        urdf: Text of its description.
        urdf_warnings: What is doubtful in the URDF, a sentence each.
        checks: Compare a whole recording with the robot's description.
    """

    tilt: TiltPipeline | None
    inertial: InertialPipeline | None
    payload: TrunkPayloadPipeline | None
    values: Mapping[str, Any]
    inertial_values: Mapping[str, Any]
    nominal_mass: float
    robot: RobotConfig
    urdf: str
    urdf_warnings: tuple[str, ...]
    checks: DataChecks

    @property
    def use_wrenches(self) -> bool:
        """Whether any of them reads the wrenches of the contacts."""
        measured = self.payload is not None and self.payload.config.ground_forces == "measured"
        return measured or self.tilt is not None or self.inertial is not None


def build_pipelines(config: ConfigFile, *, urdf: str = "") -> Pipelines:
    """Build the pipelines for which a parameter file has a section.

    Args:
        config: The parameter file.
        urdf: Where the robot description comes from (see `read_urdf`); empty takes the parameter ``urdf``.

    Returns:
        The pipelines.

    Raises:
        ConfigurationError: If a section or a parameter is misspelt or out of bounds.
        ~inertial_estimation.errors.ModelError: If the description is missing or lacks a name in use.
    """
    config.check_nodes(list(CONFIG_CLASSES), list(NODE_CONFIGS))
    known = {node: {spec.name for spec in iterate_parameters(cls)} for node, cls in CONFIG_CLASSES.items()}
    config.check_shared(all_parameters())
    built: dict[str, Any] = {}
    for node, config_class in CONFIG_CLASSES.items():
        if config.has(node):
            where = f"section '{node}' of {config.name}"
            values = config.values(node, known[node])
            built[node] = build_config(config_class, values, where=where, origins=config.origins_of(node))
    first = next(iter(built.values()))
    values = parameter_values(first)
    text = read_urdf(urdf or str(values["urdf"]), folder=Path(config.name).parent)
    setup = robot_from_config(first.robot, text)
    return Pipelines(
        tilt=TiltPipeline(built[TILT_NODE], text) if TILT_NODE in built else None,
        inertial=InertialPipeline(built[INERTIAL_NODE], text) if INERTIAL_NODE in built else None,
        payload=TrunkPayloadPipeline(built[PAYLOAD_NODE], text) if PAYLOAD_NODE in built else None,
        values=values,
        inertial_values=parameter_values(built[INERTIAL_NODE]) if INERTIAL_NODE in built else {},
        nominal_mass=setup.robot.total_mass,
        robot=first.robot,
        urdf=text,
        urdf_warnings=tuple(urdf_warnings(text)),
        checks=DataChecks(setup, first.robot, whole_recording=True),
    )


def replay_topics(
    values: Mapping[str, Any], remappings: Mapping[str, str], *, wrenches: bool = True
) -> RecordedTopics:
    """Return the inputs' topics: the nodes' relative names in the root namespace, remapped.

    Args:
        values: Parameters that describe the robot (``imu_frame``, ``contacts``).
        remappings: New name by old one, with or without the leading slash.
        wrenches: Whether those of the contacts are read.

    Returns:
        The topics.

    Raises:
        ConfigurationError: If a remapping names no input.
    """
    contacts = tuple(values["contacts"])
    inputs = [*INPUT_NAMES.values(), *(f"{contact}/wrench" for contact in contacts)]
    renamed = {old.lstrip("/"): "/" + new.lstrip("/") for old, new in remappings.items()}
    for old in renamed:
        if old not in inputs:
            raise ConfigurationError(f"no input '{old}' to remap; the inputs are {', '.join(inputs)}")
    topic = {name: renamed.get(name, f"/{name}") for name in inputs}
    named = {attribute: topic[name] for attribute, name in INPUT_NAMES.items()}
    if not values["imu_frame"]:
        named["imu"] = ""
    of_contacts = {contact: topic[f"{contact}/wrench"] for contact in contacts if wrenches}
    return RecordedTopics(**named, wrenches=of_contacts)
