"""The loop in one process: it stands on its own estimates, is repeatable, and adaptation holds a load."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.closed_loop.closed_loop import QUICK_HOIST_S, ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.foster_arm import ELBOW, ELBOW_OVERRIDES, FOREARM
from inertial_estimation.simulation.disturbances import MassWaveform

HEAVY = MassWaveform(FOREARM, "step", offset=6.0)


@pytest.fixture(scope="module")
def robot() -> RobotLoop:
    return RobotLoop("talos", ELBOW_OVERRIDES)


def elbow_sag(loop: ClosedLoop, duration_s: float) -> float:
    index = loop.simulation.robot.joint_index(ELBOW)
    loop.release(0.5)
    before = loop.simulation.truth().q[index]
    loop.run(duration_s)
    return float(loop.simulation.truth().q[index] - before)


def test_robot_stands_on_its_estimates(robot: RobotLoop) -> None:
    loop = robot.build(seed=3)
    loop.release(QUICK_HOIST_S)
    loop.run(1.0)
    assert loop.base is not None
    truth = loop.simulation.truth().base
    assert not loop.simulation.fallen
    assert loop.base.state.stamp_ns == truth.stamp_ns
    assert abs(float(np.dot(loop.base.state.quaternion_xyzw, truth.quaternion_xyzw))) > np.cos(
        np.radians(0.5)
    )


def test_the_unknown_mass_sags_and_adaptation_holds_it(robot: RobotLoop) -> None:
    without = elbow_sag(robot.build(disturbances=[HEAVY], adaptation=False, inertial=False), 1.0)
    adapted = elbow_sag(robot.build(disturbances=[HEAVY], adaptation=True), 1.0)
    assert without > 0.5
    assert abs(adapted) < 0.1


def test_same_seed_same_run_other_seed_another(robot: RobotLoop) -> None:
    ends = []
    for seed in (5, 5, 6):
        loop = robot.build(seed=seed)
        loop.release(QUICK_HOIST_S)
        loop.run(0.3)
        ends.append(loop.simulation.truth().q)
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.abs(ends[0] - ends[2]).max() > 0.0
