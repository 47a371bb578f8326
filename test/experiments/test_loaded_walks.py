"""The walks under a load, shortened: what happens in the first seconds after the load came."""

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.experiments.crawl_run import perturbed_robot
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.models.robot_model import RobotModel

pytestmark = pytest.mark.experiment


@pytest.fixture(scope="module")
def identified():
    return find_experiment("tournois-walk").run((0,), quick=True)


def test_a_load_on_the_crawling_robot_is_found_and_the_robot_stands(identified):
    row = {row.quantity: row.ours for row in identified.rows}
    assert row["falls with identification, of 1"] == 0.0
    assert row["load change found, of 1"] == 1.0
    assert 0.0 < row["found after, longest"] < 1.0


def test_its_figure_shows_truth_and_estimate_in_time(identified):
    distance = next(panel for panel in identified.panels if panel.title == "Distance walked")
    walked = next(series for series in distance.series if series.label == "with identification")
    assert (np.diff(walked.x) > 0.0).all()
    mass = next(panel for panel in identified.panels if panel.title == "Trunk's mass")
    true = next(series for series in mass.series if series.label == "true")
    assert true.y[-1] - true.y[0] == pytest.approx(100.0 / 9.80665, rel=1e-6)


def test_the_filter_learns_the_load_while_the_robot_walks_on():
    result = find_experiment("trunk-ekf-walk").run((0,), quick=True)
    assert result.rows[0].quantity == "exact model: falls, of 1"
    assert result.rows[0].ours == 0.0
    errors = next(panel for panel in result.panels if panel.title == "Error in x and y").series[0]
    at_load = errors.y[(errors.x > 0.0) & (errors.x < 0.05)].max()
    assert at_load > 80.0, "the load moves the centre of mass by centimetres"
    assert errors.y[errors.x > 2.0].max() < 10.0


def test_a_robot_perturbed_robot_differs_in_masses_offsets_and_bias():
    robot = RobotLoop("hyq")
    urdf, overrides = perturbed_robot(robot, 3)
    mass = [RobotModel.from_urdf(text).link_body("lf_lowerleg").nominal_J.mass for text in (robot.urdf, urdf)]
    assert 0.001 < abs(np.log(mass[1] / mass[0])) < 0.15
    simulator = overrides[SIMULATOR_NODE]
    assert len(simulator["nominal_friction.offset"]) == len(simulator["nominal_friction.joints"]) == 12
    assert perturbed_robot(robot, 3)[0] == urdf
    assert perturbed_robot(robot, 4)[0] != urdf
