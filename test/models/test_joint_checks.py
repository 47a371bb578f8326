"""Joint states that contradict those before are distinguished from sound ones, at any rate."""

from types import SimpleNamespace

import numpy as np
import pytest

from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.joint_checks import HELD_S, JointChecks
from inertial_estimation.signals import NANOSECONDS

NAMES = ("a", "b", "c")
AMPLITUDE, FREQUENCY = np.array([0.8, 0.5, 0.0]), np.array([2.0, 3.0, 1.0])


def joints(t):
    """Positions and velocities of two joints that move, and of one at rest at 1 rad."""
    phase = FREQUENCY * t
    return AMPLITUDE * np.sin(phase) + [0.0, 0.0, 1.0], AMPLITUDE * FREQUENCY * np.cos(phase)


def new_checks(turning=()):
    """New `JointChecks`; joints of these indices turn without limits."""
    robot = SimpleNamespace(joint_names=NAMES, continuous_joints=np.array(turning, dtype=int))
    return JointChecks(robot, InputConfig())


def run(
    change=lambda t, q, v: (q, v), rate=200.0, duration=4.0, keep=lambda t: True, turning=(), derived=False
):
    """Feed a motion; return (time, fault, remark) of every joint state."""
    checks, found = new_checks(turning), []
    rng = np.random.default_rng(0)
    for t in np.arange(0.0, duration, 1.0 / rate).tolist():
        if not keep(t):
            continue
        q, v = change(t, *(x + 1e-4 * rng.normal(size=3) for x in joints(t)))
        fault = checks.fault(round(t * NANOSECONDS), q, None if derived else v)
        if derived:
            checks.note_derived(v)
        found.append((t, fault, checks.remark))
    return found


def within(begin, end, of):
    return lambda t, q, v: of(t, q, v) if begin <= t < end else (q, v)


def exchanged(t, q, v):
    return q[[2, 1, 0]], v[[2, 1, 0]]


def late(t, q, v, age=0.1):
    q_then, v_then = joints(t - age)
    return np.where([True, False, False], q_then, q), np.where([True, False, False], v_then, v)


@pytest.mark.parametrize("rate", [20.0, 50.0, 200.0, 1000.0])
def test_sound_joint_states_are_neither_refused_nor_remarked_on(rate):
    assert not any(fault or remark for _, fault, remark in run(rate=rate))


def test_lost_joint_states_are_no_jump():
    lost = np.random.default_rng(1).random(1000)
    found = run(keep=lambda t: lost[round(200 * t)] > 0.5 and not 2.0 < t < 2.6)
    assert not any(fault or remark for _, fault, remark in found)


def test_exchanged_joints_are_refused_until_they_are_back():
    found = run(within(1.0, 1.6, exchanged))
    assert [t for t, fault, _ in found if bool(fault) != (1.0 <= t < 1.6)] == []
    assert not any(remark for _, _, remark in found)
    assert all("jumped by" in fault for t, fault, _ in found if 1.0 <= t < 1.6)


@pytest.mark.parametrize("size", [0.3, -1.0])
def test_lasting_slip_is_believed_after_a_while_and_remarked_on_for_good(size):
    found = run(within(1.0, 3.5, lambda t, q, v: (q + np.array([0.0, 0.0, size]), v)))
    refused = [t for t, fault, _ in found if fault]
    assert min(refused) == pytest.approx(1.0)
    assert max(refused) == pytest.approx(1.0 + HELD_S, abs=0.02)
    assert all("position of c jumped" in remark for t, _, remark in found if 2.1 < t < 3.5)
    assert not any(remark for t, _, remark in found if t >= 3.51)


def test_full_turn_of_a_continuous_joint_is_no_jump():
    turned = within(1.0, 3.0, lambda t, q, v: (q - [2.0 * np.pi, 0.0, 0.0], v))
    assert not any(fault or remark for _, fault, remark in run(turned, turning=(0,)))
    assert any(fault for _, fault, _ in run(turned))


def test_frozen_joint_states_of_a_moving_robot_are_refused_at_once():
    held = joints(1.0)
    found = run(within(1.0, 1.7, lambda t, q, v: held))
    refused = [t for t, fault, _ in found if fault]
    assert 1.0 < min(refused) < 1.05
    assert 1.69 < max(refused) < 1.7
    assert not any(remark for _, _, remark in found)


def test_repeated_joint_states_at_rest_and_of_a_slow_driver_are_used():
    still = np.zeros(3)
    assert not any(fault for _, fault, _ in run(lambda t, q, v: (still, still)))
    slow = run(lambda t, q, v: joints(np.floor(t * 20.0) / 20.0), duration=8.0)  # sent ten times each
    assert not any(fault for t, fault, _ in slow if t > 2.0)


def test_joint_that_is_a_little_late_is_remarked_on_and_used():
    found = run(within(1.55, 2.2, late))
    assert not any(fault for _, fault, _ in found)
    assert 1.54 < min(t for t, _, remark in found if remark) < 1.75


@pytest.mark.parametrize("end", [1.7, 2.6])
def test_joint_that_is_very_late_is_refused_for_a_while(end):
    found = run(within(1.55, end, lambda t, q, v: late(t, q, v, 0.2)))
    refused = [t for t, fault, _ in found if fault]
    assert min(refused) == pytest.approx(1.55)
    assert max(refused) < min(end, 1.55 + HELD_S) + 0.02


@pytest.mark.parametrize("begin", [1.0, 1.4, 1.57])
@pytest.mark.parametrize("size", [0.3, -0.3])
def test_slip_of_a_moving_joint_is_refused(begin, size):
    found = run(within(begin, begin + 0.5, lambda t, q, v: (q + np.array([size, 0.0, 0.0]), v)))
    assert [t for t, fault, _ in found if bool(fault) != (begin <= t < begin + 0.5)] == []


def test_position_that_its_driver_holds_may_catch_up():
    held = joints(1.4)[0]
    found = run(within(1.4, 1.9, lambda t, q, v: (np.array([held[0], q[1], q[2]]), v)))
    assert not any(fault for _, fault, _ in found)
    assert 1.4 < min(t for t, _, remark in found if remark) < 1.6


def test_single_reading_of_a_second_clock_leaves_the_first_alone():
    checks = new_checks()
    for k in range(400):
        q, v = joints(k / 200.0)
        stray = k % 50 == 30
        stamp = k * 5_000_000 - (3_600 * NANOSECONDS if stray else 0)
        assert not checks.fault(stamp, q + (2.0 if stray else 0.0), v)
    assert not checks.remark


@pytest.mark.parametrize("begin", [0.0, 1.0])
def test_numbers_beyond_every_range_are_left_to_the_ranges(begin):
    bad, slip = (begin, begin + 0.2), (2.0, 2.5)

    def change(t, q, v):
        if bad[0] <= t < bad[1]:
            return q * [1e300, 1.0, np.nan], v * [np.inf, 1.0, np.nan]
        return q + 0.3 * (slip[0] <= t < slip[1]), v

    found = run(change)
    assert not any(remark for _, _, remark in found)
    assert [t for t, fault, _ in found if bool(fault) != (slip[0] <= t < slip[1])] == []


def test_wrong_first_joint_states_do_not_hold_the_right_ones_for_long():
    found = run(lambda t, q, v: (q + 0.5 * (t < 0.06), v))
    assert max(t for t, fault, _ in found if fault) < 0.15
    assert not any(remark for _, _, remark in found)


@pytest.mark.parametrize(("change", "gap", "expected"), [(0.06, 9.0, 1), (2.0, 9.0, 0), (2.05, 2.0, 0)])
def test_all_begins_anew_once_the_first_joint_states_of_all_prove_wrong(change, gap, expected):
    checks, times = new_checks(), 0
    for t in np.arange(0.0, 4.0, 0.005).tolist():
        q, v = joints(t)
        fault = checks.fault(round((t + 0.5 * (t > gap)) * NANOSECONDS), q + 0.5 * (t < change), v)
        times += checks.begins
        assert fault or not checks.begins
    assert times == expected


def test_a_slip_of_a_joint_whose_velocity_is_derived_is_refused():
    found = run(within(1.0, 1.5, lambda t, q, v: (q + np.array([0.0, 0.0, 0.3]), v)), derived=True)
    assert [t for t, fault, _ in found if bool(fault) != (1.0 <= t < 1.5)] == []


def test_reset_forgets_a_jump():
    checks = new_checks()
    for k in range(400):
        q, v = joints(k / 200.0)
        checks.fault(5_000_000 * k, q + 0.5 * (k > 200), v)
    assert "is not back" in checks.remark
    checks.reset()
    assert not checks.remark
    assert not checks.fault(5_000_000 * 400, q, v)
