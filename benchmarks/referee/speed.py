"""Time of steps over bare kinematics and dynamics, of replays and starts; memory of the nodes.

Ratios of one run say more than times: machines differ and change. Each is measured in turns with its floor,
compiled and not compiled (`NUMBA_DISABLE_JIT`); the range of three repetitions is its spread.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.recordings import ICUB, datasets
from benchmarks.referee.row import Better, Row, over_seeds
from benchmarks.referee.task import SkippedError, Task

PART = "speed"
RUNS, LENGTH_S, RATE_HZ = 3, 4.0, 500.0
NODES = ("tilt_observer", "inertial_ekf")
FLOORS = {"tilt": "bare kinematics", "inertial": "bare dynamics"}
FRAMES = ("imu_link", "left_sole_link", "right_sole_link")
LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
LONGEST_S = 300.0  # after which a node that has not started is given up


def tasks(seed: int, _count: int) -> list[Task]:
    """Return what is timed; each runs alone."""
    calls: dict[str, Callable[[], list[Row]]] = {
        "steps, compiled": partial(steps, seed, True),
        "steps, not compiled": partial(steps, seed, False),
        "replay": partial(replay, seed),
        "trials of the observer": partial(trials, seed),
        "closed loop": partial(closed_loop, seed),
        **{f"start of {node}": partial(start, node) for node in NODES},
    }
    return [Task(PART, name, call, processes=True) for name, call in calls.items()]


def repeated(key: str, values: Any, unit: str, better: Better = Better.LOWER, least: float = 0.1) -> Row:
    """Return the median of repetitions but the first one, with their range or at least a share as spread."""
    found = np.asarray(values, dtype=float)[1:]
    return over_seeds(key, found, unit, better, least=least * float(np.median(found)))


def steps(seed: int, compiled: bool) -> list[Row]:
    """Return the time of a step of both estimators of TALOS over their floors."""
    if not compiled:
        os.environ["NUMBA_DISABLE_JIT"] = (
            "1"  # read when numba is imported, in this process of the task's own
        )
    elif importlib.util.find_spec("numba") is None:
        raise SkippedError("numba is not installed (extra `fast`)")
    from inertial_estimation import REALISTIC, Timing, build_pipelines, load_configs, measure, synthetic_truth

    rng = np.random.default_rng(seed)
    recording = measure(synthetic_truth("talos", Timing(LENGTH_S, RATE_HZ), rng), REALISTIC, rng)
    found: dict[str, list[list[float]]] = {name: [] for name in FLOORS}
    for _ in range(RUNS + 1):
        built = build_pipelines(load_configs(["talos"]))
        floors = kinematics(built.tilt.robot), dynamics(built.tilt.robot)
        for name, call, pipeline in zip(FLOORS, floors, (built.tilt, built.inertial), strict=True):
            ticks, period = timed_steps(recording, pipeline)
            floor = float(np.median([timed(call) for _ in range(len(ticks))]))
            found[name].append([*np.percentile(ticks, (50, 99)) / floor, period / floor, 1e-3 * floor])
    how, rows = "compiled" if compiled else "not compiled", []
    for name, text in FLOORS.items():
        p50, p99, period, floor_us = np.array(found[name]).T
        rows += [
            repeated(f"{name} step, {how}: p50 over {text}", p50, "x"),
            repeated(f"{name} step, {how}: p99 over {text}", p99, "x", least=0.3),
            repeated(f"{name} step with all its readings, {how}: mean over {text}", period, "x"),
            *([repeated(f"{text} of TALOS", floor_us, "us", Better.INFO)] if compiled else []),
        ]
    return rows


def timed(call: Callable[[], object]) -> int:
    """Return the time of a call [ns]."""
    begin = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - begin


def timed_steps(recording: Any, pipeline: Any) -> tuple[np.ndarray, float]:
    """Return the times of ticks that make an estimate, and the mean of all calls for one estimate [ns]."""
    from benchmarks.referee.feed import push

    ticks, total, made = [], 0, []
    for entry in recording.entries([name for name in recording.topics if "ground" not in name]):
        total += timed(lambda entry=entry: push(pipeline, entry.topic, entry.sample))
        begin = time.perf_counter_ns()
        made = pipeline.tick(entry.log_ns)
        spent = time.perf_counter_ns() - begin
        total += spent
        ticks += [spent / len(made) for _ in made]
    return np.array(ticks[len(ticks) // 5 :]), total / max(len(ticks), 1)


def kinematics(robot: Any) -> Callable[[], None]:
    """Return bare forward kinematics of a robot with three frames."""
    import pinocchio as pin

    model, data = robot.model, robot.model.createData()
    frames, q, v = (
        [robot.frame_id(name) for name in FRAMES],
        pin.randomConfiguration(model),
        np.zeros(model.nv),
    )

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


def replay(seed: int) -> list[Row]:
    """Return the speed of a replay of both estimators: the iCub's recording, else of a synthetic TALOS."""
    from benchmarks.referee.commands import written
    from inertial_estimation import (
        BagRecording,
        ReplayReaders,
        build_pipelines,
        load_configs,
        replay_recording,
    )

    with tempfile.TemporaryDirectory() as folder:
        bag, urdf, robot = datasets() / ICUB[0], str(datasets() / "icub_walking/iCubGenova04.urdf"), "icub"
        if not bag.exists():
            from benchmarks.referee.synthetic import standing_talos

            bag, urdf, robot = written(standing_talos(seed)[1], Path(folder, "talos")), "", "talos"
        speeds = []
        for _ in range(RUNS + 1):
            pipelines = build_pipelines(load_configs([robot]), urdf=urdf)
            readers = ReplayReaders(pipelines.tilt, pipelines.inertial)
            with BagRecording(bag) as recording:
                begin = time.process_time()
                run = replay_recording(recording, pipelines.topics({}), readers)
                speeds.append(run.data_s / (time.process_time() - begin))
    return [repeated(f"replay of {robot}: times real time (processor time)", speeds, "x", Better.HIGHER)]


def trials(seed: int) -> list[Row]:
    """Return the time of a trial of the observer by `tune`, over VQF over the same readings."""
    from benchmarks.referee.commands import ran, written
    from benchmarks.referee.gait_sensors import gait_recording
    from benchmarks.referee.gaits import readings_of

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
                code, said = ran(*words, "--trials", count, "--output", f"{folder}/{count}", "--overwrite")
                spent[count] = time.process_time() - begin
                if code:
                    raise RuntimeError(said[-200:])
            begin = time.process_time()
            for _ in range(20):
                VQF(1.0 / RATE_HZ).updateBatch(gyroscope, accelerometer)
            found.append((spent[24] - spent[4]) / max(time.process_time() - begin, 1e-9))
    return [repeated("tune: a trial of the observer over VQF's batch", found, "x", least=0.2)]


def closed_loop(seed: int) -> list[Row]:
    """Return how fast TALOS walks in simulation with observer and controller."""
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.control.references import WalkCommand

    speeds = []
    for _ in range(RUNS):
        loop = RobotLoop("talos").build(seed=seed, inertial=False, adaptation=False)
        loop.release()
        loop.controller.push_walk_command(WalkCommand(4, 0.15))
        begin = time.process_time()
        loop.run(5.0)
        speeds.append(5.0 / (time.process_time() - begin))
    return [
        repeated("TALOS walks in simulation: times real time (processor time)", speeds, "x", Better.HIGHER)
    ]


def start(node: str) -> list[Row]:
    """Return processor time and memory of a node until it is ready, with nothing compiled and again."""
    if importlib.util.find_spec("rclpy") is None:
        raise SkippedError("no ROS 2 (rclpy)")
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            cpu_s, memory = started(node, cache)
            rows.append(Row(f"{node}: {name} start, processor time", cpu_s, "s", spread=0.15 * cpu_s))
    return [*rows, Row(f"{node}: memory once started", memory, "MB", spread=0.05 * memory)]


def started(node: str, cache: str) -> tuple[float, float]:
    """Start a node on TALOS in a ROS domain of its own; return processor time [s] and memory [MB] once ready.

    It is ready when it logs that it has started.
    """
    from inertial_estimation import find_config

    code = f"import sys; from inertial_estimation.ros.node_runner import {node}; sys.exit({node}())"
    command = [sys.executable, "-c", code, "--ros-args", "--params-file", str(find_config("talos"))]
    apart = {"ROS_DOMAIN_ID": str(100 + os.getpid() % 100), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    environment = {**os.environ, **apart, "NUMBA_CACHE_DIR": cache}
    log, begin = Path(cache, f"{node}.log"), time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    proc = Path("/proc", str(process.pid))
    try:
        while "started; reads" not in log.read_text(encoding="utf-8"):
            if process.poll() is not None or time.monotonic() - begin > LONGEST_S:
                ended = f"{node} ended with {process.poll()}, or is not ready after {LONGEST_S:g} s"
                raise RuntimeError(f"{ended}: {log.read_text(encoding='utf-8')[-500:]}")
            time.sleep(0.1)
        fields = (proc / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        status = (proc / "status").read_text(encoding="utf-8").splitlines()
        return used, float(next(line.split()[1] for line in status if line.startswith("VmRSS"))) / 1024.0
    finally:
        process.terminate()
        process.wait(30.0)
