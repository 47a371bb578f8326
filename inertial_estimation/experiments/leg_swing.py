"""One leg of a quadruped whose trunk is held swings in the air; what its sensors read is computed.

The sensors are ideal ones with noise on top (`models/inverse_dynamics.IdealSensors`): the parameter noise of
Tournois et al. makes bodies that no mass distribution has, and physics cannot simulate those, while inverse
dynamics can.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.models.body_reference import estimated_bodies, robot_with_bodies
from inertial_estimation.models.inverse_dynamics import IdealSensors, MotionState
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import SineMotion
from inertial_estimation.signals import Array
from inertial_estimation.simulation.sensor_noise_config import SensorNoise

LIMIT_MARGIN = 0.05  # smallest distance from the joint limits [rad]
SHIFT_HZ = (0.01, 0.05)  # of the slow sines that shift the origin of the fast ones
SHIFTS_PER_JOINT = 2


@dataclass(frozen=True, eq=False)
class DisturbedLeg:
    """A leg whose parameters are not those of its description.

    Attributes:
        robot: The leg as it is.
        parameters: Of each link, about its frame, Pinocchio's order, shape (n_links, 10).
    """

    robot: RobotModel
    parameters: Array


def disturbed_leg(
    urdf: str,
    locked: tuple[str, ...],
    links: tuple[str, ...],
    rng: Generator,
    *,
    com_sigma: float,
    moment_sigma: float,
) -> DisturbedLeg:
    """Add noise to centres of mass and moments of inertia (Tournois et al., IV-A); masses stay.

    Args:
        urdf: Text of the nominal description.
        locked: Joints that do not move, by shell pattern.
        links: Links to disturb.
        rng: Source of the noise.
        com_sigma: Standard deviation of each component of a centre of mass [m].
        moment_sigma: Standard deviation of each entry of a moment of inertia about the link frame [kg m^2].

    Returns:
        The leg; its bodies may be impossible ones.
    """
    nominal = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=locked)
    bodies = estimated_bodies(nominal, links)
    parameters = np.array([body.to_link @ body.nominal_C for body in bodies])
    for pi in parameters:
        pi[1:4] += pi[0] * com_sigma * rng.standard_normal(3)
        pi[4:] += moment_sigma * rng.standard_normal(6)
    return DisturbedLeg(robot_with_bodies(nominal, bodies, list(parameters)), parameters)


def swing(
    robot: RobotModel, rng: Generator, *, amplitudes: Array, band_hz: tuple[float, float], fade_s: float = 1.0
) -> SineMotion:
    """Draw a motion: one sine per joint at the requested speed, about an origin that slow sines shift.

    The slow ones use what the joint limits leave.

    Args:
        robot: The leg.
        rng: Source of frequencies, amplitudes and phases.
        amplitudes: Largest amplitude of the fast sines [rad], shape (n_joints,).
        band_hz: Lowest and highest frequency of the fast sines [Hz].
        fade_s: Time to fade in [s].

    Returns:
        The motion, within the joint limits.
    """
    limits, n = joint_limits(robot), robot.n_joints
    half = 0.5 * (limits.upper - limits.lower) - LIMIT_MARGIN
    fast = np.minimum(amplitudes, half)
    shares = rng.dirichlet(np.full(SHIFTS_PER_JOINT, 5.0), size=n)
    frequencies = np.column_stack([rng.uniform(*band_hz, n), rng.uniform(*SHIFT_HZ, (n, SHIFTS_PER_JOINT))])
    phases = rng.uniform(0.0, 2.0 * np.pi, frequencies.shape)
    return SineMotion(
        0.5 * (limits.lower + limits.upper),
        np.column_stack([fast * rng.uniform(0.5, 1.0, n), (half - fast)[:, None] * shares]),
        frequencies,
        phases,
        0.0,
        fade_s,
    )


def record_swing(
    robot: RobotModel,
    motion: SineMotion,
    duration_s: float,
    rate_hz: float,
    noise: SensorNoise,
    rng: Generator,
) -> SignalBlock:
    """Compute what the sensors of a leg read.

    Args:
        robot: The leg as it is.
        motion: Of its joints.
        duration_s: For how long [s].
        rate_hz: Of the sensors [Hz].
        noise: Imperfections of the joints' sensors.
        rng: Source of the noise.

    Returns:
        Positions, velocities and torques.
    """
    sensors = IdealSensors(robot)
    q, v, a = motion.at(np.arange(round(duration_s * rate_hz)) / rate_hz)
    tau = np.array([sensors.read(MotionState(*state)).tau for state in zip(q, v, a, strict=True)])
    return SignalBlock(
        start_ns=0,
        step_s=1.0 / rate_hz,
        continues=False,
        q=q + noise.position * rng.standard_normal(q.shape),
        v=v + noise.velocity * rng.standard_normal(v.shape),
        tau=tau + noise.effort * rng.standard_normal(tau.shape),
    )
