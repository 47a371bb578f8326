"""TALOS: hand on a table, marker on the hand, feet on the floor; errors within the published ones."""

import json
import math
import os
from pathlib import Path

import pytest

from inertial_estimation.commands.main import main

ROOT = Path(__file__).parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
FOLDER = DATASETS / "talos_calibration"
TABLE, MARKER = FOLDER / "table_contact_left.csv", FOLDER / "left_arm_mocap_2022-02-10.csv"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=f"no recording in {FOLDER}")


def calibrated(tmp_path: Path, *arguments: str) -> dict:
    assert (
        main(["calibrate", *arguments, "--config", "talos", "--output", str(tmp_path), "--no-figures"]) == 0
    )
    return json.loads((tmp_path / "calibration.json").read_text())


def test_offsets_alone_predict_held_out_touches_within_the_published_errors(tmp_path: Path) -> None:
    report = calibrated(
        tmp_path,
        *("plane", str(TABLE), "--frame", "gripper_left_base_link"),
    )
    errors = report["errors_rms"]
    assert report["held_out"] == 9
    assert errors["height"]["held_out_written"] <= 9.3
    assert errors["roll"]["held_out_written"] <= 0.75
    assert errors["pitch"]["held_out_written"] <= 0.52


def test_legs_that_were_closed_by_their_controller_have_no_offsets(tmp_path: Path) -> None:
    report = calibrated(tmp_path, "flat-feet", str(TABLE), "--imu-link", "none")
    assert len(report["joints"]) == 12
    for joint in report["joints"]:
        assert abs(joint["offset_deg"]) < 0.1 or joint["identifiability"] == "not identifiable"


def test_marker_left_out_is_predicted_within_two_millimetres(tmp_path: Path) -> None:
    arguments = ("--param", "calibration.offset_sigma=0.05")
    report = calibrated(tmp_path, "marker", str(MARKER), "--frame", "arm_left_7_link", *arguments)
    marker = report["errors_rms"]["marker"]
    assert marker["before"] == pytest.approx(5.16, abs=0.3)
    assert marker["leave_one_out"] <= 2.0
    assert math.isfinite(marker["after"])
