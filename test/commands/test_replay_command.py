"""`replay` from the command line to the files, good input and bad, a quadruped that is loaded."""

import csv
import hashlib
import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import inertial_estimation as ie
from inertial_estimation.commands.main import main
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.parameters import parameter_values
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.simulation.disturbances import Attachment, ball
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot
from inertial_estimation.synthetic.synthetic_truth import StanceMotion, stance_truth
from inertial_estimation.tilt.config import TiltPipelineConfig

TILT_FILES = {"base_orientation.csv", "base_state.csv", "base_errors.csv", "tilt_observer.csv"}
TILT_FILES |= {"metrics.json"}
CHECKED = (
    "inertial_estimation.replay.replay.CHECKED_S"  # [s]: without the load, whose place takes long to find
)


@pytest.fixture(scope="module")
def talos_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bag = tmp_path_factory.mktemp("talos") / "bag"
    arguments = ["--duration", "5", "--rate", "100", "--payload-time", "2", "--storage", "sqlite3"]
    assert main(["synthesize", "talos", "--output", str(bag), *arguments]) == 0
    return bag


@pytest.fixture(scope="module")
def results(talos_bag: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    arguments = ["--config", "talos", "--settle", "2"]
    if importlib.util.find_spec("rerun") is not None:
        arguments += ["--rrd", str(folder.parent / "replay.rrd")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CHECKED, 1.95)
        assert main(["replay", str(talos_bag), "--output", str(folder), *arguments]) == 0
    return folder


def test_every_promised_file_is_there(results: Path) -> None:
    names = {path.name for path in results.iterdir()}
    assert TILT_FILES | {"link_inertias.csv", "inertial_ekf.csv", "report.html"} <= names
    page = (results / "report.html").read_text()
    for title in ("Tilt and contacts", "Masses"):
        assert f">{title}</h2>" in page
    for text in ("arm_left_5_link", "All parameters in effect", "sha256", "/ground_truth/pose"):
        assert text in page
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "http" not in outside, "something is loaded from elsewhere"


def texts(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, np.array(rows).T, strict=True))


def table(path: Path) -> dict[str, np.ndarray]:
    return {name: column.astype(float) for name, column in texts(path).items()}


def test_wide_tables_have_seconds_and_a_column_a_quantity(results: Path) -> None:
    links, base = table(results / "inertial_ekf.csv"), table(results / "base_state.csv")
    metrics = json.loads((results / "metrics.json").read_text())
    for found in (links, base):
        assert list(found)[:2] == ["time_s", "stamp_ns"]
        first_s = 1e-9 * (found["stamp_ns"][0] - metrics["time"]["origin_stamp_ns"])
        assert found["time_s"][0] == pytest.approx(first_s, abs=2e-6)
        assert (np.diff(found["time_s"]) > 0.0).all()
    mass = links["mass/arm_left_5_link [kg]"]
    assert mass[-1] == pytest.approx(metrics["links"]["arm_left_5_link"]["mass_kg"])
    assert mass[links["time_s"] < 1.9].max() < 3.0
    assert "age [s]" not in links
    assert (base["cov_xx"] > 0.0).all()
    errors = table(results / "base_errors.csv")
    after = errors["time_s"] > 3.0
    assert np.abs(errors["error_z"][after]).max() < 0.01


def test_what_the_nodes_publish_is_what_the_wide_tables_say(results: Path) -> None:
    base, links = (texts(results / f"{name}.csv") for name in ("base_orientation", "link_inertias"))
    state, observer, ekf = (
        table(results / f"{name}.csv") for name in ("base_state", "tilt_observer", "inertial_ekf")
    )
    assert (base["stamp_ns"].astype(float) == state["stamp_ns"]).all()
    assert set(base["contacts"]) == {"left_foot right_foot"}
    turns = Rotation.from_quat(np.column_stack([base[f"q{axis}"] for axis in "xyzw"]).astype(float))
    angles = np.column_stack([state[name] for name in ("yaw", "pitch", "roll")])
    np.testing.assert_allclose(angles, turns.as_euler("ZYX"), atol=1e-7)
    for i, axis in enumerate("xyz"):
        vertical = turns.as_matrix()[:, 2, i]
        np.testing.assert_allclose(base[f"tilt_{axis}"].astype(float), vertical, atol=1e-7)
        assert (base[f"gyro_bias_{axis}"].astype(float) == observer[f"gyro_bias/{axis} [rad s^-1]"]).all()
    model = ie.RobotModel.from_urdf(ie.read_urdf(synthetic_robot("talos").urdf), floating_base=True)
    for name, metrics in json.loads((results / "metrics.json").read_text())["links"].items():
        body, mine = model.link_body(name).nominal_J, links["link"] == name
        link = {key: texts[mine].astype(float) for key, texts in links.items() if key != "link"}
        same = {"mass": f"mass_published/{name} [kg]", "accepted": "learning/accepted"}
        for key in ("stamp_ns", "mass", "nis", "accepted"):
            assert (link[key] == ekf[same.get(key, key)]).all()
        first = [link[key][0] for key in ("mass", "com_x", "com_y", "com_z")]
        np.testing.assert_allclose(first, [body.mass, *body.lever], rtol=1e-8)
        moments = [link[f"i{axes}"][0] for axes in ("xx", "xy", "xz", "yy", "yz", "zz")]
        np.testing.assert_allclose(moments, body.inertia[np.triu_indices(3)], rtol=1e-6)
        assert ekf[f"mass_sigma/{name} [kg]"][-1] == pytest.approx(metrics["mass_sigma_kg"])


def test_provenance_says_which_run_this_was(results: Path, talos_bag: Path) -> None:
    provenance = json.loads((results / "metrics.json").read_text())["provenance"]
    (bag,) = provenance["bags"]
    (file,) = [record for record in bag["files"] if record["path"].endswith(".db3")]
    assert file["sha256"] == hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest()
    (config,) = provenance["config"]
    assert config["name"] == "talos"
    assert config["sha256"] == hashlib.sha256(Path(config["path"]).read_bytes()).hexdigest()
    assert provenance["parameters"]["tilt_observer"]["rate"] == parameter_values(TiltPipelineConfig())["rate"]
    assert provenance["options"]["settle"] == 2.0
    assert {"version", "command", "machine", "time", "urdf", "param"} <= set(provenance)


def test_robot_and_series_are_in_the_recording_for_the_viewer(results: Path) -> None:
    pytest.importorskip("rerun")
    from rerun.chunk import RrdReader

    entities = set(RrdReader(results.parent / "replay.rrd").store().schema().entity_paths())
    drawn = {"gravity/estimated", "gravity/true", "centre_of_mass/estimated", "forces/left_foot"}
    series = {"tilt/roll", "tilt_error/error", "nis/NIS", "payload/arm_left_5_link", "force/right_foot"}
    assert {f"/robot/{name}" for name in drawn} | {f"/series/{name}" for name in series} <= entities
    assert any(path.startswith("/robot/talos") and "visual_geometries" in path for path in entities)


def test_without_the_viewer_the_option_says_what_to_install(talos_bag, tmp_path, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "rerun", None)
    common = ["--config", "talos", "--output", tmp_path / "results"]
    assert "pip install" in refused("replay", talos_bag, *common, "--rrd", tmp_path / "a.rrd")


def test_metrics_find_the_truth_of_the_recording(results: Path) -> None:
    metrics = json.loads((results / "metrics.json").read_text())
    assert set(metrics["tilt_error_deg"]) == {"mean", "rms", "p95", "max"}
    assert metrics["tilt_error_deg"]["rms"] < 0.2
    sigmas_deg = np.degrees(table(results / "tilt_observer.csv")["tilt/sigma [rad]"])
    assert np.mean(sigmas_deg < metrics["tilt_sigma_deg"]) == pytest.approx(0.5, abs=0.01)
    assert metrics["total_mass_kg"] == pytest.approx(90.272 + 5.44, abs=0.5)
    assert {("effort", "ok"), ("IMU delay", "ok")} <= {(c["check"], c["verdict"]) for c in metrics["checks"]}
    forearm = metrics["links"]["arm_left_5_link"]
    assert abs(forearm["payload_kg"] - 5.44) < max(0.1, 3.0 * forearm["mass_sigma_kg"])
    assert set(metrics["tick_us"]) == {"tilt_observer", "inertial_ekf"}
    truth = metrics["truth"]
    assert truth["tilt_error_deg"]["max"] < 0.3
    left, right = (truth["links"][f"arm_{side}_5_link"]["true_mass_kg"] for side in ("left", "right"))
    assert left - right == pytest.approx(5.44, abs=0.01)
    for name, link in truth["links"].items():
        sigma = metrics["links"][name]["mass_sigma_kg"]
        assert abs(link["mass_error_kg"]) < 4.0 * sigma
        assert link["mass_error_sigmas"] * sigma == pytest.approx(link["mass_error_kg"])


def test_only_the_estimators_that_are_named_run(talos_bag: Path, tmp_path: Path) -> None:
    common = [str(talos_bag), "--config", "talos", "--output", str(tmp_path / "out"), "--no-figures"]
    assert main(["replay", *common, "--only", "tilt_observer", "--start", "4"]) == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == TILT_FILES
    provenance = json.loads((tmp_path / "out" / "metrics.json").read_text())["provenance"]
    assert list(provenance["parameters"]) == ["tilt_observer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--remap", "imu/data:=/torso/imu"], "no topic '/torso/imu'"),
        (["--remap", "gps:=/a"], "no input 'gps'"),
        (["--only", "tilt_observr"], "did you mean 'tilt_observer'?"),
        (["--only", "trunk_payload"], "has no section for 'trunk_payload'"),
        (["--param", "tilt_observer.ratte=3.0"], "did you mean 'rate'"),
        (["--reference", "/vicon"], "no topic '/vicon'"),
        (["--trusted", "flags.csv"], "--trusted needs --reference"),
        (["--reference", "/ground_truth/pose", "--trusted", "flags.csv"], "2 flags, expected one for"),
        (["--start", "100"], "--start 100 s is past the end"),
        (["--start", "3", "--hold-out", "2"], "from the start (3 s)"),
        (["--settle", "99"], "--settle is 99 s, expected 0 to 5.0 s"),
        (["--urdf", "nofile"], "no robot description 'nofile'; looked in"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    talos_bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused, arguments, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flags.csv").write_text("1\n0\n")
    line = refused("replay", talos_bag, "--config", "talos", "--output", "out", *arguments)
    assert message in line
    assert line.count("nofile") <= 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["replay", "check", "identify"])
def test_a_recording_of_another_robot_is_named(talos_bag: Path, tmp_path: Path, command: str, ran) -> None:
    code, words = 1 + (command == "check"), ("--config", "hyq", "--output", tmp_path / "out")
    said = ran(command, talos_bag, *words, code=code).err.splitlines()[-1]
    assert "is of another robot: it has 32 joints (leg_left_1_joint, " in said
    assert "expected are 12 joints (lf_haa_joint, " in said
    assert "0 match; give the --config of its robot" in said
    assert len(said) < 600


LOAD = ball("trunk", 6.0, (-0.2, 0.1, 0.1))
LOADED_AT_S = 0.8


def test_a_load_is_found_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CHECKED, LOADED_AT_S)
    shared = ie.load_config_file(ie.find_config("hyq")).shared
    robot = ie.RobotModel.from_urdf(ie.read_urdf(shared["urdf"]), floating_base=True)
    posture = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))
    truth = stance_truth(
        robot,
        ie.Timing(duration_s=3.2, rate_hz=100.0),
        np.random.default_rng(3),
        contacts={contact: contact for contact in shared["contacts"]},
        imu=ImuMount.on(robot, shared["imu_frame"]),
        motion=StanceMotion(posture, base_reach=(0.0,) * 6),
        payload=Attachment(LOAD, LOADED_AT_S),
    )
    write_recording(ie.measure(truth, ie.REALISTIC, np.random.default_rng(4)), tmp_path / "bag")
    results = tmp_path / "results"
    assert main(["replay", str(tmp_path / "bag"), "--config", "hyq", "--output", str(results)]) == 0
    metrics = json.loads((results / "metrics.json").read_text())
    trunk = robot.link_body("trunk").nominal_J
    mass = trunk.mass + LOAD.mass
    com = (trunk.mass * trunk.lever + LOAD.mass * LOAD.com_L) / mass
    assert metrics["trunk"]["mass_kg"] == pytest.approx(mass, rel=0.01)
    np.testing.assert_allclose(metrics["trunk"]["com_m"][:2], com[:2], atol=5e-3)
    kinds = [change["kind"] for change in metrics["load_changes"]]
    assert kinds == ["loaded", "identified"]
    found_s = (metrics["load_changes"][0]["stamp_ns"] - int(truth.stamps_ns[0])) * 1e-9
    assert LOADED_AT_S < found_s < LOADED_AT_S + 0.5
    trunks = texts(results / "trunk_inertia.csv")
    assert len(trunks["mass"]) == metrics["samples"]["trunk_inertia"]
    assert float(trunks["mass"][0]) == pytest.approx(trunk.mass)
    assert float(trunks["mass"][-1]) == pytest.approx(mass, rel=0.01)
    assert {"watching", "mass", "com"} <= set(trunks["phase"])
    assert "The trunk" in (results / "report.html").read_text()
    assert set(metrics["tick_us"]) == {"tilt_observer", "inertial_ekf", "trunk_payload"}
