"""Time of a step, all pushes included, of this tree against another one, on the same recording.

Both trees run the recording several times in turn, each in its own process. Of every push and tick the least
time over the runs counts, which other processes hardly disturb, and the medians over the recording are
printed. Run from the root of the project:

    python -m benchmarks.update_against TREE --robot icub --recording BAG --urdf FILE --begin 18 --end 24
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SETTLED_SHARE = 0.25  # of the events at the begin, which are left out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="root of the tree to compare with")
    parser.add_argument("--robot", default="icub")
    parser.add_argument("--recording", required=True)
    parser.add_argument("--urdf", default="")
    parser.add_argument("--pipeline", choices=("tilt", "inertial"), default="inertial")
    parser.add_argument("--begin", type=float, default=0.0, help="of the part that is used [s]")
    parser.add_argument("--end", type=float, default=6.0)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        measure(args)
        return
    trees = {"other": args.other.resolve(), "this": Path(__file__).resolve().parents[1]}
    children = {name: _start(tree) for name, tree in trees.items()}
    for _ in range(args.runs):
        for child in children.values():  # one after the other
            _ask(child, "run")
    results = {name: json.loads(_ask(child, "end")) for name, child in children.items()}
    for figure, before in results["other"].items():
        now = results["this"][figure]
        print(f"{figure:18s} other {before:8.1f} us   this {now:8.1f} us   ratio {now / before:.2f}")


def measure(args: argparse.Namespace) -> None:
    """Run the recording at every line of the input; print the medians of the least times at the end."""
    events, build = _recording(args)
    gc.disable()
    least: np.ndarray | None = None
    for line in sys.stdin:
        if line.startswith("end"):
            break
        times = _times(events, getattr(build(), args.pipeline))
        gc.collect()
        least = times if least is None else np.minimum(least, times)
        print("done", flush=True)
    assert least is not None, "no run was asked for"
    least = 1e-3 * least[int(SETTLED_SHARE * len(least)) :]
    step = np.flatnonzero(least[:, 2] > 0.0)
    whole = np.add.reduceat(least[:, :2].sum(axis=1), np.append(0, step[:-1] + 1))
    figures = {
        "step p50": np.median(whole[: len(step)]),
        "its tick p50": np.median(least[step, 1]),
        "push p50": np.median(least[:, 0]),
    }
    print(json.dumps({name: float(value) for name, value in figures.items()}), flush=True)


def _recording(args: argparse.Namespace) -> tuple[list[tuple[int, str, Any]], Any]:
    from inertial_estimation import BagRecording, build_pipelines, load_configs, replay_topics

    config = load_configs([args.robot])

    def build() -> Any:
        return build_pipelines(config, urdf=args.urdf)

    topics = replay_topics(build().values, {})
    names = {topic: contact for contact, topic in topics.wrenches.items()}
    wanted = [topic for topic in (topics.joints, topics.imu, *names) if topic]
    kinds = {topics.joints: "joints", topics.imu: "imu"} | names
    with BagRecording(Path(args.recording)) as bag:
        begin, end = (bag.start_ns + int(1e9 * t) for t in (args.begin, args.end))
        entries = [(e.log_ns, kinds[e.topic], e.sample) for e in bag.entries(wanted, begin) if e.log_ns < end]
    return entries, build


def _times(events: list[tuple[int, str, Any]], pipeline: Any) -> np.ndarray:
    """Return the time of each push and tick [ns] and the number of estimates, shape (n, 3)."""
    pushes = {"joints": pipeline.push_joints, "imu": pipeline.push_imu}
    clock, times = time.perf_counter_ns, np.zeros((len(events), 3))
    for i, (_log_ns, kind, sample) in enumerate(events):
        push = pushes.get(kind)
        start = clock()
        if push is not None:
            push(sample)
        else:
            pipeline.push_wrench(kind, sample)
        pushed = clock()
        estimates = pipeline.tick(sample.stamp_ns)
        times[i] = pushed - start, clock() - pushed, len(estimates)
    return times


def _start(tree: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:], "--child"]
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def _ask(child: "subprocess.Popen[str]", what: str) -> str:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(what + "\n")
    child.stdin.flush()
    return child.stdout.readline()


if __name__ == "__main__":
    main()
