"""Run a rosbag2 recording through the same estimators as the nodes, without ROS.

Writes base_orientation.csv, link_inertias.csv, trunk_inertia.csv, metrics.json and figures.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inertial_estimation.commands.arguments import add_output, add_param, add_remap, add_robot, check_output
from inertial_estimation.commands.progress_bar import progress_bar
from inertial_estimation.commands.remappings import parse_remappings
from inertial_estimation.commands.replay_view import replay_view
from inertial_estimation.commands.rrd_option import add_rrd, checked_rrd
from inertial_estimation.commands.warnings_on_stderr import print_warnings
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.node_configs import checked_overrides
from inertial_estimation.configuration.pipelines import CONFIG_CLASSES, build_pipelines, replay_topics
from inertial_estimation.data_checks.check_result import NAME as DATA_CHECKS
from inertial_estimation.data_checks.check_result import CheckResult, Verdict, in_words, severest_first
from inertial_estimation.errors import ConfigurationError, RecordingError, listing
from inertial_estimation.estimators.inertial.adaptive_noise import noise_sentence
from inertial_estimation.estimators.payload.payload_estimate import Phase
from inertial_estimation.files.outputs import result_folder
from inertial_estimation.recordings.recording import BagRecording, read_orientations
from inertial_estimation.replay.replay import ReplayRun, replay_recording
from inertial_estimation.replay.replay_metrics import ReplayResults, replay_results
from inertial_estimation.replay.result_files import (
    BASE_FILE,
    FIGURES,
    LINK_FILE,
    METRICS_FILE,
    TRUNK_FILE,
    read_trusted,
    write_base_orientation,
    write_link_inertias,
    write_metrics,
    write_trunk_inertia,
)
from inertial_estimation.signals import NANOSECONDS, Health, seconds

__all__ = ["add_arguments", "run"]

NOISE_BAND = 1.7  # factor between seen and stated noise that is worth a line
OWN_FILES = (BASE_FILE, LINK_FILE, TRUNK_FILE, METRICS_FILE, *FIGURES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", type=Path, help="rosbag2 folder, or its .mcap or .db3 file")
    add_robot(parser, "icub, panda", "offsets, friction")
    add_output(parser)
    parser.add_argument("--start", type=float, default=0.0, metavar="S", help="begin S seconds into the bag")
    parser.add_argument(
        "--hold-out",
        type=float,
        metavar="S",
        help="freeze the estimates S seconds after the start of the bag; torque errors are of the rest",
    )
    parser.add_argument(
        "--reference", metavar="TOPIC", help="topic of the true orientation, PoseStamped or QuaternionStamped"
    )
    parser.add_argument(
        "--trusted",
        type=Path,
        metavar="CSV",
        help="file with 0 or 1 for each sample of the reference: whether it is trusted",
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=0.0,
        metavar="S",
        help="exclude the first S seconds of estimates from the tilt error",
    )
    add_remap(parser)
    add_param(parser, "NODE.NAME=VALUE")
    parser.add_argument("--no-figures", action="store_true", help="write no figures")
    add_rrd(parser)


def run(args: argparse.Namespace) -> int:
    """Replay the recording, compute the metrics and write the files."""
    if args.trusted and not args.reference:
        raise ConfigurationError("--trusted needs --reference")
    folder, rrd_file = check_output(args), checked_rrd(args)
    config = load_configs(args.config).overridden(checked_overrides(args.param, list(CONFIG_CLASSES)))
    trusted = read_trusted(args.trusted) if args.trusted else None
    with BagRecording(args.bag) as recording:
        print_warnings(recording.warnings)
        reference = read_orientations(recording, args.reference) if args.reference else None
        if trusted is not None and reference is not None and len(trusted) != len(reference):
            raise RecordingError(
                f"'{args.trusted}' has {len(trusted)} flags, expected one for each of the "
                f"{len(reference)} messages on '{args.reference}'"
            )
        pipelines = build_pipelines(config, urdf=args.urdf)
        print_warnings(pipelines.urdf_warnings)
        topics = replay_topics(
            pipelines.values, parse_remappings(args.remap), wrenches=pipelines.use_wrenches
        )
        length_s = seconds(recording.end_ns - recording.start_ns) - args.start
        if args.settle and not 0.0 <= args.settle < length_s:
            raise ConfigurationError(f"--settle is {args.settle:g} s, expected 0 to {length_s:.1f} s")
        rrd = replay_view(rrd_file, recording, topics, pipelines, reference=reference is not None)
        with rrd as view, progress_bar("replay", length_s, "s") as progress:
            result = replay_recording(
                recording,
                topics,
                tilt=pipelines.tilt,
                inertial=pipelines.inertial,
                payload=pipelines.payload,
                checks=pipelines.checks,
                start_s=args.start,
                hold_out_s=args.hold_out,
                progress=progress,
                watcher=view.watcher,
            )
            evaluation = replay_results(
                result,
                pipelines=pipelines,
                reference=reference,
                trusted=trusted,
                hold_out_ns=_hold_out_stamp(recording, result, args),
                settle_s=args.settle,
            )
            view.show_reference(evaluation.tilt_errors)
    _warn(result, evaluation)
    with result_folder(folder, OWN_FILES) as partial:
        _write(partial, evaluation, figures=not args.no_figures)
    _print_checks(result.checks)
    _summarise(folder, evaluation, result.checks)
    return 0


def _hold_out_stamp(recording: BagRecording, result: ReplayRun, args: argparse.Namespace) -> int | None:
    if args.hold_out is None:
        return None
    return int(recording.start_ns + result.clock_offset_ns + round(args.hold_out * NANOSECONDS))


def _write(folder: Path, evaluation: ReplayResults, *, figures: bool) -> None:
    if len(evaluation.tilt.stamps_ns):
        write_base_orientation(folder / BASE_FILE, evaluation.tilt)
    if len(evaluation.inertial.stamps_ns):
        write_link_inertias(folder / LINK_FILE, evaluation.inertial)
    if evaluation.payload is not None:
        write_trunk_inertia(folder / TRUNK_FILE, evaluation.payload)
    write_metrics(folder / METRICS_FILE, evaluation.metrics)
    if figures:
        try:
            from inertial_estimation.plots.replay_figures import write_figures
        except ImportError as error:
            print(f"no figures: {error} (pip install matplotlib)", file=sys.stderr)
            return
        write_figures(folder, evaluation)


def _warn(result: ReplayRun, evaluation: ReplayResults) -> None:
    """Print what is wrong with the inputs on stderr."""
    for health in result.health:
        if health.level > 0 and not health.requested and health.name != DATA_CHECKS:
            print(_said(health), file=sys.stderr)
    if not (len(evaluation.tilt.stamps_ns) or len(evaluation.inertial.stamps_ns) or evaluation.payload):
        said = "; ".join(dict.fromkeys(_said(health) for health in result.health))
        raise RecordingError(f"the estimators gave no estimate on this recording ({said})")


def _said(health: Health) -> str:
    """One line: the message, and for an input why readings were dropped."""
    drops = [f"{name} ({count})" for name, count in health.values.items() if name.startswith("dropped: ")]
    return f"{health.name}: {health.message}" + (f", {', '.join(drops)}" if drops else "")


def _print_checks(results: list[CheckResult]) -> None:
    """Print what is not right about the data, and how many checks found nothing."""
    if not results:
        print("data checks           too few data to judge")
        return
    lines = in_words(results)
    ok = sum(not result.failed for result in results)
    print(f"data checks           {ok} ok" + (f", {len(results) - ok} not:" if lines else ""))
    for line in lines:
        print(f"  {line}")


def _number(metrics: Mapping[str, Any], name: str, text: str, results: list[CheckResult]) -> str:
    """Return the text of a metric, or what to check first where its value is implausible."""
    why = metrics["implausible"].get(name)
    if why is None:
        wrong = any(result.verdict is Verdict.WRONG for result in results)
        return f"{text}  (doubtful: see the data checks)" if wrong else text
    failed = dict.fromkeys(f"{r.check} of {r.subject}" for r in severest_first(results))
    check = listing(list(failed), limit=3) if failed else "signs, units and the description"
    return f"implausible ({why}): check {check}"


def _summarise(folder: Path, evaluation: ReplayResults, results: list[CheckResult]) -> None:
    metrics = evaluation.metrics
    if "tilt_error_deg" in metrics:
        values = "  ".join(f"{name} {value:.3f}" for name, value in metrics["tilt_error_deg"].items())
        print(f"tilt error [deg]      {values}")
    if "total_mass_kg" in metrics:
        mass = _number(metrics, "total_mass_kg", f"{metrics['total_mass_kg']:.3f}", results)
        print(f"total mass [kg]       {mass}")
    if "trunk" in metrics:
        _summarise_trunk(metrics)
    if "torque_error_relative" in metrics:
        text = f"{100 * metrics['torque_error_relative']:.2f} %"
        print(f"torque error          {_number(metrics, 'torque_error_relative', text, results)}")
    if metrics.get("noise"):
        _summarise_noise(metrics)
    for name, times in metrics["tick_us"].items():
        print(f"{name:<21} p50 {times['p50']:.0f} us  p99 {times['p99']:.0f} us")
    print(f"speed                 {metrics['realtime_factor']:.1f} x real time")
    print(f"results               {folder}")


def _summarise_noise(metrics: Mapping[str, Any]) -> None:
    """Print the NIS, and which stated noise it contradicts."""
    nis = metrics["nis"]
    print(f"NIS                   median {nis['median']:.2g}, expected {nis['expected']}")
    for parameter, factors in metrics["noise"].items():
        if not 1.0 / NOISE_BAND < factors["seen"] < NOISE_BAND:
            print(f"  {noise_sentence(parameter, factors['seen'])}: used times {factors['used']:.2g}")


def _summarise_trunk(metrics: Mapping[str, Any]) -> None:
    trunk = metrics["trunk"]
    com = "  ".join(f"{1e3 * value:.1f}" for value in trunk["com_m"])
    print(f"trunk [kg]            {trunk['mass_kg']:.3f}  payload {trunk['payload_kg']:+.3f}")
    print(f"trunk's com [mm]      {com}")
    for change in metrics["load_changes"]:
        print(f"  at {change['time_s']:8.3f} s       {change['message']}")
    if trunk["phase"] != Phase.WATCHING.value:
        doing = f"{trunk['method']}, phase {trunk['phase']}"
        print(f"  at the end          identification under way ({doing}): not yet a result")
