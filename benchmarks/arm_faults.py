"""Faults of up to 0.5 s in a recording of a real arm: how far they move the published masses.

The Panda of the data sets (1 kHz), all seven bodies estimated with config/panda.yaml as it is. The masses
still converge, so that a fault is judged by the range of three runs: the value before it, the run without it,
and a run that does not learn meanwhile. "Moved" is the largest distance of a published mass from that range
as a share of the body's nominal mass, until 0.1 s after the fault and 1.4 s after its beginning. Run from the
root of the project, with INERTIAL_ESTIMATION_DATASETS set: python -m benchmarks.arm_faults
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.fault_campaign.forked import forked
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import NANOSECONDS, Array, JointReading

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
BEGINS_S = (6.0, 9.0, 12.3, 15.0)
FOLLOWED_S = 1.6
MARGIN_S = 0.1  # after a fault its readings are still in the filter's window
LIGHT = 0.3  # mass below which shares are of this one [kg]

Change = Callable[[JointReading], JointReading]
Timed = list[tuple[int, JointReading]]


@dataclass(frozen=True)
class Fault:
    """A fault of the joint states.

    Attributes:
        name: What it is.
        duration_s: How long it lasts [s].
        make: Returns the change of the readings, for a joint; it may keep what it has seen.
    """

    name: str
    duration_s: float
    make: Callable[[int], Change]


def of_column(field: str, change: Callable[[float], float]) -> Callable[[int], Change]:
    """Return a fault of one number of a vector of the joint states."""

    def make(joint: int) -> Change:
        def act(reading: JointReading) -> JointReading:
            values = np.array(getattr(reading, field))
            values[joint] = change(values[joint])
            return replace(reading, **{field: values})

        return act

    return make


def scaled(field: str, factor: float) -> Callable[[int], Change]:
    """Return a fault that scales a whole vector of the joint states."""
    return lambda joint: (
        lambda reading: replace(reading, **{field: factor * np.array(getattr(reading, field))})
    )


def frozen(joint: int) -> Change:
    """Repeat the first joint state."""
    held: list[JointReading] = []

    def act(reading: JointReading) -> JointReading:
        held.append(reading)
        return replace(held[0], stamp_ns=reading.stamp_ns)

    return act


FAULTS = (
    Fault("one effort zero", 0.2, of_column("effort", lambda tau: 0.0)),
    Fault("one effort x 2", 0.3, of_column("effort", lambda tau: 2.0 * tau)),
    Fault("one effort + 10 Nm", 0.3, of_column("effort", lambda tau: tau + 10.0)),
    Fault("all efforts x 10", 0.2, scaled("effort", 10.0)),
    Fault("all efforts of the other sign", 0.3, scaled("effort", -1.0)),
    Fault("all velocities zero", 0.5, scaled("velocity", 0.0)),
    Fault("one velocity x 10", 0.2, of_column("velocity", lambda v: 10.0 * v)),
    Fault("one position + 0.3 rad", 0.05, of_column("position", lambda q: q + 0.3)),
    Fault("one position + 0.3 rad", 0.5, of_column("position", lambda q: q + 0.3)),
    Fault("one position + 0.08 rad", 0.2, of_column("position", lambda q: q + 0.08)),
    Fault("joint states frozen", 0.3, frozen),
)


class Arm:
    """The recording, and the filter that has seen a part of it."""

    def __init__(self) -> None:
        """Read the recording and build the filter."""
        pipeline = build_pipelines(load_config_file(find_config("panda"))).inertial
        assert pipeline is not None
        self.pipeline: InertialPipeline = pipeline
        with BagRecording(DATASETS / "panda_gaz2019" / "exciting_trajectory") as recording:
            entries = list(recording.entries(["/joint_states"]))
        self.readings: Timed = [(e.log_ns, e.sample) for e in entries if isinstance(e.sample, JointReading)]
        self._begin_ns = self.readings[0][0]
        self.nominal = np.array(
            [pipeline.robot.link_body(link).nominal_J.mass for link in pipeline.config.links]
        )

    def until(self, time_s: float) -> Timed:
        """Take the readings up to a time away [s]."""
        end_ns = self._begin_ns + round(time_s * NANOSECONDS)
        taken = [reading for reading in self.readings if reading[0] < end_ns]
        self.readings = self.readings[len(taken) :]
        return taken

    def feed(self, readings: Timed) -> tuple[Array, Array]:
        """Return times from the first reading on [s], and published masses [kg]."""
        times, masses = [], []
        for now_ns, reading in readings:
            self.pipeline.push_joints(reading)
            for estimate in self.pipeline.tick(now_ns):
                times.append((now_ns - readings[0][0]) / NANOSECONDS)
                masses.append([link.published.mass for link in estimate.links])
        return np.array(times), np.array(masses)

    def feed_idle(self, readings: Timed, duration_s: float) -> tuple[Array, Array]:
        """Do the same without learning for a time [s]."""
        end_ns = readings[0][0] + round(duration_s * NANOSECONDS)
        self.pipeline.set_enabled(False)
        idle = self.feed([r for r in readings if r[0] < end_ns])
        self.pipeline.set_enabled(True)
        rest = self.feed([r for r in readings if r[0] >= end_ns])
        return np.concatenate((idle[0], rest[0] + duration_s)), np.concatenate((idle[1], rest[1]))


def moved(arm: Arm, fault: Fault, joint: int, readings: Timed, usual: Sequence[Array]) -> tuple[float, float]:
    """Return how far a fault moves the published masses, during it and at the end of the readings."""
    end_ns, change = readings[0][0] + round(fault.duration_s * NANOSECONDS), fault.make(joint)
    wrong = [(now, change(reading) if now < end_ns else reading) for now, reading in readings]
    times, masses = forked(lambda: arm.feed(wrong))
    low = np.min([m.min(axis=0) for m in usual], axis=0)
    high = np.max([m.max(axis=0) for m in usual], axis=0)
    outside = np.maximum(np.maximum(low - masses, masses - high), 0.0) / np.maximum(arm.nominal, LIGHT)
    share = outside.max(axis=1)
    during = share[times <= fault.duration_s + MARGIN_S].max(initial=0.0)
    return float(during), float(share[times > FOLLOWED_S - 0.2].max(initial=0.0))


def main() -> None:
    arm, rng = Arm(), np.random.default_rng(0)
    found: dict[Fault, list[tuple[float, float]]] = {fault: [] for fault in FAULTS}
    for begin_s in BEGINS_S:
        _, before = arm.feed(arm.until(begin_s))
        kept = arm.readings
        readings, arm.readings = arm.until(begin_s + FOLLOWED_S), kept
        _, clean = forked(lambda readings=readings: arm.feed(readings))
        for fault in FAULTS:
            idle_s = fault.duration_s + MARGIN_S
            _, idle = forked(lambda r=readings, t=idle_s: arm.feed_idle(r, t))
            joint = int(rng.integers(len(arm.nominal)))
            found[fault].append(moved(arm, fault, joint, readings, (before[-1:], clean, idle)))
    print(
        "| fault | [s] | moved until 0.1 s after it [%] | 1.4 s after its beginning [%] |\n|---|---|---|---|"
    )
    for fault, shares in found.items():
        during, later = 100.0 * np.max(shares, axis=0)
        print(f"| {fault.name} | {fault.duration_s:g} | {during:.1f} | {later:.1f} |")


if __name__ == "__main__":
    main()
