"""Draws the figure of replays in these pages: docs/images/replay_compare.png.

    python docs/replay_figures.py [--results DIR] [--output DIR]

Replays the iCub recording of the data sets (`INERTIAL_ESTIMATION_DATASETS`) with the shipped parameters and
with the gains of the paper, compares the two, and draws the tilt errors.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from pictures import write_png

from inertial_estimation.commands.main import main as run_command
from inertial_estimation.comparison.comparison import compare, read_results
from inertial_estimation.plots.comparison_report import comparison_figures

ROOT = Path(__file__).resolve().parents[1]
PAPER = (
    *("--only", "tilt_observer", "--param", "tilt_observer.observer=two_stage"),
    *("--param", "tilt_observer.two_stage.alpha1=100.0", "--param", "tilt_observer.two_stage.alpha2=20.0"),
    *("--param", "tilt_observer.two_stage.gamma=3.0"),
)
TITLE, IMAGE = "Tilt error", "replay_compare.png"


def main() -> int:
    """Replay, compare, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--results", type=Path, help="folder that keeps the results (default: none, they are removed)"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images", help="folder of the figure")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        results = args.results or Path(temporary)
        replay(results / "shipped")
        replay(results / "paper", *PAPER)
        comparison = compare(read_results([results / "shipped", results / "paper"]))
        for figure in comparison_figures(comparison):
            if figure.title == TITLE:
                write_png(args.output / IMAGE, figure.title, figure.panels)
    return 0


def replay(folder: Path, *options: str) -> None:
    """Replay the iCub recording with further options."""
    datasets = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets"))
    icub = datasets / "icub_walking"
    command(
        *("replay", str(icub / "walk_front_back_2021"), "--config", "icub"),
        *("--urdf", str(icub / "iCubGenova04.urdf"), "--reference", "/vicon/root_link/pose"),
        *("--trusted", str(icub / "walk_front_back_2021_vicon_ok.csv")),
        *("--output", str(folder), "--overwrite", *options),
    )


def command(*arguments: str) -> None:
    """Run a command of the package; end if it fails."""
    code = run_command(arguments)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    sys.exit(main())
