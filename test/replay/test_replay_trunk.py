"""`replay` of a quadruped at rest that is loaded: results, metrics, figure, parameters."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.commands.main import main
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.simulation.disturbances import Attachment, ball
from inertial_estimation.synthetic.synthetic_truth import StanceMotion, Truth, stance_truth

LOAD = ball("trunk", 6.0, (-0.2, 0.1, 0.1))
LOADED_AT_S = 1.5


@pytest.fixture(scope="module")
def truth() -> Truth:
    shared = ie.load_config_file(ie.find_config("hyq")).shared
    robot = ie.RobotModel.from_urdf(ie.read_urdf(shared["urdf"]), floating_base=True)
    posture = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))
    return stance_truth(
        robot,
        ie.Timing(duration_s=4.5, rate_hz=100.0),
        np.random.default_rng(3),
        contacts={contact: contact for contact in shared["contacts"]},
        imu=ImuMount.on(robot, shared["imu_frame"]),
        motion=StanceMotion(posture, base_reach=(0.0,) * 6),
        payload=Attachment(LOAD, LOADED_AT_S),
    )


@pytest.fixture(scope="module")
def recording(truth: Truth) -> ie.MemoryRecording:
    return ie.measure(truth, ie.REALISTIC, np.random.default_rng(4))


@pytest.fixture(scope="module")
def results(recording: ie.MemoryRecording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trunk")
    write_recording(recording, folder / "bag")
    arguments = [str(folder / "bag"), "--config", "hyq", "--output", str(folder / "results")]
    assert main(["replay", *arguments]) == 0
    return folder / "results"


def test_the_load_is_found_and_written(results: Path, truth: Truth) -> None:
    metrics = json.loads((results / "metrics.json").read_text())
    trunk = truth.robot.link_body("trunk").nominal_J
    mass = trunk.mass + LOAD.mass
    com = (trunk.mass * trunk.lever + LOAD.mass * LOAD.com_L) / mass
    assert metrics["trunk"]["mass_kg"] == pytest.approx(mass, rel=0.01)
    np.testing.assert_allclose(metrics["trunk"]["com_m"][:2], com[:2], atol=5e-3)
    kinds = [change["kind"] for change in metrics["load_changes"]]
    assert kinds == ["loaded", "identified"]
    found_s = (metrics["load_changes"][0]["stamp_ns"] - int(truth.stamps_ns[0])) * 1e-9
    assert LOADED_AT_S < found_s < LOADED_AT_S + 0.5
    with (results / "trunk_inertia.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == metrics["samples"]["trunk_inertia"]
    assert float(rows[0]["mass"]) == pytest.approx(trunk.mass)
    assert float(rows[-1]["mass"]) == pytest.approx(mass, rel=0.01)
    assert {"watching", "mass", "com"} <= {row["phase"] for row in rows}
    assert "The trunk" in (results / "report.html").read_text()
    assert set(metrics["tick_us"]) == {"tilt_observer", "inertial_ekf", "trunk_payload"}
