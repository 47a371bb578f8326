"""A response counts from the release and its numbers are those of the series."""

import numpy as np
import pytest

from inertial_estimation.recordings.watch_record import LiveRecord
from inertial_estimation.replay.payload_response import PayloadScene, response_from_record
from inertial_estimation.signals import LinkInertia

SCENE = PayloadScene(
    "elbow", home=-1.0, link="forearm", payload=5.0, nominal_mass=2.0, time_s=1.0, duration_s=4.0
)
RELEASED = 7_000_000_000


def record(offset: float, mass: float) -> LiveRecord:
    """A second before the release to two after the end; the elbow is off from the weight on."""
    heard = LiveRecord()
    stamps = [RELEASED + round(t * 1e9) for t in np.arange(-1.0, 6.0, 0.01)]
    late = RELEASED + round(SCENE.time_s * 1e9)
    heard.joints["elbow"] = [(s, SCENE.home + offset * (s >= late)) for s in stamps]
    body = LinkInertia("forearm", mass, np.zeros(3), np.eye(3))
    heard.inertias["forearm"] = [(s, body) for s in stamps]
    return heard


def test_numbers_of_a_constant_error() -> None:
    response = response_from_record(record(0.25, 6.3), SCENE, adaptation=True, released_ns=RELEASED)
    assert response.t[0] == pytest.approx(0.0, abs=0.011)
    assert response.t[-1] == pytest.approx(4.0, abs=0.011)
    numbers = response.numbers(SCENE)
    assert numbers["elbow_rmse_rad"] == pytest.approx(0.25)
    assert numbers["elbow_error_at_end_rad"] == pytest.approx(0.25)
    assert numbers["largest_elbow_error_rad"] == pytest.approx(0.25)
    assert numbers["mass_error_at_end"] == pytest.approx(-0.1)
    np.testing.assert_allclose(response.mass, 6.3)
