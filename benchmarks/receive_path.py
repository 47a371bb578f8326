"""Time that a message takes in a node, by input: from its bytes into the pipeline, and the tick after it.

    python -m benchmarks.receive_path [tilt | inertial] [--seconds 6]

The sensors of a standing TALOS at 1 kHz, IMU and feet with noise, otherwise as in `benchmarks/node_cpu.py`,
but without middleware, executor and publication, so that it can be compared on a machine that others use: the
20th percentile of the wall clock is hardly disturbed. Steps are made at 333 Hz. To compare two trees, run
both in turn.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from benchmarks.node_cpu import CONFIG, RATE, sensors
from inertial_estimation.configuration.config_file import load_config_file, parse_overrides
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.recordings.message_conversion import (
    CONVERSIONS,
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    WRENCH_TYPE,
    bytes_reader,
)

PERIOD_NS = 1_000_000
START_NS = 10**18
NOISE = {IMU_TYPE: 1e-2, WRENCH_TYPE: 0.1}  # standard deviation of every number
KINDS = {
    "imu/data": IMU_TYPE,
    "joint_states": JOINT_STATE_TYPE,
    "left_foot/wrench": WRENCH_TYPE,
    "right_foot/wrench": WRENCH_TYPE,
    "base_state": ODOMETRY_TYPE,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pipeline", nargs="?", choices=("tilt", "inertial"), default="tilt")
    parser.add_argument("--seconds", type=float, default=6.0, help="of data; the first third is not counted")
    args = parser.parse_args()
    rates = [f"{node}.rate={RATE}" for node in ("tilt_observer", "inertial_ekf")]
    config = load_config_file(CONFIG).overridden(parse_overrides(rates))
    pipeline = getattr(build_pipelines(config), args.pipeline)
    count = round(1e3 * args.seconds)
    times, unusual = measured(pipeline, inputs_of(pipeline), count)
    report(times, count - count // 3)
    print("not taken as bytes:", ", ".join(f"{n} of {topic}" for topic, n in unusual.items()) or "none")


def inputs_of(pipeline: Any) -> dict[str, tuple[Callable[[bytes], bool], Callable[[Any], None]]]:
    """Return what takes the bytes of each input if they are usual, and what takes the values of others."""
    feet, entries = pipeline.config.robot.contacts, pipeline.entries
    found = {
        "imu/data": (entries.imu.take, pipeline.push_imu),
        "joint_states": (entries.joints.take, pipeline.push_joints),
    }
    found |= {
        topic: (entries.wrenches[foot].take, partial(pipeline.push_wrench, foot))
        for topic, foot in zip(("left_foot/wrench", "right_foot/wrench"), feet, strict=True)
    }
    if hasattr(pipeline, "push_base_state"):
        found["base_state"] = (lambda _data: False, pipeline.push_base_state)
    return found


def measured(
    pipeline: Any, inputs: dict[str, tuple[Callable[[bytes], bool], Callable[[Any], None]]], count: int
) -> tuple[dict[tuple[str, str], list[int]], Counter[str]]:
    """Feed the messages; return the times of each part of the way [ns], and how many had to be decoded."""
    times: dict[tuple[str, str], list[int]] = defaultdict(list)
    unusual: Counter[str] = Counter()
    readers = {topic: bytes_reader(KINDS[topic], bytes) for topic in inputs}  # none is left to a deserialiser
    clock = time.perf_counter_ns
    for k, stamp_ns, topic, data in list(messages(tuple(inputs), count)):
        take, push = inputs[topic]
        begin = clock()
        if not take(data):
            push(readers[topic](data))
            unusual[topic] += 1
        pushed = clock()
        made = pipeline.tick(stamp_ns)
        ticked = clock()
        if k >= count // 3:
            times["read", topic].append(pushed - begin)
            times["step" if made else "tick without a step", ""].append(ticked - pushed)
    return times, unusual


def messages(topics: tuple[str, ...], count: int) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield number of the period, stamp [ns], topic and serialised message."""
    rng, made = np.random.default_rng(0), sensors()
    for k in range(count):
        stamp_ns = START_NS + k * PERIOD_NS
        for topic in topics:
            kind, message = KINDS[topic], made[topic]
            if kind == ODOMETRY_TYPE and k % 3:
                continue  # an estimate, at a third of the rate of the sensors
            conversion = CONVERSIONS[kind]
            value = conversion.from_msg(message)
            data = bytearray(
                serialize_message(conversion.to_msg(noisy(value, kind, rng), type(message)(), ""))
            )
            sec, nanosec = divmod(stamp_ns, 10**9)
            data[4:12] = sec.to_bytes(4, "little") + nanosec.to_bytes(4, "little")
            yield k, stamp_ns, topic, bytes(data)


def noisy(value: Any, kind: str, rng: np.random.Generator) -> Any:
    """Return a reading with noise on every number of its sensor."""
    if kind not in NOISE:
        return value
    fields = [name for name in value.__slots__ if name != "stamp_ns"]
    arrays = [getattr(value, name) for name in fields]
    return type(value)(0, *(x + NOISE[kind] * rng.standard_normal(x.shape) for x in arrays))


def report(times: dict[tuple[str, str], list[int]], periods: int) -> None:
    """Print the 20th percentile of each part, and what all of them take in a period of the inputs."""
    total = 0.0
    for (part, topic), found in times.items():
        usual = 1e-3 * float(np.percentile(found, 20))
        total += usual * len(found) / periods
        print(f"{part:<20}{topic:<20}{usual:9.2f} us   {len(found) / periods:5.2f} in a period of the inputs")
    step = 1e-3 * float(np.percentile(times["step", ""], 20)) * len(times["step", ""]) / periods
    print(f"in a period of 1 ms: {total:.1f} us, of which steps {step:.1f} us")


if __name__ == "__main__":
    main()
