"""The tilt observer where the ground is no firm floor: slopes, platforms that move, a crane, a fall.

Run from the root of the project: ``python -m benchmarks.unusual_ground``. The readings of a TALOS that moves
on a floor (scene `talos_moving` of the fault campaign) are changed into those on a ground that is turned by
S(t) about the base and accelerates by a(t); the robot keeps its posture on it:

    w' = w + R' S' omega        f' = f + R' (S' (a + g e_z) - g e_z)        up' = R' S' e_z

in base axes, with the orientation R of the base on the floor. Printed are the largest error and that at the
end, the longest time for which it was above 2 deg, the longest for which health was OK meanwhile, and what
was said in that time.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.fault_campaign.judge import longest_run
from benchmarks.fault_campaign.messages import Message
from benchmarks.fault_campaign.scenes import SCENES, build_pipeline, recorded
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel
from inertial_estimation.spatial.rotations import rotation_from_quaternion, rotation_from_roll_pitch_yaw
from inertial_estimation.spatial.vectors import DEGREES

WRONG_DEG = 2.0
BEGIN_S = 3.0  # of what happens, since the first reading
HEALTH_S = 0.05  # between two looks at the health
STEP_S = 1e-4  # of the differences by which the ground's angular velocity is determined
CABLE_M = 3.0  # length of the crane's cable
SWING_HZ = float(np.sqrt(STANDARD_GRAVITY / CABLE_M) / (2.0 * np.pi))


@dataclass(frozen=True)
class Ground:
    """What the ground does, as functions of the time since it began [s].

    Attributes:
        angles: Roll and pitch [rad].
        acceleration: Horizontal and vertical, x and z [m/s^2].
        load: Share of the forces that the feet still bear.
        hangs: Whether the robot hangs on a cable, along which the specific force stays.
    """

    angles: Callable[[float], tuple[float, float]] = lambda t: (0.0, 0.0)
    acceleration: Callable[[float], tuple[float, float]] = lambda t: (0.0, 0.0)
    load: Callable[[float], float] = lambda t: 1.0
    hangs: bool = False


def sine(degrees: float, hertz: float) -> Callable[[float], tuple[float, float]]:
    """Roll that swings, from rest."""
    return lambda t: (degrees / DEGREES * np.sin(2.0 * np.pi * hertz * t), 0.0)


def ramp(degrees: float, time_s: float) -> Callable[[float], tuple[float, float]]:
    """Roll that grows within a time and stays."""

    def angles(t: float) -> tuple[float, float]:
        s = min(max(t / time_s, 0.0), 1.0)
        return degrees / DEGREES * s * s * (3.0 - 2.0 * s), 0.0

    return angles


def push(x: float, z: float, time_s: float) -> Callable[[float], tuple[float, float]]:
    """Constant acceleration for a time."""
    return lambda t: (x, z) if 0.0 <= t < time_s else (0.0, 0.0)


def fading(to: float, begin_s: float = 0.0) -> Callable[[float], float]:
    """Load that falls to a share within 0.3 s."""
    return lambda t: 1.0 + (to - 1.0) * min(max((t - begin_s) / 0.3, 0.0), 1.0)


def always(degrees: float) -> Callable[[float], tuple[float, float]]:
    """A slope, from the first reading on."""
    return lambda t: (degrees / DEGREES, 0.5 * degrees / DEGREES)


GROUNDS = {
    "slope of 10 deg": Ground(always(9.0)),
    "slope of 28 deg": Ground(always(25.0)),
    "platform tilts by 10 deg in 5 s": Ground(ramp(10.0, 5.0)),
    "platform tilts by 10 deg in 0.5 s": Ground(ramp(10.0, 0.5)),
    "ship: 8 deg at 0.12 Hz": Ground(sine(8.0, 0.12)),
    "platform: 3 deg at 1 Hz": Ground(sine(3.0, 1.0)),
    "platform: 6 deg at 2 Hz": Ground(sine(6.0, 2.0)),
    "train: 0.3 m/s^2 for 4 s": Ground(acceleration=push(0.3, 0.0, 4.0)),
    "train: 1 m/s^2 for 3 s": Ground(acceleration=push(1.0, 0.0, 3.0)),
    "train: 2.5 m/s^2 for 1 s": Ground(acceleration=push(2.5, 0.0, 1.0)),
    "lift: 1 m/s^2 for 1 s": Ground(acceleration=push(0.0, 1.0, 1.0)),
    "crane, hangs still": Ground(load=fading(0.0), hangs=True),
    "crane, swings by 8 deg": Ground(sine(8.0, SWING_HZ), load=fading(0.0), hangs=True),
    "crane bears half": Ground(load=fading(0.5)),
    "falls on its side in 0.8 s": Ground(ramp(90.0, 0.8), load=fading(0.0, 0.3)),
    "kneels: a fifth on its feet": Ground(load=fading(0.2)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(GROUNDS), choices=list(GROUNDS))
    print(f"{'':36s} error [deg]: largest, end   wrong [s]   and OK [s]   said")
    for name in parser.parse_args().only:
        error, at_end, wrong_s, wrong_ok_s, said = judged(GROUNDS[name])
        figures = f"{error:10.2f} {at_end:10.2f} {wrong_s:13.2f} {wrong_ok_s:11.2f}"
        print(f"{name:36s} {figures}    {said}", flush=True)


def judged(ground: Ground) -> tuple[float, float, float, float, str]:
    """Run the pipeline on a ground."""
    scene = replace(SCENES["talos_moving"], streams=("imu", "joints", "wrench", "base_state"))
    data, pipeline = recorded(scene).messages, build_pipeline(scene)
    world = World(ground, pipeline, data)
    errors: list[tuple[int, float]] = []
    ok: list[tuple[int, bool]] = []
    said: dict[str, None] = {}
    next_ns = 0
    for reading in data:
        kind, _, contact = reading.stream.partition(":")
        if kind == "base_state":
            continue
        sample = world.sample(reading)
        if kind == "wrench":
            pipeline.push_wrench(contact, sample)
        else:
            getattr(pipeline, f"push_{kind}")(sample)
        for estimate in pipeline.tick(reading.clock_ns):
            stamp = estimate.state.stamp_ns
            angle = angles_between(estimate.tilt_B[None], world.up_B(stamp)[None])[0]
            errors.append((stamp, DEGREES * float(angle)))
        if reading.clock_ns >= next_ns:
            next_ns = reading.clock_ns + round(HEALTH_S * NANOSECONDS)
            entries = [e for e in pipeline.health(reading.clock_ns) if e.level is not HealthLevel.OK]
            ok.append((reading.clock_ns, not entries))
            if world.time_s(reading.clock_ns) > 0.0 and errors and errors[-1][1] > WRONG_DEG:
                said |= {f"{e.name}: {e.message}": None for e in entries}
    after = [(stamp, error) for stamp, error in errors if world.time_s(stamp) > 0.0]
    times, values = np.array([t for t, _ in after]), np.array([e for _, e in after])
    wrong_ok = [good and at_error(times, values, t) > WRONG_DEG for t, good in ok]
    return (
        *(float(values.max()), float(values[-1])),
        *(
            longest_run(times, values > WRONG_DEG),
            longest_run(np.array([t for t, _ in ok]), np.array(wrong_ok)),
        ),
        "; ".join(said)[:160],
    )


def at_error(times_ns: Array, errors: Array, now_ns: int) -> float:
    """Return the error of the last estimate [deg]; zero where it is older than 0.1 s."""
    k = int(np.searchsorted(times_ns, now_ns, side="right")) - 1
    fresh = k >= 0 and now_ns - times_ns[k] < 0.1 * NANOSECONDS
    return float(errors[k]) if fresh else 0.0


class World:
    """Readings on a ground that is no firm floor, and the true vertical."""

    def __init__(self, ground: Ground, pipeline: TiltPipeline, data: tuple[Message, ...]) -> None:
        setup = robot_from_config(pipeline.config.robot, RobotLoop("talos").urdf)
        assert setup.imu is not None
        self._kinematics = ContactKinematics(setup.robot, setup.contacts, setup.imu)
        self._ground, self._begin_ns = ground, data[0].sample.stamp_ns
        names = next(r.sample.names for r in data if r.stream == "joints")
        self._order = [names.index(name) for name in setup.robot.joint_names]
        self._R_BI = np.eye(3)
        base = [r.sample for r in data if r.stream == "base_state"]
        self._stamps = np.array([sample.stamp_ns for sample in base])
        self._bases = [np.array(rotation_from_quaternion(sample.quaternion_xyzw)) for sample in base]

    def time_s(self, stamp_ns: int) -> float:
        """Return the time since something happens [s]; negative before."""
        return (stamp_ns - self._begin_ns) / NANOSECONDS - BEGIN_S

    def up_B(self, stamp_ns: int) -> Array:
        """Return the true vertical in the base frame."""
        up: Array = (self._S(self.time_s(stamp_ns)) @ self._base(stamp_ns))[2]
        return up

    def sample(self, reading: Message) -> object:
        """Return a sample as it is on this ground."""
        sample, t = reading.sample, self.time_s(reading.sample.stamp_ns)
        if reading.stream.startswith("wrench"):
            share = self._ground.load(t) if t > 0.0 else 1.0
            return replace(sample, wrench_F=share * sample.wrench_F)
        if reading.stream == "joints":
            q = sample.position[self._order]
            self._R_BI = np.array(self._kinematics.update(q, 0.0 * q).R_BI)
        if reading.stream != "imu":
            return sample
        S, R = self._S(t), self._base(sample.stamp_ns)
        turned = (self._S(t + STEP_S) - self._S(t - STEP_S)) / (2.0 * STEP_S) @ S.T
        omega = np.array([turned[2, 1], turned[0, 2], turned[1, 0]])
        x, z = self._ground.acceleration(t) if t > 0.0 else (0.0, 0.0)
        felt = S.T @ np.array([x, 0.0, z + STANDARD_GRAVITY])
        if self._ground.hangs and t > 0.0:
            felt = np.array([0.0, 0.0, STANDARD_GRAVITY * S[2, 2] + CABLE_M * float(omega @ omega)])
        felt[2] -= STANDARD_GRAVITY
        return replace(
            sample,
            specific_force_I=sample.specific_force_I + self._R_BI.T @ R.T @ felt,
            angular_rate_I=sample.angular_rate_I + self._R_BI.T @ R.T @ S.T @ omega,
        )

    def _S(self, t: float) -> Array:
        starts_turned = self._ground.angles(-1.0) == self._ground.angles(0.0)
        roll, pitch = self._ground.angles(t) if t > 0.0 or starts_turned else (0.0, 0.0)
        return np.array(rotation_from_roll_pitch_yaw(roll, pitch, 0.0))

    def _base(self, stamp_ns: int) -> Array:
        k = int(np.searchsorted(self._stamps, stamp_ns))
        return self._bases[min(k, len(self._bases) - 1)]


if __name__ == "__main__":
    main()
