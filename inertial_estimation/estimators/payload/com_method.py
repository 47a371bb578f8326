"""Interface and gains that the three methods for the trunk's centre of mass share."""

import math
from dataclasses import dataclass
from typing import Protocol

from inertial_estimation.models.trunk_statics import StaticMeasurement
from inertial_estimation.signals import Array

LEAST_SHARE = 0.5  # of the estimated weight, below which the feet do not carry the robot


@dataclass(frozen=True, slots=True, eq=False)
class ComStep:
    """State of a method after one measurement.

    Attributes:
        com_B: Centre of mass of the trunk, base frame [m], shape (3,).
        sigma_B: Standard deviation along the base axes [m], shape (3,); inf where nothing was measured.
        residual: Of the method, as a distance of centres of mass [m].
        done: Whether it has converged.
        refusal: Why it gives up; empty while it does not.
        tilt: Roll and pitch the base is asked to take [rad]; None: those it had before.
        to_controller: Whether `com_B` must reach the controller now: the method works through it.
    """

    com_B: Array
    sigma_B: Array
    residual: float
    done: bool = False
    refusal: str = ""
    tilt: tuple[float, float] | None = None
    to_controller: bool = False


class ComMethod(Protocol):
    """A method; pure, fed only while the robot is at rest."""

    def start(self, com_B: Array, trunk_mass: float) -> None:
        """Begin from a centre of mass [m], shape (3,), with the trunk's mass known [kg]."""
        ...

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement that represents h [s] of rest; time between rests is not included."""
        ...


def recursion_gain(settling_time: float, h: float) -> float:
    """Return beta of x += beta (z - x), by which 95 % of an error is gone in a given time.

    beta = 1 - exp(-3 h / t_a), from t_a = -3 T_s / ln(1 - beta) (T III-B) with the step h as T_s. Steps of
    any lengths that add up to t_a leave exp(-3) of an error.

    Args:
        settling_time: t_a [s], positive.
        h: Time since the last step [s].

    Returns:
        In [0, 1).
    """
    return -math.expm1(-3.0 * max(0.0, h) / settling_time)


def not_carried(measurement: StaticMeasurement, trunk_mass: float) -> str:
    """Return why forces do not determine a centre of mass; empty if they do.

    The feet must carry at least half of what the robot weighs, and no limb may be stretched.
    """
    if measurement.singular:
        return (
            f"the limb of {', '.join(measurement.singular)} is stretched: its torques do not tell the force "
            "along it; bend it"
        )
    carried = float(measurement.forces_W[:, 2].sum())
    weight = (trunk_mass + measurement.legs_mass) * measurement.gravity
    if not carried > LEAST_SHARE * weight:
        return f"the feet carry {carried:.0f} N, the robot weighs {weight:.0f} N"
    return ""
