"""Readings of the trunk: at rest its mass and centre of mass, in motion its mass alone; what is refused."""

import math
from typing import NamedTuple

from inertial_estimation.errors import listing
from inertial_estimation.models.contacts import FALLEN_RAD, FOOT_SHARE
from inertial_estimation.payload.rest import MeanState
from inertial_estimation.payload.statics import (
    StaticMeasurement,
    TrunkStatics,
    trunk_com_across_gravity,
    trunk_mass,
)
from inertial_estimation.signals import Array

FEWEST_FEET = 2  # that carry
LARGEST_FACTOR = 3.0  # between a trunk's mass and its nominal one, either way
LEAST_GRAVITY = 0.5  # of gravity, felt: below, a robot is about to fly


class TrunkReading(NamedTuple):
    """One static measurement of the trunk."""

    measurement: StaticMeasurement  # forces and lever arms
    mass: float  # of the trunk, sum f_z / g less the legs (T 7) [kg]
    com_B: Array  # its centre of mass across gravity (T 17), base frame [m], shape (3,)
    tilt: tuple[float, float]  # roll and pitch of the base [rad]
    height: float  # of the base origin above the standing feet [m]

    def turned_from(self, tilt: tuple[float, float]) -> float:
        """Return how far the base is from a roll and pitch [rad]."""
        return math.dist(self.tilt, tilt)


class TrunkObservation(NamedTuple):
    """State of the robot and its trunk in one step."""

    stamp_ns: int  # of the step [ns]
    dt: float  # time since the last step [s]
    at_rest: bool
    reading: TrunkReading | None  # None unless the robot is at rest and the trunk measurable
    why_not: str  # why there is no reading
    arrived: bool  # whether the published trunk has reached its target
    moving_mass: float | None = None  # of the trunk, in motion [kg]; None where it is not measurable


class TrunkMeasurer:
    """Measures, and refuses what cannot be: feet that pull, fewer than two that carry, a fallen robot.

    The forces of all feet are summed, those below the limit too: a lifted foot gives zero by itself.
    """

    def __init__(self, statics: TrunkStatics) -> None:
        self._statics = statics
        self.source = "joint torques" if statics.estimates_forces else "wrench"  # of the forces
        self.reset()

    def reset(self) -> None:
        """Forget the last measurement."""
        self.trouble = ""  # why the last measurement was refused
        self.forces: dict[str, float] = {}  # vertical one of each foot at the last measurement [N]

    def read(self, state: MeanState) -> TrunkReading | None:
        """Measure the trunk of a robot at rest; None where it is refused, which `trouble` explains."""
        measurement = self._statics.measure(state.R_WB, state.q, state.readings)
        names = (contact.name for contact in self._statics.contacts)
        self.forces = dict(zip(names, measurement.forces_W[:, 2].tolist(), strict=True))
        mass = trunk_mass(measurement)
        self.trouble = self._refusal(measurement, mass)
        if self.trouble:
            return None
        com_B = trunk_com_across_gravity(measurement, mass)
        standing = measurement.forces_W[:, 2] >= FOOT_SHARE * self._statics.weight
        height = -float(measurement.points_W[standing, 2].mean())
        return TrunkReading(measurement, mass, com_B, (state.roll, state.pitch), height)

    def _refusal(self, measurement: StaticMeasurement, mass: float) -> str:
        if _fallen(measurement):
            tilt = math.acos(max(-1.0, float(measurement.R_WB[2, 2])))
            return f"the base is tilted by {tilt:.2f} rad, expected at most {FALLEN_RAD:g} rad"
        if measurement.undetermined:
            return measurement.undetermined
        least = FOOT_SHARE * self._statics.weight
        pulling = [f"'{name}' ({force:.0f} N)" for name, force in self.forces.items() if force < -least]
        if pulling:
            return f"the ground would pull at {listing(pulling)}: check the sign of its {self.source}"
        standing = [name for name, force in self.forces.items() if force >= least]
        if len(standing) < FEWEST_FEET:
            who = f"only '{standing[0]}'" if standing else "no foot"
            expected = f"expected {FEWEST_FEET} or more of {listing(self.forces)}"
            return f"{who} carries {least:.0f} N, {expected}; is the robot on a stand?"
        return "" if mass > 0.0 else "the feet carry no more than the legs weigh; is the robot on a stand?"

    def weigh(self, state: MeanState) -> float | None:
        """Weigh the trunk of a robot in motion, m = sum f_z / (g + a_z) less the legs [kg].

        Only the vertical acceleration of the base is known: what legs do besides is an error, of about a
        kilogram for HyQ crawling. None where the robot flies or has fallen, or it cannot be measured.
        """
        measurement = self._statics.measure(state.R_WB, state.q, state.readings)
        felt = measurement.gravity + state.vertical_acceleration
        unfit = _fallen(measurement) or measurement.undetermined
        if unfit or felt < LEAST_GRAVITY * measurement.gravity:
            return None
        return float(measurement.forces_W[:, 2].sum()) / felt - measurement.legs_mass


def _fallen(measurement: StaticMeasurement) -> bool:
    return float(measurement.R_WB[2, 2]) < math.cos(FALLEN_RAD)


def implausible_mass(mass: float, nominal: float) -> str:
    """Say why a trunk of a nominal mass cannot weigh what was measured [kg]; empty if it can."""
    if mass > LARGEST_FACTOR * nominal:
        cause = "check unit and sign of torques or wrenches, and the masses of the robot description"
    elif mass < nominal / LARGEST_FACTOR:
        cause = "does a stand or a hoist carry the robot, or does a foot's sensor read nothing?"
    else:
        return ""
    return f"the trunk would weigh {mass:.2f} kg, nominal {nominal:.2f} kg: {cause}"
