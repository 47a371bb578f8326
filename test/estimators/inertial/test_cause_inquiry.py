"""How long a single cause is looked for while the data cannot distinguish a load from a push."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from inertial_estimation.estimators.inertial.cause_inquiry import CauseInquiry
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.located_cause import Cause, LocatedCause

UNDECIDED = LocatedCause(Cause.LOAD, 0.9, decided=False, links=("hand",), mass=2.0)


class Locator:
    """A locator that reports what it is told."""

    def __init__(self):
        self.age, self.reported, self.explains = 0.0, UNDECIDED, False

    def begin(self, variance, carried):
        self.age = 0.0

    def feed(self, innovation, equation, dt, *, at_rest=False):
        self.age += dt
        return None, 1.0

    def located(self):
        return self.reported


def inquiry_of(locator):
    pairs = SimpleNamespace(earliest=np.inf, begin=lambda *_: None, add=lambda *_: None)
    inquiry = CauseInquiry(locator, pairs, None, {})
    filter_ = SimpleNamespace(masses_of=lambda x: np.zeros(0), bodies=())
    inquiry.begin(filter_, SimpleNamespace(x=None), 1.0)
    return inquiry


def test_a_moment_of_doubt_does_not_end_the_waiting_for_a_push_or_a_load():
    config, locator = WatchConfig(), Locator()
    inquiry = inquiry_of(locator)
    inquiry.feed(None, None, 0.2)
    assert inquiry.patience(config) == config.patience
    locator.reported = replace(UNDECIDED, is_open=True)
    for _ in range(10):
        inquiry.feed(None, None, 0.2)
    assert inquiry.patience(config) == config.longest_push
    locator.reported = UNDECIDED
    inquiry.feed(None, None, 0.2)
    assert inquiry.patience(config) > locator.age
    inquiry.feed(None, None, config.patience)
    assert inquiry.patience(config) < locator.age


def test_a_force_along_gravity_where_a_load_was_certain_is_a_load_that_varies():
    locator = Locator()
    inquiry = inquiry_of(locator)
    inquiry.estimate("trunk", 0)
    inquiry.estimate("hand", 1)
    upright = LocatedCause(Cause.PUSH, 0.99, decided=True, links=("wrist", "hand"), upright=True)
    locator.reported = upright
    inquiry.feed(None, None, 0.2)
    assert inquiry.varied_loads((0, 1)) == (1,)
    assert inquiry.varied_loads((0,)) == ()
    assert inquiry.varied_loads(()) == ()
    for other in (
        replace(upright, upright=False),
        replace(upright, decided=False),
        replace(upright, cause=Cause.FAULT),
    ):
        locator.reported = other
        inquiry.feed(None, None, 0.2)
        assert inquiry.varied_loads((0, 1)) == ()
