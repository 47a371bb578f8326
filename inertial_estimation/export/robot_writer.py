"""An exported robot: the estimated description as a URDF, or converted to MJCF, the format of MuJoCo."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from inertial_estimation.errors import (
    ConfigurationError,
    MissingDependencyError,
    ModelError,
    listing,
    one_line,
)
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.urdf import XmlDocument, numbers_of, numbers_text, set_child
from inertial_estimation.models.urdf_inertia import LEAST_MASS, FusedLinks, urdf_for_simulators
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

ROTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")  # of the axes of the inertia
MASS_TOLERANCE = 0.02  # of the mass of a link in both models
COM_TOLERANCE = 5e-3  # of its centre of mass [m]
SUFFIXES = {"urdf": ".urdf", "mjcf": ".xml"}


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
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError(
            "a conversion to MJCF needs mujoco (pip install 'inertial_estimation[sim]'); or give an MJCF of "
            "the robot with --model"
        ) from error
    try:
        spec = mujoco.MjSpec.from_string(_for_mujoco(urdf))
        if floating_base:
            spec.worldbody.first_body().add_freejoint()
        spec.compile()
        return str(spec.to_xml())
    except ValueError as error:
        raise ModelError(f"MuJoCo cannot convert the description: {one_line(error)}") from error


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
        moments = inertia.inertia_Fcm
        values = {
            "pos": numbers_text(inertia.com_F),
            "mass": numbers_text([inertia.mass]),
            "fullinertia": numbers_text([*moments.diagonal(), *moments[np.triu_indices(3, 1)]]),
        }
        element = set_child(bodies[name], "inertial", values)
        for other in (*ROTATIONS, "diaginertia"):
            element.attrib.pop(other, None)
    return document.text()


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


class RobotWriter:
    """Writes an estimated robot as URDF or MJCF.

    Attributes:
        suffix: Of the files.
        warnings: What is doubtful about the model that the inertias are written into.
    """

    def __init__(self, model: EstimatedModel, form: str, base: Path | None = None) -> None:
        """Prepare.

        Args:
            model: The estimated robot.
            form: ``urdf`` or ``mjcf``.
            base: An MJCF of the robot, whose inertias are replaced; None converts the description.

        Raises:
            ConfigurationError: If a model is given for a URDF, which is made from the description.
            ModelError: If the model cannot be read, or lacks links that have been estimated.
        """
        self._model, self._base = model, ""
        self.suffix, self.warnings = SUFFIXES[form], list[str]()
        if form == "urdf":
            if base is not None:
                raise ConfigurationError("a URDF is made from the estimated description, without --model")
            return
        estimated = model.estimated_urdf()
        if base is None:
            whole, light, mended = urdf_for_simulators(estimated, floating_base=model.floating_base)
            self._base = mjcf_from_urdf(whole, floating_base=model.floating_base)
            self.warnings = _changes(light, mended)
        else:
            self._base = read_text(base, "model", ModelError)
        document = XmlDocument.parsed(self._base, str(base))
        if document.root.tag != "mujoco":
            raise ModelError(f"'{base}' has the root element <{document.root.tag}>, expected <mujoco>")
        bodies = document.named("body")
        self._fused = FusedLinks.of(estimated, bodies)
        self._nominal = self._fused.inertias(model.urdf)
        if base is not None:
            self.warnings = _unlike(base, bodies, self._nominal)

    def text(self, parameters: Array) -> str:
        """Return the robot with inertias.

        Args:
            parameters: As `EstimatedModel.estimate`, shape (n, 10).
        """
        urdf = self._model.urdf_with(parameters)
        if not self._base:
            return urdf
        changed = {
            name: inertia.made_consistent(name)  # but for placeholders fixed to a link, it is
            for name, inertia in self._fused.inertias(urdf).items()
            if name not in self._nominal or not np.array_equal(inertia.vector, self._nominal[name].vector)
        }
        return mjcf_with_inertias(self._base, changed)


def _changes(light: Sequence[str], mended: Sequence[str]) -> list[str]:
    """Say what of the description simulators would not take as it is."""
    said = []
    if light:
        without = f"the estimated description has no mass for {listing(light)}, which simulators need"
        said.append(f"{without}: written with {1000 * LEAST_MASS:g} g each")
    if mended:
        wrong = f"no body has the moments of inertia that the description gives {listing(mended)}"
        said.append(f"{wrong}: written with the nearest ones")
    return said


def _unlike(
    base: Path, bodies: Mapping[str, Element], nominal: Mapping[str, InertialParameters]
) -> list[str]:
    """Say which links have another mass or centre of mass in the model than in the description."""
    said = []
    for name, expected in nominal.items():
        inertial = bodies[name].find("inertial") if name in bodies else None
        if inertial is None or inertial.get("mass") is None:
            continue
        mass, com = float(inertial.get("mass", "")), np.array(numbers_of(inertial, "pos"))
        if abs(mass - expected.mass) > MASS_TOLERANCE * expected.mass:
            said.append(
                f"'{name}' weighs {mass:.4g} kg in '{base}' and {expected.mass:.4g} kg in the description"
            )
        elif np.abs(com - expected.com_F).max() > COM_TOLERANCE:
            said.append(
                f"the centre of mass of '{name}' is at {np.round(com, 4).tolist()} m in '{base}' and at "
                f"{np.round(expected.com_F, 4).tolist()} m in the description: is it the same frame?"
            )
    return said
