"""The command `experiment`: an experiment of the papers."""

import argparse
import math
import platform
import sys

from inertial_estimation import __version__
from inertial_estimation.commands.provenance import versions_of
from inertial_estimation.commands.terminal import print_page, progress_bar, result_folder_with_report
from inertial_estimation.errors import ConfigurationError, InertialEstimationError, counted
from inertial_estimation.experiments import registry
from inertial_estimation.experiments.registry import ALL, Experiment, find_experiment
from inertial_estimation.experiments.result import ExperimentResult, TableRow, result_document
from inertial_estimation.figures import Figure
from inertial_estimation.files.outputs import check_output_folder, write_json
from inertial_estimation.parallel import Workers
from inertial_estimation.plots.page import CAUTION, GOOD, Card, Cell, Notes, Page, Section, Table

HEADER = ("quantity", "paper", "ours", "+-", "unit", "bound", "aim")
PACKAGES = ("numpy", "scipy", "pin", "mujoco", "proxsuite", "vqf")


def run(args: argparse.Namespace) -> int:
    """Run the experiment, print its table and write the files."""
    if args.list:
        width = max(len(experiment.name) for experiment in registry.EXPERIMENTS)
        for experiment in registry.EXPERIMENTS:
            print(f"{experiment.name:<{width}}  {experiment.summary} ({experiment.source})")
        return 0
    if args.name is None:
        raise ConfigurationError("no experiment is named; 'experiment --list' lists them")
    args.output = check_output_folder(args.output, shared=True)
    chosen = None if args.name == ALL else find_experiment(args.name)
    workers = Workers(args.jobs)
    if chosen is None:
        return _run_all(args, workers)
    _run_one(chosen, args, workers)
    return 0


def _run_all(args: argparse.Namespace, workers: Workers) -> int:
    """Run every experiment; one that fails does not stop the others."""
    lines, failed = [], 0
    for experiment in registry.EXPERIMENTS:
        try:
            lines.append(f"{experiment.name}: {_run_one(experiment, args, workers).verdict}")
        except InertialEstimationError as error:
            failed += 1
            lines.append(f"{experiment.name}: FAILED: {error}")
            print(lines[-1], file=sys.stderr)
        print()
    print("\n".join(lines))
    return 1 if failed else 0


def _run_one(experiment: Experiment, args: argparse.Namespace, workers: Workers) -> ExperimentResult:
    seeds = range(args.seeds if args.seeds is not None else experiment.seeds)
    with progress_bar(experiment.name, 100.0, "%") as show:

        def progress(what: str, share: float) -> None:
            show(100.0 * share, what)

        result = experiment.run(seeds, progress, quick=args.quick, workers=workers)
    versions = {
        "python": platform.python_version(),
        "inertial_estimation": __version__,
        **versions_of(*PACKAGES),
    }
    document = result_document(experiment.name, experiment.source, result, versions, quick=args.quick)
    page = experiment_page(experiment, result, quick=args.quick)
    numbers, report = (f"{experiment.name}.{kind}" for kind in ("json", "html"))
    with result_folder_with_report(args.output, (numbers,), page, name=report) as partial:
        write_json(partial / numbers, document)
    print_page(page, args.output)
    return result


def experiment_page(experiment: Experiment, result: ExperimentResult, *, quick: bool) -> Page:
    """Return the page: verdict, the table with the numbers of the paper, facts and figure."""
    cards = [
        Card("experiment", experiment.name, f"{experiment.source}; {counted(len(result.seeds), 'seed')}")
    ]
    cards += [Card("QUICK", "shortened", "exercises everything, proves nothing")] if quick else []
    sections = [Section(experiment.summary, [Table(HEADER, list(map(_cells, result.rows)), (0, 4))], True)]
    sections += [Section("Facts", [Notes(result.facts)], printed=True)] if result.facts else []
    sections += [Section("Figure", [Figure(experiment.name, result.panels)])] if result.panels else []
    tone = CAUTION if result.missed else GOOD
    return Page(f"{experiment.name}: {experiment.summary}", result.verdict, tone, cards, sections)


def _cells(row: TableRow) -> list[str | Cell]:
    numbers = (_number(row.paper, 4), _number(row.ours, 4), _number(row.spread, 2))
    judged = [
        Cell(f"{bound} {'met' if met else 'NOT MET'}" if bound else "-", "" if met or not bound else "bad")
        for bound, met in ((row.bound, row.bound_met), (row.aim, row.aim_met))
    ]
    return [row.quantity, *numbers, row.unit or "-", *judged]


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if math.isfinite(value) else "none"
