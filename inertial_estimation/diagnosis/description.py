"""Plausibility checks of a robot description that need no recording: masses, inertias, effort limits."""

from typing import Any

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import listing
from inertial_estimation.models.joint_limits import joint_limits, urdf_limits
from inertial_estimation.models.limbs import gravity_torques
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.spatial import linear_algebra

LIGHT = 0.02  # share of the robot's mass: errors of lighter bodies hardly change a torque
DENSEST = 20_000.0  # [kg/m^3], beyond all metals but osmium and its neighbours
WIDER, SMALLEST = 3.0, 0.1  # largest radius of gyration over the extent of a body's frames; least extent [m]
INNER = 3  # joints: a body behind more of them is not expected to outweigh the rest of the robot
POSTURES = 100  # number of postures that are drawn within the position limits


def description_warnings(robot: RobotModel, rng: Generator) -> list[str]:
    """Return what is implausible in a description, one sentence for each kind of error.

    Args:
        robot: The robot as it is estimated, with its locked joints.
        rng: Random generator that draws the postures.
    """
    return [*_odd_bodies(robot), *_weak_joints(robot, rng)]


def _odd_bodies(robot: RobotModel) -> list[str]:
    model, total = robot.model, robot.total_mass
    found: dict[str, list[str]] = {}
    for joint in range(1, model.njoints):
        body = model.inertias[joint]
        if body.mass <= LIGHT * total:
            continue
        name = robot.body_links(joint)[0]
        gyration = float(np.sqrt(max(linear_algebra.eigvalsh(body.inertia)[2], 0.0) / body.mass))
        sphere = np.sqrt(0.4) * (0.75 * body.mass / (np.pi * DENSEST)) ** (1.0 / 3.0)
        size = _size(model, joint)
        if len(model.supports[joint]) > INNER and body.mass > 0.5 * total and not robot.n_base:
            text = f"'{name}' ({body.mass:.3g} of {total:.3g} kg)"
            found.setdefault("a body far out in the arm is heavier than all others together", []).append(text)
        elif gyration > WIDER * size:
            text = f"'{name}' (radius of gyration {gyration:.2g} m, its frames within {size:.2g} m)"
            found.setdefault("moments of inertia that are too large for the body", []).append(text)
        elif gyration < sphere:
            text = f"'{name}' ({body.mass:.3g} kg, radius of gyration {1e3 * gyration:.2g} mm)"
            kind = "bodies denser than any metal, of too much mass or moments of inertia that are too small"
            found.setdefault(kind, []).append(text)
    return [f"{kind}: {listing(bodies, limit=6)}" for kind, bodies in found.items()]


def _size(model: Any, joint: int) -> float:
    """Return the largest distance of a body's frames and joints from its centre of mass [m]."""
    points = [np.zeros(3), *(f.placement.translation for f in model.frames if f.parentJoint == joint)]
    points += [
        model.jointPlacements[k].translation for k in range(1, model.njoints) if model.parents[k] == joint
    ]
    centre = model.inertias[joint].lever
    return max(SMALLEST, *(float(np.linalg.norm(point - centre)) for point in points))


def _weak_joints(robot: RobotModel, rng: Generator) -> list[str]:
    """Find joints whose limits hold the weight in fewer than half the postures, base level, feet in air."""
    limits, effort = joint_limits(robot), urdf_limits(robot).effort
    drawn = rng.uniform(limits.lower, limits.upper, (POSTURES, robot.n_joints))
    torques = gravity_torques(robot, drawn)
    median = np.median(np.abs(torques)[:, robot.n_base :], axis=0)
    weak = [
        f"'{robot.joint_names[j]}' ({median[j]:.3g} of {effort[j]:.3g} Nm)"
        for j in np.flatnonzero(median > effort).tolist()
    ]
    text = "effort limits that do not hold the masses up in half of all postures"
    return (
        [f"{text}: {listing(weak, limit=6)}; masses, limits, or a spring that carries them?"] if weak else []
    )
