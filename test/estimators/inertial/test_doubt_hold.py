"""Nothing is learned from positions that stray, and from windows that contain them."""

from inertial_estimation.estimators.inertial.doubt_hold import SETTLING_NS, DoubtHold
from inertial_estimation.models.drop_reasons import REPORTED_NS

WINDOW_NS = 40
BEGIN_NS = 2 * SETTLING_NS


def settled():
    hold = DoubtHold(WINDOW_NS)
    assert not hold.holds(0, strays=False)
    return hold


def test_a_step_is_held_until_its_window_has_left_the_stray_position():
    hold = settled()
    steps = [(0, False), (10, True), (20, True), (30, False), (60, False), (61, False), (70, False)]
    assert [hold.holds(BEGIN_NS + t, strays=strays) for t, strays in steps] == [
        False,
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_position_that_strays_for_long_is_learned_from():
    hold = settled()
    assert hold.holds(BEGIN_NS, strays=True)
    assert hold.holds(BEGIN_NS + REPORTED_NS - 1, strays=True)
    assert not hold.holds(BEGIN_NS + REPORTED_NS, strays=True)
    assert not hold.holds(BEGIN_NS + REPORTED_NS + 1, strays=False)


def test_stamps_that_go_back_begin_anew():
    hold = settled()
    assert hold.holds(BEGIN_NS, strays=True)
    assert not hold.holds(-1000, strays=False)
    assert not hold.holds(-990, strays=False)


def test_a_position_that_strays_holds_learning_unless_it_began_to_before_there_was_an_estimate():
    early, late = settled(), settled()
    assert not early.holds(SETTLING_NS - 1, strays=True)
    assert not early.holds(SETTLING_NS + 1, strays=True)
    assert late.holds(SETTLING_NS + 1, strays=True)
