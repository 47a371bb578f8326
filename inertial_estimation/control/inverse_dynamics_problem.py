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
        self._dims = [contact.dim for contact in self.contacts]
        self._normals = np.array([nv + columns.start + NORMAL for columns in self._slices], dtype=np.int64)
        n_forces = sum(self._dims)
        self.n = nv + n_forces
        self._unit = np.concatenate([np.zeros(0), *(FORCE_UNIT[: contact.dim] for contact in self.contacts)])
        self._constant = self._constant_rows(n_forces)
        self._smallest = np.full(self.n, SMALLEST_WEIGHT)
        self._smallest[nv:] += force_weight
        self.n_rows = len(self._constant) + n_joints

    def build(self, tasks: TaskStack, loads: Sequence[ContactDemand]) -> InverseDynamicsProblem:
        """Build the program at one instant.

        Args:
            tasks: What is wanted, at which state.
            loads: What each contact should carry.

        Returns:
            The program.
        """
        h, n_base, nv = tasks.state.h, self.n_base, self._nv
        demands = np.array([(load.force, load.limit, load.in_contact) for load in loads], dtype=float)
        force, limit, in_contact = demands.reshape(-1, 3).T
        H, g = self._objective(tasks)
        g[self._normals] -= self._force_weight * force / NORMAL_UNIT
        forces = -tasks.contacts.jacobian.T * (self._unit * np.repeat(in_contact, self._dims))
        motion = np.hstack((tasks.state.M, forces))  # rows of M a + h - J' f but for h
        limits = np.repeat([[0.0], [np.inf]], self.n_rows, axis=1)
        count, of_forces = len(limit), len(self._constant)
        limits[0, of_forces - count : of_forces][limit < np.inf] = -np.inf
        limits[1, of_forces - count : of_forces] = limit / NORMAL_UNIT
        limits[:, of_forces:] = [-self._tau_max - h[n_base:nv], self._tau_max - h[n_base:nv]]
        C, tau_rows = np.vstack((self._constant, motion[n_base:])), motion[n_base:]
        A, b = motion[:n_base], -h[:n_base]
        return InverseDynamicsProblem(H, g, A, b, C, limits[0], limits[1], tau_rows, h[n_base:], tasks)

    def _objective(self, tasks: TaskStack) -> tuple[Array, Array]:
        """Return Hessian and gradient of sum weight |A a - b|^2 of all tasks and the posture."""
        state, posture, demand = tasks.state, tasks.posture, tasks.demand
        n_base, nv = self.n_base, self._nv
        rows = demand[:, 0].astype(np.int64)
        of = tasks.state.rows, tasks.contacts
        A = np.concatenate([one.jacobian for one in of])[rows]
        moving = np.concatenate([one.velocity for one in of])[rows]
        drifting = np.concatenate([one.drift for one in of])[rows]
        b = demand[:, 1] + demand[:, 2] + demand[:, 4] * (demand[:, 3] - moving) - drifting
        weighted, weights, g = demand[:, 5:] * A, self._smallest.copy(), np.zeros(self.n)
        weights[n_base:nv] += posture.weight
        H = np.diag(weights)
        H[:nv, :nv] += weighted.T @ A
        g[:nv] = -b @ weighted
        errors = posture.q_ref - state.q, posture.v_ref - state.v[n_base:]
        wanted = posture.a_ref + posture.stiffness * errors[0] + posture.damping * errors[1]
        g[n_base:nv] -= posture.weight * wanted
        return H, g

    def answer(self, problem: InverseDynamicsProblem, x: Array) -> tuple[Array, Array]:
        """Return what a solution asks of motors and contacts.

        Args:
            problem: The program.
            x: Its solution, shape (n,).

        Returns:
            Joint torques within their limits [Nm], shape (n_joints,); force and torque of each contact in the
            axes of its force, the torque of a point zero [N, Nm], shape (n_contacts, 6).
        """
        tau = np.clip(problem.tau_rows @ x + problem.tau_offset, -self._tau_max, self._tau_max)
        wrenches, forces = np.zeros((len(self.contacts), 6)), x[self._nv :] * self._unit
        for wrench, columns, dim in zip(wrenches, self._slices, self._dims, strict=True):
            wrench[:dim] = forces[columns]
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
