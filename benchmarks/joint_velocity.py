"""What derived joint velocities cost against measured ones: the same recordings with and without them.

Run from the root of the project: ``python -m benchmarks.joint_velocity``. The iCub's recording is found
through INERTIAL_ESTIMATION_DATASETS; TALOS stands and walks in simulation with realistic noise (positions
5e-5 rad, velocities 2e-3 rad/s), and a synthetic TALOS and Panda move all joints. Derived: the velocities
are taken out of every joint state. Printed: tilt errors, masses, whether TALOS walks with observer and
controller on derived velocities, and the time of one joint state.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.tilt_accuracy import BAG, ICUB
from inertial_estimation.closed_loop.loop_recording import LoopRecording
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.config_file import ALL_NODES, load_config_file, parse_overrides
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import MeasurementError
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.recording import (
    BagRecording,
    MemoryRecording,
    RecordingEntry,
    read_orientations,
)
from inertial_estimation.replay.metrics import tilt_errors
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.replay.result_files import read_trusted
from inertial_estimation.signals import JointReading
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC, measure
from inertial_estimation.synthetic.synthetic_truth import Timing

MEASURED = "measured"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=float, nargs="+", default=[0.02], help="of the derivative [s]")
    args = parser.parse_args()
    sources = [MEASURED, *args.windows]
    print("tilt error [deg]                               velocities      rms     p95     max")
    for name, pipelines, recording, reference, trusted in tilt_scenes(sources):
        run = replay_recording(recording, replay_topics(pipelines.values, {}), tilt=pipelines.tilt)
        stamps = np.array([estimate.state.stamp_ns for estimate in run.base])
        tilts = np.array([estimate.tilt_B for estimate in run.base])
        s = tilt_errors(stamps, tilts, reference, trusted).summary
        print(f"{name} {np.degrees(s.rms):7.4f} {np.degrees(s.p95):7.4f} {np.degrees(s.max):7.4f}")
    print("mass of a link at the end, error [%]           velocities    error   sigma")
    for line in mass_lines(sources):
        print(line)
    print("TALOS on its own estimates, 6 steps            velocities    falls   x [m]  damped")
    for line in loop_lines(sources):
        print(line)
    print("one joint state, 32 joints, median [us]        " + row_times())


def tilt_scenes(sources: list) -> Iterator[tuple]:
    """Name, pipelines, recording, reference and trusted stretches of every run."""
    trusted = read_trusted(ICUB / "walk_front_back_2021_vicon_ok.csv")
    with BagRecording(BAG) as bag:
        reference = read_orientations(bag, "/vicon/root_link/pose")
        kinds = {topic: kind for topic, kind in bag.topics.items() if "vicon" not in topic}
        walk = MemoryRecording(tuple(bag.entries(list(kinds))), kinds)
    for velocity in ("joint_velocity", "position_difference"):
        for source in sources:
            overrides = [f"tilt_observer.contact.velocity={velocity}"]
            built = pipelines_of("icub", source, overrides, urdf=str(ICUB / "iCubGenova04.urdf"))
            yield row(f"iCub, {velocity}", source), built, given(walk, source), reference, trusted
    for name, steps in (("stands", 0), ("walks 10 steps", 10)):
        recording = simulated(steps)
        reference = read_orientations(recording, GROUND_TRUTH_TOPIC)
        for velocity in ("joint_velocity", "position_difference"):
            for source in sources:
                built = pipelines_of("talos", source, [f"tilt_observer.contact.velocity={velocity}"])
                label = row(f"TALOS {name}, {velocity}", source)
                yield label, built, given(recording, source), reference, None


def mass_lines(sources: list) -> Iterator[str]:
    """Error of the mass of the link that is handed a weight after 4 s, on synthetic robots."""
    alone = {"talos": [], "panda": ["inertial_ekf.links=[panda_link7]"]}  # seven bodies take longer
    for robot, overrides in alone.items():
        motion, noise = (np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(2))
        truth = synthetic_truth(robot, Timing(duration_s=9.0, rate_hz=500.0), motion, payload_time_s=4.0)
        recording = measure(truth, REALISTIC, noise)
        for source in sources:
            built = pipelines_of(robot, source, overrides)
            run = replay_recording(
                recording=given(recording, source),
                topics=replay_topics(built.values, {}),
                inertial=built.inertial,
                tilt=None,
            )
            payload = truth.payload.inertia
            links = {link.estimate.link: link for link in run.inertial[-1].links}
            link = links[payload.link]
            nominal = link.estimate.mass - link.payload.mass
            true = nominal + payload.mass
            error, sigma = link.estimate.mass / true - 1.0, float(np.sqrt(link.covariance[0, 0])) / true
            yield f"{row(f'{robot}, {payload.link}', source)} {100 * error:+8.3f} {100 * sigma:7.3f}"


def loop_lines(sources: list) -> Iterator[str]:
    """TALOS walks in simulation, observer and controller with derived velocities, or those measured."""
    for source in sources:
        derived = {"inputs.joint_velocity": "derived", "inputs.velocity_window": source}
        overrides = {ALL_NODES: {} if source == MEASURED else derived}
        loop = RobotLoop("talos", overrides, noise=REALISTIC).build(adaptation=False, inertial=False)
        loop.release()
        loop.run(1.0)
        loop.controller.push_walk_command(WalkCommand(6, 0.15))
        loop.run(6.0)
        damped = loop.controller.health(loop.simulation.stamp_ns)[-1].values["steps in damping"]
        x = loop.simulation.truth().base.p_WB[0]
        yield f"{row('walks', source)} {int(loop.simulation.fallen):8d} {x:7.3f} {damped:>7s}"


def simulated(steps: int) -> MemoryRecording:
    """TALOS in simulation on its own estimates: stands for 8 s, or walks in them."""
    loop = RobotLoop("talos", noise=REALISTIC).build(adaptation=False, inertial=False)
    recorder = LoopRecording(loop)
    loop.release()
    loop.run(1.0)
    if steps:
        loop.controller.push_walk_command(WalkCommand(steps, 0.15))
    loop.run(8.0)
    return recorder.recording()


def pipelines_of(robot: str, source: object, overrides: list[str], urdf: str = "") -> Pipelines:
    window = [] if source == MEASURED else [f"/**.inputs.velocity_window={source}"]
    config = load_config_file(find_config(robot)).overridden(parse_overrides([*overrides, *window]))
    return build_pipelines(config, urdf=urdf) if urdf else build_pipelines(config)


def given(recording: MemoryRecording, source: object) -> MemoryRecording:
    """The recording, its velocities taken out unless they are to be used."""
    if source == MEASURED:
        return recording
    return replace(recording, messages=tuple(map(without_velocity, recording.messages)))


def without_velocity(entry: RecordingEntry) -> RecordingEntry:
    if not isinstance(entry.sample, JointReading):
        return entry
    return replace(entry, sample=replace(entry.sample, velocity=None))


def row(name: str, source: object) -> str:
    return f"{name:46s} {source if source == MEASURED else f'{1e3 * source:g} ms':9s}"


def row_times() -> str:
    """Time of `JointMap.row`, measured and derived in turns; stamps with microseconds of jitter."""
    rng = np.random.default_rng(0)
    pipelines = build_pipelines(load_config_file(find_config("talos")))
    robot: RobotModel = pipelines.tilt.robot
    readings = [
        JointReading(
            k * 1_000_000 + int(rng.integers(0, 5000)),
            robot.joint_names,
            *rng.normal(size=(2, robot.n_joints)),
        )
        for k in range(3000)
    ]
    stripped = [replace(reading, velocity=None) for reading in readings]
    maps, took = (JointMap(robot), JointMap(robot)), ([], [])
    for pair in zip(readings, stripped, strict=True):
        for joint_map, reading, durations in zip(maps, pair, took, strict=True):
            begin = time.perf_counter_ns()
            try:
                joint_map.row(reading)
            except MeasurementError:  # the window is not full yet
                continue
            durations.append(time.perf_counter_ns() - begin)
    medians = [np.median(durations) / 1e3 for durations in took]
    return f"measured {medians[0]:.1f}, derived {medians[1]:.1f}"


if __name__ == "__main__":
    main()
