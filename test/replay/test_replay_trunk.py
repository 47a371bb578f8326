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
from inertial_estimation.synthetic.synthetic_truth import StanceMotion, stance_truth

LOAD = ball("trunk", 6.0, (-0.2, 0.1, 0.1))
LOADED_AT_S = 0.8


def test_a_load_is_found_and_written(tmp_path: Path) -> None:
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
    with (results / "trunk_inertia.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == metrics["samples"]["trunk_inertia"]
    assert float(rows[0]["mass"]) == pytest.approx(trunk.mass)
    assert float(rows[-1]["mass"]) == pytest.approx(mass, rel=0.01)
    assert {"watching", "mass", "com"} <= {row["phase"] for row in rows}
    assert "The trunk" in (results / "report.html").read_text()
    assert set(metrics["tick_us"]) == {"tilt_observer", "inertial_ekf", "trunk_payload"}
