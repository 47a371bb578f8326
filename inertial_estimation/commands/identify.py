"""Identify inertial parameters and friction from recordings.

Writes identification.json, report.html, identified.urdf and friction.yaml (a parameter file for the nodes)
into the output folder. Parameters are those of the sections /**, inertial_ekf (rows, friction) and
identification of the parameter file.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from inertial_estimation.commands.arguments import add_output, add_param, add_remap, add_robot, check_output
from inertial_estimation.commands.progress_bar import progress_bar
from inertial_estimation.commands.remappings import parse_remappings
from inertial_estimation.commands.warnings_on_stderr import print_warnings
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.node_configs import IDENTIFICATION, checked_overrides
from inertial_estimation.configuration.pipelines import INERTIAL_NODE
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.files.outputs import result_folder
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import IdentificationReport, MethodResult
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import METHODS, method_named
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.identification_files import FILES, REPORT_FILE, write_identification
from inertial_estimation.offline.identification_run import (
    IdentificationRun,
    block_stream,
    nominal_error,
    run_identification,
)
from inertial_estimation.offline.identification_setup import (
    check_different_data,
    check_split,
    identification_config,
    identification_topics,
)
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.parameters import parameter_values, replace_value
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import seconds

__all__ = ["add_arguments", "run"]

DEFAULT_METHOD = "consistent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", nargs="+", metavar="BAG", help="rosbag2 folders, or .mcap or .db3 files")
    add_robot(parser, "icub, panda", "offsets, known friction")
    add_output(parser)
    parser.add_argument("--method", default="", help=f"one of {', '.join(METHODS)}; default {DEFAULT_METHOD}")
    parser.add_argument(
        "--compare", action="store_true", help="run all methods; the result of --method is written"
    )
    parser.add_argument(
        "--validate",
        action="append",
        default=[],
        metavar="BAG",
        help="recording that validates the result; repeat it for more",
    )
    parser.add_argument(
        "--split",
        type=float,
        metavar="S",
        help="fit the first S seconds of each bag and validate with the rest",
    )
    parser.add_argument(
        "--links",
        nargs="+",
        default=[],
        metavar="LINK",
        help="identify only the bodies of these links, by name or pattern",
    )
    add_remap(parser)
    add_param(parser, "identification.NAME=VALUE")
    parser.add_argument("--no-report", action="store_true", help="write no report.html")


def run(args: argparse.Namespace) -> int:
    """Stream the recordings, identify, write the files and print a summary."""
    method = args.method or DEFAULT_METHOD
    methods = list(METHODS) if args.compare else [method]
    method_named(method)
    _check_arguments(args)
    folder = check_output(args)
    file = load_configs(args.config).overridden(
        checked_overrides(args.param, (IDENTIFICATION, INERTIAL_NODE))
    )
    config = identification_config(file)
    if args.links:
        config = replace_value(config, "links", args.links)
    identifier = Identifier(config, read_urdf(args.urdf or config.robot.urdf, folder=Path(file.name).parent))
    topics = identification_topics(config, parse_remappings(args.remap))
    with ExitStack() as stack:
        training = [stack.enter_context(BagRecording(bag)) for bag in args.bags]
        validation = [stack.enter_context(BagRecording(bag)) for bag in args.validate]
        for recording in (*training, *validation):
            print_warnings(recording.warnings)
        streams, held_out = (
            [block_stream(recording, topics, identifier, config) for recording in recordings]
            for recordings in (training, validation)
        )
        if args.split is not None:
            for recording in training:
                check_split(recording, args.split)
        for other in validation:
            for recording in training:
                check_different_data(recording, other, topics.joints)
        with _progress_bar([*training, *validation]) as progress:
            result = run_identification(
                identifier,
                streams,
                held_out,
                methods=methods,
                chosen=method,
                split_s=args.split,
                progress=progress,
            )
    source = _source(args, config, identifier)
    with result_folder(folder, FILES) as partial:
        write_identification(partial, result, config, identifier.robot, source)
        if not args.no_report:
            _write_page(partial, result, source)
    _warn(result)
    _summarise(folder, result)
    return 0


def _check_arguments(args: argparse.Namespace) -> None:
    if args.split is not None and args.validate:
        raise ConfigurationError("--split and --validate exclude each other: give one of them")
    paths = [Path(bag).resolve() for bag in args.bags]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise RecordingError(f"'{twice}' is given more than once: its data would count twice")


def _source(args: argparse.Namespace, config: IdentificationConfig, identifier: Identifier) -> dict[str, Any]:
    settings = {name: _plain(value) for name, value in parameter_values(config).items()}
    return {
        "robot": identifier.robot.model.name,
        "bags": [str(bag) for bag in args.bags],
        "validation_bags": [str(bag) for bag in args.validate],
        "split_s": args.split,
        "config": list(args.config),
        "settings": {**settings, "urdf": (args.urdf or config.robot.urdf)[:200]},
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _write_page(folder: Path, result: IdentificationRun, source: dict[str, Any]) -> None:
    try:
        from inertial_estimation.plots.identification_report import write_identification_report
    except ImportError as error:
        print(f"no report: {error} (pip install matplotlib jinja2)", file=sys.stderr)
        return
    write_identification_report(folder / REPORT_FILE, result, source)


def _warn(result: IdentificationRun) -> None:
    report = result.report
    print_warnings(report.warnings)
    for name, data in (("fitted data", report.training), ("other data", report.validation)):
        if data is not None and data.dropped:
            left_out = ", ".join(f"{reason} ({count})" for reason, count in data.dropped.items())
            print(f"left out of the {name}: {left_out}", file=sys.stderr)
    if result.refusal:
        print(result.refusal, file=sys.stderr)


def _summarise(folder: Path, run: IdentificationRun) -> None:
    report, result = run.report, run.result
    data = report.training
    print(f"data                  {data.duration_s:.1f} s, {data.samples} samples, {data.rows} rows")
    print(f"rank                  {report.rank} of {report.unknowns}, condition {report.condition:.3g}")
    if len(report.methods) > 1:
        _print_methods(report)
    else:
        print(f"method                {result.method}")
    print(
        f"relative error        {_percent(result.relative_error)} on the fitted data "
        f"(nominal {_percent(nominal_error(result.direct))})"
    )
    if result.validation:
        print(
            f"                      {_percent(result.relative_error_validation)} on other data "
            f"(nominal {_percent(nominal_error(result.validation))})"
        )
    _print_base(result)
    bad = [body.link for body in result.bodies if body.violations]
    print(f"bodies                {'all consistent' if not bad else 'impossible: ' + ', '.join(bad)}")
    for sentence in result_diagnostics(report):
        print(f"but                   {sentence}")
    print(f"results               {folder}")


def _print_methods(report: IdentificationReport) -> None:
    print(f"{'method':<22}{'fitted':>9}{'other':>9}{'cost':>10}{'other':>10}   bodies")
    for name, one in report.methods.items():
        bad = sum(1 for body in one.bodies if body.violations)
        mark = " (written)" if name == report.chosen else ""
        verdict = "consistent" if not bad else f"{bad} of {len(one.bodies)} impossible"
        print(
            f"{name:<22}{_percent(one.relative_error):>9}{_percent(one.relative_error_validation):>9}"
            f"{one.cost:>10.3g}{one.cost_validation:>10.3g}   {verdict}{mark}"
        )


def _print_base(result: MethodResult) -> None:
    """Print the prediction error of the base rows if the relative error covers only joint torques."""
    for rows, data in ((result.direct, "fitted"), (result.validation, "other")):
        base = [row for row in rows if row.row in BASE_ROWS]
        if base and len(base) < len(rows):
            measured, left, nominal = (
                math.hypot(*(getattr(row, name) for row in base))
                for name in ("rms_measured", "rms", "rms_nominal")
            )
            if measured > 0.0:
                print(
                    f"base rows             {_percent(left / measured)} on the {data} data "
                    f"(nominal {_percent(nominal / measured)})"
                )


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %" if value == value else "-"


@contextmanager
def _progress_bar(recordings: Sequence[BagRecording]) -> Iterator[Callable[[str, float], None]]:
    """Show one progress bar for all recordings."""
    total_s = seconds(sum(recording.end_ns - recording.start_ns for recording in recordings))
    done: dict[str, float] = {}
    with progress_bar("identify", total_s, "s") as show:

        def add(name: str, done_s: float) -> None:
            done[name] = done_s
            show(sum(done.values()))

        yield add
