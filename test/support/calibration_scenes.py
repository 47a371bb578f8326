"""Exact measurements with known offsets for every kind of calibration, made without the code under test."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pinocchio as pin
from scipy.optimize import least_squares

from inertial_estimation.calibration.flat_feet import FlatFeetProblem, ImuOrientations
from inertial_estimation.calibration.problem import CalibrationConfig, CalibrationProblem
from inertial_estimation.calibration.single_frame import MarkerProblem, PlaneProblem
from inertial_estimation.experiments.yamane_kinematic import FlatFeetData, flat_feet_data
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, rotation_from_roll_pitch_yaw
from support.example_robots import panda, talos

FEET = ("left_sole_link", "right_sole_link")
SOLE = np.array([[-0.1, -0.06, 0.0], [-0.1, 0.06, 0.0], [0.1, -0.06, 0.0], [0.1, 0.06, 0.0]])
PLANE_R = rotation_from_roll_pitch_yaw(0.03, -0.05, 0.0)


@dataclass(frozen=True)
class Scene:
    """A problem and the offsets it was made with."""

    problem: CalibrationProblem
    offsets: Array


@cache
def feet_motion() -> FlatFeetData:
    return flat_feet_data(talos(), FEET, np.random.default_rng(5), duration_s=80.0, step_s=1.0)


@cache
def touching_postures() -> Array:
    """Postures of the arm with the hand flush on a tilted plane, by inverse kinematics."""
    robot, rng = panda(), np.random.default_rng(2)
    data, found = robot.model.createData(), []
    middle = 0.5 * (robot.model.lowerPositionLimit + robot.model.upperPositionLimit)
    while len(found) < 40:

        def error(q: Array) -> Array:
            pin.framesForwardKinematics(robot.model, data, q)
            hand = data.oMf[robot.frame_id("panda_link8")]
            local = PLANE_R.T @ hand.rotation
            return np.array([(PLANE_R.T @ hand.translation)[2] - 0.25, local[0, 2], local[1, 2]])

        fit = least_squares(error, middle + rng.uniform(-0.8, 0.8, 7), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        pin.framesForwardKinematics(robot.model, data, fit.x)
        down = (PLANE_R.T @ data.oMf[robot.frame_id("panda_link8")].rotation)[2, 2] < 0.0
        if np.abs(fit.fun).max() < 1e-12 and down:
            found.append(fit.x)
    return np.array(found)


def plane_scene(rng: np.random.Generator) -> Scene:
    offsets = rng.uniform(-0.08, 0.08, 7)
    kinematics = ChainKinematics(panda(), reference="panda_link0", frames=["panda_link8"])
    return Scene(PlaneProblem(kinematics, touching_postures() - offsets, CalibrationConfig()), offsets)


def marker_scene(
    rng: np.random.Generator,
    *,
    noise: float = 0.0,
    count: int = 40,
    size: float = 0.08,
    misplaced: float = 0.0,
) -> Scene:
    """A marker on a Panda, whose joints are misplaced in the description by a length [m]."""
    robot = panda()
    middle = 0.5 * (robot.model.lowerPositionLimit + robot.model.upperPositionLimit)
    q = middle + rng.uniform(-1.0, 1.0, (count, 7))
    offsets = rng.uniform(-size, size, 7)
    model = robot.model.copy()
    for j in range(1, model.njoints) if misplaced else ():
        model.jointPlacements[j].translation += misplaced * rng.standard_normal(3)
    data, points = model.createData(), []
    T_CW = pin.SE3(rotation_from_roll_pitch_yaw(0.4, -0.3, 2.0), np.array([1.0, -2.0, 0.5]))
    for row in q:
        pin.framesForwardKinematics(model, data, row)
        points.append(T_CW * data.oMf[robot.frame_id("panda_link7")] * np.array([0.05, 0.08, 0.12]))
    measured = np.array(points) + noise * rng.standard_normal((count, 3))
    kinematics = ChainKinematics(robot, reference="panda_link0", frames=["panda_link7"])
    return Scene(MarkerProblem(kinematics, q - offsets, CalibrationConfig(), measured), offsets)


def feet_scene(
    rng: np.random.Generator,
    *,
    imus: tuple[str, ...] = ("base_link", "torso_2_link"),
    imu_noise: float = 0.0,
    use_yaw: bool = True,
) -> Scene:
    """TALOS on both feet; IMU orientations from Pinocchio's placements."""
    robot, motion = talos(), feet_motion()
    kinematics = ChainKinematics(robot, reference="base_link", frames=[*FEET, *imus])
    columns = [robot.joint_index(name) for name in kinematics.joints]
    offsets = rng.uniform(-0.17, 0.17, len(columns))
    q = motion.q.copy()
    q[:, columns] -= offsets
    data, measured = robot.model.createData(), np.empty((len(imus), len(q), 3, 3))
    for k, row in enumerate(motion.q):
        pin.framesForwardKinematics(robot.model, data, robot.configuration(row))
        for i, link in enumerate(imus):
            R = motion.R_WB[k] @ data.oMf[robot.frame_id(link)].rotation
            measured[i, k] = exp_so3(imu_noise * rng.standard_normal(3)) @ R
    orientations = [ImuOrientations(R_WI, use_yaw) for R_WI in measured]
    soles = [SOLE] * len(FEET)
    return Scene(FlatFeetProblem(kinematics, q, CalibrationConfig(), soles, orientations), offsets)
