"""`excite` from the command line to the files."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.trajectory_bag import read_trajectory_bag

from inertial_estimation.commands.main import main
from inertial_estimation.recordings.trajectory_files import read_trajectory_csv

QUICK = ["--duration", "8", "--terms", "3", "--starts", "2", "--iterations", "2"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("design")
    options = ["--config", "panda", "--compare-random", "3", "--torque-noise", "0.05"]
    assert main(["excite", *options, "--output", str(folder), *QUICK]) == 0
    return folder


def test_csv_and_bag_hold_the_same_trajectory(results: Path) -> None:
    csv, bag = read_trajectory_csv(results / "trajectory.csv"), read_trajectory_bag(results / "trajectory")
    assert csv.joint_names == bag.joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    np.testing.assert_array_equal(csv.q, bag.q)
    np.testing.assert_array_equal(csv.a, bag.a)
    assert csv.duration_s == 8.0


def test_json_holds_what_was_promised(results: Path) -> None:
    document = json.loads((results / "design.json").read_text())
    assert document["settings"]["torque_noise"] == 0.05
    assert document["rank"] == 69
    assert len(document["base_parameters"]) == 69
    assert max(p["sigma"] for p in document["base_parameters"]) == document["largest_deviation"]
    assert document["random"]["count"] == 3
    assert document["random"]["condition_best"] <= document["random"]["condition_median"]
    assert document["clearance_m"] > 0.01
    assert len(document["variance_by_speed"]["x"]) == 10
    assert (results / "design.png").stat().st_size > 10_000


def test_a_leg_hangs_from_its_trunk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--config", "hyq", "--joints", "lf_*", "--no-figures", "--output", str(tmp_path), *QUICK]
    assert main(["excite", *arguments]) == 0
    assert "lf_haa_joint, lf_hfe_joint, lf_kfe_joint" in capsys.readouterr().out
    assert len(read_trajectory_csv(tmp_path / "trajectory.csv").joint_names) == 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--config", "hyq"], "the base floats: choose what moves"),
        (["--config", "panda", "--joints", "elbow"], "no joint matches 'elbow'"),
        (["--config", "panda", "--duration", "-1"], "duration"),
        (["--config", "panda", "--torque-noise", "nan"], "torque_noise"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], reason: str, tmp_path: Path, refused) -> None:
    assert reason in refused("excite", *arguments, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_design_for_few_links_says_which_it_takes_as_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", "panda", "--links", "panda_link7", "--no-figures", "--output", str(tmp_path / "d")]
    assert main(["excite", *options, *QUICK]) == 0
    said = capsys.readouterr().err
    assert "designed for the links in 'links' alone; panda_link1" in said
    assert "panda_link7 are" not in said
