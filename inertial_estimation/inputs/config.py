"""Parameters of the inputs: times, waits, ranges, units, names, frames."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter, section

STANDARD_GRAVITY = 9.80665
DEGREE = 0.017453292519943295  # [rad]
TURN = 360.0 * DEGREE
G = STANDARD_GRAVITY
IMU_UNITS = {"m/s^2": ("force", 1.0), "g": ("force", G), "mg": ("force", 1e-3 * G)}
IMU_UNITS |= {"rad/s": ("rate", 1.0), "deg/s": ("rate", DEGREE)}
JOINT_UNITS = {"rad": ("position", 1.0), "deg": ("position", DEGREE), "rev": ("position", TURN)}
JOINT_UNITS |= {"rad/s": ("velocity", 1.0), "deg/s": ("velocity", DEGREE), "rpm": ("velocity", TURN / 60.0)}
JOINT_UNITS |= {
    "Nm": ("effort", 1.0),
    "mNm": ("effort", 1e-3),
    "Ncm": ("effort", 0.01),
    "kgcm": ("effort", 0.01 * G),
}
DELAY = {"unit": "s", "lower": -0.5, "upper": 0.5}


@dataclass(frozen=True)
class RangeConfig:
    """What the sensors can give; readings beyond it are dropped."""

    gyro: float = parameter(
        40.0,
        "Largest possible angular rate about one axis of a gyroscope or of a base state; readings beyond it are "
        "dropped. Common gyroscopes measure up to 35 rad/s (2000 degrees per second).",
        unit="rad/s",
        lower=0.1,
        upper=1000.0,
    )
    accelerometer: float = parameter(
        320.0,
        "Largest possible specific force along one axis; readings beyond it are dropped. Common accelerometers "
        "measure up to 160 m/s^2 (16 g), those for impacts up to 320 m/s^2.",
        unit="m/s^2",
        lower=10.0,
        upper=1e5,
    )


@dataclass(frozen=True)
class InputConfig:
    """Times of the readings, their alignment, and the age beyond which an input is lost."""

    imu_delay: float = parameter(0.0, "Age of an IMU reading at its stamp; it is subtracted.", **DELAY)
    joint_delay: float = parameter(0.0, "Age of a joint state at its stamp; it is subtracted.", **DELAY)
    wrench_delay: float = parameter(
        0.0, "Age of a reading of a contact sensor at its stamp; it is subtracted.", **DELAY
    )
    timeout: float = parameter(
        0.1,
        "Age beyond which an input is lost: steps no longer wait for it, and older estimates are not published.",
        unit="s",
        lower=0.001,
        upper=10.0,
        runtime=True,
    )
    max_wait: float = parameter(
        0.05,
        "Longest time for which a step waits for the other inputs; they then count as missing in it.",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    max_gap: float = parameter(
        0.1,
        "Longest gap between two readings of one input that is interpolated over.",
        unit="s",
        lower=0.001,
        upper=10.0,
    )
    jump: float = parameter(
        1.0,
        "Time from which a gap discards what changes quickly, and from which the clocks of two inputs differ.",
        unit="s",
        lower=0.01,
        upper=1e6,
    )
    stamps: str = parameter(
        "auto",
        "Times of the readings: their stamps, made even where they come in bursts (auto), always (regularise) or "
        "never (as_is); or their arrival, of drivers that set no stamps (arrival).",
        choices=("auto", "as_is", "regularise", "arrival"),
    )
    arrival: tuple[str, ...] = parameter(
        (),
        "Inputs (such as imu/data) that are taken at their arrival, since their stamps are of another clock.",
    )
    joint_velocity: str = parameter(
        "auto",
        "Source of the joint velocities: measured, derived from positions, or (auto) derived where the joint state "
        "has none (none sent, NaN, or all zero while joints move).",
        choices=("auto", "measured", "derived"),
    )
    velocity_window: float = parameter(
        0.02,
        "Window of positions from which a joint velocity is derived: the slope of a least-squares parabola at its "
        "newest sample, of at least five. Larger reduces noise and adds lag.",
        unit="s",
        lower=0.001,
        upper=0.5,
    )
    effort_window: float = parameter(
        0.0,
        "Triangular window (a moving average of half this length, twice) with which efforts were smoothed before "
        "they were recorded; 0: they were not. `identify` and the torque error of `replay` smooth predictions "
        "alike. Only for robots without contacts.",
        unit="s",
        lower=0.0,
        upper=5.0,
    )
    frame_ids: str = parameter(
        "use",
        "Whether a header.frame_id that is another frame of the robot than the parameters say counts, so that "
        "readings are turned from it (use), or only the parameters (ignore).",
        choices=("use", "ignore"),
    )
    map: tuple[str, ...] = parameter(
        (),
        "Maps of custom messages to the inputs: names in config/maps (unitree_go, unitree_g1), or YAML files.",
    )
    range: RangeConfig = section(RangeConfig)


@dataclass(frozen=True)
class ImuInputConfig:
    """How the readings of the IMU are meant."""

    units: tuple[str, ...] = parameter(
        ("m/s^2", "rad/s"),
        "Units of specific force and angular rate; SI if not named.",
        choices=tuple(IMU_UNITS),
    )


@dataclass(frozen=True)
class JointStateConfig:
    """Where joint states come from and how they are meant."""

    topics: tuple[str, ...] = parameter(
        ("joint_states",),
        "Topics of joint states; each may have some of the joints, which are joined by name.",
    )
    units: tuple[str, ...] = parameter(
        ("rad", "rad/s", "Nm"),
        "Units of positions, velocities and efforts of turning joints; SI where none is named.",
        choices=tuple(JOINT_UNITS),
    )


@dataclass(frozen=True)
class JointNameConfig:
    """How the names of joint states differ from those of the model."""

    prefix: str = parameter(
        "",
        "Prefix of the names in joint states, such as 'go1/'; one that all names have is found without it.",
    )
    map: tuple[str, ...] = parameter(
        (), "Names in joint states and in the model, 'sent=model', where they differ by more than a prefix."
    )
    order: tuple[str, ...] = parameter((), "Names of the joints in the order of joint states without names.")


@dataclass(frozen=True)
class RobotInputConfig:
    """All parameters of the inputs of a robot."""

    inputs: InputConfig = section(InputConfig)
    imu: ImuInputConfig = section(ImuInputConfig)
    joint_states: JointStateConfig = section(JointStateConfig)
    joint_names: JointNameConfig = section(JointNameConfig)


def unit_factors(units: tuple[str, ...], known: dict[str, tuple[str, float]]) -> dict[str, float]:
    """Return factors to SI units by quantity, of units in `IMU_UNITS` or `JOINT_UNITS`; those named only."""
    return dict(known[unit] for unit in units)
