"""Damaged messages through the nodes' readers into both estimators: what is not dropped, how long it takes.

Between the valid messages of a TALOS damaged copies of them arrive (`benchmarks.file_fuzz`), are read as
by a node and pushed where they read; the pipelines tick on. Needs rclpy. Exit code 1 if anything but the
documented refusal (MeasurementError) leaves a reader, or anything at all a push or a tick.

    python -m benchmarks.message_fuzz --cases 100000
"""

import argparse
import sys
import time
import traceback
from collections import Counter

import numpy as np

from benchmarks.file_fuzz import mutated
from benchmarks.referee.feed import push
from benchmarks.referee.synthetic import standing_talos
from inertial_estimation import MeasurementError, build_pipelines, load_configs


def main() -> int:
    from rclpy.serialization import serialize_message

    from inertial_estimation.recordings.message_conversion import CONVERSIONS
    from inertial_estimation.ros.bag_player import message_class
    from inertial_estimation.ros.messages import message_reader

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10000, help="damaged messages")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, recording = np.random.default_rng(args.seed), standing_talos(args.seed)[1]
    counts, longest, escapes = Counter(), Counter(), Counter()
    readers = {name: message_reader(message_class(kind)) for name, kind in recording.topics.items()}
    left = args.cases
    while left > 0:
        built = build_pipelines(load_configs(["talos"]))
        for entry in recording.messages:
            if left <= 0:
                break
            if "ground" in entry.topic:
                continue
            kind = recording.topics[entry.topic]
            message = CONVERSIONS[kind].to_msg(entry.sample, message_class(kind)(), "frame")
            valid = bytes(serialize_message(message))
            for data in (mutated(valid, False, rng), valid):
                begin, what = time.process_time(), "read and pushed"
                try:
                    try:
                        sample = readers[entry.topic](data)
                        for pipeline in (built.tilt, built.inertial):
                            push(pipeline, entry.topic, sample)
                    except MeasurementError:
                        what = "refused"
                    for base in built.tilt.tick(entry.log_ns):
                        built.inertial.push_base_state(base.state)
                    built.inertial.tick(entry.log_ns)
                except Exception as error:  # any: it would end a node
                    frame = traceback.extract_tb(error.__traceback__)[-1]
                    what = f"{type(error).__name__} at {frame.filename}:{frame.lineno}: {str(error)[:100]}"
                    escapes[what] += 1
                counts[entry.topic, what] += data is not valid
                longest[entry.topic] = max(longest[entry.topic], time.process_time() - begin)
            left -= 1
    for topic in longest:
        refused, read = (counts[topic, what] for what in ("refused", "read and pushed"))
        print(f"{topic}: {refused} refused, {read} read and pushed, longest {1e3 * longest[topic]:.1f} ms")
    print(f"{args.cases} damaged messages, {sum(escapes.values())} escapes")
    for text, times in escapes.most_common():
        print(f"  {times} times {text}")
    return int(bool(escapes))


if __name__ == "__main__":
    sys.exit(main())
