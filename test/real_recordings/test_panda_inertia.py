"""A real arm: all seven bodies and friction, learned online, then held out."""

import os
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.signals import Decision

ROOT = Path(__file__).parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
BAG = DATASETS / "panda_gaz2019" / "exciting_trajectory"
pytestmark = pytest.mark.skipif(not BAG.exists(), reason=f"no recording in {BAG}")


def test_held_out_torque_is_predicted_within_two_percent():
    from support.inertial_scenes import replayed_estimates

    _pipeline, estimates, readings = replayed_estimates(BAG, ROOT / "config" / "panda.yaml", hold_out_s=14.0)
    from inertial_estimation.replay.torque_errors import torque_series

    held_out = [e for e in estimates if e.decision is Decision.DISABLED]
    assert len(held_out) > 1500
    assert torque_series(held_out, readings).relative_error() < 0.020
    for link in estimates[-1].links:
        moments = np.linalg.eigvalsh(link.estimate.inertia_Lcm)
        assert link.estimate.mass > 0.0
        assert moments[0] > 0.0
        assert moments[2] < moments[0] + moments[1]
