"""Simulation, observer, inertial filter and controller in one process, in lockstep.

The pipelines are those of the nodes and run in the same order: the readings of one stamp go to all of them,
the base estimate to filter and controller, the inertias to the controller, its torques to the simulation.
With a payload pipeline the trunk's inertia is the one it identifies, and the hold and the posture it requests
go to the controller. Over DDS, messages of one stamp may arrive in another order.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from inertial_estimation.control.pipeline import ControllerPipeline
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inertial.model import torque_errors_of
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseEstimate,
    BaseState,
    InertialEstimate,
    TorqueCommand,
    seconds,
)
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.tilt.pipeline import TiltPipeline

HOIST_S = 3.0  # time in which the estimators start and estimate the bias of the gyroscope at rest
QUICK_HOIST_S = 0.5


def hoist_time(*, quick: bool) -> float:
    """Return the time for which an experiment holds the robot on its hoist [s]."""
    return QUICK_HOIST_S if quick else HOIST_S


class ClosedLoop:
    """A simulated robot whose controller uses the estimates of its observers.

    Attributes:
        simulation: The robot.
        controller: The whole-body controller.
        tilt: The tilt observer; None if the controller gets the true base state.
        inertial: The inertial filter, or None; the controller gets its inertias if `payload` is None.
        payload: The identification of the trunk's payload, or None.
        readings: Newest readings of all sensors.
        base: Newest base estimate.
        inertias: Newest inertial estimate.
        identified: Newest estimate of the payload pipeline.
        load_changes: All load changes that the payload pipeline has detected.
        on_readings: Called with all readings as they arrive, also on the hoist; None: no call.
    """

    def __init__(
        self,
        simulation: Simulation,
        controller: ControllerPipeline,
        tilt: TiltPipeline | None,
        inertial: InertialPipeline | None,
        *,
        payload: TrunkPayloadPipeline | None = None,
        adaptation: bool = True,
        spectators: Sequence[InertialPipeline] = (),
    ) -> None:
        """Connect the components with a robot on its hoist.

        Without adaptation the controller does not get the estimated inertias; filter and identification run
        all the same, and the posture and hold that the identification requests go to the controller.
        Spectators are further filters that receive the readings without affecting the loop.
        """
        self.simulation, self.controller = simulation, controller
        self.tilt, self.inertial, self.payload = tilt, inertial, payload
        self._adaptation = adaptation
        self._spectators: dict[InertialPipeline, InertialEstimate | None] = dict.fromkeys(spectators)
        self.readings: SensorReadings | None = None
        self.base: BaseEstimate | None = None
        self.inertias: InertialEstimate | None = None
        self.identified: PayloadEstimate | None = None
        self.load_changes: list[LoadChange] = []
        self.on_readings: Callable[[SensorReadings], None] | None = None
        self._released_ns: int | None = None

    @property
    def time_s(self) -> float:
        """Time since the release from the hoist [s]; zero before."""
        return 0.0 if self._released_ns is None else seconds(self.simulation.stamp_ns - self._released_ns)

    @property
    def spectator_estimates(self) -> list[InertialEstimate | None]:
        """Newest estimate of each spectator; None before its first."""
        return list(self._spectators.values())

    def release(self, settle_s: float = HOIST_S) -> None:
        """Let the estimators start on the hoist, then let the controller take over.

        Args:
            settle_s: Time on the hoist before the first torque is applied [s].

        Raises:
            ConfigurationError: If the controller gives no command within a bounded time.
        """
        begin_ns = self.simulation.stamp_ns
        while self._released_ns is None:
            on_hoist = seconds(self.simulation.stamp_ns - begin_ns)
            command = self._tick(commanding=on_hoist >= settle_s)  # earlier, integrators would wind up
            if command is not None:
                self._released_ns = self.simulation.stamp_ns
                self.simulation.apply(command.tau)
            elif on_hoist > settle_s + 2.0 * HOIST_S:
                health = self.controller.health(self.simulation.stamp_ns)
                raise ConfigurationError(
                    f"the controller gave no command in {on_hoist:.1f} s on the hoist; its health: "
                    + "; ".join(f"{part.name}: {part.message}" for part in health)
                )

    def run(self, duration_s: float, on_tick: Callable[["ClosedLoop"], None] | None = None) -> None:
        """Run for a time, or until the robot has fallen.

        Args:
            duration_s: Simulated time [s].
            on_tick: Called after every tick, with the command in force; may push references and record.
        """
        if self._released_ns is None:
            self.release()
        end_ns = self.simulation.stamp_ns + round(duration_s * NANOSECONDS)
        while self.simulation.stamp_ns < end_ns and not self.simulation.fallen:
            command = self._tick()
            if command is not None:
                self.simulation.apply(command.tau)
            if on_tick is not None:
                on_tick(self)

    def record(
        self, duration_s: float, look: Callable[["ClosedLoop"], Mapping[str, float]]
    ) -> dict[str, Array]:
        """Run for a time [s], or until the robot has fallen, and return numbers of every tick.

        Args:
            duration_s: Simulated time [s].
            look: Called after every tick; may push references. Returns numbers by name, always the same
                names, or nothing to leave the tick out.

        Returns:
            Columns by name, shape (n,) each; the first is the ``time`` since the release [s].
        """
        rows: list[dict[str, float]] = []

        def tick(loop: "ClosedLoop") -> None:
            if values := look(loop):
                rows.append({"time": loop.time_s, **values})

        self.run(duration_s, tick)
        return {name: np.array([row[name] for row in rows]) for name in (rows or [{}])[0]}

    def _tick(self, *, commanding: bool = True) -> TorqueCommand | None:
        """Advance by one sensor period and return the command that answers it.

        Unless `commanding`, the controller gets neither joints nor base state, so that it gives no command.
        """
        for readings in self.simulation.advance(self.simulation.period_ns):
            self._push(readings, commanding=commanding)
        now_ns = self.simulation.stamp_ns
        for state in self._base_states(now_ns):
            self._push_base(state, commanding=commanding)
        self._estimate(now_ns)
        self._identify(now_ns)
        commands = self.controller.tick(now_ns)
        return commands[-1] if commands else None

    def _push(self, readings: SensorReadings, *, commanding: bool) -> None:
        self.readings = readings
        if self.on_readings is not None:
            self.on_readings(readings)
        observers = (self.tilt, self.inertial, self.payload, *self._spectators)
        for pipeline in (self.controller, *(one for one in observers if one is not None)):
            if readings.imu is not None:
                pipeline.push_imu(readings.imu)
            if readings.joints is not None and (commanding or pipeline is not self.controller):
                pipeline.push_joints(readings.joints)
            for contact, wrench in readings.wrenches.items():
                pipeline.push_wrench(contact, wrench)

    def _base_states(self, now_ns: int) -> list[BaseState]:
        """Tick the tilt observer and return its base states; without an observer, the true base state."""
        if self.tilt is None:
            return [self.simulation.truth().base] if self.simulation.robot.floating_base else []
        estimates = self.tilt.tick(now_ns)
        self.base = estimates[-1] if estimates else self.base
        return [estimate.state for estimate in estimates]

    def _push_base(self, state: BaseState, *, commanding: bool) -> None:
        users = (self.controller if commanding else None, self.inertial, self.payload, *self._spectators)
        for pipeline in users:
            if pipeline is not None:
                pipeline.push_base_state(state)

    def _estimate(self, now_ns: int) -> None:
        """Tick the inertial filters; the controller gets inertias and torque errors, with adaptation."""
        for spectator in self._spectators:
            for estimate in spectator.tick(now_ns):
                self._spectators[spectator] = estimate
        for estimate in self.inertial.tick(now_ns) if self.inertial is not None else ():
            self.inertias = estimate
            if self.payload is not None or not self._adaptation:
                continue
            for link in estimate.links:
                self.controller.push_inertia(estimate.stamp_ns, link.published)
            errors = torque_errors_of(estimate)
            if errors:
                self.controller.torque_errors.push(errors)

    def _identify(self, now_ns: int) -> None:
        """Tick the payload pipeline; the controller gets posture and hold, and with adaptation the trunk."""
        for estimate in self.payload.tick(now_ns) if self.payload is not None else ():
            before, self.identified = self.identified, estimate
            if estimate.change is not None:
                self.load_changes.append(estimate.change)
            if self._adaptation:
                self.controller.push_inertia(estimate.stamp_ns, estimate.trunk)
            self.controller.push_hold(estimate.hold)
            reference = estimate.reference
            if reference is not None and (before is None or reference != before.reference):
                self.controller.push_base_reference(reference)


def walk_at(begin_s: float, walk: WalkCommand) -> Callable[[ClosedLoop], None]:
    """Return a function to be called at every tick; it commands a walk once, at a time after the release."""
    pending = [walk]

    def command(loop: ClosedLoop) -> None:
        if pending and loop.time_s >= begin_s:
            loop.controller.push_walk_command(pending.pop())

    return command
