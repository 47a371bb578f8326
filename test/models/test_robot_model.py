import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.errors import ConfigurationError, ModelError
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.robot_config import AddedFrames, robot_from_config, with_frames
from inertial_estimation.models.robot_model import RobotModel

LINK = """<link name="{0}"><inertial><origin xyz="0.1 0 0"/><mass value="{1}"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="0 0 0.5"/>
<axis xyz="0 1 0"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint>"""
MASSES = {"base": 5, "upper": 2, "lower": 1, "tool": 0.5, "wheel": 1}
URDF = (
    "<robot name='r'>"
    + "".join(LINK.format(*link) for link in MASSES.items())
    + JOINT.format("shoulder", "revolute", "base", "upper")
    + JOINT.format("elbow", "revolute", "upper", "lower")
    + JOINT.format("mount", "fixed", "lower", "tool")
    + JOINT.format("spin", "continuous", "base", "wheel")
    + "</robot>"
)


def test_fixed_links_make_one_body():
    robot = RobotModel.from_urdf(URDF)
    tool, lower = robot.link_body("tool"), robot.link_body("lower")
    assert tool.joint_id == lower.joint_id
    assert tool.nominal_J.mass == pytest.approx(1.5)
    np.testing.assert_allclose(tool.T_JL.translation, [0, 0, 0.5])


@pytest.mark.parametrize("floating_base", [True, False])
def test_masses_add_up_and_a_fixed_base_has_no_velocity(floating_base):
    robot = RobotModel.from_urdf(URDF, floating_base=floating_base)
    assert robot.total_mass == pytest.approx(sum(MASSES.values()))
    assert (robot.n_base, robot.model.nv, robot.n_joints) == ((6, 9, 3) if floating_base else (0, 3, 3))


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
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    links = "".join(f'<link name="{name}">{body}</link>' for name in ("base", "body", "tip"))
    pairs = (("shoulder", "base", "body"), ("body", "body", "tip"))
    joints = "".join(
        f'<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f"{limit}</joint>"
        for joint, parent, child in pairs
    )
    urdf = f'<robot name="twin">{links}{joints}</robot>'
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
    with pytest.raises(
        ConfigurationError, match="'leg_left_6_link' and 'left_sole_link' belong to one rigid"
    ):
        talos.links_matching(patterns, "'links'")
    assert talos.links_matching(patterns[1:], "'links'")[0] == "left_sole_link"
    with pytest.raises(ConfigurationError, match=r"no moving link matches 'tail\*' in 'links'"):
        talos.links_matching(("tail*",), "'links'")
    assert len(talos.links_matching(("*",), "'links'")) == talos.n_joints + 1


POSE = (0.03, -0.02, -0.4, 0.3, -0.5, 1.2)
INERTIAL = (
    '<inertial><mass value="2"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
SOLE = (
    '<link name="sole"/><joint name="j" type="fixed"><parent link="shank"/><child link="sole"/>'
    "{origin}</joint>"
)


def leg(sole: bool) -> str:
    origin = f'<origin xyz="{POSE[0]} {POSE[1]} {POSE[2]}" rpy="{POSE[3]} {POSE[4]} {POSE[5]}"/>'
    return f"""<robot name="leg"><link name="base">{INERTIAL}</link><link name="shank">{INERTIAL}</link>
      <joint name="knee" type="revolute"><parent link="base"/><child link="shank"/><axis xyz="0 1 0"/>
      <origin xyz="0 0 -0.2"/><limit lower="-2" upper="2" effort="10" velocity="5"/></joint>
      {SOLE.format(origin=origin) if sole else ""}</robot>"""


def placement(robot: RobotModel, frame: str) -> np.ndarray:
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.configuration(np.array([0.7])))
    return data.oMf[robot.frame_id(frame)].homogeneous


def test_frame_is_where_the_link_of_a_urdf_with_the_same_origin_is() -> None:
    added = with_frames(RobotModel.from_urdf(leg(False)), AddedFrames(("sole",), ("shank",), POSE))
    described = RobotModel.from_urdf(leg(True))
    np.testing.assert_allclose(placement(added, "sole"), placement(described, "sole"), atol=1e-12)
    assert added.total_mass == described.total_mass


def test_contact_and_imu_may_be_such_frames() -> None:
    frames = AddedFrames(("sole", "sensor"), ("shank", "base"), (*POSE, *POSE))
    config = RobotConfig(frames=frames, contacts=("foot",), contact_frames=("sole",), imu_frame="sensor")
    setup = robot_from_config(config, leg(False))
    assert setup.contacts[0].frame == "sole"
    assert setup.imu is not None
    np.testing.assert_allclose(setup.imu.T_JI.translation, POSE[:3])


def test_an_added_frame_hides_none_of_the_urdf() -> None:
    with pytest.raises(ModelError, match="'shank', which is a frame of the URDF"):
        with_frames(RobotModel.from_urdf(leg(False)), AddedFrames(("shank",), ("base",), POSE))
