"""Blocks of a recording and the comparison of scores."""

import numpy as np

from inertial_estimation.tuning.division import Division, compared

SECOND = 1_000_000_000


def test_parts_and_blocks_cover_the_recording():
    division = Division.of(5 * SECOND, 65 * SECOND, 3)
    stamps = np.arange(0, 70 * SECOND, SECOND // 4)
    blocks = division.blocks_at(stamps)
    assert division.blocks == 10
    assert ((blocks >= 0) == ((stamps >= 5 * SECOND) & (stamps < 65 * SECOND))).all()
    parts = division.part_of_block[blocks[blocks >= 0]]
    assert (np.diff(parts) >= 0).all()
    assert [(parts == part).sum() for part in range(3)] == [80, 80, 80]
    assert division.part_end_ns(1) == 45 * SECOND


def test_means_leave_out_what_is_missing():
    division = Division(0, 4 * SECOND, 2, 2)
    stamps = np.arange(0, 4 * SECOND, SECOND // 10)
    values = np.floor(1e-9 * stamps)
    values[12:19] = np.nan
    means = division.means(stamps, values)
    assert means[[0, 2, 3]].tolist() == [0.0, 2.0, 3.0]
    assert np.isnan(means[1]), "three of ten samples are no mean"


def test_a_difference_beyond_noise_is_told_from_chance():
    """At two standard deviations chance alone is taken for a difference once in twenty trials."""
    rng = np.random.default_rng(0)
    common = rng.normal(0.0, 5.0, (400, 40))
    nothing = [compared(row, row + rng.normal(0.0, 1.0, 40)).significant for row in common]
    assert 0.02 < np.mean(nothing) < 0.12
    something = [compared(row + 0.8, row + rng.normal(0.0, 1.0, 40)).significant for row in common]
    assert np.mean(something) > 0.95


def test_correlated_blocks_tell_less():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(300, 61))
    slow = steps[:, 1:] + steps[:, :-1]
    found = np.mean([compared(row, np.zeros(60)).significant for row in slow])
    naive = np.mean([abs(row.mean()) > 2.0 * row.std(ddof=1) / np.sqrt(60) for row in slow])
    assert found < 0.6 * naive


def test_blocks_without_a_score_do_not_count():
    found = compared(np.array([1.0, np.nan, 3.0, 2.0]), np.array([0.0, 0.0, 2.0, np.nan]))
    assert found.blocks == 2
    assert found.difference == 1.0
