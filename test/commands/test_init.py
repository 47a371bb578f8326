"""`init`: options that overrule, files that are never lost, and strange descriptions."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.commands.main import main
from inertial_estimation.configuration.config_file import load_config_file

LEGS = {"lf": (0.2, 0.12), "rf": (0.2, -0.12), "lh": (-0.2, 0.12), "rh": (-0.2, -0.12)}


def quadruped(*, sensors: bool = False) -> str:
    """A quadruped of 14 kg whose feet are balls of 2 cm at the ends of the shanks, without links there.

    With sensors, each shank ends in a force sensor.
    """
    ball = '<collision><origin xyz="0 0 -0.25"/><geometry><sphere radius="0.02"/></geometry></collision>'
    limit, parts = (-2.5, 2.5, 60, 10), [link_xml("body", 10)]
    for leg, (x, y) in LEGS.items():
        hip, thigh, shank = (f"{leg}_{part}" for part in ("hip", "thigh", "shank"))
        masses = {hip: 0.5, thigh: 0.4, shank: 0.1}
        parts += [
            link_xml(name, m, moments=3 * [0.01 * m], more=ball * (m < 0.2)) for name, m in masses.items()
        ]
        parts.append(joint_xml(f"{leg}_roll", "body", hip, "1 0 0", f"{x} {y} 0", limit=limit))
        parts.append(joint_xml(f"{leg}_pitch", hip, thigh, limit=limit))
        parts.append(joint_xml(f"{leg}_knee", thigh, shank, xyz="0 0 -0.25", limit=limit))
        if sensors:
            ends = shank, f"{leg}_force_sensor"
            parts += [link_xml(ends[1]), joint_xml(f"{leg}_mount", *ends, xyz="0 0 -0.25", kind="fixed")]
    return robot_xml(*parts, name="four")


def init(path: Path, *options: str) -> int:
    return main(["init", str(path), *options])


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "four.urdf"
    path.write_text(quadruped())
    return path


def test_file_stands_in_simulation_and_is_not_replaced_silently(urdf: Path, ran) -> None:
    output = urdf.with_suffix(".yaml")
    said = ran("init", urdf, "--output", output).out
    assert "in simulation the robot keeps its stance" in said
    assert "quadruped: 4 limbs named like legs" in said
    before = output.read_text()
    refusal = ran("init", urdf, "--output", output, code=1).err
    assert "exists: name another file, or replace it with --overwrite" in refusal
    assert output.read_text() == before


def test_options_overrule_what_was_found(urdf: Path) -> None:
    output = urdf.with_suffix(".yaml")
    given_options = ["--imu", "lf_hip", "--links", "body,lf_shank", "--lock", "*_roll", "--no-trial"]
    assert init(urdf, "--output", str(output), *given_options) == 0
    config = load_config_file(output)
    assert config.shared["imu_frame"] == "lf_hip"
    assert config.nodes["inertial_ekf"]["links"] == ["body", "lf_shank"]
    assert set(config.shared["locked_joints"]) == {f"{leg}_roll" for leg in LEGS}
    assert init(urdf, "--output", str(output), "--overwrite", "--kind", "arm", "--no-trial") == 0
    assert load_config_file(output).shared["floating_base"] is False


@pytest.mark.parametrize(("sensors", "source"), [(True, None), (False, "joint_torques")])
def test_contact_forces_come_from_torques_where_no_foot_has_a_sensor(urdf: Path, ran, sensors, source):
    urdf.write_text(quadruped(sensors=sensors))
    said = ran("init", urdf, "--output", urdf.with_suffix(".yaml"), "--no-trial").out
    contact = load_config_file(urdf.with_suffix(".yaml")).nodes["tilt_observer"]
    assert contact.get("contact.source") == source
    forces = "has no force sensor in every foot: contact forces come from the"
    assert ("lf_force_sensor" if sensors else forces) in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--imu", "imu"], "no frame 'imu'"),
        (["--soles", "a,b"], "--soles has 2 frames, expected one for each of 4 legs"),
        (["--soles", "body,body,body,body"], "'body' is no contact frame of the leg that ends"),
        (["--kind", "humanoid", "--lock", "*"], "every joint is locked"),
        (["--output", "robot.txt"], "expected a path that ends in '.yaml'"),
    ],
)
def test_errors_are_one_line(urdf: Path, options: list[str], message: str, ran) -> None:
    *steps, said = ran("init", urdf, "--no-trial", *options, code=1).err.splitlines()
    assert message in said
    assert all(line.startswith("init: ") for line in steps)


MUTATIONS = (
    ("<collision>.*?</collision>", ""),
    ('<limit [^>]*effort="60"', '<limit lower="-2.5" upper="2.5" effort="0"'),
    ('type="revolute"', 'type="continuous"'),
    ("<inertial>.*?</inertial>", ""),
    ('mass value="0.1"', 'mass value="0"'),
    ("lf_", "lf_wheel_"),
    ("lf_knee", "body"),
    ('upper="2.5"', 'upper="-2.5"'),
    ('lower="-2.5"', 'lower="0.5"'),
    ("<sphere[^>]*>", '<mesh filename="package://nowhere/foot.stl"/>'),
    ("<axis[^>]*>", '<mimic joint="rh_knee"/>'),
    ("0.12", "0.3"),
    ('type="revolute"', 'type="floating"'),
    ("_roll", "_finger"),
    ('<robot name="four">', '<robot name="four"><link name="world"/><joint name="w" type="fixed">'
     '<parent link="world"/><child link="body"/></joint>'),
)  # fmt: skip


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(MUTATIONS) - 1), st.integers(0, 12)), min_size=1, max_size=4
    )
)
def test_odd_description_gives_a_readable_file_or_one_line(changes, tmp_path: Path, capsys) -> None:
    text = quadruped()
    for index, count in changes:
        text = re.sub(*MUTATIONS[index], text, count=count)  # 0: all of them
    path, output = tmp_path / "odd.urdf", tmp_path / "odd.yaml"
    path.write_text(text)
    output.unlink(missing_ok=True)
    code = init(path, "--no-trial", "--output", str(output))
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("init: ")]
    assert code in (0, 1)
    assert output.is_file() == (code == 0)
    assert len(said) == code, said
    if code == 0:
        assert load_config_file(output).has("inertial_ekf")


def test_meshes_are_found_in_a_clone_that_has_not_the_name_of_its_package(tmp_path, ran) -> None:
    sphere, mesh = '<sphere radius="0.02"/>', '<mesh filename="package://four_description/meshes/foot.stl"/>'
    file = tmp_path / "clone" / "urdf" / "four.urdf"
    foot = tmp_path / "clone" / "meshes" / "foot.stl"
    for path in (file, foot):
        path.parent.mkdir(parents=True)
    file.write_text(quadruped().replace(sphere, mesh))
    corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in ((0, 0, -0.03), (0.02, 0, 0), (0, 0.02, 0)))
    foot.write_text(
        f"solid foot\nfacet normal 0 0 1\nouter loop\n{corners}endloop\nendfacet\nendsolid foot\n"
    )
    said = ran("init", file, "--no-trial").out
    assert "lowest point of the collision shapes" in said
    assert "-0.280" in said
    foot.unlink()
    assert "CHECK:     the feet have no readable shapes" in ran("init", file, "--no-trial").out
