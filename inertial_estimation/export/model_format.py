"""The formats of an exported robot, each of them written from the estimated description."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from inertial_estimation.errors import (
    ConfigurationError,
    MissingDependencyError,
    ModelError,
    listing,
    one_line,
)
from inertial_estimation.export.sdf import sdf_from_urdf, sdf_links, sdf_mass, sdf_with_inertias
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.urdf import XmlDocument, numbers_of, numbers_text, set_child
from inertial_estimation.models.urdf_inertia import LEAST_MASS, FusedLinks, urdf_for_simulators
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

ROTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")  # of the axes of the inertia
_UPPER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # order of MJCF's fullinertia


def mjcf_from_urdf(urdf: str, *, floating_base: bool) -> str:
    """Convert a URDF by MuJoCo: a body for every link, primitive collision shapes, no meshes.

    Args:
        urdf: XML text; every link that moves, and the root, has a mass.
        floating_base: Whether the root moves freely.

    Returns:
        MJCF.

    Raises:
        MissingDependencyError: If MuJoCo is not installed.
        ModelError: If MuJoCo refuses the description.
    """
    mujoco = _mujoco()
    try:
        spec = mujoco.MjSpec.from_string(_for_mujoco(urdf))
        if floating_base:
            spec.worldbody.first_body().add_freejoint()
        spec.compile()
        return str(spec.to_xml())
    except ValueError as error:
        raise ModelError(f"MuJoCo cannot convert the description: {one_line(error)}") from error


def mjcf_bodies(mjcf: str) -> dict[str, Element]:
    """Return the named bodies of a model; those of files that it includes are not seen."""
    return XmlDocument.parsed(mjcf, "the MJCF").named("body")


def mjcf_with_inertias(mjcf: str, inertias: Mapping[str, InertialParameters]) -> str:
    """Return a model in which bodies have other inertias.

    Args:
        mjcf: XML text.
        inertias: Inertia about the body's frame, by body.

    Raises:
        ModelError: If there is no such body.
    """
    document = XmlDocument.parsed(mjcf, "the MJCF")
    bodies = document.named("body")
    for name, inertia in inertias.items():
        if name not in bodies:
            raise ModelError(f"no body '{name}' in the MJCF")
        values = {
            "pos": numbers_text(inertia.com_F),
            "mass": numbers_text([inertia.mass]),
            "fullinertia": numbers_text(inertia.inertia_Fcm[ij] for ij in _UPPER),
        }
        element = set_child(bodies[name], "inertial", values)
        for other in (*ROTATIONS, "diaginertia"):
            element.attrib.pop(other, None)
    return document.text()


def mjcf_mass(body: Element) -> tuple[float, Array] | None:
    """Return mass [kg] and centre of mass [m] of a body; None where they follow from its shapes."""
    inertial = body.find("inertial")
    mass = None if inertial is None else inertial.get("mass")
    return None if mass is None else (float(mass), np.array(numbers_of(inertial, "pos")))


def _for_mujoco(urdf: str) -> str:
    """Take away what MuJoCo would look for in files, and keep every link a body of its own."""
    document = XmlDocument.parsed(urdf, "the URDF", comments=False)
    for link in document.root.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            geometry = shape.find("geometry")
            if shape.tag == "visual" or geometry is None or geometry.find("mesh") is not None:
                link.remove(shape)
    for other in document.root.findall("mujoco"):
        document.root.remove(other)
    compiler = {"fusestatic": "false", "balanceinertia": "false", "inertiafromgeom": "false"}
    set_child(set_child(document.root, "mujoco", {}), "compiler", compiler)
    return document.text()


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError(
            "a conversion to MJCF needs mujoco (pip install 'inertial_estimation[sim]'); or give an MJCF of "
            "the robot with --model"
        ) from error
    return mujoco


MASS_TOLERANCE = 0.02  # of the mass of a link in both models
COM_TOLERANCE = 5e-3  # of its centre of mass [m]


@dataclass(frozen=True)
class ModelFormat:
    """A format of robots.

    Attributes:
        suffix: Of its files.
        root: Tag of the root element.
        made: Converts a URDF.
        bodies: Returns the bodies of a model by name.
        changed: Returns a model with other inertias.
        known: Returns mass [kg] and centre of mass [m] that a body of a model has; None where it has none.
    """

    suffix: str
    root: str
    made: Callable[..., str]
    bodies: Callable[[str], Mapping[str, Element]]
    changed: Callable[[str, Mapping[str, InertialParameters]], str]
    known: Callable[[Element], tuple[float, Array] | None]


FORMATS: dict[str, ModelFormat | None] = {
    "urdf": None,
    "mjcf": ModelFormat(".xml", "mujoco", mjcf_from_urdf, mjcf_bodies, mjcf_with_inertias, mjcf_mass),
    "sdf": ModelFormat(".sdf", "sdf", sdf_from_urdf, sdf_links, sdf_with_inertias, sdf_mass),
}


class RobotWriter:
    """Writes an estimated robot in one format.

    Attributes:
        suffix: Of the files.
        warnings: What is doubtful about the model that the inertias are written into.
    """

    def __init__(self, model: EstimatedModel, form: str, base: Path | None = None) -> None:
        """Prepare.

        Args:
            model: The estimated robot.
            form: One of `FORMATS`.
            base: A model of the robot in that format, whose inertias are replaced; None converts the
                description.

        Raises:
            ConfigurationError: If a model is given for a URDF, which is made from the description.
            ModelError: If the model cannot be read, or lacks links that have been estimated.
        """
        self._model = model
        self._format = FORMATS[form]
        self.suffix = ".urdf" if self._format is None else self._format.suffix
        self.warnings: tuple[str, ...] = ()
        if self._format is None:
            if base is not None:
                raise ConfigurationError("a URDF is made from the estimated description, without --model")
            return
        estimated = model.estimated_urdf()
        if base is None:
            floating = model.floating_base
            whole, light, mended = urdf_for_simulators(estimated, floating_base=floating)
            self._base = self._format.made(whole, floating_base=floating)
            self.warnings = _changes(light, mended)
        else:
            self._base = read_model(base, self._format.root)
        bodies = self._format.bodies(self._base)
        self._fused = FusedLinks.of(estimated, bodies)
        self._nominal = self._fused.inertias(model.urdf)
        if base is not None:
            known = {name: self._format.known(body) for name, body in bodies.items()}
            self.warnings = _unlike(base, known, self._nominal)

    def text(self, parameters: Array) -> str:
        """Return the robot with inertias.

        Args:
            parameters: As `EstimatedModel.estimate`, shape (n, 10).
        """
        urdf = self._model.urdf_with(parameters)
        if self._format is None:
            return urdf
        inertias = self._fused.inertias(urdf)
        changed = {
            name: inertia.made_consistent(name)  # but for placeholders fixed to a link, it is
            for name, inertia in inertias.items()
            if name not in self._nominal or not np.array_equal(inertia.vector, self._nominal[name].vector)
        }
        return self._format.changed(self._base, changed)


def _changes(light: Sequence[str], mended: Sequence[str]) -> tuple[str, ...]:
    """Say what of the description simulators would not take as it is."""
    said = []
    if light:
        without = f"the estimated description has no mass for {listing(light)}, which simulators need"
        said.append(f"{without}: written with {1000 * LEAST_MASS:g} g each")
    if mended:
        wrong = f"no body has the moments of inertia that the description gives {listing(mended)}"
        said.append(f"{wrong}: written with the nearest ones")
    return tuple(said)


def _unlike(
    base: Path, known: Mapping[str, tuple[float, Array] | None], nominal: Mapping[str, InertialParameters]
) -> tuple[str, ...]:
    """Say which links have another mass or centre of mass in the model than in the description."""
    said = []
    for name, values in known.items():
        expected = nominal.get(name)
        if values is None or expected is None:
            continue
        mass, com = values
        if abs(mass - expected.mass) > MASS_TOLERANCE * expected.mass:
            said.append(
                f"'{name}' weighs {mass:.4g} kg in '{base}' and {expected.mass:.4g} kg in the description"
            )
        elif np.abs(com - expected.com_F).max() > COM_TOLERANCE:
            said.append(
                f"the centre of mass of '{name}' is at {np.round(com, 4).tolist()} m in '{base}' and at "
                f"{np.round(expected.com_F, 4).tolist()} m in the description: is it the same frame?"
            )
    return tuple(said)


def read_model(path: Path, root: str) -> str:
    """Read a model file.

    Args:
        path: The file.
        root: Tag of its root element.

    Raises:
        ModelError: If it cannot be read, or is of another format.
    """
    text = read_text(path, "model", ModelError)
    found = XmlDocument.parsed(text, str(path)).root.tag
    if found != root:
        raise ModelError(f"'{path}' has the root element <{found}>, expected <{root}>")
    return text
