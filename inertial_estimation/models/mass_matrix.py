"""Mass matrix of a robot whose estimated bodies have other parameters than its file says."""

from typing import Any

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableTable,
    Table,
    compiled,
    warm_up,
)
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.pinocchio_memory import inertia_rows, pose_rows
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
        self._inertias = inertia_rows(self._model.inertias)
        self._rows = np.array([body.joint_id - 1 for body in bodies], dtype=np.int64)
        self._nominal: Array = self._inertias[self._rows]
        self._phi: Array | None = None
        warm_up()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copied or pickled one, with views of the memory of its own model and data."""
        self.__dict__.update(state)
        self.Jt, self.poses = self.data.J.T, pose_rows(self.data.oMi)
        self._inertias = inertia_rows(self._model.inertias)

    def at(self, q: Array, phi: Array | None = None) -> Array:
        """Return M(q), shape (nv, nv).

        Args:
            q: Configuration, shape (nq,).
            phi: Parameters of the bodies about their joint frames, Pinocchio's order, shape (k,), k at least
                10 n; what follows them is not read. None: nominal. A body without a positive mass, which a
                linear filter may estimate, counts as nominal.
        """
        if phi is not self._phi:
            believed = np.zeros(10 * len(self._rows)) if phi is None else phi
            _believe(believed, self._rows, self._nominal, self._inertias)
            self._phi = phi
        M: Array = pin.crba(self._model, self.data, q, WORLD)  # a copy
        return M

    def move_to(self, q: Array) -> None:
        """Compute poses and Jacobians alone.

        Args:
            q: Configuration, shape (nq,).
        """
        pin.computeJointJacobians(self._model, self.data, q)


@compiled
def _believe(phi: Column, rows: Integers, nominal: Table, inertias: MutableTable) -> None:
    """Write the inertias of bodies of given parameters; nominal ones where a mass is not positive.

    Args:
        phi: Parameters of n bodies about their joint frames, shape (k,), k at least 10 n.
        rows: Their rows in the inertias, shape (n,).
        nominal: Nominal inertias, shape (n, 10).
        inertias: As `pinocchio_memory.inertia_rows`; written.
    """
    for i in range(len(rows)):
        pi, out = phi[10 * i : 10 * i + 10], inertias[rows[i]]
        m = pi[0]
        if not m > 0.0:
            out[:] = nominal[i]
            continue
        x, y, z = pi[1] / m, pi[2] / m, pi[3] / m
        out[0], out[1], out[2], out[3] = m, x, y, z
        out[4] = pi[4] - m * (y * y + z * z)
        out[5] = pi[5] + m * x * y
        out[6] = pi[6] - m * (x * x + z * z)
        out[7] = pi[7] + m * x * z
        out[8] = pi[8] + m * y * z
        out[9] = pi[9] - m * (x * x + y * y)
