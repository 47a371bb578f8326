"""Runs a simulation tick by tick for a controller in another process.

Nothing here reads a clock: the caller, a node or a test, passes the wall time.
"""

from enum import Enum

import numpy as np

from inertial_estimation.errors import InertialEstimationError, listing
from inertial_estimation.models.robot_config import SimulatedRobotConfig
from inertial_estimation.signals import Array, Health, HealthLevel, TorqueCommand, seconds
from inertial_estimation.simulation.config import FALLEN, RELEASED_AT, SimulationPacing
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.simulation.simulation import Simulation

BRAKE_DAMPING = 1e5  # of brakes that engage when no command arrives in time, as in many drives [Nms/rad]
# Delay beyond which a simulation does not catch up with its schedule, and a tick on the hoist does not wait
# for its command [s].
MAX_BACKLOG = 0.25


class CommandInbox:
    """Checks torque commands, sorts them by joint, holds the newest valid one and counts the others.

    Attributes:
        newest_ns: Stamp of the newest command [ns]; None before the first.
        tau: Torques of the newest command in the model's joint order [Nm], shape (n_joints,).
        refused: Number of commands refused.
        timeouts: Number of ticks with braked joints because no command came, counted by the driver.
    """

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        """Start empty, for the model's joints in its order."""
        self.refused = self.timeouts = 0
        self._reason = ""  # reason of the last refusal
        self._joint_names = joint_names
        self._order: tuple[tuple[str, ...], list[int]] = ((), [])
        self._reported = (0, 0)  # time-outs and refusals of the last report
        self.clear()

    def clear(self) -> None:
        """Drop the newest command; the counters are kept."""
        self.newest_ns: int | None = None
        self.tau: Array = np.zeros(len(self._joint_names))

    def age(self, now_ns: int) -> float:
        """Return the age of the newest command in simulated time [s]; infinite before the first."""
        return np.inf if self.newest_ns is None else seconds(now_ns - self.newest_ns)

    def push(self, command: TorqueCommand, now_ns: int) -> None:
        """Take torques for every joint in any order, at the time of the simulation [ns].

        A bad command is refused and counted, one older than the newest has no effect.
        """
        reason = self._problem(command, now_ns)
        if reason:
            self.refused, self._reason = self.refused + 1, reason
        elif self.newest_ns is None or command.stamp_ns > self.newest_ns:
            self.newest_ns, self.tau = command.stamp_ns, command.tau[self._order[1]]

    def health(self) -> Health:
        """Return the health of the commands; warnings concern the time since the last report."""
        timeouts, refusals = self.timeouts - self._reported[0], self.refused - self._reported[1]
        self._reported = (self.timeouts, self.refused)
        level, message = HealthLevel.OK, "arriving"
        if timeouts:
            level, message = HealthLevel.ERROR, f"no command in time, {timeouts} ticks with braked joints"
        elif refusals:
            level, message = HealthLevel.WARN, f"{refusals} commands refused: {self._reason}"
        elif self.newest_ns is None:
            level, message = HealthLevel.STALE, "no command yet"
        values = {"time-outs": str(self.timeouts), "refused": str(self.refused)}
        return Health("joint_torque_commands", level, message, values)

    def _problem(self, command: TorqueCommand, now_ns: int) -> str:
        """Return why a command cannot be applied, empty if it can; store its order of joints."""
        names, known = command.names, self._joint_names
        if names != self._order[0]:
            unknown = [name for name in names if name not in known]
            if unknown:
                return f"no joint {listing(unknown, limit=3)}"
            if sorted(names) != sorted(known):
                missing = listing([name for name in known if name not in names], limit=3)
                return f"not one torque for every joint, none for {missing}"
            self._order = (names, [names.index(name) for name in known])
        if not np.isfinite(command.tau).all():
            return "not finite"
        return "stamp in the future" if command.stamp_ns > now_ns else ""


class WallClockPace:
    """Schedules ticks at a real-time factor.

    Attributes:
        factor: Largest ratio of simulated to wall time; 0: as fast as possible.
        tick_ns: Simulated time of a tick [ns].
    """

    def __init__(self, factor: float, tick_ns: int) -> None:
        """Set the real-time factor and the simulated time of a tick [ns]."""
        self.factor, self.tick_ns = factor, tick_ns
        self.restart()

    def restart(self) -> None:
        """Make the next tick due immediately."""
        self._due: float | None = None

    def period(self, *, unattended: bool) -> float:
        """Return the wall time of a tick [s], zero for as fast as possible.

        While no controller commands the robot, time is not sped up: the nodes start by the wall clock.
        """
        factor = min(self.factor or 1.0, 1.0) if unattended else self.factor
        return seconds(self.tick_ns) / factor if factor else 0.0

    def is_due(self, wall: float, period: float) -> bool:
        """Return whether a tick is due at a wall time [s]."""
        return self._due is None or wall >= self._due - 0.5 * period

    def ticked(self, wall: float, period: float) -> None:
        """Record a tick that began at a wall time [s]."""
        due = wall if self._due is None else self._due
        self._due = max(due, wall - MAX_BACKLOG) + period


class DrivingPhase(Enum):
    """Phase of the driver: source of the torques of the next tick."""

    # The robot hangs on the hoist; the first command after a minimum time releases it. In lockstep ticks wait
    # for commands once there are any: a controller may lag behind by what the nodes' start has taken.
    HOIST = "hoist"
    FREE = "free"  # the newest command, up to a maximum age in simulated time; then the brakes
    LOCKSTEP = "lockstep"  # the command that answers the readings of the tick before; the tick waits for it
    # No command came in time in lockstep. Until a fresh command comes, the joints are braked and time goes
    # on, so that a restarted controller gets readings of the present state.
    LOST = "lost"


class SimulationDriver:
    """Runs one simulation tick by tick.

    A tick applies torques, advances by one period of the sensors and returns the readings of the sensors.

    Attributes:
        simulation: The robot.
        commands: The commands that arrived.
        pace: Schedule of the ticks.
        unattended: Whether time runs without a controller: on the hoist, or with braked joints.
    """

    def __init__(self, simulation: Simulation, robot: SimulatedRobotConfig, pacing: SimulationPacing) -> None:
        """Begin with the robot on its hoist; its IMU and contacts determine when a reading is complete."""
        self.simulation = simulation
        self.commands = CommandInbox(simulation.robot.joint_names)
        self.pace = WallClockPace(pacing.real_time_factor, simulation.period_ns)
        self._robot, self._pacing, self._paused = robot, pacing, False
        self._begin()

    def _begin(self) -> None:
        """Begin on the hoist."""
        self._failure = ""  # why the simulation is stopped until a reset
        self._released_ns: int | None = None
        self._start_ns = self.simulation.stamp_ns
        self._phase, self.unattended = DrivingPhase.HOIST, True
        self._await_ns: int | None = None  # stamp that the awaited command must exceed; None: none is awaited
        self._deadline: float | None = None  # wall time of the time-out [s]; None: the wait has not begun
        self._lost_ns = 0  # simulated time of the last time-out [ns]

    @property
    def wall_period(self) -> float:
        """Wall time of a tick at the requested pace [s]; zero for as fast as possible."""
        return self.pace.period(unattended=self.unattended)

    def push_command(self, command: TorqueCommand) -> None:
        """Receive the torques of a controller for every joint; an invalid command is refused and counted."""
        self.commands.push(command, self.simulation.stamp_ns)

    def poll(self, wall: float) -> list[SensorReadings]:
        """Execute one tick if it is due.

        Args:
            wall: Time of a steady clock [s].

        Returns:
            The readings of the sensors; empty if no tick is due. When the motion diverges the simulation
            stops until a reset, and `health` gives the reason.
        """
        period = self.wall_period
        if self._paused or self._failure or not self.pace.is_due(wall, period):
            return []
        before_ns = self.simulation.stamp_ns
        if not self._apply_torques(before_ns, wall):
            return []
        self.pace.ticked(wall, period)
        try:
            readings = self.simulation.advance(self.pace.tick_ns)
        except InertialEstimationError as error:
            self._failure = str(error)
            return []
        self._await_ns = before_ns if any(map(self._complete, readings)) else None
        self._deadline = None
        return readings

    def pause(self, paused: bool) -> None:
        """Pause or resume the simulation; the time-out of lockstep restarts."""
        self._paused, self._deadline = paused, None
        self.pace.restart()

    def reset(self) -> None:
        """Restart on the hoist, with the simulated time at its start."""
        self.simulation.reset()
        self.commands.clear()
        self.pace.restart()
        self._begin()

    def health(self) -> list[Health]:
        """Return the health of commands and simulation; warnings concern the time since the last report."""
        return [self.commands.health(), self._simulation_health()]

    def _apply_torques(self, now_ns: int, wall: float) -> bool:
        """Apply the torques of the next tick; return False if it has to wait for a command."""
        newest_ns, age = self.commands.newest_ns, self.commands.age(now_ns)
        fresh = age <= self._pacing.command_timeout
        answered = newest_ns is not None and self._await_ns is not None and newest_ns > self._await_ns
        if self._phase is DrivingPhase.HOIST:
            lockstep = self._pacing.lockstep and newest_ns is not None
            if lockstep and not answered and self._await_ns is not None and self._waits(wall, MAX_BACKLOG):
                return False
            over = seconds(now_ns - self._start_ns) >= self._pacing.hoist
            if over and (answered if lockstep else newest_ns is not None):
                self._released_ns = now_ns
                self._phase = DrivingPhase.LOCKSTEP if lockstep else DrivingPhase.FREE
                self._command()
            return True
        if self._phase is DrivingPhase.LOCKSTEP:
            if self._await_ns is None:
                return True  # the torques are kept
            if answered:
                self._command()
                return True
            if self._waits(wall, self._pacing.lockstep_timeout):
                return False
            self._phase, self._lost_ns = DrivingPhase.LOST, now_ns
        if self._phase is DrivingPhase.LOST:
            fresh = fresh and newest_ns is not None and newest_ns >= self._lost_ns
            self._phase = DrivingPhase.LOCKSTEP if fresh else DrivingPhase.LOST
        if fresh:
            self._command()
        else:
            self.unattended = True
            self.commands.timeouts += 1
            self.simulation.brake(BRAKE_DAMPING)
        return True

    def _waits(self, wall: float, longest: float) -> bool:
        """Return whether a wait for a command, at most so long [s], is not over at a wall time [s]."""
        if self._deadline is None:
            self._deadline = wall + longest
        return wall < self._deadline

    def _command(self) -> None:
        self.unattended = False
        self.simulation.apply(self.commands.tau)

    def _complete(self, readings: SensorReadings) -> bool:
        """Return whether a reading has all parts: a controller answers only complete readings."""
        has_imu = readings.imu is not None or not self._robot.imu_frame
        complete = has_imu and readings.joints is not None
        return complete and len(readings.wrenches) == len(self._robot.contacts)

    def _simulation_health(self) -> Health:
        fallen = self.simulation.fallen
        values = {"time [s]": f"{seconds(self.simulation.stamp_ns):.3f}", FALLEN: str(fallen).lower()}
        if self._released_ns is not None:
            values[RELEASED_AT] = f"{seconds(self._released_ns):.9f}"
        level, message = HealthLevel.OK, "running"
        if self._failure:
            level, message = HealthLevel.ERROR, f"stopped until ~/reset: {self._failure}"
        elif fallen:
            level, message = HealthLevel.ERROR, "the robot has fallen"
        elif self._paused:
            message = "paused"
        elif not self.simulation.released:
            message = "the robot hangs from the hoist"
        elif self.unattended:
            message = "running without commands, the joints are braked"
        return Health("simulation", level, message, values)
