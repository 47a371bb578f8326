"""Time of steps over bare kinematics and dynamics, of replays and starts; memory of the nodes.

Ratios of one run say more than times: machines differ and change. Each is measured in turns with its floor,
compiled and not compiled (`NUMBA_DISABLE_JIT`); the range of three repetitions is its spread.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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
IMU, CONTACTS = "imu_link", ("left_sole_link", "right_sole_link")
QUIET_S, LONGEST_S = 2.0, 300.0  # without processor time: a node is ready; after which one is given up
TICKS = os.sysconf("SC_CLK_TCK")


def tasks(seed: int) -> list[Task]:
    """Return what is timed; each runs alone."""
    found = [
        Task(PART, "steps, compiled", partial(steps, seed, True), processes=True),
        Task(PART, "steps, not compiled", partial(steps, seed, False), processes=True),
        Task(PART, "replay", partial(replay, seed), processes=True),
        Task(PART, "observer over a whole recording", partial(whole_recording, seed), processes=True),
    ]
    return found + [Task(PART, f"start of {node}", partial(start, node), processes=True) for node in NODES]


def steps(seed: int, compiled: bool) -> list[Row]:
    """Return the time of a step of both estimators of TALOS over their floors, with and without its inputs."""
    if not compiled:
        os.environ["NUMBA_DISABLE_JIT"] = (
            "1"  # read when numba is imported, in this process of the task's own
        )
    elif not has_numba():
        raise SkippedError("numba is not installed (extra `fast`)")
    from benchmarks.referee.synthetic import talos
    from inertial_estimation import REALISTIC, Timing, build_pipelines, load_configs, measure, synthetic_truth

    rng = np.random.default_rng(seed)
    recording = measure(synthetic_truth("talos", Timing(LENGTH_S, RATE_HZ), rng), REALISTIC, rng)
    found: dict[str, list[np.ndarray]] = {}
    for _ in range(RUNS + 1):
        file = load_configs(["talos"])
        pipelines = {
            "tilt": build_pipelines(file, only=["tilt_observer"]).tilt,
            "inertial": talos(),
        }
        floors = {
            "tilt": kinematics(pipelines["inertial"].robot),
            "inertial": dynamics(pipelines["inertial"].robot),
        }
        for name, pipeline in pipelines.items():
            ticks, period = timed_steps(recording, pipeline)
            floor = timed(floors[name], len(ticks))
            found.setdefault(name, []).append(
                np.array([*np.percentile(ticks, (50, 99)), period]) / np.median(floor)
            )
            found.setdefault(f"{name} floor", []).append(np.array([1e-3 * np.median(floor)]))
    how = "compiled" if compiled else "not compiled"
    floor_of = {"tilt": "bare kinematics", "inertial": "bare dynamics"}
    rows = []
    for name, text in floor_of.items():
        p50, p99, period = np.array(found[name][1:]).T  # the first run warms up
        rows += [
            over_seeds(f"{name} step, {how}: p50 over {text}", p50, "x", least=0.1 * float(np.median(p50))),
            over_seeds(f"{name} step, {how}: p99 over {text}", p99, "x", least=0.3 * float(np.median(p99))),
            over_seeds(
                f"{name} step with all its readings, {how}: mean over {text}",
                period,
                "x",
                least=0.1 * float(np.median(period)),
            ),
        ]
        if compiled:
            us = np.array(found[f"{name} floor"][1:]).ravel()
            rows.append(over_seeds(f"{text} of TALOS", us, "us", Better.INFO))
    return rows


def has_numba() -> bool:
    """Whether inner loops can be compiled."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def timed_steps(recording: Any, pipeline: Any) -> tuple[np.ndarray, float]:
    """Return the time of every tick that makes an estimate, and the mean time of all else with it [ns]."""
    from benchmarks.referee.feed import push

    clock, ticks, total, steps_made = time.perf_counter_ns, [], 0, 0
    needs = {"imu": hasattr(pipeline, "push_imu")}
    topics = [name for name in recording.topics if "ground" not in name]
    assert needs["imu"]
    for entry in recording.entries(topics):
        begin = clock()
        push(pipeline, entry.topic, entry.sample)
        middle = clock()
        made = pipeline.tick(entry.log_ns)
        end = clock()
        if made:
            ticks.append((end - middle) / len(made))
            steps_made += len(made)
        total += end - begin
    skipped = len(ticks) // 5  # start-up
    return np.array(ticks[skipped:]), total / max(steps_made, 1)


def timed(call: Callable[[], object], count: int) -> np.ndarray:
    """Return the times of some calls [ns]."""
    clock, found = time.perf_counter_ns, np.empty(count)
    for k in range(count):
        begin = clock()
        call()
        found[k] = clock() - begin
    return found


def kinematics(robot: Any) -> Callable[[], None]:
    """Return bare forward kinematics of a robot with three frames."""
    import pinocchio as pin

    model, data = robot.model, robot.model.createData()
    frames = [robot.frame_id(name) for name in (IMU, *CONTACTS)]
    q, v = pin.randomConfiguration(model), np.zeros(model.nv)

    def call() -> None:
        pin.forwardKinematics(model, data, q, v)
        for frame in frames:
            pin.updateFramePlacement(model, data, frame)

    return call


def dynamics(robot: Any) -> Callable[[], None]:
    """Return inverse dynamics, three body regressors with their Jacobians, one Cholesky factorisation."""
    import pinocchio as pin

    model, data = robot.model, robot.model.createData()
    links = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
    joints = [robot.link_body(link).joint_id for link in links]
    q, v, a = pin.randomConfiguration(model), np.zeros(model.nv), np.zeros(model.nv)
    S = np.eye(6 + robot.n_joints) + 0.1

    def call() -> None:
        pin.rnea(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        for joint in joints:
            pin.getJointJacobian(model, data, joint, pin.LOCAL).T @ pin.jointBodyRegressor(model, data, joint)
        np.linalg.cholesky(S)

    return call


def replay(seed: int) -> list[Row]:
    """Return the speed of a replay of both estimators: the iCub's recording, else of a synthetic TALOS."""
    from inertial_estimation import BagRecording, build_pipelines, load_configs, replay_recording

    with tempfile.TemporaryDirectory() as folder:
        bag, urdf, robot = datasets() / ICUB[0], str(datasets() / "icub_walking/iCubGenova04.urdf"), "icub"
        if not bag.exists():
            bag, urdf, robot = _synthetic_bag(seed, Path(folder)), "", "talos"
        speeds = []
        for _ in range(RUNS + 1):
            pipelines = build_pipelines(load_configs([robot]), urdf=urdf)
            with BagRecording(bag) as recording:
                begin = time.process_time()
                run = replay_recording(
                    recording, pipelines.topics({}), tilt=pipelines.tilt, inertial=pipelines.inertial
                )
                speeds.append(run.data_s / (time.process_time() - begin))
    least = 0.1 * float(np.median(speeds))
    name = f"replay of {robot}, both estimators: times real time (processor time)"
    return [over_seeds(name, speeds[1:], "x", Better.HIGHER, least=least)]


def _synthetic_bag(seed: int, folder: Path) -> Path:
    from benchmarks.referee.commands import written
    from inertial_estimation import REALISTIC, Timing, measure, synthetic_truth

    rng = np.random.default_rng(seed)
    return written(measure(synthetic_truth("talos", Timing(20.0), rng), REALISTIC, rng), folder / "talos")


def whole_recording(seed: int) -> list[Row]:
    """Return the time of a trial of the observer by `tune`, over VQF over the same readings."""
    from benchmarks.referee.commands import ran, written
    from benchmarks.referee.gaits import readings_of
    from inertial_estimation.synthetic.gait_sensors import gait_recording

    try:
        from vqf import VQF
    except ImportError as error:
        raise SkippedError("vqf is not installed") from error
    setup, readings = readings_of("hyq", "trot", seed, 20.0)
    gyroscope, accelerometer = readings.imu[:, 3:].copy(), readings.imu[:, :3].copy()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        bag = written(gait_recording(setup, readings), Path(folder, "bag"))
        options = (
            "--config",
            "hyq",
            "--vary",
            "kalman.velocity_drift",
            "--method",
            "random",
            "--jobs",
            "1",
            "--param",
            "tilt_observer.contact.source=wrench",
            "--no-figures",
        )
        for _ in range(RUNS):
            spent = []
            for trials in (4, 24):
                begin = time.process_time()
                code, said = ran(
                    "tune", bag, *options, "--trials", trials, "--output", f"{folder}/tuned", "--overwrite"
                )
                if code:
                    raise RuntimeError(said[-200:])
                spent.append(time.process_time() - begin)
            begin = time.process_time()
            for _ in range(20):
                VQF(1.0 / 500.0).updateBatch(gyroscope, accelerometer)
            found.append((spent[1] - spent[0]) / max(time.process_time() - begin, 1e-9))
    return [
        over_seeds(
            "tune: a trial of the observer over VQF's batch", found, "x", least=0.2 * float(np.median(found))
        )
    ]


def start(node: str) -> list[Row]:
    """Return processor time and memory of a node until it is ready, with nothing compiled and again."""
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        raise SkippedError(f"no ROS 2 ({error})") from error
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            cpu_s, memory = started(node, cache)
            rows.append(Row(f"{node}: {name} start, processor time", cpu_s, "s", spread=0.15 * cpu_s))
        rows.append(Row(f"{node}: memory once started", memory, "MB", spread=0.05 * memory))
    return rows


def started(node: str, cache: str) -> tuple[float, float]:
    """Start a node on TALOS in a ROS domain of its own; return processor time [s] and memory [MB] once ready.

    It is ready when it has used no processor time for a while.

    Args:
        node: Its name.
        cache: Folder of the machine code.
    """
    import inertial_estimation

    config = Path(inertial_estimation.__file__).parents[1] / "config" / "talos.yaml"
    code = f"import sys; from inertial_estimation.ros.node_runner import {node}; sys.exit({node}())"
    command = [sys.executable, "-c", code, "--ros-args", "--params-file", str(config), "--log-level", "error"]
    apart = {"ROS_DOMAIN_ID": str(100 + os.getpid() % 100), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    environment = {**os.environ, **apart, "NUMBA_CACHE_DIR": cache}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        used, quiet_since, begin = 0.0, time.monotonic(), time.monotonic()
        while time.monotonic() - quiet_since < QUIET_S or used < 0.5:
            if process.poll() is not None:
                raise RuntimeError(f"{node} ended with {process.returncode}")
            if time.monotonic() - begin > LONGEST_S:
                raise RuntimeError(f"{node} is not ready after {LONGEST_S:g} s")
            time.sleep(0.1)
            now = _cpu_s(process.pid)
            if now - used > 0.05:  # more than waiting costs
                used, quiet_since = now, time.monotonic()
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        memory = next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return used, memory / 1024.0
    finally:
        process.terminate()
        process.wait(30.0)


def _cpu_s(pid: int) -> float:
    fields: Sequence[str] = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
