"""Detection of load changes: the measured trunk differs from the expected one for some time (T V-C)."""

from typing import NamedTuple

import numpy as np

from inertial_estimation.payload.estimate import LoadChange
from inertial_estimation.payload.rest import DURATION_S, has_lasted
from inertial_estimation.payload.statics import REACH_M, TrunkReading, across_gravity
from inertial_estimation.signals import Array, frozen_array

MOVING_FACTOR = (
    2.0  # on limit and duration in motion: the weight of a crawling HyQ varies by 0.6 kg, half of its limit
)
LONE_SHARE = 0.9  # share of the changes of all feet from which on one foot counts as changed alone


class Expectation(NamedTuple):
    """Expected mass and centre of mass of the trunk."""

    mass: float  # expected mass [kg]
    com_B: Array  # expected centre of mass, base frame [m], shape (3,)
    seen_in_motion: bool = False  # whether the mass was reported in motion, without a centre of mass

    def shift(self, reading: TrunkReading) -> Array:
        """Return the measured less the expected centre of mass, across gravity [m], shape (3,)."""
        return across_gravity(reading.com_B - self.com_B, reading.measurement.R_WB)


class LoadChangeDetector:
    """Compares readings with the expected trunk.

    The duration of a difference is summed over periods of rest, however short: motion in between neither adds
    to it nor resets it, one reading without the difference resets it. A reported change becomes the expected
    trunk, so it is reported once.

    A walking robot may fall under a load before it next rests. So the mass is checked in motion, too, with a
    wider limit; the trunk measured at the next rest is then expected without a second report.

    A load on the trunk changes the forces of several feet; a failure of a wrench sensor, or of an effort
    sensor of a leg, that of one foot alone. Of two feet, the load may be above one: three are needed.
    """

    def __init__(self, share: float, robot_mass: float, mass: float, com_B: Array) -> None:
        """Expect a trunk (mass [kg], com_B [m]); a change counts from a share of the robot's mass [kg]."""
        self._robot_mass, self.share = robot_mass, share
        self.reset(mass, com_B)

    def reset(self, mass: float, com_B: Array) -> None:
        """Discard all readings; expect a trunk."""
        self.lone_foot: int | None = None  # the only foot whose force has changed since undisturbed rest
        self._forces: Array | None = None  # vertical forces of the last reading without a difference [N]
        self.expect(mass, com_B)

    def expect(self, mass: float, com_B: Array) -> None:
        """Set the trunk in force, which is also the expected one."""
        self._in_force = self.expected = Expectation(mass, com_B.copy())
        self.unidentified: LoadChange | None = None  # the last change reported since, unless it was undone
        self.forget_evidence()

    def forget_evidence(self) -> None:
        """Reset the durations of differences, so that a change has to last for the whole time from now on."""
        self._seen_for = self._seen_moving_for = 0.0

    @property
    def suspicious(self) -> bool:
        """Whether the last reading differed from the expected trunk."""
        return self._seen_for > 0.0

    def update_at_rest(
        self, reading: TrunkReading, dt: float, stamp_ns: int, *, mass_only: bool = False
    ) -> LoadChange | None:
        """Take a reading at rest that represents dt [s].

        With `mass_only` a shift does not count: on a base with another tilt than when the centre of mass was
        measured, an error of its height has a component across gravity. Returns a change in the step in which
        it has lasted long enough.
        """
        expected, forces = self.expected, reading.measurement.forces_W[:, 2]
        if self.unidentified is not None and not self._differs(reading, self._in_force):
            self.unidentified = None
        if not self._differs(reading, expected, mass_only=mass_only):
            self.expected = expected._replace(seen_in_motion=False)  # the next difference is a new change
            self.lone_foot, self._forces = None, forces
            self.forget_evidence()
            return None
        self._seen_for += dt
        self.lone_foot = None if self._forces is None else _alone(np.abs(forces - self._forces))
        if self.lone_foot is not None or not has_lasted(self._seen_for, DURATION_S):
            return None
        shift_B = expected.shift(reading)
        self.expected = Expectation(reading.mass, expected.com_B + shift_B)
        self.forget_evidence()
        if expected.seen_in_motion:
            return None
        change = self._change(stamp_ns, expected.mass, reading.mass, shift_B)
        self.unidentified = change if self._differs(reading, self._in_force) else None
        return change

    def update_in_motion(self, mass: float, dt: float, stamp_ns: int) -> LoadChange | None:
        """Take a mass measured in motion [kg] that represents dt [s].

        Time with a difference counts up, time without it counts down. Returns a change in the step in which
        it has lasted long enough; its shift is not known and set to zero.
        """
        limit, before = MOVING_FACTOR * self.share * self._robot_mass, self.expected
        if abs(mass - before.mass) <= limit:
            self._seen_moving_for = max(0.0, self._seen_moving_for - dt)
            return None
        self._seen_moving_for += dt
        if not has_lasted(self._seen_moving_for, MOVING_FACTOR * DURATION_S):
            return None
        self.expected = Expectation(mass, before.com_B, seen_in_motion=True)
        self.forget_evidence()
        change = self._change(stamp_ns, before.mass, mass, np.zeros(3))
        self.unidentified = None if abs(mass - self._in_force.mass) <= limit else change
        return change

    def _differs(self, reading: TrunkReading, trunk: Expectation, *, mass_only: bool = False) -> bool:
        if abs(reading.mass - trunk.mass) > self.share * self._robot_mass:
            return True
        return not mass_only and float(np.linalg.norm(trunk.shift(reading))) > REACH_M * self.share

    def _change(self, stamp_ns: int, before: float, mass: float, shift_B: Array) -> LoadChange:
        kind = "loaded" if mass > before else "unloaded"
        kind = "shifted" if abs(mass - before) <= self.share * self._robot_mass else kind
        return LoadChange(stamp_ns, kind, before, mass, frozen_array("shift", shift_B))


def _alone(changes: Array) -> int | None:
    """Return the foot, of three or more, whose force [N] has changed alone; None if others have, too."""
    foot = int(np.argmax(changes))
    return foot if len(changes) > 2 and changes[foot] > LONE_SHARE * changes.sum() else None
