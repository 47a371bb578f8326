"""`excite` from the command line to the files."""

import json
import re
from pathlib import Path

import pytest
from support.trajectory_bag import read_trajectory_bag

from inertial_estimation.commands.main import main
from inertial_estimation.recordings.trajectory_files import read_trajectory_csv

QUICK = ["--duration", "5", "--terms", "3", "--starts", "2", "--iterations", "2"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("design")
    options = ["--config", "panda", "--compare-random", "3", "--torque-noise", "0.05"]
    assert main(["excite", *options, "--output", str(folder), *QUICK]) == 0
    return folder


def test_json_holds_what_was_promised(results: Path) -> None:
    csv, bag = read_trajectory_csv(results / "trajectory.csv"), read_trajectory_bag(results / "trajectory")
    assert (csv.duration_s, csv.q.tolist()) == (5.0, bag.q.tolist())
    document = json.loads((results / "design.json").read_text())
    assert document["settings"]["torque_noise"] == 0.05
    assert document["rank"] == 69
    assert len(document["base_parameters"]) == 69
    assert max(p["sigma"] for p in document["base_parameters"]) == document["largest_deviation"]
    assert document["random"]["count"] == 3
    assert document["random"]["condition_best"] <= document["random"]["condition_median"]
    assert document["clearance_m"] > 0.01
    assert len(document["variance_by_speed"]["x"]) == 10
    assert (results / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--config", "panda", "--joints", "elbow"], "no joint matches 'elbow'"),
        (["--config", "panda", "--torque-noise", "nan"], "torque_noise"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], reason: str, tmp_path: Path, refused) -> None:
    assert reason in refused("excite", *arguments, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_design_for_few_links_says_which_it_takes_as_described(tmp_path: Path, ran) -> None:
    options = ["--config", "panda", "--links", "panda_link7", "--no-figures", "--output", tmp_path / "d"]
    printed = ran("excite", *options, *QUICK, "--compare-random", "2")
    assert "designed for the links in 'links' alone; panda_link1" in printed.err
    assert "panda_link7 are" not in printed.err
    (chosen,) = re.findall(r"^condition number +([\d.]+)", printed.out, re.MULTILINE)
    ((median, best, ratio),) = re.findall(
        r"^  condition number +(\S+) +(\S+) +(\S+)$", printed.out, re.MULTILINE
    )
    assert float(best) <= float(median) == pytest.approx(float(ratio) * float(chosen), rel=0.01)
