"""Robots of the trials of the locator, from their parameter files."""

import numpy as np
import pytest

pytest.importorskip("example_robot_data")

from inertial_estimation.experiments.link_robots import configured_robot
from inertial_estimation.simulation.disturbances import Push
from inertial_estimation.simulation.payload import attached_ball
from inertial_estimation.synthetic.disturbed_truth import disturbed_truth
from inertial_estimation.synthetic.synthetic_truth import Timing

TIMING = Timing(duration_s=0.1, rate_hz=100.0, rest_s=0.0, fade_s=0.02)


@pytest.fixture(scope="module")
def quadruped():
    return configured_robot("go2")


def test_loads_and_pushes_scale_with_the_mass_and_joints_that_carry_it_stay_still(quadruped):
    mass = quadruped.setup.robot.total_mass
    talos = configured_robot("talos")
    heavier = talos.setup.robot.total_mass / mass
    assert quadruped.loads[1] * heavier == pytest.approx(talos.loads[1], rel=0.05)
    assert quadruped.pushes[1] * heavier == pytest.approx(talos.pushes[1], rel=0.05)
    assert not quadruped.motion.reach
    arm = configured_robot("panda").truth(TIMING, np.random.default_rng(0))
    assert np.ptp([state.q for state in arm.states], axis=0).min() > 0.0


def test_a_load_and_a_push_leave_point_feet_without_torque_and_are_carried_by_them(quadruped):
    truth = quadruped.truth(TIMING, np.random.default_rng(0))
    disturbances = [attached_ball("base", 2.0), Push("base", (0.0, 0.0, -30.0), 0.05, 1.0)]
    disturbed = disturbed_truth(truth, quadruped.contacts, disturbances)
    wrenches = np.array([reading.wrenches_C for reading in disturbed.readings])
    assert not wrenches[:, :, 3:].any()
    own = np.array([reading.wrenches_C for reading in truth.readings])
    up = (wrenches - own)[:, :, :3].sum(axis=1)
    assert np.linalg.norm(up[0]) == pytest.approx(2.0 * 9.80665, rel=0.1)
    assert np.linalg.norm(up[-1]) == pytest.approx(2.0 * 9.80665 + 30.0, rel=0.1)
