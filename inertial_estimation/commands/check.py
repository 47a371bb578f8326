"""The command `check`: errors of a recording or a description, and parameters that correct them."""

import argparse
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from inertial_estimation.commands.main import WRONG_USE
from inertial_estimation.commands.terminal import (
    print_page,
    print_warnings,
    recording_with_warnings,
    result_folder_with_report,
)
from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, checked_overrides, robot_config
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.diagnosis.description import description_warnings
from inertial_estimation.diagnosis.diagnose import Diagnosis, diagnose
from inertial_estimation.diagnosis.finding import Finding, Verdict, as_json
from inertial_estimation.errors import RecordingError, one_line
from inertial_estimation.files.outputs import check_output_folder, output_file, write_json, write_text
from inertial_estimation.inputs.config import RobotConfig, RobotGeometryConfig
from inertial_estimation.inputs.robot_streams import RobotStreams
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.models.urdf import urdf_warnings
from inertial_estimation.parameters import parameter_values
from inertial_estimation.plots.check_report import check_page
from inertial_estimation.recordings.robot_streams import check_robot, read_streams
from inertial_estimation.signals import NANOSECONDS, seconds

JSON_FILE = "check.json"
FIX_HEAD = "# Written by 'inertial-estimation check"
FAILED = WRONG_USE  # exit code if the recording cannot be examined; 1 means that something is wrong with it


def run(args: argparse.Namespace) -> int:
    """Examine the recording, print the findings and write the files."""
    if args.output:
        check_output_folder(args.output, overwrite=args.overwrite)
    fix = output_file(args.fix, ".yaml", "--fix") if args.fix else None
    file = load_configs(args.config).overridden(checked_overrides(args.param, list(NODE_CONFIGS)))
    if file.nodes:
        file.check_nodes(list(NODE_CONFIGS))
    config = robot_config(file)
    urdf = read_urdf(args.urdf or config.urdf, folder=Path(file.name).parent)
    setup = robot_from_config(config, urdf)
    print_warnings(urdf_warnings(urdf))
    diagnosis = diagnose(_streams(args, file, config, setup), setup, config)
    print_warnings(description_warnings(setup.robot, np.random.default_rng(0)))
    page = check_page(diagnosis, str(args.bag), args.config, drawn=bool(args.output))
    if args.output:
        with result_folder_with_report(args.output, (JSON_FILE,), page) as partial:
            write_json(partial / JSON_FILE, as_json(diagnosis.findings))
    print_page(page, args.output)
    if fix is not None:
        _write_fix(fix, diagnosis, config, args)
    wrong = any(result.verdict is Verdict.WRONG for result in diagnosis.findings)
    return int(wrong)


def _streams(
    args: argparse.Namespace, file: ConfigFile, config: RobotConfig, setup: RobotSetup
) -> RobotStreams:
    """Read the inputs of the requested part of the recording."""
    topics = replay_topics(parameter_values(config), dict(args.remap))
    with recording_with_warnings(args.bag) as recording:
        total_s = seconds(recording.end_ns - recording.start_ns)
        if args.start >= total_s:
            raise RecordingError(
                f"'{recording.name}' has {total_s:.1f} s, expected more than --start and some 20 s"
            )
        check_robot(recording, topics, setup.robot, config)
        begin = recording.start_ns + round(args.start * NANOSECONDS)
        span_ns = begin, begin + round(args.duration * NANOSECONDS)
        given = file.anywhere({"contact.source"})  # a parameter of tilt_observer
        return read_streams(recording, topics, setup, config, span_ns, given.get("contact.source", ()))


def _write_fix(path: Path, diagnosis: Diagnosis, config: RobotConfig, args: argparse.Namespace) -> None:
    """Write the parameters that correct what was found; without any, remove the file of an earlier check."""
    values = fixed_parameters(diagnosis.findings, config)
    if values:
        bag = one_line(Path(args.bag).name)
        head = f"{FIX_HEAD} {bag}': load it after the robot's own file.\n"
        write_text(path, head + yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False))
        print(f"{'fix':<24}{path}: {', '.join(values)}")
        return
    print(f"{'fix':<24}nothing that was found can be set by parameters; no file is written")
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8").startswith(FIX_HEAD):
            path.unlink()
            print(f"{'fix':<24}{path}, written by an earlier check, is removed")


def fixed_parameters(findings: Iterable[Finding], config: RobotGeometryConfig) -> dict[str, Any]:
    """Return the parameters that correct what was found, by dotted name, for all nodes.

    Offsets and gains are combined with those with which the data were read.
    """
    offsets = dict(zip(config.joint_offsets.joints, config.joint_offsets.values, strict=True))
    gains = dict(zip(config.drive_gains.joints, config.drive_gains.values, strict=True))
    values: dict[str, Any] = {}
    fixes = [one.fix for one in findings]
    for fix in fixes:
        for joint, offset in fix.joint_offsets.items():
            offsets[joint] = round(offsets.get(joint, 0.0) + offset, 6)
        for joint, gain in fix.drive_gains.items():
            gains[joint] = float(f"{gains.get(joint, 1.0) * gain:.6g}")
        for name, value in fix.parameters.items():
            joined = name.endswith(".units") and isinstance(value, list) and name in values
            values[name] = [*values[name], *value] if joined else value  # type: ignore[misc]
    changed = (
        ("joint_offsets", offsets, any(fix.joint_offsets for fix in fixes)),
        ("drive_gains", gains, any(fix.drive_gains for fix in fixes)),
    )
    for name, by_joint, is_changed in changed:
        if is_changed:
            values[f"{name}.joints"] = list(by_joint)
            values[f"{name}.values"] = list(by_joint.values())
    return values
