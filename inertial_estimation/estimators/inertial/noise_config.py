"""Parameters by which the noise of the measurement adapts to the innovations."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class NoiseAdaptationConfig:
    """How the filter scales the stated noise of each group of rows by the innovations it sees."""

    enabled: bool = parameter(
        True,
        "Whether standard deviations under `noise` are scaled to what the innovations show, one factor for "
        "each group of rows that share a parameter; if false, they are used as stated.",
        runtime=True,
    )
    window: float = parameter(
        10.0,
        "Time constant of the mean innovation from which the noise is estimated. An estimate that is larger "
        "than the noise in use is used at once.",
        unit="s",
        lower=0.1,
        upper=1e4,
        runtime=True,
    )
    release: float = parameter(
        60.0,
        "Time constant with which the noise in use falls to a smaller estimate. It should be longer than a "
        "robot usually rests, since noise at rest is smaller than in motion.",
        unit="s",
        lower=0.1,
        upper=1e5,
        runtime=True,
    )
    largest: float = parameter(
        10.0,
        "Largest factor by which a stated standard deviation is enlarged; its inverse is the smallest one.",
        lower=1.0,
        upper=1e3,
        runtime=True,
    )
