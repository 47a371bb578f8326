"""A day of data through both estimators in one process, as fast as it goes.

A TALOS that carries 5.44 kg moves arms, trunk and pelvis for 20 s, then the same backwards, and so on for
ever with new noise; 100 readings a second of every sensor. Watched all the way: resident memory, eigenvalues
of the covariances, order and age of the stamps, the error of the tilt, health, and the published masses,
whose mean over ten minutes is compared with the first one.

    python -m benchmarks.soak --hours 24                      8.64e6 steps
    python -m benchmarks.soak --hours 24 --only tilt          the tilt pipeline alone

SIGINT and SIGTERM end it early; it is judged by the steps made until then. Exit code 1: something is wrong.
"""

import argparse
import contextlib
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.feed import push
from inertial_estimation import (
    REALISTIC,
    ImuSample,
    JointReading,
    Timing,
    WrenchSample,
    build_pipelines,
    load_configs,
    measure,
    synthetic_truth,
)
from inertial_estimation.simulation.sensor_noise_config import NOISE_FREE

RATE_HZ, PASS_S, START_NS, NANOSECONDS = 100.0, 20.0, 10**18, 10**9
OLD_S, SETTLED_S = 0.2, 120.0  # of a stamp when it is published; before the masses count
REPORT_STEPS, LOOKED_AT = (
    20_000,
    100,
)  # steps from one report to the next; one estimate in so many is examined


def readings(rng: np.random.Generator) -> Iterator[tuple[str, Any, np.ndarray | None]]:
    """Yield topic and noisy reading for ever, and with the IMU's the true vertical in the base frame.

    A motion that is played backwards has velocities and angular rates of the other sign, the same forces and,
    without friction, the same torques.
    """
    truth = synthetic_truth("talos", Timing(PASS_S, RATE_HZ), rng, payload_time_s=0.0)
    once = [entry for entry in measure(truth, NOISE_FREE, rng).messages if "ground" not in entry.topic]
    up_B = [np.array(_rotation(state.q[3:7])[2]) for state in truth.states]
    first, count = int(truth.stamps_ns[0]), len(truth.stamps_ns)
    step_ns, k = round(NANOSECONDS / RATE_HZ), 0
    while True:
        for sign, entries in ((1.0, once), (-1.0, once[::-1])):
            for entry in entries:
                index = round((entry.sample.stamp_ns - first) / step_ns)
                at = k + (index if sign > 0 else count - 1 - index)
                up = up_B[min(index, count - 1)] if isinstance(entry.sample, ImuSample) else None
                yield entry.topic, _noisy(entry.sample, sign, START_NS + at * step_ns, rng), up
            k += count


def _noisy(sample: Any, sign: float, stamp_ns: int, rng: np.random.Generator) -> Any:
    """Return a reading with noise, played forwards or backwards."""
    if isinstance(sample, ImuSample):
        f, w = rng.normal(size=(2, 3)) * [[REALISTIC.specific_force], [REALISTIC.angular_rate]]
        return ImuSample(stamp_ns, sample.specific_force_I + f, sign * sample.angular_rate_I + w)
    if isinstance(sample, JointReading):
        q, v, tau = rng.normal(size=(3, len(sample.names)))
        return replace(
            sample,
            stamp_ns=stamp_ns,
            position=sample.position + REALISTIC.position * q,
            velocity=sign * sample.velocity + REALISTIC.velocity * v,
            effort=sample.effort + REALISTIC.effort * tau,
        )
    sigma = np.repeat([REALISTIC.force, REALISTIC.torque], 3)
    return WrenchSample(stamp_ns, sample.wrench_F + sigma * rng.normal(size=6))


def _rotation(xyzw: np.ndarray) -> np.ndarray:
    x, y, z, w = xyzw
    v = np.array([x, y, z])
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    R: np.ndarray = (w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * skew
    return R


class Watch:
    """What is seen of the estimates.

    Attributes:
        found: Largest deviations and counts by name.
        said: What health said when it was not OK, and how often it was sampled so.
    """

    def __init__(self) -> None:
        self.found: dict[str, float] = dict.fromkeys(
            ("stamps back", "stamps old", "tilt [deg]", "drift [sigma]", "drift [kg]"), 0.0
        )
        self.found["lowest eigenvalue"] = 1.0
        self.said: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._masses: list[np.ndarray] = []
        self._first: np.ndarray | None = None

    def stamp(self, name: str, stamp_ns: int, now_ns: int) -> None:
        """Look at the order and the age of a stamp."""
        self.found["stamps back"] += stamp_ns <= self._last.get(name, 0)
        self.found["stamps old"] += now_ns - stamp_ns > OLD_S * NANOSECONDS
        self._last[name] = stamp_ns

    def largest(self, name: str, value: float) -> None:
        """Keep the largest value."""
        self.found[name] = max(self.found[name], float(value))

    def covariance(self, P: np.ndarray) -> None:
        """Keep the lowest eigenvalue of a covariance scaled to a unit diagonal."""
        deviation = np.sqrt(P.diagonal())
        lowest = float(np.linalg.eigvalsh(P / np.outer(deviation, deviation))[0])
        self.found["lowest eigenvalue"] = min(self.found["lowest eigenvalue"], lowest)

    def masses(self, links: Any) -> None:
        """Compare the mean of many published masses with the first such mean."""
        self._masses.append(np.array([link.published.mass for link in links]))
        if len(self._masses) < 600:
            return
        mean = np.mean(self._masses, axis=0)
        self._masses.clear()
        self._first = mean if self._first is None else self._first
        off = np.abs(mean - self._first)
        self.largest("drift [kg]", off.max())
        self.largest("drift [sigma]", (off / np.sqrt([link.covariance[0, 0] for link in links])).max())


def soak(steps: int, seed: int, only: str, watch: Watch) -> int:
    """Feed a number of readings of each sensor; return how many were fed."""
    nodes = {"tilt": "tilt_observer", "inertial": "inertial_ekf"}
    pipelines = build_pipelines(load_configs(["talos"]), only=[nodes[only]] if only else [])
    tilt, inertial = pipelines.tilt, pipelines.inertial
    made, begin, up = 0, time.perf_counter(), np.zeros(3)
    with contextlib.suppress(KeyboardInterrupt):
        for topic, sample, now_up in readings(np.random.default_rng(seed)):
            now_ns, up = sample.stamp_ns, up if now_up is None else now_up
            for pipeline in filter(None, (tilt, inertial)):
                push(pipeline, topic, sample)
            for estimate in tilt.tick(now_ns) if tilt else ():
                watch.stamp("tilt", estimate.state.stamp_ns, now_ns)
                if inertial:
                    inertial.push_base_state(estimate.state)
                if made % LOOKED_AT == 0 and made > 10 * RATE_HZ:
                    watch.covariance(estimate.tilt_covariance_B)
                    watch.largest("tilt [deg]", np.degrees(np.arccos(min(1.0, estimate.tilt_B @ up))))
            for estimate in inertial.tick(now_ns) if inertial else ():
                watch.stamp("inertial", estimate.stamp_ns, now_ns)
                if made % LOOKED_AT == 0 and made > SETTLED_S * RATE_HZ:
                    watch.masses(estimate.links)
                    for link in estimate.links:
                        watch.covariance(link.covariance)
            if now_up is None:
                continue
            made += 1
            if made % round(RATE_HZ) == 0 and made > 10 * RATE_HZ:
                for pipeline in filter(None, (tilt, inertial)):
                    watch.said.update(f"{h.name}: {h.message}" for h in pipeline.health(now_ns) if h.level)
            if made % REPORT_STEPS == 0:
                memory = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096e-6
                speed = made / (time.perf_counter() - begin)
                print(f"{made} steps, {speed:.0f}/s, {memory:.1f} MB, {_text(watch)}", flush=True)
            if made >= steps:
                break
    return made


def _text(watch: Watch) -> str:
    found = ", ".join(f"{name} {value:.3g}" for name, value in watch.found.items())
    return f"{found}, not OK {sum(watch.said.values())}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=24.0, help="of data, at 100 Hz")
    parser.add_argument("--only", default="", choices=("tilt", "inertial"), help="feed this pipeline alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    watch = Watch()
    made = soak(int(3600.0 * RATE_HZ * args.hours), args.seed, args.only, watch)
    print(f"{made} steps: {_text(watch)}")
    for text, times in watch.said.most_common():
        print(f"{times} times {text}")
    if args.output:
        args.output.write_text(json.dumps({"steps": made, **watch.found, "not OK": watch.said}, indent=1))
    found = watch.found
    wrong = found["stamps back"] + found["stamps old"] or found["drift [sigma]"] > 2.0
    return 1 if wrong or found["lowest eigenvalue"] <= 0.0 else 0


if __name__ == "__main__":
    sys.exit(main())
