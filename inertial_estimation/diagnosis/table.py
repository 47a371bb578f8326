"""The streams at common times, smoothed without phase lag, with the predictions of the description.

All streams are smoothed and differentiated by the same filter, so that every signal, slope and second
derivative belongs to one time. What a hypothesis assumes about the sensors is a linear map of the signals
(`Change`), which commutes with smoothing: its table is computed without smoothing the streams again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from inertial_estimation.inputs.robot_streams import RobotStreams, StreamRows
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.contacts import WrenchAxes
from inertial_estimation.models.imu import STANDARD_GRAVITY, ImuToBase
from inertial_estimation.models.joint_limits import possible_positions, urdf_limits, without_stops
from inertial_estimation.models.predicted_forces import PredictedForces, gravity_columns
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3, skews

Indices = NDArray[np.int64]
Gravity: TypeAlias = tuple[float, float, float]  # [m/s^2]
DOWN: Gravity = (0.0, 0.0, -STANDARD_GRAVITY)
STEP_S = 0.02  # time between two windows [s]
SHORTEST_S, LONGEST_S, SAMPLES = 0.04, 0.1, 12  # lengths of smoothing windows [s]; samples in each
GAP_S, SPARSE_S = 0.1, 0.5  # longest step of a stream that is interpolated; that of a slow stream [s]
LEVELLED_S = 2.0  # time constant by which the vertical follows the specific force [s]
NINE_TENTHS = 1.645  # standard deviations that contain 90 % of a normal variable
HEAVY = 0.2  # share of the robot's mass behind a joint of unknown position, from which forces are unknown
STRONG = 0.04  # stiction, share of the effort limit: larger predicted torques stand out from it
STRONG_UNLIMITED = 0.1  # the same as share of the largest predicted torque, for a joint without a limit
SOLES = 2  # most contacts that are soles; three and more contacts are points, which transmit no moment


def _rows(one: Any, rows: Indices) -> dict[str, Any]:
    """Return some rows of all arrays of a dataclass, by the names of its fields."""
    arrays = {field.name: getattr(one, field.name) for field in fields(one)}
    return {name: value[rows] for name, value in arrays.items() if isinstance(value, np.ndarray)}


class Load(NamedTuple):
    """A load that the description lacks, during a time interval."""

    link: str  # a link of the body that carries it
    # mass [kg], first moments [kg m] and optional second moments [kg m^2] about the body's centre of mass
    parameters: tuple[float, ...]
    begins_s: float = -math.inf  # begin of the interval, on the time scale of the signals [s]
    ends_s: float = math.inf  # its end [s]


@dataclass(frozen=True, eq=False)
class Signals:
    """Signals at N times, NaN where unknown. Derivatives of joints come from the positions alone."""

    times_s: Array  # time since the first joint state [s], shape (N,)
    q: Array  # joint positions and their derivatives [rad, s], shape (N, n)
    dq: Array
    ddq: Array
    v: Array  # joint velocities as sent [rad/s], shape (N, n)
    tau: Array  # joint efforts [Nm] and their slopes, shape (N, n)
    dtau: Array
    f: Array  # specific force [m/s^2], angular rate [rad/s] and its slope, axes of the IMU, shape (N, 3)
    w: Array
    wd: Array
    wrenches: Array  # wrenches of the contacts in the axes `axes` [N, Nm], shape (N, k, 6)
    attitude: Array  # orientation of the IMU in level axes of unknown heading, shape (N, 3, 3)
    axes: tuple[WrenchAxes, ...] = ()  # axes of each contact's wrenches
    gravity: Gravity = DOWN  # gravity in the axes of a fixed base
    window_s: float = LONGEST_S  # length of the smoothing windows [s]
    scalar: bool = False  # whether contacts measure one number each: a load, without horizontal forces
    shares: bool = False  # whether some have a switch or a number without a unit: shares of the load
    loads: tuple[Load, ...] = ()  # assumed loads that the description lacks
    held: tuple[str, ...] = ()  # joints of unknown position, assumed at rest in the middle of their range
    whole: "Signals | None" = None  # signals at all times, to interpolate a delay; None: these are all

    @property
    def size(self) -> int:
        """Number of times."""
        return len(self.times_s)

    def at(self, rows: Indices) -> "Signals":
        """Return the signals at some of the times."""
        return replace(self, whole=self.whole or self, **_rows(self, rows))

    @property
    def contradiction(self) -> float:
        """Rms angle of the specific force to the vertical that follows it and the angular rate [rad]."""
        cosines = np.sum(self.f * self.attitude[:, 2], axis=1) / np.linalg.norm(self.f, axis=1)
        angles = np.arccos(np.clip(cosines[np.isfinite(cosines)], -1.0, 1.0))
        return float(rms(angles)) if len(angles) else 0.0

    def with_rate(self, factor: float) -> "Signals":
        """Return the signals with the angular rate times a factor, and the attitude that follows from it."""
        w = factor * self.w
        return replace(self, w=w, wd=factor * self.wd, attitude=_attitude(self.f, w))

    @classmethod
    def of(cls, streams: RobotStreams, setup: RobotSetup) -> "Signals":
        """Smooth and differentiate streams; signals are NaN near a gap of their stream."""
        n, k = streams.n_joints, len(setup.contacts)
        first, last = int(streams.joints.times_ns[0]), int(streams.joints.times_ns[-1])
        times = np.arange(LONGEST_S, (last - first) / NANOSECONDS - LONGEST_S, STEP_S)
        window = _window(streams)
        free = np.flatnonzero(without_stops(setup.robot))
        values, slopes, bends = _smoothed(streams.joints, first, times, window, free)
        imu, imu_slope = np.full((2, len(times), 6), np.nan)
        if streams.imu is not None:
            imu, imu_slope, _ = _smoothed(streams.imu, first, times, window)
        wrenches = np.full((len(times), k, 6), np.nan)
        for contact, stream in {**streams.wrenches, **streams.loads}.items():
            i = setup.contact_names.index(contact)
            wrenches[:, i] = _smoothed(stream, first, times, window)[0]
        silent = np.flatnonzero(np.isfinite(values[:, :n]).sum(axis=0) < 0.5 * len(times))
        held = np.setdiff1d(silent, setup.sensing_joints)
        values[:, held] = np.nan_to_num(urdf_limits(setup.robot).middle)[held]
        values[:, n + held], slopes[:, held], bends[:, held] = 0.0, 0.0, 0.0
        sent = np.nan_to_num(wrenches)
        scalar = bool(streams.loads or (sent.any() and not sent[:, :, [0, 1, 3, 4, 5]].any()))
        signals = cls(
            *(times, values[:, :n], slopes[:, :n], bends[:, :n], values[:, n : 2 * n]),
            *(values[:, 2 * n :], slopes[:, 2 * n :], imu[:, :3], imu[:, 3:], imu_slope[:, 3:], wrenches),
            attitude=_attitude(imu[:, :3], imu[:, 3:]),
            # A single number is a vertical force, and so is the only component of a wrench that is sent.
            axes=tuple(
                WrenchAxes.WORLD if one.name in streams.loads else WrenchAxes.BASE if scalar else one.axes
                for one in setup.contacts
            ),
            window_s=window,
            scalar=scalar,
            shares=streams.shares,
            held=tuple(setup.robot.joint_names[j] for j in held),
        )
        return replace(signals.at(np.flatnonzero(np.isfinite(signals.q).all(axis=1))), whole=None)


def _attitude(f: Array, w: Array) -> Array:
    """Return the orientation of an IMU in level axes of constant heading, shape (N, 3, 3).

    The rate is integrated forwards, which finds the initial vertical, then backwards. The error of the
    vertical against the specific force decays with the time constant `LEVELLED_S`.
    """
    from scipy.spatial.transform import Rotation  # a node starts without it

    f, n, up = np.nan_to_num(f), len(f), np.array([0.0, 0.0, 1.0])
    f = f / np.maximum(np.linalg.norm(f, axis=1, keepdims=True), 1e-9)
    across, turn = skews(f), STEP_S * np.nan_to_num(w)
    R = Rotation.align_vectors(up, f.sum(axis=0) + 1e-9 * up)[0].as_matrix()  # it may be upside down
    found = np.empty((n, 3, 3))
    for k, i in enumerate((*range(n), *reversed(range(n)))):
        rate, gain = turn[i] if k < n else -turn[i], max(1.0 / (k + 1), STEP_S / LEVELLED_S)
        R = R @ exp_so3(rate + gain * (across[i] @ R[2]))
        found[i] = R
    return found


def _window(streams: RobotStreams) -> float:
    """Return the length of the smoothing windows [s], by the rates at which positions and IMU change.

    Long windows average the noise of the sensors. Short windows preserve products of two signals (a force and
    its lever) within the step of a gait: the product of two means is not the mean of the product.
    """
    joints = StreamRows(streams.joints.times_ns, streams.joints.values[:, : streams.n_joints])
    sent = [joints] if streams.imu is None else [joints, streams.imu]
    changes = [s.times_ns[1:][(np.diff(s.values, axis=0) != 0.0).any(axis=1)] for s in sent]
    steps = [float(np.median(np.diff(times))) / NANOSECONDS for times in changes if len(times) > 1]
    return min(max(SHORTEST_S, SAMPLES * max(steps, default=LONGEST_S)), LONGEST_S)


def _smoothed(
    stream: StreamRows, first_ns: int, times_s: Array, window_s: float, turning: Indices | None = None
) -> tuple[Array, Array, Array]:
    """Return value, slope and second derivative of a stream at some times, shape (N, c) each.

    Derivatives are shrunk by their share of noise: those of a robot at rest vanish.
    """
    t, values = (stream.times_ns - first_ns) / NANOSECONDS, stream.values
    found = np.full((3, len(times_s), values.shape[1]), np.nan)
    if len(t) < 2 or not len(times_s):
        return found[0], found[1], found[2]
    if turning is not None and len(turning):
        values = values.copy()
        values[:, turning] = np.unwrap(np.nan_to_num(values[:, turning]), axis=0)
    parts = max(1, round(STEP_S / max(float(np.median(np.diff(t))), 5e-4)))
    fine_s = STEP_S / parts
    half = max(1, round(0.5 * window_s / fine_s))
    fine = times_s[0] + fine_s * np.arange(-3 * half, (len(times_s) - 1) * parts + 3 * half + 1)
    right = np.clip(np.searchsorted(t, fine), 1, len(t) - 1)
    share = np.clip((fine - t[right - 1]) / (t[right] - t[right - 1]), 0.0, 1.0)[:, None]
    between = (1.0 - share) * values[right - 1] + share * values[right]
    windows = sliding_window_view(between, 6 * half + 1, axis=0)[::parts]
    mean = np.full(2 * half + 1, 1.0 / (2 * half + 1))
    reach = 1.5 * window_s
    unknown = (times_s < t[0] + reach) | (times_s > t[-1] - reach)
    longest = max(GAP_S, min(3.0 * float(np.median(np.diff(t))), SPARSE_S))
    for i in np.flatnonzero(np.diff(t) > longest).tolist():
        unknown |= (times_s > t[i] - reach) & (times_s < t[i + 1] + reach)
    step_s, at = float(np.median(np.diff(t))), fine_s * np.arange(-half, half + 1)
    noise = _noise(values) * step_s / fine_s
    parabola = linear_algebra.pinv(np.stack((np.ones_like(at), at, 0.5 * at**2), axis=1))
    for k in range(3):
        # Two moving means suppress frequencies above one over the window's length, at which value and second
        # derivative of the fitted parabola would not belong to one motion.
        weights = np.convolve(np.convolve(parabola[k], mean), mean)
        found[k] = windows @ weights
        found[k][unknown] = np.nan
        if k:
            found[k] *= _credible(found[k], noise * float(weights @ weights))
    return found[0], found[1], found[2]


def _noise(values: Array) -> Array:
    """Return the variance of the white noise of each channel, by its second differences.

    Second differences of white noise have six times its variance. Their 90 % quantile is compared with that
    of a normal variable, so that jumps and motion hardly count.
    """
    squares = np.nan_to_num(np.diff(values, 2, axis=0)) ** 2
    if not len(squares):
        return np.zeros(values.shape[1])
    variance: Array = np.quantile(squares, 0.9, axis=0) / (NINE_TENTHS**2 * 6.0)
    return variance


def _credible(estimates: Array, noise: Array) -> Array:
    """Return the Wiener factor of estimates with mean zero: the share of their power that is not noise."""
    known = np.isfinite(estimates)
    power = np.sum(np.where(known, estimates, 0.0) ** 2, axis=0) / np.maximum(known.sum(axis=0), 1)
    share: Array = np.maximum(1.0 - noise / np.maximum(power, np.finfo(float).tiny), 0.0)
    return share


@dataclass(frozen=True, eq=False)
class Change:
    """What a hypothesis assumes about the sensors, as maps from signals to corrected signals (None: none)."""

    position: Array | None = None  # matrix for positions and their derivatives, shape (n, n)
    offset: Array | None = None  # offset that is added to positions [rad], shape (n,)
    velocity: Array | None = None  # matrix for the velocities that are sent, shape (n, n)
    effort: Array | None = None  # matrix for the efforts, shape (n, n)
    force: Array | None = None  # matrix for the specific force, shape (3, 3)
    rate: Array | None = None  # matrix for the angular rate, shape (3, 3)
    wrenches: Array | None = None  # matrix for the wrenches of all contacts, shape (6 k, 6 k)
    axes: WrenchAxes | None = None  # axes of all wrenches
    gravity: Gravity | None = None  # gravity in the axes of a fixed base, zero if efforts lack it
    # delays of signals against the joint positions [s], by the name of an array
    later: dict[str, float] = field(default_factory=dict)
    load: Load | None = None  # load that the description lacks

    @property
    def moves(self) -> bool:
        """Whether predictions change, not only the readings that are compared with them."""
        moved = (self.position, self.offset, self.force, self.rate, self.load, self.axes)
        late = {"q", "f", "w"} & set(self.later)
        return any(part is not None for part in moved) or bool(late)

    def of(self, signals: Signals) -> Signals:
        """Return the corrected signals."""
        late: dict[str, Any] = {name: _earlier(signals, name, by) for name, by in self.later.items()}
        s = replace(signals, **late)
        maps = {name: getattr(self, quantity) for quantity, names in MAPPED.items() for name in names}
        mapped: dict[str, Any] = {
            name: _mapped(M, getattr(s, name)) for name, M in maps.items() if M is not None
        }
        s = replace(s, **mapped)
        return replace(
            s,
            q=s.q if self.offset is None else s.q + self.offset,
            axes=s.axes if self.axes is None else (self.axes,) * len(s.axes),
            loads=s.loads if self.load is None else (*s.loads, self.load),
            gravity=s.gravity if self.gravity is None else self.gravity,
        )


MAPPED = {  # arrays of `Signals` that each matrix of a `Change` maps
    "position": ("q", "dq", "ddq"),
    "velocity": ("v",),
    "effort": ("tau", "dtau"),
    "force": ("f",),
    "rate": ("w", "wd"),
    "wrenches": ("wrenches",),
}


def _mapped(M: Array, values: Array) -> Array:
    """Return values times a matrix; a value that is NaN affects only the results that depend on it."""
    rows = values.reshape(len(values), -1)
    unknown = np.isnan(rows) @ (M != 0.0).T
    mapped: Array = np.where(unknown, np.nan, np.nan_to_num(rows) @ M.T)
    return mapped.reshape(values.shape)


def _earlier(signals: Signals, name: str, late: float) -> Array:
    """Return a delayed array shifted to its true time, NaN beyond the known times or across gaps."""
    whole = signals.whole or signals
    times, values, wanted = whole.times_s, getattr(whole, name), signals.times_s + late
    right = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
    share = (wanted - times[right - 1]) / (times[right] - times[right - 1])
    share[(times[right] - times[right - 1] > GAP_S) | (share < -1e-6) | (share > 1.0 + 1e-6)] = np.nan
    share = share.reshape(-1, *(1,) * (values.ndim - 1))
    moved: Array = (1.0 - share) * values[right - 1] + share * values[right]
    return moved


class Robot:
    """Model of a robot for the checks: predicts forces and kinematics from signals.

    Attributes:
        setup: The robot, its contacts and its IMU.
        names: Names of the n joints.
        lower: Lowest possible joint positions, -inf without a stop [rad], shape (n,).
        upper: Highest possible joint positions, inf without a stop [rad], shape (n,).
        speed: Largest joint speeds, inf without limit [rad/s], shape (n,).
        effort: Largest joint torques, inf without limit [Nm], shape (n,).
    """

    def __init__(self, setup: RobotSetup) -> None:
        self.setup, robot = setup, setup.robot
        self.names = robot.joint_names
        limits, (self.lower, self.upper) = urdf_limits(robot), possible_positions(robot)
        self.effort, self.speed = limits.effort, limits.velocity
        self.n_base, self.mass = robot.n_base, robot.total_mass
        self._forces = PredictedForces(robot, setup.contacts)
        floats = robot.floating_base and setup.imu is not None
        self._to_base = ImuToBase(robot, setup.imu) if floats and setup.imu is not None else None
        turns = [robot.fixed_transform(c.wrench_frame, c.frame).rotation for c in setup.contacts]
        self.normals_F: Array = np.reshape([turn[:, 2] for turn in turns], (-1, 3))  # normals of the soles

    @property
    def weight(self) -> float:
        """Weight of the robot as described [N]."""
        return STANDARD_GRAVITY * self.mass

    def stiction(self, largest: float) -> Array:
        """Return each joint's stiction, by its effort limit or the largest torque [Nm], shape (n,)."""
        unlimited = STRONG_UNLIMITED * largest
        size: Array = np.where(np.isfinite(self.effort), STRONG * self.effort, unlimited)
        return size

    def base_motion(self, signals: Signals, i: int) -> tuple[Array, Array, Array] | None:
        """Return the motion of a floating base by its IMU, as `ImuToBase` does; None for a fixed base.

        The motion is NaN if the IMU has no reading.
        """
        if not self.setup.robot.floating_base:
            return None
        if self._to_base is None or not np.isfinite(signals.f[i]).all():
            return np.full(3, np.nan), np.full(3, np.nan), np.full(3, np.nan)
        joints = signals.q[i], signals.dq[i], signals.ddq[i]
        return self._to_base.base_motion(joints, signals.f[i], signals.w[i], signals.wd[i])

    def table(self, signals: Signals) -> "Table":
        """Predict at all times of signals; forces are NaN if the motion of base or limbs is unknown."""
        loads = [(load, CandidateColumns(self.setup.robot, (load.link,))) for load in signals.loads]
        rows = [self._predicted(signals, i, loads) for i in range(signals.size)]
        stacks = [np.array(column) for column in zip(*rows, strict=True)]
        if any(self._forces.moved[self.names.index(name)] > HEAVY * self.mass for name in signals.held):
            stacks[0][:] = np.nan
        return Table(signals, self, *stacks)

    def _predicted(
        self, signals: Signals, i: int, loads: Sequence[tuple[Load, CandidateColumns]]
    ) -> tuple[Array, ...]:
        base = self.base_motion(signals, i)
        state = self._forces.at(signals.q[i], signals.dq[i], signals.ddq[i], base)
        force = state.force
        for load, body in loads:
            if load.begins_s <= signals.times_s[i] < load.ends_s:
                columns = self.by_parameters(body, signals, i)[0]
                force = force + columns[:, : len(load.parameters)] @ np.array(load.parameters)
        R_BI, w_BI = np.eye(3), np.zeros(3)
        if base is not None and self.setup.imu is not None:
            R_BI, w_BI = self._forces.frame_motion(self.setup.imu.frame_id, base[1])
        return (
            force,
            state.jacobians,
            state.points_B,
            state.rotations_BF,
            state.com_B,
            self._forces.levers(),
            R_BI,
            w_BI,
        )

    def by_parameters(self, bodies: CandidateColumns, signals: Signals, i: int) -> Array:
        """Return the columns of the inertial parameters of some bodies at one time, shape (b, nv, 10)."""
        v, a, base = signals.dq[i], signals.ddq[i], self.base_motion(signals, i)
        if base is not None:
            f_B, w_B, wd_B = base
            v, a = np.concatenate((np.zeros(3), w_B, v)), np.concatenate((f_B, wd_B, a))
        return bodies.parameters(self.setup.robot.configuration(signals.q[i]), v, a)


@dataclass(frozen=True, eq=False)
class Table:
    """Signals with the predictions of the description."""

    sent: Signals  # the signals, with wrenches in the axes in which they are sent
    robot: Robot  # the robot whose description predicts
    force: Array  # M a + c: force and moment on the base (floating), then joint torques, shape (N, nv)
    jacobians: Array  # of the contacts' wrench frames, their own axes, shape (N, k, 6, nv)
    points_B: Array  # origins of the wrench frames in the base [m], shape (N, k, 3)
    rotations_BF: Array  # orientations of the wrench frames in the base, shape (N, k, 3, 3)
    com_B: Array  # centre of mass in the base [m], shape (N, 3)
    levers: Array  # torque of each joint per shift of the centre of mass that it moves [N], shape (N, n, 3)
    R_BI: Array  # orientation of the IMU in the base, shape (N, 3, 3)
    w_BI: Array  # angular velocity of the IMU relative to the base, IMU axes [rad/s], shape (N, 3)

    @property
    def size(self) -> int:
        """Number of windows."""
        return self.sent.size

    @cached_property
    def signals(self) -> Signals:
        """The signals, with wrenches in the axes of the contacts' wrench frames."""
        sent = self.sent
        if self.robot.setup.imu is None or all(axes is WrenchAxes.SENSOR for axes in sent.axes):
            return sent
        wrenches, world = sent.wrenches.copy(), WrenchAxes.WORLD in sent.axes
        R_BW = self._base_in_world().transpose(0, 2, 1) if world else np.zeros(0)
        for k, axes in enumerate(sent.axes):
            if axes is not WrenchAxes.SENSOR:
                halves = wrenches[:, k].reshape(-1, 2, 3)
                halves = np.einsum("nij,nhj->nhi", R_BW, halves) if axes is WrenchAxes.WORLD else halves
                wrenches[:, k] = np.einsum("nij,nhi->nhj", self.rotations_BF[:, k], halves).reshape(-1, 6)
        return replace(sent, wrenches=wrenches)

    def _base_in_world(self) -> Array:
        """Return the orientation of the base in the world frame of the wrenches, shape (N, 3, 3).

        The heading is that of the best force balance; the wrench is linear in its cosine and sine.
        """
        level = self.sent.attitude @ self.R_BI.transpose(0, 2, 1)
        halves = self.sent.wrenches.reshape(self.size, -1, 2, 3)

        def carried(turn: Array) -> Array:
            forces, moments = np.einsum("nji,jk,nchk->hnci", level, turn, halves)
            both = forces.sum(axis=1), (np.cross(self.points_B, forces) + moments).sum(axis=1)
            return np.concatenate(both, axis=1)

        c, s = carried(np.diag([1.0, 1.0, 0.0])), carried(np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 0]]))
        left = self.force[:, : c.shape[1]] - carried(np.diag([0.0, 0.0, 1.0]))
        known = np.isfinite(left + c).all(axis=1)
        G = np.stack((c[known].ravel(), s[known].ravel()), axis=1)
        cosine, sine = linear_algebra.pinv(G) @ left[known].ravel()
        found: Array = exp_so3(np.array([0.0, 0.0, math.atan2(sine, cosine)])) @ level
        return found

    @property
    def points(self) -> bool:
        """Whether the contacts are points, without moments; up to two contacts are soles."""
        return bool(self.jacobians.shape[1] > SOLES)

    def at(self, rows: Indices) -> "Table":
        """Return some of the windows."""
        return replace(self, sent=self.sent.at(rows), **_rows(self, rows))

    def changed(self, change: Change) -> "Table":
        """Return the table under another assumption about the sensors."""
        sent = change.of(self.sent)
        return self.robot.table(sent) if change.moves else replace(self, sent=sent)

    @cached_property
    def contact_force(self) -> Array:
        """Generalised force of all contacts, J' w, shape (N, nv); NaN where one is not measured."""
        summed: Array = np.einsum("nkiv,nki->nv", self.jacobians, self.signals.wrenches)
        return summed

    @cached_property
    def loads(self) -> Array | None:
        """Share of the load on each contact, shape (N, k), NaN where unknown; None where not measured."""
        size = np.linalg.norm(self.sent.wrenches[:, :, :3], axis=2)
        total = size.sum(axis=1, keepdims=True)
        if not size.shape[1] or not np.isfinite(total).mean() > 0.5:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: Array = np.where(total > 0.0, size / total, np.nan)
        return shares

    @property
    def measures_wrenches(self) -> bool:
        """Whether the wrenches of all contacts are known most of the time."""
        return self.loads is not None and not self.sent.scalar

    @cached_property
    def sliding(self) -> Array:
        """Velocities of the contacts relative to the base, base axes, shape (N, k, 6)."""
        moving = np.einsum("nkiv,nv->nki", self.jacobians[..., self.robot.n_base :], self.signals.dq)
        turned = [np.einsum("nkij,nkj->nki", self.rotations_BF, moving[:, :, p : p + 3]) for p in (0, 3)]
        both: Array = np.concatenate(turned, axis=2)
        return both

    @cached_property
    def contact_columns(self) -> Array:
        """Transposed Jacobians of all contact forces, and of the moments of soles, shape (N, nv, c)."""
        J = self.jacobians[:, :, : 3 if self.points else 6]
        columns: Array = J.reshape(self.size, -1, J.shape[3]).transpose(0, 2, 1)
        return columns

    @cached_property
    def torques(self) -> Array:
        """Joint torques that the description predicts, (M a + c - J' w)_joints [Nm], shape (N, n).

        NaN if the robot has a floating base and its contact wrenches are unknown.
        """
        b = self.robot.n_base
        joints: Array = self.force[:, b:]
        if not b and self.sent.gravity != DOWN:
            G, change = gravity_columns, np.subtract(self.sent.gravity, DOWN)
            joints = joints + np.array([G(self.robot.setup.robot, q) @ change for q in self.sent.q])
        if not b:
            return joints
        if self.measures_wrenches:
            return joints - self.contact_force[:, b:]
        return np.full_like(joints, np.nan)


def evenly_spaced(size: int, most: int) -> Indices:
    """Return the indices of at most `most` windows, evenly spaced over all."""
    return np.unique(np.linspace(0, max(size - 1, 0), min(most, size)).astype(np.int64))


def rms(values: Array, axis: int | None = 0) -> Array:
    """Return the root of the mean square."""
    size: Array = np.sqrt(np.mean(np.square(values), axis=axis))
    return size


def exchange(n: int, i: int, j: int) -> Array:
    """Return the matrix that exchanges two entries."""
    order = np.arange(n)
    order[[i, j]] = order[[j, i]]
    return np.eye(n)[order]
