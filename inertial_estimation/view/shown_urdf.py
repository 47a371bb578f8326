"""A robot description with the shapes that can be shown: meshes that are found, else a skeleton."""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from inertial_estimation.errors import ModelError
from inertial_estimation.models.link_shapes import read_triangles
from inertial_estimation.models.urdf import parse_xml
from inertial_estimation.signals import Array

BONE_RADIUS, BONE_SHARE = 0.015, 0.12  # largest radius of a bone [m]; largest radius over its length
SHORTEST_BONE = 1e-3  # [m]
BONE_COLOUR, WHITE = "0.55 0.6 0.68 1", "1 1 1 1"
OPACITY = 0.6  # of the links
READ_AS_THEY_ARE = {".stl", ".obj", ".glb", ".gltf"}  # by Rerun
COLLADA = ".dae"
POLYGONS = (b"<polylist", b"<polygons")  # of which Rerun 0.41 shows nothing: it reads triangles alone
STL_HEADER = 80  # bytes
Meshes = Callable[[str], Path | None]  # the file of a mesh by its name in the description


def _mesh_file(name: str, folders: Sequence[Path], scratch: Path) -> Path | None:
    """Return the absolute path of a file that Rerun reads with the mesh of a name; None if there is none.

    Args:
        name: As in the description: ``package://PACKAGE/FILE``, ``file://PATH`` or a path.
        folders: Folders in which ``package://`` and relative paths are searched.
        scratch: Folder for converted files.
    """
    inside = name.partition("://")[2] if "://" in name else name
    candidates = [Path(inside), *(folder / inside for folder in folders)]
    found = [path for path in candidates if path.is_absolute() and path.is_file()]
    if not found:
        return None
    kind = found[0].suffix.lower()
    collada = kind == COLLADA and not any(tag in found[0].read_bytes() for tag in POLYGONS)
    if kind in READ_AS_THEY_ARE or collada:
        return found[0]
    try:
        triangles = read_triangles(found[0])
    except ModelError:
        return None
    file = scratch / f"{len(list(scratch.iterdir()))}.stl"
    file.write_bytes(_stl(triangles))
    return file


def shown_urdf(text: str, folders: Sequence[Path], scratch: Path) -> str:
    """Return a URDF whose links have only shapes that exist.

    Paths of meshes become absolute. A link without a usable visual shape shows its collision shapes. A link
    whose meshes are missing, and every link of a robot without any shape, gets bones: cylinders from its
    origin to those of its child joints.

    Args:
        text: The URDF.
        folders: Folders in which ``package://`` and relative paths are searched.
        scratch: Folder for meshes of formats that Rerun does not read, which are converted.

    Raises:
        ~inertial_estimation.errors.ModelError: If the text is not XML.
    """
    root = parse_xml(text, "the robot description")
    meshes = cache(partial(_mesh_file, folders=folders, scratch=scratch))
    links = root.findall("link")
    declared = {link.get("name"): _shapes(link) for link in links}
    usable = {name: _usable(shapes, meshes) for name, shapes in declared.items()}
    shapeless = not any(usable.values())
    colours = _colours(root)
    for link in links:
        name = link.get("name")
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
        link.extend(usable[name])
        for shape in usable[name]:
            _make_translucent(shape, colours)
        if not usable[name] and (declared[name] or shapeless):
            link.extend(_bones(root, name))
    return tostring(root, encoding="unicode")


def _shapes(link: Element) -> list[list[Element]]:
    """Visual shapes, then collision shapes, of which the first usable kind is shown."""
    return [shapes for kind in ("visual", "collision") if (shapes := link.findall(kind))]


def _usable(kinds: list[list[Element]], meshes: Meshes) -> list[Element]:
    for shapes in kinds:
        found = [shape for shape in shapes if _locate(shape, meshes)]
        if found:
            for shape in found:
                shape.tag = "visual"
            return found
    return []


def _locate(shape: Element, meshes: Meshes) -> bool:
    """Make the path of a mesh absolute; return whether the shape can be shown."""
    geometry = shape.find("geometry")
    if geometry is None or len(geometry) == 0:
        return False
    mesh = geometry.find("mesh")
    if mesh is None:
        return True
    file = meshes(mesh.get("filename", ""))
    if file is not None:
        mesh.set("filename", str(file))
    return file is not None


def _colours(root: Element) -> dict[str | None, str]:
    """Colours of the materials that are declared once for all links."""
    materials = {material.get("name"): material.find("color") for material in root.findall("material")}
    return {name: colour.get("rgba", WHITE) for name, colour in materials.items() if colour is not None}


def _make_translucent(shape: Element, colours: dict[str | None, str]) -> None:
    """Let what is drawn inside the robot be seen: its centre of mass, a payload in its hand."""
    material = shape.find("material")
    rgba = WHITE
    if material is not None:
        colour = material.find("color")
        rgba = colours.get(material.get("name"), WHITE) if colour is None else colour.get("rgba", WHITE)
        shape.remove(material)
    red, green, blue = rgba.split()[:3]
    SubElement(
        SubElement(shape, "material", {"name": rgba}), "color", {"rgba": f"{red} {green} {blue} {OPACITY}"}
    )


def _bones(root: Element, link: str | None) -> list[Element]:
    """Cylinders from the origin of a link to those of its child joints, which make a skeleton of the robot.

    Frames at the end of a body (skin sensors, soles) would be a bush of bones: the farthest one is shown
    where nothing else follows. A ball is at the end of a chain, and nothing at such a frame itself.
    """
    joints = root.findall("joint")
    parents = {_link_of(joint, "parent") for joint in joints}
    children = [joint for joint in joints if _link_of(joint, "parent") == link]
    onwards = [joint for joint in children if _moves(joint) or _link_of(joint, "child") in parents]
    ends = [end for end in map(_origin, onwards) if math.hypot(*end) > SHORTEST_BONE]
    if ends:
        return [_bone(end) for end in ends]
    farthest = max(map(_origin, children), key=lambda end: math.hypot(*end), default=(0.0, 0.0, 0.0))
    if math.hypot(*farthest) > SHORTEST_BONE:
        return [_bone(farthest)]
    if not any(_moves(joint) for joint in joints if _link_of(joint, "child") == link):
        return []
    return [_visual({"xyz": "0 0 0"}, "sphere", radius=f"{BONE_RADIUS:g}")]


def _bone(end: tuple[float, float, float]) -> Element:
    """A cylinder from the origin: its z axis turned by yaw and pitch onto the end."""
    x, y, z = end
    length = math.hypot(x, y, z)
    pitch, yaw = math.atan2(math.hypot(x, y), z), math.atan2(y, x)
    place = {"xyz": f"{x / 2} {y / 2} {z / 2}", "rpy": f"0 {pitch} {yaw}"}
    radius = min(BONE_RADIUS, BONE_SHARE * length)
    return _visual(place, "cylinder", radius=f"{radius:g}", length=f"{length:g}")


def _visual(place: dict[str, str], shape: str, **size: str) -> Element:
    visual = Element("visual")
    SubElement(visual, "origin", place)
    SubElement(SubElement(visual, "geometry"), shape, size)
    SubElement(SubElement(visual, "material", {"name": "bone"}), "color", {"rgba": BONE_COLOUR})
    return visual


def _moves(joint: Element) -> bool:
    return joint.get("type") != "fixed"


def _link_of(joint: Element, end: str) -> str | None:
    """Name of the parent or the child of a joint."""
    found = joint.find(end)
    return None if found is None else found.get("link")


def _origin(joint: Element) -> tuple[float, float, float]:
    origin = joint.find("origin")
    x, y, z = map(float, (origin.get("xyz", "0 0 0") if origin is not None else "0 0 0").split())
    return x, y, z


def _stl(triangles: Array) -> bytes:
    """Binary STL: an empty header, the number of triangles, and for each its normal and corners."""
    records = np.zeros(
        len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")]
    )
    records["corners"] = triangles
    edges = triangles[:, 1:] - triangles[:, :1]
    records["normal"] = np.cross(edges[:, 0], edges[:, 1])
    count = len(triangles).to_bytes(4, "little")
    return bytes(STL_HEADER) + count + bytes(records)
