"""Identification from recordings: parameters, inputs, run with a segment for figures, files of results."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import (
    NODE_CONFIGS,
    all_parameters,
    checked_overrides,
    config_of,
)
from inertial_estimation.configuration.node_names import IDENTIFICATION, INERTIAL_NODE
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.errors import (
    ConfigurationError,
    InconsistentInertiaError,
    MeasurementError,
    RecordingError,
    listing,
)
from inertial_estimation.files.outputs import json_text, write_text
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    DataSummary,
    IdentificationReport,
    MethodResult,
    rounded,
)
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.rows import SignalBlock
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inputs.joints import JointNeeds
from inertial_estimation.models.estimated_model import POSTERIOR_FILE, EstimatedModel
from inertial_estimation.models.friction import FRICTION_TERMS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.signal_blocks import BlockStream
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import NANOSECONDS, Array, seconds

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
    config_of(config, INERTIAL_NODE, InertialPipelineConfig)  # checks it
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


SHOWN_S = 10.0  # length of the part of the data that is drawn [s]


@dataclass(frozen=True, eq=False)
class TorqueTrace:
    """Measured and predicted rows over a segment of a recording, shape (k, m) each [Nm, N]."""

    recording: str  # name of the recording
    times_s: Array  # time since the recording's first sample [s], shape (k,)
    row_names: tuple[str, ...]
    measured: Array  # smoothed measurement
    nominal: Array  # predicted by the nominal parameters
    identified: Array  # predicted by the identified parameters


@dataclass(frozen=True, eq=False)
class IdentificationRun:
    """Results of an identification from recordings."""

    report: IdentificationReport
    urdf: str | None  # description with the chosen method's bodies; None if one of them is inconsistent
    refusal: str  # reason why no description is written; empty if there is one
    model: EstimatedModel | None  # the chosen method's bodies with their posterior; None if not credible
    training: TorqueTrace | None  # segment of the fitted data; None if it gives no rows
    validation: TorqueTrace | None  # segment of the validation data; None if it gives no rows

    @property
    def result(self) -> MethodResult:
        """The chosen method's result."""
        return self.report.methods[self.report.chosen]


def block_stream(
    recording: Recording, topics: RecordedTopics, identifier: Identifier, config: IdentificationConfig
) -> BlockStream:
    """Return the stream of blocks of a recording that an identification needs.

    Gaps are interpolated as online, but none longer than half the smoothing window, in which an interpolated
    line would count as data.

    Raises:
        RecordingError: If a topic is missing or of another type.
    """
    model = identifier.row_model
    return BlockStream(
        recording,
        topics,
        model.sensed,
        config.robot,
        JointNeeds(model.need_velocity, model.effort_joints or False),
        max_gap_s=min(config.robot.inputs.timeout, 0.5 * config.smoothing.window),
    )


def run_identification(
    identifier: Identifier,
    training: Sequence[BlockStream],
    validation: Sequence[BlockStream] = (),
    *,
    methods: Sequence[str],
    chosen: str = "",
    unloaded: Sequence[BlockStream] = (),
    split_s: float | None = None,
    progress: Callable[[str, float], None] = lambda _name, _done_s: None,
) -> IdentificationRun:
    """Stream recordings through an identification.

    Args:
        identifier: An identifier without data.
        training: Streams that are fitted.
        validation: Streams for validation.
        methods: Names of the methods.
        chosen: Name of the method whose result is written; empty: the first one.
        unloaded: Streams of the robot without the load that is identified, fitted as well.
        split_s: Duration of every training stream that is fitted; the rest is used for validation [s].
        progress: Called repeatedly with the name of a recording and its time that has been processed [s].

    Raises:
        RecordingError: If a recording has no usable data, or none on one side of the split.
        ~inertial_estimation.errors.InertialEstimationError: If the identifier raises one.
    """
    figures = _MostMotion(), _MostMotion()  # of the fitted data, and of the validation data
    for stream in (*training, *unloaded, *validation):
        sides, bare, judges = [0, 0], stream in unloaded, stream in validation
        first_ns: int | None = None
        for block in stream.blocks(partial(progress, stream.name)):
            first_ns = block.start_ns if first_ns is None else first_ns
            for part, later in _divided(block, first_ns, None if judges else split_s, behind=sides[1] > 0):
                identifier.push(part, unloaded=bare, validation=later or judges)
                if not bare:
                    figures[later or judges].consider(part, stream.name, first_ns)
                sides[later] += part.size
        if split_s is not None and not judges and not all(sides):
            raise RecordingError(
                f"--split at {split_s:g} s leaves {sides[0]} samples of '{stream.name}' to fit and "
                f"{sides[1]} to validate by, expected some of both"
            )
    report = identifier.report(methods, chosen)
    judged = report.validation
    if judged is None and (validation or split_s is not None):
        warning = "the data to validate by are too short to give a row"
        report = replace(report, warnings=(*report.warnings, warning))
    report = replace(  # with a split, readings dropped on either side are counted with the fitted data
        report,
        training=_dropped(report.training, (*training, *unloaded)),
        validation=None if judged is None else _dropped(judged, validation),
    )
    result = report.methods[report.chosen]
    traces = (figure.trace(identifier, result) for figure in figures)
    if contradiction := identifier.contradiction(result):
        refusal = f"neither bodies nor friction are written: {contradiction}"
        return IdentificationRun(report, None, refusal, None, *traces)
    return IdentificationRun(report, *_description(identifier, report), identifier.model(result), *traces)


def _divided(
    block: SignalBlock, first_ns: int, split_s: float | None, *, behind: bool
) -> Iterator[tuple[SignalBlock, bool]]:
    """Yield the parts of a block and whether they follow the split; `behind` says that all of it does."""
    if split_s is None or behind:
        yield block, behind
        return
    at = int(np.searchsorted(block.stamps_ns, first_ns + round(split_s * NANOSECONDS)))
    if at > 0:
        yield block.part(0, at), False
    if at < block.size:
        yield block.part(at, block.size), True


class _MostMotion:
    """Keeps the segment of the data with the most motion, so that memory does not grow with their length."""

    def __init__(self) -> None:
        self._kept: tuple[SignalBlock, str, int] | None = None
        self._motion = -1.0

    def consider(self, block: SignalBlock, name: str, first_ns: int) -> None:
        """Compare a block of a recording of some name, whose first stamp is `first_ns` [ns]."""
        size = max(round(SHOWN_S / block.step_s), 1)
        for first in range(0, block.size, size):
            part = block.part(first, first + size)
            motion = float(np.sum(np.diff(part.q, axis=0) ** 2))
            if motion > self._motion:
                self._kept, self._motion = (part, name, first_ns), motion

    def trace(self, identifier: Identifier, method: MethodResult) -> TorqueTrace | None:
        """Return the rows of the kept segment; None if it gives none."""
        if self._kept is None:
            return None
        block, name, first_ns = self._kept
        try:
            rows = identifier.rows(block)
        except MeasurementError:  # too short to draw
            return None
        times: Array = seconds(rows.stamps_ns - first_ns)
        names, nominal = identifier.row_model.row_names, rows.predicted(np.zeros(len(method.x)))
        return TorqueTrace(name, times, names, rows.measured, nominal, rows.predicted(method.x))


def _dropped(summary: DataSummary, streams: Sequence[BlockStream]) -> DataSummary:
    total = Counter(summary.dropped)
    for stream in streams:
        total.update(stream.dropped)
    return replace(summary, dropped=dict(total))


def _description(identifier: Identifier, report: IdentificationReport) -> tuple[str | None, str]:
    """Return the identified description, or None with the reason, which names consistent methods."""
    try:
        return identifier.urdf(report.methods[report.chosen]), ""
    except InconsistentInertiaError as error:
        consistent = [name for name, result in report.methods.items() if result.consistent]
        ran = f"; of the methods that ran, these are consistent: {listing(consistent)}" if consistent else ""
        return None, f"no identified.urdf: {error}{ran}"


JSON_FILE, URDF_FILE, FRICTION_FILE = "identification.json", "identified.urdf", "friction.yaml"
FILES = (JSON_FILE, URDF_FILE, POSTERIOR_FILE, FRICTION_FILE)


def write_identification(
    folder: Path,
    run: IdentificationRun,
    config: IdentificationConfig,
    robot: RobotModel,
    source: Mapping[str, Any],
) -> list[Path]:
    """Write the result files; URDF and friction are written only if there is a result for them.

    Args:
        folder: Result folder.
        run: The identification.
        config: Parameters of the identification.
        robot: The robot.
        source: Recordings and options of the run, which are recorded in the JSON file.

    Raises:
        ConfigurationError: If the folder cannot be written into.
    """
    sigma = {p.name: p.sigma for p in run.result.parameters}
    found = {name: rounded(value, sigma[name]) for name, value in run.result.friction.items()}
    friction = friction_parameters(found, config, robot) if run.model else None
    texts = {
        JSON_FILE: json_text({**source, **run.report.values()}),
        URDF_FILE: run.urdf,
        POSTERIOR_FILE: run.model.json_text() if run.model else None,
        FRICTION_FILE: None if friction is None else _parameter_file(friction, run.report.chosen),
    }
    return [write_text(folder / name, text) for name, text in texts.items() if text is not None]


def friction_parameters(
    identified: Mapping[str, float], config: IdentificationConfig, robot: RobotModel
) -> dict[str, Any] | None:
    """Return the parameters ``nominal_friction`` of the nodes: identified values override known ones.

    Args:
        identified: Values by ``joint/term``.
        config: Parameters of the identification; its known friction is kept for joints without a result.
        robot: The robot, for the order of the joints.

    Returns:
        Names and values, None if there is no friction; a term without any value is left out.
    """
    values = {**config.robot.nominal_friction.by_name(robot), **identified}
    if not values:
        return None
    joints = [one for one in robot.joint_names if any(f"{one}/{term}" in values for term in FRICTION_TERMS)]
    terms = [term for term in FRICTION_TERMS if any(f"{one}/{term}" in values for one in joints)]
    return {
        "joints": joints,
        "terms": terms,
        "values": [float(values.get(f"{one}/{term}", 0.0)) for term in terms for one in joints],
        "smoothing_speed": config.robot.nominal_friction.smoothing_speed,
        "presliding": config.robot.nominal_friction.presliding,
    }


def _parameter_file(friction: Mapping[str, Any], method: str) -> str:
    content = {"/**": {"ros__parameters": {"nominal_friction": dict(friction)}}}
    text: str = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=10_000)
    return f"# Friction identified by method '{method}'; load it after the robot's own parameters.\n{text}"
