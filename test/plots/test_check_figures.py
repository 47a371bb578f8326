"""Figures of a check: curves that agree lie on one another, and a mass is drawn by what it is off."""

import numpy as np
import pytest
from support.recorded_robots import ARMS, recorded

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.plots.check_report import FIGURES


def drawn(robot, mass, wrong):
    """Curves by figure and panel, then by their labels, of a check with a wrong mass in the description."""
    urdf = robot.urdf.replace(f'<mass value="{mass}"', f'<mass value="{wrong}"')
    assert urdf != robot.urdf
    diagnosis = robot.diagnosis(urdf=urdf)
    return {
        title: {panel.title: {one.label: one for one in panel.series} for panel in draw(diagnosis)}
        for title, draw in FIGURES.items()
    }


@pytest.fixture(scope="module")
def standing():
    """TALOS moves on its feet; its torso weighs 7 kg more than described."""
    return drawn(recorded("talos", 8.0, locked_joints=ARMS), 17.55011, 10.55011)


def test_feet_carry_what_weight_and_motion_need_and_the_mass_that_the_description_lacks(standing):
    (forces,) = standing["Contact forces"].values()
    both = forces["left_foot"].y + forces["right_foot"].y
    np.testing.assert_allclose(both, forces["sum"].y)
    assert np.mean(both - forces["needed"].y) == pytest.approx(7.0 * STANDARD_GRAVITY, rel=0.01)
    assert (both - forces["needed"].y).std() < 5.0


def test_gyroscope_and_efforts_are_drawn_over_what_feet_and_description_say(standing):
    assert len(standing["Angular rates"]) == 3
    assert len(standing["Efforts"]) == 4
    pairs = [(c["as recorded"], c["from the feet"]) for c in standing["Angular rates"].values()]
    pairs += [(c["as recorded"], c["predicted"]) for c in standing["Efforts"].values()]
    for seen, expected in pairs:
        np.testing.assert_array_equal(seen.x, expected.x)
        known = np.isfinite(expected.y)
        assert known.mean() > 0.5
        assert np.std((seen.y - expected.y)[known]) < 0.5 * np.std(expected.y[known])


def test_a_delay_is_most_probable_where_it_was_found(standing):
    (delays,) = standing["Time offsets"].values()
    for label, curve in delays.items():
        found_ms = float(label.split()[-2])
        assert abs(curve.x[np.nanargmax(curve.y)] - found_ms) <= np.diff(curve.x).max() or not np.nanstd(
            curve.y
        )


def test_the_mass_that_is_named_is_apart_from_the_others_with_its_error_inside_its_bar():
    (masses,) = drawn(recorded("panda", 8.0), 1.666555, 2.566555)["Masses"].values()
    (low,), (high,) = masses["named above"].low, masses["named above"].high
    assert low < -0.9 < high < 0.0
    assert len(masses["others"].x) > 3
    assert not set(masses["named above"].y) & set(masses["others"].y)
