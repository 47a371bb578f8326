"""Node `inertial_ekf`: physically consistent inertias of links at controller rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from geometry_msgs.msg import InertiaStamped
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from inertial_estimation.estimators.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial_pipeline import InertialPipeline
from inertial_estimation.node_options import InertialNodeOptions
from inertial_estimation.parameters import section
from inertial_estimation.ros.messages import (
    link_inertia_to_msg,
    torque_residual_to_msg,
)
from inertial_estimation.ros.pipeline_node import EstimatorNode
from inertial_estimation.ros.robot_node import topic_token
from inertial_estimation.ros.serialized import base_state_from_bytes
from inertial_estimation.signals import InertialEstimate

__all__ = ["InertialEkfNode", "InertialNodeConfig"]


@dataclass(frozen=True)
class InertialNodeConfig:
    """All parameters of the node."""

    pipeline: InertialPipelineConfig = section(InertialPipelineConfig, prefix="")
    options: InertialNodeOptions = section(InertialNodeOptions, prefix="")


class InertialEkfNode(EstimatorNode[InertialNodeConfig, InertialPipeline]):
    """Publishes what the inertial pipeline estimates."""

    name = "inertial_ekf"
    config_class = InertialNodeConfig
    node_options = InertialNodeOptions

    def _build(self, config: InertialNodeConfig, urdf: str) -> InertialPipeline:
        return InertialPipeline(config.pipeline, urdf)

    def _create_interfaces(self) -> None:
        self._inertias: dict[str, Publisher] = {}
        self._payloads: dict[str, Publisher] = {}
        self._inertia_msg = InertiaStamped()
        self._residual_msg = JointState()
        self._residual = self.add_output(JointState, "torque_residual")
        for link in self.config.pipeline.links:
            token = topic_token(link)
            for publishers, topic in ((self._inertias, "link_inertias"), (self._payloads, "payloads")):
                publishers[link] = self.add_output(InertiaStamped, f"{topic}/{token}")
        if self.config.pipeline.robot.floating_base:
            self.add_input(Odometry, "base_state", base_state_from_bytes, self.pipeline.push_base_state)
        self.add_trigger("~/calibrate", self._calibrate)
        self.add_trigger("~/export_urdf", self._export_urdf)
        self.add_switch("~/set_enabled", self._set_enabled)

    def _publish(self, estimates: Sequence[InertialEstimate]) -> None:
        msg = self._inertia_msg
        for estimate in estimates:
            for link in estimate.links:
                name, stamp_ns = link.published.link, estimate.stamp_ns
                self.send(self._inertias[name], partial(link_inertia_to_msg, link.published, stamp_ns, msg))
                self.send(self._payloads[name], partial(link_inertia_to_msg, link.payload, stamp_ns, msg))
            self.send(self._residual, partial(torque_residual_to_msg, estimate, self._residual_msg))

    def _calibrate(self) -> str:
        self.pipeline.calibrate()
        return "calibrating the model: keep the load as it is"

    def _set_enabled(self, enabled: bool) -> str:
        self.pipeline.set_enabled(enabled)
        return "learning" if enabled else "learning is switched off"

    def _export_urdf(self) -> str:
        text = self.pipeline.export_urdf()
        path = self.config.options.export_path
        if not path:
            return text
        Path(path).expanduser().write_text(text, encoding="utf-8")
        return path
