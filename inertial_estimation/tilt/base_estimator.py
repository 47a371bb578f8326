"""Base orientation, position and twist from aligned readings, one step at a time."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.contacts import ContactSource
from inertial_estimation.inputs.imu import FORCE, RATE
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.models.contact_kinematics import ContactView
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array, BaseEstimate, BaseState, ContactLoad
from inertial_estimation.spatial.rotations import log_so3, quaternion_from_rotation, skew
from inertial_estimation.tilt.base_track import BaseTrack
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.contact_shares import ContactShares
from inertial_estimation.tilt.filter import LONGEST_INTERVAL, TiltFilter
from inertial_estimation.tilt.foot_radius import foot_radius
from inertial_estimation.tilt.observer import NOT_CLIPPED, Feet, TiltObserver
from inertial_estimation.tilt.spikes import SpikeGuard
from inertial_estimation.tilt.torque_forces import TorqueForces
from inertial_estimation.tilt.two_stage import TwoStageObserver

POSITION_SIGMA = 0.01  # of a position that contacts hold [m]
CLIPPED_RATE, CLIPPED_READINGS = 1.0, 3  # [rad/s]; how often in a row a large rate repeats exactly at a limit
Joints = tuple[Array, Array, Array | None]


class StepReadings(NamedTuple):
    """What the observer takes at one step.

    Attributes:
        stamp_ns: Stamp of the step [ns].
        h: Its duration [s]; zero at the first one and after a gap.
        rate: Mean angular rate over it, bias removed [rad/s], shape (3,).
        force: Mean specific force over it [m/s^2], shape (3,).
        feet: The contacts at its end; None where they are not known.
        vertical: The estimated one in the IMU frame, shape (3,).
        R_BI: Orientation of the IMU in the base, shape (3, 3).
    """

    stamp_ns: int
    h: float
    rate: Array
    force: Array
    feet: Feet | None
    vertical: Array
    R_BI: Array


class BaseEstimator:
    """Tilt observer, contacts and base track, advanced together.

    Attributes:
        config: The parameters in force.
        observer: What estimates velocity and vertical of the IMU.
        view: Kinematics of the contacts, at the last joint positions that were needed.
        shares: Which contacts carry the robot.
        track: Orientation and position of the base.
        radius: Of round feet [m].
        steps: Number of steps; incomplete_steps: of those with an input missing.
        without_contact_s: Time for which no contact has carried the robot [s].
        on_step: Called with what the observer takes at every step; None: nothing is.
    """

    def __init__(
        self, config: TiltPipelineConfig, setup: RobotSetup, urdf: str, sources: Mapping[str, ContactSource]
    ) -> None:
        """Build the parts.

        Args:
            config: All parameters.
            setup: The robot, its contacts and its IMU.
            urdf: Text of its URDF, for the radius of round feet.
            sources: Where each contact's force comes from.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a force does not follow from joint torques.
        """
        self.config, self._setup = config, setup
        self.view = ContactView(setup)
        self.shares = ContactShares(setup, sources, config.robot.inputs.timeout)
        self.track = BaseTrack(len(setup.contacts))
        gain = config.contact.observer_gain
        self._torques = TorqueForces(setup, config.robot, gain) if self.shares.by_torques else None
        radius = config.contact.radius
        radius = foot_radius(setup, urdf) if radius < 0.0 else radius
        self.observer: TiltObserver = (
            TiltFilter(config.filter, radius)
            if config.observer == "filter"
            else TwoStageObserver(config.two_stage, config.filter.startup, radius)
        )
        self.radius = radius
        self.on_step: Callable[[StepReadings], None] | None = None
        self.steps = self.incomplete_steps = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.observer.reset()
        self.track.reset()
        self._begin()

    def restart(self) -> None:
        """Determine the vertical anew after a gap; bias, yaw and position are kept."""
        self.observer.restart()
        self._begin()

    def _begin(self) -> None:
        self.shares.reset()
        if self._torques is not None:
            self._torques.reset()
        self._reading: Array | None = None
        self._spikes = SpikeGuard()
        self._repeated, self._since_joints, self._seen = np.zeros(3, dtype=int), 0.0, False
        self._pose: tuple[Array, Array] | None = None
        self._imu_rate, self._imu_velocity = np.zeros(3), np.zeros(3)
        self.without_contact_s, self._clipped = 0.0, NOT_CLIPPED

    def set_config(self, config: TiltPipelineConfig) -> None:
        """Take parameters of which only those that may change while running differ."""
        self.config = config
        own = config.filter if isinstance(self.observer, TiltFilter) else config.two_stage
        self.observer.config = own  # type: ignore[attr-defined]

    def step(
        self,
        sample: AlignedSample,
        h: float,
        joints: Joints | None,
        R_reference: Array | None,
        inputs: RobotInputs,
    ) -> BaseEstimate | None:
        """Advance by one step.

        Args:
            sample: IMU reading and contact sensors, aligned.
            h: Time since the last step [s]; zero at the first.
            joints: Positions, velocities and, where needed, torques, in the model's order; None where
                missing.
            R_reference: Orientation of the base of which the yaw is taken; None without one.
            inputs: The inputs, for the axes of wrenches.

        Returns:
            The estimate; None while the vertical at the start is determined.
        """
        self.steps += 1
        self.incomplete_steps += bool(sample.missing)
        if h > LONGEST_INTERVAL:  # too long to integrate over
            self.restart()
            h = 0.0
        now = self._spikes.checked(h, sample.driver)
        mean = now if self._reading is None else 0.5 * (now + self._reading)
        self._look_for_clipping(now)
        self._reading = now
        self._since_joints += h
        feet = self._feet(sample, h, joints, inputs) if h > 0.0 else None
        if self.on_step is not None:
            rate, up, R_BI = mean[RATE] - self.observer.bias, self._up(mean), self.view.R_BI
            self.on_step(StepReadings(sample.stamp_ns, h, rate, mean[FORCE], feet, up, R_BI))
        if h <= 0.0:
            return None
        self.observer.step(h, mean, feet, self._clipped)
        if self.observer.aligning:
            return None
        return self._estimate(sample.stamp_ns, h, mean[RATE], now[RATE], R_reference, feet)

    def _feet(
        self, sample: AlignedSample, h: float, joints: Joints | None, inputs: RobotInputs
    ) -> Feet | None:
        """Return the contacts where the observer looks at them."""
        looks = self.observer.looks_at_contacts(h) or self.on_step is not None
        wanted = bool(self.shares.names) and (looks or self._torques is not None)
        if joints is None or not (wanted or self.view.imu_moves):
            self.without_contact_s += h if joints is None or not self.shares.shares.any() else 0.0
            return None
        self.view.update(joints[0])
        self._seen = True
        if not wanted:
            return None
        up_I, q, v, tau = self._up(sample.driver), joints[0], joints[1], joints[2]
        forces = None
        if self._torques is not None and tau is not None:
            forces = self._torques.update(self._since_joints, self.view, sample.driver, (q, v, tau), up_I)
        self._since_joints = 0.0
        self.shares.update(inputs, sample.rows, sample.time_ns, self.view, up_I, forces)
        used = self.shares.shares
        self.without_contact_s = 0.0 if used.any() else self.without_contact_s + h
        if not looks:
            return None
        return Feet(self.view.points, self.view.rotations, used, self.view.soles)

    def _up(self, reading: Array) -> Array:
        """The vertical in the IMU frame: estimated, or at the start along the specific force."""
        if not self.observer.aligning:
            return self.observer.vertical
        force = reading[FORCE]
        up: Array = force / max(float(np.linalg.norm(force)), 1e-9)
        return up

    def _look_for_clipping(self, reading: Array) -> None:
        """A large rate that repeats exactly is that at the end of the gyroscope's range."""
        if self._reading is not None:
            same = (reading[RATE] == self._reading[RATE]) & (np.abs(reading[RATE]) > CLIPPED_RATE)
            self._repeated = np.where(same, self._repeated + 1, 0)
        self._clipped = self._repeated >= CLIPPED_READINGS - 1

    def _estimate(
        self,
        stamp_ns: int,
        h: float,
        rate: Array,
        rate_now: Array,
        R_reference: Array | None,
        feet: Feet | None,
    ) -> BaseEstimate:
        observer, view, track = self.observer, self.view, self.track
        R_BI, p_BI, bias = view.R_BI, view.p_BI, observer.bias
        w_B = R_BI @ (rate - bias) - self._imu_turning(h)
        up_B = R_BI @ observer.vertical
        track.turn(h, w_B, up_B, R_reference)
        w_now = R_BI @ (rate_now - bias) - self._imu_rate
        of_imu = observer.uncertainty
        S = skew(p_BI)
        lever = S @ R_BI
        velocity_covariance = R_BI @ of_imu.velocity @ R_BI.T + lever @ of_imu.bias @ lever.T
        v_B = R_BI @ observer.velocity - self._imu_velocity + S @ w_now
        track.move(h, v_B, float(velocity_covariance.trace()) / 3.0)
        if feet is not None:
            track.stand(view.points_B, feet.shares)
        along = float(observer.vertical @ of_imu.bias @ observer.vertical)
        loaded = bool(self.shares.shares.any())
        position_variance = track.position_variance + POSITION_SIGMA**2
        return BaseEstimate(
            BaseState(stamp_ns, quaternion_from_rotation(track.R_WB), track.p_WB, v_B, w_now),
            up_B,
            bias,
            self.shares.in_use,
            observer.residual,
            loaded,
            not loaded,
            R_BI @ of_imu.rotation @ R_BI.T,
            (0.5 * (float(of_imu.bias.trace()) - along), along),
            observer.at_rest,
            tuple(self.shares.forces.tolist()),
            tuple(self.shares.shares.tolist()),
            velocity_covariance,
            position_variance,
        )

    def _imu_turning(self, h: float) -> Array:
        """Mean angular velocity of the IMU relative to the base over the step; keeps it and the velocity."""
        if not self.view.imu_moves or not self._seen:
            return self._imu_rate
        pose = self.view.R_BI, self.view.p_BI
        before, self._pose = self._pose or pose, pose
        self._imu_rate, self._imu_velocity = log_so3(pose[0] @ before[0].T) / h, (pose[1] - before[1]) / h
        return self._imu_rate

    def calibrate_gyro(self) -> None:
        """Make the gyroscope's bias uncertain, so that the next rest determines it again."""
        self.observer.doubt_bias()

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last look; empty before the first one."""
        if not self._seen or self.observer.aligning:
            return ()
        up_B = self.view.R_BI @ self.observer.vertical
        forces = np.nan_to_num(self.shares.forces)[:, None] * up_B
        rows = zip(self.shares.names, self.view.points_B, forces, self.shares.shares, strict=True)
        return tuple(ContactLoad(name, tuple(p), tuple(f), float(s)) for name, p, f, s in rows)

    @property
    def imu_alone(self) -> bool:
        """Whether the robot has no contacts by its parameters."""
        return not self.shares.names

    @property
    def clipped(self) -> bool:
        """Whether the gyroscope is at the end of its range."""
        return bool(self._clipped.any())

    @property
    def tilt_sigma(self) -> float:
        """Standard deviation of the direction of the vertical [rad]."""
        P, z = self.observer.uncertainty.rotation, self.observer.vertical
        return math.sqrt(max(float(np.trace(P) - z @ P @ z), 0.0))

    @property
    def gyro_bias(self) -> tuple[Array, float]:
        """Bias of the gyroscope and its standard deviation, mean over the axes [rad/s]."""
        return self.observer.bias, math.sqrt(float(np.trace(self.observer.uncertainty.bias)) / 3.0)
