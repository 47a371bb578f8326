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

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    warm_up,
)
from inertial_estimation.control.contact_constraints import Contact, force_rows
from inertial_estimation.control.tasks import TaskStack
from inertial_estimation.signals import Array

FORCE_UNIT = np.array([100.0, 100.0, 100.0, 10.0, 10.0, 10.0])  # of a force [N] and a torque [Nm]
NORMAL = 2  # of the coordinates of a force, the normal one
NORMAL_UNIT = float(FORCE_UNIT[NORMAL])
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
        tasks: What it is built of.
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
    tasks: TaskStack


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
        self._slices = force_rows(self.contacts)
        self._ends = np.array([0, *(columns.stop for columns in self._slices)], dtype=np.int64)
        n_forces = int(self._ends[-1])
        self.n = nv + n_forces
        self._unit = np.concatenate([np.zeros(0), *(FORCE_UNIT[: contact.dim] for contact in self.contacts)])
        self._constant = self._constant_rows(n_forces)
        self._smallest = np.full(self.n, SMALLEST_WEIGHT)
        self._smallest[nv:] += force_weight
        self.n_rows = len(self._constant) + n_joints
        warm_up()

    def build(self, tasks: TaskStack, loads: Sequence[ContactDemand]) -> InverseDynamicsProblem:
        """Build the program at one instant.

        Args:
            tasks: What is wanted, at which state.
            loads: What each contact should carry.

        Returns:
            The program.
        """
        state, contacts, posture = tasks.state, tasks.contacts, tasks.posture
        rows, h, n, n_base, k = state.rows, state.h, self.n, self.n_base, self.n_rows
        demands = np.array([(load.force, load.limit, load.in_contact) for load in loads], dtype=float)
        demands = demands.reshape(-1, 3)
        H, g, A, C = np.empty((n, n)), np.empty(n), np.empty((n_base, n)), np.empty((k, n))
        limits = np.empty((2, k))
        lower, upper = limits[0], limits[1]
        motions = rows.jacobian, rows.velocity, rows.drift
        of_contacts = contacts.jacobian, contacts.velocity, contacts.drift
        joints = state.q, state.v[n_base:], posture.q_ref, posture.v_ref, posture.a_ref
        gains = posture.stiffness, posture.damping, posture.weight, self._smallest
        forces = demands, self._ends, self._force_weight
        fill_objective(tasks.demand, *motions, *of_contacts, *joints, *gains, *forces, H, g)
        dynamics = state.M, h, contacts.jacobian, self._unit, self._tau_max
        fill_rows(*dynamics, self._constant, demands, self._ends, A, C, lower, upper)
        tau_rows = C[len(self._constant) :]
        return InverseDynamicsProblem(H, g, A, -h[:n_base], C, lower, upper, tau_rows, h[n_base:], tasks)

    def answer(self, problem: InverseDynamicsProblem, x: Array) -> tuple[Array, Array]:
        """Return what a solution asks of motors and contacts.

        Args:
            problem: The program.
            x: Its solution, shape (n,).

        Returns:
            Joint torques within their limits [Nm], shape (n_joints,); force and torque of each contact in the
            axes of its force, the torque of a point zero [N, Nm], shape (n_contacts, 6).
        """
        tau, wrenches = np.empty(len(self._tau_max)), np.empty((len(self.contacts), 6))
        rows = problem.tau_rows, problem.tau_offset, self._tau_max
        read_solution(x, *rows, self._unit, self._ends, tau, wrenches)
        return tau, wrenches

    def _constant_rows(self, n_forces: int) -> Array:
        """Return the rows of the cones, and of the normal force of every contact, shape (k, n)."""
        rows = [np.zeros((0, self.n))]
        for contact, columns in zip(self.contacts, self._slices, strict=True):
            block = np.zeros((len(contact.cone), self.n))
            block[:, self._nv :][:, columns] = contact.cone * self._unit[columns] / FORCE_UNIT[0]
            rows.append(block)
        normal = np.zeros((len(self.contacts), self.n))
        for i, columns in enumerate(self._slices):
            normal[i, self._nv + columns.start + NORMAL] = 1.0
        return np.concatenate((*rows, normal))


@compiled
def fill_objective(
    demand: Table,
    J: Table,
    velocity: Column,
    drift: Column,
    contact_J: Table,
    contact_velocity: Column,
    contact_drift: Column,
    q: Column,
    v: Column,
    q_ref: Column,
    v_ref: Column,
    a_ref: Column,
    stiffness: Column,
    damping: Column,
    posture_weight: Column,
    smallest: Column,
    loads: Table,
    ends: Integers,
    force_weight: float,
    H: MutableTable,
    g: MutableColumn,
) -> None:
    """Write Hessian and gradient of sum weight |A a - b|^2 of all tasks, posture and wanted forces.

    Args:
        demand: Rows of the tasks, as `Task` describes them, shape (m, 6).
        J: Jacobian of the rows of the state, shape (r, nv).
        velocity: J v, shape (r,).
        drift: J'v, shape (r,).
        contact_J: Jacobian of the contacts in the axes of their forces, shape (k, nv).
        contact_velocity: Their J v, shape (k,).
        contact_drift: Their J'v, shape (k,).
        q: Joint positions [rad], shape (n_joints,).
        v: Joint velocities [rad/s], shape (n_joints,).
        q_ref: Wanted positions, shape (n_joints,).
        v_ref: Wanted velocities, shape (n_joints,).
        a_ref: Wanted accelerations [rad/s^2], shape (n_joints,).
        stiffness: Of each joint [1/s^2], shape (n_joints,).
        damping: Of each joint [1/s], shape (n_joints,).
        posture_weight: Of each joint, shape (n_joints,).
        smallest: Weight of every unknown, shape (n,).
        loads: Wanted normal force and its limit [N], and whether it is in contact, of each contact,
            shape (c, 3).
        ends: Forces of contact i are those from ends[i] up to ends[i + 1], shape (c + 1,).
        force_weight: Weight of the wanted forces.
        H: Written, shape (n, n).
        g: Written, shape (n,).
    """
    n_base, nv, r = J.shape[1] - len(q), J.shape[1], len(velocity)
    H[:] = 0.0
    g[:] = 0.0
    if len(demand):
        A, b = np.empty((len(demand), nv)), np.empty(len(demand))
        for i in range(len(demand)):
            row = int(demand[i, 0])
            if row < r:
                A[i] = J[row]
                moving, drifting = velocity[row], drift[row]
            else:
                A[i] = contact_J[row - r]
                moving, drifting = contact_velocity[row - r], contact_drift[row - r]
            b[i] = demand[i, 1] + demand[i, 2] + demand[i, 4] * (demand[i, 3] - moving) - drifting
        weighted = demand[:, 5:] * A
        H[:nv, :nv] = weighted.T @ A
        g[:nv] -= b @ weighted
    for i in range(len(g)):
        H[i, i] += smallest[i]
    for i in range(len(q)):
        wanted = a_ref[i] + stiffness[i] * (q_ref[i] - q[i]) + damping[i] * (v_ref[i] - v[i])
        H[n_base + i, n_base + i] += posture_weight[i]
        g[n_base + i] -= posture_weight[i] * wanted
    for i in range(len(loads)):
        g[nv + ends[i] + NORMAL] -= force_weight * loads[i, 0] / NORMAL_UNIT


@compiled
def fill_rows(
    M: Table,
    h: Column,
    J: Table,
    unit: Column,
    tau_max: Column,
    constant: Table,
    loads: Table,
    ends: Integers,
    A: MutableTable,
    C: MutableTable,
    lower: MutableColumn,
    upper: MutableColumn,
) -> None:
    """Write the rows of M a + h - J' f, of the base to A and of the joints to C, and their limits.

    Args:
        M: Mass matrix, shape (nv, nv).
        h: Bias force, shape (nv,).
        J: Jacobians of the contact forces one below the other, shape (k, nv).
        unit: Of the forces, shape (k,).
        tau_max: Torque limits, shape (n_joints,).
        constant: The first rows of C, shape (m, n): those that are not negative, then the normal forces.
        loads: Wanted normal force and its limit [N], and whether it is in contact, of each contact,
            shape (c, 3).
        ends: Forces of contact i are those from ends[i] up to ends[i + 1], shape (c + 1,).
        A: Written, shape (nv - n_joints, n).
        C: Written, shape (m + n_joints, n).
        lower: Written, shape (m + n_joints,).
        upper: Written, shape (m + n_joints,).
    """
    nv, n_base, m, count = len(h), len(A), len(constant), len(loads)
    A[:, :nv] = M[:n_base]
    C[:m] = constant
    C[m:, :nv] = M[n_base:]
    lower[:m], upper[:m] = 0.0, np.inf
    for i in range(count):
        for row in range(ends[i], ends[i + 1]):
            share = -unit[row] * loads[i, 2]  # none of a foot in the air
            A[:, nv + row] = share * J[row, :n_base]
            C[m:, nv + row] = share * J[row, n_base:]
        limit = loads[i, 1] / NORMAL_UNIT
        upper[m - count + i] = limit
        if limit < np.inf:
            lower[m - count + i] = -np.inf
    lower[m:] = -tau_max - h[n_base:]
    upper[m:] = tau_max - h[n_base:]


@compiled
def read_solution(
    x: Column,
    tau_rows: Table,
    tau_offset: Column,
    tau_max: Column,
    unit: Column,
    ends: Integers,
    tau: MutableColumn,
    wrenches: MutableTable,
) -> None:
    """Write the torques of a solution, within their limits, and the wrenches of the contacts.

    Args:
        x: The unknowns, shape (n,).
        tau_rows: Rows T with tau = T x + tau_offset, shape (n_joints, n).
        tau_offset: Shape (n_joints,).
        tau_max: Torque limits, shape (n_joints,).
        unit: Of the forces, shape (k,).
        ends: Forces of contact i are those from ends[i] up to ends[i + 1], shape (c + 1,).
        tau: Shape (n_joints,), NaN where the solution is; written.
        wrenches: Shape (c, 6); written.
    """
    tau[:] = np.minimum(np.maximum(tau_rows @ x + tau_offset, -tau_max), tau_max)
    wrenches[:] = 0.0
    nv = len(x) - len(unit)
    for i in range(len(wrenches)):
        for row in range(ends[i], ends[i + 1]):
            wrenches[i, row - ends[i]] = x[nv + row] * unit[row]
