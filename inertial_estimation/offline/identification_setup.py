"""Parameters and inputs of an offline identification, from the same parameter file as those of the nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters, checked_overrides
from inertial_estimation.configuration.node_names import IDENTIFICATION, INERTIAL_NODE
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import seconds

NOT_INHERITED = frozenset({"links"})  # the links estimated online are usually not those to identify


def identification_config(config: ConfigFile) -> IdentificationConfig:
    """Build the parameters of an identification from a parameter file.

    Values of section ``inertial_ekf`` that both have (rows, friction; not its links) override those of
    ``/**``; values of section ``identification`` override both.

    Raises:
        ConfigurationError: If a section or a parameter is misspelt or out of bounds.
    """
    if config.nodes:
        config.check_nodes(list(NODE_CONFIGS))
    config.check_shared(all_parameters())
    known = {spec.name for spec in iterate_parameters(IdentificationConfig)}
    online = {spec.name for spec in iterate_parameters(InertialPipelineConfig)}
    inherited = config.values(INERTIAL_NODE, online)
    build_config(
        InertialPipelineConfig,
        inherited,
        where=f"section '{INERTIAL_NODE}' of {config.name}",
        origins=config.origins_of(INERTIAL_NODE),
    )
    own = config.nodes.get(INERTIAL_NODE, {})
    shared = {name: value for name, value in config.shared.items() if name in known}
    rows = {name: value for name, value in own.items() if name in known - NOT_INHERITED}
    values = {**shared, **rows, **config.nodes.get(IDENTIFICATION, {})}
    return build_config(
        IdentificationConfig,
        values,
        where=f"section '{IDENTIFICATION}' of {config.name}",
        origins=config.origins_of(INERTIAL_NODE, IDENTIFICATION),
    )


def load_identification(
    names: Sequence[str], overrides: Sequence[str], links: Sequence[str]
) -> tuple[IdentificationConfig, Path]:
    """Read the parameters of an identification from the arguments of a command.

    Files are named by path or robot, overrides are texts of ``--param``, links replace those of the files.
    Returns the parameters, and the folder for relative paths of the description.

    Raises:
        ConfigurationError: If a file, an override or a value is not valid.
    """
    file = load_configs(names).overridden(checked_overrides(overrides, (IDENTIFICATION, INERTIAL_NODE)))
    config = identification_config(file)
    return replace(config, links=tuple(links)) if links else config, Path(file.name).parent


def identification_topics(config: IdentificationConfig, remappings: Mapping[str, str]) -> RecordedTopics:
    """Return the inputs' topics, as `replay_topics` does."""
    robot = config.robot
    return replay_topics({"imu_frame": robot.imu_frame, "contacts": robot.contacts}, remappings)


def check_split(recording: Recording, split_s: float) -> None:
    """Check that the time of a split lies within a recording.

    Raises:
        ConfigurationError: If it does not.
    """
    length_s = seconds(recording.end_ns - recording.start_ns)
    if not 0.0 < split_s < length_s:
        raise ConfigurationError(
            f"--split is {split_s:g} s, expected a time within '{recording.name}' (0 to {length_s:.1f} s)"
        )
