"""Task of the base orientation."""

import math

from inertial_estimation.control.tasks.task import Task
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import roll_pitch_yaw_rows, rotation_vector
from inertial_estimation.spatial.vectors import Vector, matrix_of, product, transposed


class BaseOrientationTask(Task):
    """Turns the base to R_ref = Rz(yaw) Ry(pitch) Rx(roll).

    w' = w'_ref + k log(R_ref R_WB') + d (w_ref - w), world axes, w_ref that of roll and pitch.

    Attributes:
        angles: Wanted roll, pitch and yaw [rad].
        rate: Rates of roll and pitch [rad/s], shape (2,).
        acceleration: Their derivatives [rad/s^2], shape (2,).
        stiffness: k [1/s^2].
        damping: d [1/s].
        weight: Weight of the task.
    """

    name = "base_orientation"

    def __init__(
        self,
        angles: Vector,
        rate: Array,
        acceleration: Array,
        stiffness: float,
        damping: float,
        weight: float,
    ) -> None:
        self.angles = angles
        self.rate = rate
        self.acceleration = acceleration
        self.stiffness = stiffness
        self.damping = damping
        self.weight = weight

    def demand(self, state: DynamicsState) -> tuple[float, ...]:
        """Return the three rotational rows of the base."""
        error, rate, acceleration = base_turn(state.places[-1], *self.angles, self.rate, self.acceleration)
        k, d, weight, first = self.stiffness, self.damping, self.weight, float(state.base_row + 3)
        (ex, ey, ez), (wx, wy, wz), (x, y, z) = error, rate, acceleration
        return (
            *(first, x, k * ex, wx, d, weight),
            *(first + 1.0, y, k * ey, wy, d, weight),
            *(first + 2.0, z, k * ez, wz, d, weight),
        )


def base_turn(
    place: Array, roll: float, pitch: float, yaw: float, rate: Array, acceleration: Array
) -> tuple[Vector, Vector, Vector]:
    """Return log(R_ref R_WB') [rad], and angular velocity and acceleration of roll and pitch, world axes.

    Args:
        place: Orientation by rows and position of the base, shape (12,).
        roll: Wanted roll [rad].
        pitch: Wanted pitch [rad].
        yaw: Wanted yaw [rad].
        rate: Of roll and pitch [rad/s], shape (2,).
        acceleration: Of roll and pitch [rad/s^2], shape (2,).
    """
    R = roll_pitch_yaw_rows(roll, pitch, yaw)
    error = rotation_vector(product(R, transposed(matrix_of(place, 0))))
    x, y, z, s, c = R[0][0], R[1][0], R[2][0], -math.sin(yaw), math.cos(yaw)  # axes of roll and pitch
    w = (x * rate[0] + s * rate[1], y * rate[0] + c * rate[1], z * rate[0])
    dw = (x * acceleration[0] + s * acceleration[1], y * acceleration[0] + c * acceleration[1])
    return error, w, (dw[0], dw[1], z * acceleration[0])
