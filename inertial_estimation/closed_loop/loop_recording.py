"""Sensor readings of a closed loop as a recording on the nodes' topics, and its true inertias over time."""

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
from inertial_estimation.recordings.truth_file import InertiaStep
from inertial_estimation.signals import LinkInertia, PoseSample, seconds
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


SMALLEST_CHANGE = 1e-9  # of a mass, relative, and of a centre of mass [m]; below it, both are the same


class TruthRecording:
    """Records the true inertias of all links of a loop when they change.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Start with the present inertias."""
        self.loop = loop
        robot = loop.simulation.robot
        self._links = [link for link in robot.link_names if robot.link_body(link).joint_id > 0]  # that move
        self._changes: list[tuple[int, LinkInertia]] = []
        self._last: dict[str, LinkInertia] = {}
        self.take()

    def take(self) -> None:
        """Record the inertias that have changed since the last call."""
        truth = self.loop.simulation.truth(self._links)
        for link, inertia in truth.inertias.items():
            if link not in self._last or not _same(self._last[link], inertia):
                self._changes.append((truth.stamp_ns, inertia))
                self._last[link] = inertia

    def steps(self, start_ns: int) -> list[InertiaStep]:
        """Return the changes so far.

        Args:
            start_ns: Stamp of the start of the recording [ns]; earlier changes are there from the start.
        """
        return [
            InertiaStep(max(seconds(stamp_ns - start_ns), 0.0), inertia)
            for stamp_ns, inertia in self._changes
        ]


def _same(a: LinkInertia, b: LinkInertia) -> bool:
    close = abs(a.mass - b.mass) <= SMALLEST_CHANGE * abs(a.mass)
    return close and bool(np.allclose(a.com_L, b.com_L, rtol=0.0, atol=SMALLEST_CHANGE))
