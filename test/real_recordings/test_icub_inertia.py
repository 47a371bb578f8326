"""A real humanoid that walks: its weight is found from the base rows alone."""

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
FOLDER = DATASETS / "icub_walking"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=f"no recording in {FOLDER}")


def test_total_mass_is_the_weight_on_the_feet():
    from support.inertial_scenes import replayed_estimates

    pipeline, estimates, _readings = replayed_estimates(
        FOLDER / "walk_front_back_2021", ROOT / "config" / "icub.yaml", urdf=FOLDER / "iCubGenova04.urdf"
    )
    assert abs(pipeline.total_mass - 33.9) < 0.3
    assert len(estimates) > 8000
    for estimate in estimates:
        body = estimate.links[0].estimate
        moments = np.linalg.eigvalsh(body.inertia_Lcm)
        assert body.mass > 0.0
        assert moments[0] > 0.0
        assert moments[2] < moments[0] + moments[1]
