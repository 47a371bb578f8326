"""When a difference at rest is a new load."""

import numpy as np
import pytest

from inertial_estimation.payload.load_change import LoadChangeDetector
from inertial_estimation.payload.readings import TrunkReading
from inertial_estimation.payload.statics import StaticMeasurement
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

SHARE, ROBOT_MASS = 0.025, 80.0  # 2 kg, and 3 cm
COM = np.array([0.05, 0.02, 0.1])
DT = 0.02


def reading(mass, com_B=COM, roll=0.0, pitch=0.0):
    """Return a look at a trunk; what lies along gravity is not seen."""
    R_WB = rotation_from_roll_pitch_yaw(roll, pitch, 0.3)
    seen_W = R_WB @ com_B
    seen_W[2] = 0.0
    zeros = np.zeros((2, 3))
    measurement = StaticMeasurement(R_WB, zeros, zeros, 20.0, np.zeros(3))
    return TrunkReading(measurement, mass, R_WB.T @ seen_W, (roll, pitch), 0.6)


def new_detector(mass=60.0, com_B=COM):
    return LoadChangeDetector(SHARE, ROBOT_MASS, mass, com_B)


def changes_of(detector, readings):
    return [c for c in (detector.update_at_rest(r, DT, 7) for r in readings) if c is not None]


def test_a_load_is_told_once_after_its_duration():
    detector = new_detector()
    changes = [detector.update_at_rest(reading(70.0), DT, i) for i in range(50)]
    found = [(i, change) for i, change in enumerate(changes) if change is not None]
    assert [i for i, _ in found] == [4]
    change = found[0][1]
    assert (change.kind, change.stamp_ns) == ("loaded", 4)
    assert change.mass_before == 60.0
    assert change.mass_measured == 70.0
    assert detector.unidentified is change


def test_a_load_taken_off_again_is_told_and_nothing_is_left_to_identify():
    detector = new_detector()
    changes_of(detector, [reading(70.0)] * 10)
    changes = changes_of(detector, [reading(60.0)] * 10)
    assert [change.kind for change in changes] == ["unloaded"]
    assert detector.unidentified is None


def test_the_same_mass_elsewhere_has_shifted():
    detector = new_detector()
    moved = COM + np.array([0.0, 0.05, 0.0])
    changes = changes_of(detector, [reading(60.5, moved)] * 20)
    assert [change.kind for change in changes] == ["shifted"]
    np.testing.assert_allclose(changes[0].shift_B, [0.0, 0.05, 0.0], atol=1e-12)


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.25, -0.2)])
def test_a_shift_along_gravity_is_not_seen(tilt):
    R_WB = rotation_from_roll_pitch_yaw(*tilt, 0.0)
    detector = new_detector()
    raised = COM + 0.5 * R_WB[2]
    assert changes_of(detector, [reading(60.0, raised, *tilt)] * 20) == []


def test_on_a_tilted_trunk_nothing_has_shifted_by_the_tilt_alone():
    detector = new_detector()
    assert changes_of(detector, [reading(60.0, COM, r, -r) for r in np.linspace(-0.3, 0.3, 60)]) == []


def test_differences_within_the_limits_never_add_up():
    detector = new_detector()
    assert changes_of(detector, [reading(61.9, COM + np.array([0.02, 0.02, 0.0]))] * 1000) == []


def test_short_moments_of_rest_add_up_and_one_without_difference_ends_them():
    detector = new_detector()
    assert changes_of(detector, [reading(70.0)] * 4) == []
    assert changes_of(detector, [reading(60.0)]) == []
    assert changes_of(detector, [reading(70.0)] * 4) == []
    assert [c.kind for c in changes_of(detector, [reading(70.0)])] == ["loaded"]


def test_after_an_identification_what_was_measured_is_expected():
    detector = new_detector()
    changes_of(detector, [reading(70.0)] * 10)
    detector.expect(71.5, COM + np.array([0.025, 0.0, 0.0]))  # the legs' model may be off
    assert changes_of(detector, [reading(70.5, COM + np.array([0.02, 0.01, 0.0]))] * 200) == []
    assert detector.unidentified is None


def changes_in_motion(detector, masses):
    return [c for c in (detector.update_in_motion(m, DT, 9) for m in masses) if c is not None]


def test_a_heavy_load_is_told_in_motion_and_not_again_at_rest():
    detector = new_detector()
    (change,) = changes_in_motion(detector, [71.0] * 20)
    assert (change.kind, change.mass_measured) == ("loaded", 71.0)
    moved = COM + np.array([-0.1, 0.0, 0.0])
    assert changes_of(detector, [reading(69.0, moved)] * 50) == []
    assert detector.unidentified is change
    assert [c.kind for c in changes_of(detector, [reading(60.0)] * 50)] == ["unloaded"], "then as ever"


@pytest.mark.parametrize("masses", [[63.5] * 200, [71.0, 60.0] * 100, [71.0] * 5 + [60.0] * 20])
def test_in_motion_small_or_short_differences_are_no_load(masses):
    assert changes_in_motion(new_detector(), masses) == []


def test_a_change_told_in_motion_and_seen_at_rest_hides_no_later_one():
    detector = new_detector()
    changes_in_motion(detector, [71.0] * 20)
    assert changes_of(detector, [reading(70.5)] * 20) == []
    moved = COM + np.array([-0.1, 0.0, 0.0])
    assert [c.kind for c in changes_of(detector, [reading(70.5, moved)] * 50)] == ["shifted"]


def test_a_load_that_grows_slowly_is_told_when_it_has_grown_enough():
    detector = new_detector()
    changes = changes_of(detector, [reading(m) for m in np.linspace(60.0, 65.0, 1000)])
    assert [c.kind for c in changes] == ["loaded", "loaded"]
    assert detector.unidentified is not None
