"""Static measurement of trunk mass and CoM, with validity checks."""

import math
from dataclasses import dataclass
from typing import Protocol

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_inputs import MeanState
from inertial_estimation.models.trunk_statics import StaticMeasurement, trunk_com_across_gravity, trunk_mass
from inertial_estimation.signals import Array

FEWEST_FEET = 2
LARGEST_FACTOR = 3.0  # between a trunk's mass and its nominal one, either way
LEAST_GRAVITY = 0.5  # of gravity, felt: below, a robot is about to fly
SMALLEST_TRUNK = 0.1  # mass below which the centre of mass of the trunk is not determined [kg]


class Statics(Protocol):
    """Joints, tilt and torques or wrenches to a measurement."""

    def measure(
        self, R_WB: Array, q: Array, tau: Array | None = None, wrenches_F: Array | None = None
    ) -> StaticMeasurement:
        """Return forces and lever arms."""
        ...


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

    def turned_from(self, tilt: tuple[float, float]) -> float:
        """Return how far the base is from a roll and pitch [rad]."""
        return math.hypot(self.roll - tilt[0], self.pitch - tilt[1])


class TrunkMeasurer:
    """Measures, and refuses what cannot be: feet that pull, fewer than two that carry, a fallen robot.

    The forces of all feet are summed, those below `foot_force` too: a lifted foot gives zero by itself.

    Attributes:
        config: The limits.
        trouble: Why the last measurement was refused; empty if it was accepted.
        refused: Measurements refused, counted by reason.
        forces: Vertical force of each foot at the last measurement [N].
    """

    def __init__(self, config: TrunkPayloadConfig, statics: Statics) -> None:
        self.config = config
        self._statics = statics
        self._names = config.robot.contacts
        self.reset()

    def reset(self) -> None:
        """Forget the last measurement and the counts."""
        self.trouble = ""
        self.refused: dict[str, int] = {}
        self.forces: tuple[float, ...] = ()

    def read(self, state: MeanState) -> TrunkReading | None:
        """Measure the trunk of a robot at rest.

        Args:
            state: Means over the window.

        Returns:
            The reading, or None: `trouble` has the reason.
        """
        if self._fallen(state):
            tilt = math.acos(max(-1.0, float(state.R_WB[2, 2])))
            limit = self.config.largest_tilt
            self._count("fallen", f"the base is tilted by {tilt:.2f} rad, expected at most {limit:g} rad")
            return None
        try:
            measurement = self._statics.measure(state.R_WB, state.q, state.tau, state.wrenches_F)
        except MeasurementError as error:
            self._count("not measurable", str(error))
            return None
        forces: list[float] = measurement.forces_W[:, 2].tolist()
        self.forces = tuple(forces)
        standing = [i for i, force in enumerate(forces) if force >= self.config.foot_force]
        pulling = [i for i, force in enumerate(forces) if force < -self.config.largest_pull]
        mass = trunk_mass(measurement)
        if measurement.silent:
            self._count("torques read zero", _silent_in_words(measurement.silent))
        elif measurement.singular:
            self._count("limb stretched", _stretched_in_words(measurement.singular))
        elif pulling:
            self._count("foot pulls", self._pulling_in_words(pulling, forces))
        elif len(standing) < FEWEST_FEET:
            self._count("feet unloaded", self._standing_in_words(standing))
        elif mass < SMALLEST_TRUNK:
            self._count("no trunk", implausible_mass(mass, mass))
        else:
            self.trouble = ""
            com_B = trunk_com_across_gravity(measurement, mass)
            height = -float(measurement.points_W[standing, 2].mean())
            return TrunkReading(measurement, mass, com_B, state.roll, state.pitch, height)
        return None

    def weigh(self, state: MeanState) -> float | None:
        """Weigh the trunk of a robot in motion, m = sum f_z / (g + a_z) less the legs.

        Only the vertical acceleration of the base is known: what legs do besides is an error, of about a
        kilogram for HyQ crawling.

        Args:
            state: Means over the window.

        Returns:
            Mass [kg]; None where the robot flies or has fallen, or it cannot be measured.
        """
        if self._fallen(state):
            return None
        try:
            measurement = self._statics.measure(state.R_WB, state.q, state.tau, state.wrenches_F)
        except MeasurementError:
            return None
        felt = measurement.gravity + state.vertical_acceleration
        if measurement.singular or measurement.silent or felt < LEAST_GRAVITY * measurement.gravity:
            return None
        return float(measurement.forces_W[:, 2].sum()) / felt - measurement.legs_mass

    @property
    def source(self) -> str:
        """Source of the forces, for messages."""
        return "wrench" if self.config.ground_forces == "measured" else "joint torques"

    def _fallen(self, state: MeanState) -> bool:
        return float(state.R_WB[2, 2]) < math.cos(self.config.largest_tilt)

    def _count(self, reason: str, trouble: str) -> None:
        self.trouble = trouble
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def _pulling_in_words(self, pulling: list[int], forces: list[float]) -> str:
        feet = listing(f"'{self._names[i]}' ({forces[i]:.0f} N)" for i in pulling)
        return f"the ground would pull at {feet}: check the sign of its {self.source}"

    def _standing_in_words(self, standing: list[int]) -> str:
        what = f"expected {FEWEST_FEET} or more of {listing(self._names)}; is the robot on a stand?"
        if not standing:
            return f"no foot carries {self.config.foot_force:g} N, {what}"
        return f"only '{self._names[standing[0]]}' carries {self.config.foot_force:g} N, {what}"


def _silent_in_words(names: tuple[str, ...]) -> str:
    return f"all torques of the limb of {listing(names)} are exactly zero: do its sensors read?"


def _stretched_in_words(names: tuple[str, ...]) -> str:
    return f"the limb of {listing(names)} is stretched: its torques do not tell its force; bend it"


def across_gravity(x_B: Array, R_WB: Array) -> Array:
    """Return the part of a vector across gravity, base frame, shape (3,)."""
    up_B = R_WB[2]
    across: Array = x_B - float(up_B @ x_B) * up_B
    return across


def implausible_mass(mass: float, nominal: float) -> str:
    """Say why a trunk cannot weigh that much; empty if it can.

    Args:
        mass: As measured [kg].
        nominal: From the robot description [kg].
    """
    if mass < SMALLEST_TRUNK:
        return f"the trunk would weigh {mass:.2f} kg: the feet carry no more than the legs; is it on a stand?"
    if mass > LARGEST_FACTOR * nominal:
        cause = "check unit and sign of torques or wrenches, and the masses of the robot description"
    elif mass < nominal / LARGEST_FACTOR:
        cause = "does a stand or a hoist carry the robot, or does a foot's sensor read nothing?"
    else:
        return ""
    return f"the trunk would weigh {mass:.2f} kg, nominal {nominal:.2f} kg: {cause}"
