"""Inertias of a URDF for a model that has fewer links: the others belong to the link they are fixed to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ModelError, listing
from inertial_estimation.models.urdf_document import UrdfDocument, child_of
from inertial_estimation.models.urdf_inertia import link_parameters, origin_of
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters, transfer_matrix


@dataclass(frozen=True, eq=False)
class FusedLinks:
    """The links of a URDF, each assigned to a link that another model has.

    Attributes:
        owner: Link of the other model by link of the URDF.
        T_OL: Pose of each link in its owner.
    """

    owner: Mapping[str, str]
    T_OL: Mapping[str, pin.SE3]

    @classmethod
    def of(cls, urdf: str, kept: Collection[str]) -> "FusedLinks":
        """Assign every link to itself, or to the nearest kept link that it is fixed to.

        Args:
            urdf: XML text.
            kept: Names of the links of the other model.

        Raises:
            ModelError: If a link with a mass is not kept and not fixed to one that is.
        """
        document, names = UrdfDocument(urdf), set(kept)
        masses = link_parameters(urdf)
        owner, poses, lost = {}, {}, []
        for link in document.links:
            at, T = link, pin.SE3.Identity()
            while at not in names:
                joint = document.parent_joints.get(at)
                if joint is None or joint.getAttribute("type") != "fixed":
                    break
                parent = child_of(joint, "parent")
                assert parent is not None
                T, at = origin_of(joint) * T, parent.getAttribute("link")
            if at in names:
                owner[link], poses[link] = at, T
            elif masses[link][0] > 0.0:
                lost.append(link)
        if lost:
            raise ModelError(
                f"the model has no body for {listing(lost)} of the description, nor one it is fixed to; it "
                f"has {listing(sorted(names))}"
            )
        return cls(owner, poses)

    def inertias(self, urdf: str) -> dict[str, InertialParameters]:
        """Return the inertia of every owner about its frame, with all that belongs to it.

        Args:
            urdf: XML text, of the links and joints of the one that was assigned; links may be missing.
        """
        sums: dict[str, Array] = {name: np.zeros(10) for name in self.owner.values()}
        parameters = link_parameters(urdf)
        for link, name in self.owner.items():
            if link in parameters:
                sums[name] = sums[name] + transfer_matrix(self.T_OL[link]) @ parameters[link]
        return {name: InertialParameters.from_vector(pi) for name, pi in sums.items() if pi[0] > 0.0}
