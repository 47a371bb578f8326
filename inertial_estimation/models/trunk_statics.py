"""A legged robot at rest: what its feet carry and where the trunk's centre of mass is (T 7-11, 17)."""

from dataclasses import dataclass

from inertial_estimation.signals import Array

__all__ = ["StaticMeasurement"]


@dataclass(frozen=True, slots=True, eq=False)
class StaticMeasurement:
    """Forces and lever arms of one instant, in axes parallel to the world's (z up), origin at the base.

    Attributes:
        R_WB: Orientation of the base, shape (3, 3); its yaw plays no part.
        points_W: Contact points relative to the base origin [m], shape (n, 3).
        forces_W: Forces of the ground on the robot [N], shape (n, 3).
        legs_mass: Mass of all bodies but the trunk's [kg].
        legs_com_W: Their centre of mass relative to the base origin [m], shape (3,).
    """

    R_WB: Array
    points_W: Array
    forces_W: Array
    legs_mass: float
    legs_com_W: Array
