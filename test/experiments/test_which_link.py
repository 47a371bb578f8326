"""Table and figure of the experiment from trials whose outcome is known."""

import numpy as np
import pytest

from inertial_estimation.experiments.which_link import (
    ON_S,
    LinkData,
    LinkTrial,
    LoadedLink,
    PushedLink,
    panels,
    table,
)
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.simulation.disturbances import Push

TIMES = np.arange(0.0, 3.0, 0.1)


def trial(cause, *, begin_s, published=1.0):
    located = tuple(cause if t >= begin_s else None for t in TIMES)
    masses = np.where(TIMES >= ON_S, published, 1.0)[:, None]
    return LinkTrial(("hand",), TIMES, masses, located)


def load(links, mass=2.0):
    return LocatedCause(Cause.LOAD, 0.99, decided=True, links=links, mass=mass, com_L=np.zeros(3))


def push(newton):
    force = np.array([newton, 0.0, 0.0])
    return LocatedCause(Cause.PUSH, 0.99, decided=True, links=("hand",), force_L=force, torque_L=np.zeros(3))


def test_shares_delays_and_changes_are_those_of_the_trials():
    loads = [
        LoadedLink("hand", 2.0, trial(load(("hand",)), begin_s=ON_S + 0.1)),
        LoadedLink("hand", 4.0, trial(load(("wrist", "hand")), begin_s=ON_S + 0.2)),
        LoadedLink("hand", 2.0, trial(load(("hand",)), begin_s=ON_S + 0.6)),
        LoadedLink("hand", 2.0, trial(None, begin_s=0.0)),
        LoadedLink("head_2", 2.0, trial(load(("head_2", "head_1")), begin_s=ON_S + 0.1)),
    ]
    given = Push("hand", (20.0, 0.0, 0.0), ON_S, 0.5)
    pushes = [
        PushedLink(
            given, trial(push(19.0), begin_s=ON_S, published=1.015), trial(None, begin_s=0.0, published=0.99)
        ),
        PushedLink(
            given,
            trial(load(("hand",)), begin_s=ON_S, published=1.4),
            trial(None, begin_s=0.0, published=1.4),
        ),
    ]
    still = trial(None, begin_s=0.0)
    presses = [PushedLink(given, trial(load(("hand",)), begin_s=ON_S, published=1.05), still)]
    data = LinkData(loads, pushes, [], loads[:2], presses)
    rows = {row.quantity: row for row in table(data)}
    assert rows["load on a limb: link named first within 0.3 s"].ours == pytest.approx(25.0)
    assert rows["load on the head: link named first within 0.3 s"].ours == pytest.approx(100.0)
    assert rows["load on limb or head: link named first within 0.3 s"].ours == pytest.approx(40.0)
    assert rows["load: link among those named within 0.3 s"].ours == pytest.approx(60.0)
    assert rows["load: time until reported, longest"].ours == np.inf
    assert rows["push: change of a published mass, largest"].ours == pytest.approx(40.0)
    without = rows["push: the same change without it, learning paused meanwhile, largest"]
    assert without.ours == pytest.approx(40.0)
    difference = rows["push: published mass with and without it, largest difference"]
    assert difference.ours == pytest.approx(100.0 * (1.015 / 0.99 - 1.0))
    assert rows["push: taken for a load"].ours == 1.0
    assert rows["push: link among those named"].ours == pytest.approx(50.0)
    assert rows["push: error of the force, median"].ours == pytest.approx(5.0)
    assert rows["push straight down at rest: change of a published mass, largest"].ours == pytest.approx(5.0)
    assert rows["push straight down at rest: taken for a load"].ours == 1.0
    assert rows["load at rest: link among those named within 0.3 s"].ours == pytest.approx(100.0)
    assert len(panels(data)) == 3
