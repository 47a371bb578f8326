"""Simulation, observer, inertial filter and controller in one process, in lockstep.

The same objects as behind the nodes, in the same order: sensors of one stamp go to all, the base estimate to
filter and controller, the inertias to the controller, its torques to the simulation. Where a payload pipeline
is there the trunk's inertia is its own, and what it asks for (hold, a posture) goes to the controller, too.
What DDS adds is that messages of one stamp may arrive in another order.
"""

from collections.abc import Callable, Sequence

import numpy as np

from inertial_estimation.control.controller_pipeline import ControllerPipeline
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.payload.payload_estimate import LoadChange, PayloadEstimate
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseEstimate,
    BaseReference,
    BaseState,
    ImuSample,
    InertialEstimate,
    OrientationSample,
    TorqueCommand,
    seconds,
)
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.simulation import Simulation

__all__ = ["HOIST_S", "QUICK_HOIST_S", "ClosedLoop", "hoist_time"]

HOIST_S = 3.0  # while the estimators start and learn the bias of the gyroscope at rest
QUICK_HOIST_S = 0.5
LONGEST_WAIT_S = 5.0  # on the hoist, for the controller's first command


def hoist_time(*, quick: bool) -> float:
    """Return how long an experiment leaves the robot on its hoist [s]."""
    return QUICK_HOIST_S if quick else HOIST_S


class ClosedLoop:
    """A robot that stands on its own estimates.

    Attributes:
        simulation: The robot.
        controller: The whole-body controller.
        tilt: The tilt observer, or None: the controller gets the true base state.
        inertial: The inertial filter, or None; it only watches where there is a payload pipeline.
        payload: The identification of the trunk's payload, or None.
        adaptation: Whether the controller is given the estimated inertias.
        readings: Newest readings of all sensors.
        imu: Newest reading of the IMU.
        base: Newest base estimate.
        inertias: Newest inertial estimate.
        identified: Newest estimate of the payload pipeline.
        load_changes: Every load change it has found.
        spectators: Filters that only watch.
        watched: Their newest estimates.
        command: Newest torque command.
        on_readings: Called with all readings as they arrive, on the hoist too; None: nobody listens.
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
        """Join the parts.

        Args:
            simulation: The robot, on its hoist.
            controller: Answers every joint state that has its base state.
            tilt: None for an arm, or to stand on the truth.
            inertial: None where no inertias are estimated.
            payload: Identifies the trunk; None: the trunk is the inertial filter's.
            adaptation: False keeps the estimates from the controller; filter and identification run all the
                same, and what the identification asks for is done.
            spectators: Other filters that see the same readings and move nothing.
        """
        self.simulation = simulation
        self.controller = controller
        self.tilt = tilt
        self.inertial = inertial
        self.payload = payload
        self.adaptation = adaptation
        self.spectators = tuple(spectators)
        self.watched: list[InertialEstimate | None] = [None for _ in self.spectators]
        self.readings: SensorReadings | None = None
        self.imu: ImuSample | None = None
        self.base: BaseEstimate | None = None
        self.inertias: InertialEstimate | None = None
        self.identified: PayloadEstimate | None = None
        self.load_changes: list[LoadChange] = []
        self.command: TorqueCommand | None = None
        self.on_readings: Callable[[SensorReadings], None] | None = None
        self._asked: BaseReference | None = None
        self._period_ns = simulation.period_ns
        self._released_ns: int | None = None
        self._controlling = False

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
            self._controlling = on_hoist >= settle_s  # not before: what it integrates would wind up
            command = self._tick()
            if command is not None:
                self._released_ns = self.simulation.stamp_ns
                self.simulation.apply(command.tau)
            elif on_hoist > settle_s + LONGEST_WAIT_S:
                raise ConfigurationError(
                    f"the controller gave no command in {on_hoist:.1f} s on the hoist; it says: "
                    + "; ".join(
                        f"{p.name}: {p.message}" for p in self.controller.health(self.simulation.stamp_ns)
                    )
                )

    def run(self, duration_s: float, on_tick: Callable[["ClosedLoop"], None] | None = None) -> None:
        """Go on for a time, or until the robot has fallen.

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
        for readings in self.simulation.advance(self._period_ns):
            self._push(readings)
        now_ns = self.simulation.stamp_ns
        self._observe(now_ns)
        self._estimate(now_ns)
        self._identify(now_ns)
        commands: Sequence[TorqueCommand] = self.controller.tick(now_ns)
        if not commands:
            return None
        self.command = commands[-1]
        if not np.isfinite(self.command.tau).all():
            raise ConfigurationError("the controller commands a torque that is not finite")
        return self.command

    def _push(self, readings: SensorReadings) -> None:
        self.readings = readings
        self.imu = readings.imu or self.imu
        if self.on_readings is not None:
            self.on_readings(readings)
        if readings.joints is not None and self._controlling:
            self.controller.push_joints(readings.joints)
        for pipeline in (self.tilt, self.inertial, self.payload, *self.spectators):
            if pipeline is None:
                continue
            if readings.imu is not None:
                pipeline.push_imu(readings.imu)
            if readings.joints is not None:
                pipeline.push_joints(readings.joints)
            for contact, wrench in readings.wrenches.items():
                pipeline.push_wrench(contact, wrench)
        for contact, wrench in readings.wrenches.items():
            self.controller.push_wrench(contact, wrench)

    def _observe(self, now_ns: int) -> None:
        if self.tilt is None:
            if self.simulation.robot.floating_base:
                self._push_base(self.simulation.truth().base)
            return
        for estimate in self.tilt.tick(now_ns):
            self.base = estimate
            self._push_base(estimate.state)

    def _push_base(self, state: BaseState) -> None:
        if self._controlling:
            self.controller.push_orientation(OrientationSample(state.stamp_ns, state.quaternion_xyzw))
            self.controller.push_base_state(state)
        for pipeline in (self.inertial, self.payload, *self.spectators):
            if pipeline is not None:
                pipeline.push_base_state(state)

    def _estimate(self, now_ns: int) -> None:
        for i, spectator in enumerate(self.spectators):
            for estimate in spectator.tick(now_ns):
                self.watched[i] = estimate
        if self.inertial is None:
            return
        for estimate in self.inertial.tick(now_ns):
            self.inertias = estimate
            if self.adaptation and self.payload is None:
                for link in estimate.links:
                    self.controller.push_inertia(estimate.stamp_ns, link.published)

    def _identify(self, now_ns: int) -> None:
        """Tick the payload pipeline; give the controller its trunk, its posture and whether to hold."""
        if self.payload is None:
            return
        for estimate in self.payload.tick(now_ns):
            self.identified = estimate
            if estimate.change is not None:
                self.load_changes.append(estimate.change)
            if self.adaptation:
                self.controller.push_inertia(estimate.stamp_ns, estimate.trunk)
            self.controller.push_hold(estimate.hold)
            if estimate.reference is not None and estimate.reference != self._asked:
                self.controller.push_base_reference(estimate.reference)
            self._asked = estimate.reference
