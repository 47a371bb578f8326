"""Yamane, section II, Fig. 2 and 4: joint offsets from IMU orientations and flat feet.

TALOS has 12 joints in the legs and 2 in the torso, as many as the paper calibrates, with IMUs in the pelvis
and in the torso. It is moved slowly over both flat feet for four minutes in eight stances; offsets are up to
10 deg. The calibration takes a frame every so often; its cost is judged on frames 0.2 s apart.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.calibration.calibration_config import CalibrationConfig
from inertial_estimation.calibration.chain import CalibratedChain
from inertial_estimation.calibration.flat_feet import FlatFeetProblem, ImuOrientations, yamane_cost
from inertial_estimation.calibration.solver import Solution, fit_local, solve
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.models.closed_stance import ClosedStance
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stance_config import StanceConfig, contact_points
from inertial_estimation.offline.calibration_timing import timed
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation

SEQUENCES = 8
WAVES = 3  # sinusoids of each coordinate of the base
PERIODS_S = (8.0, 30.0)


@dataclass(frozen=True, eq=False)
class FlatFeetData:
    """Frames at a uniform step.

    Attributes:
        q: True joint positions in the model's order, shape (K, n_joints).
        R_WB: True orientations of the base, shape (K, 3, 3).
        stamps_s: Times [s], shape (K,).
    """

    q: Array
    R_WB: Array
    stamps_s: Array


def flat_feet_data(
    robot: RobotModel, frames: tuple[str, str], rng: Generator, *, duration_s: float, step_s: float
) -> FlatFeetData:
    """Move TALOS slowly over its feet: eight sequences, each with its own stance, height and torso motion.

    Args:
        robot: TALOS.
        frames: Frames of the two soles.
        rng: Source of stances and motions.
        duration_s: Length of all sequences together.
        step_s: Time between frames.

    Returns:
        The frames.
    """
    count = round(duration_s / step_s / SEQUENCES)
    q: list[Array] = []
    R: list[Array] = []
    k = 0
    while len(q) < count * SEQUENCES:
        stance = ClosedStance(robot, frames, _posture(robot, rng))
        reach = np.array([0.08, 0.1, 0.1, 0.2, 0.25, 0.3])  # position [m], rotation vector [rad]
        base, torso = _waves(rng, reach), _waves(rng, np.array([0.4, 0.3]))
        found = _sequence(stance, base, torso, np.arange(count, dtype=np.float64) * step_s)
        if found is None:  # out of reach somewhere: another one
            k += 1
            if k > 20 * SEQUENCES:
                raise ModelError("no stances were found in which the feet stay flat")
            continue
        q += found[0]
        R += found[1]
    return FlatFeetData(np.array(q), np.array(R), np.arange(len(q), dtype=np.float64) * step_s)


def _sequence(
    stance: ClosedStance, base: Callable[[float], Array], torso: Callable[[float], Array], times: Array
) -> tuple[list[Array], list[Array]] | None:
    """Frames of one stance; None where the feet cannot stay."""
    q: list[Array] = []
    R: list[Array] = []
    robot = stance.robot
    columns = [robot.joint_index(name) for name in ("torso_1_joint", "torso_2_joint")]
    zero = np.zeros(robot.n_joints)
    for t in times:
        pose = base(t)
        R_WB = exp_so3(pose[3:])
        joints = stance.posture.copy()
        joints[columns] = torso(t)
        twist = (np.zeros(6), np.zeros(6))
        try:
            motion = stance.close((pose[:3], quaternion_from_rotation(R_WB)), twist, (joints, zero, zero))
        except ModelError:
            return None
        row = robot.joint_positions(motion.q)
        if np.abs(row).max() > 2.6:
            return None
        q.append(row)
        R.append(R_WB)
    return q, R


def _posture(robot: RobotModel, rng: Generator) -> dict[str, float]:
    """Both soles flat at one height: one foot ahead of the other, apart, turned out.

    Pitches of a leg sum to zero and so do rolls. Hip and ankle of the legs lean by as much to the front as to
    the back, so both feet are as far below.
    """
    thigh, shin = (
        float(
            np.linalg.norm(
                robot.model.jointPlacements[robot.model.getJointId(f"leg_left_{i}_joint")].translation
            )
        )
        for i in (4, 5)
    )
    knee, roll, lean = rng.uniform(0.4, 1.2), rng.uniform(0.0, 0.15), rng.uniform(-0.2, 0.2)
    upright = float(np.arctan2(shin * np.sin(knee), thigh + shin * np.cos(knee)))
    posture: dict[str, float] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        yaw, hip = rng.uniform(-0.1, 0.3), sign * lean - upright
        angles = (sign * yaw, sign * roll, hip, knee, -hip - knee, -sign * roll)
        posture.update({f"leg_{side}_{i}_joint": angle for i, angle in enumerate(angles, start=1)})
    return posture


def _waves(rng: Generator, reach: Array) -> Callable[[float], Array]:
    amplitude = rng.uniform(0.2, 1.0, (WAVES, len(reach)))
    amplitude *= reach / amplitude.sum(axis=0)
    rate = 2.0 * np.pi / rng.uniform(*PERIODS_S, amplitude.shape)
    phase = rng.uniform(0.0, 2.0 * np.pi, amplitude.shape)
    return lambda t: np.asarray((amplitude * np.sin(rate * t + phase)).sum(axis=0))


FEET = ("left_sole_link", "right_sole_link")
IMU_LINKS = ("base_link", "torso_2_link")
SOLES = (-0.1, 0.1, -0.06, 0.06)
DURATION_S, FRAME_S = 240.0, 0.2
INTERVALS_S = (0.6, 1.0, 1.8, 3.0, 5.0, 10.0, 20.0)
PAPER_INTERVAL_S = 1.8
OFFSET_DEG, IMU_NOISE_DEG, JOINT_NOISE_DEG = 10.0, 0.3, 0.05
DISTANCE_M = 0.1  # of the three points in the cost that is reported


@dataclass(frozen=True, eq=False)
class KinematicTrial:
    """One set of data with its truth.

    Attributes:
        problem: All frames.
        offsets: True offsets [rad], shape (n,).
        stamps_s: Times of the frames.
    """

    problem: FlatFeetProblem
    offsets: Array
    stamps_s: Array

    def fit(self, interval_s: float) -> Solution:
        """Calibrate with a frame every so often."""
        step = max(1, round(interval_s / FRAME_S))
        return solve(self.problem.subset(np.arange(0, self.problem.n_samples, step)))

    def cost(self, x: Array, sigma: Array) -> float:
        """Return Yamane's cost on all frames [m^2], their base orientations fitted."""
        _, local = fit_local(self.problem, x, sigma)
        return yamane_cost(self.problem, x, local, DISTANCE_M)


def kinematic_trial(
    seed: int,
    *,
    duration_s: float = DURATION_S,
    imu_noise_deg: float = IMU_NOISE_DEG,
    joint_noise_deg: float = JOINT_NOISE_DEG,
) -> KinematicTrial:
    """Simulate the motion and its measurement.

    Args:
        seed: Of stances, motions, offsets and noise.
        duration_s: Length.
        imu_noise_deg: Noise of each IMU about each axis.
        joint_noise_deg: Noise of each joint position.
    """
    rng = default_rng(seed)
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))
    data = flat_feet_data(robot, FEET, rng, duration_s=duration_s, step_s=FRAME_S)
    kinematics = ChainKinematics(robot, reference=robot.base_link, frames=[*FEET, *IMU_LINKS])
    n = len(kinematics.joints)
    offsets = np.deg2rad(rng.uniform(-OFFSET_DEG, OFFSET_DEG, n))
    q = data.q.copy()
    columns = [robot.joint_index(name) for name in kinematics.joints]
    q[:, columns] -= offsets
    q[:, columns] += np.deg2rad(joint_noise_deg) * rng.standard_normal((len(q), n))
    imus = _measured(kinematics, data, np.deg2rad(imu_noise_deg), rng)
    soles = contact_points(StanceConfig(soles=SOLES * 2), FEET)
    chain = CalibratedChain(kinematics, q, CalibrationConfig())
    return KinematicTrial(FlatFeetProblem(chain, soles, imus), offsets, data.stamps_s)


def _measured(
    kinematics: ChainKinematics, data: FlatFeetData, noise: float, rng: Generator
) -> list[ImuOrientations]:
    """Orientations of the IMU links, turned by the noise; all share one world, as in the paper."""
    poses = kinematics.poses(data.q, np.zeros(len(kinematics.joints)))
    imus = []
    for i in range(len(IMU_LINKS)):
        R_WI = data.R_WB @ poses.R_SF[:, len(FEET) + i]
        turns = noise * rng.standard_normal((len(R_WI), 3))
        turned = np.array([exp_so3(phi) @ R for phi, R in zip(turns, R_WI, strict=True)])
        imus.append(ImuOrientations(turned, use_yaw=True))
    return imus


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Calibrations with every interval, for every seed.

    Attributes:
        intervals: Times between frames [s], shape (n,).
        errors: Rms of the offsets' errors [deg], shape (seeds, n).
        costs: Yamane's cost on all frames [m^2], shape (seeds, n).
        times: Time of the calibration [s], shape (seeds, n).
        nominal: Cost of zero offsets [m^2], shape (seeds,).
        heights: Heights of the corners before and after, first seed [m], shape (k, 8) each.
    """

    intervals: tuple[float, ...]
    errors: Array
    costs: Array
    times: Array
    nominal: Array
    heights: tuple[Array, Array]

    @property
    def at_paper(self) -> tuple[Array, Array, Array]:
        """Errors, costs and times with the paper's interval, shape (seeds,) each."""
        k = self.intervals.index(PAPER_INTERVAL_S)
        return self.errors[:, k], self.costs[:, k], self.times[:, k]


class YamaneKinematic(Experiment[_Sweep]):
    """Calibration with every interval for every seed."""

    @property
    def duration_s(self) -> float:
        """Length of the motion [s]."""
        return 48.0 if self.quick else DURATION_S

    def simulate(self, trials: Trials) -> _Sweep:
        """Calibrate with every interval for every seed."""
        intervals = (1.8, 5.0) if self.quick else INTERVALS_S
        found = trials.results(
            [partial(_calibrations, seed, self.duration_s, intervals) for seed in self.seeds]
        )
        errors, costs, times, nominal, heights = zip(*found, strict=True)
        return _Sweep(
            intervals, np.array(errors), np.array(costs), np.array(times), np.array(nominal), heights[0]
        )

    def table(self, data: _Sweep) -> tuple[TableRow, ...]:
        """Return errors, time and costs with the paper's interval."""
        (error, cost, time), nominal = data.at_paper, data.nominal
        before, after = (1e3 * float(np.sqrt((h**2).mean())) for h in data.heights)
        return (
            TableRow.over_seeds(
                "offset rms, every 1.8 s", "deg", error, bound=Bound("<=", 0.2), aim=Bound("<=", 0.1)
            ),
            TableRow.over_seeds("time, every 1.8 s", "s", time, paper=60.0, bound=Bound("<=", 60.0)),
            TableRow.over_seeds("cost on frames 0.2 s apart, calibrated", "m^2", cost),
            TableRow.over_seeds("the same, offsets zero", "m^2", nominal),
            TableRow("corner heights before, first seed", "mm", before),
            TableRow("corner heights after, first seed", "mm", after),
        )

    def panels(self, data: _Sweep) -> tuple[Panel, ...]:
        """Return cost, time and error by interval (Y Fig. 2), and the corners' heights (Y Fig. 4)."""
        errors, costs, times, heights = data.errors, data.costs, data.times, data.heights
        x, label = np.array(data.intervals), "interval of samples [s]"

        def over(values: Array) -> tuple[Series, ...]:
            return (
                Series("mean, band: all seeds", x, values.mean(0), "line", values.min(0), values.max(0), 0),
            )

        k = np.arange(len(heights[0]), dtype=float)
        corners = [
            tuple(Series("", k, 1e3 * column, "points", colour=c) for c, column in enumerate(h.T))
            for h in heights
        ]
        return (
            Panel("Fig. 2: cost on frames 0.2 s apart", label, "cost [m^2]", over(costs), log=True),
            Panel("Fig. 2: time", label, "time [s]", over(times), log=True),
            Panel("Error of the offsets", label, "rms [deg]", over(errors), log=True),
            Panel("Fig. 4: corners above their mean, before", "frame (1 s apart)", "height [mm]", corners[0]),
            Panel("Fig. 4: after", "frame (1 s apart)", "height [mm]", corners[1]),
        )

    def per_seed(self, data: _Sweep) -> dict[str, tuple[float, ...]]:
        """Return error, cost and time with the paper's interval."""
        names = ("offset_rms_deg", "cost_m2", "time_s")
        return {name: tuple(values) for name, values in zip(names, data.at_paper, strict=True)}

    def settings(self, data: _Sweep) -> Mapping[str, float | str]:
        """Return noise and length of the motion."""
        return {
            "offsets up to [deg]": OFFSET_DEG,
            "IMU noise [deg]": IMU_NOISE_DEG,
            "joint noise [deg]": JOINT_NOISE_DEG,
            "duration [s]": self.duration_s,
            "distance d of the reported cost [m]": DISTANCE_M,
        }

    def facts(self, data: _Sweep) -> tuple[str, ...]:
        """Return what differs from the paper's robot."""
        return (
            "Simulated: feet exactly flat, description exact; the paper's robot had neither.",
            "14 joints: 12 of the legs, 2 of the torso, which the torso's IMU makes identifiable.",
            "Rows are weighted by their noise as estimated; the cost reported has the paper's form, whose d "
            "is not given there.",
        )


def _calibrations(
    seed: int, duration_s: float, intervals: Sequence[float]
) -> tuple[list[float], list[float], list[float], float, tuple[Array, Array]]:
    """Calibrate one robot with every interval.

    Returns:
        For each interval rms error [deg], cost and duration [s]; with the interval of the paper cost before
        the calibration, and the heights of the corners of the soles.
    """
    trial = kinematic_trial(seed, duration_s=duration_s)
    errors, costs, times = [], [], []
    nominal, heights = math.nan, (np.empty((0, 8)), np.empty((0, 8)))
    for interval in intervals:
        solution, duration = timed(partial(trial.fit, interval))
        error = solution.x - trial.offsets
        errors.append(float(np.rad2deg(np.sqrt((error**2).mean()))))
        costs.append(trial.cost(solution.x, solution.sigma))
        times.append(duration)
        if interval == PAPER_INTERVAL_S:
            nominal = trial.cost(np.zeros_like(solution.x), solution.sigma)
            heights = _heights(trial, solution)
    return errors, costs, times, nominal, heights


def _heights(trial: KinematicTrial, solution: Solution) -> tuple[Array, Array]:
    """Heights of the eight corners before and after, at frames that had no part too."""
    every = trial.problem.subset(np.arange(0, trial.problem.n_samples, 5))
    before = every.heights(np.zeros_like(solution.x), every.start_local())  # base as the IMUs say
    _, local = fit_local(every, solution.x, solution.sigma)
    return before, every.heights(solution.x, local)
