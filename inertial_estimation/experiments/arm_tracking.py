"""A humanoid on both feet tracks random motions of its upper body; its sensors are recorded."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import SineMotion, random_sines
from inertial_estimation.signals import Array, BaseReference, JointReading, seconds

LIMIT_MARGIN = 0.1  # smallest distance from every joint limit [rad]
TRUTH_EVERY = 10  # ticks between two records of the true contacts


@dataclass(frozen=True, eq=False)
class UpperBodyMotion:
    """Random sines of some joints, and small ones of the pelvis.

    Attributes:
        joints: Names of the joints that move.
        joint_sines: Their positions [rad].
        base_sines: Height [m], roll and pitch [rad] of the base, about the stance.
    """

    joints: tuple[str, ...]
    joint_sines: SineMotion
    base_sines: SineMotion

    @classmethod
    def draw(
        cls,
        robot: RobotModel,
        stance: Array,
        rng: Generator,
        *,
        joints: Sequence[str],
        reach: float,
        band_hz: tuple[float, float],
        base_reach: tuple[float, float, float],
        approach_s: float = 2.0,
    ) -> "UpperBodyMotion":
        """Draw a motion within the joints' limits.

        The sines of a joint swing about a centre that is drawn too, at most half the reach away from the
        stance.

        Args:
            robot: The robot.
            stance: Joint positions at the start [rad], shape (n_joints,).
            rng: Source of centres, frequencies and phases.
            joints: Joints that move, by shell pattern.
            reach: Farthest a joint goes from its centre [rad].
            band_hz: Lowest and highest frequency [Hz].
            base_reach: Farthest the base goes: height [m], roll and pitch [rad].
            approach_s: Time on the way to where the sines begin; as long they fade in [s].

        Raises:
            ConfigurationError: If no joint matches.
        """
        names = [n for n in robot.joint_names if any(fnmatch.fnmatchcase(n, p) for p in joints)]
        if not names:
            raise ConfigurationError(
                f"no joint matches {listing(joints)}; the model has {listing(robot.joint_names)}"
            )
        limits = joint_limits(robot)
        picked = [robot.joint_index(name) for name in names]
        low, high = limits.lower[picked] + LIMIT_MARGIN, limits.upper[picked] - LIMIT_MARGIN
        start = np.clip(stance[picked], low, high)
        centre = np.clip(start + 0.5 * reach * rng.uniform(-1.0, 1.0, len(names)), low, high)
        room = np.minimum(reach, np.maximum(centre - low, high - centre) * 0.5)
        centre = np.clip(centre, low + room, high - room)
        joint_sines, base_sines = (
            random_sines(c, r, rng, band_hz=band_hz, rest_s=approach_s, fade_s=approach_s)
            for c, r in ((centre, room), (np.zeros(3), np.array(base_reach)))
        )
        return cls(tuple(names), joint_sines, base_sines)

    @property
    def approach_s(self) -> float:
        """Time on the way to where the sines begin [s]."""
        return self.joint_sines.rest_s

    def command(self, loop: ClosedLoop, height: float) -> None:
        """Push the references of now.

        Args:
            loop: The robot.
            height: Of the base above the soles in the stance [m].
        """
        q, v, _ = self.joint_sines.at(loop.time_s)
        loop.controller.push_joint_reference(JointReading(loop.simulation.stamp_ns, self.joints, q, v))
        x, x1, _ = self.base_sines.at(loop.time_s)
        loop.controller.push_base_reference(
            BaseReference(height + x[0], x[1], x[2], height_rate=x1[0], roll_rate=x1[1], pitch_rate=x1[2])
        )


@dataclass(frozen=True, eq=False)
class Tracking:
    """What one run gave.

    Attributes:
        block: What the sensors read, from the beginning of the sines on.
        fallen: Whether the robot fell; the run ends there.
        flat: Share of the time at which every corner of every sole touched the ground.
        error_rms: Of the joints that were commanded [rad].
    """

    block: SignalBlock
    fallen: bool
    flat: float
    error_rms: float


def track(loop: ClosedLoop, motion: UpperBodyMotion, duration_s: float) -> Tracking:
    """Let a robot track a motion and record its sensors.

    Args:
        loop: The robot, released from its hoist.
        motion: What to do.
        duration_s: For how long [s]; it first goes to where the motion begins, which is not recorded.

    Returns:
        The record.
    """
    robot = loop.simulation.robot
    picked = [robot.joint_index(name) for name in motion.joints]
    recorder = _Recorder()
    errors: list[float] = []
    flat: list[bool] = []
    height = [float("nan")]

    def tick(loop: ClosedLoop) -> None:
        last = loop.controller.last
        assert last is not None
        if np.isnan(height[0]):
            height[0] = last.height_ref
        motion.command(loop, height[0])
        if loop.time_s <= motion.approach_s:
            return
        recorder.record(loop)
        if len(recorder.q) % TRUTH_EVERY == 0:
            truth = loop.simulation.truth()
            flat.append(all(float(depth.min()) > 0.0 for depth in truth.depths.values()))
            wanted = motion.joint_sines.at(loop.time_s)[0]
            errors.append(float(np.mean((truth.q[picked] - wanted) ** 2)))

    loop.run(motion.approach_s + duration_s, tick)
    error_rms = float(np.sqrt(np.mean(errors))) if errors else float("nan")
    return Tracking(recorder.block(), loop.simulation.fallen, float(np.mean(flat)), error_rms)


class _Recorder:
    """Collects readings tick by tick."""

    def __init__(self) -> None:
        self.stamps: list[int] = []
        self.q: list[Array] = []
        self._v: list[Array] = []
        self._tau: list[Array] = []
        self._imu: list[Array] = []
        self._wrenches: list[Array] = []

    def record(self, loop: ClosedLoop) -> None:
        """Append what arrived in the last tick."""
        readings = loop.readings
        if readings is None or readings.joints is None or readings.imu is None:
            raise ConfigurationError("a reading is missing, expected sensors that lose none")
        joints, imu = readings.joints, readings.imu
        assert joints.velocity is not None
        assert joints.effort is not None
        self.stamps.append(readings.stamp_ns)
        self.q.append(joints.position)
        self._v.append(joints.velocity)
        self._tau.append(joints.effort)
        self._imu.append(np.concatenate([imu.specific_force_I, imu.angular_rate_I]))
        self._wrenches.append(np.array([sample.wrench_F for sample in readings.wrenches.values()]))

    def block(self) -> SignalBlock:
        """Return all readings as one stretch."""
        imu = np.array(self._imu)
        step_s = seconds(self.stamps[1] - self.stamps[0])
        return SignalBlock(
            start_ns=self.stamps[0],
            step_s=step_s,
            continues=False,
            q=np.array(self.q),
            v=np.array(self._v),
            tau=np.array(self._tau),
            f_I=imu[:, :3],
            w_I=imu[:, 3:],
            wrenches=np.array(self._wrenches),
        )
