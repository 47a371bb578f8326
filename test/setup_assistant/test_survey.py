"""What `init` finds out about robots it has never seen, against what their makers say."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.configuration.config_file import find_config, load_config_file
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters
from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    INERTIAL_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.configuration.urdf_source import example_source, mesh_folders, read_urdf
from inertial_estimation.errors import ConfigurationError, ModelError
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_rows import MeasurementNoise
from inertial_estimation.models.urdf import plain_urdf
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.setup_assistant.parameter_text import node_entries, parameter_text
from inertial_estimation.setup_assistant.survey import Survey, Wishes, survey_robot

WRISTS = {f"wrist_{k}_link" for k in range(1, 4)}
ROBOTS = {
    "g1": ("humanoid", "imu_in_pelvis", 2, {"torso_link", "left_elbow_link", "right_elbow_link"}),
    "anymal": ("quadruped", "imu_link", 4, {"base_inertia"}),
    "ur5": ("arm", "", 0, {"shoulder_link", "upper_arm_link", "forearm_link", *WRISTS}),
    "kinova": ("arm", "", 0, {f"j2s6s200_link_{k}" for k in range(1, 7)}),
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
    assert not survey.open_points


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
    assert all(config.has(node) for node in (SIMULATOR_NODE, CONTROLLER_NODE)), "it can stand"


@pytest.mark.parametrize("name", ["g1", "anymal"])
def test_stance_is_level_within_limits_balanced_and_as_wide_as_at_zero(name: str) -> None:
    survey = surveyed(name)
    robot, limits = survey.robot, urdf_limits(survey.robot)
    assert (survey.posture >= limits.lower).all()
    assert (survey.posture <= limits.upper).all()
    data = robot.model.createData()
    ids, q = [robot.frame_id(contact.frame) for contact in survey.contacts], np.zeros(robot.n_joints)
    pin.framesForwardKinematics(robot.model, data, robot.configuration(q))
    width = [data.oMf[frame].translation[1] for frame in ids]
    com = pin.centerOfMass(robot.model, data, robot.configuration(survey.posture))
    pin.updateFramePlacements(robot.model, data)
    feet = [data.oMf[frame] for frame in ids]
    np.testing.assert_allclose([foot.translation[1] for foot in feet], width, atol=2e-3)
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


LIMIT = (-1, 1, 50, 9)
SMALL = (0.01, 0.01, 0.01)  # [kg m^2]
LEG = (  # joint, link, mass, place in the link before
    ("hip_yaw", "pelvis", 1.0, "0 {side} 0"),
    ("hip_roll", "hip_rotor", 1.0, "0 0 0"),
    ("hip", "thigh", 1.0, "0 0 0"),
    ("knee", "shank", 0.5, "0 0 -0.4"),
    ("ankle", "foot", 0.3, "0 0 -0.4"),
)


def biped(
    *,
    waist: bool = False,
    rods: bool = False,
    corners: bool = False,
    wheels: bool = False,
    scans: bool = False,
) -> str:
    """A robot on two legs as exports of CAD have them."""
    parts = [link_xml("base", 8, moments=SMALL)]

    def add(joint: str, parent: str, link: str, mass: float, place: str, kind: str = "revolute") -> None:
        parts.append(link_xml(link, mass, moments=SMALL))
        parts.append(joint_xml(joint, parent, link, xyz=place, kind=kind, limit=LIMIT))

    if waist:
        add("middle", "base", "middle", 3.0, "0 0 -0.1")
    if scans:
        add("spindle", "base", "top_lidar", 0.3, "0 0 0.3", "continuous")
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent = "middle" if waist else "base"
        for joint, link, mass, place in LEG:
            add(f"{side}_{joint}", parent, f"{side}_{link}", mass, place.format(side=y))
            parent = f"{side}_{link}"
        if rods:
            add(f"{side}_spring", f"{side}_shank", f"{side}_rod", 0.1, "0 0 0.1")
        if wheels:
            add(f"{side}_disc", parent, f"{side}_wheel_tire", 0.1, "0 0 0", "continuous")
        for n, corner in enumerate((0.06, -0.06)) if corners else ():
            add(f"{side}_fix{n}", parent, f"{side}_corner{n}", 0.0, f"0.1 {corner} -0.05", "fixed")
    return robot_xml(*parts, name="biped")


@cache
def survey_of(urdf: str, **wishes: object) -> Survey:
    return survey_robot(urdf, [], Wishes(**wishes), np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_sensor_that_spins_and_a_wheel_by_its_name_are_locked() -> None:
    wheeled = biped(scans=True).replace("spindle", "caster").replace("top_lidar", "roller")
    assert survey_of(biped(scans=True)).locked == {"spindle": "a sensor that spins"}
    assert survey_of(wheeled).locked == {"caster": "wheels and rotors"}
    assert "spindle" in survey_of(biped(scans=True), unlock=("spindle",)).robot.joint_names


def test_a_description_without_masses_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(ModelError, match="no link of 'biped' has a mass"):
        survey_of(re.sub("<inertial>.*?</inertial>", "", biped()))


def test_an_arm_of_which_no_body_can_have_its_inertia_is_refused_with_what_is_wrong() -> None:
    """Moments of inertia about the wrong point, as in files of manufacturers."""
    arm = read_urdf(example_source("ur5"))
    with pytest.raises(ModelError, match=r"'forearm_link' \(principal moments .* triangle inequality\)"):
        survey_of(re.sub('izz="[^"]*"', 'izz="9"', arm))


def test_a_trunk_whose_inertia_no_body_has_leaves_the_tilt() -> None:
    survey = survey_of(biped().replace('ixx="0.01"', 'ixx="1"', 1))
    assert list(node_entries(survey)) == [TILT_NODE]
    assert "'base'" in survey.open_points[-1]


def test_only_what_turns_about_its_centre_of_mass_is_a_wheel() -> None:
    """A knee that no limit stops, with a shank whose mass is beside the axis, remains a joint of the leg."""
    endless = re.sub('(name="[a-z]+_ankle" type=)"revolute"', r'\1"continuous"', biped())
    assert set(survey_of(endless).locked) == {"left_ankle", "right_ankle"}
    assert not survey_of(
        endless.replace('_foot"><inertial><origin xyz="0', '_foot"><inertial><origin xyz="0.05')
    ).locked


def test_a_rod_beside_a_foot_is_locked_and_the_foot_is_not() -> None:
    survey = survey_of(biped(rods=True))
    assert set(survey.locked) == {"left_spring", "right_spring"}
    assert [leg.end for leg in survey.decision.legs] == ["left_foot", "right_foot"]


def test_legs_behind_a_waist_are_legs_and_the_waist_can_be_locked_though_a_link_has_its_name() -> None:
    urdf = biped(waist=True)
    survey = survey_of(urdf)
    assert survey.decision.kind.value == "humanoid"
    assert [leg.joints[0] for leg in survey.decision.legs] == ["left_hip_yaw", "right_hip_yaw"]
    assert "middle" in survey.robot.joint_names
    assert survey_of(urdf, lock=("middle",)).locked == {"middle": "as requested"}


def test_joints_are_locked_and_kept_as_asked() -> None:
    urdf = biped(wheels=True, rods=True)
    assert set(survey_of(urdf, unlock=("left_disc",)).locked) == {"right_disc", "left_spring", "right_spring"}
    assert "right_spring" not in survey_of(urdf, unlock=("*_spring",)).locked
    with pytest.raises(ConfigurationError, match=r"--unlock.*right_disc"):
        survey_of(urdf, unlock=("right_disk",))


def test_infinite_negative_and_missing_limits_are_none() -> None:
    urdf = biped().replace('lower="-1" upper="1" effort="50"', 'lower="-Inf" upper="+inf" effort="-1"', 1)
    urdf = urdf.replace('effort="50" velocity="9"/>', "/>", 1)
    limits = urdf_limits(survey_of(plain_urdf(urdf)).robot)
    counts = [np.isinf(one).sum() for one in (limits.lower, limits.upper, limits.effort, limits.velocity)]
    assert counts == [1, 1, 2, 1]


def joined(*parts: tuple[str, str, str, float, str], effort: float = 50.0) -> str:
    """A robot of revolute joints, each with its parent, child, mass of the child, and origin xyz/rpy."""
    text = [link_xml("base", 8, moments=SMALL)]
    for name, parent, child, mass, origin in parts:
        xyz, _, rpy = origin.partition("/")
        text.append(link_xml(child, mass, moments=SMALL))
        text.append(joint_xml(name, parent, child, xyz=xyz, rpy=rpy or "0 0 0", limit=(-2, 2, effort, 9)))
    return robot_xml(*text, name="joined")


def test_a_robot_on_two_points_is_not_simulated() -> None:
    parts = [
        part
        for side, y in (("left", 0.1), ("right", -0.1))
        for part in (
            (f"{side}_hip", "base", f"{side}_thigh", 0.3, f"0 {y} 0"),
            (f"{side}_knee", f"{side}_thigh", f"{side}_shank", 0.3, "0 0 -0.3"),
        )
    ]
    for urdf, stands in ((joined(*parts), False), (biped(), True)):
        assert {SIMULATOR_NODE in node_entries(survey_of(urdf)), survey_of(urdf).can_stand} == {stands}


def test_legs_all_around_the_base_are_legs() -> None:
    parts = []
    for k in range(6):
        yaw = 2.0 * np.pi * k / 6
        place = f"{0.2 * np.cos(yaw)} {0.2 * np.sin(yaw)} 0/{np.pi / 2} 0 {yaw}"
        parts += [
            (f"hip_yaw_{k}", "base", f"coxa_{k}", 0.3, place),
            (f"hip_{k}", f"coxa_{k}", f"thigh_{k}", 0.3, f"0 0 0/{-np.pi / 2} 0 0"),
            (f"knee_{k}", f"thigh_{k}", f"shank_{k}", 0.3, "0.1 0 -0.2"),
        ]
    survey = survey_of(joined(*parts))
    assert survey.decision.kind.value == "quadruped"
    assert len(survey.contacts) == 6
    assert not any("feet miss" in open_point for open_point in survey.open_points)
    assert len(survey_of(joined(*parts), kind="quadruped").contacts) == 6


@pytest.mark.parametrize("count", [2, 4])
def test_four_limbs_that_are_named_like_arms_may_be_legs(count: int) -> None:
    """As those of the dyna1, a quadruped on shoulders, arms and hands; a torso has two."""
    parts = []
    for k in range(count):
        place = f"{0.2 * (-1) ** (k // 2)} {0.1 * (-1) ** k} 0"
        parts += [
            (f"shoulder_{k}", "base", f"shoulder_{k}_link", 0.3, place),
            (f"elbow_{k}", f"shoulder_{k}_link", f"arm_{k}_link", 0.3, "0 0 -0.2"),
        ]
    survey = survey_of(joined(*parts))
    assert survey.decision.kind.value == "arm"
    assert any("--kind" in point for point in survey.open_points) is (count == 4)


def test_all_that_branches_off_beside_a_thumb_is_a_hand_if_a_wrist_carries_it() -> None:
    arm = [(f"joint_{k}", f"link_{k}" if k else "base", f"link_{k + 1}", 1.0, "0 0 0.3") for k in range(5)]
    fingers = ("thumb", "index", "ring")
    hand = [(f"{name}_j", "link_5", f"{name}_tip", 0.4, f"0 {0.1 * n} 0.1") for n, name in enumerate(fingers)]
    survey = survey_of(joined(*arm, *hand))
    assert set(survey.locked) == {"thumb_j", "index_j", "ring_j"}
    assert survey.links == tuple(f"link_{k}" for k in range(1, 6))
    alone = [(name, "base", child, mass, place) for name, _parent, child, mass, place in hand]
    assert not survey_of(joined(*alone)).locked


def test_two_that_slide_at_one_end_are_a_gripper_whatever_their_names() -> None:
    arm = [(f"joint_{k}", f"link_{k}" if k else "base", f"link_{k + 1}", 1.0, "0 0 0.3") for k in range(7)]
    arm[6] = ("joint_6", "link_5", *arm[6][2:])
    survey = survey_of(re.sub('("joint_[56]" type=)"revolute"', r'\1"prismatic"', joined(*arm)))
    assert set(survey.locked) == {"joint_5", "joint_6"}
    assert survey.links == tuple(f"link_{k}" for k in range(1, 6))
    assert not survey_of(joined(*arm)).locked


def test_legs_whose_joints_have_their_zero_elsewhere_are_legs() -> None:
    bent = re.sub('(name="left_hip" .*?rpy=)"0 0 0"', r'\1"0 1.2 0"', biped())
    assert bent != biped()
    survey = survey_of(bent)
    assert survey.decision.kind.value == "humanoid"
    assert not any("feet miss" in open_point for open_point in survey.open_points)


def test_frames_of_soles_may_be_turned_in_them() -> None:
    turned = re.sub('(_fix0" .*?rpy=)"0 0 0"', r'\1"0 0 1.5708"', biped(corners=True))
    survey = survey_of(turned, soles=("left_corner0", "right_corner0"))
    assert [contact.frame for contact in survey.contacts] == ["left_corner0", "right_corner0"]
    assert not any("feet miss" in open_point for open_point in survey.open_points)


def test_a_foot_without_shapes_has_the_sole_of_a_person() -> None:
    for contact in survey_of(biped()).contacts:
        length = contact.sole[1] / 0.14  # of the leg
        person = length * np.array([-0.14, 0.14, -0.05, 0.05])
        np.testing.assert_allclose(contact.sole, person, atol=1e-4)
        assert contact.guessed
        assert contact.frame == f"{contact.link}_sole"
        assert -0.1 * length < contact.pose[2] < -0.05 * length


def test_a_foot_that_is_not_level_at_zero_stands_on_its_sole() -> None:
    """A plate of 20 x 10 cm, turned by 0.4 rad about y in the foot."""
    box = '<origin xyz="0 0 -0.05" rpy="0 0.4 0"/><geometry><box size="0.2 0.1 0.02"/></geometry>'
    urdf = re.sub('(_foot">.*?)</link>', rf"\1<collision>{box}</collision></link>", biped())
    survey = survey_of(urdf)
    for contact in survey.contacts:
        np.testing.assert_allclose(contact.sole, (-0.1, 0.1, -0.05, 0.05), atol=1e-3)
        np.testing.assert_allclose(contact.pose[3:], (0.0, 0.4, 0.0), atol=0.01)
    assert not survey.open_points[1:]
    corners = re.sub('(_foot">.*?)</link>', rf"\1<collision>{box}</collision></link>", biped(corners=True))
    level = survey_of(corners.replace("0 0.4 0", "0 0 0").replace("0.02", "0.002"))
    assert all(contact.pose for contact in level.contacts), "it does not stand over a corner of its sole"


def test_an_arm_begins_where_its_efforts_hold_it() -> None:
    """An arm that reaches forwards at zero, with torques for half of its weight."""
    parts = [
        ("joint_0", "base", "link_0", 1.0, "0 0 0.3"),
        ("joint_1", "link_0", "link_1", 2.0, "0.5 0 0"),
        ("joint_2", "link_1", "link_2", 1.0, "0.5 0 0"),
    ]
    survey = survey_of(joined(*parts, effort=10.0))
    torques = pin.computeGeneralizedGravity(
        survey.robot.model, survey.robot.model.createData(), survey.posture
    )
    assert np.abs(torques).max() < 10.0


@pytest.mark.parametrize("mount", ["0 0 0", "1.5708 0 0", "0 1.5708 0"])
def test_noise_of_an_arm_follows_its_weight_on_floor_and_wall(mount: str) -> None:
    def noise(weight: float) -> float:
        arm = joined(
            ("first", "base", "upper", weight, f"0 0 0/{mount}"),
            ("second", "upper", "lower", weight, "0.3 0 0"),
            ("third", "lower", "tip", weight, "0.3 0 0"),
        )
        survey = survey_of(arm)
        assert "friction" in [entry.name for entry in node_entries(survey)[INERTIAL_NODE]]
        return MeasurementNoise().for_robot(survey.robot).torque

    # 0.5 Nm for 100 Nm of weight: two bodies on levers of 0.3 and 0.6 m
    assert noise(20.0) == pytest.approx(0.5 * 20.0 * 9.807 * (0.3 + 0.6) / 100.0, rel=0.1)
    assert noise(200.0) == pytest.approx(10.0 * noise(20.0), rel=0.1)


def test_a_robot_whose_base_frame_lies_at_its_feet_stands() -> None:
    survey = survey_of(re.sub(r"0 (-?0\.1) 0", r"0 \1 0.8", biped(corners=True)))
    assert survey.height < 0.1
    assert 0.6 < survey.leg_height < 0.9
    assert not any("feet miss" in open_point for open_point in survey.open_points)


def test_a_foot_with_two_force_sensors_is_named() -> None:
    names = {"corner0": "front_ft", "corner1": "rear_ft"}
    urdf = re.sub("corner[01]", lambda match: names[match[0]], biped(corners=True))
    survey = survey_of(urdf)
    assert survey.wrench_frames == ()
    assert any(
        "left_front_ft, left_rear_ft" in open_point and "sum" in open_point
        for open_point in survey.open_points
    )
