"""`inertial-estimation check`: a recording examined, its findings as lines, page, JSON and parameter file."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from inertial_estimation.bring_up.doctor import Diagnosis, diagnose
from inertial_estimation.bring_up.fix_file import fixed_parameters
from inertial_estimation.bring_up.streams import RobotStreams, read_streams
from inertial_estimation.commands.arguments import check_output
from inertial_estimation.commands.remappings import parse_remappings
from inertial_estimation.commands.warnings_on_stderr import print_warnings
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters, checked_overrides
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.data_checks.check_result import CheckResult, Verdict, as_json
from inertial_estimation.errors import ConfigurationError, InertialEstimationError, RecordingError, one_line
from inertial_estimation.files.outputs import output_file, result_folder, write_text
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup, robot_from_config
from inertial_estimation.models.urdf_check import urdf_warnings
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.recordings.json_values import finite_values
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import NANOSECONDS, seconds

REPORT_FILE, JSON_FILE = "report.html", "check.json"
FIX_HEAD = "# Written by 'inertial-estimation check"
WRONG, UNUSABLE = 1, 2
MARKS = {Verdict.OK: "ok", Verdict.WARN: "WARN", Verdict.WRONG: "WRONG", Verdict.UNKNOWN: "?"}


def run(args: argparse.Namespace) -> int:
    """Examine the recording, print the findings and write the files."""
    try:
        return _run(args)
    except (InertialEstimationError, OSError) as error:
        print(f"inertial-estimation check: {one_line(error, limit=4000)}", file=sys.stderr)
        return UNUSABLE


def _run(args: argparse.Namespace) -> int:
    if args.output:
        check_output(args)
    fix = output_file(args.fix, ".yaml", "--fix") if args.fix else None
    config, urdf = _robot(args)
    setup = robot_from_config(config, urdf)
    print_warnings(urdf_warnings(urdf))
    streams = _streams(args, config, setup)
    diagnosis = diagnose(streams, setup, config)
    _print(diagnosis.results)
    if args.output:
        with result_folder(args.output, (REPORT_FILE, JSON_FILE)) as partial:
            values = finite_values(as_json(diagnosis.results))
            write_text(partial / JSON_FILE, json.dumps(values, indent=1) + "\n")
            _write_page(partial / REPORT_FILE, diagnosis, args)
        print(f"results      {args.output}")
    if fix is not None:
        _write_fix(fix, diagnosis, config, args)
    wrong = any(result.verdict is Verdict.WRONG for result in diagnosis.results)
    return WRONG if wrong else 0


def _robot(args: argparse.Namespace) -> tuple[RobotConfig, str]:
    """Return the robot's parameters and its description."""
    file = load_configs(args.config).overridden(checked_overrides(args.param, list(NODE_CONFIGS)))
    if file.nodes:
        file.check_nodes(list(NODE_CONFIGS))
    file.check_shared(all_parameters())
    known = {spec.name for spec in iterate_parameters(RobotConfig)}
    config = build_config(RobotConfig, file.anywhere(known), where=file.name, origins=file.origins_of())
    return config, read_urdf(args.urdf or config.urdf, folder=Path(file.name).parent)


def _streams(args: argparse.Namespace, config: RobotConfig, setup: RobotSetup) -> RobotStreams:
    """Read the inputs of the requested part of the recording."""
    robot = {"imu_frame": config.imu_frame, "contacts": config.contacts}
    topics = replay_topics(robot, parse_remappings(args.remap))
    with BagRecording(args.bag) as recording:
        print_warnings(recording.warnings)
        total_s = seconds(recording.end_ns - recording.start_ns)
        if total_s <= 0.0:
            raise RecordingError(f"'{recording.name}' has messages of one moment alone, expected some 20 s")
        if not 0.0 <= args.start < total_s or args.duration <= 0.0:
            raise ConfigurationError(
                f"--start is {args.start:g} s and --duration {args.duration:g} s, expected a part of the "
                f"recording of {total_s:.1f} s"
            )
        begin = recording.start_ns + round(args.start * NANOSECONDS)
        end = begin + round(args.duration * NANOSECONDS)
        return read_streams(recording, topics, setup, config, (begin, end))


def _print(results: list[CheckResult]) -> None:
    """Print a line a check, remedies below."""
    for result in results:
        print(f"{MARKS[result.verdict]:<6}{result.check} ({result.subject}): {result.sentence}")
        if result.remedy:
            print(f"        -> {result.remedy}")
    counts = {verdict: sum(result.verdict is verdict for result in results) for verdict in Verdict}
    print(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()))


def _write_page(path: Path, diagnosis: Diagnosis, args: argparse.Namespace) -> None:
    try:
        from inertial_estimation.plots.check_report import write_check_report
    except ImportError as error:
        print(f"no report: {error} (pip install matplotlib jinja2)", file=sys.stderr)
        return
    write_check_report(path, diagnosis, {"bag": str(args.bag), "config": list(args.config)})


def _write_fix(path: Path, diagnosis: Diagnosis, config: RobotConfig, args: argparse.Namespace) -> None:
    """Write the parameters that mend what was found, if there are any."""
    values: dict[str, Any] = fixed_parameters(diagnosis.findings, config)
    if not values:
        print("fix          nothing that was found can be set by parameters; no file is written")
        if _is_earlier_fix(path):
            path.unlink()
            print(f"fix          {path}, written by an earlier check, is removed")
        return
    bag = one_line(Path(args.bag).name)
    head = f"{FIX_HEAD} {bag}': load it after the robot's own file.\n"
    write_text(path, head + yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False))
    print(f"fix          {path}: {', '.join(values)}")


def _is_earlier_fix(path: Path) -> bool:
    """Return whether a file is one that an earlier check has written."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline().startswith(FIX_HEAD)
    except (OSError, UnicodeDecodeError):
        return False
