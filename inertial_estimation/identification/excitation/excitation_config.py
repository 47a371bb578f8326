"""Parameters of excitation design, declared once."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter

__all__ = ["ExcitationConfig"]


@dataclass(frozen=True)
class ExcitationConfig:
    """What an exciting motion is made of, and by what it is judged."""

    objective: str = parameter(
        "condition",
        "What is made small: the condition number, the largest variance, or -log det of the information.",
        choices=("condition", "max-variance", "log-det"),
    )
    kind: str = parameter(
        "fourier",
        "Finite Fourier series, sums of sinusoids that fade in and out, or static poses.",
        choices=("fourier", "sines", "poses"),
    )
    duration: float = parameter(
        20.0, "Length of the trajectory (of poses: a result).", unit="s", lower=0.1, upper=600.0
    )
    terms: int = parameter(6, "Harmonics, or sinusoids, of each joint.", lower=2, upper=50)
    highest_frequency: float = parameter(
        0.6, "Largest frequency of a joint's motion.", unit="Hz", lower=0.01, upper=20.0
    )
    position_margin: float = parameter(
        0.05, "What is left free at either end of a joint's range.", unit="rad", lower=0.0, upper=10.0
    )
    velocity_share: float = parameter(0.9, "Share of the speed limits that is used.", lower=0.01, upper=1.0)
    acceleration_limit: float = parameter(
        5.0, "Largest acceleration of every joint; a URDF has none.", unit="rad/s^2", lower=0.01, upper=1e4
    )
    clearance: float = parameter(0.01, "Smallest distance between two links.", unit="m", lower=0.0, upper=1.0)
    torque_share: float = parameter(
        0.95,
        "Share of the URDF's torque limits that the nominal model may need.",
        lower=0.01,
        upper=1e6,
    )
    torque_noise: float = parameter(
        0.1, "Standard deviation of the white noise of every row.", unit="Nm", lower=1e-9, upper=1e6
    )
    starts: int = parameter(20, "Random motions of which the best are refined.", lower=1, upper=100000)
    refined: int = parameter(1, "How many of them are refined.", lower=1, upper=1000)
    iterations: int = parameter(150, "Iterations of the optimiser for each.", lower=0, upper=100000)
    design_rate: float = parameter(
        10.0, "Rate of the samples the optimiser looks at, at least.", unit="Hz", lower=0.5, upper=1000.0
    )
    poses: int = parameter(20, "Number of static poses.", lower=1, upper=10000)
    candidates: int = parameter(400, "Random poses they are chosen from.", lower=2, upper=100000)
    dwell: float = parameter(1.0, "How long each pose is held.", unit="s", lower=0.0, upper=60.0)
