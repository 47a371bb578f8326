"""Base orientation, position and twist from aligned readings, one step at a time."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from inertial_estimation.construction import made_of_checked
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.contacts import ContactSource
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array, BaseEstimate, BaseState, ContactLoad
from inertial_estimation.tilt.base_track import BaseTrack, BaseUncertainty, Mounting
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.contact_velocity import LONGEST_INTERVAL, Feet
from inertial_estimation.tilt.feet_sensing import FeetSensing, Joints
from inertial_estimation.tilt.filter import TiltFilter
from inertial_estimation.tilt.foot_radius import foot_radius
from inertial_estimation.tilt.imu_readings import FORCE, RATE, ImuReadings
from inertial_estimation.tilt.observer import Look, TiltObserver
from inertial_estimation.tilt.two_stage import TwoStageObserver

POSITION_SIGMA = 0.01  # of a position that contacts hold [m]
_base_state, _base_estimate = made_of_checked(BaseState), made_of_checked(BaseEstimate)


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
    """Readings of the IMU, contacts, tilt observer and base track, advanced together.

    Attributes:
        config: The parameters in force.
        observer: What estimates velocity and vertical of the IMU.
        feet: Where the contacts are, and which carry the robot.
        readings: Readings of the IMU.
        track: Orientation and position of the base.
        radius: Of round feet [m].
        steps: Number of steps; incomplete_steps: of those with an input missing.
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
        self.config, self.feet = config, FeetSensing(config, setup, sources)
        self.track, self.readings = BaseTrack(), ImuReadings()
        radius = config.contact.radius
        self.radius = radius = foot_radius(setup, urdf) if radius < 0.0 else radius
        self.observer: TiltObserver = (
            TiltFilter(config.filter, radius)
            if config.observer == "filter"
            else TwoStageObserver(config.two_stage, config.filter.startup, radius)
        )
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
        self.feet.reset()
        self.readings.reset()
        self.track.remount()
        self._since_look = 0.0

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
        self.incomplete_steps += not sample.complete
        if h > LONGEST_INTERVAL:  # too long to integrate over
            self.restart()
            h = 0.0
        observer, mean = self.observer, self.readings.add(h, sample.driver)
        self._since_look += h
        feet, looks = None, h > 0.0 and observer.looks(self._since_look)
        if h > 0.0:
            wanted = looks or self.on_step is not None
            feet = self.feet.take(sample, h, joints, inputs, self._up(mean), looks=wanted)
        if self.on_step is not None:
            rate, R_BI = mean[RATE] - observer.state.bias, self.feet.view.R_BI
            self.on_step(
                StepReadings(sample.stamp_ns, h, rate, mean[FORCE], feet, self._up(mean).copy(), R_BI)
            )
        if h <= 0.0:
            return None
        look = None
        if looks:
            look, self._since_look = Look(feet, self.readings.look(observer.state.bias)), 0.0
        observer.step(h, mean, look)
        return None if observer.aligning else self._estimate(sample, h, mean, look, R_reference)

    def _up(self, reading: Array) -> Array:
        """The vertical in the IMU frame, now: estimated, or at the start along the specific force."""
        if not self.observer.aligning:
            return self.observer.state.vertical
        force = reading[FORCE]
        up: Array = force / max(float(np.linalg.norm(force)), 1e-9)
        return up

    def _estimate(
        self, sample: AlignedSample, h: float, mean: Array, look: Look | None, R_reference: Array | None
    ) -> BaseEstimate:
        observer, track, view, use = self.observer, self.track, self.feet.view, self.feet.shares.use
        bias, mounting = observer.state.bias.copy(), Mounting(view.R_BI, view.p_BI)
        now = sample.driver if self.readings.now is None else self.readings.now
        if look is not None:
            track.uncertainty = BaseUncertainty.of(observer.state, mounting)
        motion = track.advance(h, observer.state, mean[RATE], now[RATE], mounting, R_reference)
        if look is not None and look.feet is not None:
            track.stand(view.points_B, look.feet.shares)
        uncertainty = track.uncertainty
        pose = motion.quaternion, motion.p_WB, motion.v_WB_B, motion.w_WB_B
        for part in pose:
            part.setflags(write=False)
        return _base_estimate(
            _base_state(sample.stamp_ns, *pose),
            motion.up_B,
            bias,
            use.names,
            observer.residual,
            bool(use.names),
            not use.names,
            uncertainty.rotation,
            uncertainty.bias,
            self.readings.seen.at_rest,
            use.forces,
            use.shares,
            uncertainty.velocity,
            track.position_variance + POSITION_SIGMA**2,
        )

    def calibrate_gyro(self) -> None:
        """Make the gyroscope's bias uncertain, so that the next rest determines it again."""
        self.observer.doubt_bias()

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last look; empty before the first one."""
        feet, shares = self.feet, self.feet.shares
        if not feet.seen or self.observer.aligning:
            return ()
        forces = np.nan_to_num(shares.forces)[:, None] * self.track.motion.up_B
        rows = zip(shares.names, feet.view.points_B, forces, shares.shares, strict=True)
        return tuple(ContactLoad(name, tuple(p), tuple(f), float(s)) for name, p, f, s in rows)

    @property
    def imu_alone(self) -> bool:
        """Whether the robot has no contacts by its parameters."""
        return not self.feet.shares.names

    @property
    def clipped(self) -> bool:
        """Whether the gyroscope is at the end of its range."""
        return bool(self.readings.seen.clipped.any())

    @property
    def tilt_sigma(self) -> float:
        """Standard deviation of the direction of the vertical [rad]."""
        P, z = self.observer.state.covariance[3:6, 3:6], self.observer.state.vertical
        return math.sqrt(max(float(np.trace(P) - z @ P @ z), 0.0))

    @property
    def gyro_bias(self) -> tuple[Array, float]:
        """Bias of the gyroscope and its standard deviation, mean over the axes [rad/s]."""
        state = self.observer.state
        return state.bias.copy(), math.sqrt(float(np.trace(state.covariance[6:9, 6:9])) / 3.0)
