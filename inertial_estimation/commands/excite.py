"""The command `excite`: a motion that identifies a robot."""

import argparse
import sys
from pathlib import Path

from inertial_estimation.commands.terminal import print_page, progress_bar, result_folder_with_report
from inertial_estimation.configuration.urdf_source import mesh_folders, read_urdf
from inertial_estimation.files.outputs import check_output_folder, write_json
from inertial_estimation.identification.excitation.excitation import ExcitationDesign, design_excitation
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.offline.identification_run import load_identification
from inertial_estimation.parallel import Workers
from inertial_estimation.parameters import build_config, iterate_parameters, parameter_values
from inertial_estimation.plots.excitation_report import excitation_page
from inertial_estimation.recordings.trajectory_files import write_trajectory_bag, write_trajectory_csv

BAG, CSV, JSON = "trajectory", "trajectory.csv", "design.json"


def run(args: argparse.Namespace) -> int:
    """Design the motion, write the files and print a summary."""
    folder = check_output_folder(args.output, overwrite=args.overwrite)
    given = {spec.name: getattr(args, spec.name) for spec in iterate_parameters(ExcitationConfig)}
    config = build_config(ExcitationConfig, {n: v for n, v in given.items() if v is not None})
    identification, beside = load_identification(args.config, args.param, args.links)
    urdf = read_urdf(args.urdf or identification.robot.urdf, folder=beside)
    steps = config.poses if config.kind == "poses" else config.starts
    steps += config.iterations + config.compare_random
    done = 0

    def tick(more: int) -> None:
        nonlocal done
        done += more
        show(done)

    with progress_bar("excite", steps) as show:
        result = design_excitation(
            identification,
            config,
            urdf,
            mesh_folders=mesh_folders(),
            joints=args.joints,
            seed=args.seed,
            tick=tick,
            workers=Workers(args.jobs),
        )
    for note in result.notes:
        print(note, file=sys.stderr)
    page = excitation_page(result, f"{config.kind}, {config.objective}, seed {args.seed}")
    with result_folder_with_report(folder, (BAG, CSV, JSON), page, drawn=not args.no_figures) as partial:
        _write(partial, args, result, config)
    print_page(page, folder)
    return 0


def _write(
    folder: Path, args: argparse.Namespace, result: ExcitationDesign, config: ExcitationConfig
) -> None:
    write_trajectory_csv(folder / CSV, result.trajectory)
    write_trajectory_bag(folder / BAG, result.trajectory)
    chosen, precision = result.chosen, result.chosen.precision
    document = {
        "settings": {**parameter_values(config), "seed": args.seed},
        "joints": result.design.moving_names,
        "limits": result.limits,
        "rows": result.rows.row_names,
        "duration_s": result.trajectory.duration_s,
        **vars(precision),
        "largest_deviation": precision.largest,
        "clearance_m": result.clearance,
        "torque_share": result.torque_share,
        "variance_by_samples": chosen.by_samples,
        "variance_by_speed": chosen.by_speed,
        "random": result.compared(),
        "notes": result.notes,
    }
    write_json(folder / JSON, document)
