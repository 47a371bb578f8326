"""The demo's figure is drawn whatever was heard."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from inertial_estimation.plots import demo_figure
from inertial_estimation.plots.demo_figure import write_demo_figure
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene

SCENE = PayloadScene("elbow", -1.2, "forearm", 5.44, 1.78, 1.0, 5.0)


@pytest.mark.parametrize("n", [0, 1, 100])
def test_figure_of_both_runs(tmp_path: Path, n: int) -> None:
    t = np.linspace(0.0, 5.0, n)
    responses = [PayloadResponse(on, t, np.cos(t), t, t, t[: n // 2], t[: n // 2]) for on in (False, True)]
    assert write_demo_figure(tmp_path / "demo.png", SCENE, responses).stat().st_size > 10_000


def test_every_entry_of_a_legend_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr(demo_figure, "save", lambda figure, path: drawn.append(figure) or path)
    t = np.linspace(0.0, 5.0, 50)
    responses = [PayloadResponse(on, t, np.cos(t), t, t, t, t) for on in (False, True)]
    write_demo_figure(tmp_path / "demo.png", SCENE, responses)
    legends = [[text.get_text() for text in axis.get_legend().get_texts()] for axis in drawn[0].axes]
    assert legends == [
        ["without adaptation", "with adaptation", "reference"],
        ["published", "estimate", "truth"],
    ]
