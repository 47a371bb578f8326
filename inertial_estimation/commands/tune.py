"""The command `tune`: better parameters of the estimators from recordings."""

import argparse
import math
from pathlib import Path
from typing import Any

from inertial_estimation.commands.provenance import provenance
from inertial_estimation.commands.terminal import (
    print_page,
    progress_bar,
    recording_with_warnings,
    result_folder_with_report,
)
from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import checked_overrides
from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.files.outputs import check_output_folder, write_json, write_text
from inertial_estimation.parallel import Workers
from inertial_estimation.plots.tuning_report import tuning_page
from inertial_estimation.replay.reference import ReplayReference, read_reference
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.tuning import TuningResult, as_json, tuned, tuned_text
from inertial_estimation.tuning.variation import parse_variations

NODES = (TILT_NODE, INERTIAL_NODE)
OPTIONS = ("vary", "trials", "seed", "start", "settle", "reference", "trusted")
TUNED_FILE, JSON_FILE = "tuned.yaml", "tuning.json"


def run(args: argparse.Namespace) -> int:
    """Read the recordings, search, judge and write the files."""
    _check_arguments(args)
    folder = check_output_folder(args.output, overwrite=args.overwrite)
    config = load_configs(args.config).overridden(checked_overrides(args.param, NODES))
    runs, references = _recordings(args, config)
    first = runs[0]
    variations = parse_variations(args.vary, first.configs)
    urdf = str(next(iter(first.parameters.values()))["urdf"]), first.urdf
    source = provenance(args, OPTIONS, bags=args.bags, urdf=urdf, parameters=first.parameters)
    results: list[TuningResult] = []
    changes: list[tuple[str, str, Any]] = []
    workers = Workers(args.jobs)
    with progress_bar("tune", math.nan) as show:
        for node in NODES:
            own = [variation for variation in variations if variation.node == node]
            if own:
                show(0.0, f"{args.trials} trials of {node}")
                on = [run.overridden(changes) for run in runs]
                options = {"trials": args.trials, "seed": args.seed, "settle_s": args.settle}
                results.append(tuned(on, references, own, workers=workers, **options))
                changes += [(node, name, value) for name, value in results[-1].changes.items()]
    page = tuning_page(results, source)
    drawn = not args.no_figures
    with result_folder_with_report(folder, (TUNED_FILE, JSON_FILE), page, drawn=drawn) as partial:
        bags = ", ".join(Path(bag).name for bag in args.bags)
        write_text(partial / TUNED_FILE, tuned_text(results, bags))
        write_json(partial / JSON_FILE, as_json(results, source))
    print_page(page, folder)
    return 0


def _check_arguments(args: argparse.Namespace) -> None:
    if args.trusted and not args.reference:
        raise ConfigurationError("--trusted needs --reference")
    if args.trusted and len(args.trusted) != len(args.bags):
        raise ConfigurationError(
            f"--trusted is given {len(args.trusted)} times for {len(args.bags)} bags, expected one for each"
        )
    paths = [Path(bag).resolve() for bag in args.bags]
    if len(set(paths)) < len(paths):
        raise RecordingError("a bag is given more than once: its data would count twice")


def _recordings(
    args: argparse.Namespace, config: ConfigFile
) -> tuple[list[RecordedRun], list[ReplayReference]]:
    runs, references = [], []
    remappings = dict(args.remap)
    for number, bag in enumerate(args.bags):
        with recording_with_warnings(bag) as recording:
            reference = ReplayReference()
            if args.reference:
                trusted = args.trusted[number] if args.trusted else None
                _topic, reference = read_reference(recording, Path(bag), args.reference, trusted, args.settle)
            references.append(reference)
            runs.append(
                RecordedRun(recording, config, urdf=args.urdf, remappings=remappings, start_s=args.start)
            )
    return runs, references
