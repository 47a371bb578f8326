"""Published experiments, shortened: from simulation to table they run, and keep the bounds they can keep."""

import math

import numpy as np
import pytest

from inertial_estimation.experiments.pushed_biped import QUICK_PUSHES
from inertial_estimation.experiments.registry import find_experiment

pytestmark = pytest.mark.experiment


def quick(name):
    """The result of a shortened run with one seed, and its rows by their quantities."""
    result = find_experiment(name).run([0, 1], quick=True)
    assert result.seeds == (0,)
    return result, {row.quantity: row.ours for row in result.rows}


@pytest.mark.parametrize("name", ["foster-pelvis", "benallegue-loop", "tournois-slope", "syde-design"])
def test_every_number_is_finite_and_every_bound_is_kept(name: str) -> None:
    result, rows = quick(name)
    assert all(math.isfinite(value) for value in rows.values())
    assert any(row.bound for row in result.rows)
    assert [row.quantity for row in result.missed] == []


def test_adaptation_holds_a_load_in_the_hand() -> None:
    result, _rows = quick("foster-elbow")
    assert result.panels
    assert all("without" in row.quantity for row in result.missed), "it sags less in a short run"


def test_a_pushed_biped_stands_after_the_first_push_and_lies_after_the_second() -> None:
    result, _rows = quick("benallegue-push")
    first_s, second_s = (time for time, _ in QUICK_PUSHES)
    panel = next(panel for panel in result.panels if panel.title.startswith("Vertical in the IMU frame, z"))
    (true,) = [curve for curve in panel.series if curve.label == "truth"]
    moments = [first_s - 0.1, first_s + 0.4, second_s - 0.1]
    lean = np.degrees(np.arccos(np.minimum(1.0, np.interp(moments, true.x, true.y))))
    assert lean[0] < 0.1
    assert lean[1] > 1.0
    assert lean[2] < 0.5
    assert true.y[-1] < 0.2


def test_bounds_keep_masses_positive_and_nothing_else_does() -> None:
    _result, rows = quick("yamane-dynamic")
    assert rows["negative masses, least squares without truncation, fewest of all sets"] >= 1
    assert rows["smallest mass, bounded gradient, all sets and limits"] > 0.0
    shares = [value for name, value in rows.items() if "true parameters, cost / nominal" in name]
    assert max(shares) < 0.5


def test_the_filter_learns_the_load_while_the_robot_walks_on() -> None:
    result, rows = quick("trunk-ekf-walk")
    assert rows["exact model: falls, sum"] == 0.0
    errors = next(panel for panel in result.panels if panel.title == "Error in x and y").series[0]
    assert errors.y[(errors.x > 0.0) & (errors.x < 0.05)].max() > 80.0, "it moves the centre by centimetres"
    assert errors.y[errors.x > 2.0].max() < 10.0
