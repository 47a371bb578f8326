"""Live nodes against a replay of the same bag: whether what they publish is equal.

Starts both estimators as processes on a ROS domain of their own, plays the bag to them over DDS, and compares
what they publish with a replay in this process, stamp by stamp.

    python -m benchmarks.live_against_replay BAG --config icub --urdf robot.urdf [--trigger arrival]
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from inertial_estimation import BagRecording, build_pipelines, find_config, load_configs, replay_recording
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import talk_apart
from inertial_estimation.recordings.live_record import LiveRecord

LINGER_S = 2.0  # of listening after the end of the bag, for the last messages


def live(args: argparse.Namespace, nodes: list[str], links: list[str]) -> LiveRecord:
    """Play the bag to the nodes and return what they published."""
    from inertial_estimation.ros.monitors import listen

    ros = ["--ros-args", "--params-file", str(find_config(args.config)), "--log-level", "warn"]
    ros += ["-p", "use_sim_time:=true", *(["-p", f"urdf:={Path(args.urdf).resolve()}"] if args.urdf else [])]
    ros += [word for node in nodes for word in ("-p", f"{node}:trigger:={args.trigger}")]
    play = [sys.executable, "-m", "inertial_estimation.commands.main", "play", str(args.bag)]
    play += ["--rate", str(args.rate), "--wait", "20", "--subscribers", str(len(nodes))]
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        for node in nodes:
            code = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
            processes.start(node, [sys.executable, "-c", code, *ros])
        record, end, player = LiveRecord(), math.inf, None
        with listen(record, links, orientation="tilt_observer" in nodes) as listener:
            while time.monotonic() < end:
                time.sleep(0.05)
                listener.take()
                if player is None or player.poll() is None:
                    processes.check()
                if player is None and listener.listening:
                    player = processes.start("player", play)
                if player is not None and player.poll() is not None and math.isinf(end):
                    end = time.monotonic() + LINGER_S
        return record


def compare(name: str, heard: dict[int, np.ndarray], expected: dict[int, np.ndarray]) -> None:
    """Print how many values of common stamps are equal, and the largest difference."""
    common = sorted(heard.keys() & expected.keys())
    same = sum(bool(np.array_equal(heard[stamp], expected[stamp])) for stamp in common)
    off = max((float(np.abs(heard[stamp] - expected[stamp]).max()) for stamp in common), default=math.nan)
    print(
        f"{name}: {len(expected)} replayed, {len(heard)} heard, {len(common)} in both, {same} of them equal"
    )
    print(f"    largest difference {off:.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bag", type=Path)
    parser.add_argument("--config", default="icub")
    parser.add_argument("--urdf", default="")
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--trigger", choices=("timer", "arrival"), default="timer")
    args = parser.parse_args()
    talk_apart()
    config = load_configs([args.config])
    nodes = [node for node in ("tilt_observer", "inertial_ekf") if config.has(node)]
    links = list(config.values("inertial_ekf", ()).get("links", [])) if "inertial_ekf" in nodes else []
    record, pipelines = live(args, nodes, links), build_pipelines(config, urdf=args.urdf)
    estimators = {"tilt": pipelines.tilt, "inertial": pipelines.inertial}
    with BagRecording(args.bag) as recording:
        run = replay_recording(recording, pipelines.topics({}), **estimators)
    if run.base:
        heard = {sample.stamp_ns: np.array(sample.quaternion_xyzw) for sample in record.orientations}
        compare("orientation", heard, {e.state.stamp_ns: np.array(e.state.quaternion_xyzw) for e in run.base})
    for i, link in enumerate(links):
        heard = {stamp: np.array([body.mass]) for stamp, body in record.inertias[link]}
        masses = {e.stamp_ns: np.array([e.links[i].published.mass]) for e in run.inertial}
        compare(f"mass of {link}", heard, masses)


if __name__ == "__main__":
    main()
