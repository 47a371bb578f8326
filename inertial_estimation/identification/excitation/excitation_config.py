"""Parameters of excitation design, declared once."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class ExcitationConfig:
    """Kind, objective and limits of an exciting motion."""

    objective: str = parameter(
        "condition",
        "Quantity to minimise: the condition number, the largest variance of a base parameter, or -log det "
        "of the information matrix.",
        choices=("condition", "max-variance", "log-det"),
    )
    kind: str = parameter(
        "fourier",
        "Kind of trajectory: finite Fourier series, or a sequence of static poses.",
        choices=("fourier", "poses"),
    )
    duration: float = parameter(
        20.0,
        "Length of the trajectory; for static poses it follows from the poses, and this value is not used.",
        unit="s",
        lower=0.1,
        upper=600.0,
    )
    terms: int = parameter(6, "Number of harmonics of each joint.", lower=2, upper=50)
    highest_frequency: float = parameter(
        0.6, "Highest frequency of the motion of a joint.", unit="Hz", lower=0.01, upper=20.0
    )
    position_margin: float = parameter(
        0.05,
        "Margin kept from either end of every joint's position range.",
        unit="rad",
        lower=0.0,
        upper=10.0,
    )
    velocity_share: float = parameter(
        0.9, "Fraction of the joint speed limits that the trajectory may use.", lower=0.01, upper=1.0
    )
    acceleration_limit: float = parameter(
        5.0,
        "Largest acceleration of every joint; a URDF has no such limit.",
        unit="rad/s^2",
        lower=0.01,
        upper=1e4,
    )
    clearance: float = parameter(
        0.01,
        "Smallest distance between two links of the robot along the trajectory.",
        unit="m",
        lower=0.0,
        upper=1.0,
    )
    torque_share: float = parameter(
        0.95,
        "Fraction of the URDF's torque limits that the motion may need, according to the nominal model.",
        lower=0.01,
        upper=1e6,
    )
    torque_noise: float = parameter(
        0.1, "Standard deviation of the white noise assumed in every row.", unit="Nm", lower=1e-9, upper=1e6
    )
    starts: int = parameter(
        20, "Number of random trajectories the best of which is refined.", lower=1, upper=100000
    )
    iterations: int = parameter(150, "Number of iterations of the optimiser.", lower=0, upper=100000)
    poses: int = parameter(20, "Number of static poses in the sequence.", lower=1, upper=10000)
    compare_random: int = parameter(
        0, "Number of random motions with which the result is compared.", lower=0, upper=100000
    )
    dwell: float = parameter(1.0, "Time for which each static pose is held.", unit="s", lower=0.0, upper=60.0)
