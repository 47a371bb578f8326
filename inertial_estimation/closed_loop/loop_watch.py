"""Observation of a closed loop: errors of its estimates, true inertias, torques at their limits, readings."""

import math

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.errors import listing, with_sigma
from inertial_estimation.recordings.recording import MemoryRecording, Sample
from inertial_estimation.recordings.truth_file import InertiaStep
from inertial_estimation.signals import LinkInertia, PoseSample, seconds
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.spatial.linear_algebra import rms
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.synthetic.synthetic_sensors import (
    GROUND_TRUTH_TOPIC,
    IMU_TOPIC,
    JOINTS_TOPIC,
    recorded,
    wrench_topic,
)


class LoopWatch:
    """Samples the estimates and the true state of a loop whenever `look` is called.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Begin with the present inertias of all links that move."""
        self.loop = loop
        robot = loop.simulation.robot
        self._links = [link for link in robot.link_names if robot.link_body(link).joint_id > 0]
        limits = np.array(robot.model.effortLimit[robot.n_base :])
        self._limits = np.where(limits > 0.0, limits, np.inf)
        self._tilts: list[float] = []
        self._limited: dict[str, float] = {}  # time at which a joint's torque first was at its limit [s]
        self._changes: list[tuple[int, LinkInertia]] = []
        self._last: dict[str, LinkInertia] = {}
        self._take_inertias()

    def look(self) -> None:
        """Sample estimates and true state now."""
        self._take_inertias()
        if self.loop.simulation.fallen:
            return
        truth = self.loop.simulation.truth()
        if self.loop.base is not None:
            states = truth.base, self.loop.base.state
            up, estimate = (rotation_from_quaternion(np.asarray(s.quaternion_xyzw))[2] for s in states)
            self._tilts.append(float(np.linalg.norm(up - estimate)))
        for j in np.flatnonzero(np.abs(truth.tau_motor) >= self._limits).tolist():
            self._limited.setdefault(self.loop.simulation.robot.joint_names[j], self.loop.time_s)

    @property
    def tilt_rms(self) -> float:
        """Root mean square of the tilt error [rad]; NaN without an observer."""
        return rms(np.array(self._tilts))

    def masses(self) -> dict[str, tuple[float, float, float]]:
        """Return estimate, its standard deviation and truth of every estimated link's mass [kg].

        Empty without an inertial filter or an identification of the payload.
        """
        links = () if self.loop.inertias is None else self.loop.inertias.links
        found = {
            link.estimate.link: (link.estimate.mass, math.sqrt(float(link.covariance[0, 0])))
            for link in links
        }
        if (trunk := self.loop.identified) is not None:
            found[trunk.estimate.link] = trunk.estimate.mass, trunk.mass_sigma
        truth = self.loop.simulation.truth(tuple(found)).inertias
        return {link: (mass, sigma, truth[link].mass) for link, (mass, sigma) in found.items()}

    def lines(self) -> list[str]:
        """Return the errors in words, a line each."""
        tilt = "" if math.isnan(self.tilt_rms) else f"tilt error: {self.tilt_rms:.2g} rad (root mean square)"
        masses = [
            f"mass of {name}: {with_sigma(mass, sigma)} kg, true {true:.4g} kg"
            for name, (mass, sigma, true) in self.masses().items()
        ]
        return [line for line in (tilt, *masses) if line]

    def limit(self, joint: str) -> float:
        """Return the effort limit of a joint whose torque reached it [Nm or N]; NaN if it never did."""
        index = self.loop.simulation.robot.joint_index(joint)
        return float(self._limits[index]) if joint in self._limited else math.nan

    def fall(self) -> str:
        """Return in words when the robot fell, and which torques were at their limits before."""
        limited = [f"{name} (first at {time_s:.1f} s)" for name, time_s in self._limited.items()]
        why = f"torques at the effort limit before: {listing(limited, limit=4)}"
        if not limited:
            why = "no torque was at its effort limit before, so the controller let it fall"
        return f"the robot fell after {self.loop.time_s:.1f} s; {why}"

    def inertias(self, start_ns: int) -> list[InertiaStep]:
        """Return the true inertias and their changes, with times since the start of a recording [ns]."""
        times = [max(seconds(stamp_ns - start_ns), 0.0) for stamp_ns, _inertia in self._changes]
        return [InertiaStep(time, inertia) for time, (_ns, inertia) in zip(times, self._changes, strict=True)]

    def _take_inertias(self) -> None:
        truth = self.loop.simulation.truth(self._links)
        for link, inertia in truth.inertias.items():
            if link not in self._last or not _same(self._last[link], inertia):
                self._changes.append((truth.stamp_ns, inertia))
                self._last[link] = inertia


def _same(a: LinkInertia, b: LinkInertia) -> bool:
    return a.mass == b.mass and bool((a.com_L == b.com_L).all())


class LoopRecording:
    """Records the readings of a loop from the first one on, including the time on the hoist.

    The topics are those of `synthetic.synthetic_sensors.measure`: /imu/data, /joint_states,
    /<contact>/wrench, and /ground_truth/pose with the true pose of a floating base.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Start recording, in place of any other listener of the loop's readings."""
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
