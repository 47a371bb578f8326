"""One leg with noise on its parameters, moved by random sines and identified (Tournois et al., IV-A).

The sensors are ideal ones with noise on top (`models/inverse_dynamics.IdealSensors`): the parameter noise of
Tournois et al. makes bodies that no mass distribution has, and physics cannot simulate those, while inverse
dynamics can.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.identification.base_parameters import base_parameters
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    Identifiability,
    IdentificationReport,
    MethodResult,
)
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.models.body_reference import estimated_bodies, robot_with_bodies
from inertial_estimation.models.inverse_dynamics import IdealSensors, MotionState
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import SineMotion
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array, seconds
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


LINKS = ("rh_hipassembly", "rh_upperleg", "rh_lowerleg")
OTHER_LEGS = ("lf_*", "rf_*", "lh_*")
COM_SIGMA_M, MOMENT_SIGMA = 0.02, 0.02  # of the parameter noise (T IV-A) [m], [kg m^2]
AMPLITUDES, BAND_HZ = (0.25, 0.20, 0.40), (0.3, 0.9)  # of the sines (T IV-A) [rad]
RATE_HZ = 500.0
WINDOW_S, ROW_HZ = 0.12, 10.0
METHOD = "nullspace-prior"
PLAIN = "least-squares"  # the smallest change in SI units: (T 5) as it is written
LEADING = ("mcx", "mcy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz", "Iyy", "mcz", "m")


@dataclass(frozen=True, eq=False)
class LegTrial:
    """One leg, identified.

    Attributes:
        true: Its parameters about the link frames, shape (30,).
        report: Report of the identification.
        base_errors: Error of each base parameter by the name of its leader.
        rows: Stamps [s], and measured, identified and nominal torques of the validation, shape (k, 3).
    """

    true: Array
    report: IdentificationReport
    base_errors: dict[str, float]
    rows: tuple[Array, Array, Array, Array]

    @property
    def result(self) -> MethodResult:
        """Return what the method found."""
        return self.report.methods[METHOD]

    @property
    def plain(self) -> MethodResult:
        """Return what the least change in SI units gives."""
        return self.report.methods[PLAIN]

    @property
    def first_moments_mm(self) -> Array:
        """Errors of the base parameters led by a first moment over the link's mass [mm]."""
        masses = {body.link: body.nominal.mass for body in self.result.bodies}
        led = ((name.split("/"), error) for name, error in self.base_errors.items())
        return np.array([1e3 * error / masses[link] for (link, which), error in led if which[:2] == "mc"])

    @property
    def expected_mm(self) -> float:
        """Largest standard deviation of first moments identifiable by themselves, over the mass [mm]."""
        masses = {body.link: body.nominal.mass for body in self.result.bodies}
        return max(
            1e3 * parameter.sigma / masses[parameter.name.split("/")[0]]
            for parameter in self.result.parameters
            if "/mc" in parameter.name and parameter.identifiability is Identifiability.IDENTIFIABLE
        )

    @property
    def moments(self) -> Array:
        """Errors of the base parameters led by a moment of inertia [kg m^2]."""
        return np.array([error for name, error in self.base_errors.items() if "/I" in name])


def leg_trial(urdf: str, seed: int, noise: SensorNoise, training_s: float, validation_s: float) -> LegTrial:
    """Draw a leg, move it and identify it.

    Args:
        urdf: Text of the nominal description.
        seed: Of the leg, its motion and the noise.
        noise: Imperfections of the joints' sensors.
        training_s: Length of the motion that is fitted [s].
        validation_s: Length of the other motion [s].

    Returns:
        The leg and what identification finds.
    """
    draws = default_rng(seed)
    leg = disturbed_leg(urdf, OTHER_LEGS, LINKS, draws, com_sigma=COM_SIGMA_M, moment_sigma=MOMENT_SIGMA)
    training, validation = (
        record_swing(
            leg.robot,
            swing(leg.robot, draws, amplitudes=np.array(AMPLITUDES), band_hz=BAND_HZ),
            duration_s,
            RATE_HZ,
            noise,
            draws,
        )
        for duration_s in (training_s, validation_s)
    )
    identifier = Identifier(_config(), urdf)
    identifier.push(training)
    identifier.push_validation(validation)
    report = identifier.report([METHOD, PLAIN])
    x = report.methods[METHOD].x
    true = leg.parameters.ravel()
    base = _base_errors(identifier, identifier.rows(training).regressor, x, true)
    shown = identifier.rows(validation)
    torques = (shown.measured, identifier.predicted(shown, x), identifier.predicted(shown, np.zeros(len(x))))
    return LegTrial(true, report, base, (seconds(shown.stamps_ns), *torques))


def _config() -> IdentificationConfig:
    return build_config(
        IdentificationConfig,
        {
            "floating_base": False,
            "locked_joints": list(OTHER_LEGS),
            "links": list(LINKS),
            "contact_wrenches": "none",
            "smoothing.window": WINDOW_S,
            "smoothing.row_rate": ROW_HZ,
        },
    )


def _base_errors(identifier: Identifier, regressor: Array, x: Array, true: Array) -> dict[str, float]:
    names = identifier.parameters.names
    order = [names.index(f"{link}/{which}") for which in LEADING for link in LINKS]
    base = base_parameters(regressor.reshape(-1, len(names)), order)
    errors = base.coupling @ (identifier.parameters.standard(x) - true)
    return {names[leader]: float(error) for leader, error in zip(base.columns, errors, strict=True)}
