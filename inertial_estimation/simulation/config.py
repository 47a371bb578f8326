"""Parameters of a simulation: robot, ground, actuators, sensors, and the pace with a controller elsewhere."""

from dataclasses import dataclass

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import SimulatedRobotConfig, StanceConfig
from inertial_estimation.parameters import parameter, section
from inertial_estimation.signals import NANOSECONDS

MAX_DELAY = 0.5  # [s]
FALLEN = "fallen"  # key of the driver's status: "true" or "false"
RELEASED_AT = (
    "released at [s]"  # key of the driver's status: from the hoist, in simulated time; absent before
)


@dataclass(frozen=True)
class GroundConfig:
    """Shape, stiffness and friction of the ground."""

    terrain: str = parameter(
        "flat",
        "Shape of the ground: a plane, a ramp along x, smooth random heights (rough), or level stones of "
        "random heights with short slopes between them (stones).",
        choices=("flat", "ramp", "rough", "stones"),
    )
    slope: float = parameter(
        0.1, "Inclination of the ramp, upwards along x.", unit="rad", lower=-1.2, upper=1.2
    )
    roughness: float = parameter(
        0.02,
        "Largest height of rough ground and of stones above and below zero.",
        unit="m",
        lower=0.0,
        upper=1.0,
    )
    cell: float = parameter(
        0.2,
        "Horizontal distance between the random heights of rough ground, and between the centres of stones.",
        unit="m",
        lower=0.01,
        upper=10.0,
    )
    begin: float = parameter(
        0.3,
        "Coordinate x at which ramp, rough ground or stones begin; before it the ground is flat.",
        unit="m",
        lower=-1e3,
        upper=1e3,
    )
    stiffness: float = parameter(
        1e5, "Stiffness of the ground at each contact point.", unit="N/m", lower=100.0, upper=1e7
    )
    damping: float = parameter(
        1e3, "Damping of the ground at each contact point.", unit="Ns/m", lower=0.0, upper=1e5
    )
    friction: float = parameter(
        0.7, "Coulomb friction coefficient between the ground and each contact point.", lower=0.0, upper=10.0
    )


@dataclass(frozen=True)
class ActuatorConfig:
    """Actuators between a torque command and the links, apart from the friction that is known."""

    torque_limit_scale: float = parameter(
        1.0,
        "Factor on the URDF's effort limits at which simulated torques saturate; 0 disables the limits.",
        lower=0.0,
        upper=1e3,
    )
    stop_stiffness: float = parameter(
        1000.0,
        "Stiffness of the joints' end stops, which are at the URDF's position limits; 0 disables the stops.",
        unit="Nm/rad",
        lower=0.0,
        upper=1e6,
    )
    lag: float = parameter(
        0.0,
        "Time constant of the first-order lag of simulated joint torques; 0 means no lag.",
        unit="s",
        lower=0.0,
        upper=1.0,
    )


@dataclass(frozen=True)
class SensorNoise:
    """Imperfections of the sensors; all sigmas are of white noise per sample.

    A reading delayed by d is stamped d later than it was true, and arrives at its stamp.
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
REALISTIC = SensorNoise(  # of a large robot
    specific_force=0.05,
    angular_rate=0.003,
    angular_rate_bias=(0.004, -0.003, 0.002),
    position=5e-5,
    velocity=2e-3,
    effort=0.3,
    force=2.0,
    torque=0.2,
)


@dataclass(frozen=True)
class SensorConfig:
    """Rate and imperfections of the sensors."""

    rate: float = parameter(
        1000.0 / 3.0,
        "Rate of the sensor readings; its period must be a whole number of simulation steps.",
        unit="Hz",
        lower=1.0,
        upper=1e5,
    )
    effort_at: str = parameter(
        "link",
        "Where joint torque is sensed: at the link (the output side of rotor inertia and friction), or at "
        "the motor.",
        choices=("link", "motor"),
    )
    noise: SensorNoise = section(SensorNoise, prefix="")


@dataclass(frozen=True)
class SimulationConfig:
    """All parameters of a simulation except the disturbances."""

    robot: SimulatedRobotConfig = section(SimulatedRobotConfig, prefix="")
    stance: StanceConfig = section(StanceConfig)
    step: float = parameter(
        0.001, "Step size of the numerical integration.", unit="s", lower=1e-5, upper=0.01
    )
    start_ns: int = parameter(0, "Stamp at which the simulation begins.", unit="ns", lower=0)
    seed: int = parameter(
        0,
        "Seed of the random heights of rough ground and stones, of sensor noise and of lost messages.",
        lower=0,
        upper=2**31,
    )
    ground: GroundConfig = section(GroundConfig)
    actuators: ActuatorConfig = section(ActuatorConfig)
    sensors: SensorConfig = section(SensorConfig)


def step_ns(config: SimulationConfig) -> int:
    """Return the step in whole nanoseconds."""
    return round(config.step * NANOSECONDS)


def period_in_steps(config: SimulationConfig) -> int:
    """Return the period of the sensors in steps.

    Raises:
        ConfigurationError: If it is not a whole number, to a millionth.
    """
    period = 1.0 / (config.sensors.rate * config.step)
    count = round(period)
    if count < 1 or abs(period - count) > 1e-6 * count:
        rates = ", ".join(f"{1.0 / (n * config.step):.6g}" for n in range(max(1, count - 1), count + 2))
        raise ConfigurationError(
            f"sensors.rate is {config.sensors.rate:.6g} Hz, expected a period of a whole number of steps of "
            f"{config.step:g} s: one of {rates} Hz"
        )
    return count


@dataclass(frozen=True)
class SimulationPacing:
    """Lockstep or real time, time-outs, and the hoist before the first command."""

    lockstep: bool = parameter(
        False,
        "Whether the simulator waits after every reading for the command that answers it, so that results "
        "do not depend on the machine's speed.",
    )
    lockstep_timeout: float = parameter(
        2.0,
        "Wall-clock time for which the simulator waits in lockstep for a command before it brakes the joints "
        "and continues without, no faster than real time, until commands come again.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_timeout: float = parameter(
        0.1,
        "Age of the newest command, in simulated time, beyond which the joints are braked; in lockstep, the "
        "largest age of the command that ends the braking after a time-out.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_rate: float = parameter(
        0.0,
        "Rate of the controller, which must be a whole fraction of the sensors' rate; 0 takes the sensors' "
        "rate.",
        unit="Hz",
        lower=0.0,
        upper=1e5,
    )
    real_time_factor: float = parameter(
        1.0,
        "Largest ratio of simulated to wall-clock time; 0 runs as fast as possible. While the robot hangs "
        "on the hoist it is at most 1.",
        lower=0.0,
        upper=1000.0,
        runtime=True,
    )
    hoist: float = parameter(
        1.0,
        "Shortest time for which the robot hangs on the hoist; the first command after it releases the "
        "robot.",
        unit="s",
        lower=0.0,
        upper=3600.0,
    )
