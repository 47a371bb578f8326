"""One run of a legged robot in a closed loop: a motion is commanded, truth and estimates are recorded.

What is tracked is judged by the truth. The reference of the DCM is fixed to the feet as the controller
believes it to lie relative to the base; it is carried into the world by the true pose of the base, turned by
the error of the estimated orientation: so that a wrong tilt counts as an error of the DCM.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop
from inertial_estimation.closed_loop.time_series import TimeSeries
from inertial_estimation.control.control_result import ControlState
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array, BaseReference, BaseState
from inertial_estimation.simulation.ground_truth import GroundTruth
from inertial_estimation.spatial.minimum_jerk import minimum_jerk_derivatives
from inertial_estimation.spatial.rotations import exp_so3, rotation_from_quaternion

ON_GROUND, IN_AIR = 50.0, 10.0  # vertical force of a foot [N]
SHORTEST_SWING = 0.3  # in the air for less than this is a bounce [s]
FORCE_PREFIX = "force_"  # begins the names of the columns with the feet's forces


class ReferenceMotion(Protocol):
    """The motion commanded to a robot."""

    @property
    def duration_s(self) -> float:
        """Length of the run, from the release on [s]."""

    def command(self, loop: ClosedLoop) -> None:
        """Push the current references; called after every tick."""


@dataclass(frozen=True, slots=True)
class Lean:
    """Pitch the base forward and back by minimum jerk, half of the time each.

    Attributes:
        angle: Largest commanded pitch, positive forward [rad].
        begin_s: When it begins [s].
        moving_s: Time there and back [s].
        duration_s: Length of the run [s].
    """

    angle: float
    begin_s: float = 1.0
    moving_s: float = 2.0
    duration_s: float = 5.0

    def pitch(self, time_s: float) -> tuple[float, float]:
        """Return pitch [rad] and its rate [rad/s] at a time since the release."""
        half = 0.5 * self.moving_s
        t = time_s - self.begin_s
        u = min(1.0, max(0.0, (t if t < half else self.moving_s - t) / half))
        share, slope, _ = minimum_jerk_derivatives(u)
        rate = math.copysign(slope / half, half - t)
        return self.angle * share, self.angle * rate

    def command(self, loop: ClosedLoop) -> None:
        """Ask for the pitch of now; the height stays."""
        last = loop.controller.last
        if last is None or loop.time_s < self.begin_s:
            return
        pitch, rate = self.pitch(loop.time_s)
        loop.controller.push_base_reference(BaseReference(last.height_ref, pitch=pitch, pitch_rate=rate))


@dataclass(frozen=True, slots=True, eq=False)
class BalanceRun:
    """What one run gave.

    Attributes:
        fallen: Whether the robot fell; the run ends there.
        damped: Ticks for which the controller had no solution.
        feet: Names of the columns with the vertical force of each foot.
        columns: By name, shape (n,) each: time [s]; pitch of base and chest [rad]; x, y (horizontal parts of
            the vertical in the base, true) and x_hat, y_hat [-]; tilt (error of the estimate), pelvis (angle
            between true vertical and that of the reference) [rad]; height (of the base above the soles
            against the reference), com, dcm (distances from the reference) [m]; ahead, aside (position of
            the base) [m]; accelerometer [m/s^2]; the forces [N].
    """

    fallen: bool
    damped: int
    feet: tuple[str, ...]
    columns: dict[str, Array]


def balance_run(
    loop: ClosedLoop, motion: ReferenceMotion, waist_pitch: str = "", *, hoist_s: float = HOIST_S
) -> BalanceRun:
    """Release the robot, command the motion, and record until its end or a fall.

    Args:
        loop: A floating-base robot on its hoist.
        motion: What to do.
        waist_pitch: Joint about y between base and chest; empty for none.
        hoist_s: Time on the hoist before [s].

    Returns:
        The record.
    """
    loop.release(hoist_s)
    recorder = _Recorder(loop, waist_pitch)

    def tick(loop: ClosedLoop) -> None:
        motion.command(loop)
        recorder.record(loop)

    loop.run(motion.duration_s, tick)
    feet = tuple(name for name in recorder.series.names if name.startswith(FORCE_PREFIX))
    return BalanceRun(loop.simulation.fallen, recorder.damped, feet, dict(recorder.series.columns()))


def steps_landed(time: Array, forces: list[Array], since: float) -> int:
    """Count touchdowns by the true forces: a foot that was in the air for a while is loaded again.

    Args:
        time: [s], shape (n,).
        forces: Vertical force of each foot [N], shape (n,) each.
        since: Touchdowns before this do not count [s].
    """
    count = 0
    for force in forces:
        left: float | None = None
        for t, f in zip(time.tolist(), force.tolist(), strict=True):
            if left is None and f < IN_AIR:
                left = t
            elif left is not None and f > ON_GROUND:
                count += t - left > SHORTEST_SWING and t > since
                left = None
    return count


class _Recorder:
    """Truth against estimate and reference, tick by tick."""

    def __init__(self, loop: ClosedLoop, waist_pitch: str) -> None:
        self.series = TimeSeries()
        self.damped = 0
        self._waist = loop.simulation.robot.joint_index(waist_pitch) if waist_pitch else None
        truth = loop.simulation.truth()
        self._start = truth.base.p_WB
        self._waist_home = self._waist_angle(truth)
        self._com_ref: Array | None = None
        self._last_s = 0.0

    def record(self, loop: ClosedLoop) -> None:
        """Append a row."""
        truth, last = loop.simulation.truth(), loop.controller.last
        assert last is not None
        if last.state is not ControlState.CONTROL:
            self.damped += 1
            return
        R_WB = rotation_from_quaternion(truth.base.quaternion_xyzw)
        believed = loop.base.state if loop.tilt is not None and loop.base is not None else truth.base
        R_hat = rotation_from_quaternion(believed.quaternion_xyzw)
        up, up_hat = R_WB[2], R_hat[2]
        roll, pitch = loop.controller.controller.references.tilt.position
        up_ref = (exp_so3(np.array([0.0, pitch, 0.0])) @ exp_so3(np.array([roll, 0.0, 0.0])))[2]
        dcm_ref = _dcm_reference(truth.base, R_WB @ R_hat.T, last.dcm_ref, last.height)
        omega = math.sqrt(STANDARD_GRAVITY / float(last.com[2] + last.height))
        true_pitch = math.atan2(R_WB[0, 2], R_WB[2, 2])
        ahead, aside, _ = truth.base.p_WB - self._start
        self.series.add(
            loop.time_s,
            pitch=true_pitch,
            chest=true_pitch + self._waist_angle(truth) - self._waist_home,
            x=up[0],
            y=up[1],
            x_hat=up_hat[0],
            y_hat=up_hat[1],
            tilt=_angle(up, up_hat),
            pelvis=_angle(up, up_ref),
            height=last.height - last.height_ref,
            com=self._com_error(loop.time_s, truth.com_W[:2], dcm_ref, omega),
            dcm=float(np.hypot(*(truth.com_W[:2] + truth.com_velocity_W[:2] / omega - dcm_ref))),
            ahead=ahead,
            aside=aside,
            accelerometer=float(np.linalg.norm(loop.imu.specific_force_I)) if loop.imu else math.nan,
            **{FORCE_PREFIX + name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()},
        )

    def _com_error(self, time_s: float, com: Array, dcm_ref: Array, omega: float) -> float:
        """Distance from where the reference of the DCM leads: c_ref' = omega (xi_ref - c_ref)."""
        if self._com_ref is None:
            self._com_ref = com
        else:
            decay = math.exp(-omega * (time_s - self._last_s))
            self._com_ref = dcm_ref + decay * (self._com_ref - dcm_ref)
        self._last_s = time_s
        return float(np.hypot(*(com - self._com_ref)))

    def _waist_angle(self, truth: GroundTruth) -> float:
        return 0.0 if self._waist is None else float(truth.q[self._waist])


def _dcm_reference(base: BaseState, turn: Array, dcm_ref: Array, height: float) -> Array:
    """Return the estimated reference point on the ground, in the world by the true base pose [m]."""
    from_base = turn @ np.array([dcm_ref[0], dcm_ref[1], -height])
    reference: Array = (base.p_WB + from_base)[:2]
    return reference


def _angle(a: Array, b: Array) -> float:
    """Angle between unit vectors [rad]."""
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))
