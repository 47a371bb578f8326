"""Whether a robot is at rest, judged by means over a window of all its inputs (T V)."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE
from inertial_estimation.inputs.wrench_axes import SensorAxes
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.payload.config import RestConfig
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

WINDOW_S = 0.05  # over which readings are averaged: HyQ's torque noise of 0.3 Nm then is 0.1 kg of the trunk
DURATION_S = 0.1  # for which all limits hold before the robot is at rest
LEAVING_FACTOR = 1.5  # of a limit: what ends a rest, so that noise near the limit does not
SUMMATION_TOLERANCE_S = 1e-6  # a sum of step lengths falls short of the exact duration by rounding
BASE_NUMBERS = 9  # velocity, angular rate, vertical


def has_lasted(elapsed: float, duration: float) -> bool:
    """Return whether a sum of steps [s] has reached a duration [s], up to the rounding of the sum."""
    return elapsed >= duration - SUMMATION_TOLERANCE_S


@dataclass(frozen=True, slots=True, eq=False)
class MeanState:
    """Means over the window.

    Attributes:
        q: Joint positions [rad], shape (n_joints,).
        v: Joint velocities [rad/s], shape (n_joints,).
        tau: Joint torques [Nm], shape (n_joints,); None where not needed.
        wrenches_F: Wrench of each contact in its wrench frame [N, Nm], shape (n_contacts, 6); None where
            not used.
        roll: Of the base [rad].
        pitch: Of the base [rad].
        base_speed: Speed of the base [m/s].
        angular_rate: Of the gyroscope where there is one, else of the base state [rad/s].
        vertical_acceleration: Of the base, up [m/s^2].
        acceleration: Of the base [m/s^2]: slope of its velocity over the window, or the change of the
            specific force from half to half, whichever is more.
    """

    q: Array
    v: Array
    tau: Array | None
    wrenches_F: Array | None
    roll: float
    pitch: float
    base_speed: float
    angular_rate: float
    vertical_acceleration: float
    acceleration: float

    @property
    def R_WB(self) -> Array:
        """Orientation of the base at yaw zero, Ry(pitch) Rx(roll), shape (3, 3)."""
        return rotation_from_roll_pitch_yaw(self.roll, self.pitch, 0.0)


class RowWindow:
    """Rows of the last 50 ms: their mean, and how it changes from half to half."""

    def __init__(self, duration: float = WINDOW_S) -> None:
        self._duration_ns = round(duration * NANOSECONDS)
        self._rows: deque[tuple[int, Array]] = deque()
        self._since_ns: int | None = None  # time of the first row

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._since_ns = None

    def append(self, time_ns: int, row: Array) -> None:
        """Add a row later than all others; those that are now too old leave, but the last two."""
        self._since_ns = time_ns if self._since_ns is None else self._since_ns
        self._rows.append((time_ns, row))
        while len(self._rows) > 2 and time_ns - self._rows[0][0] > self._duration_ns:
            self._rows.popleft()

    @property
    def full(self) -> bool:
        """Whether rows have come for as long as the window is."""
        if self._since_ns is None:
            return False
        return len(self._rows) > 1 and self._rows[-1][0] - self._since_ns >= self._duration_ns

    def means(self) -> tuple[Array, Array, float]:
        """Return mean, mean of the later half less that of the earlier one, and the time between these [s].

        Difference over time is a slope, hardly noisier than that of least squares.
        """
        newest = self._rows[-1][0]
        ages = [time - newest for time, _row in self._rows]
        rows = np.array([row for _time, row in self._rows])
        middle = min(max(bisect_right(ages, -(self._duration_ns // 2)), 1), len(rows) - 1)
        n_late = len(rows) - middle
        early, late = rows[:middle].sum(axis=0), rows[middle:].sum(axis=0)
        apart = seconds(sum(ages[middle:]) / n_late - sum(ages[:middle]) / middle)
        return (early + late) / len(rows), late / n_late - early / middle, apart


class StateWindow:
    """Means of all inputs over the last 50 ms.

    Attributes:
        axes: Turns wrenches into the axes of their sensors.
    """

    def __init__(self, setup: RobotSetup, inputs: RobotInputs) -> None:
        """Begin with an empty window."""
        assert inputs.joints is not None
        self._inputs, self._columns = inputs, inputs.joints.columns
        self.axes = SensorAxes(setup, inputs)
        self._wrenches = [contact.stream.spec.name for contact in inputs.contacts.values()]
        self._names = [BASE_STATE, *([IMU] if inputs.imu is not None else []), *self._wrenches]
        self._window = RowWindow()

    def clear(self) -> None:
        """Restart the window, for example after a gap."""
        self._window.clear()

    def state_at(self, sample: AlignedSample) -> MeanState | None:
        """Take a step into the window; return its means, None if an input is missing or it is not full."""
        rows = [row for name in self._names if (row := sample.rows[name]) is not None]
        if len(rows) < len(self._names) or self.axes.unknown:
            self._window.clear()
            return None
        self._window.append(sample.time_ns, np.concatenate((sample.driver, *rows)))
        return self._means() if self._window.full else None

    def _means(self) -> MeanState:
        columns, (mean, change, apart) = self._columns, self._window.means()
        first = self._inputs.streams[JOINTS].spec.width
        after, q = first + BASE_NUMBERS, mean[columns.q]
        v_B, w_B, up_B = mean[first:after].reshape(3, 3)
        a_B = change[first : first + 3] / apart
        acceleration = float(np.linalg.norm(a_B))
        if IMU in self._names:
            w_B = mean[after:][RATE]
            acceleration = max(acceleration, float(np.linalg.norm(change[after:][FORCE])))
            after += self._inputs.streams[IMU].spec.width
        sx, sy, sz = up_B.tolist()
        return MeanState(
            q=q,
            v=mean[columns.v],
            tau=mean[columns.tau] if columns.tau is not None else None,
            wrenches_F=self.axes.turned(mean[after:].reshape(-1, 6), q) if self._wrenches else None,
            roll=math.atan2(sy, sz),
            pitch=math.atan2(-sx, math.hypot(sy, sz)),
            base_speed=float(np.linalg.norm(v_B)),
            angular_rate=float(np.linalg.norm(w_B)),
            vertical_acceleration=float(up_B @ a_B),
            acceleration=acceleration,
        )


class RestDetector:
    """Judges means over a window. A rest begins below the limits and ends at one and a half times them.

    A bias of the gyroscope only has to stay below the limit of the rate, one of the accelerometer plays
    no part: its change is judged.

    Attributes:
        config: Its limits.
        why_not: Reason why the robot is not at rest; empty if it is.
    """

    def __init__(self, config: RestConfig, joint_names: Sequence[str]) -> None:
        self.config = config
        self._names = tuple(joint_names)
        self.reset()

    def reset(self) -> None:
        """Discard all readings."""
        self._still_for = 0.0
        self.why_not = "an input is missing, or its window is not full"

    def update(self, state: MeanState, dt: float) -> bool:
        """Take the means of a step, after a time [s]; return whether the robot is at rest."""
        moving = self._moving(state, LEAVING_FACTOR if self._rested else 1.0)
        self._still_for = 0.0 if moving else self._still_for + dt
        self.why_not = moving or ("" if self._rested else f"still for {self._still_for:.2f} s only")
        return self._rested

    @property
    def _rested(self) -> bool:
        return has_lasted(self._still_for, DURATION_S)

    def _moving(self, state: MeanState, scale: float) -> str:
        limits, speeds = self.config, np.abs(state.v)
        fastest = int(speeds.argmax()) if len(speeds) else 0
        joint = (f"joint {self._names[fastest]} moves", float(speeds[fastest])) if len(speeds) else ("", 0.0)
        for (what, value), limit, unit in (
            (joint, limits.joint_speed, "rad/s"),
            (("the base moves", state.base_speed), limits.base_speed, "m/s"),
            (("the base turns", state.angular_rate), limits.angular_rate, "rad/s"),
            (("the base accelerates", state.acceleration), limits.acceleration, "m/s^2"),
        ):
            if value > scale * limit:
                return f"{what} with {value:.3g} {unit}"
        return ""
