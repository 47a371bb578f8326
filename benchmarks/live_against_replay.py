"""Live nodes against replay of the same bag: largest differences of tilt and mass.

Starts both nodes as processes on a ROS domain of their own, plays the bag to them over DDS, and compares
what they publish with a replay in this process, stamp by stamp. Run:
python benchmarks/live_against_replay.py BAG --config icub --urdf robot.urdf [--rate 2] [--trigger arrival]
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import talk_apart
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.recordings.live_record import LiveRecord
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.signals import Array, OrientationSample
from inertial_estimation.spatial.rotations import vertical_of_quaternion

TAKE_PERIOD_S = 0.05  # between two looks at what has arrived
LINGER_S = 2.0  # of listening after the end of the bag, for the last messages


def live(args: argparse.Namespace, config: Path, nodes: list[str], links: list[str]) -> LiveRecord:
    from inertial_estimation.ros.demo_monitor import listen

    ros = ["--ros-args", "--params-file", str(config), "-p", "use_sim_time:=true", "--log-level", "warn"]
    ros += [word for node in nodes for word in ("-p", f"{node}:trigger:={args.trigger}")]
    if args.urdf:
        ros += ["-p", f"urdf:={Path(args.urdf).resolve()}"]
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        for node in nodes:
            call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
            processes.start(node, [sys.executable, "-c", call, *ros])
        play = [sys.executable, "-m", "inertial_estimation.commands.main", "play", str(args.bag)]
        play += ["--rate", str(args.rate), "--wait", "20", "--subscribers", str(len(nodes))]
        players = []

        def done(listening: bool) -> bool:
            processes.check()
            if listening and not players:
                players.append(processes.start("player", play))
            return bool(players) and players[0].poll() is not None

        record, end = LiveRecord(), math.inf
        with listen(record, links, orientation="tilt_observer" in nodes) as listener:
            while time.monotonic() < end:
                time.sleep(TAKE_PERIOD_S)
                listener.take()
                if math.isinf(end) and done(listener.listening):
                    end = time.monotonic() + LINGER_S
        return record


def replayed(args: argparse.Namespace, config: Path) -> ReplayRun:
    with BagRecording(args.bag) as recording:
        pipelines = build_pipelines(load_config_file(config), urdf=args.urdf)
        topics = replay_topics(pipelines.values, {})
        return replay_recording(recording, topics, tilt=pipelines.tilt, inertial=pipelines.inertial)


def tilt_angles(orientations: list[OrientationSample], truth: list[OrientationSample]) -> tuple[Array, Array]:
    """Return the angle between estimated and true vertical at the stamps both have.

    Args:
        orientations: Estimated orientations.
        truth: True ones.

    Returns:
        Stamps [ns] as floats, and angles [rad], each of shape (n,).
    """
    known = {sample.stamp_ns: sample for sample in truth}
    pairs = [(sample, known[sample.stamp_ns]) for sample in orientations if sample.stamp_ns in known]
    stamps = np.array([sample.stamp_ns for sample, _ in pairs], dtype=np.float64)
    quaternions = np.array([[a.quaternion_xyzw, b.quaternion_xyzw] for a, b in pairs]).reshape(-1, 2, 4)
    x, y, z, w = np.moveaxis(quaternions, 2, 0)
    verticals = np.stack(vertical_of_quaternion(x, y, z, w), axis=2)
    return stamps, angles_between(verticals[:, 0], verticals[:, 1])


def compare(record: LiveRecord, run: ReplayRun, links: list[str]) -> None:
    if run.base:
        truth = [OrientationSample(e.state.stamp_ns, e.state.quaternion_xyzw) for e in run.base]
        stamps, angles = tilt_angles(record.orientations, truth)
        print(f"tilt: {len(truth)} replayed, {len(record.orientations)} heard, {len(stamps)} in both")
        known = {sample.stamp_ns: sample.quaternion_xyzw for sample in truth}
        heard = [(s.quaternion_xyzw, known[s.stamp_ns]) for s in record.orientations if s.stamp_ns in known]
        same = sum(bool((mine == theirs).all()) for mine, theirs in heard)
        largest = np.degrees(angles).max()
        print(f"      {same} of {len(heard)} bit-identical; largest difference {largest:.6f} deg")
    for index, link in enumerate(links):
        masses = {e.stamp_ns: e.links[index].published.mass for e in run.inertial}
        bodies = record.inertias[link]
        pairs = np.array([(body.mass, masses[stamp]) for stamp, body in bodies if stamp in masses])
        pairs = pairs.reshape(-1, 2)
        off = 100.0 * np.abs(pairs[:, 0] / pairs[:, 1] - 1.0)
        print(f"mass of {link}: {len(masses)} replayed, {len(bodies)} heard, {len(pairs)} in both")
        same = int((pairs[:, 0] == pairs[:, 1]).sum())
        print(f"      {same} of {len(pairs)} bit-identical; largest difference {off.max():.6f} %")


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
    with BagRecording(args.bag):  # opens it before nodes are started that would wait for it
        pass
    talk_apart()
    config = find_config(args.config)
    content = load_config_file(config)
    nodes = [node for node in ("tilt_observer", "inertial_ekf") if content.has(node)]
    links = list(content.values("inertial_ekf", ()).get("links", [])) if "inertial_ekf" in nodes else []
    record = live(args, config, nodes, links)
    compare(record, replayed(args, config), links)
    received, lost = (sum_of(record, key) for key in ("received", "lost"))
    print(f"inputs: {received} messages received, {lost} lost")


def sum_of(record: LiveRecord, key: str) -> int:
    """Return a count of all inputs of all nodes."""
    return sum(int(text) for (part, name), text in record.facts.items() if name == key and "topic " in part)


if __name__ == "__main__":
    main()
