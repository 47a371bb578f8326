"""`inertial-estimation experiment`: an experiment of the registry, its table and files."""

import argparse
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from inertial_estimation import __version__
from inertial_estimation.commands.progress_bar import progress_lines
from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.experiments.experiment import Progress
from inertial_estimation.experiments.experiment_result import ExperimentResult
from inertial_estimation.experiments.registry import ALL, EXPERIMENTS, RegisteredExperiment, find_experiment
from inertial_estimation.experiments.result_file import result_document, write_result
from inertial_estimation.experiments.result_table import result_lines, verdict
from inertial_estimation.files.outputs import check_output_folder, result_folder
from inertial_estimation.parallel import Workers, open_workers

PACKAGES = ("numpy", "scipy", "pin", "mujoco", "proxsuite", "matplotlib", "vqf")


def run(args: argparse.Namespace) -> int:
    """Run the experiment, print its table and write the files."""
    if args.list:
        print("\n".join(_listed()))
        return 0
    if args.name is None:
        raise ConfigurationError("no experiment is named; 'experiment --list' lists them")
    if args.seeds is not None and args.seeds < 1:
        raise ConfigurationError(f"--seeds is {args.seeds}, expected at least 1")
    args.output = check_output_folder(args.output, shared=True)
    chosen = None if args.name == ALL else find_experiment(args.name)
    with open_workers(args.jobs, args.cluster) as workers:
        if chosen is None:
            return _run_all(args, workers)
        _run_one(chosen, args, workers)
    return 0


def _listed() -> list[str]:
    width = max(len(experiment.name) for experiment in EXPERIMENTS)
    return [
        f"{experiment.name:<{width}}  {experiment.summary} ({experiment.source})"
        for experiment in EXPERIMENTS
    ]


def _run_all(args: argparse.Namespace, workers: Workers) -> int:
    """Run every experiment; one that fails does not stop the others."""
    said, failed = [], 0
    for experiment in EXPERIMENTS:
        try:
            said.append(f"{experiment.name}: {verdict(_run_one(experiment, args, workers))}")
        except InertialEstimationError as error:
            failed += 1
            said.append(f"{experiment.name}: FAILED: {error}")
            print(said[-1], file=sys.stderr)
        print()
    print("\n".join(said))
    return 1 if failed else 0


def _run_one(
    experiment: RegisteredExperiment, args: argparse.Namespace, workers: Workers
) -> ExperimentResult:
    seeds = range(args.seeds if args.seeds is not None else experiment.seeds)
    with _progress_bar(experiment.name) as progress:
        result = experiment.run(seeds, progress, quick=args.quick, workers=workers)
    print("\n".join(result_lines(experiment, result, quick=args.quick)))
    document = result_document(experiment, result, _versions(), quick=args.quick)
    names = [f"{experiment.name}.{kind}" for kind in ("json", "png")]
    with result_folder(args.output, names) as partial:
        written = [write_result(partial / names[0], document)]
        if result.panels:
            written += _draw(partial / names[1], experiment, result)
    print(f"  written: {', '.join(str(args.output / file.name) for file in written)}")
    return result


def _draw(path: Path, experiment: RegisteredExperiment, result: ExperimentResult) -> list[Path]:
    try:
        from inertial_estimation.plots.experiment_figures import write_experiment_figure
    except ImportError as error:
        print(f"no figure: {error} (pip install matplotlib)", file=sys.stderr)
        return []
    title = f"{experiment.name} ({experiment.source})"
    return [write_experiment_figure(path, title, result.panels, columns=result.columns)]


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "inertial_estimation": __version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


@contextmanager
def _progress_bar(name: str) -> Iterator[Progress]:
    """Show a progress bar that names what goes on; in a pipe, lines with the share that is done."""
    lines = progress_lines(name, 1.0)
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None or not sys.stderr.isatty():
        yield lambda _what, share: lines(share)
        return
    with tqdm(total=100, unit="%", bar_format="{desc} {bar} {n:.0f} % {elapsed}", desc=name) as bar:

        def progress(what: str, share: float) -> None:
            bar.set_description_str(f"{name}: {what}", refresh=False)
            bar.update(100.0 * share - bar.n)

        yield progress
