"""A quadruped of 16 kg, `config/go2.yaml`: it crawls on its estimates and finds its load."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.simulation.disturbances import parse_disturbance

pytestmark = pytest.mark.experiment

HOIST_S = 0.3


@pytest.fixture(scope="module")
def robot() -> RobotLoop:
    return RobotLoop("go2", {})


def test_it_crawls_and_tells_no_load(robot: RobotLoop) -> None:
    loop = robot.build(payload=True, inertial=False, overrides={CONTROLLER_NODE: {"crawl.dwell": 0.1}})
    loop.release(HOIST_S)
    begin = feet_ahead_of_base(loop) + loop.simulation.truth().base.p_WB[0]
    loop.controller.push_walk_command(WalkCommand(4, 0.1))
    loop.run(5.5)
    assert not loop.simulation.fallen
    moved = feet_ahead_of_base(loop) + loop.simulation.truth().base.p_WB[0] - begin
    np.testing.assert_allclose(moved, 0.1, atol=0.01)
    assert loop.load_changes == []


def test_it_finds_a_load_on_its_trunk(robot: RobotLoop) -> None:
    ball = parse_disturbance("{kind: ball, link: base, mass: 2, at: [-0.1, 0.05, 0.1], start: 0.1}")
    loop = robot.build(payload=True, inertial=False, disturbances=[ball])
    loop.release(HOIST_S)
    loop.run(8.0)
    assert [change.kind for change in loop.load_changes] == ["loaded"]
    assert loop.identified is not None
    assert loop.identified.converged
    trunk, truth = loop.identified.trunk, loop.simulation.truth(("base",)).inertias["base"]
    assert loop.identified.mass_sigma < 0.1
    assert trunk.mass == pytest.approx(truth.mass, abs=3.0 * loop.identified.mass_sigma)
    off = np.abs(np.subtract(trunk.com_L, truth.com_L))[:2]
    assert (off < 2.0 * loop.identified.com_sigma_B[:2]).all(), "within what it says, about 3 mm"
    assert np.linalg.norm(np.asarray(truth.com_L)[:2] - [0.0201, 0.0]) > 0.02, "the load moves it"


def feet_ahead_of_base(loop: ClosedLoop) -> np.ndarray:
    """True x of the feet less that of the base, in the world [m], shape (4,)."""
    truth, robot = loop.simulation.truth(), loop.simulation.robot
    data = robot.model.createData()
    q = np.concatenate([np.zeros(3), truth.base.quaternion_xyzw, truth.q])
    pin.framesForwardKinematics(robot.model, data, q)
    feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    return np.array([data.oMf[robot.model.getFrameId(foot)].translation[0] for foot in feet])
