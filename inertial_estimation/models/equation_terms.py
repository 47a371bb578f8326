"""Terms of the measurement equation out of the kinematics that Pinocchio leaves in memory; arithmetic.

With J the Jacobian of all joints at the origin of the base, in its axes, the columns of a body are J' F in
the velocities that move it: F holds the wrench that each of its parameters takes to move it, at that origin.
A contact Jacobian is J seen from the wrench frame. The kinematics are four tables: J' (nv, 6), the poses of
all joints, their velocities, and their accelerations with gravity, laid out as in `pinocchio_memory`.
"""

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    inlined,
)
from inertial_estimation.models.row_covariance import covariance_of_rows, effect_of_sensed
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import skew
from inertial_estimation.spatial.vectors import (
    ZERO,
    Matrix,
    Vector,
    add,
    cross,
    matrix_of,
    product,
    times,
    transposed,
    transposed_times,
    vector_of,
)

Kinematics = tuple[Array, Array, Array, Array]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def _wrenches_by_parameter() -> Array:
    """Coefficients of a body's wrench by parameter, linear in acceleration, w' and w w', shape (60, 15)."""
    turn = np.array([skew(axis) for axis in np.eye(3)]).transpose(1, 0, 2)  # (a x b)_i = turn_ijk a_j b_k
    C = np.zeros((6, 10, 15))
    C[:3, 0, :3] = np.eye(3)
    C[:3, 1:4, 3:6] = turn.transpose(0, 2, 1)  # w' x e_k
    C[3:, 1:4, :3] = turn  # e_k x acceleration
    squares = C[:, :, 6:].reshape(6, 10, 3, 3)  # a view
    for k in range(3):  # w x (w x e_k) = w w_k - e_k w.w
        squares[[0, 1, 2], 1 + k, [0, 1, 2], k] += 1.0
        squares[k, 1 + k, [0, 1, 2], [0, 1, 2]] -= 1.0
    for column, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)), 4):
        basis = np.zeros((3, 3))
        basis[i, j] = basis[j, i] = 1.0
        C[3:, column, 3:6] = basis  # I w'
        squares[3:, column] = np.einsum("ilm,mj->ilj", turn, basis)  # w x I w
    return C.reshape(60, 15)


_BY_PARAMETER = _wrenches_by_parameter()


def body_wrenches(pose: Array, v: Array, a: Array, F: Array) -> None:
    """Write the wrenches that move a body by its parameters, at the origin of the base in its axes.

    Args:
        pose: Of the joint that carries it, shape (12,).
        v: Its velocity, own axes, shape (6,).
        a: Its acceleration with gravity, own axes, shape (6,).
        F: A column for each parameter in Pinocchio's order, shape (6, 10); written.
    """
    R, w = pose[:9].reshape(3, 3).T, v[3:]
    numbers = np.empty(15)
    numbers[:3] = a[:3] + skew(w) @ v[:3]
    numbers[3:6] = a[3:]
    numbers[6:] = (w[:, None] * w).ravel()
    own = (_BY_PARAMETER @ numbers).reshape(6, 10)
    F[:3] = R @ own[:3]
    F[3:] = R @ own[3:] + skew(pose[9:]) @ F[:3]


@inlined
def _store_wrench(F: Array, column: int, pose: tuple[Matrix, Vector], force: Vector, moment: Vector) -> None:
    f = times(pose[0], force)
    n = add(times(pose[0], moment), cross(pose[1], f))
    F[0, column], F[1, column], F[2, column] = f
    F[3, column], F[4, column], F[5, column] = n


@in_place_of(body_wrenches)
def _body_wrenches(row: Array, v: Array, a: Array, F: Array) -> None:
    pose = transposed(matrix_of(row, 0)), vector_of(row, 9)
    w, turn = vector_of(v, 3), vector_of(a, 3)
    acceleration = add(vector_of(a, 0), cross(w, vector_of(v, 0)))
    _store_wrench(F, 0, pose, acceleration, ZERO)
    axes = (X, Y, Z)
    for k in range(3):
        force = add(cross(turn, axes[k]), cross(w, cross(w, axes[k])))
        _store_wrench(F, 1 + k, pose, force, cross(axes[k], acceleration))
    (wx, wy, wz), (tx, ty, tz) = w, turn
    of_w = ((wx, 0.0, 0.0), (wy, wx, 0.0), (0.0, wy, 0.0), (wz, 0.0, wx), (0.0, wz, wy), (0.0, 0.0, wz))
    of_turn = ((tx, 0.0, 0.0), (ty, tx, 0.0), (0.0, ty, 0.0), (tz, 0.0, tx), (0.0, tz, ty), (0.0, 0.0, tz))
    for k in range(6):
        _store_wrench(F, 4 + k, pose, ZERO, add(of_turn[k], cross(w, of_w[k])))


def body_columns(Jt: Array, moving: Array, F: Array, A: Array, first: int) -> None:
    """Write the columns of a body.

    Args:
        Jt: J', shape (nv, 6).
        moving: One for velocities that move the body, zero for others, shape (nv,).
        F: Its wrenches by parameter, shape (6, 10).
        A: Ten columns are written, shape (nv, k).
        first: The first of these.
    """
    A[:, first : first + 10] = (Jt @ F) * moving[:, None]


@in_place_of(body_columns)
def _body_columns(Jt: Array, moving: Array, F: Array, A: Array, first: int) -> None:
    for i in range(len(Jt)):
        if moving[i] == 0.0:
            A[i, first : first + 10] = 0.0
            continue
        row, out = Jt[i], A[i]
        for k in range(10):
            total = row[0] * F[0, k] + row[1] * F[1, k] + row[2] * F[2, k]
            out[first + k] = total + row[3] * F[3, k] + row[4] * F[4, k] + row[5] * F[5, k]


def contact_jacobian(pose: Array, placement: Array, moving: Array, Jt: Array, J_C: Array, first: int) -> None:
    """Write the Jacobian of a contact, in the axes of its wrench frame.

    Args:
        pose: Of the joint that carries the contact, shape (12,).
        placement: Of the wrench frame in that joint, orientation by rows and position, shape (12,).
        moving: One for velocities that move the joint, zero for others, shape (nv,).
        Jt: J', shape (nv, 6).
        J_C: Six rows are written, shape (m, nv).
        first: The first of these.
    """
    R_BJ = pose[:9].reshape(3, 3).T
    R_FB = (R_BJ @ placement[:9].reshape(3, 3)).T
    J = Jt.T * moving
    J_C[first : first + 3] = R_FB @ (J[:3] - skew(pose[9:] + R_BJ @ placement[9:]) @ J[3:])
    J_C[first + 3 : first + 6] = R_FB @ J[3:]


@in_place_of(contact_jacobian)
def _contact_jacobian(
    pose: Array, placement: Array, moving: Array, Jt: Array, J_C: Array, first: int
) -> None:
    R_BJ = transposed(matrix_of(pose, 0))
    R_BF = product(R_BJ, matrix_of(placement, 0))
    p_BF = add(vector_of(pose, 9), times(R_BJ, vector_of(placement, 9)))
    for i in range(len(Jt)):
        v, w = vector_of(Jt[i], 0), vector_of(Jt[i], 3)
        share = moving[i]
        at_contact = transposed_times(R_BF, add(v, cross(w, p_BF)))
        turning = transposed_times(R_BF, w)
        for k in range(3):
            J_C[first + k, i] = share * at_contact[k]
            J_C[first + 3 + k, i] = share * turning[k]


@inlined
def _fill_terms(
    kinematics: tuple[Table, Table, Table, Table],
    bodies: tuple[Integers, Table],
    contacts: tuple[Integers, Table, Table],
    torques: tuple[Column, Column, Column],
    A: MutableTable,
    J_C: MutableTable,
    forces: MutableTable,
) -> None:
    Jt, poses, v, a = kinematics
    F = np.empty((6, 10))
    for i in range(len(bodies[0])):
        j = bodies[0][i]
        body_wrenches(poses[j], v[j], a[j], F)
        body_columns(Jt, bodies[1][i], F, A, 10 * i)
    for i in range(len(contacts[0])):
        contact_jacobian(poses[contacts[0][i]], contacts[1][i], contacts[2][i], Jt, J_C, 6 * i)
    rest, tau, wrenches = torques
    applied = np.zeros(len(rest))
    if len(tau):
        applied[len(rest) - len(tau) :] = tau
    if len(wrenches):
        applied += wrenches @ J_C
    forces[0] = applied - rest
    forces[1] = applied


@compiled
def fill_terms(
    kinematics: tuple[Table, Table, Table, Table],
    bodies: tuple[Integers, Table],
    contacts: tuple[Integers, Table, Table],
    torques: tuple[Column, Column, Column],
    A: MutableTable,
    J_C: MutableTable,
    forces: MutableTable,
) -> None:
    """Write the columns of bodies, contact Jacobians and generalized forces of one state.

    Args:
        kinematics: The four tables.
        bodies: Joints of the bodies, and ones for the velocities that move each of them, shape (n, nv).
        contacts: Joints of the contacts, placements of their wrench frames in them, shape (n_contacts, 12),
            and ones for the velocities that move each of them, shape (n_contacts, nv).
        torques: Those of the rest of the robot, shape (nv,); the measured ones, shape (n_joints,), and the
            measured wrenches, shape (6 n_contacts,), each empty where nothing is measured.
        A: Regressor, the columns of bodies first; these are written, shape (nv, k).
        J_C: Contact Jacobians, wrench frames' axes; written, shape (6 n_contacts, nv).
        forces: What acts less the torques of the rest, and what acts, S' tau + sum J' lambda; written, shape
            (2, nv).
    """
    _fill_terms(kinematics, bodies, contacts, torques, A, J_C, forces)


@compiled
def fill_equation(
    kinematics: tuple[Table, Table, Table, Table],
    bodies: tuple[Integers, Table],
    contacts: tuple[Integers, Table, Table],
    torques: tuple[Column, Column, Column],
    rows: tuple[Integers, Table],
    imu: tuple[int, Table],
    moving: Integers,
    sigmas: tuple[Column, Column, Column],
    A: MutableTable,
    J_C: MutableTable,
    forces: MutableTable,
    sensed: MutableTable,
    of_contacts: MutableTable,
    R: MutableTable,
) -> None:
    """Write the terms of one state, as `fill_terms`, and the noise of the rows that are picked of them.

    Args:
        kinematics: As for `fill_terms`.
        bodies: As for `fill_terms`.
        contacts: As for `fill_terms`.
        torques: As for `fill_terms`.
        rows: Velocities whose rows are picked, shape (k,), and these rows of the mass matrix, shape (k, nv).
        imu: As `SensedAccelerations.imu`.
        moving: As `SensedAccelerations.moving`.
        sigmas: As `RowCovariance.sigmas`.
        A: As for `fill_terms`.
        J_C: As for `fill_terms`.
        forces: As for `fill_terms`.
        sensed: Effect of an error of each sensed acceleration on the rows; written, shape (k, nv).
        of_contacts: Contact Jacobians in the picked columns; written, shape (6 n_contacts, k).
        R: Covariance of the noise; written, shape (k, k).
    """
    _fill_terms(kinematics, bodies, contacts, torques, A, J_C, forces)
    picked, inertia = rows
    if len(picked) < len(A):
        of_contacts[:] = J_C[:, picked]
    effect_of_sensed(inertia, kinematics[1], kinematics[0], imu, moving, sensed)
    covariance_of_rows(sensed, of_contacts, sigmas, R)
