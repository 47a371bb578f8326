"""Simulation, observer, inertial filter and controller in one process, in lockstep.

The pipelines are those of the nodes and run in the same order: the readings of one stamp go to all of them,
the base estimate to filter and controller, the inertias to the controller, its torques to the simulation.
With a payload pipeline the trunk's inertia is the one it identifies, and the hold and the posture it requests
go to the controller. Over DDS, messages of one stamp may arrive in another order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.control.pipeline import ControllerPipeline
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inertial.model import torque_errors_of
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseEstimate,
    BaseReference,
    BaseState,
    ImuSample,
    InertialEstimate,
    TorqueCommand,
    seconds,
)
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.tilt.pipeline import TiltPipeline


class ControllerFeed:
    """Pushes readings and estimates to the controller.

    Attributes:
        controller: The whole-body controller.
        adaptation: Whether it is given the estimated inertias.
        active: Whether the controller receives joints and base state, without which it gives no command.
    """

    def __init__(self, controller: ControllerPipeline, *, adaptation: bool) -> None:
        """Start inactive.

        Args:
            controller: The whole-body controller.
            adaptation: Whether it is given the estimated inertias.
        """
        self.controller = controller
        self.adaptation = adaptation
        self.active = False
        self._reference: BaseReference | None = None  # last one requested by the payload pipeline

    def push_readings(self, readings: SensorReadings) -> None:
        """Push joints and wrenches."""
        if readings.joints is not None and self.active:
            self.controller.push_joints(readings.joints)
        for contact, wrench in readings.wrenches.items():
            self.controller.push_wrench(contact, wrench)

    def push_base_state(self, state: BaseState) -> None:
        """Push orientation and state of the base."""
        if self.active:
            self.controller.push_base_state(state)

    def push_inertias(self, estimate: InertialEstimate) -> None:
        """Push the published inertias and torque errors of the inertial filter, with adaptation."""
        if self.adaptation:
            for link in estimate.links:
                self.controller.push_inertia(estimate.stamp_ns, link.published)
            errors = torque_errors_of(estimate)
            if errors:
                self.controller.torque_errors.push(errors)

    def push_payload(self, estimate: PayloadEstimate) -> None:
        """Push the trunk of the payload pipeline, with adaptation, and the posture and hold it requests."""
        if self.adaptation:
            self.controller.push_inertia(estimate.stamp_ns, estimate.trunk)
        self.controller.push_hold(estimate.hold)
        if estimate.reference is not None and estimate.reference != self._reference:
            self.controller.push_base_reference(estimate.reference)
        self._reference = estimate.reference


HOIST_S = 3.0  # in which the estimators start and estimate the bias of the gyroscope at rest
QUICK_HOIST_S = 0.5
FIRST_COMMAND_TIMEOUT_S = 5.0  # simulated time on the hoist after the settling


def hoist_time(*, quick: bool) -> float:
    """Return the time for which an experiment holds the robot on its hoist [s]."""
    return QUICK_HOIST_S if quick else HOIST_S


@dataclass
class Spectator:
    """An inertial filter that receives the readings of a loop without affecting it.

    Attributes:
        pipeline: The filter.
        newest: Its newest estimate.
    """

    pipeline: InertialPipeline
    newest: InertialEstimate | None = None


class ClosedLoop:
    """A simulated robot whose controller uses the estimates of its observers.

    Attributes:
        simulation: The robot.
        tilt: The tilt observer; None if the controller gets the true base state.
        inertial: The inertial filter, or None; the controller is given its inertias if there is no payload.
        payload: The identification of the trunk's payload, or None.
        spectators: Filters that receive the readings without affecting the loop.
        readings: Newest readings of all sensors.
        imu: Newest reading of the IMU.
        base: Newest base estimate.
        inertias: Newest inertial estimate.
        identified: Newest estimate of the payload pipeline.
        load_changes: Every load change it has found.
        on_readings: Called with all readings as they arrive, on the hoist too; None: no call.
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
        """Connect the components.

        Args:
            simulation: The robot, on its hoist.
            controller: Answers every joint state that has its base state.
            tilt: None for an arm, or to stand on the true base state.
            inertial: None where no inertias are estimated.
            payload: Identifies the trunk; None: the trunk's inertia is the inertial filter's.
            adaptation: False keeps the estimates from the controller; filter and identification run all the
                same, and the posture and hold that the identification requests are pushed.
            spectators: Other filters that receive the readings without affecting the loop.
        """
        self.simulation = simulation
        self.tilt = tilt
        self.inertial = inertial
        self.payload = payload
        self.spectators = tuple(Spectator(pipeline) for pipeline in spectators)
        self.readings: SensorReadings | None = None
        self.imu: ImuSample | None = None
        self.base: BaseEstimate | None = None
        self.inertias: InertialEstimate | None = None
        self.identified: PayloadEstimate | None = None
        self.load_changes: list[LoadChange] = []
        self.on_readings: Callable[[SensorReadings], None] | None = None
        self._inputs = ControllerFeed(controller, adaptation=adaptation)
        self._released_ns: int | None = None

    @property
    def controller(self) -> ControllerPipeline:
        """The whole-body controller."""
        return self._inputs.controller

    @property
    def watched(self) -> list[InertialEstimate | None]:
        """Newest estimate of each spectator; None before its first."""
        return [spectator.newest for spectator in self.spectators]

    @property
    def time_s(self) -> float:
        """Time since the release from the hoist [s]; zero before."""
        return 0.0 if self._released_ns is None else seconds(self.simulation.stamp_ns - self._released_ns)

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
            self._inputs.active = on_hoist >= settle_s  # not before: its integrators would wind up
            command = self._tick()
            if command is not None:
                self._released_ns = self.simulation.stamp_ns
                self.simulation.apply(command.tau)
            elif on_hoist > settle_s + FIRST_COMMAND_TIMEOUT_S:
                raise ConfigurationError(
                    f"the controller gave no command in {on_hoist:.1f} s on the hoist; its health: "
                    + "; ".join(
                        f"{p.name}: {p.message}" for p in self.controller.health(self.simulation.stamp_ns)
                    )
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

    def _tick(self) -> TorqueCommand | None:
        """Advance by one sensor period and return the command that answers it."""
        for readings in self.simulation.advance(self.simulation.period_ns):
            self._push(readings)
        now_ns = self.simulation.stamp_ns
        self._observe(now_ns)
        self._estimate(now_ns)
        self._identify(now_ns)
        commands: Sequence[TorqueCommand] = self.controller.tick(now_ns)
        if not commands:
            return None
        command = commands[-1]
        if not np.isfinite(command.tau).all():
            raise ConfigurationError("the controller commands a torque that is not finite")
        return command

    def _push(self, readings: SensorReadings) -> None:
        self.readings = readings
        self.imu = readings.imu or self.imu
        if self.on_readings is not None:
            self.on_readings(readings)
        self._inputs.push_readings(readings)
        for pipeline in (self.tilt, self.inertial, self.payload, *(s.pipeline for s in self.spectators)):
            if pipeline is None:
                continue
            if readings.imu is not None:
                pipeline.push_imu(readings.imu)
            if readings.joints is not None:
                pipeline.push_joints(readings.joints)
            for contact, wrench in readings.wrenches.items():
                pipeline.push_wrench(contact, wrench)

    def _observe(self, now_ns: int) -> None:
        """Tick the tilt observer; without one, the base state is the true one."""
        if self.tilt is None:
            if self.simulation.robot.floating_base:
                self._push_base(self.simulation.truth().base)
            return
        for estimate in self.tilt.tick(now_ns):
            self.base = estimate
            self._push_base(estimate.state)

    def _push_base(self, state: BaseState) -> None:
        self._inputs.push_base_state(state)
        for pipeline in (self.inertial, self.payload, *(s.pipeline for s in self.spectators)):
            if pipeline is not None:
                pipeline.push_base_state(state)

    def _estimate(self, now_ns: int) -> None:
        """Tick the inertial filters."""
        for spectator in self.spectators:
            for estimate in spectator.pipeline.tick(now_ns):
                spectator.newest = estimate
        if self.inertial is None:
            return
        for estimate in self.inertial.tick(now_ns):
            self.inertias = estimate
            if self.payload is None:
                self._inputs.push_inertias(estimate)

    def _identify(self, now_ns: int) -> None:
        """Tick the payload pipeline."""
        if self.payload is None:
            return
        for estimate in self.payload.tick(now_ns):
            self.identified = estimate
            if estimate.change is not None:
                self.load_changes.append(estimate.change)
            self._inputs.push_payload(estimate)
