"""An exported robot: the estimated description as a URDF, or its inertias in an MJCF, MuJoCo's format."""

from collections.abc import Collection, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ModelError, listing
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.urdf import XmlDocument, numbers_of, numbers_text, set_child
from inertial_estimation.models.urdf_inertia import link_parameters, origin_of
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters, transfer_matrix

ROTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")  # of the axes of the inertia
MASS_TOLERANCE = 0.02  # of the mass of a link in both models
COM_TOLERANCE = 5e-3  # of its centre of mass [m]


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


def fused_links(urdf: str, kept: Collection[str]) -> dict[str, tuple[str, pin.SE3]]:
    """Assign every link to itself, or to the nearest kept link that it is fixed to.

    Args:
        urdf: XML text.
        kept: Names of the links of another model.

    Returns:
        The other model's link and the pose in it, by link of the URDF.

    Raises:
        ModelError: If a link with a mass is not kept and not fixed to one that is.
    """
    joints, names = XmlDocument.parsed(urdf, "the URDF").parent_joints(), set(kept)
    fused, lost = dict[str, tuple[str, pin.SE3]](), []
    for link, parameters in link_parameters(urdf).items():
        at, T = link, pin.SE3.Identity()
        while at not in names:
            joint = joints.get(at)
            if joint is None or joint.get("type") != "fixed":
                break
            T, at = origin_of(joint) * T, set_child(joint, "parent", {}).get("link", "")
        if at in names:
            fused[link] = at, T
        elif parameters[0] > 0.0:
            lost.append(link)
    if lost:
        raise ModelError(
            f"the model has no body for {listing(lost)} of the description, nor one it is fixed to; it "
            f"has {listing(sorted(names))}"
        )
    return fused


def fused_inertias(fused: Mapping[str, tuple[str, pin.SE3]], urdf: str) -> dict[str, InertialParameters]:
    """Return the inertia of every link of another model about its frame, with all that belongs to it.

    Args:
        fused: Links of a URDF, as `fused_links` assigns them.
        urdf: XML text with these links; some may be missing.
    """
    sums: dict[str, Array] = {}
    for link, pi in link_parameters(urdf).items():
        if link in fused:
            name, T = fused[link]
            sums[name] = sums.get(name, np.zeros(10)) + transfer_matrix(T) @ pi
    return {name: InertialParameters.from_vector(pi) for name, pi in sums.items() if pi[0] > 0.0}


class RobotWriter:
    """Writes an estimated robot.

    Attributes:
        suffix: Of the files.
        warnings: What is doubtful about the model that the inertias are written into.
    """

    def __init__(self, model: EstimatedModel, base: Path | None = None) -> None:
        """Prepare.

        Args:
            model: The estimated robot.
            base: An MJCF of the robot, whose inertias are replaced; None writes a URDF, the robot's own.

        Raises:
            ModelError: If the model cannot be read, or lacks links that have been estimated.
        """
        self._model, self._base, self.suffix, self.warnings = model, "", ".urdf", list[str]()
        if base is None:
            return
        self.suffix, self._base = ".xml", read_text(base, "model", ModelError)
        document = XmlDocument.parsed(self._base, str(base))
        if document.root.tag != "mujoco":
            raise ModelError(f"'{base}' has the root element <{document.root.tag}>, expected <mujoco>")
        bodies = document.named("body")
        self._fused = fused_links(model.estimated_urdf(), bodies)
        self._nominal = fused_inertias(self._fused, model.urdf)
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
            for name, inertia in fused_inertias(self._fused, urdf).items()
            if name not in self._nominal or not np.array_equal(inertia.vector, self._nominal[name].vector)
        }
        return mjcf_with_inertias(self._base, changed)


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
