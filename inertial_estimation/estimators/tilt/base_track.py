"""Orientation, position and twist of the base from the state of the tilt observer, step by step."""

from typing import Any

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    inlined,
    warm_up,
    zeros,
)
from inertial_estimation.estimators.tilt.base_position import position_after
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.tilt_uncertainty import (
    TiltUncertainty,
    UncertaintyConfig,
    rotation_covariance,
)
from inertial_estimation.estimators.tilt.yaw import turned
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.models.imu import base_twist
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import unit_quaternion
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

__all__ = ["BaseTrack"]

STARTED, SIZE = 12, 13  # of the track: R_WB by rows, p_WB [m], whether a contact has been in use
NUMBERS = 31  # of an estimate: quaternion, p, v, w, vertical, gyro bias, innovation, covariance


class BaseTrack:
    """Advances the base with the observer; the tilt is the observer's, yaw and position are integrated.

    Attributes:
        uncertainty: Variances of the orientation.
    """

    def __init__(self, n_contacts: int, uncertainty: UncertaintyConfig) -> None:
        """Begin above the origin.

        Args:
            n_contacts: Number of contacts.
            uncertainty: Standard deviations from which the covariance is computed.
        """
        self.uncertainty = TiltUncertainty(uncertainty)
        self._n_contacts = n_contacts
        self._track = zeros(SIZE)
        self._points = zeros(n_contacts, 3)  # memory for the contacts in the base frame
        warm_up()
        self.reset()
        self.start((0.0, 0.0, 1.0))

    def reset(self) -> None:
        """Discard the anchors, return to the initial position and to the initial uncertainty."""
        self._anchors = zeros(self._n_contacts, 4)
        store(self._track, 9, ZERO)
        self._track[STARTED] = 0.0
        self.uncertainty.reset()

    def start(self, x2_B: Vector) -> None:
        """Begin with a tilt and zero yaw.

        Args:
            x2_B: The vertical in the base frame.
        """
        store_matrix(self._track, 0, align_rows(IDENTITY, x2_B))

    def step(
        self,
        h: float,
        rates: tuple[Vector, Vector, Vector],
        observer: TiltObserver[Any],
        state: KinematicState,
        weights: Array,
        R_reference: Matrix | None,
    ) -> Array:
        """Advance by one step.

        Args:
            h: Duration of the step [s].
            rates: Angular rate of the IMU at the end of the step; mean over it, bias removed; bias [rad/s].
            observer: The observer after the step.
            state: Kinematics at the end of the step.
            weights: Weights of the contacts, of sum 1 or all zero.
            R_reference: Orientation of the base from an external reference, which gives the yaw; None
                integrates the rate.

        Returns:
            `NUMBERS` of the estimate, read-only.
        """
        out = zeros(NUMBERS)
        _advance(
            *(h, rates, (observer.x1, observer.x2, observer.innovation), state.imu, state.motions, weights),
            *(R_reference is not None, R_reference or IDENTITY, self._anchors, self._points, self._track),
            *((self.uncertainty.tilt, self.uncertainty.yaw), out),
        )
        numbers = np.asarray(out)
        numbers.setflags(write=False)
        return numbers


@compiled
def _advance(
    h: float,
    rates: tuple[Vector, Vector, Vector],
    observed: tuple[Vector, Vector, Vector],
    imu: Column,
    motions: Table,
    weights: Column,
    referenced: bool,
    R_reference: Matrix,
    anchors: MutableTable,
    points_B: MutableTable,
    track: MutableColumn,
    variances: tuple[float, float],
    out: MutableColumn,
) -> None:
    """Advance the track by one step; write the numbers of the estimate, as `BaseTrack.step`."""
    rate, w_mean, bias = rates
    x1, x2, innovation = observed
    w_mean_B, x2_B, v_B, w_B = _in_base(rate, w_mean, bias, x1, x2, imu, motions, points_B)
    R_WB = align_rows(R_reference, x2_B) if referenced else turned(h, w_mean_B, x2_B, matrix_of(track, 0))
    started = track[STARTED] > 0.0
    p_WB, started = position_after(h, vector_of(track, 9), started, R_WB, v_B, points_B, weights, anchors)
    store_matrix(track, 0, R_WB)
    store(track, 9, p_WB)
    track[STARTED] = 1.0 if started else 0.0
    _write(R_WB, p_WB, v_B, w_B, x2_B, bias, innovation, variances, out)


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


@inlined
def _write(
    R_WB: Matrix,
    p_WB: Vector,
    v_B: Vector,
    w_B: Vector,
    x2_B: Vector,
    bias: Vector,
    innovation: Vector,
    variances: tuple[float, float],
    out: MutableColumn,
) -> None:
    """Write quaternion, position, velocities, vertical, bias, innovation and covariance, in this order."""
    out[0], out[1], out[2], out[3] = unit_quaternion(R_WB)
    store(out, 4, p_WB)
    store(out, 7, v_B)
    store(out, 10, w_B)
    store(out, 13, x2_B)
    store(out, 16, bias)
    store(out, 19, innovation)
    store_matrix(out, 22, rotation_covariance(variances[0], variances[1], x2_B))
