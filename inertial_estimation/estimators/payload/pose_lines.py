"""The point nearest to the vertical lines that static poses give (T 11)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.trunk_statics import (
    StaticMeasurement,
    net_force,
    robot_com_across_gravity,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

UNOBSERVED_SHARE = 0.5  # share of an unobserved direction in a base axis from which its deviation is infinite


@dataclass(frozen=True, slots=True, eq=False)
class PoseLine:
    """Constraint by one pose: the trunk's centre of mass lies on a line along the ground's force.

    It is (T 11), -[F]x c_tr = sum ((m p_i - m_l c_l) / m_tr) x f_i, multiplied by [F]x / F'F: with
    n = F/|F| the equation (1 - n n') c_tr = point. Least squares over both are the same for forces of one
    size; this one is in metres and leaves out the component along gravity, which holds no unknown.

    Attributes:
        direction_B: n, unit vector along the force, base frame, shape (3,).
        point_B: The point of the line nearest to the base origin [m], shape (3,).
    """

    direction_B: Array
    point_B: Array


@dataclass(frozen=True, slots=True, eq=False)
class PoseSolution:
    """The point nearest to all lines.

    Attributes:
        com_B: Centre of mass of the trunk [m], shape (3,); along an unobserved direction that of before.
        sigma_B: Standard deviation from the residuals [m], shape (3,); inf along an unobserved axis.
        residual: Deviation of one pose's equation [m]; NaN where the poses do not overdetermine the solution.
        spread: Smallest singular value over sqrt(n) [1]: of two poses half the angle between them [rad].
    """

    com_B: Array
    sigma_B: Array
    residual: float
    spread: float


def pose_line(measurement: StaticMeasurement, trunk_mass: float) -> PoseLine:
    """Return the line of one measurement.

    Args:
        measurement: At rest.
        trunk_mass: Mass of the trunk [kg].

    Raises:
        ~inertial_estimation.errors.MeasurementError: If the ground carries nothing.
    """
    whole_W = robot_com_across_gravity(measurement)
    F = net_force(measurement)
    n_W = F / math.sqrt(float(F @ F))
    legs, legs_W = measurement.legs_mass, measurement.legs_com_W
    legs_across_W = legs_W - float(n_W @ legs_W) * n_W
    point_W = ((trunk_mass + legs) * whole_W - legs * legs_across_W) / trunk_mass
    return PoseLine(n_W @ measurement.R_WB, point_W @ measurement.R_WB)


def nearest_point(lines: Sequence[PoseLine], before_B: Array, least_spread: float) -> PoseSolution:
    """Return the point with the least sum of squared distances to the lines.

    Singular values of the stacked matrix below `least_spread` sqrt(n) count as zero. The covariance is
    s^2 (A'A)^-1 with s^2 the squared distances over 2 n less the number of unknowns found: each line gives
    two equations, all of one weight.

    Args:
        lines: One or more.
        before_B: Centre of mass kept along directions no line shows [m], shape (3,).
        least_spread: Smallest usable spread [1].
    """
    n = np.array([line.direction_B for line in lines])
    A = (np.eye(3) - n[:, :, None] * n[:, None, :]).reshape(-1, 3)
    b = np.concatenate([line.point_B for line in lines])
    U, s, Vt = linear_algebra.svd(A, full_matrices=False)
    scale = math.sqrt(len(lines))
    seen = s > least_spread * scale
    com = before_B + Vt[seen].T @ (U[:, seen].T @ (b - A @ before_B) / s[seen])
    freedom = 2 * len(lines) - int(seen.sum())
    left = b - A @ com
    residual = math.sqrt(float(left @ left) / freedom) if freedom else math.nan
    sigma = residual * np.sqrt(np.sum((Vt[seen] / s[seen, None]) ** 2, axis=0)) if freedom else np.inf
    hidden = np.sum(Vt[~seen] ** 2, axis=0) > UNOBSERVED_SHARE
    return PoseSolution(com, np.where(hidden, math.inf, sigma), residual, float(s[-1]) / scale)
