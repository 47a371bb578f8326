"""Stamps, silent and stuck channels, zeros: what single sensors get wrong, each named as itself."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from inertial_estimation.bring_up.sensor_axes import imbalance
from inertial_estimation.bring_up.stamp_findings import stream_findings
from inertial_estimation.bring_up.wrench_findings import wrench_zeros
from inertial_estimation.data_checks.check_result import Verdict

SECOND = 1_000_000_000


def with_joints(streams, change):
    values = streams.joints.values.copy()
    change(values)
    return replace(streams, joints=streams.joints.with_values(values))


def late_half_back(_name, stream):
    late = np.arange(stream.size) >= stream.size // 2
    return replace(stream, stamps_ns=stream.stamps_ns - late * 3 * SECOND)


def one_in_three_lost(_name, stream):
    return stream.kept(np.arange(stream.size) % 3 != 1)


def test_stamps_that_are_not_set_are_replaced_by_those_of_the_recording(talos):
    imu = replace(talos.streams.imu, stamps_ns=np.zeros_like(talos.streams.imu.stamps_ns))
    diagnosis = talos.diagnosis(replace(talos.streams, imu=imu))
    (result,) = [r for r in diagnosis.results if r.failed]
    assert (result.check, result.subject) == ("stamps", "imu/data")
    assert "header.stamp" in result.remedy
    np.testing.assert_array_equal(diagnosis.mended.streams.imu.stamps_ns, imu.log_ns)


def test_no_stamps_at_all_are_said_and_no_traceback(talos):
    streams = talos.streams.changed(lambda _n, s: replace(s, stamps_ns=np.full_like(s.stamps_ns, 7)))
    failed = [(r.check, r.subject) for r in talos.diagnosis(streams).results if r.failed]
    assert [check for check, _ in failed] == ["stamps"] * 4


def test_stamps_that_go_back_are_said_and_joined(talos):
    diagnosis = talos.diagnosis(talos.streams.changed(late_half_back))
    failed = [r for r in diagnosis.results if r.failed]
    assert {r.check for r in failed} == {"stamps"}
    assert all(r.verdict is Verdict.WARN and "go back by 2.9" in r.sentence for r in failed)
    steps = np.diff(diagnosis.mended.streams.joints.stamps_ns)
    assert steps.min() > 0
    assert steps.max() < 0.05 * SECOND
    assert imbalance(diagnosis.mended) < 0.02


@pytest.mark.parametrize(("change", "lost"), [(one_in_three_lost, True), (lambda _n, s: s, False)])
def test_readings_lost_between_others_are_counted(talos, change, lost):
    found = [f.result for f in stream_findings(talos.streams.changed(change), 0.1)]
    shares = [r.value for r in found if r.check == "lost readings"]
    assert len(shares) == (4 if lost else 0)
    assert shares == pytest.approx([1.0 / 3.0] * len(shares), abs=0.02)


@pytest.mark.parametrize(("stream", "quantity"), [("joints", "efforts"), ("imu", "readings")])
def test_values_that_are_held_are_named_with_their_rate(talos, stream, quantity):
    whole = getattr(talos.streams, stream)
    values, since = whole.values.copy(), (whole.stamps_ns - whole.stamps_ns[0]) * 10 // SECOND
    first = 2 * talos.streams.n_joints if stream == "joints" else 0
    values[:, first:] = values[np.searchsorted(since, since), first:]
    streams = replace(talos.streams, **{stream: whole.with_values(values)})
    (result,) = [r for r in talos.diagnosis(streams).results if r.check == "held values"]
    assert result.subject == {"joints": "joint_states", "imu": "imu/data"}[stream]
    assert result.verdict is Verdict.WARN
    assert result.value == pytest.approx(10.0, abs=0.2)
    assert result.sentence.startswith(f"{quantity} change at {result.value:.2g} Hz only of 100 Hz")


@pytest.mark.parametrize("columns", [[4], [3, 4, 5], [0]])
def test_an_axis_that_never_changes_is_named(talos, columns):
    values = talos.streams.imu.values.copy()
    values[:, columns] = 0.0
    found = talos.failed(replace(talos.streams, imu=talos.streams.imu.with_values(values)))
    assert ("silent", "imu/data") in found
    assert len(found) == 1 or columns == [0]


def test_a_position_that_never_changes_while_the_joint_moves_is_stuck_and_no_mass_is_blamed(panda):
    def stuck(values):
        values[:, 3] = values[0, 3]

    diagnosis = panda.diagnosis(with_joints(panda.streams, stuck))
    assert [(r.check, r.subject) for r in diagnosis.results if r.failed] == [("stuck", "panda_joint4")]
    assert any(r.check == "masses" and r.verdict is Verdict.UNKNOWN for r in diagnosis.results)


def test_a_joint_that_is_locked_is_not_stuck(panda):
    def locked(values):
        values[:, 6], values[:, 13] = values[0, 6], 0.0

    assert not [f for f in panda.failed(with_joints(panda.streams, locked)) if f[0] == "stuck"]


def test_an_effort_with_an_offset_has_a_wrong_zero_and_no_wrong_sign(panda):
    def offset(values):
        values[:, 15] += 2.0 * np.abs(values[:, 15]).max()

    assert panda.failed(with_joints(panda.streams, offset)) == [("effort zero", "panda_joint2")]


WEIGHT = 900.0


def stepping(zero, scale=1.0, standing=False):
    """Return a case whose left foot is in the air half of the time, or never; it reads `zero` more."""
    share = np.where(np.arange(200) % 40 < 20, 0.0, 0.5) if not standing else np.full(200, 0.5)
    up = np.array([0.0, 0.0, WEIGHT])
    forces = scale * np.stack((share[:, None] * up, (1.0 - share)[:, None] * up), axis=1)
    forces[:, 0] += zero * up
    wrenches = np.concatenate((forces, np.zeros_like(forces)), axis=2)
    windows = SimpleNamespace(force=np.tile(up, (200, 1)), forces_B=forces, wrenches=wrenches)
    setup = SimpleNamespace(contact_names=("left_foot", "right_foot"))
    return SimpleNamespace(signals=SimpleNamespace(windows=windows), setup=setup)


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (stepping(0.15), [("left_foot/wrench", pytest.approx(0.15 * WEIGHT))]),
        (stepping(-0.1), [("left_foot/wrench", pytest.approx(-0.1 * WEIGHT))]),
        (stepping(0.0), []),
        (stepping(0.0, scale=1.3), []),
        (stepping(0.15, standing=True), []),  # nothing shows its zero
    ],
)
def test_a_foot_that_reads_a_force_in_the_air_is_not_tared(case, found):
    results = [item.result for item in wrench_zeros(case)]
    assert [(r.subject, r.value) for r in results] == found
    assert all(r.check == "contact wrench zero" for r in results)
