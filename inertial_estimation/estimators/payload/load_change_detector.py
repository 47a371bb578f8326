"""Detection of a new load: the trunk measured differs from the one expected, for a while (T V-C)."""

import math

import numpy as np

from inertial_estimation.estimators.payload.durations import has_lasted
from inertial_estimation.estimators.payload.lone_foot import LoneFoot
from inertial_estimation.estimators.payload.payload_config import LoadChangeConfig
from inertial_estimation.estimators.payload.payload_estimate import LoadChange
from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading, across_gravity
from inertial_estimation.signals import Array, frozen_array

Expectation = tuple[float, Array, bool]
"""Mass, centre of mass, and whether they were reported in motion."""


class LoadChangeDetector:
    """Compares readings with the trunk they should show.

    A difference counts while the robot is at rest, however short each rest is: motion in between neither
    adds to its time nor ends it, one reading without the difference ends it. A reported change becomes
    what is expected, so it is reported once.

    A walk may not rest before a load has it fall. So the mass is watched in motion, too, with a wider limit;
    what is measured at the next rest then is expected without being reported again.

    Attributes:
        config: Its limits.
        mass: Trunk mass expected [kg].
        com_B: Centre of mass expected [m], shape (3,).
        unidentified: The last change reported since `expect`; None if there was none, or it was undone.
        lone: The foot whose force alone has changed; such a difference is a fault of its sensor and is not
            reported as a load.
    """

    def __init__(self, config: LoadChangeConfig, mass: float, com_B: Array) -> None:
        self.config = config
        self.lone = LoneFoot()
        self.expect(mass, com_B)

    def expect(self, mass: float, com_B: Array) -> None:
        """Take a trunk as the one in force.

        Args:
            mass: Its mass, as measured when it was identified [kg].
            com_B: Its centre of mass, likewise [m], shape (3,).
        """
        self._mass_in_force, self._com_in_force_B = mass, com_B.copy()
        self.unidentified: LoadChange | None = None
        self.follow(mass, com_B)
        self.forget_evidence()

    def follow(self, mass: float, com_B: Array) -> None:
        """Expect another trunk from now on; what is in force stays.

        Args:
            mass: Its mass [kg].
            com_B: Its centre of mass [m], shape (3,).
        """
        self.mass, self.com_B = mass, com_B.copy()
        self._reported_in_motion = False

    @property
    def expectation(self) -> Expectation:
        """What is expected, to be given back to `restore`."""
        return self.mass, self.com_B, self._reported_in_motion

    def restore(self, expectation: Expectation) -> None:
        """Expect what was expected before."""
        self.follow(*expectation[:2])
        self._reported_in_motion = expectation[2]

    def forget_evidence(self) -> None:
        """Let a change be seen for its whole duration from now on."""
        self._seen_for = 0.0
        self._seen_moving_for = 0.0

    @property
    def suspicious(self) -> bool:
        """Whether the last reading differed from what is expected."""
        return self._seen_for > 0.0

    def update_at_rest(
        self, reading: TrunkReading, dt: float, stamp_ns: int, *, mass_only: bool = False
    ) -> LoadChange | None:
        """Take a reading at rest.

        Args:
            reading: The reading.
            dt: Time it stands for [s].
            stamp_ns: Its stamp [ns].
            mass_only: Whether a shift does not count: on a base tilted otherwise than when the centre of mass
                was measured, an unknown height shows across gravity.

        Returns:
            A change, in the step in which it has been seen long enough.
        """
        if self.unidentified is not None and not self._differs(reading, *self._in_force):
            self.unidentified = None
        differs = abs(reading.mass - self.mass) > self.config.mass
        if not differs and (mass_only or not self._differs(reading, self.mass, self.com_B)):
            self._reported_in_motion = False  # confirmed at rest: the next difference is a new one
            self.lone.confirm(reading)
            self.forget_evidence()
            return None
        self._seen_for += dt
        if self.lone.stands_out(reading) or not has_lasted(self._seen_for, self.config.duration):
            return None
        shift_B = across_gravity(reading.com_B - self.com_B, reading.measurement.R_WB)
        if self._reported_in_motion:
            self.follow(reading.mass, self.com_B + shift_B)
            self.forget_evidence()
            return None
        kind = self._kind(reading.mass)
        change = LoadChange(stamp_ns, kind, self.mass, reading.mass, frozen_array("shift", shift_B))
        self.follow(reading.mass, self.com_B + shift_B)
        self.forget_evidence()
        self.unidentified = change if self._differs(reading, *self._in_force) else None
        return change

    def update_in_motion(self, mass: float, dt: float, stamp_ns: int) -> LoadChange | None:
        """Take a mass measured in motion.

        Time with a difference counts up, time without counts down.

        Args:
            mass: Of the trunk [kg].
            dt: Time it stands for [s].
            stamp_ns: Its stamp [ns].

        Returns:
            A change, in the step in which it has been seen long enough; its shift is not known and zero.
        """
        limit = max(self.config.moving_mass, self.config.mass)
        if abs(mass - self.mass) <= limit:
            self._seen_moving_for = max(0.0, self._seen_moving_for - dt)
            return None
        self._seen_moving_for += dt
        if not has_lasted(self._seen_moving_for, self.config.moving_duration):
            return None
        change = LoadChange(stamp_ns, self._kind(mass), self.mass, mass, frozen_array("shift", np.zeros(3)))
        self.follow(mass, self.com_B)
        self._reported_in_motion = True
        self.forget_evidence()
        self.unidentified = None if abs(mass - self._mass_in_force) <= limit else change
        return change

    def shows(self, reading: TrunkReading, expectation: Expectation) -> bool:
        """Return whether a reading is that of a trunk that was expected earlier."""
        return not self._differs(reading, *expectation[:2])

    @property
    def _in_force(self) -> tuple[float, Array]:
        return self._mass_in_force, self._com_in_force_B

    def _differs(self, reading: TrunkReading, mass: float, com_B: Array) -> bool:
        if abs(reading.mass - mass) > self.config.mass:
            return True
        x, y, z = across_gravity(reading.com_B - com_B, reading.measurement.R_WB).tolist()
        return math.sqrt(x * x + y * y + z * z) > self.config.com

    def _kind(self, mass: float) -> str:
        if abs(mass - self.mass) <= self.config.mass:
            return "shifted"
        return "loaded" if mass > self.mass else "unloaded"
