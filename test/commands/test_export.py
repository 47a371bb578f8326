"""The command export: what is written, and what is refused in one line."""

import csv
import json

import numpy as np
import pytest
from support.arm_robot import URDF

from inertial_estimation.commands.main import main
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.estimated_model import POSTERIOR_FILE, EstimatedModel, LogCholeskyPosterior
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import link_parameters
from inertial_estimation.spatial.log_cholesky import log_cholesky_from_parameters


def estimated(posterior=True):
    robot = RobotModel.from_urdf(URDF, floating_base=False)
    body = BodyReference.of_link(robot, "lower")
    theta, to_link = log_cholesky_from_parameters(body.nominal_C)[None], body.to_link[None]
    drawn_from = LogCholeskyPosterior(theta, 0.01 * np.eye(10), to_link, "rucker") if posterior else None
    without = "" if posterior else "the method 'least-squares' has none; use 'consistent'"
    estimate = (body.to_link @ body.nominal_C)[None]
    return EstimatedModel(URDF, False, (), ("lower",), estimate, drawn_from, without)


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "found"
    folder.mkdir()
    (folder / POSTERIOR_FILE).write_text(estimated().json_text())
    return folder


def test_samples_are_written_and_repeat_with_the_seed(results, tmp_path, ran):
    texts = []
    for name in ("a", "b"):
        out = tmp_path / name
        said = ran("export", results, "--output", out, "--samples", "12", "--seed", "3").out
        assert sorted(path.name for path in out.glob("sample_*")) == [
            f"sample_{i:02d}.urdf" for i in range(12)
        ]
        texts.append((out / "sample_07.urdf").read_text())
    assert texts[0] == texts[1]
    rows = list(csv.DictReader((tmp_path / "a" / "samples.csv").open()))
    assert len(rows) == 12
    assert float(rows[7]["mass"]) == pytest.approx(link_parameters(texts[0])["lower"][0], rel=1e-9)
    assert "drawn" in said


def test_an_export_again_leaves_no_sample_of_the_one_before(results, tmp_path):
    for count in ("12", "2"):
        out = str(tmp_path / "out")
        assert main(["export", str(results), "--output", out, "--samples", count, "--overwrite"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("sample_*")) == [
        "sample_0.urdf",
        "sample_1.urdf",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "has no posterior.json"),
        ("{", "Expecting"),
        ("[]", "no object"),
        (json.dumps({"robot": {}}), "no estimated model"),
        (estimated(posterior=False).json_text(), "use 'consistent'"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused_in_a_line(tmp_path, refused, text, said):
    if text is not None:
        (tmp_path / POSTERIOR_FILE).write_text(text)
    assert said in refused("export", tmp_path, "--output", tmp_path / "out", "--samples", "2")
    assert not (tmp_path / "out").exists()
