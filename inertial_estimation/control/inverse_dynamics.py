"""Inverse dynamics as a quadratic program: contacts, the program as data, its solution by ProxQP.

Unknowns x = [a, phi]: acceleration and contact forces in units of `FORCE_UNIT`.

    minimise    sum_tasks w |A a - b|^2 + sum_contacts w_f |phi - phi_ref|^2
    subject to  the base rows of M a + h = J' f                (the base has no motors)
                0 <= G f, f_z <= f_max                         (friction, centre of pressure, largest load)
                -tau_max <= S (M a + h - J' f) <= tau_max      (torque limits)

a = -M^-1 h, f = 0 satisfies all of it: the program always has a solution.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from proxsuite import proxqp

from inertial_estimation.control.tasks import Task
from inertial_estimation.models.robot_config import StanceConfig, contact_points
from inertial_estimation.models.whole_body_dynamics import DynamicsState, FrameMotion, MotionRows
from inertial_estimation.signals import Array

FORCE_UNIT = np.array([100.0, 100.0, 100.0, 10.0, 10.0, 10.0])  # scale of a force [N] and a torque [Nm]
EDGE_SHARE = 0.125  # margin of the centre of pressure from the edges, as a share of a sole's shorter side
FORCE_WEIGHT = 1e-3  # w_f, small: it only determines what the tasks leave free


class Contact(NamedTuple):
    """Geometry and force limits of one contact.

    A sole transmits a wrench, given in its own frame at its origin; a point transmits a force, given in
    world axes or those of the ground (a point foot rolls, so its own axes are arbitrary).
    """

    name: str
    points_C: Array  # corners of the sole, or the point, in the contact frame [m], shape (4 or 1, 3)
    centre_C: Array  # mean of these points [m], shape (3,)
    cone: Array  # rows G with G f >= 0 for every force the ground can give, shape (k, dim)

    @property
    def dim(self) -> int:
        """Number of force coordinates: 6 for a sole, 3 for a point."""
        return int(self.cone.shape[1])

    @property
    def margin(self) -> float:
        """Distance that the desired centre of pressure keeps from the edges of a sole [m]; 0 for a point."""
        return EDGE_SHARE * float(np.ptp(self.points_C[:, :2], axis=0).min())

    @property
    def is_sole(self) -> bool:
        """Whether it transmits torque."""
        return self.dim == 6

    def motion(self, frame: FrameMotion, R_WG: Array | None = None) -> MotionRows:
        """Return the contact's motion in the axes of its force; R_WG: ground axes of a point, None: world."""
        R, n = frame.R_WF if self.is_sole else R_WG, self.dim
        J, velocity, drift = frame.jacobian[:n], frame.velocity[:n], frame.drift[:n]
        if R is None:
            return MotionRows(J, velocity, drift)
        turn = np.zeros((n, n))
        turn[:3, :3] = turn[-3:, -3:] = R.T
        return MotionRows(turn @ J, turn @ velocity, turn @ drift)


def make_contacts(stance: StanceConfig, names: Sequence[str], friction: float) -> tuple[Contact, ...]:
    """Build the contacts of a robot.

    Args:
        stance: Rectangles of the soles; without them every contact is a point.
        names: Names of the contacts.
        friction: Coefficient of friction of the ground.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If a rectangle is wrong.
    """
    mu = friction / math.sqrt(2.0)  # the pyramid inside the cone
    pyramid = np.array([[-1.0, 0.0, mu], [1.0, 0.0, mu], [0.0, -1.0, mu], [0.0, 1.0, mu], [0.0, 0.0, 1.0]])
    contacts = []
    for name, points in zip(names, contact_points(stance, names), strict=True):
        cone = pyramid if len(points) == 1 else _sole_cone(points, pyramid, mu)
        contacts.append(Contact(name, points, points.mean(axis=0), cone))
    return tuple(contacts)


def _sole_cone(points: Array, pyramid: Array, mu: float) -> Array:
    """Rows for a rectangle: pyramid, centre of pressure inside, spin about the centre.

    Centre of pressure x = -n_y / f_z, y = n_x / f_z. Spin: |n_z - (c_x f_y - c_y f_x)| <= mu r f_z with c
    the centre and r the shorter half side.
    """
    (x0, y0), (x1, y1) = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    cx, cy, spin = 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * mu * min(x1 - x0, y1 - y0)
    pressure = [
        [0.0, 0.0, -x0, 0.0, -1.0, 0.0],
        [0.0, 0.0, x1, 0.0, 1.0, 0.0],
        [0.0, 0.0, -y0, 1.0, 0.0, 0.0],
        [0.0, 0.0, y1, -1.0, 0.0, 0.0],
        [-cy, cx, spin, 0.0, 0.0, -1.0],
        [cy, -cx, spin, 0.0, 0.0, 1.0],
    ]
    return np.vstack((np.hstack((pyramid, np.zeros((5, 3)))), pressure))


class ContactLoad(NamedTuple):
    """Wanted and largest normal force of a contact."""

    force: float  # wanted normal force [N]
    limit: float  # largest normal force allowed [N]; 0 for a foot in the air


class QuadraticProgram(NamedTuple):
    """One program: min x'Hx/2 + g'x, A x = b, lower <= C x <= upper.

    The last rows of C, one a joint, are its torque less `tau_offset`.
    """

    H: Array  # shape (n, n)
    g: Array  # shape (n,)
    A: Array  # shape (n_base, n)
    b: Array  # shape (n_base,)
    C: Array  # shape (k, n)
    lower: Array  # shape (k,)
    upper: Array  # shape (k,)
    tau_offset: Array  # shape (n_joints,)

    def torques(self, x: Array) -> Array:
        """Return the joint torques of a solution [Nm], shape (n_joints,)."""
        rows: Array = self.C[len(self.C) - len(self.tau_offset) :]
        return rows @ x + self.tau_offset


class ProgramBuilder:
    """Builds the programs of one robot, whose size never changes.

    Attributes:
        contacts: The contacts, in the order of the frames of the state.
        size: Number of unknowns, of equality rows and of inequality rows.
    """

    def __init__(self, contacts: Sequence[Contact], nv: int, tau_max: Array) -> None:
        """Lay out unknowns and rows.

        Args:
            contacts: The contacts.
            nv: Number of velocity coordinates.
            tau_max: Torque limits of the joints [Nm], shape (n_joints,).
        """
        self.contacts = tuple(contacts)
        ends = np.cumsum([nv, *(contact.dim for contact in contacts)]).tolist()
        self._places = [slice(*of_one) for of_one in pairwise(ends)]
        n, n_forces = ends[-1], ends[-1] - nv
        self._nv, self._tau_max = nv, tau_max
        self._units = np.concatenate([np.zeros(0), *(FORCE_UNIT[: one.dim] for one in contacts)])
        self._normals = [place.start + 2 for place in self._places]  # the z axes
        cones = [np.zeros((0, n))]
        for contact, place in zip(contacts, self._places, strict=True):
            cones.append(np.zeros((len(contact.cone), n)))
            cones[-1][:, place] = contact.cone * FORCE_UNIT[: contact.dim] / FORCE_UNIT[0]
        self._ground = np.vstack((*cones, np.eye(n)[self._normals]))
        self._weights = np.repeat([0.0, FORCE_WEIGHT], [nv, n_forces])
        self.size = n, nv - len(tau_max), len(self._ground) + len(tau_max)

    def build(
        self,
        state: DynamicsState,
        tasks: Sequence[Task],
        motions: Sequence[MotionRows] = (),
        loads: Sequence[ContactLoad] = (),
    ) -> QuadraticProgram:
        """Build the program at one instant.

        Args:
            state: Dynamics now.
            tasks: Tasks whose weighted squared residuals are minimised.
            motions: Motion of each contact in the axes of its force.
            loads: Wanted and largest normal force of each contact.
        """
        (n, n_base, _), nv, unit = self.size, self._nv, FORCE_UNIT[0]
        A, b = np.vstack([task.A for task in tasks]), np.concatenate([task.b for task in tasks])
        weights = np.concatenate([np.full(len(task.b), task.weight) for task in tasks])
        weighted = weights[:, None] * A
        H, g = np.diag(self._weights), np.zeros(n)
        H[:nv, :nv] += weighted.T @ A
        g[:nv] = -b @ weighted
        g[self._normals] = [-FORCE_WEIGHT * load.force / unit for load in loads]
        motion = np.zeros((nv, n))  # rows of M a - J' f
        motion[:, :nv] = state.M
        for one, place, load in zip(motions, self._places, loads, strict=True):
            if load.limit > 0.0:
                motion[:, place] = -one.jacobian.T
        motion[:, nv:] *= self._units
        tau_offset, n_cones = state.h[n_base:], len(self._ground) - len(loads)
        highest = [load.limit / unit for load in loads]
        lower = np.concatenate((np.zeros(n_cones), np.full(len(loads), -np.inf), -self._tau_max - tau_offset))
        upper = np.concatenate((np.full(n_cones, np.inf), highest, self._tau_max - tau_offset))
        C = np.vstack((self._ground, motion[n_base:]))
        return QuadraticProgram(H, g, motion[:n_base], -state.h[:n_base], C, lower, upper, tau_offset)

    def wrenches(self, x: Array) -> Array:
        """Return the wrench of each contact in a solution, in the axes of its force, shape (m, 6).

        The torque of a point is zero.
        """
        found, forces = np.zeros((len(self.contacts), 6)), x[self._nv :] * self._units
        for row, place in zip(found, self._places, strict=True):
            row[: place.stop - place.start] = forces[place.start - self._nv : place.stop - self._nv]
        return found


TOLERANCE = 1e-4  # residual of the optimality conditions at which a program counts as solved
MAX_ITERATIONS = 10, 6  # outer iterations, Newton iterations in each: they bound the time of a solution
STATUS = {
    proxqp.QPSolverOutput.PROXQP_SOLVED: "solved",
    proxqp.QPSolverOutput.PROXQP_MAX_ITER_REACHED: "iterations exhausted",
    proxqp.QPSolverOutput.PROXQP_PRIMAL_INFEASIBLE: "infeasible",
    proxqp.QPSolverOutput.PROXQP_DUAL_INFEASIBLE: "unbounded",
}


class QpSolution(NamedTuple):
    """Result of the solver."""

    x: Array  # the unknowns, shape (n,); only to be used when `solved`
    status: str  # "solved", "not finite", "not run", or another one of `STATUS`
    iterations: int

    @property
    def solved(self) -> bool:
        """Whether `x` is the solution."""
        return self.status == "solved"


class QpSolver:
    """Dense ProxQP, set up with the first program, then updated in place and started from the last result."""

    def __init__(
        self,
        size: tuple[int, int, int],
        tolerance: float = TOLERANCE,
        iterations: tuple[int, int] = MAX_ITERATIONS,
    ) -> None:
        """Set the numbers of unknowns, equality and inequality rows, tolerance and iterations."""
        self._size, self._tolerance, self._iterations = size, tolerance, iterations
        self.reset()

    def reset(self) -> None:
        """Discard the last solution, which warm starts the next one."""
        self._qp, self._started = proxqp.dense.QP(*self._size), False
        settings = self._qp.settings
        settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
        settings.eps_abs, settings.eps_rel = self._tolerance, 0.0
        settings.max_iter, settings.max_iter_in = self._iterations

    def solve(self, program: QuadraticProgram) -> QpSolution:
        """Return the solution of a program, or a status that tells why there is none."""
        p = program
        if not (np.isfinite(p.H).all() and np.isfinite(p.g).all() and np.isfinite(p.tau_offset).all()):
            return QpSolution(np.zeros(self._size[0]), "not finite", 0)
        arguments = {"H": p.H, "g": p.g, "C": p.C}
        arguments |= {"l": p.lower, "u": p.upper} | ({"A": p.A, "b": p.b} if self._size[1] else {})
        if self._started:
            self._qp.update(**arguments, update_preconditioner=False)
        else:
            self._qp.init(**arguments)
        self._started = True
        self._qp.solve()
        info, x = self._qp.results.info, np.array(self._qp.results.x)
        status = STATUS.get(info.status, "not run")
        if status == "solved" and not np.isfinite(x).all():
            status = "not finite"
        if status != "solved":
            self.reset()
        return QpSolution(x, status, int(info.iter))
