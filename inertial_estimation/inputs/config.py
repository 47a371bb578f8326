"""Parameters of the inputs: clocks, waits, ranges, units, names, frames."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter, section

STANDARD_GRAVITY = 9.80665
DEGREE = 0.017453292519943295  # [rad]
TURN = 360.0 * DEGREE
IMU_UNITS = {
    "m/s^2": ("force", 1.0),
    "g": ("force", STANDARD_GRAVITY),
    "mg": ("force", 1e-3 * STANDARD_GRAVITY),
    "rad/s": ("rate", 1.0),
    "deg/s": ("rate", DEGREE),
}
JOINT_UNITS = {
    "rad": ("position", 1.0),
    "deg": ("position", DEGREE),
    "rev": ("position", TURN),
    "rad/s": ("velocity", 1.0),
    "deg/s": ("velocity", DEGREE),
    "rpm": ("velocity", TURN / 60.0),
    "Nm": ("effort", 1.0),
    "mNm": ("effort", 1e-3),
    "Ncm": ("effort", 1e-2),
    "kgcm": ("effort", 1e-2 * STANDARD_GRAVITY),
}


@dataclass(frozen=True)
class RangeConfig:
    """Ranges beyond which a reading is dropped: no sensor and no robot of that weight gives such values."""

    gyro: float = parameter(
        40.0,
        "Largest possible angular rate about one axis of a gyroscope or of a base state; readings beyond it "
        "are dropped. Common gyroscopes measure up to 35 rad/s (2000 degrees per second).",
        unit="rad/s",
        lower=0.1,
        upper=1000.0,
    )
    accelerometer: float = parameter(
        320.0,
        "Largest possible specific force along one axis of an accelerometer; readings beyond it are dropped. "
        "Common accelerometers measure up to 160 m/s^2 (16 g), those for impacts up to 320 m/s^2.",
        unit="m/s^2",
        lower=10.0,
        upper=1e5,
    )
    position_margin: float = parameter(
        1.0,
        "Distance beyond a joint's limits in the URDF from which a position (rad, or m for prismatic joints) "
        "is impossible and the joint state is dropped. A joint whose limits allow a whole turn may go one "
        "turn beyond them, as its limits are those of software. Joints without limits may turn 1e4 rad.",
        lower=0.0,
        upper=1e4,
    )
    velocity_factor: float = parameter(
        3.0,
        "Multiple of a joint's velocity limit in the URDF, but at least 30 rad/s or m/s, beyond which a "
        "joint velocity is impossible and the message is dropped; without a limit in the URDF it is 100.",
        lower=1.0,
        upper=1000.0,
    )
    effort_factor: float = parameter(
        4.0,
        "Multiple of a joint's effort limit in the URDF, but at least that of the robot's weight on a lever "
        "of half a metre, beyond which an effort is impossible and the joint state is dropped; without a "
        "limit in the URDF it is the weight on a lever of 10 m.",
        lower=1.0,
        upper=1000.0,
    )
    force_factor: float = parameter(
        8.0,
        "Multiple of the robot's weight, but at least 300 N, beyond which a component of a contact force is "
        "impossible and the wrench is dropped.",
        lower=1.0,
        upper=1000.0,
    )
    moment_arm: float = parameter(
        0.5,
        "Lever on which the largest possible contact force gives the largest possible contact moment; a "
        "wrench with a moment beyond it is dropped.",
        unit="m",
        lower=0.01,
        upper=100.0,
    )
    base_speed: float = parameter(
        20.0,
        "Largest possible velocity of the base along one axis; base states beyond it are dropped.",
        unit="m/s",
        lower=0.1,
        upper=1000.0,
    )


@dataclass(frozen=True)
class InputConfig:
    """Times of the readings, their alignment, and the age beyond which an input is lost."""

    imu_delay: float = parameter(
        0.0,
        "Age of an IMU reading at the time of its stamp; it is subtracted from the stamp.",
        unit="s",
        lower=-0.5,
        upper=0.5,
    )
    joint_delay: float = parameter(
        0.0,
        "Age of a joint state at the time of its stamp; it is subtracted from the stamp.",
        unit="s",
        lower=-0.5,
        upper=0.5,
    )
    wrench_delay: float = parameter(
        0.0,
        "Age of a reading of a contact sensor at the time of its stamp; it is subtracted from the stamp.",
        unit="s",
        lower=-0.5,
        upper=0.5,
    )
    timeout: float = parameter(
        0.1,
        "Age beyond which an input counts as lost: steps no longer wait for it, and estimates that are older "
        "are not published.",
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
        "Time from which a gap of all inputs discards what changes quickly, and from which the clocks of two "
        "inputs count as different ones.",
        unit="s",
        lower=0.01,
        upper=1e6,
    )
    stamps: str = parameter(
        "auto",
        "Times of the readings: their stamps, made even where they come in bursts (auto), always "
        "(regularise) or never (as_is); or the time of arrival, made even where it comes in bursts, of "
        "drivers that set no stamps (arrival).",
        choices=("auto", "as_is", "regularise", "arrival"),
    )
    arrival: tuple[str, ...] = parameter(
        (),
        "Inputs (such as imu/data) whose stamps are of a clock of their own or not set: they are taken at "
        "their time of arrival.",
    )
    joint_velocity: str = parameter(
        "auto",
        "Source of the joint velocities: measured, derived from positions, or (auto) measured where the "
        "joint state has them and derived where it has none (none sent, NaN, or all zero while joints "
        "move).",
        choices=("auto", "measured", "derived"),
    )
    velocity_window: float = parameter(
        0.02,
        "Length of the window of positions from which a joint velocity is derived: the slope of a least-"
        "squares parabola at its newest sample, of at least five. Larger reduces noise and adds lag.",
        unit="s",
        lower=0.001,
        upper=0.5,
    )
    effort_window: float = parameter(
        0.0,
        "Length of the triangular window (a moving average of half this length, twice) with which efforts "
        "were smoothed before they were recorded; 0 means that they were not. Predicted torques are smoothed "
        "alike by `identify` and in the torque error of `replay`, not in the estimators. Only for robots "
        "without contacts.",
        unit="s",
        lower=0.0,
        upper=5.0,
    )
    frame_ids: str = parameter(
        "use",
        "Whether the frame in the header of an IMU reading or a wrench counts where it is another frame of "
        "the robot than the parameters say (use): the reading is then turned to the frame of the parameters. "
        "Or only what the parameters say (ignore).",
        choices=("use", "ignore"),
    )
    map: tuple[str, ...] = parameter(
        (),
        "Maps from the fields of custom messages to the inputs: names of those that come with the package "
        "(unitree_go, unitree_g1) or paths of YAML files.",
    )
    range: RangeConfig = section(RangeConfig)


@dataclass(frozen=True)
class ImuInputConfig:
    """How the readings of the IMU are meant."""

    units: tuple[str, ...] = parameter(
        ("m/s^2", "rad/s"),
        "Units of specific force and angular rate as the driver sends them; what is not named is in SI units.",
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
        "Units of positions, velocities and efforts of turning joints as the driver sends them; what is not "
        "named is in SI units.",
        choices=tuple(JOINT_UNITS),
    )


@dataclass(frozen=True)
class JointNameConfig:
    """How the names of joint states differ from those of the model."""

    prefix: str = parameter(
        "",
        "Prefix that the names in joint states have before those of the model, such as 'go1/'. One that all "
        "names have is found without it.",
    )
    map: tuple[str, ...] = parameter(
        (), "Names in joint states and in the model, 'sent=model', where they differ by more than a prefix."
    )
    order: tuple[str, ...] = parameter(
        (), "Names of the joints of the model in the order of joint states that have no names."
    )


@dataclass(frozen=True)
class RobotInputConfig:
    """All parameters of the inputs of a robot."""

    inputs: InputConfig = section(InputConfig)
    imu: ImuInputConfig = section(ImuInputConfig)
    joint_states: JointStateConfig = section(JointStateConfig)
    joint_names: JointNameConfig = section(JointNameConfig)


def unit_factors(units: tuple[str, ...], known: dict[str, tuple[str, float]]) -> dict[str, float]:
    """Return the factor to SI units by quantity; quantities that are not named are left out.

    Args:
        units: Names of units, at most one for each quantity; a later one of a quantity counts.
        known: Quantity and factor by unit: `IMU_UNITS` or `JOINT_UNITS`.
    """
    return dict(known[unit] for unit in units)
