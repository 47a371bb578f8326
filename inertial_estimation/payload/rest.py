"""Detection of rest by means over a window of all inputs (T V)."""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import SensorAxes
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

WINDOW_S = 0.05  # averaging window: HyQ's torque noise of 0.3 Nm then is 0.1 kg of the trunk's mass
DURATION_S = 0.1  # time for which all limits must hold before the robot counts as at rest
TURN_RATE = 0.05  # largest speed of any joint, and angular rate of the base, at rest [rad/s]
BASE_SPEED = 0.02  # largest speed of the base at rest [m/s]
BASE_ACCELERATION = 0.2  # largest acceleration of the base at rest [m/s^2]
NOISE_SIGMAS = 3.0  # standard deviations of its noise by which a mean may exceed its limit
NORMAL_MEDIAN = 1.4826  # standard deviation over the median of the absolute value, of a normal distribution
LEAVING_FACTOR = 1.5  # factor on the limits that end a rest (hysteresis)
SUMMATION_TOLERANCE_S = 1e-6  # a sum of step lengths falls short of the exact duration by rounding


def has_lasted(elapsed: float, duration: float) -> bool:
    """Return whether a sum of steps [s] has reached a duration [s], up to the rounding of the sum."""
    return elapsed >= duration - SUMMATION_TOLERANCE_S


class Motion(NamedTuple):
    """One kind of motion with its limit at rest."""

    what: str  # the moving part with its verb, for messages
    unit: str  # unit of its magnitude
    limit: float  # largest magnitude at rest


class MeanState(NamedTuple):
    """Means over the window.

    The forces of the ground are computed from `readings`: joint torques [Nm], shape (n_joints,), or the
    wrench of each contact in its wrench frame [N, Nm], shape (n_contacts, 6).
    """

    q: Array  # joint positions [rad], shape (n_joints,)
    readings: Array
    roll: float  # roll of the base [rad]
    pitch: float  # pitch of the base [rad]
    vertical_acceleration: float  # acceleration of the base, upwards [m/s^2]
    motion: Array  # magnitude of each kind of motion
    noise: Array  # standard deviation of each magnitude by noise alone

    @property
    def R_WB(self) -> Array:
        """Orientation of the base at yaw zero, Ry(pitch) Rx(roll), shape (3, 3)."""
        return rotation_from_roll_pitch_yaw(self.roll, self.pitch, 0.0)


class WindowMeans(NamedTuple):
    """Statistics of the rows of a window, with their standard deviations by white noise (0 of two rows)."""

    mean: Array
    slope: Array  # change in a second, of a least-squares line
    noise: Array  # standard deviation of the mean
    slope_noise: Array  # standard deviation of the slope


class RowWindow:
    """Rows of the last 50 ms, their mean and slope."""

    def __init__(self, duration: float = WINDOW_S) -> None:
        self._duration_ns = round(duration * NANOSECONDS)
        self._rows: deque[tuple[int, Array]] = deque()
        self._since_ns = 0  # time of the first row

    def clear(self) -> None:
        """Discard all rows."""
        self._rows.clear()

    def append(self, time_ns: int, row: Array) -> None:
        """Add a row later than all others; remove those older than the window, but keep the last two."""
        self._since_ns = self._since_ns if self._rows else time_ns
        self._rows.append((time_ns, row))
        while len(self._rows) > 2 and time_ns - self._rows[0][0] > self._duration_ns:
            self._rows.popleft()

    @property
    def full(self) -> bool:
        """Whether the rows since the last `clear` span the length of the window."""
        return len(self._rows) > 1 and self._rows[-1][0] - self._since_ns >= self._duration_ns

    def means(self) -> WindowMeans:
        """Return the statistics of two or more rows.

        Second differences x_(k+1) - 2 x_k + x_(k-1) contain the noise and no steady motion: their variance is
        six times that of a row. Their median is not affected by a jolt.
        """
        newest = self._rows[-1][0]
        times = np.array([seconds(time - newest) for time, _row in self._rows])
        rows = np.array([row for _time, row in self._rows])
        n, centred = len(rows), times - times.mean()
        noise = np.zeros(rows.shape[1])
        if n > 2:
            jumps = np.partition(np.abs(np.diff(rows, n=2, axis=0)), (n - 2) // 2, axis=0)
            noise = NORMAL_MEDIAN * jumps[(n - 2) // 2] / math.sqrt(6.0 * n)
        spread = float(centred @ centred)
        return WindowMeans(rows.mean(axis=0), centred @ rows / spread, noise, noise * math.sqrt(n / spread))


class StateWindow:
    """Means of all inputs over the last 50 ms.

    Attributes:
        axes: Rotates wrenches to the axes of their sensors.
        readings: The window, to be cleared after a gap.
        rest: Detector of rest of joints and base, whose acceleration is the slope of its velocity.
    """

    def __init__(self, setup: RobotSetup, inputs: RobotInputs) -> None:
        assert inputs.joints is not None
        self._columns, self._base_width = inputs.joints.columns, inputs.streams[BASE_STATE].spec.width
        self.axes = SensorAxes(setup, inputs.contacts)
        self._names = [BASE_STATE, *(contact.stream.spec.name for contact in inputs.contacts.values())]
        self.rest = RestDetector(
            (
                *(Motion(f"joint {name} moves", "rad/s", TURN_RATE) for name in setup.robot.joint_names),
                Motion("the base moves", "m/s", BASE_SPEED),
                Motion("the base turns", "rad/s", TURN_RATE),
                Motion("the base accelerates", "m/s^2", BASE_ACCELERATION),
            )
        )
        self.readings = RowWindow()

    def state_at(self, sample: AlignedSample) -> MeanState | None:
        """Add a step; return the means of the window, None if an input is missing or it is not full."""
        rows = [row for name in self._names if (row := sample.rows[name]) is not None]
        if len(rows) < len(self._names) or self.axes.unknown:
            self.readings.clear()
            return None
        self.readings.append(sample.time_ns, np.concatenate((sample.driver, *rows)))
        return self._means(len(sample.driver)) if self.readings.full else None

    def _means(self, first: int) -> MeanState:
        """Return the means; the base state (velocity, rate, vertical) begins at the column `first`."""
        mean, slope, noise, slope_noise = self.readings.means()
        columns = self._columns
        velocity, rate, up = (slice(k, k + 3) for k in (first, first + 3, first + 6))
        base = mean[velocity], mean[rate], slope[velocity]
        base_noise = noise[velocity], noise[rate], slope_noise[velocity]
        q, wrenches = mean[columns.q], mean[first + self._base_width :].reshape(-1, 6)
        sx, sy, sz = mean[up].tolist()
        return MeanState(
            q=q,
            readings=self.axes.turned(wrenches, q) if len(wrenches) else mean[columns.tau],
            roll=math.atan2(sy, sz),
            pitch=math.atan2(-sx, math.hypot(sy, sz)),
            vertical_acceleration=float(mean[up] @ slope[velocity]),
            motion=np.append(np.abs(mean[columns.v]), np.linalg.norm(base, axis=1)),
            noise=np.append(noise[columns.v], np.linalg.norm(base_noise, axis=1)),
        )


class RestDetector:
    """Detects rest by means over a window: it begins below the limits and ends at 1.5 times the limits.

    A mean may exceed its limit by three standard deviations of its noise, which is estimated from the window,
    so that rest is also detected with noisy sensors.

    Attributes:
        why_not: Reason why the robot is not at rest; empty if it is.
    """

    def __init__(self, motions: Sequence[Motion]) -> None:
        self._motions, self._limits = motions, np.array([motion.limit for motion in motions])
        self.reset()

    def reset(self) -> None:
        """Restart the detection of rest."""
        self._still_for = 0.0
        self.why_not = "an input is missing, or its window is not full"

    def update(self, state: MeanState, dt: float) -> bool:
        """Take the means of a step of dt [s]; return whether the robot is at rest."""
        scale = LEAVING_FACTOR if has_lasted(self._still_for, DURATION_S) else 1.0
        excess = state.motion - scale * self._limits - NOISE_SIGMAS * state.noise
        worst = int(np.argmax(excess / self._limits))
        if excess[worst] > 0.0:
            what, unit, _limit = self._motions[worst]
            self._still_for, self.why_not = 0.0, f"{what} with {state.motion[worst]:.3g} {unit}"
            return False
        self._still_for += dt
        rested = has_lasted(self._still_for, DURATION_S)
        self.why_not = "" if rested else f"still for {self._still_for:.2f} s only"
        return rested
