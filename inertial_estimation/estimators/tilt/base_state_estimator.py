"""One step of the tilt observer: aligned readings in, base orientation, position and twist out."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.estimators.tilt.base_state import BasePosition
from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasEstimator
from inertial_estimation.estimators.tilt.tilt_config import (
    TiltPipelineConfig,
    make_observer,
    set_observer_gains,
)
from inertial_estimation.estimators.tilt.tilt_uncertainty import TiltUncertainty
from inertial_estimation.estimators.tilt.yaw import YawTracker
from inertial_estimation.models.contacts import (
    ContactKinematics,
    ContactLoad,
    ContactMotion,
    ContactTrigger,
    KinematicState,
    anchor_velocity,
    centre_of_pressure,
    normalised_weights,
)
from inertial_estimation.models.imu import base_twist
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, BaseEstimate, BaseState, frozen_array
from inertial_estimation.spatial.rotations import quaternion_from_rotation
from inertial_estimation.spatial.vectors import (
    ZERO,
    Matrix,
    Vector,
    add,
    combine,
    cross,
    dot,
    norm,
    rotate,
    times,
)

__all__ = ["BaseStateEstimator"]

ONLINE_SHARE = 0.1  # of the observer's slowest rate: the bias loop stays far slower than the tilt loop


class BaseStateEstimator:
    """Observer, gyro bias, yaw and base position, advanced together.

    Attributes:
        observer: The tilt observer.
        bias: The gyro bias estimator.
        contacts: Names of the contacts in use at the last step.
        ready: Whether the startup is over and steps give estimates.
    """

    def __init__(
        self, config: TiltPipelineConfig, robot: RobotModel, contacts: Sequence[ContactFrames]
    ) -> None:
        self._config = config
        self._names = tuple(contact.name for contact in contacts)
        self._kinematics = ContactKinematics(robot, contacts, config.robot.imu_frame)
        self.observer = make_observer(config)
        self.bias = GyroBiasEstimator(config.bias)
        self.uncertainty = TiltUncertainty(config.uncertainty)
        self._yaw = YawTracker()
        self._position = BasePosition(len(contacts))
        self._triggers = [ContactTrigger() for _ in contacts]
        self.reset()

    def reset(self) -> None:
        """Forget everything, the gyro bias included."""
        self.bias.reset()
        self.restart()

    def restart(self) -> None:
        """Find tilt and position anew, as after a gap in the readings; the gyro bias still holds."""
        self.bias.clear_window()
        self.uncertainty.reset()
        self._position.reset()
        for trigger in self._triggers:
            trigger.reset()
        self._centres: list[Vector] = [ZERO] * len(self._names)  # of pressure, of each contact
        self.contacts: tuple[str, ...] = ()
        self.ready = False
        self._elapsed = 0.0
        self._startup_steps = 0
        self._joint_velocity: Array | None = None
        self._startup_force = ZERO
        self._previous_imu: tuple[Vector, Vector] | None = None
        self._previous: KinematicState | None = None  # at the last step, where its joints were there
        self._known: KinematicState | None = None  # the last one there was
        self._weights: tuple[float, ...] = (0.0,) * len(self._names)
        self._wrenches: Sequence[Array] | None = None  # the last there were, each in its wrench frame

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Where the ground pushes and how, at the last step with joints and wrenches; none before."""
        if self._known is None or self._wrenches is None:
            return ()
        known, loads = self._known, []
        rows = zip(self._names, known.contacts, self._centres, self._wrenches, self._weights, strict=True)
        for name, motion, centre, wrench_F, weight in rows:
            point_B = add(known.p_BI, times(known.R_BI, _point(motion, centre)))
            fx, fy, fz, *_moment = _in_contact_frame(motion, wrench_F)
            force_B = times(known.R_BI, times(motion.R_IC, (fx, fy, fz)))
            loads.append(ContactLoad(name, point_B, force_B, weight))
        return tuple(loads)

    def set_config(self, config: TiltPipelineConfig) -> None:
        """Take over changed run-time parameters; the state is kept."""
        self._config = config
        self.bias.config = config.bias
        set_observer_gains(self.observer, config)

    def step(
        self,
        stamp_ns: int,
        h: float,
        imu: Array,
        joints: tuple[Array, Array] | None,
        wrenches: Sequence[Array] | None,
        R_reference: Matrix | None,
    ) -> BaseEstimate | None:
        """Advance by one step.

        Args:
            stamp_ns: Stamp the estimate carries [ns].
            h: Time since the last step [s]; ignored at the first.
            imu: Specific force then rate, shape (6,).
            joints: Positions and velocities, shape (n_joints,) each; None where missing.
            wrenches: One per contact, in its wrench frame, shape (6,); None where one is missing.
            R_reference: Orientation of the base from elsewhere; None where there is none.

        Returns:
            The estimate; None during startup and where joints or wrenches are missing (the state is then
            propagated by the IMU).
        """
        fx, fy, fz, wx, wy, wz = imu.tolist()
        force, rate = (fx, fy, fz), (wx, wy, wz)
        mean_force, mean_rate = self._mean_imu(force, rate)
        self._previous_imu = (force, rate)
        state = self._kinematics.update(*joints) if joints is not None else None
        if not self.ready:
            self._start_up(h, force, mean_rate, state, wrenches)
            self._previous = state
            return None
        b = self.bias.bias
        w = (mean_rate[0] - b[0], mean_rate[1] - b[1], mean_rate[2] - b[2])
        usable = state is not None and wrenches is not None
        y_v = self._contact_velocity(state, wrenches, w, h) if usable else None
        self.observer.step(h, w, mean_force, y_v)
        self._learn_bias(h, rate, force, joints)
        self._previous = state
        return self._estimate(stamp_ns, h, rate, w, state, R_reference, fresh=usable)

    def _mean_imu(self, force: Vector, rate: Vector) -> tuple[Vector, Vector]:
        """Mean reading over the step, by the trapezoidal rule."""
        if self._previous_imu is None:
            return force, rate
        f0, w0 = self._previous_imu
        return (
            (0.5 * (f0[0] + force[0]), 0.5 * (f0[1] + force[1]), 0.5 * (f0[2] + force[2])),
            (0.5 * (w0[0] + rate[0]), 0.5 * (w0[1] + rate[1]), 0.5 * (w0[2] + rate[2])),
        )

    def _start_up(
        self,
        h: float,
        force: Vector,
        rate: Vector,
        state: KinematicState | None,
        wrenches: Sequence[Array] | None,
    ) -> None:
        """Average the accelerometer, carried along by the gyroscope, then start the observer."""
        if self._startup_steps > 0:
            self._elapsed += h
            turn = (-h * rate[0], -h * rate[1], -h * rate[2])
            self._startup_force = add(rotate(turn, self._startup_force), force)
        else:
            self._startup_force = force
        self._startup_steps += 1
        if self._elapsed < self._config.startup or state is None or wrenches is None:
            return
        if norm(self._startup_force) == 0.0:
            return
        self.observer.initialise(ZERO, self._startup_force)
        y_v = self._contact_velocity(state, wrenches, rate, h)
        if y_v is not None:
            self.observer.initialise(y_v, self.observer.x2)
        self._yaw.reset(times(state.R_BI, self.observer.x2))
        self._known = state
        self.ready = True

    def _contact_velocity(
        self,
        state: KinematicState | None,
        wrenches: Sequence[Array] | None,
        w: Vector,
        h: float,
    ) -> Vector | None:
        """Weigh the contacts and return the velocity they give, None where none is in use."""
        assert state is not None
        assert wrenches is not None
        self._wrenches = wrenches
        config = self._config.contact
        x2 = self.observer.x2
        forces: list[float] = []
        pressed = config.point == "centre_of_pressure"
        for i, (motion, trigger, wrench_F) in enumerate(
            zip(state.contacts, self._triggers, wrenches, strict=True)
        ):
            wrench_C = _in_contact_frame(motion, wrench_F)
            vertical = dot(x2, times(motion.R_IC, (wrench_C[0], wrench_C[1], wrench_C[2])))
            forces.append(trigger.weight(vertical, config.force_on, config.force_off))
            self._centres[i] = (
                centre_of_pressure(wrench_C, config.extent, self._centres[i]) if pressed else ZERO
            )
        self._weights = normalised_weights(forces)
        self.contacts = tuple(name for name, s in zip(self._names, self._weights, strict=True) if s > 0.0)
        if not self.contacts:
            return None
        points, velocities = self._contact_points(state, self._centres, h)
        return anchor_velocity(points, velocities, self._weights, w)

    def _contact_points(
        self, state: KinematicState, centres: Sequence[Vector], h: float
    ) -> tuple[list[Vector], list[Vector]]:
        """Positions and velocities of the contact points, mean over the step where the last is known."""
        now = [_point(motion, c) for motion, c in zip(state.contacts, centres, strict=True)]
        velocity = [_point_velocity(motion, c) for motion, c in zip(state.contacts, centres, strict=True)]
        if self._previous is None or h > self._config.robot.inputs.max_gap:
            return now, velocity
        before = [_point(motion, c) for motion, c in zip(self._previous.contacts, centres, strict=True)]
        middle = [_mean(a, b) for a, b in zip(before, now, strict=True)]
        if self._config.contact.velocity == "position_difference":
            return middle, [_difference(a, b, h) for a, b in zip(before, now, strict=True)]
        previous = [
            _point_velocity(motion, c) for motion, c in zip(self._previous.contacts, centres, strict=True)
        ]
        return middle, [_mean(a, b) for a, b in zip(previous, velocity, strict=True)]

    def _learn_bias(self, h: float, rate: Vector, force: Vector, joints: tuple[Array, Array] | None) -> None:
        observer = self.observer
        speed = self._smooth_joint_speed(h, joints)
        correction = observer.correction if observer.velocity_aided else None
        fastest = ONLINE_SHARE * observer.convergence_rate
        self.bias.update(h, rate, force, observer.x2, correction, speed, fastest)

    def _smooth_joint_speed(self, h: float, joints: tuple[Array, Array] | None) -> float:
        """Fastest joint between IMU and contacts, velocities low-passed over the window of rest."""
        if joints is None:
            return math.inf
        velocity = joints[1][self._kinematics.joints]
        if self._joint_velocity is None:
            self._joint_velocity = velocity
        share = h / (h + 0.5 * self._config.bias.rest_window)
        self._joint_velocity = self._joint_velocity + share * (velocity - self._joint_velocity)
        return max(map(abs, self._joint_velocity.tolist()), default=0.0)

    def _estimate(
        self,
        stamp_ns: int,
        h: float,
        rate: Vector,
        w_mean: Vector,
        state: KinematicState | None,
        R_reference: Matrix | None,
        *,
        fresh: bool,
    ) -> BaseEstimate | None:
        observer = self.observer
        if state is not None:
            self._known = state
        known = self._known
        assert known is not None
        b = self.bias.bias
        w = (rate[0] - b[0], rate[1] - b[1], rate[2] - b[2])
        x2_B = times(known.R_BI, observer.x2)
        _, w_mean_B = base_twist(ZERO, w_mean, known.R_BI, known.p_BI, known.v_BI_B, known.w_BI_B)
        v_B, w_B = base_twist(observer.x1, w, known.R_BI, known.p_BI, known.v_BI_B, known.w_BI_B)
        self._yaw.step(h, w_mean_B, x2_B, R_reference)
        points = [add(known.p_BI, times(known.R_BI, motion.r_I)) for motion in known.contacts]
        weights = self._weights if fresh else (0.0,) * len(self._names)
        self._position.step(h, self._yaw.R_WB, v_B, points, weights)
        self._doubt(h)
        if not fresh:
            return None
        quaternion = quaternion_from_rotation(np.array(self._yaw.R_WB))
        return BaseEstimate(
            state=BaseState(
                stamp_ns, quaternion, np.array(self._position.p_WB), np.array(v_B), np.array(w_B)
            ),
            tilt_B=frozen_array("tilt_B", x2_B),
            gyro_bias_I=frozen_array("gyro_bias_I", b),
            contacts=self.contacts,
            innovation_I=frozen_array("innovation_I", observer.innovation),
            velocity_aided=observer.velocity_aided,
            gravity_aided=observer.gravity_aided,
            tilt_covariance_B=frozen_array("tilt_covariance_B", self.uncertainty.covariance(x2_B)),
            gyro_bias_variances=(self.bias.variance_horizontal, self.bias.variance_vertical),
            at_rest=self.bias.resting,
        )

    def _doubt(self, h: float) -> None:
        observer, gravity = self.observer, self._config.gravity.gain
        if observer.velocity_aided:
            rate, sensitivity = observer.convergence_rate, observer.bias_sensitivity
        elif observer.gravity_aided:
            rate, sensitivity = gravity, 1.0 / gravity
        else:
            rate, sensitivity = 0.0, 0.0
        self.uncertainty.step(
            h,
            aided_rate=rate,
            bias_sensitivity=sensitivity,
            bias_variances=(self.bias.variance_horizontal, self.bias.variance_vertical),
            yaw_referenced=self._yaw.referenced,
        )


def _in_contact_frame(motion: ContactMotion, wrench_F: Array) -> tuple[float, ...]:
    """Move a wrench from its own frame to the contact frame: f_C = R f, n_C = R n + p x f_C."""
    fx, fy, fz, nx, ny, nz = wrench_F.tolist()
    force = times(motion.R_CF, (fx, fy, fz))
    torque = add(times(motion.R_CF, (nx, ny, nz)), cross(motion.p_CF, force))
    return force + torque


def _point(motion: ContactMotion, c: Vector) -> Vector:
    return motion.r_I if c is ZERO else add(motion.r_I, times(motion.R_IC, c))


def _point_velocity(motion: ContactMotion, c: Vector) -> Vector:
    return motion.v_I if c is ZERO else add(motion.v_I, cross(motion.w_I, times(motion.R_IC, c)))


def _mean(a: Vector, b: Vector) -> Vector:
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


def _difference(a: Vector, b: Vector, h: float) -> Vector:
    x, y, z = combine(b, -1.0, a)
    return x / h, y / h, z / h
