"""A gyroscope that the feet have contradicted, on a robot that stands on them no more."""

from support.contact_states import ComparedFeet

from inertial_estimation.compilation import zeros
from inertial_estimation.estimators.tilt.foot_rotation import LONGEST_BLAME

RATE = (0.1, -0.2, 0.3)
PERIOD_S = 0.01


def test_without_feet_a_wrong_gyroscope_is_lost_for_a_while_and_then_believed_again():
    feet = ComparedFeet((True, True))
    feet.replace()
    steps = round(LONGEST_BLAME / PERIOD_S)
    for _ in range(steps - 1):
        rate, missed = feet.check(PERIOD_S, RATE, None, zeros(2))
        assert feet.lost
        assert rate == (0.0, 0.0, 0.0)
        assert missed is None
    for _ in range(2):
        rate, _ = feet.check(PERIOD_S, RATE, None, zeros(2))
    assert not feet.lost
    assert not feet.replacing
    assert rate == RATE
