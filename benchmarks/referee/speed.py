"""Time of steps over bare kinematics and dynamics, of replays and starts; memory of the nodes.

Ratios are compared, not times, since machines differ. Each step is measured in turns with bare kinematics or
dynamics, compiled and not compiled (`NUMBA_DISABLE_JIT`); the spread is the range of three repetitions.
"""

import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import dataset, ran
from benchmarks.referee.row import Better, Row, figure
from benchmarks.referee.task import SkippedError

RUNS, LENGTH_S = 3, 4.0
FLOORS = {"tilt": "bare kinematics", "inertial": "bare dynamics"}
FRAMES = ("imu_link", "left_sole_link", "right_sole_link")
LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
LONGEST_S = 300.0  # time after which a node that has not started is given up


def repeated(key: str, values: Any, unit: str, better: Better = Better.LOWER, tolerance: float = 0.1) -> Row:
    """Return the row of repetitions, without the first one."""
    return figure(key, list(values)[1:], unit, better, tolerance=tolerance)


def steps(seed: int, compiled: bool) -> list[Row]:
    """Return the times of a step of both estimators of TALOS over their lower bounds."""
    if not compiled:
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # read when numba is imported, in the process of this task
    elif importlib.util.find_spec("numba") is None:
        raise SkippedError("numba is not installed (extra `standalone`)")
    import inertial_estimation as ie

    rng = np.random.default_rng(seed)
    recording = ie.measure(ie.synthetic_truth("talos", ie.Timing(LENGTH_S, 500.0), rng), ie.REALISTIC, rng)
    found: dict[str, list[list[float]]] = {name: [] for name in FLOORS}
    for _ in range(RUNS + 1):
        built = ie.build_pipelines(ie.load_configs(["talos"]))
        floors = kinematics(built.tilt.robot), dynamics(built.tilt.robot)
        for name, call, pipeline in zip(FLOORS, floors, (built.tilt, built.inertial), strict=True):
            ticks = timed_steps(recording, pipeline)
            floor = float(np.median([timed(call) for _ in range(len(ticks))]))
            found[name].append([*np.percentile(ticks, (50, 99)) / floor, 1e-3 * floor])
    how, rows = "compiled" if compiled else "not compiled", []
    for name, text in FLOORS.items():
        p50, p99, floor_us = np.array(found[name]).T
        rows += [
            repeated(f"{name} step, {how}: p50 over {text}", p50, "x"),
            repeated(f"{name} step, {how}: p99 over {text}", p99, "x", tolerance=0.3),
            *([repeated(f"{text} of TALOS", floor_us, "us", Better.INFO)] if compiled else []),
        ]
    return rows


def timed(call: Callable[[], object]) -> int:
    """Return the time of a call [ns]."""
    begin = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - begin


def timed_steps(recording: Any, pipeline: Any) -> np.ndarray:
    """Return the times of ticks that return an estimate [ns], without the first fifth."""
    from benchmarks.referee.readings import push

    ticks = []
    for entry in recording.entries([name for name in recording.topics if "ground" not in name]):
        push(pipeline, entry.topic, entry.sample)
        begin = time.perf_counter_ns()
        count = len(pipeline.tick(entry.log_ns))
        ticks += count * [(time.perf_counter_ns() - begin) / max(count, 1)]
    return np.array(ticks[len(ticks) // 5 :])


def kinematics(robot: Any) -> Callable[[], None]:
    """Return bare forward kinematics of a robot with three frames."""
    import pinocchio as pin

    model, data, frames = robot.model, robot.model.createData(), [robot.frame_id(name) for name in FRAMES]
    q, v = pin.randomConfiguration(model), np.zeros(model.nv)

    def call() -> None:
        pin.forwardKinematics(model, data, q, v)
        for frame in frames:
            pin.updateFramePlacement(model, data, frame)

    return call


def dynamics(robot: Any) -> Callable[[], None]:
    """Return inverse dynamics, three body regressors with their Jacobians, one Cholesky factorisation."""
    import pinocchio as pin

    model, data, S = robot.model, robot.model.createData(), np.eye(6 + robot.n_joints) + 0.1
    joints = [robot.link_body(link).joint_id for link in LINKS]
    q, v, a = pin.randomConfiguration(model), np.zeros(model.nv), np.zeros(model.nv)

    def call() -> None:
        pin.rnea(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        for joint in joints:
            pin.getJointJacobian(model, data, joint, pin.LOCAL).T @ pin.jointBodyRegressor(model, data, joint)
        np.linalg.cholesky(S)

    return call


def replay() -> list[Row]:
    """Return the speed of a replay of the iCub's recording with both estimators."""
    import inertial_estimation as ie

    folder, speeds = dataset("icub_walking"), []
    for _ in range(RUNS + 1):
        pipelines = ie.build_pipelines(ie.load_configs(["icub"]), urdf=str(folder / "iCubGenova04.urdf"))
        readers = ie.ReplayReaders(pipelines.tilt, pipelines.inertial)
        with ie.BagRecording(folder / "walk_front_back_2021") as recording:
            begin = time.process_time()
            run = ie.replay_recording(recording, pipelines.topics({}), readers)
            speeds.append(run.data_s / (time.process_time() - begin))
    return [repeated("replay of icub: times real time (processor time)", speeds, "x", Better.HIGHER)]


def trials(seed: int) -> list[Row]:
    """Return the time of a trial of the observer by `tune`, over that of VQF on the same readings."""
    from benchmarks.referee.gait_sensors import gait_recording
    from benchmarks.referee.gaits import RATE_HZ, readings_of
    from benchmarks.referee.readings import written

    if importlib.util.find_spec("vqf") is None:
        raise SkippedError("vqf is not installed")
    from vqf import VQF

    setup, readings = readings_of("hyq", "trot", seed, 20.0)
    gyroscope, accelerometer = readings.imu[:, 3:].copy(), readings.imu[:, :3].copy()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        bag = written(gait_recording(setup, readings), Path(folder, "bag"))
        words = ["tune", bag, "--config", "hyq", "--vary", "filter.velocity_drift"]
        words += ["--param", "tilt_observer.contact.source=wrench", "--no-figures", "--jobs", "1"]
        for _ in range(RUNS + 1):
            spent = {}
            for count in (4, 24):
                begin = time.process_time()
                code, output = ran(*words, "--trials", count, "--output", f"{folder}/{count}", "--overwrite")
                spent[count] = time.process_time() - begin
                if code:
                    raise RuntimeError(output[-200:])
            begin = time.process_time()
            for _ in range(20):
                VQF(1.0 / RATE_HZ).updateBatch(gyroscope, accelerometer)
            found.append((spent[24] - spent[4]) / max(time.process_time() - begin, 1e-9))
    return [repeated("tune: a trial of the observer over VQF's batch", found, "x", tolerance=0.2)]


def start(node: str) -> list[Row]:
    """Return processor time and memory of a node until it is ready, with an empty and a filled cache."""
    if importlib.util.find_spec("rclpy") is None:
        raise SkippedError("no ROS 2 (rclpy)")
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            cpu_s, memory = started(node, cache)
            rows.append(figure(f"{node}: {name} start, processor time", cpu_s, "s", tolerance=0.15))
    return [*rows, figure(f"{node}: memory once started", memory, "MB", tolerance=0.05)]


def started(node: str, cache: str) -> tuple[float, float]:
    """Start a node on TALOS in a separate ROS domain; return processor time [s] and memory [MB] once ready.

    The node is ready when it logs that it has started.
    """
    from benchmarks.node_cpu import cpu_seconds, node_command

    apart = {"ROS_DOMAIN_ID": str(100 + os.getpid() % 100), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    environment = {**os.environ, **apart, "NUMBA_CACHE_DIR": cache}
    log, begin = Path(cache, f"{node}.log"), time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(node_command(node), env=environment, stdout=output, stderr=output)
    try:
        while "started; reads" not in log.read_text(encoding="utf-8"):
            if process.poll() is not None or time.monotonic() - begin > LONGEST_S:
                ended = f"{node} ended with {process.poll()}, or is not ready after {LONGEST_S:g} s"
                raise RuntimeError(f"{ended}: {log.read_text(encoding='utf-8')[-500:]}")
            time.sleep(0.1)
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
        memory_kb = next(line.split()[1] for line in status if line.startswith("VmRSS"))
        return cpu_seconds(process.pid), float(memory_kb) / 1024.0
    finally:
        process.terminate()
        process.wait(30.0)
