"""A fault from the first reading on that ends shows in the NIS; an estimate that converges is none."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.start_watch import LONG, START, StartWatch

ROWS, DT = 38, 0.005


def seen(*stretches, seed=0):
    """Return at which times [s] the contradiction counts as over; stretches of mean NIS per row and time."""
    rng, watch, times, t = np.random.default_rng(seed), StartWatch(ROWS), [], 0.0
    for level, duration in stretches:
        for _ in range(round(duration / DT)):
            watch.feed(level * rng.chisquare(ROWS), DT)
            t += DT
            if watch.is_over:
                times.append(t)
    return times


@pytest.mark.parametrize("level", [4.0, 12.0, 300.0])
def test_a_faulty_start_is_over_soon_after_the_fault(level):
    begun = 1.2
    times = seen((level, begun), (0.3, 2.0))
    assert begun < times[0] < begun + 0.6


@pytest.mark.parametrize(
    "stretches",
    [
        [(1.0, 5.0)],
        [(1e6, 0.02), (100.0, 0.05), (1.0, 2.0)],  # an unknown payload from the first reading on
        [(1e6, 0.3), (0.3, 2.0)],  # one that is learned slowly
        [(2.0, 2.0), (0.2, 1.0)],  # noise stated too small, then rest
        [(8.0, 2.0), (4.0, 1.0)],  # a fault that grows less
        [(8.0, START + 0.5), (0.3, 2.0)],  # a fault longer than the start looks like noise
    ],
)
def test_what_is_no_fault_of_the_start_is_none(stretches):
    assert seen(*stretches) == []


def test_a_short_contradiction_and_an_nis_that_is_no_number_count_for_nothing():
    assert seen((8.0, 0.6 * LONG), (0.3, 2.0)) == []
    watch = StartWatch(ROWS)
    for _ in range(400):
        watch.feed(float("nan"), DT)
    assert not watch.is_over
