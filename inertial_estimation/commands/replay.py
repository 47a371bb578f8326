"""The command `replay`: a recording through the estimators, and the summary of its results."""

import argparse
import importlib.util
import sys
from pathlib import Path

from inertial_estimation.commands.provenance import provenance
from inertial_estimation.commands.terminal import (
    print_page,
    print_warnings,
    progress_bar,
    recording_with_warnings,
    result_folder_with_report,
)
from inertial_estimation.configuration.config_file import load_configs
from inertial_estimation.configuration.node_configs import checked_overrides
from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines
from inertial_estimation.diagnosis.finding import NAME as DATA_CHECKS
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError, one_line
from inertial_estimation.files.outputs import check_output_folder, output_file, write_json, write_text
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.plots.replay_report import replay_page
from inertial_estimation.recordings.robot_streams import check_robot
from inertial_estimation.replay.reference import read_reference
from inertial_estimation.replay.replay import ReplayReaders, ReplayRun, replay_recording
from inertial_estimation.replay.results import ReplayResults, replay_results
from inertial_estimation.replay.tables import METRICS_FILE, TABLES, write_result_table
from inertial_estimation.signals import NANOSECONDS, seconds
from inertial_estimation.view.moments import Moments

NODES = (TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE)
OPTIONS = ("start", "hold_out", "reference", "trusted", "settle", "remap", "only")


def run(args: argparse.Namespace) -> int:
    """Replay the recording, compute the metrics and write the files."""
    if args.trusted and not args.reference:
        raise ConfigurationError("--trusted needs --reference")
    folder = check_output_folder(args.output, overwrite=args.overwrite)
    rrd = _checked_rrd(args.rrd)
    config = load_configs(args.config).overridden(checked_overrides(args.param, NODES))
    with recording_with_warnings(args.bag) as recording:
        pipelines = build_pipelines(config, urdf=args.urdf, only=args.only)
        topics = pipelines.topics(dict(args.remap))
        setup, robot_config = pipelines.robot
        check_robot(recording, topics, setup.robot, robot_config)
        print_warnings(pipelines.urdf_warnings)
        if pipelines.tilt is not None:
            print_warnings(pipelines.tilt.config.without_effect)
        length_s = seconds(recording.end_ns - recording.start_ns) - args.start
        if args.settle and args.settle >= length_s:
            raise ConfigurationError(f"--settle is {args.settle:g} s, expected 0 to {length_s:.1f} s")
        topic, reference = read_reference(recording, args.bag, args.reference, args.trusted, args.settle)
        moments = None if rrd is None else _moments(pipelines)
        with progress_bar("replay", length_s, "s") as progress:
            result = replay_recording(
                recording,
                topics,
                ReplayReaders(pipelines.tilt, pipelines.inertial, pipelines.payload),
                robot=pipelines.robot,
                start_s=args.start,
                hold_out_s=args.hold_out,
                progress=progress,
                watcher=moments,
            )
        held_out_s = args.hold_out  # time from which on the filter does not learn [s]
        hold_out_ns = None if held_out_s is None else result.start_ns + round(held_out_s * NANOSECONDS)
        evaluation = replay_results(result, pipelines=pipelines, reference=reference, hold_out_ns=hold_out_ns)
        if rrd is not None and moments is not None:
            _write_view(rrd, moments, pipelines, result, evaluation)
        print_input_warnings(result)
        source = str(pipelines.values["urdf"]), pipelines.urdf
        evaluation.metrics["provenance"] = record = provenance(
            args, OPTIONS, bags=[args.bag], urdf=source, parameters=pipelines.parameters
        )
        record["options"]["reference"] = topic  # the topic that was found
        drawn = not args.no_figures
        page = replay_page(evaluation, drawn=drawn)
        with result_folder_with_report(folder, (*TABLES, METRICS_FILE), page, drawn=drawn) as partial:
            _write(partial, evaluation, pipelines)
    print_page(page, folder)
    return 0


def _write(folder: Path, evaluation: ReplayResults, pipelines: Pipelines) -> None:
    """Write tables and metrics."""
    for name, table in evaluation.tables.items():
        write_result_table(folder / name, table)
    if evaluation.links and pipelines.inertial is not None:
        write_text(folder / POSTERIOR_FILE, pipelines.inertial.estimated_model().json_text())
    write_json(folder / METRICS_FILE, evaluation.metrics)


def _checked_rrd(path: Path | None) -> Path | None:
    """Return the file of ``--rrd`` if it can be written; None without the option.

    Raises:
        MissingDependencyError: If the viewer's package is not installed.
        ConfigurationError: If the file cannot be written.
    """
    if path is not None and importlib.util.find_spec("rerun") is None:
        needed = "--rrd needs the extra 'view': pip install 'inertial_estimation[view]'"
        raise MissingDependencyError(needed)
    return None if path is None else output_file(path, ".rrd", "--rrd")


def _moments(pipelines: Pipelines) -> Moments:
    """Return the observer that keeps the moments of a replay for the viewer."""
    tilt = pipelines.tilt
    first = next(one for one in (tilt, pipelines.inertial, pipelines.payload) if one is not None)
    loads = (lambda: tilt.contact_loads) if tilt is not None else tuple
    return Moments(first.robot, first.config.robot, loads)


def _write_view(
    path: Path, moments: Moments, pipelines: Pipelines, result: ReplayRun, evaluation: ReplayResults
) -> None:
    from inertial_estimation.view.robot_view import write_view

    robot, errors = pipelines.robot[0].robot, evaluation.errors.get("tilt")
    write_view(path, robot, pipelines.urdf, result.start_ns, moments.found, errors, evaluation.truth)


def print_input_warnings(result: ReplayRun) -> None:
    """Print the warnings about the inputs on stderr, a short line each.

    Raises:
        RecordingError: If the estimators gave no estimate at all.
    """
    wrong = [h for h in result.health if h.level > 0 and not h.requested and h.name != DATA_CHECKS]
    estimated = result.base or result.inertial or result.payload
    if wrong or not estimated:
        lines = []
        for health in wrong or result.health:
            drops = [f"{name} ({n})" for name, n in health.values.items() if name.startswith("dropped: ")]
            lines.append(one_line(", ".join((f"{health.name}: {health.message}", *drops)), limit=160))
        print("\n".join(dict.fromkeys(lines)), file=sys.stderr)
    if not estimated:
        raise RecordingError("the estimators gave no estimate on this recording")
