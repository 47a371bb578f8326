"""Forces on contact points at the end of a step, each point sticking, slipping or leaving the ground.

Let u = J v be the points' velocities, A = J M^-1 J', k the forces of the springs at the beginning of the step
and b = D + h K. The forces at the end of the step satisfy

    f = P (k - b u'),   u' = u_free + h A f,

with P by mode: the identity for a sticking point, zero for one that leaves, and for a slipping one the
projection on its normal force and Coulomb's force across it. All vectors are in ground axes (two tangents,
then the normal).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgesv, dposv

from inertial_estimation.signals import Array

MAX_SOLVES = 6
DIRECTION_TOLERANCE = 1e-3  # change of the direction of slip below which the modes are converged [rad]
SMALLEST_FORCE = 1e-300  # keeps the direction of a zero force finite [N]
Flags = NDArray[np.bool_]


def end_of_step_forces(hbA: Array, right: Array, candidates: Flags, mu: float) -> tuple[Array, Flags]:
    """Compute the forces and the set of slipping points.

    Args:
        hbA: h b A, shape (3 m, 3 m).
        right: k - b u_free [N], shape (3 m,).
        candidates: Points that may touch the ground in this step, shape (m,).
        mu: Coulomb friction coefficient.

    Returns:
        Forces [N], shape (3 m,), and whether each point slips, shape (m,).
    """
    force = _sticking_forces(hbA, right, candidates)
    x, y, z = force.reshape(-1, 3).T
    if all(((z >= 0.0) & (x * x + y * y <= mu**2 * z * z)).tolist()):
        return force, np.zeros(len(candidates), dtype=bool)
    return _solve_modes(hbA, right, candidates, mu, force)


def friction_cone_forces(trial: Array, touching: Flags, mu: float) -> Array:
    """Project forces to the friction cone.

    Args:
        trial: Forces of the springs and dampers [N], shape (m, 3).
        touching: Points that touch the ground; the others have zero force, shape (m,).
        mu: Coulomb friction coefficient.

    Returns:
        Normal forces of at least zero, forces across of at most mu times that [N], shape (m, 3).
    """
    f_n = np.maximum(trial[:, 2], 0.0) * touching
    size = np.hypot(trial[:, 0], trial[:, 1])
    scale = np.minimum(mu * f_n / np.maximum(size, SMALLEST_FORCE), 1.0)
    force: Array = trial * scale[:, None]
    force[:, 2] = f_n
    return force


def _solve_modes(
    hbA: Array, right: Array, candidates: Flags, mu: float, sticking: Array
) -> tuple[Array, Flags]:
    """Alternate between modes and forces, starting with the forces of sticking candidates."""
    m = len(candidates)
    modes, direction, trial = (candidates.tolist(), [False] * m), np.zeros((m, 2)), sticking.reshape(m, 3)
    for solves in range(1, MAX_SOLVES + 1):
        size = np.hypot(trial[:, 0], trial[:, 1])
        loaded = candidates & (trial[:, 2] > 0.0)
        slips = loaded & (size > mu * trial[:, 2])
        found = loaded.tolist(), slips.tolist()
        turned = trial[:, :2] / np.maximum(size, SMALLEST_FORCE)[:, None]
        turn = np.abs((turned - direction)[slips]).max(initial=0.0)
        if (found == modes and turn < DIRECTION_TOLERANCE) or solves == MAX_SOLVES:
            break
        modes, direction = found, turned
        trial = _trial_forces(hbA, right, loaded & ~slips, slips, mu * direction)
    return friction_cone_forces(trial, candidates, mu).ravel(), slips


def _trial_forces(hbA: Array, right: Array, sticks: Flags, slips: Flags, mu_direction: Array) -> Array:
    """Forces of springs and dampers at the end of a step with given modes, shape (m, 3)."""
    m = len(sticks)
    P = np.zeros((m, 3, 3))
    P[sticks] = np.eye(3)
    P[slips, 2, 2] = 1.0
    P[slips, :2, 2] = mu_direction[slips]
    left = (P @ hbA.reshape(m, 3, 3 * m)).reshape(3 * m, 3 * m)
    left.ravel()[:: 3 * m + 1] += 1.0
    force = dgesv(left, (P @ right.reshape(m, 3, 1)).ravel())[2]
    trial: Array = (right - hbA @ force).reshape(m, 3)
    return trial


def _sticking_forces(hbA: Array, right: Array, candidates: Flags) -> Array:
    """Forces with which all candidates stick, shape (3 m,); zero at the other points."""
    rows = np.repeat(candidates, 3).nonzero()[0]
    left = hbA.copy() if len(rows) == len(hbA) else hbA[rows[:, None], rows]
    left.ravel()[:: len(left) + 1] += 1.0
    force = np.zeros(len(right))
    force[rows] = dposv(left, right[rows])[1]
    return force
