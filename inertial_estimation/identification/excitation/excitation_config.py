"""Parameters of excitation design, declared once."""

from dataclasses import dataclass

from inertial_estimation.parameters import numeric, parameter


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
    duration: float = numeric(
        *(20.0, 0.1, 600.0, "s"),
        "Length of the trajectory; for static poses it follows from the poses, and this value is not used.",
    )
    terms: int = numeric(6, 2, 50, "", "Number of harmonics of each joint.")
    highest_frequency: float = numeric(0.6, 0.01, 20.0, "Hz", "Highest frequency of the motion of a joint.")
    position_margin: float = numeric(
        0.05, 0.0, 10.0, "rad", "Margin kept from either end of every joint's position range."
    )
    velocity_share: float = numeric(
        0.9, 0.01, 1.0, "", "Fraction of the joint speed limits that the trajectory may use."
    )
    acceleration_limit: float = numeric(
        5.0, 0.01, 1e4, "rad/s^2", "Largest acceleration of every joint; a URDF has no such limit."
    )
    clearance: float = numeric(
        0.01, 0.0, 1.0, "m", "Smallest distance between two links of the robot along the trajectory."
    )
    torque_share: float = numeric(
        *(0.95, 0.01, 1e6, ""),
        "Fraction of the URDF's torque limits that the motion may need, according to the nominal model.",
    )
    torque_noise: float = numeric(
        0.1, 1e-9, 1e6, "Nm", "Standard deviation of the white noise assumed in every row."
    )
    starts: int = numeric(20, 1, 100000, "", "Number of random trajectories the best of which is refined.")
    iterations: int = numeric(150, 0, 100000, "", "Number of iterations of the optimiser.")
    poses: int = numeric(20, 1, 10000, "", "Number of static poses in the sequence.")
    compare_random: int = numeric(
        0, 0, 100000, "", "Number of random motions with which the result is compared."
    )
    dwell: float = numeric(1.0, 0.0, 60.0, "s", "Time for which each static pose is held.")
