"""Position of the base by dead reckoning over contacts that are fixed in the world.

A contact that comes into use gets an anchor, its current position in the world, and keeps it while in use.
The position of the base is the weighted mean p_WB = sum_i s_i (a_i - R_WB p_BC,i). It does not drift while a
foot stands, and it is continuous, because the weight of a contact is zero when it comes into use and when it
goes out of use. Without contact the velocity is integrated.
"""

from inertial_estimation.compilation import Column, MutableTable, Table, compiled
from inertial_estimation.spatial.vectors import ZERO, Matrix, Vector, combine, store, times, vector_of


@compiled
def position_after(
    h: float,
    p_WB: Vector,
    started: bool,
    R_WB: Matrix,
    v_WB_B: Vector,
    points_B: Table,
    weights: Column,
    anchors: MutableTable,
) -> tuple[Vector, bool]:
    """Advance the position of the base by one step.

    Args:
        h: Duration of the step [s].
        p_WB: Position of the base in the world at the begin [m].
        started: Whether a contact has been in use; the first ones are put at z = 0.
        R_WB: Orientation of the base in the world.
        v_WB_B: Velocity of the base origin, base frame [m/s].
        points_B: Contact points in the base frame [m], shape (n, 3).
        weights: Their weights, of sum 1 or all zero, shape (n,).
        anchors: Whether each contact has an anchor, and its position in the world [m], shape (n, 4); updated.

    Returns:
        The position at the end [m], and whether a contact has been in use.
    """
    predicted = combine(p_WB, h, times(R_WB, v_WB_B))
    anchored, total, used, height = ZERO, 0.0, False, 0.0
    for i in range(len(weights)):
        if weights[i] <= 0.0:
            anchors[i][0] = 0.0
            continue
        used = True
        lever = times(R_WB, vector_of(points_B[i], 0))
        height += weights[i] * lever[2]
        if anchors[i][0] > 0.0:
            anchored = combine(anchored, weights[i], combine(vector_of(anchors[i], 1), -1.0, lever))
            total += weights[i]
    # Contacts that come into use in this step have no anchor yet and get the predicted position.
    p = combine(anchored, 1.0 - total, predicted) if total < 1.0 else anchored
    if used and not started:
        p, started = (p_WB[0], p_WB[1], -height), True
    for i in range(len(weights)):
        if weights[i] > 0.0 and anchors[i][0] == 0.0:
            anchors[i][0] = 1.0
            store(anchors[i], 1, combine(p, 1.0, times(R_WB, vector_of(points_B[i], 0))))
    return p, started
