"""Parameters of the pace of a simulation with a controller in another process."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class SimulationPacing:
    """Lockstep or real time, time-outs, and the hoist before the first command."""

    lockstep: bool = parameter(
        False,
        "Whether the simulator waits after every reading for the command that answers it, so that results "
        "do not depend on the machine's speed.",
    )
    lockstep_timeout: float = parameter(
        2.0,
        "Wall-clock time for which the simulator waits in lockstep for a command before it brakes the joints "
        "and continues without, no faster than real time, until commands come again.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    command_timeout: float = parameter(
        0.1,
        "Age of the newest command, in simulated time, beyond which the joints are braked; in lockstep, the "
        "largest age of the command that ends the braking after a time-out.",
        unit="s",
        lower=0.001,
        upper=3600.0,
    )
    brake_damping: float = parameter(
        1e5,
        "Joint damping of the brakes that engage when no command arrives in time, as in many drives; 0 leaves"
        " the joints without torque.",
        unit="Nms/rad",
        lower=0.0,
        upper=1e6,
    )
    command_rate: float = parameter(
        0.0,
        "Rate of the controller, which must be a whole fraction of the sensors' rate; 0 takes the sensors' "
        "rate.",
        unit="Hz",
        lower=0.0,
        upper=1e5,
    )
    real_time_factor: float = parameter(
        1.0,
        "Largest ratio of simulated to wall-clock time; 0 runs as fast as possible. While the robot hangs "
        "on the hoist it is at most 1.",
        lower=0.0,
        upper=1000.0,
        runtime=True,
    )
    hoist: float = parameter(
        1.0,
        "Shortest time for which the robot hangs on the hoist; the first command after it releases the "
        "robot.",
        unit="s",
        lower=0.0,
        upper=3600.0,
    )
