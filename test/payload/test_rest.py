"""When a robot counts as at rest, and when a difference at rest or in motion is a new load."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.standing_robot import SILENT, Noise, StandingHyq, pipeline

from inertial_estimation.payload.load_change import LoadChangeDetector
from inertial_estimation.payload.rest import MeanState, Motion, RestDetector, RowWindow
from inertial_estimation.payload.statics import StaticMeasurement, TrunkReading
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

MOTIONS = (
    Motion("joint hip moves", "rad/s", 0.05),
    Motion("joint knee moves", "rad/s", 0.05),
    Motion("the base moves", "m/s", 0.02),
    Motion("the base accelerates", "m/s^2", 0.2),
)
STILL = MeanState(np.zeros(2), np.zeros(2), 0.0, 0.0, 0.0, motion=np.zeros(4), noise=np.zeros(4))
MS = 1_000_000


def moving(*motion):
    return STILL._replace(motion=np.array(motion))


def rested():
    detector = RestDetector(MOTIONS)
    for _ in range(26):
        detector.update(STILL, 0.004)
    return detector


def test_rest_takes_its_duration():
    detector = RestDetector(MOTIONS)
    seen = [detector.update(STILL, 0.01) for _ in range(12)]
    assert seen.index(True) == 9
    assert detector.why_not == ""


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        ((0.0, 0.0, 0.05, 0.0), "the base moves with 0.05 m/s"),
        ((0.0, 0.0, 0.021, 0.7), "the base accelerates with 0.7 m/s^2"),
        ((0.06, 0.3, 0.0, 0.0), "joint knee moves with 0.3 rad/s"),
    ],
)
def test_any_motion_ends_a_rest_and_the_worst_is_named(motion, words):
    detector = rested()
    assert not detector.update(moving(*motion), 0.004)
    assert detector.why_not == words
    assert not detector.update(STILL, 0.004), "it must be still for the whole duration again"


def test_noise_at_a_limit_neither_begins_nor_ends_a_rest():
    just_above = moving(0.0, 0.0, 0.0, 1.2 * 0.2)
    assert rested().update(just_above, 0.004)
    fresh = RestDetector(MOTIONS)
    assert not any(fresh.update(just_above, 0.01) for _ in range(100))
    for sigmas, rests in ((2.9, True), (3.1, False)):
        fresh, noise = RestDetector(MOTIONS), np.array([0.0, 0.0, 0.0, 0.1])
        beyond = moving(0.0, 0.0, 0.0, 0.2 + sigmas * 0.1)._replace(noise=noise)
        assert any(fresh.update(beyond, 0.01) for _ in range(20)) == rests


@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_a_noisy_robot_rests_when_it_does_not_move(speed):
    """Mean velocities of its joints scatter by more than their limit; a joint that moves is seen."""
    scene = StandingHyq(pipeline(start="on_request"), noise=Noise(velocity=0.1, base_rate=0.05))
    scene.joint_speed = np.where(np.arange(12) == 2, speed, 0.0)
    scene.run(2.0)
    share = np.mean([estimate.at_rest for estimate in scene.estimates[50:]])
    assert share > 0.9 if speed == 0.0 else share < 0.05


@pytest.mark.parametrize("kind", ["turns", "accelerates"])
def test_a_base_that_turns_or_gathers_speed_while_it_is_slow_is_not_at_rest(kind):
    scene = StandingHyq(pipeline(), noise=SILENT)
    scene.run(0.3)
    assert scene.estimates[-1].at_rest
    for _ in range(11):  # 0.4 m/s^2 for 44 ms: 0.018 m/s, below the limit of the speed
        if kind == "turns":
            scene.base_rate = np.array([0.0, 0.1, 0.0])
        else:
            scene.base_velocity = scene.base_velocity + np.array([0.4 * 0.004, 0.0, 0.0])
        scene.run(0.004)
    assert not scene.estimates[-1].at_rest
    assert f"the base {kind}" in scene.health()["payload"].values["at rest"]


def filled(times_ms, rows):
    window = RowWindow()
    for time, row in zip(times_ms, rows, strict=True):
        window.append(int(time) * MS, row)
    return window


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(4, 15), min_size=40, max_size=80), st.floats(-10.0, 10.0))
def test_mean_is_that_of_the_rows_no_older_than_the_window_and_the_slope_of_a_line_is_exact(steps_ms, slope):
    times = np.cumsum(steps_ms)
    rows = 1e6 + np.column_stack([1e-3 * slope * times, np.sin(times)])
    means, held = filled(times, rows).means(), times >= times[-1] - 50
    np.testing.assert_allclose(means.mean, rows[held].mean(axis=0), rtol=1e-13)
    assert means.slope[0] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("trend", [lambda t: 5.0 * t, lambda t: 100.0 * (t > 30)])
def test_noise_of_the_mean_is_that_of_white_noise_whatever_the_trend_or_a_jolt(trend):
    """Mean over many windows, of sigma / sqrt(13); the median of eleven is off by a tenth itself."""
    rng, times = np.random.default_rng(1), 4 * np.arange(13)[:, None]
    found = [filled(times[:, 0], trend(times) + rng.normal(size=(13, 1))).means() for _ in range(600)]
    assert np.mean([means.noise[0] for means in found]) == pytest.approx(13.0**-0.5, rel=0.35)
    scatter = np.std([means.slope[0] for means in found])
    assert np.mean([means.slope_noise[0] for means in found]) == pytest.approx(scatter, rel=0.35)


def test_rows_further_apart_than_the_window_still_give_a_slope_and_no_noise():
    window = filled([0, 100, 200, 300], np.array([[0.0], [1.0], [2.0], [3.0]]))
    assert window.full
    means = window.means()
    assert means.slope[0] == pytest.approx(10.0)
    assert means.noise[0] == 0.0


COM = np.array([0.05, 0.02, 0.1])
MOVED = (-0.1, 0.0, 0.0)
DT = 0.02


def reading(mass, shift=(0.0, 0.0, 0.0), roll=0.0, pitch=0.0):
    """Return a look at a trunk; what lies along gravity is not seen."""
    R_WB = rotation_from_roll_pitch_yaw(roll, pitch, 0.3)
    seen_W = R_WB @ (COM + shift)
    seen_W[2] = 0.0
    measurement = StaticMeasurement(R_WB, np.zeros((2, 3)), np.zeros((2, 3)), 20.0, np.zeros(3))
    return TrunkReading(measurement, mass, R_WB.T @ seen_W, (roll, pitch), 0.6)


LOADED, ONCE = reading(70.0), [reading(70.0)] * 10
RAISED = 0.5 * rotation_from_roll_pitch_yaw(0.25, -0.2, 0.0)[2]


@pytest.mark.parametrize(
    ("looks", "expected", "left"),
    [
        ([*5 * ONCE, *[reading(60.0)] * 10], "loaded unloaded", False),
        ([reading(57.9)] * 20, "unloaded", True),
        ([reading(62.1)] * 20, "loaded", True),
        ([reading(60.5, MOVED)] * 20, "shifted", True),
        ([reading(60.0, (0.0, 0.031, 0.0))] * 20, "shifted", True),
        ([reading(61.9, (0.02, 0.02, 0.0))] * 1000, "", False),
        ([reading(60.0, (0.0, 0.0, 0.5))] * 20, "", False),
        ([reading(60.0, RAISED, 0.25, -0.2)] * 20, "", False),
        ([reading(60.0, (0.0, 0.0, 0.0), r, -r) for r in np.linspace(-0.3, 0.3, 60)], "", False),
        ([*[LOADED] * 4, reading(60.0), *[LOADED] * 4], "", False),  # one without difference ends them
        ([*[LOADED] * 4, 60.0, LOADED], "loaded", True),  # short moments of rest add up
        ([reading(m) for m in np.linspace(60.0, 65.0, 1000)], "loaded loaded", True),
        ([71.0] * 20, "loaded", True),
        ([*[71.0] * 20, *5 * [reading(69.0, MOVED)]], "loaded", True),
        ([*[71.0] * 20, *50 * [reading(69.0, MOVED)], *50 * [reading(69.0)]], "loaded shifted", True),
        ([*[71.0] * 20, *50 * [reading(69.0)], *50 * [reading(60.0)]], "loaded unloaded", False),
        ([63.9] * 200, "", False),
        ([64.1] * 9, "", False),
        ([64.1] * 10, "loaded", True),
        ([71.0, 60.0] * 100, "", False),
        ([*[71.0] * 5, *[60.0] * 20], "", False),
    ],
)
def test_a_load_is_told_once_when_it_has_been_seen_long_enough(looks, expected, left):
    """2 kg and 3 cm of a robot of 80 kg for 0.1 s at rest; 4 kg for 0.2 s, its mass alone, in motion."""
    detector, found = LoadChangeDetector(0.025, 80.0, 60.0, COM), []
    for k, look in enumerate(looks):
        moving = isinstance(look, float)
        changed = (detector.update_in_motion if moving else detector.update_at_rest)(look, DT, k)
        found += [changed] if changed is not None else []
    assert " ".join(change.kind for change in found) == expected
    assert (detector.unidentified is not None) == left


def test_what_is_told_says_how_much_and_what_was_identified_is_expected():
    detector = LoadChangeDetector(0.025, 80.0, 60.0, COM)
    (change,) = filter(None, [detector.update_at_rest(reading(70.0, MOVED), DT, k) for k in range(10)])
    assert (change.stamp_ns, change.mass_before, change.mass_measured) == (4, 60.0, 70.0)
    np.testing.assert_allclose(change.shift_B, MOVED, atol=1e-12)
    detector.expect(71.5, np.add(COM, (0.025, 0.0, 0.0)))  # the legs' model may be off
    near = reading(70.5, (0.02, 0.01, 0.0))
    assert not any(detector.update_at_rest(near, DT, k) for k in range(200))
    assert detector.unidentified is None
