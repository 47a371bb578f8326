"""A day of data through both estimators in one process, as fast as it goes.

A TALOS that carries 5.44 kg moves arms, trunk and pelvis for 20 s, then the same backwards, and so on for
ever; 100 noisy readings a second of every sensor. Printed all the way: resident memory, the lowest eigenvalue
of the covariances scaled to a unit diagonal, stamps that are old or do not increase, the largest error of the
tilt, how far the mean of the masses over ten minutes is from the first one, and how often health was not OK.

    python -m benchmarks.soak --hours 24                      8.64e6 steps
    python -m benchmarks.soak --hours 24 --only tilt_observer

SIGINT ends it early.
"""

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import inertial_estimation as ie
from benchmarks.referee.feed import fed
from inertial_estimation.signals import NANOSECONDS

RATE_HZ, PASS_S, START_NS = 100.0, 20.0, 10**18
STEP_NS = round(NANOSECONDS / RATE_HZ)
OLD_NS, SETTLED = NANOSECONDS // 5, 12_000  # of a stamp when it is published; steps before figures count
REPORTED, LOOKED_AT, MEAN_OF = (
    20_000,
    100,
    600,
)  # steps to a report, to an examined estimate; masses of a mean


class Readings:
    """An endless recording; `up_B` is the true vertical in the base frame at a time.

    A motion that is played backwards has velocities and angular rates of the other sign, the same forces and,
    without friction, the same torques.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        truth = ie.synthetic_truth("talos", ie.Timing(PASS_S, RATE_HZ), rng, payload_time_s=0.0)
        recording = ie.measure(truth, ie.REALISTIC, rng)
        self.topics = recording.topics
        self._once = [entry for entry in recording.messages if "ground" not in entry.topic]
        self._first, self._count = int(truth.stamps_ns[0]), len(truth.stamps_ns)
        self._up_B = Rotation.from_quat([state.q[3:7] for state in truth.states]).as_matrix()[:, 2]

    def up_B(self, stamp_ns: int) -> np.ndarray:
        played, k = divmod(round((stamp_ns - START_NS) / STEP_NS), self._count)
        return self._up_B[self._count - 1 - k if played % 2 else k]

    def entries(self, _topics: Any) -> Iterator[ie.RecordingEntry]:
        begin = 0
        while True:
            for sign, entries in ((1.0, self._once), (-1.0, self._once[::-1])):
                for entry in entries:
                    k = round((entry.sample.stamp_ns - self._first) / STEP_NS)
                    at = START_NS + (begin + (k if sign > 0.0 else self._count - 1 - k)) * STEP_NS
                    sample = replace(entry.sample, stamp_ns=at)
                    for name in ("angular_rate_I", "velocity"):
                        if hasattr(sample, name):
                            sample = replace(sample, **{name: sign * getattr(sample, name)})
                    yield ie.RecordingEntry(entry.topic, at, sample)
                begin += self._count


def lowest_eigenvalue(P: np.ndarray) -> float:
    """Return the lowest eigenvalue of a covariance scaled to a unit diagonal."""
    deviation = np.sqrt(P.diagonal())
    return float(np.linalg.eigvalsh(P / np.outer(deviation, deviation))[0])


def soak(steps: int, seed: int, only: str) -> None:
    """Feed a number of readings of each sensor, and print what is seen."""
    built = ie.build_pipelines(ie.load_configs(["talos"]), only=[only] if only else [])
    readings, masses, first = Readings(np.random.default_rng(seed)), [], None
    found = {"tilt [deg]": 0.0, "drift [kg]": 0.0, "drift [sigma]": 0.0, "eigenvalue": 1.0}
    found |= dict.fromkeys(("old", "back", "not OK"), 0)
    last = {"base": 0, "inertial": 0}
    for made, step in enumerate(islice(fed(readings, built.tilt, built.inertial), steps), start=1):
        stamps = {
            "base": [e.state.stamp_ns for e in step.base],
            "inertial": [e.stamp_ns for e in step.inertial],
        }
        for name, stamp_ns in ((name, stamp_ns) for name, all_ns in stamps.items() for stamp_ns in all_ns):
            found["old"] += step.now_ns - stamp_ns > OLD_NS
            found["back"] += stamp_ns <= last[name]
            last[name] = stamp_ns
        if made > SETTLED and made % LOOKED_AT == 0:
            covariances = [e.tilt_covariance_B for e in step.base]
            for estimate in step.base:
                turn = np.cross(estimate.tilt_B, readings.up_B(estimate.state.stamp_ns))
                found["tilt [deg]"] = max(found["tilt [deg]"], float(np.degrees(np.linalg.norm(turn))))
            for estimate in step.inertial[-1:]:
                covariances += [link.covariance for link in estimate.links]
                masses.append([link.published.mass for link in estimate.links])
                if len(masses) == MEAN_OF:
                    mean, sigma = (
                        np.mean(masses, axis=0),
                        np.sqrt([P[0, 0] for P in covariances[-len(masses[0]) :]]),
                    )
                    first, masses = mean if first is None else first, []
                    off = np.abs(mean - first)
                    found["drift [kg]"] = max(found["drift [kg]"], off.max())
                    found["drift [sigma]"] = max(found["drift [sigma]"], (off / sigma).max())
            found["eigenvalue"] = min([found["eigenvalue"], *map(lowest_eigenvalue, covariances)])
            pipelines = [pipeline for pipeline in (built.tilt, built.inertial) if pipeline is not None]
            found["not OK"] += sum(bool(h.level) for p in pipelines for h in p.health(step.now_ns))
        if made % REPORTED == 0 or made == steps:
            memory = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096e-6
            text = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
            print(f"{made} steps, {memory:.1f} MB, {text}", flush=True)


if __name__ == "__main__":
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--hours", type=float, default=24.0, help="of data, at 100 Hz")
    parser.add_argument("--only", default="", choices=("tilt_observer", "inertial_ekf"), help="feed it alone")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        soak(int(3600.0 * RATE_HZ * options.hours), options.seed, options.only)
