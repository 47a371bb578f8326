import numpy as np
import pytest

from inertial_estimation.models.stamp_regulator import StampRegulator
from inertial_estimation.signals import NANOSECONDS

T = 10_000_000


def bursts(rng, n, share=0.15, longest=16):
    """Arrival stamps of a 100 Hz stream whose transport stalls now and then and then delivers at once."""
    true = np.arange(n, dtype=np.int64) * T + 1_600_000_000_000_000_000
    arrival = true + rng.integers(0, 300_000, n)
    i = 0
    while i < n:
        if rng.random() < share:
            stop = min(n, i + int(rng.integers(2, longest)))
            arrival[i:stop] = true[stop - 1] + 50_000 * np.arange(1, stop - i + 1)
            i = stop
        else:
            i += 1
    return true, np.maximum.accumulate(arrival + np.arange(n))


@pytest.mark.parametrize("seed", range(5))
def test_bursts_become_regular(seed):
    true, arrival = bursts(np.random.default_rng(seed), 3000)
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(a)) for a in arrival])
    assert regulator.active
    settled = slice(500, None)
    raw_steps = np.abs(np.diff(arrival[settled]) - T)
    steps = np.abs(np.diff(times[settled]) - T)
    assert np.percentile(steps, 99) < 0.1 * T < np.percentile(raw_steps, 90)
    assert np.abs(times - true)[settled].max() < 0.3 * T


def test_regular_stamps_are_left_alone():
    rng = np.random.default_rng(1)
    stamps = np.cumsum(T + rng.integers(-1_500_000, 1_500_000, 2000))
    regulator = StampRegulator()
    assert [regulator.time_of(int(s)) for s in stamps] == stamps.tolist()
    assert not regulator.active


def test_lost_samples_alone_are_no_bursts():
    rng = np.random.default_rng(2)
    stamps = np.cumsum(T * rng.choice([1, 2, 3], 2000, p=[0.8, 0.15, 0.05]))
    regulator = StampRegulator()
    assert [regulator.time_of(int(s)) for s in stamps] == stamps.tolist()


def test_bursts_that_begin_late_are_noticed_soon():
    true, arrival = bursts(np.random.default_rng(5), 3000)
    arrival = np.r_[true[:2000], arrival[2000:]]
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(a)) for a in arrival])
    assert np.abs(times - true)[2200:].max() < 0.3 * T


def test_times_always_increase():
    _, arrival = bursts(np.random.default_rng(7), 2000, share=0.4)
    regulator = StampRegulator()
    times = [regulator.time_of(int(a)) for a in arrival]
    assert min(np.diff(times)) > 0


def test_lost_samples_are_caught_up_with():
    true, arrival = bursts(np.random.default_rng(3), 4000)
    kept = np.r_[0:1500, 1530:4000]
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(a)) for a in arrival[kept]])
    assert np.abs(times - true[kept])[-500:].max() < 0.5 * T


def test_as_is_never_changes_a_stamp():
    _, arrival = bursts(np.random.default_rng(3), 500)
    regulator = StampRegulator("as_is")
    assert [regulator.time_of(int(a)) for a in arrival] == arrival.tolist()


def test_reset_forgets():
    _, arrival = bursts(np.random.default_rng(4), 500)
    regulator = StampRegulator()
    for a in arrival:
        regulator.time_of(int(a))
    regulator.reset()
    assert regulator.time_of(123) == 123
    assert not regulator.active


@pytest.mark.parametrize(("fast", "usual"), [(1_000_000, T), (T, 1_000_000), (2_000_000, 5_000_000)])
def test_times_return_to_the_stamps_when_the_rate_has_changed_for_a_while(fast, usual):
    steps = np.r_[np.full(300, usual), np.full(1000, fast), np.full(300, usual)]
    stamps = np.cumsum(steps)
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(s)) for s in stamps])
    assert min(np.diff(times)) > 0
    lag = stamps - times
    assert lag[1000:1300].max() < 4 * fast
    assert np.abs(lag[-200:]).max() == 0


def test_lost_samples_of_a_bursty_stream_are_caught_up_with_within_some_samples():
    true, arrival = bursts(np.random.default_rng(3), 4000)
    kept = np.r_[0:1500, 1600:4000]
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(a)) for a in arrival[kept]])
    assert regulator.active
    assert (true[kept] - times)[1500 + 60 :].max() < 4 * T


def test_one_long_stall_is_a_burst_and_no_wrong_line():
    true, arrival = bursts(np.random.default_rng(8), 3000)
    arrival = arrival.copy()
    arrival[2000:2100] = true[2100] + 10_000 * np.arange(100)
    regulator = StampRegulator()
    stamps = np.maximum.accumulate(arrival)
    times = [regulator.time_of(int(a)) for a in stamps[:2000]]
    before = regulator.corrections
    times = np.array(times + [regulator.time_of(int(a)) for a in stamps[2000:]])
    assert regulator.active
    assert regulator.corrections == before
    assert np.abs(times - true)[500:].max() < 0.6 * T


@pytest.mark.parametrize("fast_samples", [50, 200, 400])
@pytest.mark.parametrize("ratio", [4, 10])
def test_a_stream_that_was_faster_for_a_while_is_not_taken_for_bursts_later(fast_samples, ratio):
    """A fit over samples of two rates gives a period that is neither of theirs."""
    rng = np.random.default_rng(fast_samples)
    steps = np.r_[np.full(700, T), np.full(fast_samples, T // ratio), np.full(2500, T)]
    stamps = np.cumsum(steps + rng.integers(-T // 100, T // 100, len(steps))) + 1_600_000_000_000_000_000
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(stamp)) for stamp in stamps])
    assert np.abs(times - stamps)[700 + fast_samples :].max() < T / 10
    assert not regulator.active


@pytest.mark.parametrize("rate", [100, 500, 1000])
@pytest.mark.parametrize("jitter", ["uniform", "normal", "late"])
def test_jitter_without_bursts_leaves_the_stamps_alone(rate, jitter):
    rng, n, period = np.random.default_rng(rate), 6000, NANOSECONDS / rate
    deviation = {
        "uniform": lambda: rng.uniform(-0.9, 0.9, n),
        "normal": lambda: rng.normal(0.0, 0.4, n),
        "late": lambda: rng.exponential(0.5, n),
    }[jitter]()
    stamps = np.unique(np.maximum.accumulate(((np.arange(n) + deviation) * period).astype(np.int64)))
    regulator = StampRegulator()
    assert all(regulator.time_of(int(stamp)) == stamp for stamp in stamps)


@pytest.mark.parametrize("samples", [2, 3, 10])
def test_groups_of_samples_are_bursts(samples):
    n, period = 2000, 2_000_000
    index = np.arange(n)
    stamps = (index // samples + 1) * samples * period + index % samples * 20_000
    regulator = StampRegulator()
    times = np.array([regulator.time_of(int(stamp)) for stamp in stamps])
    np.testing.assert_allclose(np.diff(times[-1000:]), period, rtol=0.1)
