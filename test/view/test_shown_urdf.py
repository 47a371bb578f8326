"""A description for the viewer: meshes that exist, collision shapes or bones in place of others."""

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.view.shown_urdf import shown_urdf

MESH = '<geometry><mesh filename="package://robot/{}"/></geometry>'


def shown_robot(visual: str, collision: str = "") -> str:
    shapes = f"<visual>{visual}</visual>" if visual else ""
    shapes += f"<collision>{collision}</collision>" if collision else ""
    box = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    links = link_xml("a", more=shapes), link_xml("b", more=box), link_xml("frame")
    return robot_xml(*links, joint_xml("jb", "a", "b", xyz="0.3 -0.2 0.4"), joint_xml("jframe", "b", "frame"))


def shapes_of(text: str, link: str) -> list[Element]:
    (found,) = [item for item in fromstring(text).findall("link") if item.get("name") == link]
    assert not found.findall("collision")
    return [visual for shape in found.findall("visual") for visual in shape.findall("geometry/*")]


def test_a_mesh_that_exists_is_found_and_a_missing_one_replaced_by_the_collision_shape(tmp_path) -> None:
    mesh = tmp_path / "robot" / "a.STL"
    text = shown_robot(MESH.format("a.STL"), '<geometry><sphere radius="0.1"/></geometry>')
    assert [shape.tag for shape in shapes_of(shown_urdf(text, [tmp_path], tmp_path), "a")] == ["sphere"]
    mesh.parent.mkdir()
    mesh.write_bytes(b"solid")
    (shape,) = shapes_of(shown_urdf(text, [tmp_path], tmp_path), "a")
    assert shape.get("filename") == str(mesh)


def test_a_link_without_its_mesh_is_a_bone_that_ends_at_the_next_joint(tmp_path: Path) -> None:
    text = shown_urdf(shown_robot(MESH.format("a.stl")), [], tmp_path)
    assert not shapes_of(text, "frame"), "what has no shape stays so"
    (bone,) = shapes_of(text, "a")
    origin = fromstring(text).find("link/visual/origin")
    assert origin is not None
    centre, rpy = (np.array(list(map(float, origin.get(name, "").split()))) for name in ("xyz", "rpy"))
    axis = rotation_from_roll_pitch_yaw(*rpy)[:, 2]
    end = np.array([0.3, -0.2, 0.4])
    np.testing.assert_allclose(centre + 0.5 * float(bone.get("length", "0")) * axis, end, atol=1e-5)
    np.testing.assert_allclose(centre - 0.5 * float(bone.get("length", "0")) * axis, np.zeros(3), atol=1e-5)


def test_a_robot_without_any_shape_is_bones(tmp_path: Path) -> None:
    bare = shown_urdf(robot_xml(*map(link_xml, "ab"), joint_xml("j", "a", "b", xyz="0 0 1")), [], tmp_path)
    assert [shape.tag for link in "ab" for shape in shapes_of(bare, link)] == ["cylinder", "sphere"]


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g">
<mesh><source id="s"><float_array id="a" count="12">0 0 0 2 0 0 2 1 0 0 1 0</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v">
<input semantic="POSITION" source="#s"/></vertices><polylist count="1"><input semantic="VERTEX" source="#v"
offset="0"/><vcount>4</vcount><p>0 1 2 3</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>"""


def test_polygons_of_a_collada_file_become_triangles(tmp_path: Path) -> None:
    pytest.importorskip("coal")
    (tmp_path / "a.dae").write_text(COLLADA)
    (shape,) = shapes_of(
        shown_urdf(shown_robot(MESH.format("a.dae").replace("robot/", "")), [tmp_path], tmp_path), "a"
    )
    data = Path(shape.get("filename", "")).read_bytes()
    count = int(np.frombuffer(data[80:84], dtype="<u4")[0])
    assert (count, len(data)) == (2, 84 + 2 * 50)
    corners = np.frombuffer(data[84:], dtype=[("f", "<f4", (4, 3)), ("a", "<u2")])["f"][:, 1:]
    assert corners.max(axis=(0, 1)) == pytest.approx([2.0, 1.0, 0.0])
