"""Node `inertial_ekf`: physically consistent inertias of links at controller rate."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from inertial_estimation.files.outputs import output_file, write_text
from inertial_estimation.inertial.link_estimates import parameter_covariance
from inertial_estimation.inertial.located_events import LocatedEvents
from inertial_estimation.inertial.model import torque_errors_of
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.inputs.messages import inertia_to_msg, wrench_to_msg
from inertial_estimation.recordings.marker_messages import inertial_markers
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.messages import (
    event_to_array,
    torque_command_to_msg,
    torque_residual_to_msg,
)
from inertial_estimation.ros.outputs import FigureTopic, MarkerOutput, TelemetryOutput
from inertial_estimation.ros.pipeline_node import PipelineNode
from inertial_estimation.ros.qos import EVENTS
from inertial_estimation.signals import (
    InertialEstimate,
    LinkEstimate,
    StampedInertia,
    TorqueCommand,
    WrenchSample,
)
from inertial_estimation.spatial.inertial_parameters import COVARIANCE_NAMES, upper_triangle
from inertial_estimation.telemetry import inertial_figures

COVARIANCES = "link_covariances"


class InertialEkfNode(PipelineNode):
    """Publishes the estimates of the inertial pipeline."""

    name = "inertial_ekf"
    pipeline: InertialPipeline

    def _build(self, urdf: str) -> None:
        path = self.config.options.export_path
        self._export_path = output_file(path, ".urdf", "parameter 'export_path'") if path else None
        self.pipeline = InertialPipeline(self.config.pipeline, urdf)

    def _advertise(self) -> None:
        self._inertias: dict[str, Publisher] = {}
        self._payloads: dict[str, Publisher] = {}
        self._inertia_msg = InertiaStamped()
        self._residual = self.add_output(JointState, "torque_residual"), JointState()
        model, noise = self.pipeline.model, self.pipeline.noise_parameters
        links = model.links
        for link in links:
            token = topic_token(link)
            for publishers, topic in ((self._inertias, "link_inertias"), (self._payloads, "payloads")):
                publishers[link] = self.add_output(InertiaStamped, f"{topic}/{token}")
        self._located = self.add_output(DiagnosticArray, "load_location", EVENTS)
        self._external_wrench = self.add_output(WrenchStamped, "external_wrench")
        self._wrench_msg = WrenchStamped()
        self._events = LocatedEvents()
        figures = inertial_figures(links, model.friction_names, noise, model.error_names)
        self._telemetry = TelemetryOutput(self, figures)
        topics = [f"{COVARIANCES}/{topic_token(link)}" for link in links]
        self._covariances = [
            FigureTopic(self.add_output(JointState, topic), COVARIANCE_NAMES, link)
            for topic, link in zip(topics, links, strict=True)
        ]
        self._errors = self.add_output(JointState, "torque_errors") if model.errors else None
        self._markers = MarkerOutput(self)
        self.add_trigger("~/calibrate", self._calibrate)
        self.add_trigger("~/export_urdf", self._export_urdf)
        self.add_switch("~/set_enabled", self._set_enabled)

    def _publish(self, estimates: Sequence[InertialEstimate]) -> None:
        msg = self._inertia_msg
        for estimate in estimates:
            stamp_ns = estimate.stamp_ns
            for link in estimate.links:
                published = StampedInertia(stamp_ns, link.published)
                payload = StampedInertia(stamp_ns, link.payload)
                name = link.published.link
                self.send(self._inertias[name], partial(inertia_to_msg, published, msg))
                self.send(self._payloads[name], partial(inertia_to_msg, payload, msg))
            if estimate.measured:
                residual, message = self._residual
                self.send(residual, partial(torque_residual_to_msg, estimate, message))
            if self._errors is not None:  # estimated errors of the joint torque sensors
                self.send(self._errors, partial(_torque_errors, estimate))
            self._publish_located(estimate)
            self._telemetry.send(estimate, estimate.stamp_ns)
            for figures, link in zip(self._covariances, estimate.links, strict=True):
                figures.send(stamp_ns, partial(_covariance, link))
        self._markers.send(estimates[-1].stamp_ns, lambda new: inertial_markers(new, estimates[-1]))

    def _publish_located(self, estimate: InertialEstimate) -> None:
        """Publish the wrench of a push, and the located cause of an event when it changes."""
        push = estimate.located
        if push is not None and push.force_L is not None and push.torque_L is not None:
            wrench = WrenchSample(estimate.stamp_ns, np.concatenate((push.force_L, push.torque_L)))
            link = push.links[0]  # about its origin, in its axes
            self.send(self._external_wrench, partial(wrench_to_msg, wrench, self._wrench_msg, link))
        event = self._events.take(estimate)
        if event is not None:
            self.publish(self._located, event_to_array(event.health, event.stamp_ns, self.get_name()))

    def _calibrate(self) -> str:
        self.pipeline.calibrate()
        return "calibrating the model: keep the load as it is"

    def _set_enabled(self, enabled: bool) -> str:
        self.pipeline.set_enabled(enabled)
        return "learning" if enabled else "learning is switched off"

    def _export_urdf(self) -> str:
        text = self.pipeline.estimated_model().estimated_urdf()
        if self._export_path is None:
            return text
        write_text(self._export_path, text)
        return str(self._export_path)


def _covariance(link: LinkEstimate) -> list[float]:
    """Return the upper triangle of the covariance of a link's ten parameters, row by row."""
    return list(upper_triangle(parameter_covariance(link)).tolist())


def _torque_errors(estimate: InertialEstimate) -> JointState:
    errors = torque_errors_of(estimate)
    return torque_command_to_msg(
        TorqueCommand(estimate.stamp_ns, tuple(errors), np.array(list(errors.values())))
    )
