"""What the viewer gets: a recording read back, and a description whose meshes exist or are replaced."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest
from rerun.chunk import RrdReader
from support.leg_robot import NAMES, URDF
from support.urdf import joint_xml, link_xml, robot_xml

import inertial_estimation as ie
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.payload.estimate import PayloadEstimate, Phase
from inertial_estimation.recordings.truth_file import InertiaStep, TrueInertias
from inertial_estimation.replay.reference import ReferenceErrors
from inertial_estimation.signals import ContactLoad, Decision
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.view.displayable_urdf import displayable_urdf
from inertial_estimation.view.moments import Moments
from inertial_estimation.view.robot_view import rerun_file, write_view

Columns = Mapping[str, Mapping[str, np.ndarray]]
ORIGIN_NS, PERIOD_NS, STEPS = 5_000_000_000, 2_000_000, 1000
PITCH, TRUE_PITCH = 0.10, 0.08  # [rad]
PAYLOAD, SIGMA = 1.5, 0.2  # [kg]
LOAD = ContactLoad("left", (0.02, 0.1, -0.95), (0.0, 0.0, 120.0), 1.0)


def pitched(angle: float) -> np.ndarray:
    return np.array([0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)])


def base_at(stamp_ns: int, contacts: tuple[str, ...]) -> ie.BaseEstimate:
    state = ie.BaseState(stamp_ns, pitched(PITCH), (0.1, 0.2, 1.0), np.zeros(3), np.zeros(3))
    up = np.array([-math.sin(PITCH), 0.0, math.cos(PITCH)])
    return ie.BaseEstimate(state, up, np.zeros(3), contacts, np.zeros(3), True, False, 1e-4 * np.eye(3) / 3)


def inertial_at(stamp_ns: int, nis: float, sigma: float = SIGMA) -> ie.InertialEstimate:
    value, load = (
        ie.LinkInertia("arm", mass, np.array([0.0, 0.0, 0.1]), 0.1 * np.eye(3)) for mass in (3.5, PAYLOAD)
    )
    link = ie.LinkEstimate(value, value, load, np.diag(np.full(10, sigma**2)))
    return ie.InertialEstimate(
        stamp_ns, (link,), (), np.zeros(0), nis, 20.0, True, Decision.ACCEPTED, np.zeros(0), 0
    )


def new_moments(**given: Any) -> Moments:
    return Moments(ie.RobotModel.from_urdf(URDF), RobotConfig(), **given)


def write(path: Path, moments: Moments, *truth: Any) -> None:
    write_view(path, ie.RobotModel.from_urdf(URDF), URDF, ORIGIN_NS, moments.found, *truth)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("view") / "legs.rrd"
    true_up = np.array([-math.sin(TRUE_PITCH), 0.0, math.cos(TRUE_PITCH)])
    body = ie.LinkInertia("arm", 4.0, np.zeros(3), 0.1 * np.eye(3))
    moments, stamps_ns = new_moments(contact_loads=lambda: (LOAD,)), ORIGIN_NS + PERIOD_NS * np.arange(STEPS)
    for step, stamp_ns in enumerate(stamps_ns.tolist()):
        contacts = ("left", "right") if step < 500 else ("left",)
        moments.push_joints(ie.JointReading(stamp_ns, NAMES, np.full(len(NAMES), 1e-3 * step)))
        estimates = [inertial_at(stamp_ns, 90.0 * (step == 601))]
        moments.push_estimates([base_at(stamp_ns, contacts)], estimates, [])
    up_B, angles = np.tile(true_up, (STEPS, 1)), np.full(STEPS, PITCH - TRUE_PITCH)
    errors = ReferenceErrors(stamps_ns, np.ones(STEPS, dtype=bool), up_B, angles)
    write(path, moments, errors, TrueInertias({"arm": (InertiaStep(0.0, body),)}))
    return path


@pytest.fixture(scope="module")
def columns(file: Path) -> Columns:
    """All values that change over time: by entity, then by name of the component."""
    found: dict[str, dict[str, list[object]]] = {}
    for chunk in RrdReader(file).stream():
        if chunk.is_static:
            continue
        batch = chunk.to_record_batch()
        names = batch.schema.names
        for name, values in zip(names, batch.columns, strict=True):
            found.setdefault(chunk.entity_path, {}).setdefault(name, []).extend(values.to_pylist())
    return {entity: {n: np.array(v, dtype=object) for n, v in c.items()} for entity, c in found.items()}


def scalars(columns: Columns, entity: str) -> np.ndarray:
    return np.array([row[0] for row in columns[entity]["Scalars:scalars"]])


def test_everything_that_moves_is_there(columns: Columns) -> None:
    joints = {f"/robot/joints/{name}" for name in NAMES}
    drawn = {"gravity/estimated", "gravity/true", "forces/left", "links/arm/payload"}
    drawn |= {"centre_of_mass/nominal", "centre_of_mass/estimated", "links/arm/centre_of_mass"}
    assert joints | {f"/robot/{name}" for name in drawn} | {"/robot/base"} <= set(columns)


def test_there_is_a_layout_and_every_body_has_a_shape(file: Path) -> None:
    reader = RrdReader(file)
    assert len(reader.blueprints()) == 1
    shapes = {path for path in reader.store().schema().entity_paths() if "visual_geometries" in path}
    links = {path.split("/")[-2] for path in shapes}
    assert {"base", "torso", "arm", "left_thigh", "right_foot"} <= links


def test_series_hold_the_estimates_their_bands_and_the_truth(columns: Columns) -> None:
    last = {
        name: scalars(columns, f"/series/{name}")[-1]
        for name in ("tilt/pitch", "tilt/pitch\\,\\ true", "tilt_error/error", "force/left")
    }
    assert last["tilt/pitch"] == pytest.approx(math.degrees(PITCH))
    assert last["tilt/pitch\\,\\ true"] == pytest.approx(math.degrees(TRUE_PITCH))
    assert last["tilt_error/error"] == pytest.approx(math.degrees(PITCH - TRUE_PITCH))
    assert last["force/left"] == pytest.approx(120.0 * math.cos(PITCH))
    payload = [
        scalars(columns, f"/series/payload/arm{end}")[-1]
        for end in ("", "\\,\\ upper", "\\,\\ lower", "\\,\\ true")
    ]
    # the described mass is 3.5 - 1.5 kg, the true one 4 kg
    assert payload == pytest.approx([PAYLOAD, PAYLOAD + 2 * SIGMA, PAYLOAD - 2 * SIGMA, 2.0])


def test_moments_are_thinned_but_not_a_single_large_nis(columns: Columns) -> None:
    times = columns["/robot/base"]["time"]
    assert 55 <= len(times) <= 61  # two seconds at 30 per second
    assert times[-1].total_seconds() == pytest.approx(STEPS * PERIOD_NS * 1e-9, abs=0.04)
    assert (scalars(columns, "/series/nis/NIS") == 90.0).sum() == 1


def test_gravity_of_estimate_and_truth_are_apart_by_the_error(columns: Columns) -> None:
    estimated, true = (
        np.array(columns[f"/robot/gravity/{name}"]["Arrows3D:vectors"][-1][0])
        for name in ("estimated", "true")
    )
    cosine = estimated @ true / np.linalg.norm(estimated) / np.linalg.norm(true)
    assert math.acos(cosine) == pytest.approx(PITCH - TRUE_PITCH, rel=1e-3)


def test_after_an_error_no_file_is_left(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), rerun_file(tmp_path / "broken.rrd", "broken"):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("sigma", "shown"), [(math.inf, PAYLOAD), (0.1, 2.5)])
def test_a_trunk_replaces_the_filters_estimate_once_it_is_identified(
    tmp_path: Path, sigma: float, shown: float
) -> None:
    own, load = (ie.LinkInertia("arm", mass, np.zeros(3), 0.1 * np.eye(3)) for mass in (4.5, 2.5))
    state = (Phase.WATCHING, "static_poses", True, sigma, np.full(3, sigma), 0.0, False, False)
    moments = new_moments()
    trunk = PayloadEstimate(ORIGIN_NS, own, own, load, *state)
    moments.push_estimates([], [inertial_at(ORIGIN_NS, 1.0)], [trunk])
    moments.push_joints(ie.JointReading(ORIGIN_NS, NAMES, np.zeros(len(NAMES))))
    (moment,) = moments.found
    assert [link.payload.mass for link in moment.links] == [shown]


@pytest.mark.filterwarnings("error")
def test_a_body_that_was_never_measured_is_drawn_without_a_warning(tmp_path: Path) -> None:
    moments = new_moments()
    moments.push_estimates([], [inertial_at(ORIGIN_NS, 1.0, math.inf)], [])
    moments.push_joints(ie.JointReading(ORIGIN_NS, NAMES, np.zeros(len(NAMES))))
    write(tmp_path / "legs.rrd", moments)
    assert (tmp_path / "legs.rrd").is_file()


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
    assert [shape.tag for shape in shapes_of(displayable_urdf(text, [tmp_path], tmp_path), "a")] == ["sphere"]
    mesh.parent.mkdir()
    mesh.write_bytes(b"solid")
    (shape,) = shapes_of(displayable_urdf(text, [tmp_path], tmp_path), "a")
    assert shape.get("filename") == str(mesh)


def test_a_link_without_its_mesh_is_a_bone_that_ends_at_the_next_joint(tmp_path: Path) -> None:
    text = displayable_urdf(shown_robot(MESH.format("a.stl")), [], tmp_path)
    assert not shapes_of(text, "frame"), "what has no shape stays so"
    (bone,) = shapes_of(text, "a")
    origin = fromstring(text).find("link/visual/origin")
    centre, rpy = (np.array(list(map(float, origin.get(name, "").split()))) for name in ("xyz", "rpy"))
    axis = rotation_from_roll_pitch_yaw(*rpy)[:, 2]
    end = np.array([0.3, -0.2, 0.4])
    np.testing.assert_allclose(centre + 0.5 * float(bone.get("length", "0")) * axis, end, atol=1e-5)
    np.testing.assert_allclose(centre - 0.5 * float(bone.get("length", "0")) * axis, np.zeros(3), atol=1e-5)


def test_a_robot_without_any_shape_is_bones(tmp_path: Path) -> None:
    text = robot_xml(*map(link_xml, "ab"), joint_xml("j", "a", "b", xyz="0 0 1"))
    bare = displayable_urdf(text, [], tmp_path)
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
        displayable_urdf(shown_robot(MESH.format("a.dae").replace("robot/", "")), [tmp_path], tmp_path), "a"
    )
    data = Path(shape.get("filename", "")).read_bytes()
    count = int(np.frombuffer(data[80:84], dtype="<u4")[0])
    assert (count, len(data)) == (2, 84 + 2 * 50)
    corners = np.frombuffer(data[84:], dtype=[("f", "<f4", (4, 3)), ("a", "<u2")])["f"][:, 1:]
    assert corners.max(axis=(0, 1)) == pytest.approx([2.0, 1.0, 0.0])
