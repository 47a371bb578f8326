"""A real arm, identified from 14 s and held to the rest: the published error is met, bodies possible."""

import json
import os
from pathlib import Path

import pytest

from inertial_estimation.commands.main import main

ROOT = Path(__file__).parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
BAG = DATASETS / "panda_gaz2019" / "exciting_trajectory"
pytestmark = pytest.mark.skipif(not BAG.exists(), reason=f"no recording in {BAG}")


def test_held_out_torque_of_a_panda(tmp_path):
    pytest.importorskip("clarabel")
    arguments = ["--config", str(ROOT / "config" / "panda.yaml"), "--split", "14", "--compare", "--no-report"]
    assert main(["identify", str(BAG), *arguments, "--output", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "identification.json").read_text())
    errors = {name: m["relative_error_validation"] for name, m in content["methods"].items()}
    assert min(errors.values()) <= 0.0135
    possible = {name for name, m in content["methods"].items() if m["consistent"]}
    assert "consistent" in possible
    assert min(errors[name] for name in possible) <= 0.015
    assert content["rank"] == 69  # inertial base parameters and four of friction for seven joints
    assert content["validation"]["samples"] > 6000
    assert (tmp_path / "identified.urdf").exists()
