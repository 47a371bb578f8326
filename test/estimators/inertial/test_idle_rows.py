"""Rows that contain no body, left out of an update: NIS, decision and gain are those of all rows at once.

The oracle is the filter's equations written out for all rows of the equations of a walking robot's pipeline.
"""

import numpy as np
import pytest
from support.pipeline_inputs import push

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_filter import RELINEARISATION_DISTANCE, InertialFilter
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Decision
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

VALUES = {
    "imu_frame": "imu_link",
    "contacts": ("left_foot", "right_foot"),
    "contact_frames": ("left_sole_link", "right_sole_link"),
    "links": ("arm_left_5_link",),
    "rate": 125.0,
}
BY_ACCELERATION = ("accelerometer_bias", "accelerometer_scale", "contact_force", "contact_moment")
OF_TORQUES = {f"sensor_errors.{name}": 0.0 for name in BY_ACCELERATION}
ERRORS = {  # name: parameters, and whether rows without a body contain nothing at all
    "none": ({"sensor_errors.treatment": "none"}, True),
    "estimated": ({"sensor_errors.treatment": "estimated"}, False),
    "considered": ({"sensor_errors.treatment": "considered"}, False),
    "estimated, of torques": ({"sensor_errors.treatment": "estimated", **OF_TORQUES}, True),
    "considered, of torques": ({"sensor_errors.treatment": "considered", **OF_TORQUES}, True),
}


@pytest.fixture(scope="module")
def entries():
    """Readings of a TALOS whose forearm takes a weight at one second: some updates are rejected."""
    truth = synthetic_truth(
        "talos",
        Timing(duration_s=1.8, rate_hz=250.0, rest_s=0.2, fade_s=0.3),
        np.random.default_rng(0),
        payload_time_s=1.0,
    )
    recording = measure(truth, REALISTIC, np.random.default_rng(1))
    wanted = [topic for topic in recording.topics if "ground" not in topic]
    return list(recording.entries(wanted, 0))


class Oracle:
    """One update of a filter with all rows."""

    def __init__(self, estimator, equation, dt):
        x, P, at, kinds = estimator.x, estimator.P, estimator.state.at, estimator.kinds
        keep = np.exp(-dt / kinds.memories)
        prior, prior_mean = estimator.prior_factor @ estimator.prior_factor.T, estimator._x_nominal
        both = np.outer(keep, keep)
        x, P = prior_mean + keep * (x - prior_mean), both * P + (1.0 - both) * prior
        n = 10 * len(estimator.bodies)
        self.moved = np.abs(x - at.x)[:n].max() > 0.99 * RELINEARISATION_DISTANCE
        A, R = equation.regressor, equation.noise
        self.H = H = A @ at.dphi
        self.innovation = y = equation.value - A @ at.phi - H @ (x - at.x)
        S = H @ P @ H.T + R
        self.variance = np.diag(S)
        self.nis, self.log_det = y @ np.linalg.solve(S, y), np.linalg.slogdet(S)[1]
        self.accepted = self.nis <= estimator.gate.limit
        rows = np.arange(len(y)) if kinds.informing is None else kinds.informing
        H, y, noise = H[rows], y[rows], estimator.overlap * R[np.ix_(rows, rows)]
        K = kinds.corrected[:, None] * np.linalg.solve(H @ P @ H.T + noise, H @ P).T
        rest = np.eye(len(x)) - K @ H
        self.x, self.P = x + K @ y, rest @ P @ rest.T + K @ noise @ K.T


def correlated(noise):
    """Noise of which a part as large as the stated one is common to all rows in pairs, signs alternating."""
    rng = np.random.default_rng(len(noise))
    sigma = np.sqrt(np.diag(noise))
    shared = sigma[:, None] * rng.normal(size=(len(noise), len(noise))) / np.sqrt(len(noise))
    return noise + shared @ shared.T


class Compared:
    """Runs a pipeline and compares every usual update of its filter with the oracle."""

    def __init__(self, monkeypatch, entries, *, full, **values):
        self.idle, self.decisions, self.compared, self.full = [], [], 0, full
        self.shared_noise, self.update = 0.0, InertialFilter.update
        monkeypatch.setattr(InertialFilter, "update", lambda *args, **named: self.checked(*args, **named))
        config = build_config(InertialPipelineConfig, {**VALUES, **values})
        self.pipeline = InertialPipeline(config, read_urdf("example-robot-data:talos_reduced"))
        for entry in entries:
            push(self.pipeline, entry.topic, entry.sample)
            self.pipeline.tick(entry.sample.stamp_ns)

    def checked(self, estimator, equation, dt, **named):
        if self.full:
            equation = equation.with_noise(correlated(equation.noise))
        before, oracle = estimator.state, Oracle(estimator, equation, dt)
        update = self.update(estimator, equation, dt, **named)
        if named.get("learn", True) and not oracle.moved:
            self.compare(oracle, update, estimator, before, equation)
        return update

    def compare(self, oracle, update, estimator, before, equation):
        idle = ~equation.regressor.any(axis=1)
        self.idle.append(int(idle.sum()))
        R, sigma = equation.noise, np.sqrt(np.diag(equation.noise))
        self.shared_noise = max(
            self.shared_noise, np.abs(R / np.outer(sigma, sigma))[np.ix_(idle, ~idle)].max(initial=0.0)
        )
        np.testing.assert_allclose(update.nis, oracle.nis, rtol=1e-8)
        np.testing.assert_allclose(update.log_det, oracle.log_det, rtol=1e-8)
        np.testing.assert_allclose(update.innovation / sigma, oracle.innovation / sigma, atol=1e-8)
        np.testing.assert_allclose(update.variance, oracle.variance, rtol=1e-8)
        assert update.accepted == oracle.accepted or update.decision is Decision.REOPENED
        self.decisions.append(update.decision)
        if update.decision is Decision.ACCEPTED and estimator.state.at is before.at:
            spread = np.sqrt(np.diag(oracle.P))
            np.testing.assert_allclose(estimator.x / spread, oracle.x / spread, rtol=1e-7, atol=1e-7)
            scale = np.outer(spread, spread)
            np.testing.assert_allclose(estimator.P / scale, oracle.P / scale, atol=1e-7)
            self.compared += 1


@pytest.mark.parametrize("full", [False, True], ids=["stated noise", "full covariance"])
@pytest.mark.parametrize("errors", ERRORS)
def test_an_update_is_that_of_all_rows(monkeypatch, entries, errors, full):
    values, are_idle = ERRORS[errors]
    run = Compared(monkeypatch, entries, full=full, **values)
    assert run.compared > 50
    assert {Decision.ACCEPTED, Decision.REJECTED} <= set(run.decisions)
    assert (max(run.idle) > 0) == are_idle
    assert (run.shared_noise > 0.1) == are_idle
    assert any(used != 1.0 for _seen, used in run.pipeline.estimator.corrected.noise.factors().values())
