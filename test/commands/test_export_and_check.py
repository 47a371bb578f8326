"""The commands export and check: what they print and write, and what is refused in one line."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from support.arm_robot import URDF
from support.recorded_robots import recorded
from support.urdf import link_xml, robot_xml

from inertial_estimation.inputs.messages import IMU_TYPE
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.estimated_model import POSTERIOR_FILE, EstimatedModel, LogCholeskyPosterior
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import link_parameters
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry
from inertial_estimation.signals import ImuSample, JointReading
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
    ran("export", results, "--output", out, "--samples", "2", "--overwrite")
    assert {path.name for path in out.glob("sample_*")} == {"sample_0.urdf", "sample_1.urdf"}, "none is left"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "has no posterior.json"),
        ("{", "Expecting"),
        ("[]", "no estimated model"),
        (json.dumps({"robot": {}}), "no estimated model"),
        (estimated(posterior=False).json_text(), "use 'consistent'"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused_in_a_line(tmp_path, refused, text, said):
    if text is not None:
        (tmp_path / POSTERIOR_FILE).write_text(text)
    assert said in refused("export", tmp_path, "--output", tmp_path / "out", "--samples", "2")
    assert not (tmp_path / "out").exists()


SIGNS = np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sound bag, and one in which the effort of panda_joint4 has the wrong sign."""
    place = tmp_path_factory.mktemp("check")
    sound = recorded("panda", 8.0).recording
    write_recording(sound, place / "sound")
    wrong = [
        replace(entry, sample=replace(entry.sample, effort=SIGNS * entry.sample.effort))
        if isinstance(entry.sample, JointReading)
        else entry
        for entry in sound.messages
    ]
    write_recording(MemoryRecording(tuple(wrong), sound.topics), place / "wrong")
    return place


def test_a_sound_bag_gives_0_and_the_results(folder, ran):
    output = folder / "results"
    assert "0 wrong" in ran("check", folder / "sound", "--config", "panda", "--output", output).out
    results = json.loads((output / "check.json").read_text())
    assert {"check", "subject", "verdict", "value", "unit", "sentence", "remedy"} == set(results[0])
    assert {result["verdict"] for result in results} <= {"ok", "cannot tell"}
    page = (output / "report.html").read_text()
    assert 'class="graph"' in page


def test_a_wrong_bag_gives_1_and_its_fix_makes_it_0(folder, ran):
    bag, fix = folder / "wrong", folder / "fix.yaml"
    assert "panda_joint4" in ran("check", bag, "--config", "panda", "--fix", fix, code=1).out
    values = yaml.safe_load(fix.read_text())["/**"]["ros__parameters"]
    assert values == {"drive_gains.joints": ["panda_joint4"], "drive_gains.values": [-1.0]}
    ran("check", bag, "--config", "panda", "--config", fix)


def test_an_imu_alone_on_a_body_without_joints_is_checked(tmp_path, ran):
    (tmp_path / "body.urdf").write_text(robot_xml(link_xml("base", 1)), encoding="utf-8")
    sent = {"urdf": str(tmp_path / "body.urdf"), "imu_frame": "base", "contacts": []}
    values = {"/**": {"ros__parameters": sent}, "/**/tilt_observer": {"ros__parameters": {}}}
    (tmp_path / "body.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    readings = [
        RecordingEntry("/imu/data", stamp, ImuSample(stamp, [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]))
        for stamp in range(10**9, 4 * 10**9, 10**7)
    ]
    write_recording(MemoryRecording(tuple(readings), {"/imu/data": IMU_TYPE}), tmp_path / "bag")
    said = ran("check", tmp_path / "bag", "--config", tmp_path / "body.yaml", code=1).out
    assert "WRONG accelerometer size (imu/data): specific force and gravity agree if" in said
    assert "joint names" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["no_such_bag", "--config", "panda"], "no_such_bag"),
        (["{sound}", "--config", "pandda"], "pandda"),
        (["{sound}", "--config", "panda", "--start", "100"], "--start"),
        (["{sound}", "--config", "panda", "--remap", "joint_states:=/other"], "/other"),
    ],
)
def test_what_cannot_be_used_gives_2_in_one_line(folder, refused, options, said):
    assert said in refused("check", *(one.format(sound=folder / "sound") for one in options), code=2)
