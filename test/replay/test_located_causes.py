"""Loads and pushes of a replay, and the events of a node, from the same estimates."""

import numpy as np

from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.replay.replay_metrics import external_wrenches, located_loads
from inertial_estimation.signals import Decision, InertialEstimate

STEP_NS = 10_000_000


def load(mass, link="hand"):
    return LocatedCause(Cause.LOAD, 0.99, decided=True, links=(link, "wrist"), mass=mass, com_L=np.ones(3))


def push(newton, link="hand"):
    force = np.array([newton, 0.0, 0.0])
    return LocatedCause(Cause.PUSH, 0.99, decided=True, links=(link,), force_L=force, torque_L=np.zeros(3))


def estimates(located):
    zero = np.zeros(1)
    return [
        InertialEstimate(
            (i + 1) * STEP_NS, (), ("knee",), zero, 1.0, 9.0, True, Decision.ACCEPTED, zero, 1, located=cause
        )
        for i, cause in enumerate(located)
    ]


SEQUENCE = [None, load(1.9), load(2.0), None, *30 * [None], load(-2.0), None, push(9.0), push(11.0, "wrist")]
SEQUENCE += [push(10.0), push(30.0), None]


def test_a_replay_lists_every_load_once_with_its_last_mass():
    loads = located_loads(estimates(SEQUENCE))
    assert [(row["stamp_ns"], row["mass_kg"]) for row in loads] == [(2 * STEP_NS, 2.0), (35 * STEP_NS, -2.0)]
    assert loads[0]["links"] == ["hand", "wrist"]
    assert loads[0]["com_m"] == [1.0, 1.0, 1.0]


def test_a_replay_lists_every_push_once_with_its_median_force():
    (row,) = external_wrenches(estimates(SEQUENCE))
    assert (row["stamp_ns"], row["end_stamp_ns"]) == (37 * STEP_NS, 40 * STEP_NS)
    assert row["links"] == ["hand"]
    assert row["force_n"] == [10.0, 0.0, 0.0]
    assert row["point_m"] is None
