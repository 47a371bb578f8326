"""Imperfections of a robot's sensors, declared once for the simulator and for synthetic recordings."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter

MAX_DELAY = 0.5  # [s]


@dataclass(frozen=True)
class SensorNoise:
    """Imperfections of the sensors; all sigmas are of white noise per sample.

    A reading delayed by d is stamped d later than it was true, and arrives at its stamp.

    Attributes:
        specific_force: Sigma [m/s^2].
        angular_rate: Sigma [rad/s].
        specific_force_bias: Constant, IMU frame [m/s^2].
        angular_rate_bias: Constant, IMU frame [rad/s].
        position: Sigma of joint positions [rad].
        velocity: Sigma of joint velocities [rad/s].
        effort: Sigma of joint torques [Nm].
        force: Sigma of contact forces [N].
        torque: Sigma of contact torques [Nm].
        imu_delay_s: A reading of the IMU is stamped this much later than it was true [s].
        joint_delay_s: Likewise of the joints [s].
        wrench_delay_s: Likewise of the wrenches [s].
        dropped: Share of messages lost, of each topic but the ground truth.
    """

    specific_force: float = parameter(
        0.0,
        "Standard deviation of white noise on the IMU's specific force, per sample and axis.",
        unit="m/s^2",
        lower=0.0,
        upper=1e3,
    )
    angular_rate: float = parameter(
        0.0,
        "Standard deviation of white noise on the IMU's angular rate, per sample and axis.",
        unit="rad/s",
        lower=0.0,
        upper=1e3,
    )
    specific_force_bias: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Constant error (x, y, z) of the IMU's specific force, in the IMU frame.",
        unit="m/s^2",
    )
    angular_rate_bias: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "Constant error (x, y, z) of the IMU's angular rate, in the IMU frame.", unit="rad/s"
    )
    position: float = parameter(
        0.0,
        "Standard deviation of white noise on joint positions, per sample.",
        unit="rad",
        lower=0.0,
        upper=10.0,
    )
    velocity: float = parameter(
        0.0,
        "Standard deviation of white noise on joint velocities, per sample.",
        unit="rad/s",
        lower=0.0,
        upper=1e3,
    )
    effort: float = parameter(
        0.0,
        "Standard deviation of white noise on joint torques, per sample.",
        unit="Nm",
        lower=0.0,
        upper=1e5,
    )
    force: float = parameter(
        0.0,
        "Standard deviation of white noise on the forces of contact wrenches, per sample and axis.",
        unit="N",
        lower=0.0,
        upper=1e5,
    )
    torque: float = parameter(
        0.0,
        "Standard deviation of white noise on the moments of contact wrenches, per sample and axis.",
        unit="Nm",
        lower=0.0,
        upper=1e5,
    )
    imu_delay_s: float = parameter(
        0.0,
        "Delay of the IMU: a reading is stamped, and arrives, this much later than it was true.",
        unit="s",
        lower=0.0,
        upper=MAX_DELAY,
    )
    joint_delay_s: float = parameter(
        0.0,
        "Delay of the joint states: a reading is stamped, and arrives, this much later than it was true.",
        unit="s",
        lower=0.0,
        upper=MAX_DELAY,
    )
    wrench_delay_s: float = parameter(
        0.0,
        "Delay of the contact wrenches: a reading is stamped, and arrives, this much later than it was true.",
        unit="s",
        lower=0.0,
        upper=MAX_DELAY,
    )
    dropped: float = parameter(
        0.0, "Fraction of the messages of each sensor topic that is lost at random.", lower=0.0, upper=1.0
    )


NOISE_FREE = SensorNoise()
REALISTIC = SensorNoise(
    specific_force=0.05,
    angular_rate=0.003,
    angular_rate_bias=(0.004, -0.003, 0.002),
    position=5e-5,
    velocity=2e-3,
    effort=0.3,
    force=2.0,
    torque=0.2,
)
