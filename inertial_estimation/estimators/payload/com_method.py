"""What the three ways to the trunk's centre of mass have in common."""

from dataclasses import dataclass
from typing import Protocol

from inertial_estimation.models.trunk_statics import StaticMeasurement
from inertial_estimation.signals import Array

__all__ = ["ComMethod", "ComStep"]


@dataclass(frozen=True, slots=True, eq=False)
class ComStep:
    """Where a method has got to.

    Attributes:
        com_B: Centre of mass of the trunk, base frame [m], shape (3,).
        sigma_B: Standard deviation along the base axes [m], shape (3,); inf where nothing was measured.
        residual: Of the method, as a distance of centres of mass [m].
        done: Whether it has converged.
        refusal: Why it gives up; empty while it does not.
        tilt: Roll and pitch the base is asked to take [rad]; None: level.
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
        """Take one measurement at rest, h [s] after the last one."""
        ...
