"""Mesh files as the viewer can read them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inertial_estimation.errors import ModelError
from inertial_estimation.models.mesh_file import read_triangles
from inertial_estimation.signals import Array

READ_AS_THEY_ARE = {".stl", ".obj", ".glb", ".gltf"}  # by Rerun
COLLADA = ".dae"
POLYGONS = (b"<polylist", b"<polygons")  # of which Rerun 0.41 shows nothing: it reads triangles alone
STL_HEADER = 80  # bytes


class ShownMeshes:
    """Finds the mesh files of a description and converts those that Rerun does not read."""

    def __init__(self, folders: Sequence[Path], scratch: Path) -> None:
        """Start without meshes.

        Args:
            folders: Folders in which ``package://`` and relative paths are searched.
            scratch: Folder for converted files.
        """
        self._folders, self._scratch = folders, scratch
        self._found: dict[str, Path | None] = {}

    def find(self, name: str) -> Path | None:
        """Return the absolute path of a file with the mesh of this name; None if there is none.

        Args:
            name: As in the description: ``package://PACKAGE/FILE``, ``file://PATH`` or a path.
        """
        if name not in self._found:
            self._found[name] = self._look_for(name)
        return self._found[name]

    def _look_for(self, name: str) -> Path | None:
        inside = name.partition("://")[2] if "://" in name else name
        candidates = [Path(inside), *(folder / inside for folder in self._folders)]
        found = [path for path in candidates if path.is_absolute() and path.is_file()]
        if not found:
            return None
        kind = found[0].suffix.lower()
        if kind in READ_AS_THEY_ARE:
            return found[0]
        if kind == COLLADA and not any(tag in found[0].read_bytes() for tag in POLYGONS):
            return found[0]
        return self._converted(found[0])

    def _converted(self, path: Path) -> Path | None:
        try:
            triangles = read_triangles(path)
        except ModelError:
            return None
        file = self._scratch / f"{len(self._found)}.stl"
        file.write_bytes(_stl(triangles))
        return file


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
