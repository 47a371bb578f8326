"""Rows keep away from the ends of a segment, whatever is computed at once, and say what they need."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.identification import rows
from inertial_estimation.identification.rows import finite_runs


@pytest.fixture(scope="module")
def arm(make_scene):
    scene = make_scene("panda", smoothing__window=0.1, smoothing__order=3, smoothing__row_rate=100.0)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    return identifier, scene.recording(identifier, x, 4, seconds=2.0, torque_noise=0.1)


@pytest.mark.parametrize("mode", ["arm", "projected"])
def test_rows_do_not_depend_on_how_many_are_made_at_once(make_scene, monkeypatch, mode):
    scene = make_scene("panda") if mode == "arm" else make_scene("hyq_no_sensors", contact_wrenches=mode)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    block = scene.recording(identifier, x, 4, seconds=0.4, torque_noise=0.1)
    whole = identifier.rows(block)
    for size in (1, 7):
        monkeypatch.setattr(rows, "CHUNK_ROWS", size)
        parts = identifier.rows(block)
        assert np.array_equal(whole.stamps_ns, parts.stamps_ns)
        assert parts.regressor == pytest.approx(whole.regressor, abs=1e-9)
        assert parts.value == pytest.approx(whole.value, abs=1e-9)
        assert whole.independent == pytest.approx(parts.independent)


def test_row_rate_and_distance_from_the_ends(arm):
    identifier, block = arm
    made = identifier.rows(block)
    steps = np.diff(made.stamps_ns) * 1e-9
    assert steps == pytest.approx(0.01)
    assert (made.stamps_ns[0] - block.start_ns) * 1e-9 == pytest.approx(0.1, abs=0.006)
    assert (block.stamps_ns[-1] - made.stamps_ns[-1]) * 1e-9 >= 0.09


def test_samples_that_are_not_finite_break_a_segment_and_are_counted(arm):
    identifier, block = arm
    tau = block.tau.copy()
    tau[300:303, 2] = np.nan
    bad = replace(block, tau=tau)
    assert [part.size for part in finite_runs(bad)] == [300, block.size - 303]
    identifier.push(bad)
    report = identifier.report(["least-squares"])
    assert report.training.dropped == {"not a number": 3}
    assert all(np.isfinite(p.value) for p in report.methods["least-squares"].parameters)


def test_angles_that_jump_by_a_turn_are_unwrapped(arm):
    identifier, block = arm
    wrapped = replace(block, q=np.mod(block.q + np.pi, 2 * np.pi) - np.pi + 2 * np.pi * (block.q > 0.1))
    plain, turned = (identifier.rows(one) for one in (block, wrapped))
    assert turned.regressor == pytest.approx(plain.regressor, abs=1e-9)
