"""Parameters of a simulation: robot, ground, actuators, sensors, and its pace with an external controller."""

from dataclasses import dataclass
from typing import Any

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import SimulatedRobotConfig, StanceConfig
from inertial_estimation.parameters import numeric, parameter, section
from inertial_estimation.signals import NANOSECONDS

FALLEN = "fallen"  # key of the driver's status: "true" or "false"
RELEASED_AT = "released at [s]"  # key of the simulated time of the release from the hoist; absent before it


def _white(unit: str, of: str) -> Any:
    return numeric(0.0, 0.0, 1e5, unit, f"Standard deviation of white noise on {of}, per sample.")


def _delay(of: str) -> Any:
    text = f"Delay of the {of}: a reading is stamped, and arrives, this much later than it was true."
    return numeric(0.0, 0.0, 0.5, "s", text)


@dataclass(frozen=True)
class GroundConfig:
    """Shape, stiffness and friction of the ground."""

    terrain: str = parameter(
        "flat",
        "Shape of the ground: a plane, a ramp along x, or smooth random heights (rough).",
        choices=("flat", "ramp", "rough"),
    )
    slope: float = numeric(0.1, -1.2, 1.2, "rad", "Inclination of the ramp, upwards along x.")
    roughness: float = numeric(0.02, 0.0, 1.0, "m", "Largest height of rough ground above and below zero.")
    cell: float = numeric(
        *(0.2, 0.01, 10.0, "m"), "Horizontal distance between the random heights of rough ground."
    )
    begin: float = numeric(
        *(0.3, -1e3, 1e3, "m"),
        "Coordinate x at which ramp or rough ground begin; before it the ground is flat.",
    )
    stiffness: float = numeric(1e5, 100.0, 1e7, "N/m", "Stiffness of the ground at each contact point.")
    damping: float = numeric(1e3, 0.0, 1e5, "Ns/m", "Damping of the ground at each contact point.")
    friction: float = numeric(
        0.7, 0.0, 10.0, "", "Coulomb friction coefficient between the ground and each contact point."
    )


@dataclass(frozen=True)
class ActuatorConfig:
    """Actuators between a torque command and the links, apart from the nominal friction of the robot."""

    torque_limit_scale: float = numeric(
        *(1.0, 0.0, 1e3, ""),
        "Factor on the URDF's effort limits at which simulated torques saturate; 0 disables the limits.",
    )


@dataclass(frozen=True)
class SensorNoise:
    """Imperfections of the sensors; all sigmas are of white noise per sample.

    A reading delayed by d is stamped d later than it was true, and arrives at its stamp.
    """

    specific_force: float = _white("m/s^2", "each axis of the IMU's specific force")
    angular_rate: float = _white("rad/s", "each axis of the IMU's angular rate")
    specific_force_bias: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Constant error (x, y, z) of the IMU's specific force, in the IMU frame.",
        unit="m/s^2",
    )
    angular_rate_bias: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "Constant error (x, y, z) of the IMU's angular rate, in the IMU frame.", unit="rad/s"
    )
    position: float = _white("rad", "joint positions")
    velocity: float = _white("rad/s", "joint velocities")
    effort: float = _white("Nm", "joint torques")
    force: float = _white("N", "each axis of the forces of contact wrenches")
    torque: float = _white("Nm", "each axis of the moments of contact wrenches")
    imu_delay_s: float = _delay("IMU")
    joint_delay_s: float = _delay("joint states")
    wrench_delay_s: float = _delay("contact wrenches")
    dropped: float = numeric(
        0.0, 0.0, 1.0, "", "Fraction of the messages of each sensor topic that is lost at random."
    )

    def __post_init__(self) -> None:
        for name in ("specific_force_bias", "angular_rate_bias"):
            n = len(getattr(self, name))
            if n != 3:
                raise ConfigurationError(f"the sensors' {name} has {n} values, expected three")


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

    rate: float = numeric(
        *(1000.0 / 3.0, 1.0, 1e5, "Hz"),
        "Rate of the sensor readings; its period must be a whole number of simulation steps.",
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
    step: float = numeric(0.001, 1e-5, 0.01, "s", "Step size of the numerical integration.")
    seed: int = numeric(
        0, 0, 2**31, "", "Seed of the random heights of rough ground, of sensor noise and of lost messages."
    )
    ground: GroundConfig = section(GroundConfig)
    actuators: ActuatorConfig = section(ActuatorConfig)
    sensors: SensorConfig = section(SensorConfig)

    @property
    def step_ns(self) -> int:
        """The step in whole nanoseconds."""
        return round(self.step * NANOSECONDS)

    def in_steps(self, name: str, duration_s: float) -> int:
        """Return the number of steps of a duration [s]; `name` is the parameter, for the error message.

        Raises:
            ConfigurationError: If it is not a whole number of steps, to a millionth.
        """
        count = round(duration_s / self.step)
        if abs(duration_s / self.step - count) > 1e-6 * max(count, 1):
            raise ConfigurationError(
                f"{name} makes {duration_s:g} s, expected a whole number of steps of {self.step:g} s, such "
                f"as {count * self.step:g} s"
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
    lockstep_timeout: float = numeric(
        *(2.0, 0.001, 3600.0, "s"),
        "Wall-clock time for which the simulator waits in lockstep for a command before it brakes the joints "
        "and continues without, no faster than real time, until commands come again.",
    )
    command_timeout: float = numeric(
        *(0.1, 0.001, 3600.0, "s"),
        "Age of the newest command, in simulated time, beyond which the joints are braked; in lockstep, the "
        "largest age of the command that ends the braking after a time-out.",
    )
    real_time_factor: float = numeric(
        *(1.0, 0.0, 1000.0, ""),
        "Largest ratio of simulated to wall-clock time; 0 runs as fast as possible. While the robot hangs "
        "on the hoist it is at most 1.",
        runtime=True,
    )
    hoist: float = numeric(
        *(1.0, 0.0, 3600.0, "s"),
        "Shortest time for which the robot hangs on the hoist; the first command after it releases the "
        "robot.",
    )
