"""The command `experiment`: an experiment of the papers."""

import argparse
import math
import platform
import sys

from inertial_estimation import __version__
from inertial_estimation.commands.provenance import versions_of
from inertial_estimation.commands.terminal import drawing, progress_bar, table_lines
from inertial_estimation.errors import ConfigurationError, InertialEstimationError, counted
from inertial_estimation.experiments import registry
from inertial_estimation.experiments.registry import ALL, Experiment, find_experiment
from inertial_estimation.experiments.result import ExperimentResult, TableRow, result_document
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_json
from inertial_estimation.parallel import Workers

HEADER = ("quantity", "paper", "ours", "+-", "unit", "bound", "aim")
PACKAGES = ("numpy", "scipy", "pin", "mujoco", "proxsuite", "matplotlib", "vqf")


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
    print("\n".join(result_lines(experiment, result, quick=args.quick)))
    versions = {
        "python": platform.python_version(),
        "inertial_estimation": __version__,
        **versions_of(*PACKAGES),
    }
    document = result_document(experiment.name, experiment.source, result, versions, quick=args.quick)
    names = [f"{experiment.name}.{kind}" for kind in ("json", "png")]
    with result_folder(args.output, names) as partial:
        written = [write_json(partial / names[0], document)]
        if result.panels:
            with drawing("figure", "matplotlib"):
                from inertial_estimation.plots.png import write_png

                title = f"{experiment.name} ({experiment.source})"
                figure = partial / names[1]
                written.append(write_png(figure, title, result.panels, columns=result.columns))
    print(f"  written: {', '.join(str(args.output / file.name) for file in written)}")
    return result


def result_lines(experiment: Experiment, result: ExperimentResult, *, quick: bool = False) -> list[str]:
    """Return name and source, table, verdict and facts as lines of text."""
    return [
        f"{experiment.name}: {experiment.summary}",
        f"  {experiment.source}; {counted(len(result.seeds), 'seed')}",
        *(["  QUICK: shortened; exercises everything, proves nothing"] if quick else []),
        *table_lines([HEADER, *(_cells(row) for row in result.rows)], indent=2),
        f"  {result.verdict}",
        *(f"  - {fact}" for fact in result.facts),
    ]


def _cells(row: TableRow) -> tuple[str, ...]:
    numbers = (_number(row.paper, 4), _number(row.ours, 4), _number(row.spread, 2))
    judged = [
        f"{bound} {'met' if met else 'NOT MET'}" if bound else "-"
        for bound, met in ((row.bound, row.bound_met), (row.aim, row.aim_met))
    ]
    return (row.quantity, *numbers, row.unit or "-", *judged)


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if math.isfinite(value) else "none"
