"""Joint velocities derived causally from positions, for robots that do not measure all of them."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.clock_branches import ClockBranches
from inertial_estimation.models.differentiation import end_slope_weights
from inertial_estimation.models.input_ranges import joint_range
from inertial_estimation.models.joint_turns import FULL_TURN, remove_turns
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stamp_regulator import StampRegulator
from inertial_estimation.signals import NANOSECONDS, Array, seconds

FEWEST_SAMPLES = 5  # in the window: at an equal rate three leave 2.3 times the noise
INITIAL_CAPACITY = 64  # rows of the buffer at first; doubled where a window holds more
LARGEST_TRAVEL_AT_ZERO_VELOCITY = 0.01  # [rad or m]; a velocity sensor notices more


class PositionDerivative:
    """The slope, at the newest sample, of a parabola fitted to the positions of the last `velocity_window`.

    A least-squares fit q(t) = a + b t + c t^2 over the samples of the window, by their stamps; the
    velocity is its derivative at the newest of them, so the estimate is causal. The weights are those of
    `differentiation.end_slope_weights`.

    With window W, n samples at regular steps and white noise sigma_q of the positions:

    - Constant velocity and constant acceleration are exact, without lag. A jerk j leaves an error of
      -0.1 j W^2 (many samples).
    - Transfer to a sine of angular frequency w (many samples): gain 1 + 0.1 (w W)^2 and no lag to that order;
      1.09 and 1.9 degrees of lag at w W = 1, 1.29 and 11 at 2, a peak of 1.6 at 4.5, -3 dB at 9.
    - Noise: sigma_v = sigma_q / W sqrt(12 (n - 1) (2 n - 1) (8 n - 11) / (n (n + 1) (n^2 - 4))), about
      13.9 sigma_q / (W sqrt(n)); correlated over the window.

    There is no velocity before the samples span the window: shorter windows are far noisier (as
    W^-1.5), and a zero would mean that the robot is at rest. The window starts again after a gap
    longer than `max_gap`, where the parabola would bridge unobserved motion, and after a jump of the
    clock. At low rates it holds the last five samples, however long it takes.

    Stamps are regularised as the parameter `stamps` selects (`StampRegulator`): differences over stamps
    taken on arrival would be noise. Angles of continuous joints are unwrapped.
    """

    def __init__(self, robot: RobotModel, config: InputConfig) -> None:
        """Begin without a sample.

        Args:
            robot: The model.
            config: The window, the widest gap, jumps of the clock, how stamps are taken.
        """
        self._window_ns = round(NANOSECONDS * config.velocity_window)
        self._max_gap_ns = round(NANOSECONDS * config.max_gap)
        self._jump_ns = round(NANOSECONDS * config.jump)
        self._regulator = StampRegulator(config.stamps)
        self._continuous = robot.continuous_joints
        self._rows = np.empty((INITIAL_CAPACITY, robot.n_joints))
        self._times = np.empty(INITIAL_CAPACITY, dtype=np.int64)
        self._stamps = self._times.data  # the same memory; reading single numbers is much faster
        self._begin, self._end, self._full = 0, 0, False
        self._last_stamp_ns: int | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._regulator.reset()
        self._last_stamp_ns = None
        self._clear()

    def push(self, stamp_ns: int, q: Array) -> bool:
        """Take positions.

        Args:
            stamp_ns: Their stamp [ns].
            q: Positions in the model's order [rad or m], finite, shape (n_joints,).

        Returns:
            Whether they were taken: not where the stamp is not newer than the last one (unless so much older
            that the clock was set back).
        """
        last = self._last_stamp_ns
        if last is not None:
            step = stamp_ns - last
            if -self._jump_ns <= step <= 0:
                return False
            if abs(step) > self._jump_ns:
                self.reset()
        self._last_stamp_ns = stamp_ns
        self._append(self._regulator.time_of(stamp_ns), q)
        return True

    @property
    def regularised(self) -> bool:
        """Whether the stamps come in bursts and are regularised."""
        return self._regulator.active

    @property
    def ready(self) -> bool:
        """Whether the samples span the window."""
        return self._full

    def velocity(self) -> Array | None:
        """Return the velocities at the newest sample [rad/s or m/s], None before the window is full."""
        if not self._full:
            return None
        window = slice(self._begin, self._end)
        times = self._times[window]
        velocity: Array = _weights((times - times[-1]).tobytes()).dot(self._rows[window])
        return velocity

    def _append(self, time_ns: int, q: Array) -> None:
        if self._end > self._begin and time_ns - self._stamps[self._end - 1] > self._max_gap_ns:
            self._clear()
        if self._end == len(self._stamps):
            self._make_room()
        self._times[self._end] = time_ns
        self._rows[self._end] = q
        if len(self._continuous) and self._end > self._begin:
            self._unwrap()
        self._end += 1
        self._trim(time_ns - self._window_ns)

    def _trim(self, horizon_ns: int) -> None:
        """Leave out what is older than the window, down to the fewest samples."""
        times, begin, last = self._stamps, self._begin, self._end - FEWEST_SAMPLES
        self._full = self._full or (begin <= last and times[begin] <= horizon_ns)
        while begin < last and times[begin] < horizon_ns:
            begin += 1
        self._begin = begin

    def _unwrap(self) -> None:
        """Count whole turns of the newest angles, so that they follow the ones before."""
        last, new = self._rows[self._end - 1], self._rows[self._end]
        turns = np.round((new - last)[self._continuous] / FULL_TURN)
        new[self._continuous] -= FULL_TURN * turns

    def _make_room(self) -> None:
        kept = slice(self._begin, self._end)
        times, rows = self._times[kept].copy(), self._rows[kept].copy()
        if 2 * len(times) > len(self._times):
            room = 2 * len(self._times)
            self._times, self._rows = np.empty(room, dtype=np.int64), np.empty((room, rows.shape[1]))
            self._stamps = self._times.data
        self._times[: len(times)], self._rows[: len(times)] = times, rows
        self._begin, self._end = 0, len(times)

    def _clear(self) -> None:
        self._begin = self._end = 0
        self._full = False


class JointVelocity:
    """Decides for every joint state which velocities are used: those sent, or derived ones.

    By `inputs.joint_velocity`: "measured" takes what is sent. "derived" takes positions only. "auto"
    takes what is sent, and derives the velocities of a message that has none, of joints whose velocity is
    NaN (drivers without that sensor), and of all joints once every velocity has been exactly zero while a
    joint moved by `LARGEST_TRAVEL_AT_ZERO_VELOCITY` (drivers that fill in zeros), until one is not.

    Positions are buffered from the first joint state that needs derived velocities on. While `watching` is
    false, a joint state that has all velocities need not be passed in.

    Attributes:
        watching: Whether every joint state must be passed to `of`, even one with all velocities.
    """

    def __init__(self, robot: RobotModel, config: InputConfig) -> None:
        """Begin with nothing received.

        Args:
            robot: The model.
            config: The policy, and the parameters of the derivative.
        """
        self._robot = robot
        self._policy = config.joint_velocity
        self._window = config.velocity_window
        self._derivatives = ClockBranches(lambda: PositionDerivative(robot, config), PositionDerivative.reset)
        self._longest_ns = round(NANOSECONDS * min(config.max_gap, config.jump))
        self._longest_burst_ns = round(NANOSECONDS * config.jump)
        self._range = joint_range(config.range, robot, velocity=False)
        self._every = np.ones(robot.n_joints, dtype=bool)
        self._none = np.zeros(robot.n_joints, dtype=bool)
        self.reset()

    def reset(self) -> None:
        """Forget all joint states."""
        self._derivatives.clear()
        self.watching = self._policy == "derived"
        self._needed = self.watching  # whether velocities had to be derived
        self._still_at: Array | None = None  # positions where velocities began to be all zero
        self._zeros_are_fake = False
        self._derived = self._none  # joints whose velocity was derived last

    @property
    def source(self) -> str:
        """Human-readable source of the velocities of the last joint state."""
        if self._derived is self._none:
            return "measured"
        if self._derived is self._every:
            return "derived from positions" + (": those sent are all zero" if self._zeros_are_fake else "")
        names = [self._robot.joint_names[i] for i in np.flatnonzero(self._derived)]
        return f"derived from positions for {listing(names)}, otherwise measured"

    def of(self, stamp_ns: int, q: Array, sent: Array | None) -> Array:
        """Return the velocities of a joint state.

        Args:
            stamp_ns: Its stamp [ns].
            q: Its positions in the model's order [rad or m], shape (n_joints,).
            sent: The velocities it has [rad/s or m/s], NaN where it has none, shape (n_joints,); None if it
                has none at all.

        Returns:
            Velocities, shape (n_joints,). Those to derive are NaN where a position is not plausible, and what
            was sent as NaN stays so until it can be derived.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If there are none: not sent though they have to be,
                not derived yet, or the stamp is not newer than the last one.
        """
        if self._policy == "measured":
            return self._measured(sent)
        if not self._range.plausible(q):
            return self._without_positions(sent)
        self._derived = derived = self._to_derive(q, sent)
        self._needed = self._needed or derived is not self._none
        self.watching = self._needed or self._still_at is not None
        if not self.watching:
            assert sent is not None
            return sent
        taken = self._take(stamp_ns, q)
        if derived is self._none:
            assert sent is not None
            return sent
        if not taken:
            raise MeasurementError("stamp not newer")
        velocity = self._derivatives.current.velocity()
        if velocity is None:
            if sent is not None and np.isnan(sent).any():
                return sent  # not a number: for the controller a fault, answered by damping
            raise MeasurementError(
                f"no velocity yet: it is derived from {self._window:g} s of positions without a gap, "
                f"at least {FEWEST_SAMPLES}"
            )
        return velocity if sent is None or derived is self._every else np.where(derived, velocity, sent)

    def _take(self, stamp_ns: int, q: Array) -> bool:
        """Take positions into the derivative whose stamps they continue; return whether they were taken."""
        derivatives = self._derivatives
        longest_ns = self._longest_burst_ns if derivatives.current.regularised else self._longest_ns
        if derivatives.step_to(stamp_ns, longest_ns) is None:
            return False
        return derivatives.current.push(stamp_ns, q)

    def _measured(self, sent: Array | None) -> Array:
        if sent is None:
            raise MeasurementError(
                "the joint state has no velocity; 'inputs.joint_velocity: auto' derives it from positions"
            )
        return sent

    def _to_derive(self, q: Array, sent: Array | None) -> NDArray[np.bool_]:
        """Return which joints have no measured velocity."""
        if sent is None or self._policy == "derived":
            return self._every
        self._watch_zeros(q, sent)
        if self._zeros_are_fake:
            return self._every
        absent = np.isnan(sent)
        if not absent.any():
            return self._none
        return self._every if absent.all() else absent

    def _without_positions(self, sent: Array | None) -> Array:
        """Return the velocities of a joint state whose positions say nothing; they change nothing here."""
        if sent is None or self._derived is self._every:
            return np.full(len(self._every), np.nan)
        return np.where(self._derived, np.nan, sent)

    def _watch_zeros(self, q: Array, sent: Array) -> None:
        """Detect velocities that stay exactly zero while joints move."""
        if sent.any() or not len(q):
            self._still_at, self._zeros_are_fake = None, False
        elif self._still_at is None:
            self._still_at = q.copy()
        else:
            travel = q - self._still_at
            remove_turns(travel, self._robot.continuous_joints)
            moved = bool((np.abs(travel) > LARGEST_TRAVEL_AT_ZERO_VELOCITY).any())
            self._zeros_are_fake = self._zeros_are_fake or (moved and self._derivatives.current.ready)


@lru_cache(maxsize=16)
def _weights(times_ns: bytes) -> Array:
    """Return the weights of a window, shared by windows of equal steps.

    Args:
        times_ns: Times relative to the newest sample [ns], as the bytes of 64-bit integers.
    """
    times: Array = seconds(np.frombuffer(times_ns, np.int64))
    return end_slope_weights(times)
