"""The command `identify`: inertial parameters and friction from recordings."""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.commands.provenance import LONGEST_TEXT, provenance
from inertial_estimation.commands.terminal import (
    drawing,
    print_warnings,
    progress_bar,
    recording_with_warnings,
    table_lines,
)
from inertial_estimation.configuration.node_names import IDENTIFICATION
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.files.outputs import check_output_folder, result_folder
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    IdentificationReport,
    PayloadResult,
    relative_error,
    rounded,
)
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import METHODS, method_named
from inertial_estimation.offline.identification_run import (
    FILES,
    REPORT_FILE,
    IdentificationRun,
    block_stream,
    check_split,
    identification_topics,
    load_identification,
    run_identification,
    write_identification,
)
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.parameters import parameter_values
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
    with result_folder(folder, FILES) as partial:
        write_identification(partial, result, config, identifier.robot, source)
        if not args.no_figures:
            with drawing("report"):
                from inertial_estimation.plots.identification_report import write_identification_report

                write_identification_report(partial / REPORT_FILE, result, source)
    _print_warnings(result)
    _print_summary(folder, result)
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


def _print_summary(folder: Path, run: IdentificationRun) -> None:
    """Print the result, and the diagnostics that speak against it."""
    report, result = run.report, run.result
    data = report.training
    print(f"data                  {data.duration_s:.1f} s, {data.samples} samples, {data.rows} rows")
    print(f"rank                  {report.rank} of {report.unknowns}, condition {report.condition:.3g}")
    if len(report.methods) > 1:
        _print_methods(report)
    else:
        print(f"method                {result.method}")
    errors = [("fitted", result.relative_error, result.direct)]
    errors += [("other", result.relative_error_validation, result.validation)] if result.validation else []
    for data_of, error, rows in errors:
        nominal = _percent(relative_error(rows, "rms_nominal"))
        print(f"relative error        {_percent(error)} on {data_of} data (nominal {nominal})")
    bad = [body.link for body in result.bodies if body.violations]
    print(f"bodies                {'all consistent' if not bad else 'impossible: ' + ', '.join(bad)}")
    if result.payload:
        _print_payload(result.payload)
    for sentence in result_diagnostics(report):
        print(f"but                   {sentence}")
    print(f"results               {folder}")


def _print_methods(report: IdentificationReport) -> None:
    rows: list[tuple[str, ...]] = [("method", "fitted", "other", "cost", "other", "bodies")]
    for name, one in report.methods.items():
        bad = sum(1 for body in one.bodies if body.violations)
        verdict = "consistent" if not bad else f"{bad} of {len(one.bodies)} impossible"
        title = f"{name} (written)" if name == report.chosen else name
        errors = map(_percent, (one.relative_error, one.relative_error_validation))
        rows.append((title, *errors, f"{one.cost:.3g}", f"{one.cost_validation:.3g}", verdict))
    print("\n".join(table_lines(rows)))


def _print_payload(load: PayloadResult) -> None:
    def digits(values: Any, sigmas: Any) -> str:
        pairs = list(zip(values, sigmas, strict=True))
        found = ", ".join(f"{rounded(float(v), float(s)):.8g}" for v, s in pairs)
        return f"{found} (sigma {', '.join(f'{s:.2g}' for _value, s in pairs)})"

    mass, place = digits([load.inertia.mass], [load.mass_sigma]), " " * 22
    print(f"payload               {mass.replace(' (', ' kg (')} on '{load.link}'")
    if not load.mass_known:
        print(f"{place}centre of mass and inertia not determined: the mass may be zero")
        return
    moments = digits(np.diag(load.inertia.inertia_Fcm), np.diag(load.inertia_sigma))
    print(f"{place}centre of mass [m] {digits(load.inertia.com_F, load.com_sigma)} in its frame")
    print(f"{place}moments of inertia about it [kg m^2] {moments}")


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %" if value == value else "-"
