"""The command `identify`: inertial parameters and friction from recordings."""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from inertial_estimation.commands.provenance import LONGEST_TEXT, provenance
from inertial_estimation.commands.terminal import (
    print_page,
    print_warnings,
    progress_bar,
    recording_with_warnings,
    result_folder_with_report,
)
from inertial_estimation.configuration.node_names import IDENTIFICATION
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.files.outputs import check_output_folder
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import METHODS, method_named
from inertial_estimation.offline.identification_run import (
    FILES,
    IdentificationRun,
    block_stream,
    check_split,
    identification_topics,
    load_identification,
    run_identification,
    write_identification,
)
from inertial_estimation.parameters import parameter_values
from inertial_estimation.plots.identification_report import identification_page
from inertial_estimation.recordings.robot_streams import check_robot
from inertial_estimation.signals import seconds

OPTIONS = ("method", "split", "links", "payload", "unloaded", "validate", "remap")


def run(args: argparse.Namespace) -> int:
    """Stream the recordings, identify, write the files and print a summary."""
    _check_arguments(args)
    folder = check_output_folder(args.output, overwrite=args.overwrite)
    config, folder_of_urdf = load_identification(args.config, args.param, args.links)
    config = replace(config, payload=args.payload or config.payload)
    if args.unloaded and not config.payload:
        raise ConfigurationError("--unloaded needs the link of the load: give it with --payload LINK")
    urdf = read_urdf(args.urdf or config.robot.urdf, folder=folder_of_urdf)
    identifier = Identifier(config, urdf)
    result = _identified(args, config, identifier)
    source = _source(args, config, identifier, urdf)
    page = identification_page(result, source)
    with result_folder_with_report(folder, FILES, page, drawn=not args.no_figures) as partial:
        write_identification(partial, result, config, identifier.robot, source)
    _print_warnings(result)
    print_page(page, folder)
    return 0 if result.model else 1


def _check_arguments(args: argparse.Namespace) -> None:
    method_named(args.method)
    if args.split is not None and args.validate:
        raise ConfigurationError("--split and --validate exclude each other: give one of them")
    paths = [Path(bag).resolve() for bag in (*args.bags, *args.unloaded, *args.validate)]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise RecordingError(f"'{twice}' is given more than once: each recording has one use")


def _identified(
    args: argparse.Namespace, config: IdentificationConfig, identifier: Identifier
) -> IdentificationRun:
    topics = identification_topics(config, dict(args.remap))
    uses = (args.bags, args.unloaded, args.validate)
    with ExitStack() as stack:
        opened = [[stack.enter_context(recording_with_warnings(bag)) for bag in bags] for bags in uses]
        recordings = [recording for one in opened for recording in one]
        for recording in recordings:
            check_robot(recording, topics, identifier.robot, config.robot)
        streams, unloaded, held_out = (
            [block_stream(recording, topics, identifier, config) for recording in one] for one in opened
        )
        if args.split is not None:
            for recording in (*opened[0], *opened[1]):
                check_split(recording, args.split)
        total_ns = sum(recording.end_ns - recording.start_ns for recording in recordings)
        done: dict[str, float] = {}

        def progress(name: str, done_s: float) -> None:
            done[name] = done_s
            show(sum(done.values()))

        with progress_bar("identify", seconds(total_ns), "s") as show:
            result = run_identification(
                identifier,
                streams,
                held_out,
                methods=list(METHODS) if args.compare else [args.method],
                chosen=args.method,
                unloaded=unloaded,
                split_s=args.split,
                progress=progress,
            )
        print_warnings(
            [f"'{one.name}': {text}" for one in (*streams, *unloaded, *held_out) for text in one.remarks]
        )
        return result


def _source(
    args: argparse.Namespace, config: IdentificationConfig, identifier: Identifier, urdf: str
) -> dict[str, Any]:
    record = provenance(
        args,
        OPTIONS,
        bags=[*args.bags, *args.unloaded, *args.validate],
        urdf=(config.robot.urdf, urdf),
        parameters={IDENTIFICATION: parameter_values(config)},
    )
    source = args.urdf or config.robot.urdf
    return {
        "robot": identifier.robot.model.name,
        "bags": [str(bag) for bag in args.bags],
        "unloaded_bags": [str(bag) for bag in args.unloaded],
        "validation_bags": [str(bag) for bag in args.validate],
        "split_s": args.split,
        "config": list(args.config),
        "settings": {**record["parameters"][IDENTIFICATION], "urdf": source[:LONGEST_TEXT]},
        "provenance": record,
    }


def _print_warnings(result: IdentificationRun) -> None:
    """Print warnings about the data, readings left out, and why there is no URDF, to stderr."""
    report = result.report
    print_warnings(report.warnings)
    for name, data in (("fitted data", report.training), ("other data", report.validation)):
        if data is not None and data.dropped:
            left_out = ", ".join(f"{reason} ({count})" for reason, count in data.dropped.items())
            print(f"left out of the {name}: {left_out}", file=sys.stderr)
    if result.refusal:
        print(result.refusal, file=sys.stderr)
