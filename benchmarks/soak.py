"""A day of data through both estimators in one process, as fast as it goes.

A TALOS that carries 5.44 kg moves arms, trunk and pelvis for 20 s, then the same backwards, and so on for
ever; 100 noisy readings a second of every sensor. Watched all the way: resident memory, eigenvalues
of the covariances, order and age of the stamps, the error of the tilt, health, and the published masses,
whose mean over ten minutes is compared with the first one.

    python -m benchmarks.soak --hours 24                      8.64e6 steps
    python -m benchmarks.soak --hours 24 --only tilt_observer

SIGINT and SIGTERM end it early; it is judged by the steps made until then. Exit code 1: something is wrong.
"""

import argparse
import contextlib
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.referee.feed import push
from inertial_estimation import (
    REALISTIC,
    ImuSample,
    JointReading,
    Timing,
    build_pipelines,
    load_configs,
    measure,
    synthetic_truth,
)

RATE_HZ, PASS_S, START_NS, NANOSECONDS = 100.0, 20.0, 10**18, 10**9
STEP_NS = round(NANOSECONDS / RATE_HZ)
OLD_S, SETTLED_S = 0.2, 120.0  # of a stamp when it is published; before the masses count
REPORT_STEPS, LOOKED_AT, MEAN_OF = 20_000, 100, 600  # a report, an examined estimate in so many steps; masses


def readings(rng: np.random.Generator) -> Iterator[tuple[str, Any, np.ndarray | None]]:
    """Yield topic and reading for ever, and with the IMU's the true vertical in the base frame.

    A motion that is played backwards has velocities and angular rates of the other sign, the same forces and,
    without friction, the same torques.
    """
    truth = synthetic_truth("talos", Timing(PASS_S, RATE_HZ), rng, payload_time_s=0.0)
    once = [entry for entry in measure(truth, REALISTIC, rng).messages if "ground" not in entry.topic]
    up_B = Rotation.from_quat([state.q[3:7] for state in truth.states]).as_matrix()[:, 2]
    first, count, k = int(truth.stamps_ns[0]), len(truth.stamps_ns), 0
    while True:
        for sign, entries in ((1.0, once), (-1.0, once[::-1])):
            for entry in entries:
                index = round((entry.sample.stamp_ns - first) / STEP_NS)
                at = START_NS + (k + (index if sign > 0.0 else count - 1 - index)) * STEP_NS
                up = up_B[index] if isinstance(entry.sample, ImuSample) else None
                yield entry.topic, _played(entry.sample, sign, at), up
            k += count


def _played(sample: Any, sign: float, stamp_ns: int) -> Any:
    """Return a reading with another stamp, as it is when the motion is played backwards."""
    if isinstance(sample, ImuSample):
        return replace(sample, stamp_ns=stamp_ns, angular_rate_I=sign * sample.angular_rate_I)
    if isinstance(sample, JointReading):
        return replace(sample, stamp_ns=stamp_ns, velocity=sign * sample.velocity)
    return replace(sample, stamp_ns=stamp_ns)


class Watch:
    """What is seen of the estimates: largest deviations and counts by name, and what health said."""

    def __init__(self) -> None:
        names = ("stamps back", "stamps old", "tilt [deg]", "drift [sigma]", "drift [kg]")
        self.found: dict[str, float] = {**dict.fromkeys(names, 0.0), "lowest eigenvalue": 1.0}
        self.said: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._masses: list[list[float]] = []
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
        self._masses.append([link.published.mass for link in links])
        if len(self._masses) == MEAN_OF:
            mean = np.mean(self._masses, axis=0)
            self._masses.clear()
            self._first = mean if self._first is None else self._first
            off = np.abs(mean - self._first)
            self.largest("drift [kg]", off.max())
            self.largest("drift [sigma]", (off / np.sqrt([link.covariance[0, 0] for link in links])).max())

    def __str__(self) -> str:
        found = ", ".join(f"{name} {value:.3g}" for name, value in self.found.items())
        return f"{found}, not OK {sum(self.said.values())}"


def soak(steps: int, seed: int, only: str, watch: Watch) -> int:
    """Feed a number of readings of each sensor; return how many were fed."""
    pipelines = build_pipelines(load_configs(["talos"]), only=[only] if only else [])
    tilt, inertial = pipelines.tilt, pipelines.inertial
    fed = [pipeline for pipeline in (tilt, inertial) if pipeline is not None]
    made, begin, up = 0, time.perf_counter(), np.zeros(3)
    with contextlib.suppress(KeyboardInterrupt):
        for topic, sample, now_up in readings(np.random.default_rng(seed)):
            now_ns, up = sample.stamp_ns, up if now_up is None else now_up
            looked_at = made % LOOKED_AT == 0 and made > SETTLED_S * RATE_HZ
            for pipeline in fed:
                push(pipeline, topic, sample)
            for estimate in tilt.tick(now_ns) if tilt else ():
                watch.stamp("tilt", estimate.state.stamp_ns, now_ns)
                if inertial:
                    inertial.push_base_state(estimate.state)
                if looked_at:
                    watch.covariance(estimate.tilt_covariance_B)
                    watch.largest("tilt [deg]", np.degrees(np.arccos(np.minimum(estimate.tilt_B @ up, 1.0))))
            for found in inertial.tick(now_ns) if inertial else ():
                watch.stamp("inertial", found.stamp_ns, now_ns)
                if looked_at:
                    watch.masses(found.links)
                    for link in found.links:
                        watch.covariance(link.covariance)
            if now_up is None:
                continue
            made += 1
            if made % round(RATE_HZ) == 0 and made > 10 * RATE_HZ:
                for pipeline in fed:
                    watch.said.update(f"{h.name}: {h.message}" for h in pipeline.health(now_ns) if h.level)
            if made % REPORT_STEPS == 0:
                memory = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096e-6
                speed = made / (time.perf_counter() - begin)
                print(f"{made} steps, {speed:.0f}/s, {memory:.1f} MB, {watch}", flush=True)
            if made >= steps:
                break
    return made


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=24.0, help="of data, at 100 Hz")
    parser.add_argument("--only", default="", choices=("tilt_observer", "inertial_ekf"), help="feed it alone")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    watch = Watch()
    made = soak(int(3600.0 * RATE_HZ * args.hours), args.seed, args.only, watch)
    print(f"{made} steps: {watch}")
    for text, times in watch.said.most_common():
        print(f"{times} times {text}")
    found = watch.found
    wrong = found["stamps back"] + found["stamps old"] or found["drift [sigma]"] > 2.0
    return 1 if wrong or found["lowest eigenvalue"] <= 0.0 else 0


if __name__ == "__main__":
    sys.exit(main())
