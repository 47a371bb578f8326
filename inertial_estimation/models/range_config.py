"""Parameters of the plausible ranges of sensor readings."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class RangeConfig:
    """Ranges beyond which a reading is dropped: no sensor and no robot of that weight gives such values."""

    gyro: float = parameter(
        40.0,
        "Largest plausible angular rate about one axis of a gyroscope or of a base state; readings beyond it "
        "are dropped. Common gyroscopes measure up to 35 rad/s (2000 degrees per second).",
        unit="rad/s",
        lower=0.1,
        upper=1000.0,
    )
    accelerometer: float = parameter(
        320.0,
        "Largest plausible specific force along one axis of an accelerometer; readings beyond it are "
        "dropped. Common accelerometers measure up to 160 m/s^2 (16 g), those for impacts up to 320 m/s^2.",
        unit="m/s^2",
        lower=10.0,
        upper=1e5,
    )
    position_margin: float = parameter(
        1.0,
        "Distance beyond a joint's limits in the URDF from which a position (rad, or m for prismatic joints) "
        "is implausible and the joint state is dropped. A joint whose limits allow a whole turn may go one "
        "turn beyond them, as its limits are those of software. Joints without limits may turn 1e4 rad.",
        lower=0.0,
        upper=1e4,
    )
    velocity_factor: float = parameter(
        3.0,
        "Multiple of a joint's velocity limit in the URDF, but at least 30 rad/s or m/s, beyond which a "
        "joint velocity is implausible and the message is dropped; without a limit in the URDF it is 100.",
        lower=1.0,
        upper=1000.0,
    )
    effort_factor: float = parameter(
        4.0,
        "Multiple of a joint's effort limit in the URDF, but at least that of the robot's weight on a lever "
        "of half a metre, beyond which an effort is implausible and the joint state is dropped; without a "
        "limit in the URDF it is the weight on a lever of 10 m.",
        lower=1.0,
        upper=1000.0,
    )
    force_factor: float = parameter(
        8.0,
        "Multiple of the robot's weight, but at least 300 N, beyond which a component of a contact force is "
        "implausible and the wrench is dropped.",
        lower=1.0,
        upper=1000.0,
    )
    moment_arm: float = parameter(
        0.5,
        "Lever on which the largest plausible contact force gives the largest plausible contact moment; a "
        "wrench with a moment beyond it is dropped.",
        unit="m",
        lower=0.01,
        upper=100.0,
    )
    base_speed: float = parameter(
        20.0,
        "Largest plausible velocity of the base along one axis; base states beyond it are dropped.",
        unit="m/s",
        lower=0.1,
        upper=1000.0,
    )
