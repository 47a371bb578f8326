"""The demo's figure is drawn whatever was heard."""

from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.commands.demo import demo_panels
from inertial_estimation.plots.png import write_png
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene

SCENE = PayloadScene("elbow", -1.2, "forearm", 5.44, 1.78, 1.0, 5.0)


@pytest.mark.parametrize("n", [0, 1, 100])
def test_figure_of_both_runs(tmp_path: Path, n: int) -> None:
    t = np.linspace(0.0, 5.0, n)
    responses = [PayloadResponse(on, t, np.cos(t), t, t) for on in (False, True)]
    elbow, mass = panels = demo_panels(SCENE, responses)
    assert write_png(tmp_path / "demo.png", "demo", panels).stat().st_size > 10_000
    assert [one.label for one in elbow.series] == ["without adaptation", "with adaptation"]
    assert mass.series[-1].label == "truth"
    np.testing.assert_allclose(elbow.series[1].y, np.degrees(np.cos(t)))
