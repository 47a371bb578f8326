"""Nothing is learned from efforts at a limit of their sensor, and from windows that contain them."""

from inertial_estimation.estimators.inertial.doubt_hold import DoubtHold
from inertial_estimation.models.drop_reasons import REPORTED_NS

WINDOW_NS = 40


def test_a_step_is_held_until_its_window_has_left_the_limit():
    hold = DoubtHold(WINDOW_NS)
    steps = [(0, False), (10, True), (20, True), (30, False), (60, False), (61, False), (70, False)]
    assert [hold.holds(t, doubted=limit) for t, limit in steps] == [
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
    assert hold.holds(0, doubted=True)
    assert hold.holds(REPORTED_NS - 1, doubted=True)
    assert not hold.holds(REPORTED_NS, doubted=True)
    assert not hold.holds(REPORTED_NS + 1, doubted=False)


def test_stamps_that_go_back_begin_anew():
    hold = DoubtHold(WINDOW_NS)
    assert hold.holds(1000, doubted=True)
    assert not hold.holds(0, doubted=False)
    assert not hold.holds(1010, doubted=False)
