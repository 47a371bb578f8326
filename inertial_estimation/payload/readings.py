"""Readings of the trunk: at rest its mass and centre of mass, in motion its mass alone, with what is refused."""

import math
from dataclasses import dataclass

from inertial_estimation.errors import listing
from inertial_estimation.payload.rest import MeanState
from inertial_estimation.payload.statics import (
    StaticMeasurement,
    TrunkStatics,
    trunk_com_across_gravity,
    trunk_mass,
)
from inertial_estimation.signals import Array

FEWEST_FEET = 2  # that carry
FOOT_SHARE = 0.035  # of the weight, from which a foot carries
PULL_SHARE = 0.015  # of the weight, from which a downward force of the ground is an error of sign
LARGEST_TILT_RAD = 0.7  # of the base, beyond which the robot has fallen
LARGEST_FACTOR = 3.0  # between a trunk's mass and its nominal one, either way
LEAST_GRAVITY = 0.5  # of gravity, felt: below, a robot is about to fly
SMALLEST_TRUNK = 0.1  # mass below which the centre of mass of the trunk is not determined [kg]


@dataclass(frozen=True, slots=True, eq=False)
class TrunkReading:
    """One static measurement of the trunk.

    Attributes:
        measurement: Forces and lever arms.
        mass: Of the trunk, sum f_z / g less the legs (T 7) [kg].
        com_B: Centre of mass of the trunk across gravity (T 17), base frame [m], shape (3,).
        roll: Of the base [rad].
        pitch: Of the base [rad].
        height: Of the base origin above the standing feet [m].
    """

    measurement: StaticMeasurement
    mass: float
    com_B: Array
    roll: float
    pitch: float
    height: float

    @property
    def tilt(self) -> tuple[float, float]:
        """Roll and pitch of the base [rad]."""
        return self.roll, self.pitch

    def turned_from(self, tilt: tuple[float, float]) -> float:
        """Return how far the base is from a roll and pitch [rad]."""
        return math.dist(self.tilt, tilt)


class TrunkMeasurer:
    """Measures, and refuses what cannot be: feet that pull, fewer than two that carry, a fallen robot.

    The forces of all feet are summed, those below the limit too: a lifted foot gives zero by itself.

    Attributes:
        trouble: Why the last measurement was refused; empty if it was accepted.
        refused: Measurements refused, counted by reason.
        forces: Vertical force of each foot at the last measurement by name [N].
        source: Source of the forces, for messages.
    """

    def __init__(self, statics: TrunkStatics) -> None:
        self._statics = statics
        self.source = "joint torques" if statics.estimates_forces else "wrench"
        self.reset()

    def reset(self) -> None:
        """Forget the last measurement and the counts."""
        self.trouble = ""
        self.refused: dict[str, int] = {}
        self.forces: dict[str, float] = {}

    def read(self, state: MeanState) -> TrunkReading | None:
        """Measure the trunk of a robot at rest; None where it is refused, which `trouble` explains."""
        if _fallen(state):
            tilt = math.acos(max(-1.0, float(state.R_WB[2, 2])))
            trouble = f"the base is tilted by {tilt:.2f} rad, expected at most {LARGEST_TILT_RAD:g} rad"
            return self._refuse("fallen", trouble)
        measurement = self._statics.measure(state.R_WB, state.q, state.tau, state.wrenches_F)
        names = [contact.name for contact in self._statics.contacts]
        self.forces = dict(zip(names, measurement.forces_W[:, 2].tolist(), strict=True))
        weight = self._statics.weight
        standing = [i for i, force in enumerate(self.forces.values()) if force >= FOOT_SHARE * weight]
        pulling = {name: force for name, force in self.forces.items() if force < -PULL_SHARE * weight}
        mass = trunk_mass(measurement)
        if measurement.silent:
            said = f"all torques of the limb of {listing(measurement.silent)} are exactly zero"
            return self._refuse("torques read zero", f"{said}: do its sensors read?")
        if measurement.singular:
            limbs = f"the limb of {listing(measurement.singular)} is stretched"
            return self._refuse("limb stretched", f"{limbs}: its torques do not tell its force; bend it")
        if pulling:
            feet = listing(f"'{name}' ({force:.0f} N)" for name, force in pulling.items())
            trouble = f"the ground would pull at {feet}: check the sign of its {self.source}"
            return self._refuse("foot pulls", trouble)
        if len(standing) < FEWEST_FEET:
            carries = f"carries {FOOT_SHARE * weight:.0f} N, expected {FEWEST_FEET} or more of {listing(names)}"
            who = f"only '{names[standing[0]]}'" if standing else "no foot"
            return self._refuse("feet unloaded", f"{who} {carries}; is the robot on a stand?")
        if mass < SMALLEST_TRUNK:
            return self._refuse("no trunk", implausible_mass(mass, mass))
        self.trouble = ""
        com_B = trunk_com_across_gravity(measurement, mass)
        height = -float(measurement.points_W[standing, 2].mean())
        return TrunkReading(measurement, mass, com_B, state.roll, state.pitch, height)

    def weigh(self, state: MeanState) -> float | None:
        """Weigh the trunk of a robot in motion, m = sum f_z / (g + a_z) less the legs [kg].

        Only the vertical acceleration of the base is known: what legs do besides is an error, of about a
        kilogram for HyQ crawling. None where the robot flies or has fallen, or it cannot be measured.
        """
        if _fallen(state):
            return None
        measurement = self._statics.measure(state.R_WB, state.q, state.tau, state.wrenches_F)
        felt = measurement.gravity + state.vertical_acceleration
        if measurement.singular or measurement.silent or felt < LEAST_GRAVITY * measurement.gravity:
            return None
        return float(measurement.forces_W[:, 2].sum()) / felt - measurement.legs_mass

    def _refuse(self, reason: str, trouble: str) -> None:
        self.trouble = trouble
        self.refused[reason] = self.refused.get(reason, 0) + 1


def _fallen(state: MeanState) -> bool:
    return float(state.R_WB[2, 2]) < math.cos(LARGEST_TILT_RAD)


def implausible_mass(mass: float, nominal: float) -> str:
    """Say why a trunk of a nominal mass cannot weigh what was measured [kg]; empty if it can."""
    if mass < SMALLEST_TRUNK:
        return f"the trunk would weigh {mass:.2f} kg: the feet carry no more than the legs; is it on a stand?"
    if mass > LARGEST_FACTOR * nominal:
        cause = "check unit and sign of torques or wrenches, and the masses of the robot description"
    elif mass < nominal / LARGEST_FACTOR:
        cause = "does a stand or a hoist carry the robot, or does a foot's sensor read nothing?"
    else:
        return ""
    return f"the trunk would weigh {mass:.2f} kg, nominal {nominal:.2f} kg: {cause}"
