"""Orientation, position and twist of the base from the state of the tilt observer, step by step."""

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    cells,
    inlined,
)
from inertial_estimation.estimators.tilt.base_position import position_after
from inertial_estimation.estimators.tilt.estimator_memory import ANCHORS, BASE, VARIANCES, block_of
from inertial_estimation.estimators.tilt.tilt_uncertainty import TiltUncertainty, UncertaintyConfig
from inertial_estimation.estimators.tilt.yaw import turned
from inertial_estimation.models.imu import base_twist
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Vector,
    add,
    align_rows,
    combine,
    matrix_of,
    store,
    store_matrix,
    times,
    vector_of,
)

# Numbers of the track: orientation and position of the base in the world, R_WB by rows and p_WB [m], whether
# a contact has been in use; whether a reference gives the yaw, and its orientation of the base.
ORIENTATION, POSITION, STARTED, REFERENCED, REFERENCE, SIZE = 0, 9, 12, 13, 14, 23


class BaseTrack:
    """Orientation and position of the base: the tilt is the observer's, yaw and position are integrated.

    Attributes:
        uncertainty: Variances of the orientation.
        row: Numbers of the track, for `advance_base`.
    """

    def __init__(self, uncertainty: UncertaintyConfig, memory: Array) -> None:
        """Begin above the origin.

        Args:
            uncertainty: Standard deviations from which the covariance is computed.
            memory: Of the estimator (`estimator_memory`).
        """
        self.row, self._anchors = memory[BASE], block_of(memory, ANCHORS)
        self.uncertainty = TiltUncertainty(uncertainty, memory[VARIANCES])
        self._cells = cells(self.row)
        self.reset()
        self.start((0.0, 0.0, 1.0))

    def reset(self) -> None:
        """Discard the anchors, return to the initial position and to the initial uncertainty."""
        for anchor in self._anchors:
            anchor[0] = 0.0
        store(self._cells, POSITION, ZERO)
        self._cells[STARTED] = 0.0
        self.uncertainty.reset()

    def start(self, x2_B: Vector) -> None:
        """Begin with a tilt and zero yaw.

        Args:
            x2_B: The vertical in the base frame.
        """
        store_matrix(self._cells, ORIENTATION, align_rows(IDENTITY, x2_B))

    def refer(self, R_reference: Matrix | None) -> None:
        """Take the yaw of the next step from an external reference.

        Args:
            R_reference: Orientation of the base; None integrates the rate.
        """
        self._cells[REFERENCED] = 0.0
        if R_reference is not None:
            self._cells[REFERENCED] = 1.0
            store_matrix(self._cells, REFERENCE, R_reference)


@inlined
def is_referenced(track: MutableColumn) -> bool:
    """Return whether a reference gives the yaw of the step, by the numbers of `BaseTrack`."""
    referenced: bool = track[REFERENCED] > 0.0
    return referenced


@inlined
def advance_base(
    h: float,
    rates: tuple[Vector, Vector, Vector],
    observed: tuple[Vector, Vector],
    imu: Column,
    motions: Table,
    weights: Column,
    anchors: MutableTable,
    points_B: MutableTable,
    track: MutableColumn,
) -> tuple[Vector, Vector, Vector]:
    """Advance the track by one step; return velocity, angular velocity and vertical, all in the base frame.

    Args:
        h: Duration of the step [s].
        rates: Angular rate of the IMU at the end of the step; mean over it, bias removed; bias [rad/s].
        observed: Velocity of the IMU in its frame [m/s] and the vertical there, after the step.
        imu: `KinematicState.imu` at the end of the step.
        motions: `KinematicState.motions` there.
        weights: Weights of the contacts, of sum 1 or all zero.
        anchors: Whether each contact has an anchor, and its position in the world [m]; updated.
        points_B: Memory for the contacts in the base frame.
        track: Numbers of `BaseTrack`; updated.
    """
    rate, w_mean, bias = rates
    w_mean_B, x2_B, v_B, w_B = _in_base(rate, w_mean, bias, observed[0], observed[1], imu, motions, points_B)
    if is_referenced(track):
        R_WB = align_rows(matrix_of(track, REFERENCE), x2_B)
    else:
        R_WB = turned(h, w_mean_B, x2_B, matrix_of(track, ORIENTATION))
    before, started = vector_of(track, POSITION), track[STARTED] > 0.0
    p_WB, started = position_after(h, before, started, R_WB, v_B, points_B, weights, anchors)
    store_matrix(track, ORIENTATION, R_WB)
    store(track, POSITION, p_WB)
    track[STARTED] = 1.0 if started else 0.0
    return v_B, w_B, x2_B


@inlined
def _in_base(
    rate: Vector,
    w_mean: Vector,
    bias: Vector,
    x1: Vector,
    x2: Vector,
    imu: Column,
    motions: Table,
    points_B: MutableTable,
) -> tuple[Vector, Vector, Vector, Vector]:
    """Move the state of an observer to the base.

    Args:
        rate: Angular rate of the IMU at the end of the step [rad/s].
        w_mean: Mean over the step, bias removed [rad/s].
        bias: Of the gyroscope [rad/s].
        x1: Velocity of the IMU in its frame [m/s].
        x2: The vertical in the IMU frame.
        imu: `KinematicState.imu`.
        motions: `KinematicState.motions`.
        points_B: Written: origins of the contacts in the base frame [m].

    Returns:
        Mean angular velocity of the base [rad/s], the vertical, and velocity and angular velocity of the base
        at the end of the step [m/s, rad/s], all in the base frame.
    """
    R_BI, p_BI, v_BI_B, w_BI_B = matrix_of(imu, 0), vector_of(imu, 9), vector_of(imu, 12), vector_of(imu, 15)
    w = (rate[0] - bias[0], rate[1] - bias[1], rate[2] - bias[2])
    v_B, w_B = base_twist(x1, w, R_BI, p_BI, v_BI_B, w_BI_B)
    for i in range(len(motions)):
        store(points_B[i], 0, add(p_BI, times(R_BI, vector_of(motions[i], 9))))
    return combine(times(R_BI, w_mean), -1.0, w_BI_B), times(R_BI, x2), v_B, w_B
