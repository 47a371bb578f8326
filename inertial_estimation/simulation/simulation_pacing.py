"""How fast a simulation runs beside a controller that is another process."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter

__all__ = ["SimulationPacing"]


@dataclass(frozen=True)
class SimulationPacing:
    """Lockstep or real time, time-outs, and how the robot is held before the first command."""

    lockstep: bool = parameter(
        False, "Wait after every reading for the command that answers it: independent of the machine's speed."
    )
    lockstep_timeout: float = parameter(
        2.0,
        "Lockstep: how long it waits, by the wall clock, before it goes on with zero torque.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_timeout: float = parameter(
        0.1,
        "Without lockstep: age of the newest command, in simulated time, beyond which the torque is zero.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_rate: float = parameter(
        0.0,
        "Rate of the controller, a whole fraction of the sensors' rate; 0: the sensors' rate.",
        unit="Hz",
        lower=0.0,
        upper=1e5,
    )
    real_time_factor: float = parameter(
        1.0,
        "Simulated over wall time, at most; 0: as fast as possible. On the hoist at most 1.",
        lower=0.0,
        upper=1000.0,
        runtime=True,
    )
    hoist: float = parameter(
        1.0,
        "Shortest time on the hoist; it ends with the first command after it.",
        unit="s",
        lower=0.0,
        upper=3600.0,
    )
