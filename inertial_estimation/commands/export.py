"""The command `export`: an estimated robot for simulators and learning."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inertial_estimation.commands.terminal import print_warnings
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_table, write_text
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.estimated_model import POSTERIOR_FILE, EstimatedModel
from inertial_estimation.models.robot_writer import RobotWriter
from inertial_estimation.models.urdf import MOMENTS
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

TABLE_FILE = "samples.csv"
COLUMNS = ("sample", "link", "mass", "com_x", "com_y", "com_z", *MOMENTS)


def run(args: argparse.Namespace) -> int:
    """Read the estimated robot, draw samples and write the descriptions."""
    folder = check_output_folder(args.output, overwrite=args.overwrite)
    model = _read(args.results)
    writer = RobotWriter(model, args.model)
    print_warnings(writer.warnings)
    drawn = model.samples(args.samples, np.random.default_rng(args.seed)) if args.samples else None
    digits = len(str(max(args.samples - 1, 0)))
    estimated = f"estimated{writer.suffix}"
    earlier = [path.name for path in folder.glob(f"sample_*{writer.suffix}")] if folder.is_dir() else []
    with result_folder(folder, [estimated, TABLE_FILE, *earlier]) as partial:
        write_text(partial / estimated, writer.text(model.estimate))
        for i, parameters in enumerate([] if drawn is None else drawn):
            write_text(partial / f"sample_{i:0{digits}d}{writer.suffix}", writer.text(parameters))
        if drawn is not None:
            write_table(partial / TABLE_FILE, COLUMNS, _rows(model, drawn))
    for line in _lines(model, drawn):
        print(line)
    print(f"results               {folder}")
    return 0


def _read(folder: Path) -> EstimatedModel:
    path = folder / POSTERIOR_FILE
    if not path.is_file():
        raise ConfigurationError(
            f"'{folder}' has no {POSTERIOR_FILE}, expected a result folder of identify, or of replay with an "
            "inertial_ekf section"
        )
    try:
        return EstimatedModel.from_json(read_text(path, "estimated model"))
    except ConfigurationError as error:
        raise ConfigurationError(f"'{path}': {error}") from error


def _rows(model: EstimatedModel, drawn: Array) -> Iterator[list[object]]:
    """Yield the samples: mass [kg], centre of mass [m] and inertia about it [kg m^2] of every link."""
    for i, robot in enumerate(drawn):
        for link, pi in zip(model.names, robot, strict=True):
            inertia = InertialParameters.from_vector(pi)
            moments = (inertia.inertia_Fcm[ij] for ij in MOMENTS.values())
            yield [i, link, *(f"{number:.12g}" for number in (inertia.mass, *inertia.com_F, *moments))]


def _lines(model: EstimatedModel, drawn: Array | None) -> Iterator[str]:
    """Yield a line for each link: its estimated mass, with mean and standard deviation of the samples."""
    widest = max(map(len, model.names))
    for k, link in enumerate(model.names):
        line = f"{link:<{widest}}  {model.estimate[k, 0]:8.4g} kg"
        if drawn is not None and len(drawn) > 1:
            masses = drawn[:, k, 0]
            line += f"  drawn {np.mean(masses):.4g} +- {np.std(masses, ddof=1):.2g} kg"
        yield line
