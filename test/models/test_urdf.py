"""Impossible robots are refused with the name of the link or joint; manufacturers' files are accepted."""

import re

import pytest

from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.errors import InconsistentInertiaError, ModelError
from inertial_estimation.models.bodies import BodyReference, check_priors
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf import check_urdf, urdf_warnings

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="9" velocity="3"/>'


def link(name: str) -> str:
    return f'<link name="{name}">{INERTIAL}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0 0 1"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 1 0"/>{LIMIT}</joint>'
    )


def robot(*parts: str) -> str:
    return f"<robot name='r'>{''.join(parts)}</robot>"


GOOD = robot(link("base"), link("arm"), joint("elbow", "base", "arm"))
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
    "same links": (robot(link("a"), link("a")), "several links are named 'a'"),
    "same joints": (
        robot(*map(link, "abc"), joint("j", "a", "b"), joint("j", "a", "c")),
        "several joints are named 'j'",
    ),
    "circle": (
        robot(*map(link, "abc"), joint("j", "b", "c"), joint("k", "c", "b")),
        "the joints at link 'b' make a circle",
    ),
    "two roots": (robot(link("a"), link("b")), r"2 root links \(a, b\)"),
    "two parents": (
        robot(*map(link, "abc"), joint("j", "a", "c"), joint("k", "b", "c")),
        "link 'c' is the child of several joints",
    ),
    "unknown child": (robot(link("a"), joint("j", "a", "b")), "the child of joint 'j' is link 'b', which"),
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
