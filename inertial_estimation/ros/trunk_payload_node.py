"""Node `trunk_payload`: mass and centre of mass of a legged robot's trunk, identified at rest."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped
from std_msgs.msg import Bool

from inertial_estimation.inputs.messages import inertia_to_msg
from inertial_estimation.payload.estimate import PayloadEstimate, payload_figures
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.payload.report import events_of
from inertial_estimation.recordings.marker_messages import NewMarker, link_markers
from inertial_estimation.ros.diagnostics import log_health
from inertial_estimation.ros.messages import base_reference_to_msg, event_to_array
from inertial_estimation.ros.outputs import MarkerOutput, TelemetryOutput
from inertial_estimation.ros.pipeline_node import PipelineNode
from inertial_estimation.ros.qos import EVENTS, LATCHED
from inertial_estimation.signals import BaseReference, StampedInertia


class TrunkPayloadNode(PipelineNode):
    """Publishes the estimates and requests of the trunk's identification."""

    name = "trunk_payload"
    pipeline: TrunkPayloadPipeline

    def _build(self, urdf: str) -> None:
        self.pipeline = TrunkPayloadPipeline(self.config.pipeline, urdf)

    def _advertise(self) -> None:
        self._message = InertiaStamped()
        self._inertia = self.add_output(InertiaStamped, "trunk_inertia")
        self._payload = self.add_output(InertiaStamped, "payload")
        self._telemetry = TelemetryOutput(self, payload_figures(self.pipeline.trunk))
        self._markers = MarkerOutput(self)
        self._reference = self.add_output(PoseStamped, "base_reference")
        self._load_change = self.add_output(DiagnosticArray, "load_change", EVENTS)
        self._hold = self.add_output(Bool, "hold", LATCHED)
        self._requested: BaseReference | None = None
        self._set_hold(False)
        self.add_trigger("~/identify", self.pipeline.identify)
        self.add_trigger("~/cancel", self._cancel)

    def _publish(self, estimates: Sequence[PayloadEstimate]) -> None:
        msg = self._message
        for estimate in estimates:
            stamp_ns = estimate.stamp_ns
            trunk = StampedInertia(stamp_ns, estimate.trunk)
            payload = StampedInertia(stamp_ns, estimate.payload)
            self.send(self._inertia, partial(inertia_to_msg, trunk, msg))
            self.send(self._payload, partial(inertia_to_msg, payload, msg))
            self._telemetry.send(estimate, stamp_ns)
            self._request(estimate)
            for event in events_of(estimate):
                self.publish(self._load_change, event_to_array(event, stamp_ns, self.get_name()))
                log_health(self, event.level, event.message)
        self._markers.send(estimates[-1].stamp_ns, partial(_draw, estimates[-1]))

    def _on_inputs(self) -> None:
        if self.pipeline.identification.hold != self._held:  # the hold can also end while an input is missing
            self._set_hold(self.pipeline.identification.hold)

    def on_activate(self, state: Any) -> Any:
        """Start publishing, and publish the requests of the identification again."""
        done = super().on_activate(state)
        self._requested = None
        self._set_hold(self.pipeline.identification.hold)
        return done

    def _request(self, estimate: PayloadEstimate) -> None:
        """Publish the requests of the identification that have changed."""
        if estimate.hold != self._held:
            self._set_hold(estimate.hold)
        reference = estimate.reference
        if reference is not None and reference != self._requested:
            self.publish(self._reference, base_reference_to_msg(reference, PoseStamped(), estimate.stamp_ns))
        self._requested = reference

    def _set_hold(self, held: bool) -> None:
        self._held = held
        self.publish(self._hold, Bool(data=held))

    def _cancel(self) -> str:
        self.pipeline.cancel()
        return "cancelled; the trunk in force before is kept"

    def _reset(self) -> str:
        super()._reset()
        self._requested = None
        self._set_hold(False)
        return "reset to the nominal trunk"


def _draw(estimate: PayloadEstimate, new: NewMarker) -> list[Any]:
    trunk, payload, com = estimate.estimate, estimate.payload, estimate.com_sigma_B.tolist()
    return link_markers(new, 0, estimate.stamp_ns, trunk, payload, estimate.mass_sigma, com)
