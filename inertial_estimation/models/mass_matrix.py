"""Mass matrix of a robot whose estimated bodies have other parameters than its file says."""

from typing import Any

import pinocchio as pin

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.pinocchio_memory import pose_rows
from inertial_estimation.signals import Array

WORLD = pin.Convention.WORLD  # in which `crba` computes the Jacobian as well


class MassMatrix:
    """Computes the mass matrix M(q), linear in the parameters of all bodies.

    An error of an acceleration reaches the generalized forces through the mass matrix of the robot as it is:
    a load on a hand makes the effect of a joint's acceleration on the arm's torques several times as large.

    Attributes:
        data: Placements and Jacobians of the joints at the last configuration.
        Jt: Transposed Jacobian of all joints there, at the origin of the base in its axes, shape (nv, 6).
        poses: Poses of all joints there, as `pinocchio_memory.pose_rows`.
    """

    def __init__(self, model: pin.Model, bodies: tuple[BodyReference, ...]) -> None:
        """Copy the model.

        Args:
            model: The nominal model.
            bodies: The bodies whose parameters may differ.
        """
        self._model = model.copy()
        self.data = self._model.createData()
        self.Jt: Array = self.data.J.T
        self.poses = pose_rows(self.data.oMi)
        self._nominal = [(body.joint_id, model.inertias[body.joint_id].copy()) for body in bodies]
        self._phi: Array | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copied or pickled one, with views of the memory of its own model and data."""
        self.__dict__.update(state)
        self.Jt, self.poses = self.data.J.T, pose_rows(self.data.oMi)

    def at(self, q: Array, phi: Array | None = None) -> Array:
        """Return M(q), shape (nv, nv).

        Args:
            q: Configuration, shape (nq,).
            phi: Parameters of the bodies about their joint frames, Pinocchio's order, shape (k,), k at least
                10 n; what follows them is not read. None: nominal. A body without a positive mass, which a
                linear filter may estimate, counts as nominal.
        """
        if phi is not self._phi:
            for k, (joint, nominal) in enumerate(self._nominal):
                pi = None if phi is None else phi[10 * k : 10 * k + 10]
                given = pi is not None and pi[0] > 0.0
                self._model.inertias[joint] = pin.Inertia.FromDynamicParameters(pi) if given else nominal
            self._phi = phi
        M: Array = pin.crba(self._model, self.data, q, WORLD)  # a copy
        return M

    def move_to(self, q: Array) -> None:
        """Compute poses and Jacobians alone.

        Args:
            q: Configuration, shape (nq,).
        """
        pin.computeJointJacobians(self._model, self.data, q)
