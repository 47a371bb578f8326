"""What `init` finds out about robots it has never seen, against what their makers say."""

from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip("example_robot_data")

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.configuration.urdf_source import example_source, mesh_folders, read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.offline.identification_setup import identification_config
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.setup_assistant.parameter_text import parameter_text
from inertial_estimation.setup_assistant.survey import Survey, Wishes, survey_robot

ROBOTS = {
    "g1": ("humanoid", "imu_in_pelvis", 2, {"torso_link", "left_elbow_link", "right_elbow_link"}),
    "anymal": ("quadruped", "imu_link", 4, {"base_inertia"}),
    "ur5": ("arm", "", 0, {"wrist_3_link"}),
    "tiago": ("arm", "", 0, {"arm_7_link"}),
}


@cache
def surveyed(name: str) -> Survey:
    urdf = read_urdf(example_source(name))
    return survey_robot(urdf, mesh_folders(), Wishes(), np.random.default_rng(0))


@pytest.mark.parametrize("name", ROBOTS)
def test_kind_sensors_and_links(name: str) -> None:
    survey = surveyed(name)
    found = (survey.decision.kind.value, survey.imu, len(survey.contacts), set(survey.links))
    assert found == ROBOTS[name]
    assert not survey.doubts


@pytest.mark.parametrize("name", ROBOTS)
def test_written_file_is_accepted_by_every_node(name: str, tmp_path: Path) -> None:
    file = tmp_path / "robot.yaml"
    file.write_text(parameter_text(surveyed(name), example_source(name)))
    config = load_config_file(file)
    config.check_shared(all_parameters())
    config.check_nodes(list(NODE_CONFIGS))
    for node, classes in NODE_CONFIGS.items():
        known = {spec.name for cls in classes for spec in iterate_parameters(cls)}
        assert set(config.nodes.get(node, {})) <= known
        for cls in classes:
            own = {spec.name for spec in iterate_parameters(cls)}
            build_config(cls, {n: v for n, v in config.values(node, known).items() if n in own})
    pipelines = build_pipelines(config)
    assert (pipelines.tilt is not None) == (ROBOTS[name][2] > 0)
    assert pipelines.inertial is not None


@pytest.mark.parametrize("name", ["g1", "anymal"])
def test_stance_is_level_within_limits_and_balanced(name: str) -> None:
    survey = surveyed(name)
    robot, limits = survey.robot, urdf_limits(survey.robot)
    assert (survey.posture >= limits.lower).all()
    assert (survey.posture <= limits.upper).all()
    data = robot.model.createData()
    com = pin.centerOfMass(robot.model, data, robot.configuration(survey.posture))
    pin.updateFramePlacements(robot.model, data)
    feet = [data.oMf[robot.frame_id(contact.frame)] for contact in survey.contacts]
    assert np.ptp([foot.translation[2] for foot in feet]) < 2e-3
    np.testing.assert_allclose(np.mean([f.translation[:2] for f in feet], axis=0), com[:2], atol=0.01)
    for foot, contact in zip(feet, survey.contacts, strict=True):
        assert not contact.sole or foot.rotation[2, 2] > 1.0 - 1e-5


@pytest.mark.parametrize("name", ["talos", "hyq"])
def test_findings_agree_with_the_files_written_by_hand(name: str) -> None:
    survey, file = surveyed(name), load_config_file(find_config(name))
    assert survey.imu == file.shared["imu_frame"]
    assert survey.trunk == file.nodes["inertial_ekf"]["links"][0]
    frames = file.shared.get("contact_frames", file.shared["contacts"])
    assert [contact.frame for contact in survey.contacts] == frames
    if name == "talos":
        found = [number for contact in survey.contacts for number in contact.sole]
        np.testing.assert_allclose(found, file.shared["stance.soles"], atol=0.011)


def test_sole_that_the_urdf_lacks_is_at_the_lowest_points_of_the_foot() -> None:
    """The foot of G1 stands on four balls of 5 mm at (-0.05, +-0.025) and (0.12, +-0.03), z = -0.03 m."""
    left = surveyed("g1").contacts[0]
    assert (left.name, left.link) == ("left_foot", "left_ankle_roll_link")
    np.testing.assert_allclose(left.pose, [0.035, 0, -0.035, 0, 0, 0], atol=1e-3)
    x0, x1, y0, y1 = left.sole
    assert 0.9 * 0.17 * 0.055 < (x1 - x0) * (y1 - y0) < 1.1 * 0.17 * 0.055


@pytest.mark.parametrize("name", ["ur5", "tiago"])
def test_every_body_of_an_arm_is_identified(name: str, tmp_path: Path) -> None:
    """The error of a link that is held at its nominal inertia would go into a load in the hand."""
    file = tmp_path / "robot.yaml"
    file.write_text(parameter_text(surveyed(name), example_source(name)))
    identifier = Identifier(identification_config(load_config_file(file)), read_urdf(example_source(name)))
    moving = surveyed(name).robot.model.inertias[1:]
    assert len(identifier.parameters.bodies) == sum(inertia.mass > 0.0 for inertia in moving)


@pytest.mark.parametrize(
    ("short", "file"),
    [
        ("g1", "g1_29dof_rev_1_0"),
        ("g1_with_hands", "g1_29dof_with_hand_rev_1_0"),
        ("ur3", "ur3_robot"),
        ("ur5", "ur5_robot"),
        ("ur5_limited", "ur5_joint_limited_robot"),
        ("solo8", "solo"),
        ("alexander", "alexander_v1.lowerBodyOnly"),
        ("talos", "talos_reduced"),
    ],
)
def test_short_names_are_those_of_the_loaders(short: str, file: str) -> None:
    assert Path(example_source(short)).stem == file


def test_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(ModelError, match="did you mean panda"):
        example_source("panada")
