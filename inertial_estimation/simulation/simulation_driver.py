"""Says when a simulation goes on and with which torques: hoist, lockstep, free run, time-outs, pauses.

Nothing here reads a clock: the node passes wall time in, so that a test can as well.
"""

from collections import Counter

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.signals import NANOSECONDS, Array, Health, HealthLevel, TorqueCommand, seconds
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.simulation.simulation_pacing import SimulationPacing

__all__ = ["SimulationDriver"]

LONGEST_LAG = 0.25  # a simulation further behind its schedule does not catch up [s]
MOST_REASONS = 10


class SimulationDriver:
    """Runs one simulation tick by tick.

    A tick takes the torques to apply, advances by one control period and returns what the sensors delivered.
    In lockstep it waits for the command that answers the readings of the tick before.

    Attributes:
        simulation: The robot.
        tick_ns: Control period [ns].
        timeouts: Ticks with zero torque for want of a command.
        refused: Commands refused, by reason.
    """

    def __init__(self, simulation: Simulation, robot: RobotConfig, pacing: SimulationPacing) -> None:
        """Prepare.

        Args:
            simulation: The robot, on its hoist.
            robot: Its IMU and contacts: what a reading consists of.
            pacing: Pace and time-outs.

        Raises:
            ConfigurationError: If the control period is no multiple of the sensors' period.
        """
        self.simulation = simulation
        self.tick_ns = _tick_ns(simulation.period_ns, pacing.command_rate)
        self.timeouts = 0
        self.refused: Counter[str] = Counter()
        self._robot, self._pacing = robot, pacing
        self._factor = pacing.real_time_factor
        self._outdated = 0
        self._reported = (0, 0)  # time-outs and refusals
        self._order: tuple[tuple[str, ...], list[int]] = ((), [])
        self._paused = False
        self._restart()

    def _restart(self) -> None:
        self._start_ns = self.simulation.stamp_ns
        self._released_ns: int | None = None
        self._newest_ns: int | None = None
        self._tau: Array = np.zeros(self.simulation.robot.n_joints)
        self._answer_after_ns = self._start_ns
        self._answerable = False
        self._due: float | None = None
        self._deadline: float | None = None
        self._progress: tuple[tuple[float, int] | None, tuple[float, int] | None] = (None, None)

    @property
    def wall_period(self) -> float:
        """Wall time of a tick at the pace asked for [s]; zero for as fast as possible."""
        factor = self._factor
        if not self.simulation.released:  # nodes start meanwhile, by the wall clock
            factor = min(factor or 1.0, 1.0)
        return seconds(self.tick_ns) / factor if factor else 0.0

    def push_command(self, command: TorqueCommand) -> None:
        """Take the torques of a controller; a bad command is refused and counted, never applied.

        Args:
            command: A torque for every joint, in any order.
        """
        reason = self._problem(command)
        if reason:
            known = reason in self.refused or len(self.refused) < MOST_REASONS
            self.refused[reason if known else "other"] += 1
        elif self._newest_ns is not None and command.stamp_ns <= self._newest_ns:
            self._outdated += 1
        else:
            self._newest_ns = command.stamp_ns
            self._tau = command.tau[self._order[1]]

    def poll(self, wall: float) -> list[SensorReadings]:
        """Go on by one tick if it is due.

        Args:
            wall: Time of a steady clock [s].

        Returns:
            What the sensors delivered; empty while nothing is due.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If the motion diverges.
        """
        period = self.wall_period
        due = wall if self._due is None else self._due
        if self._paused or wall < due - 0.5 * period or not self._actuate(wall):
            return []
        self._due = max(due, wall - LONGEST_LAG) + period
        self._answer_after_ns = self.simulation.stamp_ns
        readings = self.simulation.advance(self.tick_ns)
        self._answerable = any(map(self._complete, readings))
        self._deadline = None
        self._progress = (self._progress[0] or (wall, self._answer_after_ns), (wall, self._answer_after_ns))
        return readings

    def pause(self, paused: bool) -> None:
        """Stop, or go on from where it is."""
        self._paused = paused
        self._due = self._deadline = None
        self._progress = (None, None)

    def reset(self) -> None:
        """Begin again on the hoist; the time of the simulation goes back to its start."""
        self.simulation.reset()
        self._restart()

    def set_factor(self, factor: float) -> None:
        """Change the real-time factor; 0: as fast as possible."""
        self._factor = factor

    def health(self) -> list[Health]:
        """Say how commands and simulation are; a warning holds for what came since the last report."""
        timeouts, refusals = self.timeouts, self.refused.total()
        fresh = (timeouts - self._reported[0], refusals - self._reported[1])
        self._reported = (timeouts, refusals)
        return [self._command_health(*fresh), self._simulation_health()]

    def _actuate(self, wall: float) -> bool:
        """Apply the torques of the next tick; False while it has to wait for them."""
        simulation, pacing = self.simulation, self._pacing
        now_ns = simulation.stamp_ns
        if not simulation.released:
            if self._newest_ns is not None and seconds(now_ns - self._start_ns) >= pacing.hoist:
                simulation.apply(self._tau)
                self._released_ns = now_ns
        elif not pacing.lockstep:
            assert self._newest_ns is not None
            self._apply(fresh=seconds(now_ns - self._newest_ns) <= pacing.command_timeout)
        elif self._answerable:
            assert self._newest_ns is not None
            answered = self._newest_ns > self._answer_after_ns
            if self._deadline is None:
                self._deadline = wall + pacing.lockstep_timeout
            if not answered and wall < self._deadline:
                return False
            self._apply(fresh=answered)
        return True

    def _apply(self, *, fresh: bool) -> None:
        self.timeouts += not fresh
        self.simulation.apply(self._tau if fresh else np.zeros_like(self._tau))

    def _complete(self, readings: SensorReadings) -> bool:
        """Whether nothing of a reading was lost: only then does a command follow from it."""
        has_imu = readings.imu is not None or not self._robot.imus
        contacts = len(self._robot.contacts)
        return has_imu and readings.joints is not None and len(readings.wrenches) == contacts

    def _problem(self, command: TorqueCommand) -> str:
        """Return why a command cannot be applied, and learn its order of joints."""
        if command.names != self._order[0]:
            known = self.simulation.robot.joint_names
            unknown = [name for name in command.names if name not in known]
            missing = [name for name in known if name not in command.names]
            if unknown:
                return f"no joint {listing(unknown, limit=3)}"
            if missing or len(command.names) != len(known):
                return f"not one torque for every joint, none for {listing(missing, limit=3)}"
            self._order = (command.names, [command.names.index(name) for name in known])
        if not np.isfinite(command.tau).all():
            return "not finite"
        if command.stamp_ns > self.simulation.stamp_ns:
            return "stamp in the future"
        return ""

    def _command_health(self, timeouts: int, refusals: int) -> Health:
        name = "joint_torque_commands"
        values = {"time-outs": str(self.timeouts), "outdated": str(self._outdated)}
        values |= {f"refused: {reason}": str(count) for reason, count in sorted(self.refused.items())}
        if timeouts:
            message = f"no command in time, {timeouts} ticks with zero torque"
            return Health(name, HealthLevel.ERROR, message, values)
        if refusals:
            message = f"{refusals} commands refused: {list(self.refused)[-1]}"
            return Health(name, HealthLevel.WARN, message, values)
        if self._newest_ns is None:
            return Health(name, HealthLevel.STALE, "no command yet", values)
        return Health(name, HealthLevel.OK, "arriving", values)

    def _simulation_health(self) -> Health:
        first, last = self._progress
        self._progress = (last, last)
        values = {"time [s]": f"{seconds(self.simulation.stamp_ns):.3f}"}
        if self._released_ns is not None:
            values["released at [s]"] = f"{seconds(self._released_ns):.9f}"
        if first is not None and last is not None and last[0] > first[0]:
            values["real-time factor"] = f"{seconds(last[1] - first[1]) / (last[0] - first[0]):.2f}"
        if self.simulation.fallen:
            return Health("simulation", HealthLevel.ERROR, "the robot has fallen", values)
        if self._paused:
            return Health("simulation", HealthLevel.OK, "paused", values)
        where = "running" if self.simulation.released else "the robot hangs from the hoist"
        return Health("simulation", HealthLevel.OK, where, values)


def _tick_ns(period_ns: int, rate: float) -> int:
    """Return the control period, a multiple of the sensors' [ns]."""
    if not rate:
        return period_ns
    count = NANOSECONDS / (rate * period_ns)
    if count < 0.5 or abs(count - round(count)) > 1e-3 * count:
        raise ConfigurationError(
            f"command_rate is {rate:g} Hz, expected the sensors' rate, {NANOSECONDS / period_ns:g} Hz, "
            "or a whole fraction of it"
        )
    return round(count) * period_ns
