"""Mass matrix of a robot whose estimated bodies have other parameters than its file says."""

import pinocchio as pin

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array

__all__ = ["MassMatrix"]


class MassMatrix:
    """Computes the mass matrix M(q), linear in the parameters of all bodies.

    An error of an acceleration reaches the generalized forces through the mass matrix of the robot as it is:
    a load on a hand makes the effect of a joint's acceleration on the arm's torques several times as large.
    """

    def __init__(self, model: pin.Model, bodies: tuple[BodyReference, ...]) -> None:
        """Copy the model.

        Args:
            model: The nominal model.
            bodies: The bodies whose parameters may differ.
        """
        self._model = model.copy()
        self._inertias = self._model.inertias
        self._joint_ids = tuple(body.joint_id for body in bodies)
        self._nominal = tuple(pin.Inertia(model.inertias[i]) for i in self._joint_ids)
        self._phi: Array | None = None

    def at(self, data: pin.Data, q: Array, phi: Array | None = None) -> Array:
        """Return M(q), shape (nv, nv), and leave placements and Jacobians of the joints in the data.

        Args:
            data: Changed in place.
            q: Configuration, shape (nq,).
            phi: Parameters of the bodies about their joint frames, Pinocchio's order, shape (k,), k at least
                10 n; what follows them is not read. None: nominal. A body without a positive mass, which a
                linear filter may estimate, counts as nominal.
        """
        if phi is not self._phi:
            self._believe(phi)
        M: Array = pin.crba(self._model, data, q, pin.Convention.WORLD)  # fills J as well
        return M

    def _believe(self, phi: Array | None) -> None:
        for i, (joint_id, inertia) in enumerate(zip(self._joint_ids, self._nominal, strict=True)):
            pi = None if phi is None else phi[10 * i : 10 * i + 10]
            known = pi is not None and pi[0] > 0.0
            self._inertias[joint_id] = pin.Inertia.FromDynamicParameters(pi) if known else inertia
        self._phi = phi
