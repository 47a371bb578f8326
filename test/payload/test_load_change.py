"""When a difference at rest, or in motion, is a new load."""

import numpy as np
import pytest

from inertial_estimation.payload.load_change import LoadChangeDetector
from inertial_estimation.payload.statics import StaticMeasurement, TrunkReading
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

COM = np.array([0.05, 0.02, 0.1])
MOVED = COM + np.array([-0.1, 0.0, 0.0])
DT = 0.02


def reading(mass, com_B=COM, roll=0.0, pitch=0.0):
    """Return a look at a trunk; what lies along gravity is not seen."""
    R_WB = rotation_from_roll_pitch_yaw(roll, pitch, 0.3)
    seen_W = R_WB @ com_B
    seen_W[2] = 0.0
    measurement = StaticMeasurement(R_WB, np.zeros((2, 3)), np.zeros((2, 3)), 20.0, np.zeros(3))
    return TrunkReading(measurement, mass, R_WB.T @ seen_W, (roll, pitch), 0.6)


@pytest.fixture
def detector():
    """Expects 60 kg of a robot of 80 kg: 2 kg and 3 cm are a load."""
    return LoadChangeDetector(0.025, 80.0, 60.0, COM)


def at_rest(detector, *readings):
    found = [detector.update_at_rest(r, DT, k) for k, r in enumerate(readings)]
    return [change for change in found if change is not None]


def in_motion(detector, masses):
    return [c for c in (detector.update_in_motion(m, DT, 9) for m in masses) if c is not None]


def kinds(changes):
    return [change.kind for change in changes]


def test_a_load_is_told_once_after_its_duration_and_taken_off_again_leaves_nothing(detector):
    (change,) = at_rest(detector, *[reading(70.0)] * 50)
    assert (change.kind, change.stamp_ns) == ("loaded", 4)
    assert (change.mass_before, change.mass_measured) == (60.0, 70.0)
    assert detector.unidentified is change
    assert kinds(at_rest(detector, *[reading(60.0)] * 10)) == ["unloaded"]
    assert detector.unidentified is None


def test_the_same_mass_elsewhere_has_shifted(detector):
    (change,) = at_rest(detector, *[reading(60.5, MOVED)] * 20)
    assert change.kind == "shifted"
    np.testing.assert_allclose(change.shift_B, MOVED - COM, atol=1e-12)


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.25, -0.2)])
def test_a_shift_along_gravity_is_not_seen_nor_is_a_tilt_one(detector, tilt):
    raised = COM + 0.5 * rotation_from_roll_pitch_yaw(*tilt, 0.0)[2]
    assert at_rest(detector, *[reading(60.0, raised, *tilt)] * 20) == []
    assert at_rest(detector, *[reading(60.0, COM, r, -r) for r in np.linspace(-0.3, 0.3, 60)]) == []


def test_differences_within_the_limits_never_add_up(detector):
    assert at_rest(detector, *[reading(61.9, COM + np.array([0.02, 0.02, 0.0]))] * 1000) == []


def test_short_moments_of_rest_add_up_and_one_without_difference_ends_them(detector):
    four = [reading(70.0)] * 4
    assert at_rest(detector, *four, reading(60.0), *four) == []
    assert kinds(at_rest(detector, reading(70.0))) == ["loaded"]


def test_after_an_identification_what_was_measured_is_expected(detector):
    at_rest(detector, *[reading(70.0)] * 10)
    detector.expect(71.5, COM + np.array([0.025, 0.0, 0.0]))  # the legs' model may be off
    assert at_rest(detector, *[reading(70.5, COM + np.array([0.02, 0.01, 0.0]))] * 200) == []
    assert detector.unidentified is None


def test_a_heavy_load_is_told_in_motion_not_again_at_rest_and_hides_no_later_one(detector):
    (change,) = in_motion(detector, [71.0] * 20)
    assert (change.kind, change.mass_measured) == ("loaded", 71.0)
    assert at_rest(detector, *[reading(69.0, MOVED)] * 50) == []
    assert detector.unidentified is change
    assert kinds(at_rest(detector, *[reading(69.0)] * 50)) == ["shifted"]
    assert kinds(at_rest(detector, *[reading(60.0)] * 50)) == ["unloaded"]


@pytest.mark.parametrize("masses", [[63.5] * 200, [71.0, 60.0] * 100, [71.0] * 5 + [60.0] * 20])
def test_in_motion_small_or_short_differences_are_no_load(detector, masses):
    assert in_motion(detector, masses) == []


def test_a_load_that_grows_slowly_is_told_when_it_has_grown_enough(detector):
    changes = at_rest(detector, *[reading(m) for m in np.linspace(60.0, 65.0, 1000)])
    assert kinds(changes) == ["loaded", "loaded"]
    assert detector.unidentified is not None
