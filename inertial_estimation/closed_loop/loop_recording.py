"""Sensor readings of a closed loop as a recording on the nodes' topics."""

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.recordings.recording import MemoryRecording, Sample
from inertial_estimation.signals import PoseSample
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.synthetic.synthetic_sensors import (
    GROUND_TRUTH_TOPIC,
    IMU_TOPIC,
    JOINTS_TOPIC,
    recorded,
    wrench_topic,
)


class LoopRecording:
    """Records the readings of a loop from the first one on, including the time on the hoist.

    The topics are those of `synthetic.synthetic_sensors.measure`: /imu/data, /joint_states,
    /<contact>/wrench, and /ground_truth/pose with the true pose of a floating base.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Start recording; it replaces another listener of the loop."""
        self.loop = loop
        self._samples: list[tuple[str, Sample]] = []
        loop.on_readings = self._take

    def recording(self) -> MemoryRecording:
        """Return the readings recorded so far, in the order of arrival.

        Raises:
            ~inertial_estimation.errors.RecordingError: If there are no readings.
        """
        return recorded(self._samples, "simulated recording")

    def _take(self, readings: SensorReadings) -> None:
        if readings.joints is not None:
            self._samples.append((JOINTS_TOPIC, readings.joints))
        if readings.imu is not None:
            self._samples.append((IMU_TOPIC, readings.imu))
        self._samples += [(wrench_topic(contact), wrench) for contact, wrench in readings.wrenches.items()]
        if self.loop.simulation.robot.floating_base:
            base = self.loop.simulation.truth().base
            pose = PoseSample(base.stamp_ns, base.quaternion_xyzw, base.p_WB)
            self._samples.append((GROUND_TRUTH_TOPIC, pose))
