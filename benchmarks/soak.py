"""A day of data through the estimators in one process, as fast as it goes; nodes that live through restarts.

In process: a TALOS that carries 12 lb rests, moves, and rests again, for ever, with new noise each time; 100
readings a second of every sensor go into a tilt and an inertial pipeline. Watched all the way: resident
memory, |R R' - 1|, eigenvalues of the covariances, the order and age of the stamps, the error of the tilt,
and means of the published masses against the first mean and their own sigma.

    python -m benchmarks.soak --hours 24                      8.64e6 steps
    python -m benchmarks.soak --hours 24 --only tilt          the tilt pipeline alone
    python -m benchmarks.soak --steps 1e5

SIGINT and SIGTERM end such a run early; it is judged by the steps made until then.

Live: nodes at 1 kHz, killed and restarted at random as is their publisher (see benchmarks/live_faults.py);
counted are outputs and stale ones.

    python -m benchmarks.soak --live --minutes 60
"""

import argparse
import contextlib
import itertools
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fault_campaign.pipelines import ADAPTERS, Adapter, flaws
from benchmarks.fault_campaign.scenes import SCENES, START_NS, Recorded, build_pipeline
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.models.closed_stance import ClosedStance
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.inverse_dynamics import IdealSensors
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import SineMotion, random_sines
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseState,
    ImuSample,
    JointReading,
    WrenchSample,
)
from inertial_estimation.simulation.payload import TWELVE_POUNDS, ball
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.synthetic.synthetic_motion import base_motion
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot

RATE_HZ = 100.0
PERIOD_S = 20.0
REST_S = 1.0  # at both ends of a period
LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
REPORTS, REPORT_STEPS = 48, 20_000  # so many reports, or one after so many steps if that is earlier
SETTLING_S = 120.0  # before the masses count
LONGEST_DELAY_S = 0.2  # between a reading and the estimate that carries its stamp
JUDGED_EVERY = 10  # estimates, of which one is judged


@dataclass
class Watch:
    """Largest deviations so far.

    Attributes:
        tilt_steps: Steps of the tilt pipeline.
        inertial_steps: Steps of the inertial pipeline.
        rotation: Largest |R R' - 1|.
        eigenvalue: Lowest eigenvalue of a covariance scaled to a unit diagonal.
        stamps_back: Results stamped no later than the one before.
        stamps_old: Results stamped more than 0.2 s before they came.
        tilt_deg: Largest error of the tilt after the start [deg].
        drift_sigma: Largest distance of a mean mass from the first mean, in the filter's sigma.
        drift_kg: Largest distance of a mean mass from the first mean [kg].
        not_ok: What health said when it was not OK, and how often; sampled once a second of data.
        decisions: Steps of the inertial filter by the decision of its gate.
        flaws: Physical inconsistencies, and how often.
    """

    tilt_steps: int = 0
    inertial_steps: int = 0
    rotation: float = 0.0
    eigenvalue: float = 1.0
    stamps_back: int = 0
    stamps_old: int = 0
    tilt_deg: float = 0.0
    drift_sigma: float = 0.0
    drift_kg: float = 0.0
    not_ok: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)
    flaws: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Instant:
    """Ideal readings at one time of the period, with the true base state."""

    q: Array
    v: Array
    tau: Array
    force: Array
    rate: Array
    wrenches: Array
    quaternion: Array
    position: Array
    twist: Array


class EndlessMotion:
    """A period of motion of a robot that carries a load, played for ever with new noise.

    Attributes:
        robot: The robot.
        data: The truth, for the adapters.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        """Compute one period."""
        spec = synthetic_robot("talos")
        self.robot = RobotModel.from_urdf(read_urdf(spec.urdf))
        self.contacts, self._rng = tuple(spec.contacts), rng
        load = ball(spec.payload_link, TWELVE_POUNDS, spec.payload_com_L)
        stance = ClosedStance(self.robot, list(spec.contacts.values()), spec.motion.posture)
        sensors = IdealSensors(
            self.robot,
            imu=ImuMount.on(self.robot, spec.imu_link),
            contact_frames=list(spec.contacts.values()),
            point_contacts=stance.point_frames,
            payloads=(load,),
        )
        reach = np.zeros(self.robot.n_joints)
        for name, distance in spec.motion.reach.items():
            reach[self.robot.joint_index(name)] = distance
        base = self._motion(np.zeros(6), np.array(spec.motion.base_reach))
        joints = self._motion(stance.posture, reach)
        self._instants = []
        for t in np.arange(0.0, PERIOD_S, 1.0 / RATE_HZ).tolist():
            state = stance.close(*base_motion(base, t), joints.at(t))
            ideal = sensors.read(state)
            self._instants.append(
                Instant(
                    *(self.robot.joint_positions(state.q), state.v[6:], ideal.tau),
                    *(ideal.specific_force_I, ideal.angular_rate_I, ideal.wrenches_C),
                    *(state.q[3:7], state.q[:3], state.v[:6]),
                )
            )
        masses = {link: self.robot.link_body(link).nominal_J.mass for link in LINKS}
        masses[spec.payload_link] += TWELVE_POUNDS
        self.data = Recorded((), np.zeros(1), np.zeros((1, 3)), masses)

    def _motion(self, centre: Array, reach: Array) -> SineMotion:
        motion = random_sines(centre, reach, self._rng, rest_s=REST_S)
        return replace(motion, end_s=PERIOD_S - REST_S)

    def __iter__(self) -> Iterator[tuple[int, Instant]]:
        """Yield stamps [ns] and instants, without an end."""
        count = 0
        while True:
            yield START_NS + round(count * NANOSECONDS / RATE_HZ), self._instants[count % len(self._instants)]
            count += 1

    def readings(self, stamp: int, instant: Instant) -> tuple[Any, ...]:
        """Return noisy readings: IMU, joints, wrenches by contact, base state."""
        n, noise = len(instant.q), REALISTIC
        white = self._rng.normal(size=(3, n))
        few = self._rng.normal(size=(6, 6))
        imu = ImuSample(
            stamp,
            instant.force + noise.specific_force * few[0, :3],
            instant.rate + np.array(noise.angular_rate_bias) + noise.angular_rate * few[0, 3:],
        )
        joints = JointReading(
            stamp,
            self.robot.joint_names,
            instant.q + noise.position * white[0],
            instant.v + noise.velocity * white[1],
            instant.tau + noise.effort * white[2],
        )
        sigma = np.repeat([noise.force, noise.torque], 3)
        wrenches = [WrenchSample(stamp, w + sigma * few[1 + k]) for k, w in enumerate(instant.wrenches)]
        twist = instant.twist + 1e-3 * few[5]
        base = BaseState(stamp, instant.quaternion, instant.position, twist[:3], twist[3:])
        return imu, joints, dict(zip(self.contacts, wrenches, strict=True)), base


class Soak:
    """Both estimators on an endless motion.

    Attributes:
        steps: Readings of each sensor fed so far.
        watch: What has been seen.
        memory: Steps made and resident memory [MB], sampled.
        eigenvalues: Steps made and the lowest eigenvalue since the sample before.
    """

    def __init__(self, seed: int, memory: float | None = None, only: str = "") -> None:
        """Build the pipelines and the motion.

        Args:
            seed: Of motion and noise.
            memory: Parameter `prior.memory` [s]; None: as shipped.
            only: "tilt" or "inertial", the pipeline that is fed; empty: both.
        """
        self.steps = 0
        self.watch = Watch()
        self.memory: list[tuple[int, float]] = []
        self.eigenvalues: list[tuple[int, float]] = []
        self._motion = EndlessMotion(np.random.default_rng(seed))
        self._stream = iter(self._motion)
        self._lowest = 1.0  # eigenvalue since the last report
        data = self._motion.data
        self._fed = (only,) if only else ("tilt", "inertial")
        self._tilt = ADAPTERS["tilt"](build_pipeline(SCENES["talos_moving"]), data)
        arms = replace(SCENES["talos_arms"], overrides={"prior.memory": memory} if memory else {})
        self._inertial = ADAPTERS["inertial"](build_pipeline(arms), data)
        self._last = {"tilt": 0, "inertial": 0}
        self._masses: list[Array] = []
        self._sigma = np.ones(len(LINKS))
        self._first: Array | None = None

    @property
    def inertial(self) -> InertialPipeline:
        """The inertial pipeline."""
        pipeline: InertialPipeline = self._inertial.pipeline
        return pipeline

    def run(self, steps: int) -> None:
        """Feed a number of readings of each sensor, and report now and then."""
        begin, report = time.perf_counter(), max(1, min(steps // REPORTS, REPORT_STEPS))
        for count, (stamp, instant) in enumerate(itertools.islice(self._stream, steps), start=1):
            self._feed(stamp, instant)
            self.steps += 1
            if count % report == 0:
                self._report(self.steps, count / (time.perf_counter() - begin))

    def run_periods(self, periods: int) -> None:
        """Feed the readings of whole periods of the motion without a report."""
        for stamp, instant in itertools.islice(self._stream, periods * round(PERIOD_S * RATE_HZ)):
            self._feed(stamp, instant)
            self.steps += 1

    def _feed(self, stamp: int, instant: Instant) -> None:
        imu, joints, wrenches, base = self._motion.readings(stamp, instant)
        for adapter in self._adapters:
            adapter.pipeline.push_imu(imu)
            adapter.pipeline.push_joints(joints)
            for contact, wrench in wrenches.items():
                adapter.pipeline.push_wrench(contact, wrench)
        if not self.steps % round(RATE_HZ):
            self._sample_health(stamp)
        settled = stamp - START_NS > SETTLING_S * NANOSECONDS
        if "tilt" in self._fed:
            for result in self._tilt.pipeline.tick(stamp):
                self.watch.tilt_steps += 1
                self._order("tilt", result.state.stamp_ns, stamp)
                self._judge_tilt(result, instant, settled=settled)
        if "inertial" in self._fed:
            self.inertial.push_base_state(base)
            for result in self.inertial.tick(stamp):
                self.watch.inertial_steps += 1
                self._order("inertial", result.stamp_ns, stamp)
                self._judge_masses(result, settled=settled)

    @property
    def _adapters(self) -> list[Adapter]:
        """Those of the pipelines that are fed."""
        found = {"tilt": self._tilt, "inertial": self._inertial}
        return [found[name] for name in self._fed]

    def _order(self, pipeline: str, result_ns: int, now_ns: int) -> None:
        self.watch.stamps_back += result_ns <= self._last[pipeline]
        self.watch.stamps_old += not 0 <= now_ns - result_ns <= LONGEST_DELAY_S * NANOSECONDS
        self._last[pipeline] = result_ns

    def _judge_tilt(self, result: Any, instant: Instant, *, settled: bool) -> None:
        watch = self.watch
        if watch.tilt_steps % JUDGED_EVERY:
            return
        R = np.array(rotation_from_quaternion(result.state.quaternion_xyzw))
        watch.rotation = max(watch.rotation, float(np.abs(R @ R.T - np.eye(3)).max()))
        if settled:
            up = np.array(rotation_from_quaternion(instant.quaternion))[2]
            error = self._tilt.error(result.tilt_B[None], up[None])[0]
            watch.tilt_deg = max(watch.tilt_deg, float(error))
        if watch.tilt_steps % 100 == 0:
            self._covariance(result.tilt_covariance_B)
            self._flaw(flaws([self._tilt.content(result)]))

    def _judge_masses(self, result: Any, *, settled: bool) -> None:
        if self.watch.inertial_steps % JUDGED_EVERY:
            return
        if settled:
            self._masses.append(self._inertial.published(self._inertial.estimate(result)[None])[0])
        if self.watch.inertial_steps % 100:
            return
        by_name = {link.published.link: link for link in result.links}
        self._sigma = np.sqrt([by_name[name].covariance[0, 0] for name in self._motion.data.masses])
        for link in result.links:
            self._covariance(link.covariance)
        self._flaw(flaws([self._inertial.content(result)]))

    def _covariance(self, P: Array) -> None:
        deviation = np.sqrt(P.diagonal())
        lowest = float(np.linalg.eigvalsh(P / np.outer(deviation, deviation))[0])
        self.watch.eigenvalue = min(self.watch.eigenvalue, lowest)
        self._lowest = min(self._lowest, lowest)

    def _flaw(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.watch.flaws[text] = self.watch.flaws.get(text, 0) + 1

    def _sample_health(self, now_ns: int) -> None:
        for adapter in self._adapters:
            for entry in adapter.pipeline.health(now_ns):
                if entry.level and self.steps > RATE_HZ:
                    text = f"{entry.name}: {entry.message}"
                    self.watch.not_ok[text] = self.watch.not_ok.get(text, 0) + 1

    def _report(self, count: int, speed: float) -> None:
        watch = self.watch
        self.memory.append((count, resident_mb()))
        self.eigenvalues.append((count, self._lowest))
        self._lowest = 1.0
        decided = self.inertial.estimator.record.by_decision
        watch.decisions = {decision.value: steps for decision, steps in decided.items()}
        if self._masses:
            mean = np.mean(self._masses, axis=0)
            self._masses = []
            self._first = mean if self._first is None else self._first
            off = np.abs(mean - self._first)
            watch.drift_kg = max(watch.drift_kg, float(off.max()))
            watch.drift_sigma = max(watch.drift_sigma, float((off / self._sigma).max()))
        print(
            f"{count:9d} steps {speed:6.0f}/s {self.memory[-1][1]:7.1f} MB  |RR'-1| "
            f"{watch.rotation:.1e}  eigenvalue {self.eigenvalues[-1][1]:.2e}  stamps back "
            f"{watch.stamps_back}, old {watch.stamps_old}  tilt {watch.tilt_deg:.2f} deg  drift "
            f"{watch.drift_sigma:.2f} sigma, {1e3 * watch.drift_kg:.1f} g  "
            f"not OK {sum(watch.not_ok.values())}  {watch.decisions}",
            flush=True,
        )


def resident_mb() -> float:
    """Return the resident memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--hours", type=float, help="of data, at 100 Hz")
    length.add_argument("--steps", type=float, help="of data, at 100 Hz")
    parser.add_argument("--only", default="", choices=("tilt", "inertial"), help="feed this pipeline alone")
    parser.add_argument("--live", action="store_true", help="nodes with restarts, in real time")
    parser.add_argument("--minutes", type=float, default=60.0, help="of the live run")
    parser.add_argument("--rate", type=float, default=1000.0, help="of every sensor in the live run [Hz]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    options = parser.parse_args(arguments)
    if options.live:
        from benchmarks.live_faults import live_soak

        return live_soak(60.0 * options.minutes, options.rate, options.seed, options.output)
    steps = options.steps if options.steps else 3600.0 * RATE_HZ * (options.hours or 24.0)
    soak = Soak(options.seed, only=options.only)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        soak.run(int(steps))
    print(f"{soak.steps} steps of {int(steps)}")
    if options.output:
        series = {"memory": soak.memory, "eigenvalues": soak.eigenvalues}
        found = {"steps": soak.steps, **series, **asdict(soak.watch)}
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    for text, times in {**soak.watch.not_ok, **soak.watch.flaws}.items():
        print(f"{times} times {text}")
    watch = soak.watch
    good = watch.rotation < 1e-12 and watch.eigenvalue > 0.0 and watch.drift_sigma < 2.0
    return 0 if good and not (watch.stamps_back or watch.stamps_old or watch.flaws) else 1


if __name__ == "__main__":
    sys.exit(main())
