"""URDFs: impossible robots are refused by name, manufacturers' accepted, inertias written and no more."""

import re

import numpy as np
import pytest
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.configuration.urdf_source import mesh_folders, read_urdf
from inertial_estimation.errors import InconsistentInertiaError, ModelError
from inertial_estimation.models.bodies import BodyReference, check_priors
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf import check_urdf, plain_urdf, urdf_warnings
from inertial_estimation.models.urdf_inertia import (
    link_parameters,
    perturbed_urdf,
    urdf_with_bodies,
    urdf_with_load,
)
from inertial_estimation.spatial.inertial_parameters import InertialParameters

LIMIT = '<limit lower="-1" upper="1" effort="9" velocity="3"/>'


def body(name: str) -> str:
    return link_xml(name, 2, "0.1 0 0")


def hinge(name: str, parent: str, child: str) -> str:
    return joint_xml(name, parent, child, xyz="0 0 1", limit=(-1, 1, 9, 3))


GOOD = robot_xml(body("base"), body("arm"), hinge("elbow", "base", "arm"))
BOMB = "<!DOCTYPE r [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {n} '{f'&{p};' * 9}'>" for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)
BAD = {
    "negative mass": (GOOD.replace('value="2"', 'value="-1"', 1), "link 'base' has the mass -1 kg"),
    "no number": (GOOD.replace('ixx="0.1"', 'ixx="nan"', 1), "link 'base' has the inertia ixx='nan'"),
    "huge mass": (GOOD.replace('value="2"', 'value="1e308"', 1), "link 'base' has the mass value='1e308'"),
    "two numbers": (GOOD.replace('xyz="0 0 1"', 'xyz="0 1"'), "joint 'elbow' has the origin xyz='0 1'"),
    "no mass": (GOOD.replace('<mass value="2"/>', "", 1), "link 'base' has no mass value"),
    "axis zero": (GOOD.replace('xyz="0 1 0"', 'xyz="0 0 0"'), "joint 'elbow' has the axis '0 0 0'"),
    "limits": (GOOD.replace('lower="-1"', 'lower="2"'), "joint 'elbow' has the lower limit 2 and the upper"),
    "no limits": (GOOD.replace(LIMIT, ""), "joint 'elbow' of type revolute has no <limit>"),
    "type": (GOOD.replace('type="revolute"', 'type="rotary"'), "joint 'elbow' has the type 'rotary'"),
    "same links": (robot_xml(body("a"), body("a")), "several links are named 'a'"),
    "same joints": (
        robot_xml(*map(body, "abc"), hinge("j", "a", "b"), hinge("j", "a", "c")),
        "several joints are named 'j'",
    ),
    "circle": (
        robot_xml(*map(body, "abc"), hinge("j", "b", "c"), hinge("k", "c", "b")),
        "the joints at link 'b' make a circle",
    ),
    "two roots": (robot_xml(body("a"), body("b")), r"2 root links \(a, b\)"),
    "two parents": (
        robot_xml(*map(body, "abc"), hinge("j", "a", "c"), hinge("k", "b", "c")),
        "link 'c' is the child of several joints",
    ),
    "unknown child": (
        robot_xml(body("a"), hinge("j", "a", "b")),
        "the child of joint 'j' is link 'b', which",
    ),
    "not XML": ("<robot name='r'>\n<link name='a'></robot>", "line 2 is not well-formed XML: mismatched tag"),
    "another root": ("<sdf/>", "its root element is <sdf>, expected <robot>"),
    "xacro": (GOOD.replace('value="2"', 'value="${m}"', 1), r"the xacro <mass>.*expand it by `xacro FILE"),
    "entity bomb": (f"{BOMB}]>\n{GOOD.replace('base', '&i;')}", "line 1 has a definition of the entity 'a'"),
    "nested elements": ("<robot name='r'>" + "<a>" * 3000, "elements nested more than 64 deep"),
    "surrogate": (GOOD.replace("elbow", "\udc80"), "not a text that UTF-8 can hold"),
}


@pytest.mark.parametrize("case", BAD)
def test_impossible_robots_are_refused_by_name(case: str, capfd: pytest.CaptureFixture[str]) -> None:
    text, message = BAD[case]
    with pytest.raises(ModelError, match=message) as refusal:
        check_urdf(text, "'robot.urdf'")
    assert str(refusal.value).startswith("'robot.urdf' is no")
    assert "\n" not in str(refusal.value)
    with pytest.raises(ModelError, match=message):
        RobotModel.from_urdf(text)
    assert capfd.readouterr().err == "", "the parser of Pinocchio prints lines of its own"


def test_an_inertia_of_no_body_is_a_warning_and_where_it_is_estimated_an_error() -> None:
    text = GOOD.replace('izz="0.1"', 'izz="0.9"', 1)  # of the base
    (warning,) = urdf_warnings(text)
    assert re.search(r"'base' \(principal moments .*0.9.*triangle", warning)
    model = RobotModel.from_urdf(text)
    base, arm = (BodyReference.of_link(model, name) for name in ("base", "arm"))
    check_priors(model, (arm,))
    with pytest.raises(InconsistentInertiaError, match=r"inertia of 'base'.*triangle inequality"):
        check_priors(model, (arm, base))


def test_a_joint_that_mimics_none_is_a_warning() -> None:
    text = GOOD.replace("</joint>", '<mimic joint="elsewhere"/></joint>', 1)
    (warning,) = urdf_warnings(text)
    assert "elsewhere" in warning
    for sound in (GOOD, GOOD.replace('value="2"', 'value="0.5"')):
        assert urdf_warnings(sound) == []
    (warning,) = urdf_warnings(GOOD.replace('value="2"', 'value="0"', 1))
    assert "'base'" in warning


@pytest.mark.parametrize("declared", ["", '<link drake_ignore="true" name="world"/>'])
def test_the_world_need_not_be_declared(declared: str) -> None:
    weld = '<joint name="weld" type="fixed"><parent link="world"/><child link="base"/></joint></robot>'
    text = GOOD.replace("</robot>", declared + weld)
    assert len(check_urdf(plain_urdf(text)).findall("link")) == len(check_urdf(GOOD).findall("link")) + 1


def test_a_rounded_inertia_is_repaired() -> None:
    text = GOOD.replace('izz="0.1"', 'izz="0.201"', 1)
    model = RobotModel.from_urdf(text)
    base = BodyReference.of_link(model, "base")
    check_priors(model, (base,))
    assert base.nominal_J.violations() == []


FILES = sorted(
    path
    for folder in mesh_folders()
    for path in (folder / "example-robot-data" / "robots").rglob("*.urdf")
    if path.stem not in ("falcon", "ur3")  # a joint to a link that does not exist; no links
)


@pytest.mark.skipif(not FILES, reason="needs example-robot-data")
def test_manufacturers_files_are_accepted() -> None:
    for path in FILES:
        RobotModel.from_urdf(path.read_text(encoding="utf-8"))
        urdf_warnings(path.read_text(encoding="utf-8"))


def urdf_with_mass(urdf, robot, link, mass):
    body = BodyReference.of_link(robot, link)
    scaled = body.to_link @ body.nominal_C * (mass / body.nominal_J.mass)
    return urdf_with_bodies(urdf, robot, [body], [scaled])


COMMENTED = """<?xml version="1.0" encoding="utf-8"?>
<!-- made by hand & kept -->
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="two" xmlns:drake="http://drake.mit.edu">
  <!-- the base -->
  <link name="base"/>
  <link name="tip">
    <visual><geometry><box size="1 2 3"/></geometry></visual>
    <inertial>
      <!-- weighed on 3 May -->
      <mass value="2.0"/>
      <origin rpy="0 0 0" xyz="0 0 0.5"/>
      <inertia izz="0.3" iyy="0.2" ixx="0.25" iyz="0" ixz="0" ixy="0"/>
    </inertial>
  </link>
  <joint type="revolute" name="hinge">
    <parent link="base"/><child link="tip"/>
    <limit velocity="1" upper="1" lower="-1" effort="5"/>
    <axis xyz="0 1 0"/>
    <drake:rotor_inertia value="0.01"/>
  </joint>
</robot>
<!-- the end -->
"""


def test_perturbed_robot_is_possible_and_off_by_what_was_asked() -> None:
    urdf = read_urdf("example-robot-data:talos_reduced")
    changed = perturbed_urdf(urdf, np.random.default_rng(3), mass_sigma=0.03, com_sigma=0.003)
    robot, other = RobotModel.from_urdf(urdf), RobotModel.from_urdf(changed)
    single = [j for j in range(2, robot.model.njoints) if robot.model.inertias[j].mass > 0.5]
    logs = [np.log(other.model.inertias[j].mass / robot.model.inertias[j].mass) for j in single]
    assert 0.01 < np.std(logs) < 0.06
    for inertia in other.model.inertias[1:]:
        assert not InertialParameters.from_pinocchio(inertia).violations()


def test_comments_namespaces_and_order_stay() -> None:
    """Only the numbers of the changed link differ from the input, tag by tag and attribute by attribute."""
    robot = RobotModel.from_urdf(COMMENTED, floating_base=False)
    written = urdf_with_mass(COMMENTED, robot, "tip", 3.0).replace(" />", "/>")
    changed = [
        (before, after)
        for before, after in zip(COMMENTED.splitlines(), written.splitlines(), strict=True)
        if before != after
    ]
    assert changed == [
        ('      <mass value="2.0"/>', '      <mass value="3"/>'),
        (
            '      <inertia izz="0.3" iyy="0.2" ixx="0.25" iyz="0" ixz="0" ixy="0"/>',
            '      <inertia izz="0.45" iyy="0.3" ixx="0.375" iyz="0" ixz="0" ixy="0"/>',
        ),
    ]


@pytest.mark.parametrize("origin", ['<origin rpy="0 0 0" xyz="0 0 0.5"/>', ""])
def test_parameters_of_a_link_are_those_that_pinocchio_reads(origin: str) -> None:
    text = COMMENTED.replace('<origin rpy="0 0 0" xyz="0 0 0.5"/>', origin)
    read = RobotModel.from_urdf(text).link_body("tip").nominal_J.toDynamicParameters()
    np.testing.assert_allclose(link_parameters(text)["tip"], read, atol=1e-12)


def test_a_load_is_a_link_of_its_own() -> None:
    load = InertialParameters(1.5, np.array([0.1, 0.0, 0.2]), 0.01 * np.eye(3))
    loaded = RobotModel.from_urdf(urdf_with_load(COMMENTED, "tip", "cup", load))
    (alone, both) = (robot.link_body("tip").nominal_J for robot in (RobotModel.from_urdf(COMMENTED), loaded))
    np.testing.assert_allclose(
        both.toDynamicParameters() - alone.toDynamicParameters(), load.vector, atol=1e-12
    )
    for at, name in (("nose", "cup"), ("tip", "base")):
        with pytest.raises(ModelError, match="link"):
            urdf_with_load(COMMENTED, at, name, load)
