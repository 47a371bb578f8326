"""The command `replay`: a recording through the estimators, and the summary of its results."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inertial_estimation.commands.provenance import provenance
from inertial_estimation.commands.terminal import (
    drawing,
    print_warnings,
    progress_bar,
    recording_with_warnings,
)
from inertial_estimation.configuration.config_file import load_configs
from inertial_estimation.configuration.node_configs import checked_overrides
from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines
from inertial_estimation.diagnosis.finding import NAME as DATA_CHECKS
from inertial_estimation.diagnosis.finding import Finding, Verdict, in_words, severest_first
from inertial_estimation.errors import (
    ConfigurationError,
    MissingDependencyError,
    RecordingError,
    listing,
    one_line,
    to_sigma,
    with_sigma,
)
from inertial_estimation.files.outputs import (
    check_output_folder,
    output_file,
    result_folder,
    write_json,
    write_text,
)
from inertial_estimation.inertial.noise import noise_sentence
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.recordings.robot_streams import check_robot
from inertial_estimation.replay.reference import read_reference
from inertial_estimation.replay.replay import ReplayReaders, ReplayRun, replay_recording
from inertial_estimation.replay.results import (
    BASE_ERRORS,
    NOISE_BAND,
    ReplayResults,
    nis_sentence,
    replay_results,
)
from inertial_estimation.replay.tables import METRICS_FILE, REPORT_FILE, TABLES, write_result_table
from inertial_estimation.signals import NANOSECONDS, seconds

if TYPE_CHECKING:
    from inertial_estimation.view.moments import Moments

NODES = (TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE)
OWN_FILES = (*TABLES, METRICS_FILE, REPORT_FILE)
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
        with result_folder(folder, OWN_FILES) as partial:
            _write(partial, args, evaluation, pipelines)
    print_summary(folder, evaluation, result.checks)
    return 0


def _write(folder: Path, args: argparse.Namespace, evaluation: ReplayResults, pipelines: Pipelines) -> None:
    """Write tables, metrics and report."""
    for name, table in evaluation.tables.items():
        write_result_table(folder / name, table)
    if evaluation.links and pipelines.inertial is not None:
        write_text(folder / POSTERIOR_FILE, pipelines.inertial.estimated_model().json_text())
    write_json(folder / METRICS_FILE, evaluation.metrics)
    if not args.no_figures:
        with drawing("report"):
            from inertial_estimation.plots.replay_report import write_replay_report

            write_replay_report(folder / REPORT_FILE, evaluation)


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
    from inertial_estimation.view.moments import Moments

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


INCLUDED = " (it contains errors of real robots and sensors; a simulation has less)"


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


def print_summary(folder: Path, evaluation: ReplayResults, results: list[Finding]) -> None:
    """Print the verdicts on the data, the estimates, and the folder of the results."""
    metrics = evaluation.metrics
    _print_checks(results)
    _print_base(metrics)
    if "total_mass_kg" in metrics:
        mass = _number(metrics, "total_mass_kg", f"{metrics['total_mass_kg']:.4g}", results)
        print(f"total mass [kg]       {mass}")
        _print_links(metrics)
    if "trunk" in metrics:
        _print_trunk(metrics)
    if "torque_error_relative" in metrics:
        text = f"{100 * metrics['torque_error_relative']:.2f} %"
        print(f"torque error          {_number(metrics, 'torque_error_relative', text, results)}")
    if "nis" in metrics:
        _print_innovations(metrics)
    for name, times in metrics["tick_us"].items():
        print(f"{name:<21} p50 {times['p50']:.0f} us  p99 {times['p99']:.0f} us")
    print(f"speed                 {metrics['realtime_factor']:.1f} x real time")
    print(f"results               {folder}")


def _print_checks(results: list[Finding]) -> None:
    """Print the problems of the data, and the number of checks that found none."""
    if not results:
        print("data checks           too few data to judge")
        return
    lines = in_words(results)
    ok = sum(not result.failed for result in results)
    print(f"data checks           {ok} ok" + (f", {len(results) - ok} not:" if lines else ""))
    for line in lines:
        print(f"  {line}")


def _number(metrics: Mapping[str, Any], name: str, text: str, results: list[Finding]) -> str:
    """Return the text of a metric; if its value is implausible, a text that tells what to check first."""
    why = metrics["implausible"].get(name)
    if why is None:
        wrong = any(result.verdict is Verdict.WRONG for result in results)
        return f"{text}  (uncertain: see the data checks)" if wrong else text
    failed = dict.fromkeys(f"{r.check} of {r.subject}" for r in severest_first(results))
    check = listing(list(failed), limit=3) if failed else "signs, units and the description"
    return f"implausible ({why}): check {check}"


def _print_base(metrics: Mapping[str, Any]) -> None:
    def statistics(values: Mapping[str, float]) -> str:
        return "  ".join(f"{name} {value:.3f}" for name, value in values.items())

    for name, quantity, unit in BASE_ERRORS:
        if name in metrics:
            print(f"{f'{quantity} error [{unit}]':<21} {statistics(metrics[name])}")
    true = metrics.get("truth", {}).get("tilt_error_deg")
    if true is not None:
        print(f"  against the truth   {statistics(true)}  (without alignment)")
    if "tilt_sigma_deg" in metrics:
        sigma = metrics["tilt_sigma_deg"]
        reason = INCLUDED if true is not None and sigma > 2.0 * true["rms"] else ""
        print(f"tilt's sigma [deg]    median {sigma:.3f}{reason}")


def _print_links(metrics: Mapping[str, Any]) -> None:
    """Print a line for each link: mass with its standard deviation, payload, and the error if it is known."""
    truth = metrics.get("truth", {}).get("links", {})
    links = metrics["links"]
    width = max(map(len, links), default=0)
    for name, link in links.items():
        uninformed = "  not measured by this recording" if "mass" in link["not_informed"] else ""
        true = truth.get(name)
        error = f"  truth {true['true_mass_kg']:.3f}" if true else ""
        error += f" (error {round(true['mass_error_sigmas'], 1) + 0.0} sigma)" if true else ""
        sigma = link["mass_sigma_kg"]
        mass, load = with_sigma(link["mass_kg"], sigma), to_sigma(link["payload_kg"], sigma)
        print(f"  {name:<{width}}  {mass:>15} kg  payload {load}{error}{uninformed}")


def _print_innovations(metrics: Mapping[str, Any]) -> None:
    """Print the verdict on the NIS, and the stated noises that contradict it."""
    nis = metrics["nis"]
    print(f"NIS                   {nis['verdict']}: {nis_sentence(nis)}")
    for parameter, factor in metrics["noise"].items():
        if not 1.0 / NOISE_BAND < factor < NOISE_BAND:
            sentence = noise_sentence(parameter, factor)
            reason = INCLUDED if factor < 1.0 else ""
            print(f"  {sentence}{reason}; the filter ended with {factor:.2g} times the stated one")


def _print_trunk(metrics: Mapping[str, Any]) -> None:
    trunk = metrics["trunk"]
    com = "  ".join(
        f"{axis} not measured" if f"com_{axis}" in trunk["not_informed"] else f"{1e3 * value:.1f}"
        for axis, value in zip("xyz", trunk["com_m"], strict=True)
    )
    true = metrics.get("truth", {}).get("trunk")
    error = f"  truth {true['true_mass_kg']:.3f}" if true else ""
    sigma = trunk["mass_sigma_kg"]
    mass, load = with_sigma(trunk["mass_kg"], sigma), to_sigma(trunk["payload_kg"], sigma)
    print(f"trunk [kg]            {mass}  payload {load}{error}")
    print(f"trunk's com [mm]      {com}")
    for change in metrics["load_changes"]:
        print(f"  at {change['time_s']:8.3f} s       {change['message']}")
    if trunk["phase"] != Phase.WATCHING.value:
        doing = f"{trunk['method']}, phase {trunk['phase']}"
        print(f"  at the end          identification under way ({doing}): not yet a result")
