"""Parameters of which states and inertias the controller trusts, and how it returns from damping."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class StateLimitsConfig:
    """Limits of a plausible state of the robot; beyond them the controller only damps the joints."""

    speed_scale: float = parameter(
        3.0,
        "Factor on the URDF's velocity limits that gives the joint speeds beyond which the controller only "
        "damps the joints.",
        lower=1.0,
        upper=100.0,
    )
    speed: float = parameter(
        50.0,
        "Joint speed beyond which the controller only damps the joints, for joints without a velocity limit "
        "in the URDF.",
        unit="rad/s",
        lower=0.1,
        upper=1e4,
    )
    position_margin: float = parameter(
        0.3,
        "Distance beyond the URDF's position limits from which the controller does not trust a joint "
        "position and only damps the joints.",
        unit="rad",
        lower=0.0,
        upper=10.0,
    )
    tilt: float = parameter(
        1.0,
        "Inclination of the base against the vertical beyond which the robot counts as fallen and the "
        "controller only damps the joints; without effect for a fixed base.",
        unit="rad",
        lower=0.1,
        upper=3.2,
    )
    base_speed: float = parameter(
        10.0,
        "Speed of the base beyond which the controller only damps the joints.",
        unit="m/s",
        lower=0.1,
        upper=1e3,
    )
    base_rate: float = parameter(
        20.0,
        "Angular rate of the base beyond which the controller only damps the joints.",
        unit="rad/s",
        lower=0.1,
        upper=1e3,
    )


@dataclass(frozen=True)
class RecoveryConfig:
    """How long a failed solution is bridged, and how fast torques return after damping."""

    hold: float = parameter(
        0.02,
        "Time for which the torques of the last solution are kept when the quadratic program has none; "
        "after it the joints are damped.",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    duration: float = parameter(
        0.1,
        "Time in which a joint torque may change by the whole effort limit when control returns after "
        "damping or after a gap of the inputs; bounds the rate of the torques.",
        unit="s",
        lower=0.001,
        upper=10.0,
    )


@dataclass(frozen=True)
class InertiaLimitsConfig:
    """Limits of a plausible inertia; others are refused and counted."""

    least_mass: float = parameter(
        0.02,
        "Smallest plausible mass of the body of a link, as a share of its mass in the URDF; smaller received "
        "ones are refused.",
        lower=0.0,
        upper=1.0,
    )
    most_mass: float = parameter(
        2.0,
        "Largest plausible mass on top of a body's mass in the URDF, as a multiple of the robot's mass; "
        "larger received ones are refused.",
        lower=0.0,
        upper=1e3,
    )
    extent: float = parameter(
        2.0,
        "Largest plausible distance of a body's centre of mass from its link frame, and largest plausible "
        "radius of gyration; received inertias beyond it are refused.",
        unit="m",
        lower=0.01,
        upper=100.0,
    )
