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

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, warm_up
from inertial_estimation.control.contact_constraints import Contact, ContactMotion
from inertial_estimation.control.tasks import Task, TaskRows
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["ContactDemand", "InverseDynamicsProblem", "ProblemBuilder"]

FORCE_UNIT = np.array([100.0, 100.0, 100.0, 10.0, 10.0, 10.0])  # of a force [N] and a torque [Nm]
NORMAL_UNIT = float(FORCE_UNIT[2])  # of a normal force
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
        self._constant = self._constant_rows(n_forces)
        self._unlimited = np.full(len(self._constant), np.inf)
        self._smallest = np.full(self.n, SMALLEST_WEIGHT)
        self._smallest[nv:] += force_weight
        self.n_rows = len(self._constant) + n_joints
        warm_up()

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
        J = np.zeros((len(self._unit), self._nv))
        for motion, load, columns in zip(motions, loads, self._slices, strict=True):
            if load.in_contact:
                J[columns] = motion.jacobian
        rows = {task.name: task.rows(state) for task in tasks}
        n, k, n_base = self.n, self.n_rows, self.n_base
        H, g, A, C = np.empty((n, n)), np.empty(n), np.empty((n_base, n)), np.empty((k, n))
        lower, upper = np.empty(k), np.empty(k)
        _fill_objective(*self._stacked(rows), *self._diagonal(rows, loads), H, g)
        dynamics = state.M, state.h, J, self._unit
        _fill_rows(*dynamics, self._tau_max, self._constant, self._limits(loads), A, C, lower, upper)
        tau_rows, h = C[len(self._constant) :], state.h
        return InverseDynamicsProblem(H, g, A, -h[:n_base], C, lower, upper, tau_rows, h[n_base:], rows)

    def forces(self, x: Array) -> list[Array]:
        """Return the contact forces of a solution [N, Nm], one array per contact."""
        f = x[self._nv :] * self._unit
        return [f[columns] for columns in self._slices]

    def _stacked(self, rows: dict[str, TaskRows]) -> tuple[Array, Array, Array]:
        """Return A, b and weights of all tasks that have a Jacobian, one below the other."""
        full = [(task.A, task.b, task.weight) for task in rows.values() if task.A is not None]
        if not full:
            return np.zeros((0, self._nv)), np.zeros(0), np.zeros(0)
        A, b, weight = (np.concatenate(parts) for parts in zip(*full, strict=True))
        return A, b, weight

    def _diagonal(self, rows: dict[str, TaskRows], loads: Sequence[ContactDemand]) -> tuple[Array, Array]:
        """Return the diagonal of the Hessian, and the gradient, of all that concerns single unknowns."""
        nv = self._nv
        diagonal, g = self._smallest.copy(), np.zeros(self.n)
        for task in rows.values():
            if task.A is None:
                first = nv - len(task.b)
                diagonal[first:nv] += task.weight
                g[first:nv] -= task.weight * task.b
        for load, columns in zip(loads, self._slices, strict=True):
            g[nv + columns.start + 2] -= self._force_weight * load.force / NORMAL_UNIT
        return diagonal, g

    def _limits(self, loads: Sequence[ContactDemand]) -> Array:
        """Return the upper limits of the constant rows: none, then the normal forces."""
        limits: Array = self._unlimited.copy()
        limits[len(limits) - len(loads) :] = [load.limit / NORMAL_UNIT for load in loads]
        return limits

    def _constant_rows(self, n_forces: int) -> Array:
        """Return the rows of the cones, and of the normal force of every contact, shape (k, n)."""
        rows = [np.zeros((0, self.n))]
        for contact, columns in zip(self.contacts, self._slices, strict=True):
            block = np.zeros((len(contact.cone), self.n))
            block[:, self._nv :][:, columns] = contact.cone * self._unit[columns] / FORCE_UNIT[0]
            rows.append(block)
        normal = np.zeros((len(self.contacts), self.n))
        for i, columns in enumerate(self._slices):
            normal[i, self._nv + columns.start + 2] = 1.0
        return np.concatenate((*rows, normal))


@compiled
def _fill_objective(
    A: Table,
    b: Column,
    weight: Column,
    diagonal: Column,
    gradient: Column,
    H: MutableTable,
    g: MutableColumn,
) -> None:
    """Write Hessian and gradient of sum weight |A a - b|^2, with those of single unknowns.

    Args:
        A: Rows in the accelerations, shape (m, nv).
        b: Shape (m,).
        weight: Shape (m,).
        diagonal: Of the Hessian, to be added, shape (n,).
        gradient: To be added, shape (n,).
        H: Written, shape (n, n).
        g: Written, shape (n,).
    """
    nv = A.shape[1]
    weighted = weight.reshape(-1, 1) * A
    H[:] = 0.0
    g[:] = gradient
    if len(b):
        H[:nv, :nv] = weighted.T @ A
        g[:nv] -= b @ weighted
    for i in range(len(g)):
        H[i, i] += diagonal[i]


@compiled
def _fill_rows(
    M: Table,
    h: Column,
    J: Table,
    unit: Column,
    tau_max: Column,
    constant: Table,
    limits: Column,
    A: MutableTable,
    C: MutableTable,
    lower: MutableColumn,
    upper: MutableColumn,
) -> None:
    """Write the rows of M a + h - J' f, of the base to A and of the joints to C, and their limits.

    Args:
        M: Mass matrix, shape (nv, nv).
        h: Bias force, shape (nv,).
        J: Jacobians of the contact forces one below the other, zero for those in the air, shape (k, nv).
        unit: Of the forces, shape (k,).
        tau_max: Torque limits, shape (n_joints,).
        constant: The first rows of C, shape (m, n): either bounded above or not negative.
        limits: Their upper limits, infinite for those that are not negative, shape (m,).
        A: Written, shape (nv - n_joints, n).
        C: Written, shape (m + n_joints, n).
        lower: Written, shape (m + n_joints,).
        upper: Written, shape (m + n_joints,).
    """
    nv, n_base, m = len(h), len(A), len(constant)
    forces = -(J.T * unit)
    A[:, :nv] = M[:n_base]
    A[:, nv:] = forces[:n_base]
    C[:m] = constant
    C[m:, :nv] = M[n_base:]
    C[m:, nv:] = forces[n_base:]
    lower[:m] = 0.0
    for i in range(m):
        if limits[i] < np.inf:
            lower[i] = -np.inf
    upper[:m] = limits
    lower[m:] = -tau_max - h[n_base:]
    upper[m:] = tau_max - h[n_base:]
