"""Runs a simulation tick by tick for a controller in another process.

Nothing here reads a clock: the node passes wall time in, so that a test can as well.

A phase decides with which torques the next tick runs, or that it has to wait for a command.
"""

from enum import Enum
from typing import Protocol

from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, TorqueCommand, seconds
from inertial_estimation.simulation.command_inbox import CommandInbox
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.simulation.simulation_pacing import SimulationPacing
from inertial_estimation.simulation.status_keys import FALLEN, RELEASED_AT


class TorqueChoice(Enum):
    """Source of the torques of the next tick."""

    AWAITED = "awaited"  # the tick waits for a command
    UNCHANGED = "unchanged"
    COMMANDED = "commanded"  # those of the newest command
    BRAKED = "braked"  # no command came in time: the drives brake the joints


class DrivingPhase(Protocol):
    """Selects the torques of the next tick."""

    @property
    def unattended(self) -> bool:
        """Whether time runs without a controller; it then runs no faster than the wall clock."""
        ...

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick.

        Args:
            commands: The newest command.
            now_ns: Time of the simulation [ns].
            wall: Time of a steady clock [s].
        """
        ...

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Record the end of a tick.

        Args:
            before_ns: Time of the simulation before it [ns].
            complete: Whether all sensors of a stamp delivered, so that a command follows from them.
        """
        ...

    def suspend(self) -> None:
        """Stop every time-out on the wall clock."""
        ...


class OnHoist:
    """The robot hangs on the hoist; the first command after a minimum time releases it."""

    def __init__(self, start_ns: int, duration_s: float) -> None:
        """Set time of the beginning [ns] and shortest time on the hoist [s]."""
        self._start_ns, self._duration_s = start_ns, duration_s

    @property
    def unattended(self) -> bool:
        """Whether time runs without a controller: always."""
        return True

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        over = seconds(now_ns - self._start_ns) >= self._duration_s
        has_command = commands.newest_ns is not None
        return TorqueChoice.COMMANDED if over and has_command else TorqueChoice.UNCHANGED

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Do nothing; this phase does not depend on the last tick."""

    def suspend(self) -> None:
        """Do nothing; this phase has no time-out."""


class FreeRunning:
    """Ticks use the newest command, up to a maximum age in simulated time."""

    def __init__(self, timeout_s: float) -> None:
        """Set the largest age of a command [s]."""
        self._timeout_s = timeout_s
        self._braked = False

    @property
    def unattended(self) -> bool:
        """Whether the last command is too old."""
        return self._braked

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        self._braked = not _is_fresh(commands, now_ns, self._timeout_s)
        return TorqueChoice.BRAKED if self._braked else TorqueChoice.COMMANDED

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Do nothing; this phase does not depend on the last tick."""

    def suspend(self) -> None:
        """Do nothing; this phase has no time-out on the wall clock."""


class Lockstep:
    """A tick waits for the command that answers the readings of the tick before.

    When none comes in time the controller counts as lost: the joints are braked and time goes on, so that the
    sensors show a restarted controller where the robot is. The first fresh command ends this.
    """

    def __init__(self, timeout_s: float, age_s: float) -> None:
        """Set the time-outs.

        Args:
            timeout_s: Longest wait of a tick on the wall clock [s].
            age_s: Largest age of the command that ends a loss, in simulated time [s].
        """
        self._timeout_s, self._age_s = timeout_s, age_s
        self._before_ns = 0
        self._answerable = False
        self._deadline: float | None = None
        self._lost_ns: int | None = None

    @property
    def unattended(self) -> bool:
        """Whether the controller is lost."""
        return self._lost_ns is not None

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        if self._lost_ns is not None:
            newest_ns = commands.newest_ns
            answers = newest_ns is not None and newest_ns >= self._lost_ns
            if not (answers and _is_fresh(commands, now_ns, self._age_s)):
                return TorqueChoice.BRAKED
            self._lost_ns = None
            return TorqueChoice.COMMANDED
        if not self._answerable:
            return TorqueChoice.UNCHANGED
        if self._deadline is None:
            self._deadline = wall + self._timeout_s
        if commands.newest_ns is not None and commands.newest_ns > self._before_ns:
            return TorqueChoice.COMMANDED
        if wall < self._deadline:
            return TorqueChoice.AWAITED
        self._lost_ns = now_ns
        return TorqueChoice.BRAKED

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Start waiting for the command that answers the last tick; see `DrivingPhase`."""
        self._before_ns, self._answerable, self._deadline = before_ns, complete, None

    def suspend(self) -> None:
        """Stop the time-out; it begins again when the tick is next waited for."""
        self._deadline = None


def _is_fresh(commands: CommandInbox, now_ns: int, age_s: float) -> bool:
    """Whether the newest command is at most so old in simulated time."""
    newest_ns = commands.newest_ns
    return newest_ns is not None and seconds(now_ns - newest_ns) <= age_s


MAX_BACKLOG = 0.25  # delay beyond which a simulation does not catch up with its schedule [s]


class WallClockPace:
    """Schedules ticks at a real-time factor.

    Attributes:
        factor: Simulated over wall time, at most; 0: as fast as possible.
        tick_ns: Simulated time of a tick [ns].
    """

    def __init__(self, factor: float, tick_ns: int) -> None:
        """Set the real-time factor and the simulated time of a tick [ns]."""
        self.factor = factor
        self.tick_ns = tick_ns
        self._due: float | None = None
        self._first: tuple[float, int] | None = None  # wall time [s] and stamp [ns] since the last report
        self._last: tuple[float, int] | None = None

    def period(self, *, unattended: bool) -> float:
        """Return the wall time of a tick [s], zero for as fast as possible.

        Args:
            unattended: Whether no controller commands the robot; time is then not sped up.
        """
        factor = self.factor
        if unattended:  # the nodes start during this time, by the wall clock
            factor = min(factor or 1.0, 1.0)
        return seconds(self.tick_ns) / factor if factor else 0.0

    def is_due(self, wall: float, period: float) -> bool:
        """Return whether a tick is due at a wall time [s]."""
        return self._due is None or wall >= self._due - 0.5 * period

    def ticked(self, wall: float, period: float, stamp_ns: int) -> None:
        """Record a tick that began at a wall time [s] and a stamp [ns]."""
        due = wall if self._due is None else self._due
        self._due = max(due, wall - MAX_BACKLOG) + period
        self._last = (wall, stamp_ns)
        self._first = self._first or self._last

    def restart(self) -> None:
        """Make the next tick due immediately."""
        self._due = self._first = self._last = None

    def reached(self) -> float | None:
        """Return the real-time factor since the last call; None without two ticks."""
        first, last = self._first, self._last
        self._first = last
        if first is None or last is None or last[0] <= first[0]:
            return None
        return seconds(last[1] - first[1]) / (last[0] - first[0])


class SimulationDriver:
    """Runs one simulation tick by tick.

    A tick applies torques, advances by one control period and returns the readings of the sensors.
    In lockstep it waits for the command that answers the readings of the tick before.

    Attributes:
        simulation: The robot.
        commands: The commands that arrived.
        pace: When ticks are due.
    """

    def __init__(self, simulation: Simulation, robot: RobotConfig, pacing: SimulationPacing) -> None:
        """Initialise the driver.

        Args:
            simulation: The robot, on its hoist.
            robot: IMU and contacts of the robot, which determine the parts of a reading.
            pacing: Pace and time-outs.

        Raises:
            ConfigurationError: If the control period is no multiple of the sensors' period.
        """
        self.simulation = simulation
        self.commands = CommandInbox(simulation.robot.joint_names)
        tick_ns = _tick_ns(simulation.period_ns, pacing.command_rate)
        self.pace = WallClockPace(pacing.real_time_factor, tick_ns)
        self._robot, self._pacing = robot, pacing
        self._paused = False
        self._failure = ""  # why the simulation stands still until a reset
        self._released_ns: int | None = None
        self._phase: DrivingPhase = OnHoist(simulation.stamp_ns, pacing.hoist)

    @property
    def wall_period(self) -> float:
        """Wall time of a tick at the requested pace [s]; zero for as fast as possible."""
        return self.pace.period(unattended=self.unattended)

    @property
    def unattended(self) -> bool:
        """Whether time runs without a controller: on the hoist, or with braked joints after a time-out."""
        return self._phase.unattended

    def push_command(self, command: TorqueCommand) -> None:
        """Receive the torques of a controller; an invalid command is rejected and counted.

        Args:
            command: A torque for every joint, in any order.
        """
        self.commands.push(command, self.simulation.stamp_ns)

    def poll(self, wall: float) -> list[SensorReadings]:
        """Execute one tick if it is due.

        Args:
            wall: Time of a steady clock [s].

        Returns:
            The readings of the sensors; empty if no tick is due. When the motion diverges the simulation
            stands still until a reset, and health gives the reason.
        """
        period = self.wall_period
        if self._paused or self._failure or not self.pace.is_due(wall, period):
            return []
        before_ns = self.simulation.stamp_ns
        choice = self._phase.choose(self.commands, before_ns, wall)
        if choice is TorqueChoice.AWAITED:
            return []
        self._apply(choice)
        self.pace.ticked(wall, period, before_ns)
        try:
            readings = self.simulation.advance(self.pace.tick_ns)
        except InertialEstimationError as error:
            self._failure = str(error)
            return []
        self._phase.advanced(before_ns, complete=any(map(self._complete, readings)))
        return readings

    def pause(self, paused: bool) -> None:
        """Pause or resume the simulation."""
        self._paused = paused
        self.pace.restart()
        self._phase.suspend()

    def reset(self) -> None:
        """Restart on the hoist, with the simulated time at its start."""
        self.simulation.reset()
        self.commands.clear()
        self.pace.restart()
        self._released_ns, self._failure = None, ""
        self._phase = OnHoist(self.simulation.stamp_ns, self._pacing.hoist)

    def health(self) -> list[Health]:
        """Return the health of commands and simulation; warnings concern the time since the last report."""
        return [self.commands.health(), self._simulation_health()]

    def _apply(self, choice: TorqueChoice) -> None:
        """Apply the torques of the next tick; the first command releases the robot."""
        if choice is TorqueChoice.COMMANDED:
            self.simulation.apply(self.commands.tau)
            if self._released_ns is None:
                self._released_ns = self.simulation.stamp_ns
                self._phase = self._phase_after_release()
        elif choice is TorqueChoice.BRAKED:
            self.commands.timeouts += 1
            self.simulation.brake(self._pacing.brake_damping)

    def _phase_after_release(self) -> DrivingPhase:
        if self._pacing.lockstep:
            return Lockstep(self._pacing.lockstep_timeout, self._pacing.command_timeout)
        return FreeRunning(self._pacing.command_timeout)

    def _complete(self, readings: SensorReadings) -> bool:
        """Whether a reading is complete, since a controller answers only complete readings."""
        has_imu = readings.imu is not None or not self._robot.imus
        contacts = len(self._robot.contacts) if self.simulation.senses_wrenches else 0
        return has_imu and readings.joints is not None and len(readings.wrenches) == contacts

    def _simulation_health(self) -> Health:
        fallen = self.simulation.fallen
        values = {"time [s]": f"{seconds(self.simulation.stamp_ns):.3f}", FALLEN: str(fallen).lower()}
        if self._released_ns is not None:
            values[RELEASED_AT] = f"{seconds(self._released_ns):.9f}"
        reached = self.pace.reached()
        if reached is not None:
            values["real-time factor"] = f"{reached:.2f}"
        if self._failure:
            message = f"stopped until ~/reset: {self._failure}"
            return Health("simulation", HealthLevel.ERROR, message, values)
        if fallen:
            return Health("simulation", HealthLevel.ERROR, "the robot has fallen", values)
        if self._paused:
            return Health("simulation", HealthLevel.OK, "paused", values)
        message = "the robot hangs from the hoist"
        if self.simulation.released:
            message = "running without commands, the joints are braked" if self.unattended else "running"
        return Health("simulation", HealthLevel.OK, message, values)


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
