"""Inverse dynamics as a quadratic program: built here, solved in `quadratic_program`.

Unknowns x = [a, phi]: acceleration and contact forces in units of `FORCE_UNIT`.

    minimise    sum_tasks w |A a - b|^2 + sum_contacts w_f |phi - phi_ref|^2
    subject to  the base rows of M a + h = J' f                (what no motor can do, the ground must)
                0 <= G f, f_z <= f_max                         (what the ground can give)
                -tau_max <= S (M a + h - J' f) <= tau_max      (what the motors can give)

a = -M^-1 h, f = 0 satisfies all of it: the program always has a solution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inertial_estimation.control.contact_constraints import Contact, ContactMotion
from inertial_estimation.control.tasks import Task, TaskRows
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["ContactDemand", "InverseDynamicsProblem", "ProblemBuilder"]

FORCE_UNIT = np.array([100.0, 100.0, 100.0, 10.0, 10.0, 10.0])  # of a force [N] and a torque [Nm]
SMALLEST_WEIGHT = 1e-8  # on every unknown: keeps the Hessian positive definite


@dataclass(frozen=True, slots=True)
class ContactDemand:
    """What a contact should carry.

    Attributes:
        force: Wanted normal force [N].
        limit: Largest normal force allowed [N]; 0 for a foot in the air.
        in_contact: Whether it can push on the ground at all.
    """

    force: float
    limit: float
    in_contact: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class InverseDynamicsProblem:
    """One quadratic program: min x'Hx/2 + g'x, A x = b, lower <= C x <= upper.

    Attributes:
        H: Shape (n, n).
        g: Shape (n,).
        A: Shape (n_base, n).
        b: Shape (n_base,).
        C: Shape (k, n).
        lower: Shape (k,).
        upper: Shape (k,).
        tau_rows: Rows T with tau = T x + tau_offset, shape (n_joints, n).
        tau_offset: Shape (n_joints,).
        task_rows: Rows of each task by its name.
    """

    H: Array
    g: Array
    A: Array
    b: Array
    C: Array
    lower: Array
    upper: Array
    tau_rows: Array
    tau_offset: Array
    task_rows: dict[str, TaskRows]


class ProblemBuilder:
    """Builds the program of one robot; its size never changes.

    Attributes:
        contacts: The contacts, in the order of the frames of the state.
        n: Number of unknowns.
        n_base: Number of equality rows.
        n_rows: Number of inequality rows.
    """

    def __init__(
        self, contacts: Sequence[Contact], nv: int, n_joints: int, tau_max: Array, force_weight: float
    ) -> None:
        """Lay out unknowns and rows.

        Args:
            contacts: The contacts.
            nv: Number of velocity coordinates.
            n_joints: Number of joints.
            tau_max: Torque limits [Nm], shape (n_joints,).
            force_weight: w_f, small: it only settles what the tasks leave open.
        """
        self.contacts = tuple(contacts)
        self.n_base = nv - n_joints
        self._nv = nv
        self._tau_max = tau_max
        self._force_weight = force_weight
        ends = np.cumsum([0, *(contact.dim for contact in self.contacts)])
        self._slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        n_forces = int(ends[-1])
        self.n = nv + n_forces
        self._unit = np.concatenate([np.zeros(0), *(FORCE_UNIT[: contact.dim] for contact in self.contacts)])
        self._cones = self._cone_rows(n_forces)
        self.n_rows = len(self._cones) + len(self.contacts) + n_joints

    def build(
        self,
        state: DynamicsState,
        motions: Sequence[ContactMotion],
        tasks: Sequence[Task],
        loads: Sequence[ContactDemand],
    ) -> InverseDynamicsProblem:
        """Build the program at one instant.

        Args:
            state: Dynamics now.
            motions: Motion of each contact.
            tasks: What is wanted; names must differ.
            loads: What each contact should carry.

        Returns:
            The program.
        """
        nv, n_base = self._nv, self.n_base
        dynamics = np.empty((nv, self.n))  # rows of M a + h - J' f
        dynamics[:, :nv] = state.M
        forces = dynamics[:, nv:]
        for motion, load, columns in zip(motions, loads, self._slices, strict=True):
            forces[:, columns] = -motion.jacobian.T if load.in_contact else 0.0
        forces *= self._unit
        rows = {task.name: task.rows(state) for task in tasks}
        H, g = self._objective(rows, loads)
        C, lower, upper = self._inequalities(dynamics[n_base:], state.h[n_base:], loads)
        return InverseDynamicsProblem(
            H,
            g,
            dynamics[:n_base],
            -state.h[:n_base],
            C,
            lower,
            upper,
            dynamics[n_base:],
            state.h[n_base:],
            rows,
        )

    def forces(self, x: Array) -> list[Array]:
        """Return the contact forces of a solution [N, Nm], one array per contact."""
        f = x[self._nv :] * self._unit
        return [f[columns] for columns in self._slices]

    def _objective(self, rows: dict[str, TaskRows], loads: Sequence[ContactDemand]) -> tuple[Array, Array]:
        nv, n = self._nv, self.n
        H, g = np.zeros((n, n)), np.zeros(n)
        diagonal = np.full(n, SMALLEST_WEIGHT)
        full = [task for task in rows.values() if task.A is not None]
        if full:
            A = np.concatenate([task.A for task in full])
            weighted = np.concatenate([task.weight for task in full])[:, None] * A
            H[:nv, :nv] = weighted.T @ A
            g[:nv] = -(np.concatenate([task.b for task in full]) @ weighted)
        for task in rows.values():
            if task.A is None:
                first = nv - len(task.b)
                diagonal[first:nv] += task.weight
                g[first:nv] -= task.weight * task.b
        diagonal[nv:] += self._force_weight
        for load, columns in zip(loads, self._slices, strict=True):
            normal = nv + columns.start + 2
            g[normal] -= self._force_weight * load.force / FORCE_UNIT[2]
        H.ravel()[:: n + 1] += diagonal
        return H, g

    def _inequalities(
        self, tau_rows: Array, tau_offset: Array, loads: Sequence[ContactDemand]
    ) -> tuple[Array, Array, Array]:
        n_cone, n_contacts = self._cones.shape[0], len(self.contacts)
        C = np.zeros((self.n_rows, self.n))
        lower = np.full(self.n_rows, -np.inf)
        upper = np.full(self.n_rows, np.inf)
        C[:n_cone, self._nv :] = self._cones
        lower[:n_cone] = 0.0
        for i, (load, columns) in enumerate(zip(loads, self._slices, strict=True)):
            C[n_cone + i, self._nv + columns.start + 2] = 1.0
            upper[n_cone + i] = load.limit / FORCE_UNIT[2]
        C[n_cone + n_contacts :] = tau_rows
        lower[n_cone + n_contacts :] = -self._tau_max - tau_offset
        upper[n_cone + n_contacts :] = self._tau_max - tau_offset
        return C, lower, upper

    def _cone_rows(self, n_forces: int) -> Array:
        rows = []
        for contact, columns in zip(self.contacts, self._slices, strict=True):
            block = np.zeros((len(contact.cone), n_forces))
            block[:, columns] = contact.cone * self._unit[columns] / FORCE_UNIT[0]
            rows.append(block)
        return np.concatenate(rows) if rows else np.zeros((0, n_forces))
