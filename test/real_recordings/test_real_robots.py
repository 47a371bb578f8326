"""Legs of a Go2 and a UR10: held out better than plain least squares, with possible bodies."""

import pytest

pytest.importorskip("clarabel")
pytest.importorskip("rosbags")

from benchmarks.real_robots.__main__ import DATASETS, JOINTS
from benchmarks.real_robots.joint_recordings import identified
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.offline.identification_setup import identification_config

BOUNDS = {"go2": 0.165, "ur10": 0.055}  # plain least squares: 21.8 and 7.6 %


@pytest.mark.parametrize("robot", BOUNDS)
def test_held_out_torques(robot: str) -> None:
    recording = JOINTS[robot]
    if not (DATASETS / recording.bag).exists():
        pytest.skip(f"no recording in {DATASETS / recording.bag}")
    config = identification_config(load_configs([recording.config]))
    run = identified(recording, DATASETS, config, "consistent")
    assert run.result.relative_error_validation <= BOUNDS[robot]
    assert run.urdf is not None
    assert not any(body.violations for body in run.result.bodies)
