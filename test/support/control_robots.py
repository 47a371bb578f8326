"""Robots, inputs and a loop with the simulation for the tests of the controller."""

from pathlib import Path

import numpy as np

import inertial_estimation as ie
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.parameters import iterate_parameters

CONFIG = Path(__file__).resolve().parents[2] / "config"
TICK_NS = 3_000_000
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
PANDA_HOME = {
    "stance.joints": ("panda_joint2", "panda_joint4", "panda_joint6"),
    "stance.positions": (0.3, -1.8, 1.5),
}


def config_of(config_class: type, robot: str, node: str, values: dict) -> object:
    file = ie.load_config_file(CONFIG / f"{robot}.yaml")
    known = {spec.name for spec in iterate_parameters(config_class)}
    own = {name: value for name, value in file.values(node, known).items() if name in known}
    return ie.build_config(config_class, {**own, **values})


def pipeline_of(robot: str, **values: object) -> ie.ControllerPipeline:
    config = config_of(ie.ControllerConfig, robot, "whole_body_controller", values)
    return ie.ControllerPipeline(config, ie.read_urdf(config.robot.urdf))


def home(pipeline: ie.ControllerPipeline) -> np.ndarray:
    """Joint positions of the home posture."""
    return stance_positions(pipeline.config.stance, pipeline.robot)


def push_state(
    pipeline: ie.ControllerPipeline,
    stamp_ns: int,
    q: np.ndarray,
    v: np.ndarray | None = None,
    *,
    quaternion: np.ndarray = UPRIGHT,
    position: np.ndarray | None = None,
    twist: np.ndarray | None = None,
) -> None:
    """Push joints and the base state of the same stamp; velocities all zero would not be believed."""
    v = np.full_like(q, 1e-9) if v is None else v
    twist = np.zeros(6) if twist is None else twist
    position = np.zeros(3) if position is None else position
    pipeline.push_joints(ie.JointReading(stamp_ns, pipeline.robot.joint_names, q, v))
    if pipeline.robot.floating_base:
        pipeline.push_base_state(ie.BaseState(stamp_ns, quaternion, position, twist[:3], twist[3:]))
