"""A load taken during the recording is named with its mass and its time; a sound recording has none."""

import numpy as np
import pytest
from support.recorded_robots import recorded

from inertial_estimation.bring_up.load_change import _step

LOAD_KG, AT_S = 5.0, 5.0


@pytest.fixture(scope="module")
def loaded():
    return recorded("talos", 8.0, payload_time_s=AT_S, payload_mass=LOAD_KG)


def test_a_load_taken_in_the_middle_is_named_and_blames_nothing_else(loaded):
    results = [result for result in loaded.diagnosis().results if result.failed]
    assert [(result.check, result.subject) for result in results] == [("load change", "recording")]
    assert results[0].value == pytest.approx(LOAD_KG, rel=0.1)
    assert "before 5." in results[0].sentence
    assert "part before" in results[0].remedy


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_wanders_is_no_step(seed):
    rng = np.random.default_rng(seed)
    wandering = 0.1 * np.convolve(rng.normal(size=260), np.ones(3) / 3, "valid")
    assert _step(1.0 + wandering) is None
    at, before, after = _step(1.0 + wandering + 0.2 * (np.arange(258) >= 100))
    assert abs(at - 100) <= 5
    assert after - before == pytest.approx(0.2, abs=0.05)


def test_a_short_recording_has_no_step():
    assert _step(np.r_[np.ones(19), 2.0 * np.ones(19)]) is None
