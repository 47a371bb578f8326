"""Raw readings to the state the measurement equation needs: aligned, windowed, differentiated."""

from functools import lru_cache

import numpy as np

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inputs.alignment import AlignedSample, SignalAligner, StreamSpec
from inertial_estimation.estimators.inputs.robot_inputs import (
    BASE_STATE,
    IMU,
    JOINTS,
    RobotInputs,
    wrench_stream,
)
from inertial_estimation.models.base_acceleration import ImuToBase
from inertial_estimation.models.coulomb import CoulombDirection, smooth_sign
from inertial_estimation.models.differentiation import FEWEST_SAMPLES, WindowWeights, window_weights
from inertial_estimation.models.dynamics_measurement import DynamicsState
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, BaseState, JointReading, seconds
from inertial_estimation.spatial.rotations import rotation_from_quaternion

__all__ = ["InertialInputs"]


class InertialInputs(RobotInputs):
    """The inputs of the inertial pipeline.

    Joint states set the steps. Every stream is reduced over one window around a step with weights that
    belong together, so acceleration, torque, wrench and specific force carry the same delay.

    Attributes:
        aligner: The buffers.
        short_windows: Steps dropped because a window held too few samples.
    """

    def __init__(self, config: InertialPipelineConfig, robot: RobotModel) -> None:
        """Decide which inputs are needed.

        Raises:
            ConfigurationError: If the base's acceleration needs an IMU and there is none.
        """
        self._robot = robot
        self._need_effort = bool(config.rows.torque_rows)
        self._map = JointMap(robot, config.robot, need_effort=self._need_effort)
        self._law = config.coulomb_law
        estimated = "coulomb" in config.friction.terms and bool(config.friction.joints)
        self._with_sign = estimated or bool(config.robot.nominal_friction.coulomb)
        self._presliding = self._with_sign and self._law.presliding > 0.0
        self._direction = CoulombDirection(self._law)
        self._direction_ns: int | None = None
        self._max_gap_ns = round(config.robot.inputs.max_gap * NANOSECONDS)
        floating, source = robot.floating_base, config.rows.base_acceleration
        self._with_imu = floating and source == "accelerometer"
        self._with_base_state = floating and not self._with_imu
        if self._with_imu:
            if not config.robot.imu_frame:
                raise ConfigurationError(
                    "base_acceleration is 'accelerometer' but 'imu_frame' is empty; name the link of the "
                    "IMU, or take 'finite_difference' of the base state"
                )
            self._imu = ImuToBase(robot, config.robot.imu_frame)
        measured = config.rows.contact_wrenches == "measured"
        self._contacts = config.robot.contacts if measured else ()
        self.aligner = self._make_aligner(config)
        self.short_windows = 0

    @property
    def velocity_source(self) -> str:
        """Where the joint velocities come from, for people."""
        return self._map.velocity_source

    def clear(self) -> None:
        """Forget all readings."""
        self.aligner.clear()
        self._map.reset()

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state; one that does not fit the model is dropped and counted."""
        try:
            row = self._map.row(reading)
        except MeasurementError as error:
            self.aligner.count_drop(JOINTS, str(error))
            return
        if self._presliding:
            row = np.concatenate((row, self._direction_after(row, reading.stamp_ns)))
        self.aligner.push(JOINTS, reading.stamp_ns, row)

    def push_base_state(self, state: BaseState) -> None:
        """Take a base state, ignored where not needed."""
        if not self._with_base_state:
            return
        row = np.full(9, np.nan)
        norm = float(np.linalg.norm(state.quaternion_xyzw))
        if np.isfinite(norm) and norm > 0.0:
            tilt_B = rotation_from_quaternion(state.quaternion_xyzw)[2]
            row = np.concatenate((state.v_WB_B, state.w_WB_B, tilt_B))
        self.aligner.push(BASE_STATE, state.stamp_ns, row)

    def state_at(self, sample: AlignedSample) -> DynamicsState | None:
        """Reduce all streams over the window around a step.

        Args:
            sample: The step.

        Returns:
            The state, or None where an input is missing or its window too short.
        """
        if not sample.complete:
            return None
        reduced = self._reduce(JOINTS, sample.time_ns, None)
        if reduced is None:
            return None
        weights, rows = reduced
        n = self._robot.n_joints
        mean = weights.mean @ rows
        v = rows[:, n : 2 * n]
        sign = weights.mean @ self._signs(rows) if self._with_sign else None
        joints = (mean[:n], mean[n : 2 * n], weights.slope @ v)
        base = self._base_motion(sample.time_ns, weights.centroid, joints)
        wrenches = self._wrenches(sample.time_ns, weights.centroid)
        if base is None or wrenches is None:
            return None
        tau = mean[2 * n : 3 * n] if self._need_effort else None
        return DynamicsState(*joints, tau, *base, wrenches, sign)

    def _signs(self, rows: Array) -> Array:
        """Return the signs of Coulomb friction of joint rows, shape (k, n_joints)."""
        n = self._robot.n_joints
        return (
            rows[:, -n:] if self._presliding else smooth_sign(rows[:, n : 2 * n], self._law.smoothing_speed)
        )

    def _direction_after(self, row: Array, stamp_ns: int) -> Array:
        """Follow Coulomb friction to a new joint state; a gap or a step back begins anew."""
        n, last = self._robot.n_joints, self._direction_ns
        step_ns = None if last is None else stamp_ns - last
        if step_ns is None or not 0 <= step_ns <= self._max_gap_ns:
            self._direction.reset()
            step_ns = 0
        v = row[n : 2 * n]
        if np.isfinite(v).all():
            self._direction_ns = stamp_ns
            return self._direction.after(v, seconds(step_ns))
        return np.full(n, np.nan)

    def _make_aligner(self, config: InertialPipelineConfig) -> SignalAligner:
        inputs = config.robot.inputs
        width = (2 + self._need_effort + self._presliding) * self._robot.n_joints
        others = [StreamSpec(wrench_stream(c), 6, inputs.wrench_delay) for c in self._contacts]
        if self._with_imu:
            others.append(StreamSpec(IMU, 6, inputs.imu_delay))
        if self._with_base_state:
            others.append(StreamSpec(BASE_STATE, 9))
        driver = StreamSpec(JOINTS, width, inputs.joint_delay)
        return SignalAligner(driver, tuple(others), inputs, rate=config.rate, half_window=0.5 * config.window)

    def _reduce(
        self, stream: str, time_ns: int, centroid: float | None
    ) -> tuple[WindowWeights, Array] | None:
        stamps, rows = self.aligner.window(stream, time_ns)
        if len(stamps) < FEWEST_SAMPLES:
            self.short_windows += 1
            return None
        weights = _weights_at(stamps.tobytes())
        return (weights if centroid is None else weights.moved_to(centroid)), rows

    def _base_motion(
        self, time_ns: int, centroid: float, joints: tuple[Array, Array, Array]
    ) -> tuple[Array | None, Array | None, Array | None] | None:
        """Return proper acceleration, rate and angular acceleration of the base; Nones if it is fixed."""
        if self._with_imu:
            reduced = self._reduce(IMU, time_ns, centroid)
            if reduced is None:
                return None
            weights, rows = reduced
            mean, wd_I = weights.mean @ rows, weights.slope @ rows[:, 3:]
            return self._imu.base_motion(joints, mean[:3], mean[3:], wd_I)
        if self._with_base_state:
            reduced = self._reduce(BASE_STATE, time_ns, centroid)
            if reduced is None:
                return None
            weights, rows = reduced
            mean, change = weights.mean @ rows, weights.slope @ rows[:, :6]
            # d/dt of v in the turning base axes lacks w x v; gravity is felt as upward acceleration.
            f_B = change[:3] + np.cross(mean[3:6], mean[:3]) + STANDARD_GRAVITY * mean[6:]
            return f_B, mean[3:6], change[3:]
        return None, None, None

    def _wrenches(self, time_ns: int, centroid: float) -> Array | None:
        wrenches = np.zeros((len(self._contacts), 6))
        for i, contact in enumerate(self._contacts):
            reduced = self._reduce(wrench_stream(contact), time_ns, centroid)
            if reduced is None:
                return None
            weights, rows = reduced
            wrenches[i] = weights.mean @ rows
        return wrenches


@lru_cache(maxsize=16)
def _weights_at(stamps: bytes) -> WindowWeights:
    """Return the weights of a window; streams that share their stamps share them, as do regular windows.

    Args:
        stamps: Times relative to the window's centre [ns], as the bytes of 64-bit integers.
    """
    times: Array = seconds(np.frombuffer(stamps, np.int64))
    return window_weights(times)
