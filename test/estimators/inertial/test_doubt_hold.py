"""Nothing is learned from efforts at a limit and positions that stray, and from windows that contain them."""

from inertial_estimation.estimators.inertial.doubt_hold import SETTLING_NS, DoubtHold
from inertial_estimation.models.drop_reasons import REPORTED_NS

WINDOW_NS = 40


def test_a_step_is_held_until_its_window_has_left_the_limit():
    hold = DoubtHold(WINDOW_NS)
    steps = [(0, False), (10, True), (20, True), (30, False), (60, False), (61, False), (70, False)]
    assert [hold.holds(t, strays=False, at_limit=limit) for t, limit in steps] == [
        False,
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_an_effort_that_stays_at_a_limit_is_learned_from():
    hold = DoubtHold(WINDOW_NS)
    assert hold.holds(0, strays=False, at_limit=True)
    assert hold.holds(REPORTED_NS - 1, strays=False, at_limit=True)
    assert not hold.holds(REPORTED_NS, strays=False, at_limit=True)
    assert not hold.holds(REPORTED_NS + 1, strays=False, at_limit=False)


def test_stamps_that_go_back_begin_anew():
    hold = DoubtHold(WINDOW_NS)
    assert hold.holds(1000, strays=False, at_limit=True)
    assert not hold.holds(0, strays=False, at_limit=False)
    assert not hold.holds(1010, strays=False, at_limit=False)


def test_a_position_that_strays_holds_learning_unless_it_began_to_before_there_was_an_estimate():
    early, late = DoubtHold(WINDOW_NS), DoubtHold(WINDOW_NS)
    assert not early.holds(0, at_limit=False, strays=False)
    assert not early.holds(SETTLING_NS - 1, at_limit=False, strays=True)
    assert not early.holds(SETTLING_NS + 1, at_limit=False, strays=True)
    assert early.holds(SETTLING_NS + 2, at_limit=True, strays=True)
    assert not late.holds(0, at_limit=False, strays=False)
    assert late.holds(SETTLING_NS + 1, at_limit=False, strays=True)
