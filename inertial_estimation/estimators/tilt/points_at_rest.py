"""Angular velocity of the IMU by points at rest, which keep their distances; arithmetic."""

from inertial_estimation.compilation import Column, Table, inlined
from inertial_estimation.spatial.vectors import ZERO, Vector, add, combine, cross, dot, vector_of

LEAST_SHARE = 0.15  # of the load, below which a point foot may skid, or seem to stand while it swings
SINGULAR = 1e-3  # determinant over the cube of the trace, below which points lie on a line


@inlined
def rate_of_points(motions: Table, weights: Column, w: Vector) -> tuple[Vector, bool]:
    """Return the rate nearest to a given one with which points at rest keep their distances.

    Least squares over the pairs with the first point: (sum |d|^2 1 - d d') delta = -sum d x (d' + w x d).

    Args:
        motions: Rows of `KinematicState.motions`.
        weights: Shares of the contacts; at least two of `LEAST_SHARE`, those that are used.
        w: Angular velocity of the IMU [rad/s].

    Returns:
        Angular velocity [rad/s], and whether the points determine it, which those on a line do not.
    """
    first, xx, yy, zz, xy, xz, yz, right = -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ZERO
    for i in range(len(weights)):
        if weights[i] < LEAST_SHARE:
            continue
        if first < 0:
            first = i
            continue
        d = combine(vector_of(motions[first], 9), -1.0, vector_of(motions[i], 9))
        change = combine(vector_of(motions[first], 12), -1.0, vector_of(motions[i], 12))
        right = combine(right, -1.0, cross(d, add(change, cross(w, d))))
        x, y, z = d
        xx, yy, zz = xx + y * y + z * z, yy + x * x + z * z, zz + x * x + y * y
        xy, xz, yz = xy - x * y, xz - x * z, yz - y * z
    trace = max(xx + yy + zz, 1e-4)
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    c = (cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1]))
    determinant = dot(rows[0], c[0])
    if determinant < SINGULAR * trace**3:  # on a line: |d|^2 is half the trace
        return combine(w, 2.0 / trace, right), False
    scale = 1.0 / determinant
    return combine(w, scale, (dot(c[0], right), dot(c[1], right), dot(c[2], right))), True
