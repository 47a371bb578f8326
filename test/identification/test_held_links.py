"""Links held at the description's values: reported, and tested against the data by a fit that frees them."""

import json

import numpy as np
import pytest

from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.offline.identification_files import report_values
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.parameters import build_config

LINK = "wrist_3_link"
ARM = "ur10_joint_limited_robot"


def held_report(make_scene, share, *, links=(LINK,), noise=0.5, seed=0, link_of_load=""):
    """Report on an arm whose masses deviate by `share` from its description, all links but `links` held."""
    scene = make_scene(ARM)
    truth = scene.identifier()
    given = truth.parameters
    x = np.full(len(given.unknowns), 0.3)  # friction
    signs = np.random.default_rng(5).choice([-1.0, 1.0], len(given.bodies))
    for i, sign in enumerate(signs):
        x[10 * i : 10 * i + 10] = share * sign * given.body(given.nominal, i)
    identifier = scene.identifier(links=list(links), payload__link=link_of_load)
    identifier.push(scene.recording(truth, x, seed, seconds=2.0, torque_noise=noise))
    return identifier.report(["ridge"])


def sentences(report):
    return [text for text in result_diagnostics(report) if "held at" in text or "held links" in text]


def test_links_that_are_unlike_the_description_are_contradicted(make_scene):
    report = held_report(make_scene, 0.1)
    assert report.held.probability < 1e-6
    assert report.held.gain > 0.1
    first, second = sentences(report)
    assert "upper_arm_link" in first
    assert "contradict" in second
    assert json.loads(json.dumps(report_values(report)))["held_links"]["links"] == list(report.held.links)


def test_links_that_are_as_described_are_not(make_scene):
    """Under the description the statistic has an F distribution: its probability is uniform over noise."""
    reports = [held_report(make_scene, 0.0, seed=seed) for seed in range(8)]
    probabilities = np.array([report.held.probability for report in reports])
    assert -2.0 * np.sum(np.log(probabilities)) < 39.3  # chi-square, 16 degrees of freedom, 99.9 %
    assert -2.0 * np.sum(np.log(1.0 - probabilities)) < 39.3
    assert all(len(sentences(report)) == 1 for report in reports)


def test_all_links_leave_none_to_hold(make_scene):
    report = held_report(make_scene, 0.1, links=())
    assert report.held is None
    assert not sentences(report)
    assert report_values(report)["held_links"] is None


def test_a_robot_at_rest_allows_no_test(make_scene):
    scene = make_scene(ARM)
    identifier = scene.identifier(links=[LINK])
    truth = scene.identifier()
    still = scene.recording(truth, np.zeros(len(truth.parameters.unknowns)), 1, seconds=0.3, moving=[])
    identifier.push(still)
    report = identifier.report(["ridge"])
    assert len(report.held.links) == 5
    assert np.isnan(report.held.F)
    assert len(sentences(report)) == 1


@pytest.mark.parametrize("link_of_load", ["", LINK])
def test_the_gain_is_that_of_the_two_fits(make_scene, link_of_load):
    """An identification of all links reaches the squared error that the test foretells."""
    held = held_report(make_scene, 0.1, link_of_load=link_of_load)
    free = held_report(make_scene, 0.1, links=(), link_of_load=link_of_load)
    costs = [
        sum((row.rms / sigma) ** 2 for row, sigma in zip(rows.direct, held.row_sigma, strict=True))
        for rows in (held.methods["ridge"], free.methods["ridge"])
    ]
    assert 1.0 - costs[1] / costs[0] == pytest.approx(held.held.gain, abs=0.02)


def test_mirrored_links_are_freed_in_pairs(make_scene):
    scene = make_scene("hyq_no_sensors")
    values = {**scene.robot_values, "links": ["lf_upperleg", "rf_upperleg"], "symmetry": ["lf_=rf_"]}
    config = build_config(IdentificationConfig, values)
    identifier = Identifier(config, scene.urdf)
    robot = robot_from_config(config.robot, scene.urdf).robot
    assert len(identifier._held_links) == robot.model.njoints - 1 - 2
