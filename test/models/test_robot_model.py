import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.errors import ConfigurationError, ModelError
from inertial_estimation.models.contact_kinematics import locked_robot
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.models.robot_model import RobotModel

LINK = """<link name="{0}"><inertial><origin xyz="0.1 0 0"/><mass value="{1}"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="0 0 0.5"/>
<axis xyz="0 1 0"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint>"""
MASSES = {"base": 5, "upper": 2, "lower": 1, "tool": 0.5, "wheel": 1}
URDF = (
    "<robot name='r'>"
    + "".join(
        LINK.format(n, m) for n, m in (("base", 5), ("upper", 2), ("lower", 1), ("tool", 0.5), ("wheel", 1))
    )
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


def test_total_mass_is_that_of_the_links():
    assert RobotModel.from_urdf(URDF).total_mass == pytest.approx(9.5)
    assert RobotModel.from_urdf(URDF, floating_base=False).total_mass == pytest.approx(9.5)


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


def test_a_fixed_base_has_no_base_velocity():
    robot = RobotModel.from_urdf(URDF, floating_base=False)
    assert (robot.n_base, robot.model.nv, robot.n_joints) == (0, 3, 3)


@pytest.mark.parametrize(
    ("ask", "unknown"),
    [
        (lambda r: r.joint_index("elbo"), "elbo"),
        (lambda r: r.frame_id("hand"), "hand"),
        (lambda r: r.link_body("hand"), "hand"),
    ],
)
def test_an_unknown_name_is_named_and_the_known_ones_listed(ask, unknown):
    robot = RobotModel.from_urdf(URDF)
    known = "elbow" if unknown == "elbo" else "lower"
    with pytest.raises(ModelError, match=f"'{unknown}'.*{known}"):
        ask(robot)


def test_an_unknown_joint_to_lock_is_named():
    with pytest.raises(ModelError, match=r"'knee'.*shoulder"):
        RobotModel.from_urdf(URDF, locked_joints=("knee",))


@pytest.mark.parametrize("text", ["", "not xml", "<robot name='r'/>"])
def test_what_is_no_urdf_is_refused(text):
    with pytest.raises(ModelError, match="URDF"):
        RobotModel.from_urdf(text)


@pytest.mark.parametrize(("good", "bad"), [('ixx="0.1"', "ixx='nan'"), ('value="5"', "value='heavy'")])
def test_an_inertia_that_is_no_number_is_refused_with_its_link(good, bad):
    with pytest.raises(ModelError, match=rf"link 'base' .*{bad}"):
        RobotModel.from_urdf(URDF.replace(good, bad.replace("'", '"'), 1))


def test_frames_on_two_bodies_have_no_fixed_transform():
    with pytest.raises(ModelError, match="not fixed"):
        RobotModel.from_urdf(URDF).fixed_transform("upper", "lower")


class TestRobotConfig:
    def test_frames_default_to_the_contact_names(self):
        contacts = robot_from_config(RobotConfig(contacts=("lower",)), URDF).contacts
        assert (contacts[0].frame, contacts[0].wrench_frame) == ("lower", "lower")

    def test_lists_of_different_length_are_refused(self):
        config = RobotConfig(contacts=("left", "right"), contact_frames=("lower",))
        with pytest.raises(ConfigurationError, match=r"contact_frames.*1 entries.*2 contacts"):
            robot_from_config(config, URDF)

    @pytest.mark.parametrize(
        ("name", "lists"),
        [
            ("contacts", {"contacts": ("lower", "upper", "lower")}),
            ("contact_frames", {"contacts": ("left", "right"), "contact_frames": ("lower", "lower")}),
        ],
    )
    def test_a_contact_that_comes_twice_is_refused(self, name, lists):
        with pytest.raises(ConfigurationError, match=f"'{name}' has lower more than once"):
            robot_from_config(RobotConfig(**lists), URDF)

    @pytest.mark.parametrize(
        "config",
        [
            RobotConfig(contacts=("foot",)),
            RobotConfig(imu_frame="foot"),
            RobotConfig(locked_joints=("foot",)),
        ],
    )
    def test_unknown_names_are_found_on_construction(self, config):
        with pytest.raises(ModelError, match="foot"):
            robot_from_config(config, URDF)

    def test_a_wrench_frame_must_be_on_the_body_of_the_contact(self):
        robot_from_config(RobotConfig(contacts=("lower",), wrench_frames=("tool",)), URDF)
        with pytest.raises(ModelError, match="not fixed"):
            robot_from_config(RobotConfig(contacts=("lower",), wrench_frames=("upper",)), URDF)


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
        same = locked_robot(RobotModel.from_urdf(urdf), [locked])
        assert [f.name for f in same.model.frames] == [f.name for f in robot.model.frames]
        assert locked_robot(robot, [kept]).link_names == robot.link_names
