"""The vertical by later readings: exact without noise, blind to nothing that gains can change."""

import numpy as np
import pytest
from support.observer_simulation import Body

from inertial_estimation.estimators.tilt.observer_batch import ObserverReadings
from inertial_estimation.tuning.later_vertical import WINDOW_S, later_verticals

H = 0.002


@pytest.fixture(scope="module")
def moving():
    """Exact means over the steps, and the vertical at their ends."""
    body, ends = Body(3), H * np.arange(1, 2501)
    middle = ends - 0.5 * H
    readings = ObserverReadings(
        np.full(len(ends), H), body.rate(middle), body.force(middle), body.velocity_I(middle)
    )
    return readings, body.vertical(ends)


def angles_deg(a, b):
    return np.degrees(np.linalg.norm(np.cross(a, b), axis=1))


def test_without_noise_it_is_the_vertical(moving):
    readings, true = moving
    found = later_verticals(readings)
    known = np.isfinite(found[:, 0])
    assert angles_deg(found, true)[known].max() < 0.02
    assert known[: len(known) - round(WINDOW_S / H) - 2].all()
    assert not known[-round(WINDOW_S / H) + 1 :].any(), "readings that are not there determine nothing"


def test_readings_until_a_time_do_not_matter(moving):
    """What an estimate has used, it is not judged by."""
    readings, _true = moving
    spoilt = [getattr(readings, name).copy() for name in ("w_I", "f_I", "y_v")]
    for values in spoilt:
        values[:1000] += 1.0
    found = later_verticals(ObserverReadings(readings.h, *spoilt))[1000:]
    expected = later_verticals(readings)[1000:]
    assert np.nanmax(np.abs(found - expected)) < 1e-9


def test_time_without_contact_is_left_out(moving):
    readings, true = moving
    y_v = readings.y_v.copy()
    y_v[600:800], y_v[1200:1900] = np.nan, np.nan
    found = later_verticals(ObserverReadings(readings.h, readings.w_I, readings.f_I, y_v))
    known = np.isfinite(found[:, 0])
    assert known[300], "a short flight leaves enough"
    assert not known[1150], "a long one does not"
    assert angles_deg(found, true)[known].max() < 0.02
