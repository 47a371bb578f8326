"""A foot whose force alone changes is a fault of its sensor; a load rests on several feet."""

import numpy as np
from support.standing_hyq import StandingHyq, pipeline, weight

from inertial_estimation.signals import HealthLevel


def test_a_wrench_that_reads_nothing_is_no_load_and_is_named():
    robot = StandingHyq(pipeline(ground_forces="measured"))
    robot.run(1.0)
    before = robot.estimates[-1].trunk.mass
    noise = np.random.default_rng(1)
    robot.alter_wrench = lambda contact, wrench: (
        wrench + 1e-3 * noise.standard_normal(6) - wrench * (contact == "lf_foot")
    )
    robot.run(0.4)
    health = robot.health()["payload"]
    assert health.level == HealthLevel.WARN, health
    assert "'lf_foot'" in health.message
    robot.alter_wrench = lambda contact, wrench: wrench
    robot.run(0.4)
    assert robot.changes == []
    assert robot.health()["payload"].level == HealthLevel.OK
    assert np.ptp([estimate.trunk.mass for estimate in robot.estimates]) < 1e-9
    assert robot.estimates[-1].trunk.mass == before


def test_a_load_above_one_foot_is_a_load():
    """Even a weight near a corner of the trunk loads more than that corner's foot."""
    robot = StandingHyq(pipeline(ground_forces="measured"))
    robot.run(1.0)
    robot.put_on(weight(mass=10.0, com=(0.35, 0.2, 0.1)))
    robot.run(0.4)
    assert [change.kind for change in robot.changes] == ["loaded"]
