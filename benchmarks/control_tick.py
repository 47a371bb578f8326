"""Time of one controller tick; the whole loop is in `simulation_speed`.

Run from the root of the project: ``python -m benchmarks.control_tick``. Bound: 0.8 ms a tick (p50) on
Talos standing on two soles.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.controller_pipeline import ControllerPipeline
from inertial_estimation.models.stance_config import stance_positions
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.signals import BaseState, JointReading, OrientationSample

CONFIG = Path(__file__).resolve().parents[1] / "config"
PERIOD_NS = 3_000_000
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    steps = parser.parse_args().steps
    print("controller tick, noisy state at rest   p50 [us]   p99 [us]")
    for robot in ("talos", "hyq", "panda"):
        durations = tick_durations(pipeline_of(robot), steps)
        print(f"  {robot:36} {np.percentile(durations, 50):8.0f} {np.percentile(durations, 99):10.0f}")


def config_of(config_class: type, robot: str, node: str) -> Any:
    """Build the config of one node from a robot's file, options of the node alone left out."""
    known = {spec.name for spec in iterate_parameters(config_class)}
    values = load_config_file(CONFIG / f"{robot}.yaml").values(node, known)
    return build_config(config_class, {name: value for name, value in values.items() if name in known})


def pipeline_of(robot: str) -> ControllerPipeline:
    config = config_of(ControllerConfig, robot, "whole_body_controller")
    return ControllerPipeline(config, read_urdf(config.robot.urdf))


def tick_durations(pipeline: ControllerPipeline, steps: int) -> np.ndarray:
    """Durations of a tick with all its pushes [us]."""
    rng = np.random.default_rng(0)
    q, names = stance_positions(pipeline.config.stance, pipeline.robot), pipeline.robot.joint_names
    noise = 2e-3 * rng.standard_normal((steps + 100, len(q)))
    durations = []
    for k, v in enumerate(noise):
        stamp = k * PERIOD_NS
        joints = JointReading(stamp, names, q, v)
        state = BaseState(stamp, UPRIGHT, np.zeros(3), 0.01 * rng.standard_normal(3), np.zeros(3))
        begin = time.perf_counter_ns()
        pipeline.push_joints(joints)
        pipeline.push_orientation(OrientationSample(stamp, UPRIGHT))
        pipeline.push_base_state(state)
        pipeline.tick(stamp)
        durations.append(1e-3 * (time.perf_counter_ns() - begin))
    return np.array(durations[100:])


if __name__ == "__main__":
    main()
