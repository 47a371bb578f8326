"""A description for the viewer: meshes that exist, collision shapes or bones in place of others."""

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest

pytest.importorskip("rerun")

from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.view.shown_urdf import shown_urdf

MESH = '<geometry><mesh filename="package://robot/{}"/></geometry>'
JOINT = (
    '<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{0}"/><origin xyz="{2}"/>'
    '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
)


def robot(visual: str, collision: str = "") -> str:
    shapes = f"<visual>{visual}</visual>" if visual else ""
    shapes += f"<collision>{collision}</collision>" if collision else ""
    other = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    return (
        f'<robot name="r"><link name="a">{shapes}</link><link name="b">{other}</link><link name="frame"/>'
        f"{JOINT.format('b', 'a', '0.3 -0.2 0.4')}{JOINT.format('frame', 'b', '0 0 0')}</robot>"
    )


def shapes_of(text: str, link: str) -> list[Element]:
    (found,) = [item for item in fromstring(text).findall("link") if item.get("name") == link]
    assert not found.findall("collision")
    return [visual for shape in found.findall("visual") for visual in shape.findall("geometry/*")]


def test_a_mesh_that_exists_is_found(tmp_path: Path) -> None:
    mesh = tmp_path / "robot" / "a.STL"
    mesh.parent.mkdir()
    mesh.write_bytes(b"solid")
    (shape,) = shapes_of(shown_urdf(robot(MESH.format("a.STL")), [tmp_path]), "a")
    assert shape.get("filename") == str(mesh)


def test_a_missing_mesh_is_replaced_by_the_collision_shape() -> None:
    text = robot(MESH.format("a.stl"), '<geometry><sphere radius="0.1"/></geometry>')
    assert [shape.tag for shape in shapes_of(shown_urdf(text, []), "a")] == ["sphere"]


def test_a_link_without_its_mesh_is_a_bone_that_ends_at_the_next_joint() -> None:
    text = shown_urdf(robot(MESH.format("a.stl")), [])
    (bone,) = shapes_of(text, "a")
    origin = fromstring(text).find("link/visual/origin")
    assert origin is not None
    centre, rpy = (np.array(list(map(float, origin.get(name, "").split()))) for name in ("xyz", "rpy"))
    axis = rotation_from_roll_pitch_yaw(*rpy)[:, 2]
    end = np.array([0.3, -0.2, 0.4])
    np.testing.assert_allclose(centre + 0.5 * float(bone.get("length", "0")) * axis, end, atol=1e-5)
    np.testing.assert_allclose(centre - 0.5 * float(bone.get("length", "0")) * axis, np.zeros(3), atol=1e-5)


def test_a_frame_without_a_shape_stays_so_unless_the_robot_has_none() -> None:
    assert not shapes_of(shown_urdf(robot(MESH.format("a.stl")), []), "frame")
    bare = '<robot name="r"><link name="a"/><link name="b"/>' + JOINT.format("b", "a", "0 0 1") + "</robot>"
    assert [shape.tag for shape in shapes_of(shown_urdf(bare, []), "a")] == ["cylinder"]
    assert [shape.tag for shape in shapes_of(shown_urdf(bare, []), "b")] == ["sphere"]
