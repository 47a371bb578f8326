"""Published experiments, shortened, and robots that none of the papers has: from simulation to table."""

import math

import numpy as np
import pytest

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.commands.main import main
from inertial_estimation.configuration.node_names import CONTROLLER_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import ModelError
from inertial_estimation.experiments.pushed_biped import QUICK_PUSHES
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.tournois_standing import (
    ROBOT,
    TRUNK,
    Scene,
    identification,
    perturbed,
    standing_loop,
    urdf_with_moved_com,
    urdf_with_moved_links,
)
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.simulation.disturbances import parse_disturbance

pytestmark = pytest.mark.experiment


def quick(name):
    """The result of a shortened run with one seed, and its rows by their quantities."""
    result = find_experiment(name).run([0, 1], quick=True)
    assert result.seeds == (0,)
    return result, {row.quantity: row.ours for row in result.rows}


@pytest.mark.parametrize("name", ["foster-pelvis", "benallegue-loop", "tournois-slope", "syde-design"])
def test_every_number_is_finite_and_every_bound_is_kept(name: str) -> None:
    result, rows = quick(name)
    assert all(math.isfinite(value) for value in rows.values())
    assert any(row.bound for row in result.rows)
    assert [row.quantity for row in result.missed] == []


def test_adaptation_holds_a_load_in_the_hand() -> None:
    result, _rows = quick("foster-elbow")
    assert result.panels
    assert all("without" in row.quantity for row in result.missed), "it sags less in a short run"


def test_a_pushed_biped_stands_after_the_first_push_and_lies_after_the_second() -> None:
    result, _rows = quick("benallegue-push")
    first_s, second_s = (time for time, _ in QUICK_PUSHES)
    panel = next(panel for panel in result.panels if panel.title.startswith("Vertical in the IMU frame, z"))
    (true,) = [curve for curve in panel.series if curve.label == "truth"]
    moments = [first_s - 0.1, first_s + 0.4, second_s - 0.1]
    lean = np.degrees(np.arccos(np.minimum(1.0, np.interp(moments, true.x, true.y))))
    assert lean[0] < 0.1
    assert lean[1] > 1.0
    assert lean[2] < 0.5
    assert true.y[-1] < 0.2


def test_bounds_keep_masses_positive_and_nothing_else_does() -> None:
    _result, rows = quick("yamane-dynamic")
    assert rows["negative masses, least squares without truncation, fewest of all sets"] >= 1
    assert rows["smallest mass, bounded gradient, all sets and limits"] > 0.0
    shares = [value for name, value in rows.items() if "true parameters, cost / nominal" in name]
    assert max(shares) < 0.5


def test_the_filter_learns_the_load_while_the_robot_walks_on() -> None:
    result, rows = quick("trunk-ekf-walk")
    assert rows["exact model: falls, sum"] == 0.0
    errors = next(panel for panel in result.panels if panel.title == "Error in x and y").series[0]
    assert errors.y[(errors.x > 0.0) & (errors.x < 0.05)].max() > 80.0, "it moves the centre by centimetres"
    assert errors.y[errors.x > 2.0].max() < 10.0


def feet_x(loop: ClosedLoop) -> np.ndarray:
    """True place of each foot along x [m]."""
    points_W = loop.simulation.truth().points_W
    return np.array([points.reshape(-1, 3)[:, 0].mean() for points in points_W.values()])


def test_a_humanoid_as_init_describes_it_stands_learns_what_its_arm_is_given_and_walks(tmp_path) -> None:
    file, arm = str(tmp_path / "g1.yaml"), "left_elbow_link"
    assert main(["init", "g1", "--no-trial", "--output", file]) == 0
    ball = parse_disturbance(f"{{kind: ball, link: {arm}, mass: 1, at: [0.1, 0, 0], start: 0.2}}")
    loop = RobotLoop(file).build(disturbances=[ball])
    loop.release(1.0)
    loop.run(1.2)
    found = next(link.published for link in loop.inertias.links if link.published.link == arm)
    assert found.mass == pytest.approx(loop.simulation.truth((arm,)).inertias[arm].mass, abs=0.1)
    begin = feet_x(loop)
    loop.controller.push_walk_command(WalkCommand(2, 0.1))
    loop.run(4.0)
    assert not loop.simulation.fallen
    np.testing.assert_allclose(feet_x(loop) - begin, 0.1, atol=0.02)


HOIST_S = 0.3


@pytest.fixture(scope="module")
def go2() -> RobotLoop:
    return RobotLoop("go2", {})


def test_a_small_quadruped_crawls_and_tells_no_load(go2: RobotLoop) -> None:
    loop = go2.build(payload=True, inertial=False, overrides={CONTROLLER_NODE: {"crawl.dwell": 0.1}})
    loop.release(HOIST_S)
    begin = feet_x(loop)
    loop.controller.push_walk_command(WalkCommand(4, 0.1))
    loop.run(5.5)
    assert not loop.simulation.fallen
    np.testing.assert_allclose(feet_x(loop) - begin, 0.1, atol=0.01)
    assert loop.load_changes == []


def test_a_small_quadruped_finds_a_load_on_its_trunk(go2: RobotLoop) -> None:
    ball = parse_disturbance("{kind: ball, link: base, mass: 2, at: [-0.1, 0.05, 0.1], start: 0.1}")
    loop = go2.build(payload=True, inertial=False, disturbances=[ball])
    loop.release(HOIST_S)
    loop.run(8.0)
    assert [change.kind for change in loop.load_changes] == ["loaded"]
    assert loop.identified.converged
    trunk, truth = loop.identified.trunk, loop.simulation.truth(("base",)).inertias["base"]
    assert loop.identified.mass_sigma < 0.1
    assert trunk.mass == pytest.approx(truth.mass, abs=3.0 * loop.identified.mass_sigma)
    off = np.abs(np.subtract(trunk.com_L, truth.com_L))[:2]
    assert (off < 2.0 * loop.identified.com_sigma_B[:2]).all(), "within what it says, about 3 mm"
    assert np.linalg.norm(np.asarray(truth.com_L)[:2] - [0.0201, 0.0]) > 0.02, "the load moves it"


@pytest.fixture(scope="module")
def hyq() -> RobotLoop:
    return RobotLoop(ROBOT)


def test_load_and_believed_centre_are_found(hyq: RobotLoop) -> None:
    """100 N on a robot wrong about its trunk: found to millimetres by the pipeline of the node."""
    loop = standing_loop(perturbed(hyq), Scene(100.0), 0, quick=True)
    found = identification(loop, "contact_forces")
    assert found.converged
    assert np.hypot(*found.error_L[0, :2]) > 0.1
    assert found.error_xy < 3e-3
    assert found.mass_error < 0.01
    assert found.begins < found.settled(3e-3) < found.columns["time"][-1]


def test_moved_centre_and_moved_foot_are_where_they_are_said_to_be(hyq: RobotLoop) -> None:
    move = np.array([0.01, -0.02, 0.03])
    before = RobotModel.from_urdf(hyq.urdf)
    trunk = RobotModel.from_urdf(urdf_with_moved_com(hyq.urdf, TRUNK, move))
    was, now = (BodyReference.of_link(model, TRUNK).nominal_J for model in (before, trunk))
    np.testing.assert_allclose(now.com_F - was.com_F, move, atol=1e-12)
    np.testing.assert_allclose(now.inertia_Fcm, was.inertia_Fcm, atol=1e-9)
    foot = RobotModel.from_urdf(urdf_with_moved_links(hyq.urdf, {"lh_foot": move}))
    places = [model.fixed_transform("lh_lowerleg", "lh_foot").translation for model in (before, foot)]
    np.testing.assert_allclose(places[1] - places[0], move, atol=1e-12)
    with pytest.raises(ModelError, match="no_foot"):
        urdf_with_moved_links(hyq.urdf, {"no_foot": move})
