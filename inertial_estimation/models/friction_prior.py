"""Prior standard deviations of friction: stated, or by the limits that drive and gear give the joint."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.friction import FrictionModel, FrictionTerms
from inertial_estimation.models.joint_limits import VELOCITY_DEFAULT, urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter, section
from inertial_estimation.signals import Array

FRICTION_SHARE = 0.1  # of the effort limit; geared drives lose 5 to 20 % of their rated torque
RUN_UP_S = 0.1  # in which a motor alone reaches its speed at full effort; 10 to 100 ms of servo motors
LOAD_SHARE = 0.1  # increase of the Coulomb friction with the torque that the teeth transmit
EFFORT_PER_KG = (
    5.0  # effort limit where the URDF has none [Nm/kg of the robot]: Panda 4.8, KR300 5.6, UR10 11
)


@dataclass(frozen=True)
class FrictionPrior:
    """Prior standard deviations of friction that is estimated, online and offline.

    What is 0 follows from the effort and speed limits of the URDF (`friction_deviations`).
    """

    coulomb: float = parameter(
        0.0,
        "Prior standard deviation of each Coulomb friction, about its nominal value; 0 takes a tenth of the "
        "joint's effort limit.",
        unit="Nm",
        lower=0.0,
        upper=1e6,
    )
    viscous: float = parameter(
        0.0,
        "Prior standard deviation of each viscous friction coefficient, about its nominal value; 0 takes a "
        "tenth of the joint's effort limit at its speed limit.",
        unit="Nm s/rad",
        lower=0.0,
        upper=1e6,
    )
    offset: float = parameter(
        0.0,
        "Prior standard deviation of each constant torque offset, about its nominal value; 0 takes a tenth "
        "of the joint's effort limit.",
        unit="Nm",
        lower=0.0,
        upper=1e6,
    )
    armature: float = parameter(
        0.0,
        "Prior standard deviation of each rotor inertia, about its nominal value; 0 takes the one that the "
        "effort limit brings to the speed limit in 0.1 s.",
        unit="kg m^2",
        lower=0.0,
        upper=1e6,
    )


@dataclass(frozen=True)
class FrictionConfig(FrictionTerms):
    """Friction estimated along with the inertias."""

    prior: FrictionPrior = section(FrictionPrior)


def friction_deviations(friction: FrictionModel, robot: RobotModel, prior: FrictionPrior) -> Array:
    """Return the prior standard deviation of each friction parameter.

    A torque is a share of the effort limit, reached at the speed limit by the viscous part. A gear of ratio n
    multiplies the effort by n and the rotor inertia by n^2 and divides the speed by n, so the armature over
    effort / speed is the time in which the motor runs up, whatever the gear.

    Args:
        friction: The friction parameters.
        robot: The robot, for its limits.
        prior: Deviations that are stated; 0 derives one.

    Returns:
        In the parameters' units, shape (size,).
    """
    limits = urdf_limits(robot)
    effort = np.where(np.isfinite(limits.effort), limits.effort, EFFORT_PER_KG * robot.total_mass)
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, VELOCITY_DEFAULT)
    joints = {name: [j] for j, name in enumerate(robot.joint_names)}
    if friction.couplings:
        rows = zip(friction.couplings.names, friction.couplings.matrix, strict=True)
        joints |= {name: np.flatnonzero(row).tolist() for name, row in rows}
    sigma = []
    for name in friction.names:
        owner, _, term = name.rpartition("/")
        most, fastest = float(effort[joints[owner]].max()), float(speed[joints[owner]].max())
        derived = {
            "viscous": FRICTION_SHARE * most / fastest,
            "armature": RUN_UP_S * most / fastest,
            "coulomb_load": LOAD_SHARE,
        }
        sigma.append(getattr(prior, term, 0.0) or derived.get(term, FRICTION_SHARE * most))
    return np.array(sigma)
