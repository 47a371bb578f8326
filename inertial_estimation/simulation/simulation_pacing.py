"""Parameters of how fast a simulation runs for a controller in another process."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter

__all__ = ["SimulationPacing"]


@dataclass(frozen=True)
class SimulationPacing:
    """Lockstep or real time, time-outs, and the time on the hoist before the first command."""

    lockstep: bool = parameter(
        False,
        "Wait after every reading for the command that answers it; results then do not depend on speed.",
    )
    lockstep_timeout: float = parameter(
        2.0,
        "In lockstep, wall time after which a missing command is replaced by zero torque.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_timeout: float = parameter(
        0.1,
        "Without lockstep, age of the newest command in simulated time beyond which the torque is zero.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_rate: float = parameter(
        0.0,
        "Rate of the controller, a whole fraction of the rate of the sensors; 0: the rate of the sensors.",
        unit="Hz",
        lower=0.0,
        upper=1e5,
    )
    real_time_factor: float = parameter(
        1.0,
        "Largest ratio of simulated to wall time; 0: as fast as possible. On the hoist it is at most 1.",
        lower=0.0,
        upper=1000.0,
        runtime=True,
    )
    hoist: float = parameter(
        1.0,
        "Shortest time on the hoist; the first command after it releases the robot.",
        unit="s",
        lower=0.0,
        upper=3600.0,
    )
