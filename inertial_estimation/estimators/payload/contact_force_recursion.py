"""Centre of mass of the trunk from the forces of the ground, sample by sample (T III-C)."""

import math

import numpy as np

from inertial_estimation.estimators.payload.com_method import ComStep, not_carried, recursion_gain
from inertial_estimation.estimators.payload.payload_config import ContactForcesConfig
from inertial_estimation.estimators.payload.sample_scatter import SampleScatter
from inertial_estimation.models.trunk_statics import StaticMeasurement, net_force, unexplained_moment
from inertial_estimation.signals import Array

DAMPING_SHARE = 0.01  # of the pseudo-inverse, as a share of the weight
LONGEST_STEP = 1.0 / 3.0  # of the settling time that one sample may stand for
HOLD_SHARE = 0.2  # of the settling time, how long the distance must stay small
PATIENCE_SETTLING_TIMES = 2.0  # settling times after which the noise decides
LONGEST_SETTLING_TIMES = 10.0  # settling times after which it gives up
NOISE_SIGMAS = 3.0
LARGEST_NOISE_TOLERANCES = 4.0  # tolerances that the noise may hide
UNOBSERVED_COS_SQUARED = 0.5  # cos^2 to the vertical from which a base axis counts as unobserved
FEWEST_SAMPLES = 5  # samples before a scatter means anything


class ContactForceRecursion:
    """Recursion on contact forces (T 18-19): `c_tr += beta R_WB' E_xy (m / m_tr) (-[F]x)+ r`.

    `r = mu - c x F` is the moment the ground has about the supposed centre of mass, `(-[F]x)+ r`
    the damped least-norm shift F x r / (F'F + damping^2). Written on the residual its fixed point is r = 0
    whatever the damping; T 18 subtracts c from the damped solution, which shortens c. E_xy drops what lies
    along gravity, which no force determines, in the world: on a tilted trunk that is no axis of the base. An
    error of the start along gravity, e, stays there and shows as e sin(tilt) across the base: of a load 0.1 m
    behind the trunk's centre 3 mm at 10 deg, and 17 mm in z. With `kept` "height" the base's z stays instead,
    on the same vertical line: loads move it least.

    Attributes:
        com_B: Centre of mass of the trunk, base frame [m], shape (3,).
    """

    def __init__(self, config: ContactForcesConfig) -> None:
        self._config = config
        self.com_B: Array = np.zeros(3)
        self._trunk_mass = 1.0
        self._elapsed = self._inside = self._gain = 0.0
        self._slow, self._quick = SampleScatter(), SampleScatter()

    def start(self, com_B: Array, trunk_mass: float) -> None:
        """Begin from a centre of mass [m], shape (3,), with the trunk's mass known [kg]."""
        self.com_B = np.array(com_B, dtype=float)
        self._trunk_mass = trunk_mass
        self._elapsed = self._inside = self._gain = 0.0
        self._slow, self._quick = SampleScatter(), SampleScatter()

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Take one measurement at rest.

        It has converged when the estimate is within `tolerance` of the mean of what is measured (over a
        third of the settling time), for a fifth of the settling time; or, after two settling times, when
        the two do not differ by more than a noise of less than four tolerances.

        Args:
            measurement: Forces and lever arms.
            h: Time since the last one [s].

        Returns:
            The estimate. Its deviations are those of the noise alone: an offset of a torque or a foot shifts
            every sample alike. Infinite along the base axis nearest to gravity.
        """
        refusal = not_carried(measurement, self._trunk_mass)
        if refusal:
            return ComStep(self.com_B.copy(), np.full(3, math.inf), math.nan, refusal=refusal)
        t_a = self._config.settling_time
        h = min(max(h, 0.0), LONGEST_STEP * t_a)
        self._gain = gain = recursion_gain(t_a, h)
        shift_B = self._shift(measurement)
        measured_B = self.com_B + shift_B
        self._slow.add(measured_B, gain)
        self._quick.add(measured_B, recursion_gain(LONGEST_STEP * t_a, h))
        self.com_B = self.com_B + gain * shift_B
        self._elapsed += h
        return self._step(measurement.R_WB, h)

    def _shift(self, measurement: StaticMeasurement) -> Array:
        """Return the measured less the supposed centre of mass across gravity, base frame [m]."""
        mass = self._trunk_mass + measurement.legs_mass
        moment = unexplained_moment(measurement, self.com_B, self._trunk_mass)
        fx, fy, fz = net_force(measurement).tolist()
        rx, ry, rz = moment.tolist()
        square = fx * fx + fy * fy + fz * fz + (DAMPING_SHARE * mass * measurement.gravity) ** 2
        scale = mass / self._trunk_mass / square
        across = scale * np.array([fy * rz - fz * ry, fz * rx - fx * rz])
        shift: Array = across @ measurement.R_WB[:2]
        up_B = measurement.R_WB[2]
        if self._config.kept == "height" and up_B[2] ** 2 > UNOBSERVED_COS_SQUARED:
            shift = shift - shift[2] / up_B[2] * up_B
        return shift

    def _step(self, R_WB: Array, h: float) -> ComStep:
        config = self._config
        distance = float(np.linalg.norm(self._quick.mean - self.com_B))
        self._inside = self._inside + h if distance < config.tolerance else 0.0
        covariance = self._slow.filtered_covariance(self._gain)
        hidden = (R_WB[2] ** 2 > UNOBSERVED_COS_SQUARED) | (self._slow.count < FEWEST_SAMPLES)
        sigma = np.where(hidden, math.inf, np.sqrt(np.diag(covariance)))
        done = self._inside >= HOLD_SHARE * config.settling_time
        refusal = ""
        if not done and self._elapsed >= PATIENCE_SETTLING_TIMES * config.settling_time:
            noise = math.sqrt(float(np.trace(self._quick.filtered_covariance(self._quick.forgetting))))
            done = distance < NOISE_SIGMAS * noise and noise < LARGEST_NOISE_TOLERANCES * config.tolerance
            if not done and self._elapsed >= LONGEST_SETTLING_TIMES * config.settling_time:
                refusal = (
                    f"after {self._elapsed:.1f} s the measured centre of mass still moves: it is "
                    f"{1e3 * distance:.1f} mm from the estimate and scatters by {1e3 * noise:.1f} mm, "
                    f"expected {1e3 * config.tolerance:.1f} mm"
                )
        return ComStep(self.com_B.copy(), sigma, distance, done, refusal)
