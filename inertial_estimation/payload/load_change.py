"""Detection of a new load: the trunk measured differs from the one expected, for a while (T V-C)."""

from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.payload.estimate import LoadChange
from inertial_estimation.payload.readings import TrunkReading
from inertial_estimation.payload.rest import has_lasted
from inertial_estimation.payload.statics import across_gravity
from inertial_estimation.signals import Array, frozen_array

DURATION_S = 0.1  # at rest, for which a difference persists before it is a load change
MOVING_DURATION_S = 0.15  # in motion
MOVING_FACTOR = 2.0  # of the limit at rest: HyQ crawling is weighed to 0.6 kg, half of it
COM_REACH_M = 1.2  # a shift of the centre of mass counts from the share of the mass that counts, of this
FEWEST_FEET = 3  # two feet may share a change in any way: the load may be above one of them
LONE_SHARE = 0.9  # of the sum of all feet's changes, from which on one foot has changed alone


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """A trunk that readings should show.

    Attributes:
        mass: Its mass [kg].
        com_B: Its centre of mass [m], shape (3,).
        seen_in_motion: Whether it was reported in motion, in which its centre of mass is not measured.
    """

    mass: float
    com_B: Array
    seen_in_motion: bool = False


class LoadChangeDetector:
    """Compares readings with the trunk they should show.

    A difference counts while the robot is at rest, however short each rest is: motion in between neither
    adds to its time nor ends it, one reading without the difference ends it. A reported change becomes
    what is expected, so it is reported once.

    A walk may not rest before a load has it fall. So the mass is watched in motion, too, with a wider limit;
    what is measured at the next rest then is expected without being reported again.

    A load anywhere on the trunk changes the forces of several feet. A wrench sensor that fails, or an effort
    sensor of one leg, changes that of one, which is no load.

    Attributes:
        share: Of the robot's mass, from which a change counts.
        expected: The trunk expected.
        in_force: The trunk in force, as measured when it was identified.
        unidentified: The last change reported since `expect`; None if there was none, or it was undone.
        lone_foot: Position of the foot whose force alone has changed since the last rest without a
            difference; None where no foot stands out.
    """

    def __init__(self, share: float, robot_mass: float, mass: float, com_B: Array) -> None:
        """Expect a trunk of a robot of a mass [kg]; a change counts from a share of that mass."""
        self._robot_mass, self.share = robot_mass, share
        self.lone_foot: int | None = None
        self._forces: Array | None = None  # vertical ones, of the last reading without a difference [N]
        self.expect(mass, com_B)

    @property
    def _mass_limit(self) -> float:
        return self.share * self._robot_mass

    def expect(self, mass: float, com_B: Array) -> None:
        """Take a trunk as the one in force."""
        self.in_force = self.expected = Expectation(mass, com_B.copy())
        self.unidentified: LoadChange | None = None
        self.forget_evidence()

    def forget_evidence(self) -> None:
        """Let a change be seen for its whole duration from now on."""
        self._seen_for = self._seen_moving_for = 0.0

    @property
    def suspicious(self) -> bool:
        """Whether the last reading differed from what is expected."""
        return self._seen_for > 0.0

    def update_at_rest(
        self, reading: TrunkReading, dt: float, stamp_ns: int, *, mass_only: bool = False
    ) -> LoadChange | None:
        """Take a reading at rest that stands for a time [s].

        With `mass_only` a shift does not count: on a base tilted otherwise than when the centre of mass was
        measured, an unknown height shows across gravity. Returns a change, in the step in which it has been
        seen long enough.
        """
        expected = self.expected
        if self.unidentified is not None and not self.differs(reading, self.in_force):
            self.unidentified = None
        lighter_or_heavier = abs(reading.mass - expected.mass) > self._mass_limit
        if not lighter_or_heavier and (mass_only or not self.differs(reading, expected)):
            self.expected = replace(expected, seen_in_motion=False)  # the next difference is a new one
            self.lone_foot, self._forces = None, reading.measurement.forces_W[:, 2]
            self.forget_evidence()
            return None
        self._seen_for += dt
        self.lone_foot = self._lone(reading)
        if self.lone_foot is not None or not has_lasted(self._seen_for, DURATION_S):
            return None
        shift_B = across_gravity(reading.com_B - expected.com_B, reading.measurement.R_WB)
        self.expected = Expectation(reading.mass, expected.com_B + shift_B)
        self.forget_evidence()
        if expected.seen_in_motion:
            return None
        change = self._change(stamp_ns, expected.mass, reading.mass, shift_B)
        self.unidentified = change if self.differs(reading, self.in_force) else None
        return change

    def update_in_motion(self, mass: float, dt: float, stamp_ns: int) -> LoadChange | None:
        """Take a mass measured in motion [kg] that stands for a time [s].

        Time with a difference counts up, time without counts down. Returns a change, in the step in which it
        has been seen long enough; its shift is not known and zero.
        """
        limit, before = MOVING_FACTOR * self._mass_limit, self.expected
        if abs(mass - before.mass) <= limit:
            self._seen_moving_for = max(0.0, self._seen_moving_for - dt)
            return None
        self._seen_moving_for += dt
        if not has_lasted(self._seen_moving_for, MOVING_DURATION_S):
            return None
        self.expected = Expectation(mass, before.com_B, seen_in_motion=True)
        self.forget_evidence()
        change = self._change(stamp_ns, before.mass, mass, np.zeros(3))
        self.unidentified = None if abs(mass - self.in_force.mass) <= limit else change
        return change

    def differs(self, reading: TrunkReading, trunk: Expectation) -> bool:
        """Return whether a reading shows another trunk."""
        if abs(reading.mass - trunk.mass) > self._mass_limit:
            return True
        shift_B = across_gravity(reading.com_B - trunk.com_B, reading.measurement.R_WB)
        return float(np.linalg.norm(shift_B)) > COM_REACH_M * self.share

    def _lone(self, reading: TrunkReading) -> int | None:
        if self._forces is None or len(self._forces) < FEWEST_FEET:
            return None
        changes = np.abs(reading.measurement.forces_W[:, 2] - self._forces)
        foot = int(np.argmax(changes))
        return foot if changes[foot] > LONE_SHARE * changes.sum() else None

    def _change(self, stamp_ns: int, before: float, mass: float, shift_B: Array) -> LoadChange:
        heavier = "loaded" if mass > before else "unloaded"
        kind = "shifted" if abs(mass - before) <= self._mass_limit else heavier
        return LoadChange(stamp_ns, kind, before, mass, frozen_array("shift", shift_B))
