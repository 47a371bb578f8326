"""Inputs of the controller in a closed loop, and their activation."""

from inertial_estimation.control.controller_pipeline import ControllerPipeline
from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate
from inertial_estimation.inertial.model import torque_errors_of
from inertial_estimation.signals import BaseReference, BaseState, InertialEstimate
from inertial_estimation.simulation.ground_truth import SensorReadings


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
