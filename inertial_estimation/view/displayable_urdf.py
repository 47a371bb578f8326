"""A robot description with the shapes that can be displayed: meshes that are found, else a skeleton."""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from inertial_estimation.errors import ModelError
from inertial_estimation.models.link_shapes import read_triangles
from inertial_estimation.models.urdf import numbers_of, numbers_text, parse_xml
from inertial_estimation.signals import Array

BONE_RADIUS = 0.015  # radius of a bone, and length of the shortest one [m]
TRANSLUCENT_WHITE = "1 1 1 0.6"  # so that centre of mass and payload are visible inside the robot
READ_AS_THEY_ARE = {".stl", ".obj", ".glb", ".gltf", ".dae"}  # formats that Rerun reads
POLYGONS = (
    b"<polylist",
    b"<polygons",
)  # elements of a .dae that Rerun 0.41 does not display: it reads triangles only


def displayable_urdf(text: str, folders: Sequence[Path], scratch: Path) -> str:
    """Return a URDF whose links have only shapes that exist, translucent.

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
    for colour in root.iter("color"):
        colour.set("rgba", " ".join([*colour.get("rgba", "1 1 1").split()[:3], TRANSLUCENT_WHITE.split()[3]]))
    links = root.findall("link")
    usable = [_usable(link, meshes) for link in links]
    for link, found in zip(links, usable, strict=True):
        declared = [*link.findall("visual"), *link.findall("collision")]
        for shape in declared:
            link.remove(shape)
        for shape in found:
            shape.tag = "visual"
            if shape.find("material") is None:
                _colour(shape)
        link.extend(found)
        if not found and (declared or not any(usable)):
            link.extend(_bones(root, link.get("name")))
    return tostring(root, encoding="unicode")


def _usable(link: Element, meshes: Callable[[str], Path | None]) -> list[Element]:
    """Return the usable visual shapes, else the collision shapes; paths of meshes become absolute."""
    for kind in ("visual", "collision"):
        found = []
        for shape in link.findall(kind):
            mesh = shape.find("geometry/mesh")
            file = None if mesh is None else meshes(mesh.get("filename", ""))
            if mesh is not None and file is not None:
                mesh.set("filename", str(file))
            if file is not None or (mesh is None and shape.find("geometry/*") is not None):
                found.append(shape)
        if found:
            return found
    return []


def _mesh_file(name: str, folders: Sequence[Path], scratch: Path) -> Path | None:
    """Return the absolute path of a file with the mesh that Rerun reads; None if there is none.

    Args:
        name: Name in the description: ``package://PACKAGE/FILE``, ``file://PATH`` or a path.
        folders: Folders in which ``package://`` and relative paths are searched.
        scratch: Folder for converted files.
    """
    inside = name.partition("://")[2] if "://" in name else name
    candidates = [Path(inside), *(folder / inside for folder in folders)]
    found = next((path for path in candidates if path.is_absolute() and path.is_file()), None)
    if found is None:
        return None
    kind = found.suffix.lower()
    polygons = kind == ".dae" and any(tag in found.read_bytes() for tag in POLYGONS)
    if kind in READ_AS_THEY_ARE and not polygons:
        return found
    try:
        triangles = read_triangles(found)
    except ModelError:
        return None
    file = scratch / f"{len(list(scratch.iterdir()))}.stl"
    file.write_bytes(_stl(triangles))
    return file


def _stl(triangles: Array) -> bytes:
    """Return a binary STL: an empty header, the number of triangles, and for each its normal and corners."""
    fields = [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")]
    records = np.zeros(len(triangles), dtype=fields)
    records["corners"] = triangles
    edges = triangles[:, 1:] - triangles[:, :1]
    records["normal"] = np.cross(edges[:, 0], edges[:, 1])
    return bytes(80) + len(triangles).to_bytes(4, "little") + bytes(records)


def _colour(shape: Element, rgba: str = TRANSLUCENT_WHITE) -> None:
    SubElement(SubElement(shape, "material", {"name": f"colour {rgba}"}), "color", {"rgba": rgba})


def _bones(root: Element, link: str | None) -> list[Element]:
    """Return cylinders from the origin of a link to those of its child joints; a ball if it has none."""
    bones = []
    for joint in root.findall("joint"):
        parent, origin = joint.find("parent"), joint.find("origin")
        x, y, z = end = numbers_of(origin, "xyz")
        length = math.hypot(x, y, z)
        if parent is not None and parent.get("link") == link and length > BONE_RADIUS:
            size = {"radius": f"{BONE_RADIUS:g}", "length": f"{length:g}"}
            rpy = (0.0, math.atan2(math.hypot(x, y), z), math.atan2(y, x))  # turn z onto the end
            bones.append(_bone("cylinder", [0.5 * number for number in end], rpy, size))
    return bones or [_bone("sphere", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), {"radius": f"{BONE_RADIUS:g}"})]


def _bone(shape: str, xyz: Sequence[float], rpy: Sequence[float], size: dict[str, str]) -> Element:
    bone = Element("visual")
    SubElement(bone, "origin", {"xyz": numbers_text(xyz), "rpy": numbers_text(rpy)})
    SubElement(SubElement(bone, "geometry"), shape, size)
    _colour(bone, "0.55 0.6 0.68 1")
    return bone
