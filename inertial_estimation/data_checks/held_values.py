"""Finds numbers that are sent again until the next measurement: inputs with a lower rate than their messages.

A driver may publish joint states at 250 Hz whose efforts come from a bus at 10 Hz. The stamp of such an
effort is wrong by up to 0.1 s, and no check of stamps shows it, but the value repeats bit by bit.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.models.robot_config import IMU_TOPIC
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, WrenchSample, seconds

__all__ = ["IMU_AXES", "WRENCH_AXES", "HeldInputs", "HeldValues"]

JOINTS = "joint_states"
PLURAL = {"position": "positions", "velocity": "velocities", "effort": "efforts"}
CHECK = "held values"
BLOCK = 32  # readings that are counted at once
MEMORY = 0.95  # weight of the blocks before, in a node: some seconds
HELD_BELOW = (
    80.0  # rate of changes; at 100 Hz masses are as good as without holding, at 50 Hz 13 % worse [Hz]
)
HELD_ABOVE = 2.0  # rate of changes; rarer ones are those of a robot at rest without noise [Hz]
CONSECUTIVE = 0.2  # share of the changes that follow one another immediately, next to none of held numbers
TOGETHER = 0.5  # share of the changing numbers that change at once, if all are held together
FEWEST_TOGETHER = 3  # numbers that change together
FEWEST_CHANGES = 2.5  # of theirs: three, of which the older ones have less weight
FEWEST_ALONE = 8  # changes of a number that is held alone
QUANTA = 3.0  # mean change over the smallest one; a quantised number changes by one quantum, now and then
LARGEST = 1e100  # change; the sum of many such ones is finite
LONGEST_STEP_NS = NANOSECONDS  # between two readings; a longer one is a gap
IMU_AXES = (
    "specific force x",
    "specific force y",
    "specific force z",
    "angular rate x",
    "angular rate y",
    "angular rate z",
)
WRENCH_AXES = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
REMEDY = "publish every value when it is measured; estimates that use held values are late and may be wrong"


class HeldValues:
    """Counts how often the numbers of one quantity change between readings, in constant memory.

    Held numbers change rarely, never twice in a row, and by more than a quantum. If all of them change at the
    same readings, three changes suffice to tell; noise and quantisation do not do that.
    """

    def __init__(self, subject: str, quantity: str, *, forgets: bool) -> None:
        """Begin without a reading.

        Args:
            subject: Input for people.
            quantity: What is measured, in the plural ("efforts").
            forgets: Whether the last seconds count rather than all readings.
        """
        self._subject, self._quantity = subject, quantity
        self._memory = MEMORY if forgets else 1.0
        self._counts: _Counts | None = None

    def push(self, stamps_ns: NDArray[np.int64], values: Array) -> None:
        """Count the changes from each reading to the next one.

        Args:
            stamps_ns: Stamps of m readings [ns], shape (m,).
            values: Their numbers, shape (m, n).
        """
        steps = np.diff(stamps_ns)
        good = (steps > 0) & (steps <= LONGEST_STEP_NS)
        with np.errstate(all="ignore"):  # infinite numbers; NaN does not change
            changes = np.minimum(np.abs(np.diff(values, axis=0))[good], LARGEST)
        if self._counts is None or len(self._counts.changes) != changes.shape[1]:
            self._counts = _Counts(changes.shape[1])
        self._counts.add(changes, seconds(int(steps[good].sum())), self._memory)

    def results(self, names: Sequence[str]) -> list[CheckResult]:
        """Return what is held: the whole quantity in one result, or single numbers.

        Args:
            names: Names of the numbers, n of them.
        """
        counts = self._counts
        if counts is None or not counts.span_s:
            return []
        rate, of = float(counts.readings / counts.span_s), counts.steps / counts.span_s
        if counts.all_held():
            said = f"{self._quantity} change at {rate:.2g} Hz only of {of:.3g} Hz, and are held in between"
            return [CheckResult(CHECK, self._subject, Verdict.WARN, rate, "Hz", said, REMEDY)]
        found, rates = [], (counts.changes / counts.span_s).tolist()
        if len(names) != len(rates):  # other joints than in the readings that are counted
            return []
        for j in np.flatnonzero(counts.held_alone()).tolist():
            said = f"{self._quantity} of {names[j]} change at {rates[j]:.2g} Hz only of {of:.3g} Hz"
            subject = f"{self._subject} {names[j]}"
            found.append(CheckResult(CHECK, subject, Verdict.WARN, rates[j], "Hz", said, REMEDY))
        return found


class _Counts:
    """Changes of n numbers from reading to reading.

    Attributes:
        steps: Steps from reading to reading.
        span_s: Their time [s].
        changes: Steps at which each number changed, shape (n,).
        readings: Steps at which any number changed.
    """

    def __init__(self, n: int) -> None:
        self.steps = self.span_s = self.readings = 0.0
        self.changes = np.zeros(n)
        self._in_a_row, self._sum, self._smallest = np.zeros(n), np.zeros(n), np.full(n, np.inf)
        self._readings_in_a_row = 0.0

    def add(self, changes: Array, span_s: float, memory: float) -> None:
        """Add absolute changes, shape (m, n), within a time; what was before is weighted by `memory`."""
        changed = changes > 0.0
        of_any = np.atleast_1d(changed.any(axis=1))
        self.steps = memory * self.steps + len(changes)
        self.span_s = memory * self.span_s + span_s
        self.readings = memory * self.readings + np.count_nonzero(of_any)
        self._readings_in_a_row *= memory
        self._readings_in_a_row += np.count_nonzero(of_any[1:] & of_any[:-1])
        self.changes = memory * self.changes + changed.sum(axis=0)
        self._in_a_row = memory * self._in_a_row + (changed[1:] & changed[:-1]).sum(axis=0)
        self._sum = memory * self._sum + np.where(changed, changes, 0.0).sum(axis=0)
        if len(changes):
            self._smallest = np.fmin(self._smallest, np.where(changed, changes, np.inf).min(axis=0))

    def all_held(self) -> bool:
        """Return whether all numbers that change do so at once, and rarely."""
        n = np.count_nonzero(self.changes >= 0.5)
        if n < FEWEST_TOGETHER or self.readings < FEWEST_CHANGES:
            return False
        rare = HELD_ABOVE * self.span_s <= self.readings <= HELD_BELOW * self.span_s
        apart = self._readings_in_a_row <= CONSECUTIVE * self.readings
        return bool(rare and apart and self.changes.sum() >= TOGETHER * n * self.readings)

    def held_alone(self) -> NDArray[np.bool_]:
        """Return which numbers change rarely, and by more than a quantum, shape (n,)."""
        changes: Array = self.changes
        rare: NDArray[np.bool_] = (changes >= HELD_ABOVE * self.span_s) & (
            changes <= HELD_BELOW * self.span_s
        )
        apart = (self._in_a_row <= CONSECUTIVE * changes) & (changes >= FEWEST_ALONE)
        smallest = np.where(np.isfinite(self._smallest), self._smallest, 0.0)
        found: NDArray[np.bool_] = rare & apart & (self._sum > QUANTA * smallest * changes)
        return found


class HeldInputs:
    """Looks for held values of all inputs of a robot; a reading costs an addition to a list."""

    def __init__(self, contacts: Iterable[str], *, forgets: bool) -> None:
        """Begin without a reading.

        Args:
            contacts: Names of the contacts.
            forgets: Whether the last seconds count rather than all readings.
        """
        self._joints = {part: HeldValues(JOINTS, name, forgets=forgets) for part, name in PLURAL.items()}
        self._imu = HeldValues(IMU_TOPIC, "readings", forgets=forgets)
        self._wrenches = {
            name: HeldValues(f"{name}/wrench", "readings", forgets=forgets) for name in contacts
        }
        self._readings: list[JointReading] = []
        self._samples: list[ImuSample] = []
        self._loads: dict[str, list[WrenchSample]] = {name: [] for name in self._wrenches}

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state."""
        readings = self._readings
        readings.append(reading)
        if len(readings) > BLOCK:
            self._readings = readings[-1:]
            if any(one.names != reading.names for one in readings):
                return
            stamps = np.array([one.stamp_ns for one in readings])
            for part, held in self._joints.items():
                values = [getattr(one, part) for one in readings]
                if all(value is not None for value in values):
                    held.push(stamps, np.array(values))

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        samples = self._samples
        samples.append(sample)
        if len(samples) > BLOCK:
            self._samples = samples[-1:]
            values = [np.concatenate((one.specific_force_I, one.angular_rate_I)) for one in samples]
            self._imu.push(np.array([one.stamp_ns for one in samples]), np.array(values))

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of one of the contacts."""
        samples = self._loads[contact]
        samples.append(sample)
        if len(samples) > BLOCK:
            self._loads[contact] = samples[-1:]
            stamps = np.array([one.stamp_ns for one in samples])
            self._wrenches[contact].push(stamps, np.array([one.wrench_F for one in samples]))

    def results(self) -> list[CheckResult]:
        """Return what is held now; nothing where nothing is."""
        names = self._readings[-1].names if self._readings else ()
        found = [result for held in self._joints.values() for result in held.results(names)]
        for held in self._wrenches.values():
            found += held.results(WRENCH_AXES)
        return [*found, *self._imu.results(IMU_AXES)]
