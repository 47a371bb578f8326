"""A load that swings from its first moment on is followed by the shipped filter, not held for a push."""

import pytest

pytest.importorskip("mujoco", reason="needs MuJoCo")
pytest.importorskip("proxsuite", reason="needs ProxSuite")

import numpy as np

from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.experiments.foster_arm import ELBOW_OVERRIDES, FOREARM, elbow_run
from inertial_estimation.spatial.linear_algebra import rms


def test_the_mass_that_is_published_follows_a_load_that_swings() -> None:
    """Held at the mass before, it would be wrong by 2.1 kg rms."""
    shipped = {**ELBOW_OVERRIDES, INERTIAL_NODE: {"links": [FOREARM], "window": 0.1}}
    run = elbow_run(
        RobotLoop("talos", shipped), 4, adaptation=True, duration_s=1.6, hoist_s=hoist_time(quick=False)
    )
    late = run["time"] > run["time"][0] + 0.6
    assert np.ptp(run["mass"][late]) > 5.0
    assert rms((run["published"] - run["mass"])[late]) < 1.5
