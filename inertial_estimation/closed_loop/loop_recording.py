"""Sensor readings of a closed loop as a recording on the nodes' topics."""

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
from inertial_estimation.signals import PoseSample
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC


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
        self._entries: list[RecordingEntry] = []
        self._topics: dict[str, str] = {}
        loop.on_readings = self._take

    def recording(self) -> MemoryRecording:
        """Return the readings recorded so far, in the order of arrival.

        Raises:
            ~inertial_estimation.errors.RecordingError: If there are no readings.
        """
        entries = sorted(self._entries, key=lambda entry: entry.log_ns)  # stable
        return MemoryRecording(tuple(entries), dict(self._topics), "simulated recording")

    def _take(self, readings: SensorReadings) -> None:
        if readings.joints is not None:
            self._add("/joint_states", JOINT_STATE_TYPE, readings.joints)
        if readings.imu is not None:
            self._add("/imu/data", IMU_TYPE, readings.imu)
        for contact, wrench in readings.wrenches.items():
            self._add(f"/{contact}/wrench", WRENCH_TYPE, wrench)
        if self.loop.simulation.robot.floating_base:
            base = self.loop.simulation.truth().base
            pose = PoseSample(base.stamp_ns, base.quaternion_xyzw, base.p_WB)
            self._add(GROUND_TRUTH_TOPIC, POSE_TYPE, pose)

    def _add(self, topic: str, kind: str, sample: Sample) -> None:
        self._topics[topic] = kind
        self._entries.append(RecordingEntry(topic, sample.stamp_ns, sample))
