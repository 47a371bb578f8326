"""The vertical by later readings: exact without noise, blind to nothing that gains can change."""

import numpy as np
import pytest
from support.leg_robot import Stance, push_stance, tilt_pipeline
from support.observer_simulation import Body

from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.later_vertical import WINDOW_S, ObserverReadings, later_verticals
from inertial_estimation.tuning.tilt_scores import LaterReadings

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


def test_what_a_pipeline_keeps_determines_the_vertical_on_both_sides_of_a_gap():
    stance, pipeline, period_ns = Stance(1, size=0.5, still_until=0.5), tilt_pipeline(), 5_000_000
    kept = []
    pipeline.estimator.on_step = kept.append
    estimates = []
    for k in range(1, 1600):
        if 700 <= k < 800:  # longer than the largest gap
            continue
        push_stance(pipeline, stance, k * period_ns, 1e-9 * k * period_ns)
        estimates += pipeline.tick(k * period_ns)
    assert sum(step.h == 0.0 for step in kept) == 2, "the start, and after the gap"
    division = Division.of(NANOSECONDS, 8 * NANOSECONDS, 1)
    stamps = np.array([estimate.state.stamp_ns for estimate in estimates])
    true = np.array([stance.pose("base", 1e-9 * stamp).rotation[2] for stamp in stamps])
    scores = LaterReadings(division, kept, 0.0).of(stamps, true, 8 * NANOSECONDS)
    assert np.isfinite(scores).sum() >= 3
    assert np.nanmax(scores) < 0.05**2
