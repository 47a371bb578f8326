"""Weights of the contacts by their vertical force, and the velocity of the IMU from them; arithmetic."""

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.models.contacts import (
    anchor_velocity,
    centre_of_pressure,
    contact_probability,
    trigger,
    weighing_force,
)
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    add,
    combine,
    cross,
    dot,
    matrix_of,
    store,
    times,
    vector_of,
)

# A foot whose velocity is at a distance d from the expected one, with a usual variance s^2 of each axis, has
# the information (NU + 3) / (NU + d^2 / s^2) of a usual foot: maximum likelihood for Student's t-distribution
# of NU degrees of freedom, of which more than two have a finite variance.
NU = 3.0
LOAD_WIDTH = 6  # numbers of a load: point and force
USUAL_MEMORY = 4.0  # time constant of s^2 [s]
INITIAL_VARIANCE, LEAST_VARIANCE = 0.05**2, 0.01**2  # of s^2 [m^2/s^2]

# Numbers of the state: s^2 [m^2/s^2], information of the last velocity over the usual one, the contacts in
# use, a bit for each, whether the motions of the contacts at the begin of the step and whether wrenches are
# known. Behind them the parameters: longest step over which the motion of a contact point is averaged [s],
# `force_on` and `force_off` [N], extent of the soles [m], 0 where the origins of the contacts are at rest,
# whether positions are differentiated, and whether the forces are not sensed at the contacts.
(
    VARIANCE,
    INFORMATION,
    USED,
    BEGIN_KNOWN,
    WRENCHES_KNOWN,
    MAX_GAP,
    ON,
    OFF,
    EXTENT,
    BY_POSITIONS,
    UNSENSED,
    SIZE,
) = range(12)
CLOSED, THRESHOLD, FORCE, PROBABILITY = range(4)  # columns of `triggers`, the 2nd and 3rd in N


@inlined
def weigh(
    h: float,
    vertical: Vector,
    w: Vector,
    judged: bool,
    expected: Vector,
    motions: tuple[Table, Table],
    wrench_frames: Table,
    wrenches: Table,
    triggers: MutableTable,
    centres: MutableTable,
    weights: MutableColumn,
    state: MutableColumn,
) -> tuple[bool, Vector]:
    """Weigh the contacts; return whether any is in use, and the velocity of the IMU in its own frame [m/s].

    Args:
        h: Duration of the step [s].
        vertical: The vertical in the IMU frame.
        w: Angular velocity of the IMU, mean over the step [rad/s].
        judged: Whether contacts that contradict the expected velocity lose weight; otherwise the forces alone
            weigh them.
        expected: Velocity by the IMU, mean over the step [m/s].
        motions: Rows of `KinematicState.motions` at the end of the step and at the last update.
        wrench_frames: Those of the kinematic state.
        wrenches: A row for each contact, in its wrench frame [N, Nm].
        triggers: Whether each contact is in use, its threshold, force and probability; updated.
        centres: Centres of pressure in the contact frames [m]; updated.
        weights: Shares of the contacts in the velocity, of sum 1 or all zero; written, its other numbers not.
        state: Numbers of `ContactVelocity`; updated.
    """
    begin_known = state[BEGIN_KNOWN] > 0.0 and h <= state[MAX_GAP]
    spans = motions[0], motions[1] if begin_known else motions[0]
    difference = h if begin_known and state[BY_POSITIONS] > 0.0 else 0.0
    total, unsensed = 0.0, judged and state[UNSENSED] > 0.0
    for i in range(len(triggers)):
        force_C, torque_C = in_contact_frame(wrench_frames[i], wrenches[i])
        force = dot(vertical, times(matrix_of(spans[0][i], 0), force_C))
        centre = ZERO
        if state[EXTENT] > 0.0:
            centre = centre_of_pressure(force_C, torque_C, state[EXTENT], vector_of(centres[i], 0))
        store(centres[i], 0, centre)
        triggers[i][FORCE] = force
        if unsensed:
            point, velocity = _motion_of_point(spans[0][i], spans[1][i], centres[i], difference)
            d = combine(anchor_velocity(point, velocity, w), -1.0, expected)
            force = weighing_force(force, state[ON], dot(d, d))
        weights[i] = _triggered(force, state[ON], state[OFF], triggers[i])
        total += weights[i]
    state[USED], state[WRENCHES_KNOWN] = 0.0, 1.0
    if total <= 0.0:
        return False, ZERO
    judge = h if judged else 0.0
    return True, _combined(spans, w, difference, (judge, total), expected, centres, weights, state)


@inlined
def _triggered(force: float, on: float, off: float, row: MutableColumn) -> float:
    """Return the weight of a contact, and update its row of `triggers`."""
    row[PROBABILITY] = contact_probability(force, on, off)
    weight, closed, threshold = trigger(force, on, off, row[CLOSED] > 0.0, row[THRESHOLD])
    row[CLOSED], row[THRESHOLD] = 1.0 if closed else 0.0, threshold
    return weight


@inlined
def _combined(
    motions: tuple[Table, Table],
    w: Vector,
    difference: float,
    judge: tuple[float, float],
    expected: Vector,
    centres: Table,
    weights: MutableColumn,
    state: MutableColumn,
) -> Vector:
    """Return the mean velocity of the contacts in use; weights become shares.

    The first number of `judge` is the duration of the step [s], or 0 where contacts that contradict the
    expected velocity keep their weight; the second is the sum of all weights. The others are as in `weigh`.
    """
    step, total = judge
    y_v, used, share, squares = ZERO, 0, 0.0, 0.0
    for i in range(len(centres)):
        if weights[i] > 0.0:
            used |= 1 << i
            point, velocity = _motion_of_point(motions[0][i], motions[1][i], centres[i], difference)
            y = anchor_velocity(point, velocity, w)
            if step > 0.0:
                d = combine(y, -1.0, expected)
                square = dot(d, d)
                information = (NU + 3.0) / (NU + square / state[VARIANCE])
                squares += weights[i] * information * square / 3.0
                weights[i] *= information
            share += weights[i]
            y_v = combine(y_v, weights[i], y)
    for i in range(len(centres)):
        weights[i] /= share
    state[USED], state[INFORMATION] = used, share / total
    seen = squares / total - state[VARIANCE]
    if step > 0.0:
        state[VARIANCE] = max(state[VARIANCE] + step / (step + USUAL_MEMORY) * seen, LEAST_VARIANCE)
    return y_v[0] / share, y_v[1] / share, y_v[2] / share


@inlined
def _motion_of_point(now: Column, before: Column, centre: Column, difference: float) -> tuple[Vector, Vector]:
    """Position and velocity of a contact point relative to the IMU, mean over the step."""
    p1, p0 = contact_point(now, centre), contact_point(before, centre)
    point = (0.5 * (p0[0] + p1[0]), 0.5 * (p0[1] + p1[1]), 0.5 * (p0[2] + p1[2]))
    if difference > 0.0:
        d = combine(p1, -1.0, p0)
        return point, (d[0] / difference, d[1] / difference, d[2] / difference)
    v1, v0 = _point_velocity(now, centre), _point_velocity(before, centre)
    return point, (0.5 * (v0[0] + v1[0]), 0.5 * (v0[1] + v1[1]), 0.5 * (v0[2] + v1[2]))


@inlined
def in_contact_frame(frame: Column, wrench_F: Column) -> tuple[Vector, Vector]:
    """Move a wrench from its own frame to the contact frame: f_C = R f, n_C = R n + p x f_C.

    Args:
        frame: Pose of the wrench frame in the contact frame: R by rows, then p [m], shape (12,).
        wrench_F: Force then moment [N, Nm], shape (6,).
    """
    R_CF = matrix_of(frame, 0)
    force = times(R_CF, vector_of(wrench_F, 0))
    return force, add(times(R_CF, vector_of(wrench_F, 3)), cross(vector_of(frame, 9), force))


@inlined
def contact_point(motion: Column, centre: Column) -> Vector:
    """Return the point of a contact that is at rest, in the IMU frame [m].

    Args:
        motion: Row of `KinematicState.motions`.
        centre: The point in the contact frame [m].
    """
    return add(vector_of(motion, 9), times(matrix_of(motion, 0), vector_of(centre, 0)))


@compiled
def contact_loads(
    imu: Column,
    motions: Table,
    wrench_frames: Table,
    centres: Table,
    wrenches: Table,
    loads: MutableTable,
) -> None:
    """Write point [m] and ground reaction force [N] of every contact, both in the base frame.

    Args:
        imu: As `KinematicState.imu`.
        motions: As `KinematicState.motions`.
        wrench_frames: As `KinematicState.wrench_frames`.
        centres: For each contact the point that is at rest, in the contact frame [m].
        wrenches: For each contact force and moment in its wrench frame [N, Nm].
        loads: Written, shape (n, `LOAD_WIDTH`).
    """
    R_BI, p_BI = matrix_of(imu, 0), vector_of(imu, 9)
    for i in range(len(loads)):
        force_C, _torque_C = in_contact_frame(wrench_frames[i], wrenches[i])
        store(loads[i], 0, add(p_BI, times(R_BI, contact_point(motions[i], centres[i]))))
        store(loads[i], 3, times(R_BI, times(matrix_of(motions[i], 0), force_C)))


@inlined
def _point_velocity(motion: Column, centre: Column) -> Vector:
    lever = times(matrix_of(motion, 0), vector_of(centre, 0))
    return add(vector_of(motion, 12), cross(vector_of(motion, 15), lever))
