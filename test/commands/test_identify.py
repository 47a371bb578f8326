"""`identify` from the command line: what it writes is true and can be used; bad input is told in one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.arm_robot import URDF
from support.identification_scene import CONFIG, COULOMB, NOMINAL_URDF, VISCOUS, moving_arm, with_samples

import inertial_estimation as ie
from inertial_estimation.commands.main import main
from inertial_estimation.errors import with_sigma
from inertial_estimation.recordings.bag_writer import write_recording


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("identify")
    (folder / "nominal.urdf").write_text(NOMINAL_URDF)
    (folder / "robot.yaml").write_text(CONFIG)
    return folder


@pytest.fixture(scope="module")
def recording() -> ie.MemoryRecording:
    return moving_arm()


@pytest.fixture(scope="module")
def bag(folder, recording) -> Path:
    write_recording(recording, folder / "bag")
    return folder / "bag"


@pytest.fixture(scope="module")
def results(folder, bag) -> Path:
    arguments = ["--config", str(folder / "robot.yaml"), "--split", "8", "--compare"]
    assert main(["identify", str(bag), *arguments, "--output", str(folder / "results")]) == 0
    return folder / "results"


def test_the_identified_robot_moves_like_the_true_one(results):
    """Single parameters may differ in what no motion tells; torques may not."""
    true, found, nominal = (
        pin.buildModelFromXML(text)
        for text in (URDF, (results / "identified.urdf").read_text(), NOMINAL_URDF)
    )
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(30):
        state = [rng.uniform(-scale, scale, 2) for scale in (3.0, 2.0, 5.0)]
        torques = [pin.rnea(model, model.createData(), *state) for model in (true, found, nominal)]
        errors.append([np.linalg.norm(torques[1] - torques[0]), np.linalg.norm(torques[2] - torques[0])])
    found_error, nominal_error = np.sqrt(np.mean(np.square(errors), axis=0))
    assert found_error < 0.03 * nominal_error


def test_the_friction_file_gives_the_pipeline_the_true_friction(folder, results):
    config = ie.load_configs([str(folder / "robot.yaml"), str(results / "friction.yaml")])
    expected = [COULOMB, COULOMB, VISCOUS, VISCOUS]
    assert config.shared["nominal_friction.values"] == pytest.approx(expected, abs=0.02)
    assert ie.build_pipelines(config, urdf=NOMINAL_URDF).inertial is not None


def test_a_comparison_has_all_methods_and_a_page(results):
    content = json.loads((results / "identification.json").read_text())
    assert len(content["methods"]) >= 4
    assert content["chosen"] == "consistent"
    assert content["methods"]["consistent"]["relative_error_validation"] < 0.02
    for method in content["methods"].values():
        assert method["cost"] < 0.1 * method["cost_nominal"]
    page = (results / "report.html").read_text()
    assert all(name in page for name in content["methods"])


def test_split_and_two_bags_are_the_same_data(folder, recording, bag, results):
    begin = recording.start_ns
    halves = [
        tuple(e for e in recording.messages if (e.log_ns < begin + 8 * 10**9) == early)
        for early in (True, False)
    ]
    for name, messages in zip(("early", "late"), halves, strict=True):
        write_recording(ie.MemoryRecording(messages, recording.topics), folder / name)
    one = json.loads((results / "identification.json").read_text())
    two = identified(folder / "early", folder, "two", "--validate", str(folder / "late"))
    for name in ("relative_error", "relative_error_validation", "cost", "cost_validation"):
        first, second = (found["methods"]["consistent"][name] for found in (one, two))
        assert second == pytest.approx(first, rel=1e-6)
    assert two["training"]["samples"] == one["training"]["samples"] == 800


def test_a_load_is_found_by_two_recordings(folder, bag, capsys):
    write_recording(moving_arm(seed=1, duration_s=6.0, load=0.75), folder / "loaded")
    options = ["--payload", "lower", "--unloaded", str(bag)]
    content = identified(folder / "loaded", folder, "load", *options)
    load = content["methods"]["consistent"]["payload"]
    assert load["mass"] == pytest.approx(0.75, rel=0.01)
    assert load["link"] == "lower"
    assert content["unloaded_bags"] == [str(bag)]
    printed = capsys.readouterr().out
    assert "Load on lower" in printed
    assert with_sigma(load["mass"], load["mass_sigma"]) in printed
    model = pin.buildModelFromXML((folder / "load/identified.urdf").read_text())
    body = content["methods"]["consistent"]["bodies"]["lower"]["inertia"]
    arm, cup = (
        ie.InertialParameters(*(one[n] for n in ("mass", "com_F", "inertia_Fcm"))) for one in (body, load)
    )
    carried = model.inertias[model.getJointId("elbow")].toDynamicParameters()
    np.testing.assert_allclose(carried, arm.vector + cup.vector, rtol=1e-7, atol=1e-12)
    assert model.existFrame("lower_payload")


def identified(bag: Path, folder: Path, output: str, *options: str) -> dict:
    """Identify without a page; what identification.json holds."""
    arguments = ["--config", str(folder / "robot.yaml"), "--output", str(folder / output), "--no-figures"]
    assert main(["identify", str(bag), *arguments, *options]) == 0
    assert not (folder / output / "report.html").exists()
    return json.loads((folder / output / "identification.json").read_text())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "3", "--validate", "BAG"], "exclude each other"),
        (["--validate", "BAG"], "given more than once"),
        (["BAG"], "given more than once"),
        (["--unloaded", "other"], "--payload LINK"),
        (["--unloaded", "BAG", "--payload", "lower"], "more than once"),
        (["--payload", "hand"], "hand"),
        (["--method", "magic"], "no method 'magic'; there are least-squares"),
        (["--param", "identifcation.window=1"], "no node 'identifcation' in this command, did you mean"),
    ],
)
def test_bad_arguments_are_told_in_one_line(folder, bag, options, message, refused):
    options = [bag if option == "BAG" else option for option in options]
    common = ["--config", folder / "robot.yaml", "--output", folder / "none"]
    assert message in refused("identify", bag, *options, *common)
    assert not (folder / "none").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, _first: replace(r, effort=None), "no effort"),
        (lambda r, _first: replace(r, effort=1000.0 * r.effort), "effort of shoulder is -1.001e+04 Nm"),
        (lambda r, first: replace(first, stamp_ns=r.stamp_ns), "stands still"),
    ],
)
def test_a_bag_that_cannot_identify_is_refused(folder, recording, tmp_path, change, message, refused):
    first = recording.messages[0].sample
    write_recording(with_samples(recording, lambda r: change(r, first)), tmp_path / "bad")
    common = ["--config", folder / "robot.yaml", "--output", folder / "none"]
    assert message in refused("identify", tmp_path / "bad", *common)


def test_an_inconsistent_result_gives_no_description_and_says_why(folder, bag, results, capsys):
    output = folder / "again"
    shutil.copytree(results, output)
    capsys.readouterr()
    content = identified(bag, folder, "again", "--compare", "--method", "least-squares", "--overwrite")
    printed = capsys.readouterr()
    bad = [n for n, b in content["methods"]["least-squares"]["bodies"].items() if b["violations"]]
    assert bad
    assert not (output / "identified.urdf").exists()
    assert all(name in printed.err for name in bad)
    assert "consistent" in printed.err.rpartition("these are consistent")[2]


def test_masses_that_no_description_is_off_by_are_written_only_if_allowed(folder, recording, ran):
    """Efforts are ten times too large; both masses become as large, which is possible but not credible."""
    write_recording(with_samples(recording, lambda r: replace(r, effort=10.0 * r.effort)), folder / "percent")
    common = ["identify", folder / "percent", "--config", folder / "robot.yaml", "--no-figures"]
    printed = ran(*common, "--output", folder / "incredible", code=1).err
    assert "neither bodies nor friction are written" in printed
    assert "lower (" in printed or "upper (" in printed
    assert {path.name for path in (folder / "incredible").iterdir()} == {"identification.json"}
    ran(*common, "--param", "identification.mass_deviation=1.0", "--output", folder / "allowed")
    assert (folder / "allowed" / "identified.urdf").exists()


def test_suspicious_data_are_told_and_the_result_is_written(folder, recording, capsys):
    count = 0

    def spoilt(reading):
        nonlocal count
        count += 1
        return replace(reading, effort=reading.effort * [np.nan, 1.0]) if count % 100 == 0 else reading

    write_recording(with_samples(recording, spoilt), folder / "spoilt")
    content = identified(folder / "spoilt", folder, "of_spoilt", "--split", "11.98")
    printed = capsys.readouterr().err
    assert "too short to give a row" in printed
    assert "joint_states: not finite (12)" in printed
    assert content["training"]["dropped"] == {"joint_states: not finite": 12}
    assert content["validation"] is None
