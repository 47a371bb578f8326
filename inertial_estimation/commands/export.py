"""The command `export`: an estimated robot for simulators and learning."""

import argparse
import json
from pathlib import Path

import numpy as np

from inertial_estimation.commands import arguments
from inertial_estimation.commands.terminal import print_warnings
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.export.model_format import RobotWriter
from inertial_estimation.export.sample_table import COLUMNS, TABLE_FILE, sample_lines, sample_rows
from inertial_estimation.files.outputs import result_folder, write_table, write_text
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.estimated_model import POSTERIOR_FILE, EstimatedModel

MOST_SAMPLES = 100_000


def run(args: argparse.Namespace) -> int:
    """Read the estimated robot, draw and write."""
    if not 0 <= args.samples <= MOST_SAMPLES:
        raise ConfigurationError(f"--samples is {args.samples}, expected 0 to {MOST_SAMPLES}")
    folder = arguments.check_output(args)
    model = _read(args.results)
    writer = RobotWriter(model, args.format, args.model)
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
            write_table(partial / TABLE_FILE, COLUMNS, sample_rows(model, drawn))
    for line in sample_lines(model, drawn):
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
    text = read_text(path, "estimated model")
    try:
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ConfigurationError("it is no object")
        return EstimatedModel.from_values(values)
    except (json.JSONDecodeError, RecursionError, ConfigurationError) as error:
        raise ConfigurationError(f"'{path}': {error}") from error
