"""Yamane, section II, Fig. 2 and 4: joint offsets from IMU orientations and flat feet.

TALOS has 12 joints in the legs and 2 in the torso, as many as the paper calibrates, with IMUs in the pelvis
and in the torso. It is moved slowly over both flat feet for four minutes in eight stances; offsets are up to
10 deg. The calibration uses frames at various intervals; its cost is evaluated on frames 0.2 s apart.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.calibration.flat_feet import FlatFeetProblem, ImuOrientations
from inertial_estimation.calibration.problem import CalibrationConfig
from inertial_estimation.calibration.solver import Solution, fit_local, solve
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.experiments.result import ExperimentResult, Trials, row
from inertial_estimation.figures import Panel, Series
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.models.robot_config import StanceConfig, contact_points
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parallel import timed
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation
from inertial_estimation.synthetic.ideal_robots import ClosedStance

FEET = ("left_sole_link", "right_sole_link")
IMU_LINKS = ("base_link", "torso_2_link")


class Study(NamedTuple):
    """The motion, its measurement and the calibrations."""

    duration_s: float = 240.0
    intervals_s: tuple[float, ...] = (0.6, 1.0, 1.8, 3.0, 5.0, 10.0, 20.0)  # between two frames in use
    paper_s: float = 1.8  # the interval of the paper
    frame_s: float = 0.2  # between two frames
    sequences: int = 8
    waves: int = 3  # number of sinusoids of each coordinate of the base
    periods_s: tuple[float, float] = (8.0, 30.0)  # range of their periods
    largest_angle: float = 2.6  # largest angle of a joint [rad]
    soles: tuple[float, ...] = (-0.1, 0.1, -0.06, 0.06)  # x_min, x_max, y_min, y_max [m]
    offset_deg: float = 10.0  # largest joint offset
    imu_noise_deg: float = 0.3
    joint_noise_deg: float = 0.05
    distance: float = 0.1  # d of the three points in the reported cost [m]


FULL = Study()
QUICK = Study(48.0, (1.8, 5.0))


class FlatFeetData(NamedTuple):
    """Frames at a uniform step."""

    q: Array  # true joint positions in the model's order, shape (K, n_joints)
    R_WB: Array  # true orientations of the base, shape (K, 3, 3)


def flat_feet_data(
    robot: RobotModel, frames: tuple[str, str], rng: Generator, *, duration_s: float, step_s: float
) -> FlatFeetData:
    """Move TALOS slowly over its feet: eight sequences, each with its own stance, height and torso motion.

    Args:
        robot: TALOS.
        frames: Frames of the two soles.
        rng: Random generator of stances and motions.
        duration_s: Duration of all sequences together [s].
        step_s: Time between frames [s].
    """
    times = step_s * np.arange(round(duration_s / step_s / FULL.sequences), dtype=np.float64)
    sequences: list[list[tuple[Array, Array]]] = []
    for _attempt in range(21 * FULL.sequences):
        stance = ClosedStance(robot, frames, _posture(robot, rng))
        reach = np.array([0.08, 0.1, 0.1, 0.2, 0.25, 0.3])  # position [m], rotation vector [rad]
        base, torso = _waves(rng, reach), _waves(rng, np.array([0.4, 0.3]))
        found = _sequence(stance, base, torso, times)
        if found is not None:  # else a pose of it is out of reach
            sequences.append(found)
        if len(sequences) == FULL.sequences:
            q, R_WB = (np.array(column) for column in zip(*chain.from_iterable(sequences), strict=True))
            return FlatFeetData(q, R_WB)
    raise ModelError("no stances were found in which the feet stay flat")


def _sequence(
    stance: ClosedStance, base: Callable[[float], Array], torso: Callable[[float], Array], times: Array
) -> list[tuple[Array, Array]] | None:
    """Return joint positions and base orientations in one stance; None where the feet cannot stay flat."""
    robot, frames = stance.robot, []
    columns = [robot.joint_index(name) for name in ("torso_1_joint", "torso_2_joint")]
    zero, twist = np.zeros(robot.n_joints), (np.zeros(6), np.zeros(6))
    for t in times:
        pose = base(t)
        R_WB = exp_so3(pose[3:])
        joints = stance.posture.copy()
        joints[columns] = torso(t)
        try:
            motion = stance.close((pose[:3], quaternion_from_rotation(R_WB)), twist, (joints, zero, zero))
        except ModelError:
            return None
        frames.append((robot.joint_positions(motion.q), R_WB))
        if np.abs(frames[-1][0]).max() > FULL.largest_angle:
            return None
    return frames


def _posture(robot: RobotModel, rng: Generator) -> dict[str, float]:
    """Return a posture with both soles flat at one height: one foot ahead of the other, apart, turned out.

    The pitch angles of a leg sum to zero, and so do its roll angles. One leg leans forwards by the angle by
    which the other leans backwards, so that both feet are equally far below the base.
    """
    model = robot.model
    ids = (model.getJointId(f"leg_left_{i}_joint") for i in (4, 5))
    thigh, shin = (float(np.linalg.norm(model.jointPlacements[i].translation)) for i in ids)
    knee, roll, lean = rng.uniform(0.4, 1.2), rng.uniform(0.0, 0.15), rng.uniform(-0.2, 0.2)
    upright = float(np.arctan2(shin * np.sin(knee), thigh + shin * np.cos(knee)))
    posture: dict[str, float] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        yaw, hip = rng.uniform(-0.1, 0.3), sign * lean - upright
        angles = (sign * yaw, sign * roll, hip, knee, -hip - knee, -sign * roll)
        posture.update({f"leg_{side}_{i}_joint": angle for i, angle in enumerate(angles, start=1)})
    return posture


def _waves(rng: Generator, reach: Array) -> Callable[[float], Array]:
    amplitude = rng.uniform(0.2, 1.0, (FULL.waves, len(reach)))
    amplitude *= reach / amplitude.sum(axis=0)
    rate = 2.0 * np.pi / rng.uniform(*FULL.periods_s, amplitude.shape)
    phase = rng.uniform(0.0, 2.0 * np.pi, amplitude.shape)
    return lambda t: np.asarray((amplitude * np.sin(rate * t + phase)).sum(axis=0))


class KinematicTrial(NamedTuple):
    """One set of data with its truth."""

    problem: FlatFeetProblem  # problem on all frames
    offsets: Array  # true offsets [rad], shape (n,)

    def fit(self, interval_s: float) -> Solution:
        """Calibrate with one frame in each interval [s]."""
        step = max(1, round(interval_s / FULL.frame_s))
        return solve(self.problem.subset(np.arange(0, self.problem.n_samples, step)))

    def cost(self, x: Array, sigma: Array) -> float:
        """Return Yamane's cost on all frames [m^2], their base orientations fitted."""
        _, local = fit_local(self.problem, x, sigma)
        return yamane_cost(self.problem, x, local, FULL.distance)


def yamane_cost(problem: FlatFeetProblem, x: Array, local: Array, distance: float) -> float:
    """Return 1/2 (L_k + C_k) of (2) and (5), the mean over the samples [m^2].

    Args:
        problem: Problem on the samples of which the cost is the mean.
        x: Common unknowns.
        local: Base orientation and height of each sample.
        distance: d of the three points [m].
    """
    heights = problem.heights(x, local)
    total = float((heights**2).mean())
    poses = problem.poses(x)
    for i, imu in enumerate(problem.imus):
        E = local[:, :3] @ poses.R_SF[:, len(problem.soles) + i] @ np.swapaxes(imu.R_WI, 1, 2)
        tilted = 4.0 * (1.0 - E[:, 2, 2])  # of the smallest rotation of E e_z to e_z: the yaw is not used
        squares = 2.0 * (3.0 - np.trace(E, axis1=1, axis2=2)) if imu.use_yaw else tilted
        total += distance**2 * float(squares.mean())
    return 0.5 * total


def kinematic_trial(
    seed: int,
    *,
    duration_s: float = FULL.duration_s,
    imu_noise_deg: float = FULL.imu_noise_deg,
    joint_noise_deg: float = FULL.joint_noise_deg,
) -> KinematicTrial:
    """Simulate the motion and its measurement, with noise of each IMU about each axis, and of each joint.

    The seed determines stances, motions, offsets and noise.
    """
    rng = default_rng(seed)
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))
    data = flat_feet_data(robot, FEET, rng, duration_s=duration_s, step_s=FULL.frame_s)
    kinematics = ChainKinematics(robot, reference=robot.base_link, frames=[*FEET, *IMU_LINKS])
    n = len(kinematics.joints)
    offsets = np.deg2rad(rng.uniform(-FULL.offset_deg, FULL.offset_deg, n))
    q = data.q.copy()
    columns = [robot.joint_index(name) for name in kinematics.joints]
    q[:, columns] -= offsets
    q[:, columns] += np.deg2rad(joint_noise_deg) * rng.standard_normal((len(q), n))
    imus = _measured(kinematics, data, np.deg2rad(imu_noise_deg), rng)
    soles = contact_points(StanceConfig(soles=FULL.soles * 2), FEET)
    problem = FlatFeetProblem(kinematics, q, CalibrationConfig(), soles, imus)
    return KinematicTrial(problem, offsets)


def _measured(
    kinematics: ChainKinematics, data: FlatFeetData, noise: float, rng: Generator
) -> list[ImuOrientations]:
    """Return noisy orientations of the IMU links; all share one world frame, as in the paper."""
    poses = kinematics.poses(data.q, np.zeros(len(kinematics.joints)))
    imus = []
    for i in range(len(IMU_LINKS)):
        R_WI = data.R_WB @ poses.R_SF[:, len(FEET) + i]
        turns = noise * rng.standard_normal((len(R_WI), 3))
        turned = np.array([exp_so3(phi) @ R for phi, R in zip(turns, R_WI, strict=True)])
        imus.append(ImuOrientations(turned, use_yaw=True))
    return imus


class _Calibration(NamedTuple):
    """One calibration: rms error of the offsets, Yamane's cost on all frames [m^2], its duration."""

    error_deg: float
    cost: float
    time_s: float


class _Sweep(NamedTuple):
    """Calibrations of one robot."""

    by_interval: dict[float, _Calibration]
    nominal: float  # cost of zero offsets [m^2]
    before: Array  # heights of the corners of the soles without offsets [m], shape (k, 8)
    after: Array  # the same with the offsets that are found with the paper's interval


def run(trials: Trials) -> ExperimentResult:
    """Calibrate with every interval for every seed."""
    study = QUICK if trials.quick else FULL
    sweeps = trials.by_seed(partial(_calibrations, study))
    error, cost, time = np.array([sweep.by_interval[study.paper_s] for sweep in sweeps]).T
    before, after = (1e3 * float(np.sqrt((h**2).mean())) for h in (sweeps[0].before, sweeps[0].after))
    rows = [
        row("offset rms, every 1.8 s", "deg", error, bound="<= 0.2, aim <= 0.1"),
        row("time, every 1.8 s", "s", time, paper=60.0, bound="<= 60"),
        row("cost on frames 0.2 s apart, calibrated", "m^2", cost),
        row("the same, offsets zero", "m^2", [sweep.nominal for sweep in sweeps]),
        row("corner heights before, first seed", "mm", before),
        row("corner heights after, first seed", "mm", after),
    ]
    facts = (
        "Simulated: feet exactly flat, description exact; the paper's robot had neither.",
        "Rows are weighted by their noise as estimated; the cost reported has the paper's form, whose d "
        "is not given there.",
    )
    return ExperimentResult(trials.seeds, rows, facts, panels=_panels(sweeps, study.intervals_s))


def _panels(sweeps: Sequence[_Sweep], intervals: Sequence[float]) -> list[Panel]:
    """Return cost, time and error by interval (Y Fig. 2), and the corners' heights (Y Fig. 4)."""
    values = np.array([[sweep.by_interval[interval] for interval in intervals] for sweep in sweeps])
    panels = []
    for k, title, unit in (
        (1, "Fig. 2: cost on frames 0.2 s apart", "cost [m^2]"),
        (2, "Fig. 2: time", "time [s]"),
        (0, "Error of the offsets", "rms [deg]"),
    ):
        v = values[:, :, k]
        band = Series("mean, band: all seeds", np.array(intervals), v.mean(0), "line", v.min(0), v.max(0), 0)
        panels.append(Panel(title, "interval of samples [s]", unit, (band,), log=True))
    for title, heights in (
        ("Fig. 4: corners above their mean, before", sweeps[0].before),
        ("Fig. 4: after", sweeps[0].after),
    ):
        frames = np.arange(len(heights), dtype=float)
        corners = [Series("", frames, 1e3 * h, "points", colour=c) for c, h in enumerate(heights.T)]
        panels.append(Panel(title, "frame (1 s apart)", "height [mm]", corners))
    return panels


def _calibrations(study: Study, seed: int) -> _Sweep:
    """Calibrate one robot with every interval; heights also at frames that were not used."""
    trial = kinematic_trial(seed, duration_s=study.duration_s)
    found = {}
    for interval in study.intervals_s:
        solution, duration = timed(partial(trial.fit, interval))
        error = solution.x - trial.offsets
        found[interval] = _Calibration(
            float(np.rad2deg(np.sqrt((error**2).mean()))), trial.cost(solution.x, solution.sigma), duration
        )
        if interval == study.paper_s:
            zero = np.zeros_like(solution.x)
            nominal = trial.cost(zero, solution.sigma)
            every = trial.problem.subset(np.arange(0, trial.problem.n_samples, 5))
            before = every.heights(zero, every.start_local())  # base orientation by the IMUs
            after = every.heights(solution.x, fit_local(every, solution.x, solution.sigma)[1])
    return _Sweep(found, nominal, before, after)
