"""Motions of contacts relative to an IMU, from the motions of the joints that carry them; arithmetic."""

from typing import NamedTuple

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    inlined,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    Matrix,
    Vector,
    add,
    combine,
    cross,
    matrix_of,
    product,
    store,
    store_matrix,
    times,
    transposed,
    vector_of,
)

# Rows of the table of a `ContactKinematics`: motion of the IMU, laid out as `KinematicState.imu`; velocities
# of the base, which are zero, and of the joints; indices of the joints that carry the IMU, -1 where that does
# not move in the base, and the contacts; placement of the IMU in its joint, orientation by rows and position
# [m]. Then blocks of a row for each contact: placements, motions now and at the last update as in
# `KinematicState.motions`, and wrench frames.
IMU, VELOCITIES, CARRIERS, IMU_PLACEMENT, SINGLE_ROWS = range(5)
PLACEMENTS, MOTIONS, BEFORE, WRENCH_FRAMES, BLOCKS = range(5)
MOTION_WIDTH = 18
# What the motions of contacts are computed from, and where: poses and velocities of all joints of the model,
# as in `JointMotions`, and the table.
Kinematics = tuple[Table, Table, MutableTable]


@inlined
def rows_of_contacts(table: Table, block: int) -> Table:
    """Return a row for each contact, as they lie in the table of a `ContactKinematics`.

    Args:
        table: The table.
        block: Which rows.
    """
    n = (len(table) - SINGLE_ROWS) // BLOCKS
    return table[SINGLE_ROWS + block * n : SINGLE_ROWS + (block + 1) * n]


class RelativeContact(NamedTuple):
    """One contact relative to the IMU, in the IMU frame.

    Attributes:
        R_IC: Orientation of the contact frame.
        r_I: Position of its origin [m].
        v_I: Velocity of its origin relative to the IMU [m/s].
        w_I: Angular velocity relative to the IMU [rad/s].
        R_CF: Orientation of the wrench frame in the contact frame.
        p_CF: Position of the wrench frame in the contact frame [m].
    """

    R_IC: Matrix
    r_I: Vector
    v_I: Vector
    w_I: Vector
    R_CF: Matrix
    p_CF: Vector


class KinematicState(NamedTuple):
    """Contacts and base relative to the IMU at one instant, as numbers for compiled functions.

    Attributes:
        motions: A row for each contact in the configured order: R_IC by rows, r_I, v_I, w_I as in
            `RelativeContact`.
        imu: Motion of the IMU relative to the base: R_BI by rows, p_BI [m], v_BI_B [m/s], w_BI_B [rad/s], the
            last two in base axes.
        wrench_frames: A row for each contact: R_CF by rows, p_CF.
    """

    motions: Array
    imu: Array
    wrench_frames: Array

    @property
    def contacts(self) -> tuple[RelativeContact, ...]:
        """One entry per contact, in the configured order."""
        rows = zip(self.motions, self.wrench_frames, strict=True)
        return tuple(
            RelativeContact(
                matrix_of(m, 0),
                vector_of(m, 9),
                vector_of(m, 12),
                vector_of(m, 15),
                matrix_of(f, 0),
                vector_of(f, 9),
            )
            for m, f in rows
        )

    @property
    def R_BI(self) -> Matrix:
        """Orientation of the IMU in the base."""
        return matrix_of(self.imu, 0)

    @property
    def p_BI(self) -> Vector:
        """Position of the IMU in the base [m]."""
        return vector_of(self.imu, 9)

    @property
    def v_BI_B(self) -> Vector:
        """Velocity of the IMU relative to the base, base frame [m/s]."""
        return vector_of(self.imu, 12)

    @property
    def w_BI_B(self) -> Vector:
        """Angular velocity of the IMU relative to the base, base frame [rad/s]."""
        return vector_of(self.imu, 15)


@inlined
def _in_base(pose: Column, V_J: Column, placement: Column) -> tuple[Matrix, Vector, Vector, Vector]:
    """Orientation, position, velocity and angular velocity of a frame in the base.

    Args:
        pose: Of the joint that carries it.
        V_J: Velocity of that joint.
        placement: Of the frame in the joint.
    """
    R_BJ = transposed(matrix_of(pose, 0))
    w_J, p_J = vector_of(V_J, 3), vector_of(placement, 9)
    v = times(R_BJ, add(vector_of(V_J, 0), cross(w_J, p_J)))
    p = add(vector_of(pose, 9), times(R_BJ, p_J))
    return product(R_BJ, matrix_of(placement, 0)), p, v, times(R_BJ, w_J)


@inlined
def _store(out: MutableColumn, R: Matrix, p: Vector, v: Vector, w: Vector) -> None:
    store_matrix(out, 0, R)
    store(out, 9, p)
    store(out, 12, v)
    store(out, 15, w)


@compiled
def motion_in_base(poses: Table, velocities: Table, joint: int, table: MutableTable) -> None:
    """Write the motion of the IMU relative to the base.

    Args:
        poses: Of the joints, as in `JointMotions`.
        velocities: Of the joints.
        joint: The one that carries the IMU.
        table: That of a `ContactKinematics`; its row `IMU` is written.
    """
    R, p, v, w = _in_base(poses[joint], velocities[joint], table[IMU_PLACEMENT])
    _store(table[IMU], R, p, v, w)


@inlined
def _relative_motion(pose: Column, V_J: Column, placement: Column, imu: Column, out: MutableColumn) -> None:
    """Write the motion of a contact relative to the IMU, seen in the turning IMU frame.

    With d = p_BC - p_BI: r_I = R_BI^T d and v_I = R_BI^T (v_BC - v_BI - w_BI x d), all vectors in the base.
    """
    R_BC, p_BC, v_BC, w_BC = _in_base(pose, V_J, placement)
    R_BI, w_BI = matrix_of(imu, 0), vector_of(imu, 15)
    R_IB = transposed(R_BI)
    d = combine(p_BC, -1.0, vector_of(imu, 9))
    v = combine(combine(v_BC, -1.0, vector_of(imu, 12)), -1.0, cross(w_BI, d))
    w = combine(w_BC, -1.0, w_BI)
    _store(out, product(R_IB, R_BC), times(R_IB, d), times(R_IB, v), times(R_IB, w))


@inlined
def relative_motions(kinematics: Kinematics) -> None:
    """Write the motions of the contacts relative to the IMU; the present ones become those before.

    Args:
        kinematics: What `ContactKinematics.forward` returns.
    """
    poses, velocities, table = kinematics
    carriers, placements = table[CARRIERS], rows_of_contacts(table, PLACEMENTS)
    motions, before = rows_of_contacts(table, MOTIONS), rows_of_contacts(table, BEFORE)
    if carriers[0] >= 0.0:
        motion_in_base(poses, velocities, int(carriers[0]), table)
    for i in range(len(motions)):
        before[i][:] = motions[i]
        j = int(carriers[i + 1])
        _relative_motion(poses[j], velocities[j], placements[i], table[IMU], motions[i])


@compiled
def update_contacts(kinematics: Kinematics) -> None:
    """Write the motions of the contacts, as `relative_motions` does within other compiled functions."""
    relative_motions(kinematics)
