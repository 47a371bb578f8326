"""Whether a robot is at rest, judged by means over a window of all its inputs (T V)."""

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

WINDOW_S = 0.05  # over which readings are averaged: HyQ's torque noise of 0.3 Nm then is 0.1 kg of the trunk
DURATION_S = 0.1  # for which all limits hold before the robot is at rest
TURN_RATE = 0.05  # largest of any joint, and of the base, of a robot at rest [rad/s]
BASE_SPEED = 0.02  # largest of its base [m/s]
BASE_ACCELERATION = 0.2  # largest of its base [m/s^2]
NOISE_SIGMAS = 3.0  # of the noise of a mean, by which it may exceed its limit
NORMAL_MEDIAN = 1.4826  # standard deviation over the median of the absolute value, of a normal distribution
LEAVING_FACTOR = 1.5  # of a limit: what ends a rest, so that noise near the limit does not
SUMMATION_TOLERANCE_S = 1e-6  # a sum of step lengths falls short of the exact duration by rounding


def has_lasted(elapsed: float, duration: float) -> bool:
    """Return whether a sum of steps [s] has reached a duration [s], up to the rounding of the sum."""
    return elapsed >= duration - SUMMATION_TOLERANCE_S


class Motion(NamedTuple):
    """One kind of motion: what does it, the unit of its size, and the largest one at rest."""

    what: str
    unit: str
    limit: float


class MeanState(NamedTuple):
    """Means over the window.

    The readings are what the forces of the ground come from: joint torques [Nm], shape (n_joints,), or the
    wrench of each contact in its wrench frame [N, Nm], shape (n_contacts, 6).
    """

    q: Array  # joint positions [rad], shape (n_joints,)
    readings: Array
    roll: float  # of the base [rad]
    pitch: float  # of the base [rad]
    vertical_acceleration: float  # of the base, up [m/s^2]
    motion: Array  # size of each kind of motion
    noise: Array  # its standard deviation by noise alone

    @property
    def R_WB(self) -> Array:
        """Orientation of the base at yaw zero, Ry(pitch) Rx(roll), shape (3, 3)."""
        return rotation_from_roll_pitch_yaw(self.roll, self.pitch, 0.0)


class WindowMeans(NamedTuple):
    """Statistics of the rows of a window, with their standard deviations by white noise (0 of two rows)."""

    mean: Array
    slope: Array  # change in a second, of a least-squares line
    noise: Array  # of the mean
    slope_noise: Array


class RowWindow:
    """Rows of the last 50 ms: their mean, and how they change."""

    def __init__(self, duration: float = WINDOW_S) -> None:
        self._duration_ns = round(duration * NANOSECONDS)
        self._rows: deque[tuple[int, Array]] = deque()
        self._since_ns = 0  # time of the first row

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()

    def append(self, time_ns: int, row: Array) -> None:
        """Add a row later than all others; those that are now too old leave, but the last two."""
        self._since_ns = self._since_ns if self._rows else time_ns
        self._rows.append((time_ns, row))
        while len(self._rows) > 2 and time_ns - self._rows[0][0] > self._duration_ns:
            self._rows.popleft()

    @property
    def full(self) -> bool:
        """Whether rows have come for as long as the window is."""
        return len(self._rows) > 1 and self._rows[-1][0] - self._since_ns >= self._duration_ns

    def means(self) -> WindowMeans:
        """Return the statistics of two or more rows.

        Second differences x_(k+1) - 2 x_k + x_(k-1) show the noise and no steady motion: their variance is
        six times that of a row. Their median does not see a jolt.
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
        axes: Turns wrenches into the axes of their sensors.
        readings: The window, to be cleared after a gap.
        rest: Judges the motion of each joint and of the base; its acceleration by the slope of its velocity.
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
        """Take a step into the window; return its means, None if an input is missing or it is not full."""
        rows = [row for name in self._names if (row := sample.rows[name]) is not None]
        if len(rows) < len(self._names) or self.axes.unknown:
            self.readings.clear()
            return None
        self.readings.append(sample.time_ns, np.concatenate((sample.driver, *rows)))
        return self._means(len(sample.driver)) if self.readings.full else None

    def _means(self, first: int) -> MeanState:
        """Return the means, where the base state begins at a column: velocity, rate, vertical."""
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
    """Judges means over a window. A rest begins below the limits and ends at one and a half times them.

    A mean may exceed its limit by three standard deviations of the noise that its window shows, so that a
    noisy robot comes to rest as well.

    Attributes:
        why_not: Reason why the robot is not at rest; empty if it is.
    """

    def __init__(self, motions: Sequence[Motion]) -> None:
        self._motions, self._limits = motions, np.array([motion.limit for motion in motions])
        self.reset()

    def reset(self) -> None:
        """Discard all readings."""
        self._still_for = 0.0
        self.why_not = "an input is missing, or its window is not full"

    def update(self, state: MeanState, dt: float) -> bool:
        """Take the means of a step, after a time [s]; return whether the robot is at rest."""
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
