"""Values that are sent again until the next measurement are found; noise, quantisation and rest are not."""

import numpy as np
import pytest

from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.checked_inputs import CheckedInputs
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample

RATE_HZ, SECONDS = 250, 6.0
NAMES = ("hip", "knee", "ankle", "toe")


def motion(n, rng, noise=1e-3):
    """Smooth numbers with noise, shape (m, n)."""
    t = np.arange(0.0, SECONDS, 1.0 / RATE_HZ)
    phase, rate = rng.uniform(0.0, 6.0, n), rng.uniform(1.0, 5.0, n)
    return np.sin(rate * t[:, None] + phase) + noise * rng.standard_normal((len(t), n))


def held(values, rate_hz, columns=slice(None)):
    """The values as a driver sends them that measures some columns at a lower rate."""
    since = np.arange(len(values)) * rate_hz // RATE_HZ
    first = np.searchsorted(since, since)
    result = values.copy()
    result[:, columns] = values[first][:, columns]
    return result


def judged(q, v=None, tau=None):
    inputs = CheckedInputs((), 0.1)
    for k in range(len(q)):
        of = [None if x is None else x[k] for x in (q, v, tau)]
        inputs.push_joints(JointReading(round(1e9 * k / RATE_HZ), NAMES, *of))
    return inputs.results()


@pytest.mark.parametrize("rate_hz", [5, 10, 25, 50])
def test_efforts_behind_faster_positions_are_named_with_their_rate(rate_hz):
    rng = np.random.default_rng(rate_hz)
    q, v, tau = (motion(4, rng) for _ in range(3))
    (result,) = judged(q, v, held(tau, rate_hz))
    assert (result.subject, result.verdict) == ("joint_states", Verdict.WARN)
    assert result.value == pytest.approx(rate_hz, rel=0.1)
    assert result.sentence.startswith(f"efforts change at {result.value:.2g} Hz only of 250 Hz")


def test_efforts_that_are_held_without_noise_are_named_within_half_a_second():
    rng = np.random.default_rng(1)
    q, v, tau = (motion(4, rng, noise=0.0)[: RATE_HZ // 2] for _ in range(3))
    (result,) = judged(q, v, held(tau, 10))
    assert result.sentence.startswith("efforts change at")


def test_one_joint_is_named_alone():
    rng = np.random.default_rng(2)
    q, v, tau = (motion(4, rng) for _ in range(3))
    (result,) = judged(q, held(v, 20, [2]), tau)
    assert result.subject == "joint_states ankle"
    assert result.value == pytest.approx(20.0, rel=0.02)
    assert result.sentence.startswith("velocities of ankle change at 20 Hz only of 250 Hz")


@pytest.mark.parametrize("quantum", [1e-4, 1e-2, 0.05, 0.3])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.05])
def test_quantised_values_are_not_held(quantum, noise):
    rng = np.random.default_rng(4)
    q, v, tau = (quantum * np.round(motion(4, rng, noise) / quantum) for _ in range(3))
    assert judged(q, v, tau) == []


def test_a_robot_that_rests_and_one_whose_values_are_all_new_are_not_held():
    rng = np.random.default_rng(5)
    q, v, tau = (motion(4, rng, noise=0.0) for _ in range(3))
    assert judged(q, v, tau) == []
    for x in (q, v, tau):
        x[300:1200] = x[300]
    assert judged(q, v, tau) == []
    v[:] = np.nan
    assert judged(q, v, tau) == []


def test_an_imu_and_a_wrench_are_named_with_their_input():
    rng = np.random.default_rng(6)
    imu, wrench = held(motion(6, rng), 50), held(motion(6, rng), 25)
    inputs = CheckedInputs(("left_foot",), 0.1)
    for k in range(len(imu)):
        stamp_ns = round(1e9 * k / RATE_HZ)
        inputs.push_imu(ImuSample(stamp_ns, imu[k, :3], imu[k, 3:]))
        inputs.push_wrench("left_foot", WrenchSample(stamp_ns, wrench[k]))
    found = {result.subject: result.value for result in inputs.results()}
    assert found == pytest.approx({"left_foot/wrench": 25.0, "imu/data": 50.0}, rel=0.05)
