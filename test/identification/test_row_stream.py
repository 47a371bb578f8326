"""Rows do not depend on how a recording is cut, keep away from gaps, and see one filter."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.errors import MeasurementError
from inertial_estimation.identification.row_block import RowBlock
from inertial_estimation.identification.row_stream import RowStream
from inertial_estimation.identification.signal_block import finite_runs

STEP = 2e-3


def cut(block, ends):
    """The block in pieces that follow each other."""
    parts = []
    for first, end in zip([0, *ends], [*ends, block.size], strict=True):
        arrays = {
            name: getattr(block, name)[first:end]
            for name in ("q", "v", "tau", "f_I", "w_I", "wrenches")
            if getattr(block, name) is not None
        }
        parts.append(replace(block, start_ns=int(block.stamps_ns[first]), continues=first > 0, **arrays))
    return parts


def streamed(identifier, blocks):
    stream = RowStream(identifier._models.loaded)
    return RowBlock.joined([rows for block in blocks for rows in stream.push(block)])


@pytest.fixture(scope="module")
def arm(make_scene):
    scene = make_scene("panda", smoothing__window=0.1, smoothing__order=3, smoothing__row_rate=100.0)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    return identifier, scene.recording(identifier, x, 4, seconds=2.0, torque_noise=0.1)


@pytest.mark.parametrize("sizes", [(1,), (7,), (100,), (313, 2, 51)])
def test_rows_do_not_depend_on_block_sizes(arm, sizes):
    identifier, block = arm
    ends, end = [], 0
    while end + sizes[len(ends) % len(sizes)] < block.size:
        end += sizes[len(ends) % len(sizes)]
        ends.append(end)
    whole, parts = streamed(identifier, [block]), streamed(identifier, cut(block, ends))
    assert np.array_equal(whole.stamps_ns, parts.stamps_ns)
    assert np.array_equal(whole.regressor, parts.regressor)
    assert np.array_equal(whole.value, parts.value)
    assert whole.independent == pytest.approx(parts.independent)


def test_rows_do_not_depend_on_block_sizes_where_wrenches_are_projected_out(make_scene):
    scene = make_scene("hyq_no_sensors", contact_wrenches="projected")
    identifier = scene.identifier()
    block = scene.recording(identifier, np.zeros(len(identifier.parameters.unknowns)), 4, seconds=0.4)
    whole, parts = streamed(identifier, [block]), streamed(identifier, cut(block, [33, 34, 120]))
    assert np.array_equal(whole.regressor, parts.regressor)


def test_row_rate_and_distance_from_the_ends(arm):
    identifier, block = arm
    rows = identifier.rows(block)
    steps = np.diff(rows.stamps_ns) * 1e-9
    assert steps == pytest.approx(0.01)
    assert (rows.stamps_ns[0] - block.start_ns) * 1e-9 == pytest.approx(0.1, abs=0.006)
    assert (block.stamps_ns[-1] - rows.stamps_ns[-1]) * 1e-9 >= 0.09


def test_nothing_is_made_across_a_gap(arm):
    identifier, block = arm
    first, second = cut(block, [500])
    broken = streamed(identifier, [first, replace(second, continues=False)])
    apart = RowBlock.joined([identifier.rows(first), identifier.rows(second)])
    assert np.array_equal(broken.stamps_ns, apart.stamps_ns)
    assert np.array_equal(broken.value, apart.value)


def test_samples_that_are_not_finite_break_a_stretch_and_are_counted(arm):
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
    plain, turned = (streamed(identifier, cut(one, [250, 251])) for one in (block, wrapped))
    assert turned.regressor == pytest.approx(plain.regressor, abs=1e-9)


def test_stiction_leaves_out_rows_of_joints_that_stand(make_scene):
    scene = make_scene("panda", smoothing__stiction_speed=0.3)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    block = scene.recording(identifier, x, 4, seconds=1.0)
    rows = identifier.rows(block)
    v = np.array([block.v[np.searchsorted(block.stamps_ns, stamp)] for stamp in rows.stamps_ns])
    assert 0 < rows.used.sum() < rows.used.size
    sure = np.abs(np.abs(v) - 0.3) > 1e-3
    assert np.array_equal(rows.used[sure], (np.abs(v) >= 0.3)[sure])


@pytest.mark.parametrize("name", ["q", "tau"])
def test_missing_signals_are_named(arm, name):
    identifier, block = arm
    wrong = replace(block, **{name: None if name == "tau" else block.q[:, :3]})
    with pytest.raises(MeasurementError, match=name):
        identifier.push(wrong)


def test_a_stretch_that_is_too_short_says_what_is_needed(arm):
    identifier, block = arm
    with pytest.raises(MeasurementError, match=r"give no row, expected 0\.\d+ s"):
        identifier.rows(cut(block, [50])[0])
