"""Node `tilt_observer`: orientation, velocity and position of the base at controller rate."""

from collections.abc import Sequence
from functools import partial

from geometry_msgs.msg import QuaternionStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher

from inertial_estimation.inputs.messages import orientation_to_msg
from inertial_estimation.recordings.marker_messages import tilt_markers
from inertial_estimation.ros.messages import base_state_to_transform, odometry_to_msg, tilt_to_msg
from inertial_estimation.ros.outputs import MarkerOutput, TelemetryOutput
from inertial_estimation.ros.pipeline_node import PipelineNode
from inertial_estimation.signals import BaseEstimate
from inertial_estimation.telemetry import tilt_figures
from inertial_estimation.tilt.pipeline import TiltPipeline


class TiltObserverNode(PipelineNode):
    """Publishes the estimates of the tilt pipeline."""

    name = "tilt_observer"
    pipeline: TiltPipeline

    def _build(self, urdf: str) -> None:
        self.pipeline = TiltPipeline(self.config.pipeline, urdf)

    def _advertise(self) -> None:
        for sentence in self.pipeline.config.without_effect:
            self.get_logger().warning(sentence)
        options = self.config.options
        self._world = options.world_frame
        self._base = options.base_frame or self.pipeline.robot.base_link
        self._orientation = self.add_output(QuaternionStamped, "base_orientation")
        self._state = self.add_output(Odometry, "base_state")
        self._tilt = self.add_output(Vector3Stamped, "tilt")
        self._telemetry = TelemetryOutput(self, tilt_figures(self.pipeline.contacts))
        self._markers = MarkerOutput(self)
        self._messages = (QuaternionStamped(), Odometry(), Vector3Stamped())
        self._transforms = self._transform_output() if options.publish_tf else None
        self.add_trigger("~/calibrate_gyro", self._calibrate_gyro)

    def _publish(self, estimates: Sequence[BaseEstimate]) -> None:
        orientation, state, tilt = self._messages
        world, base = self._world, self._base
        for estimate in estimates:  # every step, since the inertial filter interpolates between them
            self.send(self._orientation, partial(orientation_to_msg, estimate.state, orientation, world))
            self.send(self._state, partial(odometry_to_msg, estimate, state, world, base))
            self.send(self._tilt, partial(tilt_to_msg, estimate, tilt, base))
            self._telemetry.send(estimate, estimate.state.stamp_ns)
        last, loads = estimates[-1], self.pipeline.contact_loads
        self._markers.send(last.state.stamp_ns, lambda new: tilt_markers(new, last, loads, base))
        if self._transforms is not None:
            transform = base_state_to_transform(last.state, world, base)
            self._transforms.publish(self._transforms.msg_type(transforms=[transform]))

    def _calibrate_gyro(self) -> str:
        self.pipeline.calibrate_gyro()
        return "calibrating the gyroscope: keep the robot still"

    def _transform_output(self) -> Publisher | None:
        """Create the output of the transform, like the broadcaster of tf2_ros, but without that package."""
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            self.get_logger().warning(
                "publish_tf is set, but tf2_msgs is missing (ros-$ROS_DISTRO-tf2-msgs): no transform is sent"
            )
            return None
        return self.add_output(TFMessage, "/tf")
