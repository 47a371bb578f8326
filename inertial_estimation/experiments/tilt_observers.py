"""Tilt observers to compare: two-stage, R3 x S2, Hua et al., VQF; all begin with the same wrong tilt.

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

from inertial_estimation.experiments.pushed_biped import RATE, SOLE, PushRecord, biped_urdf, robot_config
from inertial_estimation.models.contacts import ContactView
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, rotation_from_quaternion
from inertial_estimation.tilt.two_stage import TwoStageConfig, TwoStageState, two_stage_step

LEAST_FORCE = 1.0  # of a contact that is in use [N]


class SingleStageGains(NamedTuple):
    """Gains of a single-stage observer."""

    k1v: float  # on the velocity [1/s]
    k1r: float  # on the vertical [1/s^2]
    k2v: float = 0.0  # further gain on the velocity across the vertical [1/s]


class SingleStageState(NamedTuple):
    """State of a single-stage observer, in the frame of the IMU, shape (3,) each."""

    velocity: Array  # x1 [m/s]
    vertical: Array  # x2, unit norm


def single_stage_step(
    state: SingleStageState, gains: SingleStageGains, h: float, rate: Array, force: Array, velocity: Array
) -> SingleStageState:
    """Advance by h seconds; the innovation is solved exactly, with the vertical of the middle.

    Args:
        state: At the begin of the step.
        gains: Of the observer.
        h: Duration of the step [s].
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
        """Compute them from joint positions [rad], shape (n, n_joints), and wrenches, (n, contacts, 6).

        Along each axis a point lies no farther from the origin of its frame than the extent [m].
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
        """Return the mean velocity of the IMU over step k of h seconds, in its frame at the end [m/s].

        The angular rate is the mean over the step [rad/s], shape (3,). None without contact.
        """
        if not self.shares[k].any():
            return None
        moved = self.before[k] @ exp_so3(-h * rate).T - self.now[k]
        y_v: Array = self.shares[k] @ moved / h
        return y_v


INITIAL_ERROR = 0.2  # about the x axis of the IMU [rad] (B V-A)
VQF_PAST = 30.0  # ten of its time constants [s]
VQF_NAME = "VQF"
TWO_STAGE, TWO_STAGE_PAPER = "two-stage, package's gains", "two-stage, paper's gains"
R3S2, R3S2_FAST = "R3 x S2, paper's gains", "R3 x S2, two-stage's gains"
HUA = "Hua 2016, paper's gains"
TWO_STAGE_BETA = "two-stage, beta = 20"
TWO_STAGE_PAPER_ZERO, TWO_STAGE_BETA_ZERO = (
    f"{name}, x2' from 0" for name in (TWO_STAGE_PAPER, TWO_STAGE_BETA)
)
TWO_STAGE_PAPER_RIGHT = f"{TWO_STAGE_PAPER}, x2' right"
R3S2_BETA, HUA_BETA = "R3 x S2, beta = 20", "Hua 2016, k1r = 20 g0"
OTHERS = (R3S2, HUA, VQF_NAME)  # those to be compared with
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
"""Possible readings of the paper's gains: the two-stage observer and those the paper compares it with."""

BETA = 20.0 * STANDARD_GRAVITY  # alpha2 if the paper's 20 is beta [1/s^2]
_PACKAGE = TwoStageConfig()
_PAPER = TwoStageConfig(alpha1=100.0, alpha2=20.0, gamma=3.0)
_PAPER_BETA = TwoStageConfig(alpha1=100.0, alpha2=BETA, gamma=3.0)
_GAINS: Mapping[str, TwoStageConfig | SingleStageGains] = {
    TWO_STAGE: _PACKAGE,
    **dict.fromkeys((TWO_STAGE_PAPER, TWO_STAGE_PAPER_ZERO, TWO_STAGE_PAPER_RIGHT), _PAPER),
    **dict.fromkeys((TWO_STAGE_BETA, TWO_STAGE_BETA_ZERO), _PAPER_BETA),
    R3S2: SingleStageGains(k1v=100.0, k1r=20.0),
    R3S2_FAST: SingleStageGains(k1v=_PACKAGE.alpha1, k1r=_PACKAGE.alpha2),
    R3S2_BETA: SingleStageGains(k1v=100.0, k1r=BETA),
    HUA: SingleStageGains(k1v=100.0, k1r=20.0, k2v=100.0),
    HUA_BETA: SingleStageGains(k1v=100.0, k1r=BETA, k2v=100.0),
}


def estimate_tilt(name: str, record: PushRecord, force_I: Array, rate_I: Array) -> Array:
    """Run one estimator over the record, with the anchor at the centre of pressure and no bias estimated.

    Args:
        name: One of `ESTIMATORS`, or `TWO_STAGE_PAPER_RIGHT`.
        record: Joints, wrenches and the true tilt at the beginning.
        force_I: Measured specific force [m/s^2], shape (n, 3).
        rate_I: Measured angular velocity [rad/s], shape (n, 3).

    Returns:
        The vertical in the IMU frame, shape (n, 3).
    """
    begin = exp_so3(np.array([INITIAL_ERROR, 0.0, 0.0])) @ record.tilt_I[0]
    if name == VQF_NAME:
        return _vqf(begin, force_I, rate_I)
    zero, right = (TWO_STAGE_PAPER_ZERO, TWO_STAGE_BETA_ZERO), (TWO_STAGE_PAPER_RIGHT,)
    x2 = np.zeros(3) if name in zero else record.tilt_I[0] if name in right else begin
    gains, imu = _GAINS[name], np.hstack([force_I, rate_I])
    soles, h = _soles(record), 1.0 / RATE
    tilts = np.empty_like(record.tilt_I)
    tilts[0] = begin
    two, single = TwoStageState(np.zeros(3), x2, begin), SingleStageState(np.zeros(3), begin)
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


@lru_cache(maxsize=2)
def _soles(record: PushRecord) -> SolePoints:
    setup = robot_from_config(robot_config(), biped_urdf())
    return SolePoints(setup, record.q, record.wrench_F, max(map(abs, SOLE)))


def _vqf(begin: Array, force_I: Array, rate_I: Array) -> Array:
    """VQF with the wrong tilt as its settled state: before the record it saw rest at that tilt."""
    from vqf import VQF

    past = round(VQF_PAST * RATE)
    still = np.tile(STANDARD_GRAVITY * begin, (past, 1))
    force = np.vstack([still, force_I])
    rate = np.vstack([np.zeros_like(still), rate_I])
    filtered = VQF(1.0 / RATE, motionBiasEstEnabled=False, restBiasEstEnabled=False)
    quaternions_wxyz = filtered.updateBatch(rate, force)["quat6D"][past:]
    return np.array([rotation_from_quaternion(np.roll(wxyz, -1))[2] for wxyz in quaternions_wxyz])
