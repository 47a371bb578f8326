"""Tilt estimators on one record, all begun with the same wrong tilt and given the same readings.

The paper's gains can be read in two ways. Literally, alpha2 = k1r = 20 1/s^2 is divided by g0 (B 17). In the
authors' published code (state-observation, `TiltEstimator`; also the version of 2018, which is R3 x S2) the
gain on the vertical is called beta and is not divided: then "20" is alpha2/g0 = beta = 20 1/(m s), alpha2 =
196 1/s^2. Their component for the robot begins with the intermediate vertical at zero, the output upright.

The observer in R3 x S2 (Benallegue et al., V-A, its reference 18), and that after Hua, Martin and Hamel
(Automatica 63, 2016), are

    x1' = -S(w) x1 - g x2 + f + k1v e + k2v (e - x2 x2^T e),   e = y_v - x1
    x2' = -S(w + (k1r/g) S(x2) e) x2

with k2v = 0 for the former: k2v acts on the innovation across the vertical only. The publication of Hua et
al. was not available: gains and symbols are those quoted by Benallegue et al.; the form is the one that is
invariant to yaw and that makes this observer the slowest of the three with their gains, as they report.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from inertial_estimation.experiments.biped import SOLE, biped_urdf
from inertial_estimation.experiments.biped_push import RATE, PushRecord, robot_config
from inertial_estimation.models.contact_kinematics import ContactView
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, vertical_of_quaternion
from inertial_estimation.tilt.two_stage import TwoStageConfig, TwoStageState, two_stage_step

LEAST_FORCE = 1.0  # of a contact that is in use [N]


class SingleStageGains(NamedTuple):
    """Gains of a single-stage observer.

    Attributes:
        k1v: On the velocity [1/s].
        k1r: On the vertical [1/s^2].
        k2v: Further gain on the velocity across the vertical [1/s].
    """

    k1v: float
    k1r: float
    k2v: float = 0.0


class SingleStageState(NamedTuple):
    """State of a single-stage observer, in the frame of the IMU.

    Attributes:
        velocity: x1 [m/s], shape (3,).
        vertical: x2, unit norm, shape (3,).
    """

    velocity: Array
    vertical: Array


def single_stage_step(
    state: SingleStageState, gains: SingleStageGains, h: float, rate: Array, force: Array, velocity: Array
) -> SingleStageState:
    """Advance by one step; the innovation is solved exactly, with the vertical of the middle.

    Args:
        state: At its begin.
        gains: Of the observer.
        h: Its duration [s].
        rate: Mean angular rate [rad/s], shape (3,).
        force: Mean specific force [m/s^2], shape (3,).
        velocity: y_v, of the IMU by the contacts, in its frame [m/s], shape (3,).
    """
    half = exp_so3(-0.5 * h * rate)
    x1, x2 = half @ state.velocity, half @ state.vertical
    along = np.outer(x2, x2)
    left, mean = np.zeros(3), np.zeros(3)
    for part, gain in ((along, gains.k1v), (np.eye(3) - along, gains.k1v + gains.k2v)):
        steady = -(part @ (force - STANDARD_GRAVITY * x2)) / gain  # of e' = -gain e - free
        rest = part @ (velocity - x1) - steady
        left += steady + math.exp(-gain * h) * rest
        mean += steady - math.expm1(-gain * h) / (gain * h) * rest
    turn = -gains.k1r / STANDARD_GRAVITY * np.cross(x2, mean)
    vertical = half @ (exp_so3(h * turn) @ x2)
    return SingleStageState(half @ (velocity - left), vertical / np.linalg.norm(vertical))


class SolePoints:
    """Centres of pressure of flat soles, as points of the IMU's frame, over a record.

    Attributes:
        now: Of the contacts at the end of every step, shape (n, contacts, 3).
        before: The same points of the soles at its begin, shape (n, contacts, 3).
        shares: Of the contacts in all forces, shape (n, contacts); all zero without contact.
    """

    def __init__(self, setup: RobotSetup, q: Array, wrench_F: Array, extent: float) -> None:
        """Compute them.

        Args:
            setup: The robot.
            q: Joint positions [rad], shape (n, n_joints).
            wrench_F: At each contact, in its frame [N, Nm], shape (n, contacts, 6).
            extent: Farthest a point may lie from the origin of its frame, along each axis [m].
        """
        view, n = ContactView(setup), len(q)
        origins, frames = [], []
        for positions in q:
            view.update(positions)
            origins.append(view.points)
            frames.append(view.rotations)
        p, R = np.array(origins), np.array(frames)
        c = np.zeros((n, p.shape[1], 3))
        for k, i in np.ndindex(c.shape[:2]):
            f, m = wrench_F[k, i, :3], wrench_F[k, i, 3:]
            pushed = f[2] > 0.0  # else a foot that tips still stands on the edge it tipped over
            c[k, i] = np.clip([-m[1] / f[2], m[0] / f[2], 0.0], -extent, extent) if pushed else c[k - 1, i]
        last = np.maximum(np.arange(n) - 1, 0)
        self.now = p + np.einsum("nkij,nkj->nki", R, c)
        self.before = p[last] + np.einsum("nkij,nkj->nki", R[last], c)
        loads = np.linalg.norm(wrench_F[:, :, :3], axis=2)
        loads[loads < LEAST_FORCE] = 0.0
        total = loads.sum(axis=1, keepdims=True)
        self.shares = np.divide(loads, total, out=np.zeros_like(loads), where=total > 0.0)

    def velocity(self, k: int, h: float, rate: Array) -> Array | None:
        """Return the mean velocity of the IMU over a step, in its frame at the end [m/s].

        None without contact.

        Args:
            k: Number of the step.
            h: Its duration [s].
            rate: Mean angular rate over it [rad/s], shape (3,).
        """
        if not self.shares[k].any():
            return None
        moved = self.before[k] @ exp_so3(-h * rate).T - self.now[k]
        y_v: Array = self.shares[k] @ moved / h
        return y_v


INITIAL_ERROR = 0.2  # about the x axis of the IMU [rad] (B V-A)
VQF_PAST = 30.0  # ten of its time constants [s]
TWO_STAGE = "two-stage, package's gains"
TWO_STAGE_PAPER = "two-stage, paper's gains"
R3S2 = "R3 x S2, paper's gains"
R3S2_FAST = "R3 x S2, two-stage's gains"
HUA = "Hua 2016, paper's gains"
VQF_NAME = "VQF"
TWO_STAGE_PAPER_ZERO = "two-stage, paper's gains, x2' from 0"
TWO_STAGE_BETA = "two-stage, beta = 20"
TWO_STAGE_BETA_ZERO = "two-stage, beta = 20, x2' from 0"
R3S2_BETA = "R3 x S2, beta = 20"
HUA_BETA = "Hua 2016, k1r = 20 g0"
OTHERS = (R3S2, HUA, VQF_NAME)
"""Those to be compared with: gains of the paper, which are this package's defaults for them; VQF's own."""
ESTIMATORS = (
    *(TWO_STAGE, TWO_STAGE_PAPER, *OTHERS, R3S2_FAST),
    *(TWO_STAGE_PAPER_ZERO, TWO_STAGE_BETA, TWO_STAGE_BETA_ZERO, R3S2_BETA, HUA_BETA),
)
PAPER_READINGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "as printed": (TWO_STAGE_PAPER, (R3S2, HUA)),
    "as printed, x2' from 0": (TWO_STAGE_PAPER_ZERO, (R3S2, HUA)),
    "beta = 20 for all": (TWO_STAGE_BETA, (R3S2_BETA, HUA_BETA)),
    "beta = 20 for all, x2' from 0": (TWO_STAGE_BETA_ZERO, (R3S2_BETA, HUA_BETA)),
    "beta = 20 for the two-stage observer only": (TWO_STAGE_BETA, (R3S2, HUA)),
}
"""Ways to read the paper's gains: the two-stage observer and those the paper compares it with."""

_PACKAGE = TwoStageConfig()
_PAPER = TwoStageConfig(alpha1=100.0, alpha2=20.0, gamma=3.0)
_BETA = TwoStageConfig(alpha1=100.0, alpha2=20.0 * STANDARD_GRAVITY, gamma=3.0)
_GAINS: Mapping[str, TwoStageConfig | SingleStageGains] = {
    TWO_STAGE: _PACKAGE,
    TWO_STAGE_PAPER: _PAPER,
    R3S2: SingleStageGains(k1v=100.0, k1r=20.0),
    HUA: SingleStageGains(k1v=100.0, k1r=20.0, k2v=100.0),
    R3S2_FAST: SingleStageGains(k1v=_PACKAGE.alpha1, k1r=_PACKAGE.alpha2),
    TWO_STAGE_PAPER_ZERO: _PAPER,
    TWO_STAGE_BETA: _BETA,
    TWO_STAGE_BETA_ZERO: _BETA,
    R3S2_BETA: SingleStageGains(k1v=100.0, k1r=_BETA.alpha2),
    HUA_BETA: SingleStageGains(k1v=100.0, k1r=_BETA.alpha2, k2v=100.0),
}


def estimate_tilt(
    name: str,
    record: PushRecord,
    force_I: Array,
    rate_I: Array,
    *,
    intermediate: Array | None = None,
) -> Array:
    """Run one estimator over the record.

    Args:
        name: One of `ESTIMATORS`.
        record: Joints, wrenches and the true tilt at the beginning.
        force_I: Measured specific force [m/s^2], shape (n, 3).
        rate_I: Measured angular velocity [rad/s], shape (n, 3).
        intermediate: Where the intermediate vertical of the two-stage observer begins, shape (3,); None: at
            zero where that estimator begins so, else like the output.

    Returns:
        The vertical in the IMU frame, shape (n, 3).
    """
    begin = exp_so3(np.array([INITIAL_ERROR, 0.0, 0.0])) @ record.tilt_I[0]
    if name == VQF_NAME:
        return _vqf(begin, force_I, rate_I)
    if intermediate is None and name in (TWO_STAGE_PAPER_ZERO, TWO_STAGE_BETA_ZERO):
        intermediate = np.zeros(3)
    return _observer(_GAINS[name], record, begin, np.hstack([force_I, rate_I]), intermediate)


@lru_cache(maxsize=2)
def _soles(record: PushRecord) -> SolePoints:
    setup = robot_from_config(robot_config(), biped_urdf())
    return SolePoints(setup, record.q, record.wrench_F, max(map(abs, SOLE)))


def _observer(
    gains: TwoStageConfig | SingleStageGains,
    record: PushRecord,
    begin: Array,
    imu: Array,
    intermediate: Array | None,
) -> Array:
    """The observer as in the paper: anchor at the centre of pressure, no bias estimated, no start."""
    soles, h = _soles(record), 1.0 / RATE
    tilts = np.empty_like(record.tilt_I)
    tilts[0] = begin
    two = TwoStageState(np.zeros(3), begin if intermediate is None else intermediate, begin)
    single = SingleStageState(np.zeros(3), begin)
    for k in range(1, len(tilts)):
        force, rate = np.split(0.5 * (imu[k] + imu[k - 1]), 2)
        y_v = soles.velocity(k, h, rate)
        if isinstance(gains, TwoStageConfig):
            two = two_stage_step(two, gains, h, rate, force, y_v)
            tilts[k] = two.vertical
        else:
            free = y_v if y_v is not None else single.velocity  # in flight nothing corrects
            single = single_stage_step(single, gains, h, rate, force, free)
            tilts[k] = single.vertical
    return tilts


def _vqf(begin: Array, force_I: Array, rate_I: Array) -> Array:
    """VQF with the wrong tilt as its settled state: before the record it saw rest at that tilt."""
    from vqf import VQF

    past = round(VQF_PAST * RATE)
    still = np.tile(STANDARD_GRAVITY * begin, (past, 1))
    force = np.vstack([still, force_I])
    rate = np.vstack([np.zeros_like(still), rate_I])
    filtered = VQF(1.0 / RATE, motionBiasEstEnabled=False, restBiasEstEnabled=False)
    w, x, y, z = filtered.updateBatch(rate, force)["quat6D"][past:].T
    tilts: Array = np.stack(vertical_of_quaternion(x, y, z, w), axis=1)
    return tilts
