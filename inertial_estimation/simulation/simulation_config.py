"""Parameters of a simulation: robot, ground, actuators, sensors."""

from dataclasses import dataclass

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.stance_config import StanceConfig
from inertial_estimation.parameters import parameter, section
from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.simulation.sensor_noise_config import SensorNoise


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
    edge: float = parameter(
        0.2,
        "Share of the distance between two stones over which the ground leads from one to the other.",
        lower=0.01,
        upper=1.0,
    )
    begin: float = parameter(
        0.3,
        "Coordinate x at which ramp, rough ground or stones begin; before it the ground is flat.",
        unit="m",
        lower=-1e3,
        upper=1e3,
    )
    seed: int = parameter(0, "Seed of the random heights of rough ground and stones.", lower=0, upper=2**31)
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
    """Actuators between a torque command and the links."""

    armature: float = parameter(
        0.0,
        "Rotor inertia of each simulated actuator, reflected to the joint side.",
        unit="kg m^2",
        lower=0.0,
        upper=100.0,
    )
    coulomb: float = parameter(
        0.0, "Coulomb friction of each simulated joint.", unit="Nm", lower=0.0, upper=1e3
    )
    coulomb_speed: float = parameter(
        0.02,
        "Speed over which the Coulomb friction of simulated joints changes sign.",
        unit="rad/s",
        lower=1e-4,
        upper=1.0,
    )
    viscous: float = parameter(
        0.0, "Viscous friction coefficient of each simulated joint.", unit="Nms/rad", lower=0.0, upper=1e4
    )
    urdf_friction: bool = parameter(
        False, "Whether friction and damping of the URDF (<dynamics>) are added to those of the parameters."
    )
    torque_limit_scale: float = parameter(
        1.0,
        "Factor on the URDF's effort limits at which simulated torques saturate; 0 disables the limits.",
        lower=0.0,
        upper=1e3,
    )
    lag: float = parameter(
        0.0,
        "Time constant of the first-order lag of simulated joint torques; 0 means no lag.",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    stop_stiffness: float = parameter(
        1000.0,
        "Stiffness of the joints' end stops, which are at the URDF's position limits; 0 disables the stops.",
        unit="Nm/rad",
        lower=0.0,
        upper=1e6,
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
    wrenches: bool = parameter(
        True, "Whether the contacts have force sensors; without them no contact wrench is simulated."
    )
    noise: SensorNoise = section(SensorNoise, prefix="")
    seed: int = parameter(
        0, "Seed of the random sensor noise and of the lost messages.", lower=0, upper=2**31
    )


@dataclass(frozen=True)
class SimulationConfig:
    """All parameters of a simulation except the disturbances."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    stance: StanceConfig = section(StanceConfig)
    step: float = parameter(
        0.001, "Step size of the numerical integration.", unit="s", lower=1e-5, upper=0.01
    )
    start_ns: int = parameter(0, "Stamp at which the simulation begins.", unit="ns", lower=0)
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
