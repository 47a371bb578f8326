"""Time offsets between the streams, each from a relation that holds whatever the sign, unit and mounting.

The gyroscope is shifted until some linear map of its axes explains the rotation of the base over standing
feet; contact wrenches until they balance the robot best, at the points where the joints put the feet; efforts
until a multiple of the predicted torque and friction explain them; joint velocities until they fit the slopes
of the positions. Standard deviations come from leaving out one sixth of the recording after the other
(jackknife).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.diagnosis.finding import NO_FIX, Finding, Fix, Verdict, cannot_tell
from inertial_estimation.diagnosis.hypotheses import factors_of_efforts
from inertial_estimation.diagnosis.parts import LEVER, SLOW, ground_normal, rate_rows, standing
from inertial_estimation.diagnosis.table import STEP_S, Change, Table
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

PARTS = 6  # of the data, left out one after the other
MOST_S = 0.3  # longest shift that is looked for
MOST = round(MOST_S / STEP_S)
LAGS = np.arange(-MOST, MOST + 1)
FEWEST = 100  # times at which both series are known, 2 s
TURNING, MOVING = 0.01, 0.05  # rms rotation of the base and speed of a joint that tell [rad/s]
NOTICED_S, LATE_S = 0.012, 0.03  # offsets that are unusual, and that corrupt estimates of moving robots [s]
SIGMAS, SURE_SIGMAS = 4.0, 8.0
IMPROVED = 0.1  # share of what does not agree that the shift must remove, unless it is very certain
AGREE, BALANCED = 0.5, 0.85  # agreement after the shift, below which it means nothing; of wrenches
ALIKE = 0.85  # of the largest agreement, that of other maxima of a periodic motion
SHAKEN = 0.002  # deviation of the specific force along its mean, over its size, that dates it
DATED_S = 0.008  # deviation of an IMU's lag that dates it [s]
LEAST_TURN, LEAST_SHAKE = 0.15, 0.4  # agreement of rotation and acceleration, from which they tell
APART_S = 0.015  # by which both may differ [s]
CERTAIN = 0.8  # agreement from which the rotation alone is believed
ALWAYS = 2.0  # agreement that is never reached
RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Lag:
    """How much later a series is than another one."""

    seconds: float  # the shift; positive where the second series comes later
    sigma: float  # its standard deviation [s]
    score: float  # agreement after the shift, at most 1
    unshifted: float  # agreement as recorded
    curve: Array  # agreement at `LAGS`, shape (len(LAGS),)

    @property
    def words(self) -> str:
        """The shift with its standard deviation, to be read."""
        sigma_ms = float(f"{1e3 * self.sigma:.1g}")  # one digit, and 10, not 1e+01
        side = "late" if self.seconds > 0.0 else "early"
        return f"{abs(1e3 * self.seconds):.0f} ms (sigma {sigma_ms:g}) {side}"

    def verdict(self, agree: float = AGREE) -> Verdict | None:
        """Judge it; None where the data do not determine it, or agree too little after the shift."""
        size = abs(self.seconds)
        if self.score < agree or size > MOST_S - 1.5 * STEP_S or not self.sigma < NOTICED_S:
            return None
        if size < max(NOTICED_S, SIGMAS * self.sigma):
            return Verdict.OK
        if (self.score - self.unshifted) / max(1.0 - self.unshifted, 1e-6) < IMPROVED:
            return Verdict.WARN if size > max(LATE_S, SURE_SIGMAS * self.sigma) else Verdict.OK
        return Verdict.WRONG if size > LATE_S else Verdict.WARN


Sums = Callable[[int, NDArray[np.int64]], Array]


def _searched(known: NDArray[np.bool_], sums: Sums, score: Callable[[Array], Array]) -> Lag | None:
    """Find the lag of best agreement.

    It is that by `score`, of sums of products at each lag over the times that are known.
    """
    if known.sum() < FEWEST:
        return None
    every = np.arange(len(known))
    parts = [part[known[part]] for part in np.array_split(every, PARTS)]
    found = np.array(
        [
            [sums(lag, part[(part + lag >= 0) & (part + lag < len(known))]) for lag in LAGS.tolist()]
            for part in parts
        ]
    )
    total = found.sum(axis=0)
    with np.errstate(all="ignore"):
        curve = np.nan_to_num(score(total), nan=-1.0, posinf=-1.0, neginf=-1.0)
        without = np.array([_peak(np.nan_to_num(score(total - part), nan=-1.0)) for part in found])
    spread = float(np.sum((without - without.mean()) ** 2)) * (PARTS - 1) / PARTS
    lag = _peak(curve)
    reached = float(curve[int(np.argmin(np.abs(LAGS - lag)))])
    return Lag(lag * STEP_S, math.sqrt(spread) * STEP_S, reached, float(curve[MOST]), curve)


def _peak(curve: Array) -> float:
    """Return the lag of the maximum in steps, by a parabola through its neighbours.

    Of a periodic motion, whose maxima are alike, it is the nearest one.
    """
    inner = (curve[1:-1] >= curve[:-2]) & (curve[1:-1] >= curve[2:]) & (curve[1:-1] > ALIKE * curve.max())
    tops = 1 + np.flatnonzero(inner)
    i = int(tops[np.argmin(np.abs(LAGS[tops]))]) if len(tops) else int(np.argmax(curve))
    if not 0 < i < len(curve) - 1:
        return float(LAGS[i])
    before, at, after = curve[i - 1 : i + 2].tolist()
    bend = before - 2.0 * at + after
    return float(LAGS[i]) + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)


def _grid(table: Table, *series: Array) -> list[Array]:
    """Return series on a grid without gaps, NaN where unknown."""
    steps = np.round((table.signals.times_s - table.signals.times_s[0]) / STEP_S).astype(np.int64)
    found = []
    for values in series:
        filled = np.full((int(steps[-1]) + 1, *values.shape[1:]), np.nan)
        filled[steps] = values
        found.append(filled)
    return found


def gyroscope_lag(table: Table) -> Lag | None:
    """Return how late the gyroscope is against the joint states; None where the base hardly turns."""
    rows = rate_rows(table)
    if rows is None or not np.isfinite(table.signals.w).any():
        return None
    AA, Ay, yy = np.zeros((table.size, 3, 3)), np.zeros((table.size, 3)), np.zeros(table.size)
    np.add.at(AA, rows.rows, np.einsum("rki,rkj,r->rij", rows.A, rows.A, rows.weight))
    np.add.at(Ay, rows.rows, np.einsum("rki,rk,r->ri", rows.A, rows.y, rows.weight))
    np.add.at(yy, rows.rows, np.einsum("rk,rk,r->r", rows.y, rows.y, rows.weight))
    told = AA.trace(axis1=1, axis2=2) > 0.0
    size = float(np.mean(AA[told].trace(axis1=1, axis2=2))) / 3.0 if told.any() else 0.0
    if not told.any() or math.sqrt(float(np.mean(yy[told]))) < TURNING * math.sqrt(size):
        return None
    AA[~told] = np.nan
    w = table.signals.w - np.nanmedian(table.signals.w, axis=0)
    w = w / max(float(np.sqrt(np.nanmean(w**2))), 1e-9)
    AA, Ay, yy, w = _grid(table, AA, Ay, yy, np.column_stack((np.ones(len(w)), w)))
    known = np.isfinite(AA).all(axis=(1, 2))

    def sums(lag: int, at: NDArray[np.int64]) -> Array:
        at = at[np.isfinite(w[at + lag]).all(axis=1)]
        x, G = w[at + lag], np.zeros((13, 13))
        G[:12, :12] = np.einsum("nij,nk,nl->kilj", AA[at], x, x).reshape(12, 12)
        G[12, :12] = G[:12, 12] = np.einsum("ni,nk->ki", Ay[at], x).ravel()
        G[12, 12] = yy[at].sum()
        return G

    return _searched(np.asarray(known), sums, partial(_explained, constants=3))


def accelerometer_lag(table: Table) -> Lag | None:
    """Return how late the accelerometer is against the vertical acceleration of the base over standing feet.

    The base moves at v_B = -(p' + w x p) of a point p that stands; the force is taken along its mean and the
    acceleration along the normal of the ground, whatever the axes of the readings.
    """
    normal, f = ground_normal(table), table.signals.f
    if normal is None or not np.isfinite(f).any():
        return None
    mean = np.nanmean(f, axis=0)
    w_B = np.einsum("nij,nj->ni", table.R_BI, np.nan_to_num(table.signals.w) - np.nan_to_num(table.w_BI))
    v = -(table.sliding[:, :, :3] + np.cross(w_B[:, None], table.points_B)) @ normal
    f = f @ mean / max(float(mean @ mean), 1e-9)
    v, stands, f = _grid(table, v, standing(table).astype(float), f)
    both = (stands[2:] > 0.5) & (stands[:-2] > 0.5) & (stands[1:-1] > 0.5)
    y = np.full(len(v), np.nan)
    with np.errstate(all="ignore"):
        y[1:-1] = np.where(both, v[2:] - v[:-2], 0.0).sum(axis=1) / both.sum(axis=1) / (2.0 * STEP_S)
    known = np.isfinite(y)
    if not known.any() or float(np.nanstd(f)) < SHAKEN:
        return None
    known &= np.abs(np.nan_to_num(y)) <= np.quantile(np.abs(y[known]), 0.95)  # feet that slip or land

    def sums(lag: int, at: NDArray[np.int64]) -> Array:
        at = at[np.isfinite(f[at + lag])]
        columns = np.stack((np.ones(len(at)), y[at], f[at + lag]))
        products: Array = columns @ columns.T
        return products

    def score(total: Array) -> Array:
        along = total[:, 1, 2] * total[:, 0, 0] > total[:, 0, 1] * total[:, 0, 2]
        agreement: Array = np.where(along, 1.0, -1.0) * _explained(total)
        return agreement

    return _searched(known, sums, score)


def _explained(sums: Array, constants: int = 1) -> Array:
    """Return the share of y'y that columns explain beyond constant ones, by [constant, columns, y]' [...].

    Shape (len(LAGS), c, c), or (len(LAGS), n, c, c) of n series, whose mean is returned.
    """
    A, b, power = sums[..., :-1, :-1], sums[..., :-1, -1], sums[..., -1, -1]
    A = A + RIDGE * np.maximum(np.trace(A, axis1=-2, axis2=-1), RIDGE)[..., None, None] * np.eye(A.shape[-1])
    parts = [(A[..., :c, :c], b[..., :c]) for c in (constants, A.shape[-1])]
    mean, every = (np.sum(v * linear_algebra.solve(M, v[..., None])[..., 0], axis=-1) for M, v in parts)
    share: Array = (every - mean) / np.maximum(power - mean, RIDGE * power + 1e-12)
    return share if share.ndim == 1 else share.mean(axis=1)


def velocity_lag(table: Table) -> Lag | None:
    """Return how late the joint velocities are against the slopes of the positions; None at rest."""
    dq, v = _grid(table, table.signals.dq, table.signals.v)
    with np.errstate(all="ignore"):
        moving = np.sqrt(np.nanmean(dq**2, axis=0)) > MOVING
        moving &= (np.isfinite(v).mean(axis=0) > 0.5) & (np.nanstd(np.nan_to_num(v), axis=0) > 0.0)
    if not moving.any():
        return None
    a, b = dq[:, moving] / np.sqrt(np.nanmean(dq[:, moving] ** 2, axis=0)), v[:, moving]

    def sums(lag: int, at: NDArray[np.int64]) -> Array:
        at = at[np.isfinite(b[at + lag]).all(axis=1)]
        x, y = a[at], b[at + lag]
        return np.array([(x * y).sum(axis=0), (x * x).sum(axis=0), (y * y).sum(axis=0)])

    def score(total: Array) -> Array:
        mean: Array = np.nan_to_num(np.abs(total[:, 0]) / np.sqrt(total[:, 1] * total[:, 2])).mean(axis=1)
        return mean

    return _searched(np.asarray(np.isfinite(a).all(axis=1)), sums, score)


def effort_lag(table: Table) -> Lag | None:
    """Return how late the efforts are against the torques predicted from the positions."""
    found = factors_of_efforts(table)
    if found is None:
        return None
    telling = found[2] & (np.sqrt(np.mean(table.signals.dq**2, axis=0)) > MOVING)
    telling &= np.isfinite(table.signals.tau).mean(axis=0) > 0.5
    if not telling.any():
        return None
    s = table.signals
    p, dq, tau = (x[:, telling] for x in (table.torques, s.dq, s.tau))
    X = np.stack((np.ones_like(p), p, np.tanh(dq / SLOW), dq), axis=2)
    X, tau = _grid(table, X, tau)

    def sums(lag: int, at: NDArray[np.int64]) -> Array:
        at = at[np.isfinite(tau[at + lag]).all(axis=1)]
        columns = np.concatenate((X[at], tau[at + lag][..., None]), axis=2)
        products: Array = np.einsum("nja,njb->jab", columns, columns)
        return products

    return _searched(np.asarray(np.isfinite(X).all(axis=(1, 2))), sums, _explained)


def wrench_lag(table: Table) -> Lag | None:
    """Return how late the contact wrenches are against joints and IMU; None where they hardly change."""
    if table.robot.n_base != 6 or not table.measures_wrenches:
        return None
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3)
    needed, J, wrenches = _grid(table, table.force[:, :6], table.jacobians[..., :6], table.signals.wrenches)

    def sums(lag: int, at: NDArray[np.int64]) -> Array:
        at = at[np.isfinite(wrenches[at + lag]).all(axis=(1, 2))]
        late = wrenches[at + lag]
        r = (needed[at] - np.einsum("nkiv,nki->nv", J[at], late)) * scale
        load = late[:, 0].var(axis=0).sum() * len(at) if len(at) else 0.0
        return np.array([np.full(6, len(r)), r.sum(axis=0), (r**2).sum(axis=0), np.full(6, load)])

    def score(total: Array) -> Array:
        left = total[:, 2] - total[:, 1] ** 2 / np.maximum(total[:, 0], 1.0)
        balance: Array = 1.0 - left.sum(axis=1) / total[:, 3, 0]
        return balance

    return _searched(np.asarray(np.isfinite(needed).all(axis=1)), sums, score)


class Dated(NamedTuple):
    """A stream whose time is judged: how it is said, and what mends it."""

    check: str
    subject: str
    late: str  # what is said before how late it is
    against: str
    why: str  # it cannot be told
    arrays: tuple[str, ...]  # of the signals
    parameter: str = ""
    remedy: str = "stamp at the time of measurement; a filter in the sensor?"
    agree: float = AGREE


FORCES = Dated(
    *("IMU delay", IMU, "the IMU comes", "the contact wrenches, which agree in time with the efforts", ""),
    *(("f", "w", "wd"), "inputs.imu_delay"),
)
KINEMATICS = FORCES._replace(
    against="joint states",
    why="the base hardly turns or shakes over standing feet, so nothing dates its readings",
)
CONTRADICTION = KINEMATICS._replace(
    why="rotation and acceleration of the base over the feet date it differently"
)
WRENCH = Dated(
    *("wrench delay", "contact wrenches", "the wrenches come", "joint states and IMU"),
    "the load hardly moves between the contacts, or the wrenches balance too badly, so nothing dates them",
    *(("wrenches",), "inputs.wrench_delay"),
    agree=BALANCED,
)
EFFORT = Dated(
    *("effort delay", JOINTS, "the efforts come", "the torques of the motion"),
    "the torques change too slowly, or agree too little with the prediction, to date them",
    ("tau", "dtau"),
    remedy="a filter, or commanded instead of measured torques? Send both of one time in one message",
)
VELOCITY = Dated(
    *("velocity delay", JOINTS, "the velocities come", "the slopes of the positions"),
    *("no velocities, or no motion that dates them", ("v",), "inputs.joint_velocity"),
    remedy="a filter in the drive? Let the nodes derive the velocities",
)


def imu_lag(table: Table) -> tuple[Dated, Lag | None]:
    """Return how late the IMU is by the kinematics over standing feet, and how that is said.

    Rotation and vertical acceleration tell the same; where both are dated and differ, neither is believed.
    """
    rotation, shaking = gyroscope_lag(table), accelerometer_lag(table)
    tried = (rotation, LEAST_TURN), (shaking, LEAST_SHAKE)
    dated = [lag for lag, least in tried if lag is not None and lag.score > least and lag.sigma < DATED_S]
    if not dated:
        return KINEMATICS, rotation
    best = max(dated, key=lambda one: one.score)
    apart = max(abs(one.seconds - best.seconds) for one in dated)
    if apart > APART_S and not (best is rotation and best.score > CERTAIN):
        return CONTRADICTION._replace(agree=ALWAYS), best
    return KINEMATICS._replace(agree=0.0), best


def judged_lag(stream: Dated, lag: Lag | None, config: InputConfig) -> tuple[Finding, Change | None]:
    """Judge how late a stream is; return the change that mends it, where it is late."""
    verdict = None if lag is None else lag.verdict(stream.agree)
    if lag is None or verdict is None:
        return cannot_tell(stream.check, stream.subject, stream.why), None
    said, value, name = (
        f"{stream.late} {lag.words} against {stream.against}",
        1e3 * lag.seconds,
        stream.parameter,
    )
    if verdict is Verdict.OK:
        return Finding(stream.check, stream.subject, verdict, value, "ms", said), None
    present = getattr(config, name.removeprefix("inputs.")) if name else None
    setting: object = round(present + lag.seconds, 4) if isinstance(present, float) else "derived"
    remedy = f"set {name} to {setting}; or {stream.remedy}" if name else stream.remedy
    fix = Fix(parameters={name: setting}) if name else NO_FIX
    change = Change(later=dict.fromkeys(stream.arrays, lag.seconds))
    return Finding(stream.check, stream.subject, verdict, value, "ms", said, remedy, fix), change
