import numpy as np
import pinocchio as pin
import pytest
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.errors import ConfigurationError, ModelError
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.robot_config import AddedFrames, robot_from_config, with_frames
from inertial_estimation.models.robot_model import RobotModel

MASSES = {"base": 5, "upper": 2, "lower": 1, "tool": 0.5, "wheel": 1}
URDF = robot_xml(
    *(link_xml(name, mass, "0.1 0 0") for name, mass in MASSES.items()),
    joint_xml("shoulder", "base", "upper", xyz="0 0 0.5"),
    joint_xml("elbow", "upper", "lower", xyz="0 0 0.5"),
    joint_xml("mount", "lower", "tool", xyz="0 0 0.5", kind="fixed"),
    joint_xml("spin", "base", "wheel", xyz="0 0 0.5", kind="continuous"),
)


def test_positions_reach_their_joints_even_past_a_continuous_one():
    robot = RobotModel.from_urdf(URDF)
    q = np.array([0.3, -0.4, 2.5])
    configuration = robot.configuration(q[[robot.joint_names.index(n) for n in robot.joint_names]])
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, configuration)
    for name, angle in zip(robot.joint_names, q, strict=True):
        joint = robot.model.getJointId(name)
        parent = robot.model.parents[joint]
        rotation = data.oMi[parent].actInv(data.oMi[joint]).rotation
        np.testing.assert_allclose(pin.log3(rotation), [0, angle, 0], atol=1e-12)


def test_locked_joints_by_pattern_merge_their_bodies():
    robot = RobotModel.from_urdf(URDF, locked_joints=("elb*",))
    assert robot.joint_names == ("shoulder", "spin") or robot.joint_names == ("spin", "shoulder")
    assert robot.link_body("lower").joint_id == robot.link_body("upper").joint_id
    assert robot.total_mass == pytest.approx(9.5)


def test_a_joint_whose_name_has_brackets_is_locked_by_it():
    urdf = URDF.replace("spin", "finger[0]/spin")
    assert "finger[0]/spin" not in RobotModel.from_urdf(urdf, locked_joints=("finger[0]/spin",)).joint_names


def test_shapes_that_the_parser_refuses_leave_the_terminal_alone(capfd):
    nameless = "<visual><geometry><sphere radius='1'/></geometry><material/></visual></link>"
    RobotModel.from_urdf(URDF.replace("</link>", nameless))
    assert capfd.readouterr() == ("", "")


def configured(**values):
    return lambda _robot: robot_from_config(RobotConfig(**values), URDF)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.joint_index("elbo"), "'elbo'.*elbow"),
        (lambda r: r.frame_id("hand"), "'hand'.*lower"),
        (lambda r: r.fixed_transform("upper", "lower"), "not fixed"),
        (lambda _r: RobotModel.from_urdf(URDF, locked_joints=("knee",)), "'knee'.*shoulder"),
        (configured(contacts=("foot",)), "foot"),
        (configured(contacts=("lower",), wrench_frames=("upper",)), "not fixed"),
        (lambda r: with_frames(r, AddedFrames(("upper",), ("base",), 6 * (0.0,))), "'upper', .* of the URDF"),
    ],
)
def test_what_the_model_does_not_have_is_named_with_what_it_has(ask, message):
    with pytest.raises(ModelError, match=message):
        ask(RobotModel.from_urdf(URDF))


@pytest.mark.parametrize(
    ("frames", "message"),
    [(("lower",), "1 entries.*2 cont"), (("lower", "lower"), "'contact_frames' has lower more than once")],
)
def test_lists_of_contacts_that_do_not_fit_are_refused(frames, message):
    with pytest.raises(ConfigurationError, match=message):
        robot_from_config(RobotConfig(contacts=("left", "right"), contact_frames=frames), URDF)


def test_a_joint_with_the_name_of_a_link_is_locked():
    links = (link_xml(name, 1) for name in ("base", "body", "tip"))
    urdf = robot_xml(*links, joint_xml("shoulder", "base", "body"), joint_xml("body", "body", "tip"))
    for locked, kept in (("shoulder", "body"), ("body", "shoulder")):
        robot = RobotModel.from_urdf(urdf, locked_joints=[locked])
        assert robot.joint_names == (kept,)
        assert set(robot.link_names) == {"base", "body", "tip"}
        assert robot.total_mass == pytest.approx(3.0)
        assert robot.link_body("tip").joint_id == robot.model.getJointId(kept)
        same = RobotModel.from_urdf(urdf).without([locked])
        assert [f.name for f in same.model.frames] == [f.name for f in robot.model.frames]
        assert robot.without([kept]).link_names == robot.link_names


def test_the_joints_to_frames_are_those_of_the_legs(talos):
    names = [talos.joint_names[j] for j in talos.joints_to("left_sole_link", "right_sole_link")]
    assert names == [f"leg_{side}_{i}_joint" for side in ("left", "right") for i in range(1, 7)]
    assert talos.joints_to(talos.base_link) == []


def test_links_are_chosen_one_for_each_body_that_moves(talos):
    patterns = ("leg_left_6_link", "*_6_link", "left_sole_link")
    with pytest.raises(ConfigurationError, match="'leg_left_6_link' and 'left_sole_link' belong to one"):
        talos.links_matching(patterns, "'links'")
    assert talos.links_matching(patterns[1:], "'links'")[0] == "left_sole_link"
    with pytest.raises(ConfigurationError, match=r"no moving link matches 'tail\*' in 'links'"):
        talos.links_matching(("tail*",), "'links'")
    assert len(talos.links_matching(("*",), "'links'")) == talos.n_joints + 1


POSE = (0.03, -0.02, -0.4, 0.3, -0.5, 1.2)
LEG = (link_xml("base", 2), link_xml("shank", 2), joint_xml("knee", "base", "shank", xyz="0 0 -0.2"))
SOLE = joint_xml("j", "shank", "sole", xyz="0.03 -0.02 -0.4", rpy="0.3 -0.5 1.2", kind="fixed")
WITHOUT_SOLE, WITH_SOLE = robot_xml(*LEG), robot_xml(*LEG, link_xml("sole"), SOLE)


def placement(robot: RobotModel, frame: str) -> np.ndarray:
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.configuration(np.array([0.7])))
    return data.oMf[robot.frame_id(frame)].homogeneous


def test_frame_is_where_the_link_of_a_urdf_with_the_same_origin_is() -> None:
    added = with_frames(RobotModel.from_urdf(WITHOUT_SOLE), AddedFrames(("sole",), ("shank",), POSE))
    described = RobotModel.from_urdf(WITH_SOLE)
    np.testing.assert_allclose(placement(added, "sole"), placement(described, "sole"), atol=1e-12)
    assert added.total_mass == described.total_mass
