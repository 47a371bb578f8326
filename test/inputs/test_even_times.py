import numpy as np
import pytest

from inertial_estimation.inputs.clocks import EvenTimes

T = 10_000_000
BEGIN = 1_600_000_000_000_000_000


def bursts(rng, n, share=0.15, longest=16, latency=0.03):
    """Times and arrivals of samples whose transport stalls now and then and then delivers at once."""
    true = np.arange(n, dtype=np.int64) * T + BEGIN
    arrival = true + (latency * T * rng.random(n)).astype(np.int64)
    i = 0
    while i < n:
        if rng.random() < share:
            stop = min(n, i + int(rng.integers(2, longest)))
            arrival[i:stop] = true[stop - 1] + 50_000 * np.arange(1, stop - i + 1)
            i = stop
        else:
            i += 1
    return true, np.maximum.accumulate(arrival + np.arange(n))


def times_of(stamps, mode="auto"):
    even = EvenTimes(mode)
    return np.array([even.time_of(int(stamp)) for stamp in stamps]), even


@pytest.mark.parametrize("seed", range(5))
def test_bursts_become_even(seed):
    true, arrival = bursts(np.random.default_rng(seed), 3000)
    times, even = times_of(arrival)
    assert even.even
    assert np.abs(times - true)[500:].max() < 0.1 * T
    assert np.abs(np.diff(times[500:]) - T).max() < 0.1 * T


@pytest.mark.parametrize("late", [0.6, 0.8])
def test_a_quarter_of_late_samples_is_found(late):
    rng, n = np.random.default_rng(3), 3000
    true = np.arange(n) * T + BEGIN
    delay = np.where(rng.random(n) < 0.25, late * rng.uniform(0.7, 1.0, n), 0.05 * rng.random(n))
    arrival = np.maximum.accumulate(true + (delay * T).astype(np.int64)) + np.arange(n)
    times, even = times_of(arrival)
    assert even.even
    assert (times - true)[1000:].std() < 0.1 * (arrival - true).std()


@pytest.mark.parametrize("samples", [2, 3, 10, 50])
def test_groups_of_samples_are_bursts(samples):
    index = np.arange(3000)
    stamps = (index // samples + 1) * samples * T + index % samples * 20_000
    times, _even = times_of(stamps)
    np.testing.assert_allclose(np.diff(times[-1000:]), T, rtol=0.1)


N = 4000
PLAIN = {
    "large steps": lambda rng: np.cumsum(T + (0.5 * T * rng.uniform(-1.0, 1.0, N)).astype(np.int64)),
    "normal": lambda rng: deviating(rng.normal(0.0, 0.4, N)),
    "late": lambda rng: deviating(rng.exponential(0.5, N)),
    "lost samples": lambda rng: np.cumsum(T * rng.choice([1, 2, 3], N, p=[0.8, 0.15, 0.05])),
}


def deviating(deviation):
    return np.unique(np.maximum.accumulate(((np.arange(N) + deviation) * T).astype(np.int64)))


@pytest.mark.parametrize("kind", PLAIN)
def test_jitter_and_lost_samples_without_bursts_leave_the_stamps_alone(kind):
    stamps = PLAIN[kind](np.random.default_rng(100))
    times, even = times_of(stamps)
    assert times.tolist() == stamps.tolist()
    assert not even.even


@pytest.mark.parametrize("lost", [30, 100])
def test_lost_samples_of_a_bursty_stream_are_caught_up_with(lost):
    true, arrival = bursts(np.random.default_rng(3), 4000)
    kept = np.r_[0:1500, 1500 + lost : 4000]
    times, _even = times_of(arrival[kept])
    assert np.abs(times - true[kept])[1500 + 80 :].max() < 0.5 * T


@pytest.mark.parametrize(("fast", "slow"), [(1_000_000, T), (T, 1_000_000), (2_000_000, 5_000_000)])
def test_a_change_of_the_rate_is_followed(fast, slow):
    steps = np.r_[np.full(300, slow), np.full(1000, fast), np.full(300, slow)]
    stamps = np.cumsum(steps + np.random.default_rng(0).integers(-10_000, 10_000, 1600))
    times, _even = times_of(stamps)
    assert np.diff(times).min() > 0
    assert np.abs(stamps - times)[1000:1300].max() < 4 * fast
    assert np.abs(stamps - times)[-200:].max() < 0.1 * slow


def test_as_is_never_changes_a_stamp_and_reset_forgets():
    _true, arrival = bursts(np.random.default_rng(3), 500)
    assert times_of(arrival, "as_is")[0].tolist() == arrival.tolist()
    _times, even = times_of(arrival)
    even.reset()
    assert even.time_of(123) == 123
