"""The usual step in one compiled call gives what its parts give one by one, and ends where they have to."""

import numpy as np
import pytest
from support.leg_robot import NO_REST, Stance, push_stance, tilt_pipeline

from inertial_estimation.estimators.tilt.step_calls import StepCalls
from inertial_estimation.estimators.tilt.whole_steps import FINISHED, JUDGED
from inertial_estimation.signals import ImuSample

STEP_NS = 10_000_000
BEGIN, END = 2.0, 2.8  # of a fault [s]


def sound(t, f, w):
    return f, w


def spikes(t, f, w):
    return f + np.array([0.0, 60.0 * (round(100 * t) % 7 == 0), 0.0]), w + 4.0 * (round(100 * t) % 5 == 0)


def turning_gyroscope(t, f, w):
    return f, w + np.array([1.0, 0.0, 0.0])


def wrong_force(t, f, w):
    return f + np.array([2.5, 0.0, 1.0]), w


def numbers_of(estimate):
    state = estimate.state
    parts = [state.quaternion_xyzw, state.p_WB, state.v_WB_B, state.w_WB_B, estimate.tilt_B]
    parts += [estimate.gyro_bias_I, estimate.innovation_I, estimate.tilt_covariance_B.ravel()]
    parts += [estimate.gyro_bias_variances, estimate.contact_forces, estimate.contact_probabilities]
    flags = estimate.contacts, estimate.velocity_aided, estimate.gravity_aided, estimate.at_rest
    return state.stamp_ns, flags, np.concatenate(parts)


def run(fault, *, by_parts, flight=(), feet=1, **values):
    """Estimates and health of a robot on one foot that moves, or on two on which it all but stands still."""
    stance = Stance(3, still_until=0.5, size=0.2 if feet == 1 else 0.002)
    pipeline, estimates = tilt_pipeline(**values), []
    if by_parts:
        pipeline._estimator._compiled = False
    rng = np.random.default_rng(0)
    for k in range(1, 500):
        stamp, t = k * STEP_NS, 0.01 * k

        def spoil(imu, t=t):
            f = imu.specific_force_I + 0.02 * rng.normal(size=3)
            w = imu.angular_rate_I + 0.003 * rng.normal(size=3)
            return ImuSample(imu.stamp_ns, *(fault(t, f, w) if BEGIN <= t < END else (f, w)))

        load = (0.0, 0.0) if k in flight else (400.0, 400.0 * (feet - 1))
        push_stance(pipeline, stance, stamp, t, load=load, spoil=spoil)
        estimates += pipeline.tick(stamp)
    health = [(h.level, h.message, h.values) for h in pipeline.health(stamp)]
    return [numbers_of(estimate) for estimate in estimates], health


@pytest.mark.parametrize("observer", ["kalman", "two_stage"])
@pytest.mark.parametrize(
    ("fault", "values", "ends"),
    [
        (sound, {}, set()),
        (sound, NO_REST, set()),
        (sound, {"check_readings": False, "contact.velocity": "joint_velocity"}, set()),
        (sound, {"contact.point": "centre_of_pressure"}, set()),
        (sound, {"flight": range(300, 340)}, set()),
        (sound, {"feet": 2}, set()),
        (spikes, {}, set()),
        (turning_gyroscope, {}, {JUDGED}),
        (turning_gyroscope, {"feet": 2}, set()),
        (wrong_force, {}, {JUDGED}),
    ],
)
def test_a_usual_step_is_that_of_its_parts(monkeypatch, observer, fault, values, ends):
    found, whole = [], StepCalls.whole

    def noted(*arguments):
        found.append(whole(*arguments))
        return found[-1]

    monkeypatch.setattr(StepCalls, "whole", noted)
    values = {"observer": observer, **values}
    parts, health_of_parts = run(fault, by_parts=True, **values)
    assert not found
    estimates, health = run(fault, by_parts=False, **values)
    assert sum(bool(bits & FINISHED) for bits in found) > 150
    for end in ends:
        assert any(bits & end for bits in found)
    assert len(estimates) == len(parts)
    for estimate, expected in zip(estimates, parts, strict=True):
        assert estimate[:2] == expected[:2]
        np.testing.assert_array_equal(estimate[2], expected[2])
    assert health == health_of_parts
