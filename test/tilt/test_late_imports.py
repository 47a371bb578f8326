"""A running pipeline imports nothing: an import holds a node up for many periods of the controller."""

import ast
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from support.recorded_robots import recorded

from inertial_estimation.signals import JointReading

CONFIG = Path(__file__).resolve().parents[2] / "config" / "talos.yaml"
RUN = """
import pickle, sys
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.signals import ImuSample, JointReading

messages = pickle.load(sys.stdin.buffer)
built = build_pipelines(load_config_file(sys.argv[1]))
before = set(sys.modules)
health = []
for k, (topic, sample) in enumerate(messages):
    if k and not k % 100:  # what explains the efforts best changes with the motion
        health += [entry.message for entry in built.inertial.health(sample.stamp_ns)]
    for pipeline in (built.tilt, built.inertial):
        if isinstance(sample, ImuSample):
            pipeline.push_imu(sample)
        elif isinstance(sample, JointReading):
            pipeline.push_joints(sample)
            pipeline.tick(sample.stamp_ns)
        else:
            pipeline.push_wrench(topic.split("/")[1], sample)
for pipeline in (built.tilt, built.inertial):
    health += [entry.message for entry in pipeline.health(messages[-1][1].stamp_ns)]
print(sorted(set(sys.modules) - before))
print(health)
"""


def test_a_running_pipeline_imports_nothing():
    """In a process of its own: the other tests have imported all of the package."""
    entries = [(entry.topic, entry.sample) for entry in recorded("talos", 4.0).recording.messages]
    inputs = [entry for entry in entries if "ground_truth" not in entry[0]]
    messages = [(topic, with_exchanged_efforts(sample)) for topic, sample in inputs]
    program = [sys.executable, "-c", RUN, str(CONFIG)]
    done = subprocess.run(program, input=pickle.dumps(messages), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    imported, health = (ast.literal_eval(line) for line in done.stdout.decode().splitlines()[-2:])
    assert imported == []
    assert any("leg_left_4_joint" in message for message in health), "the checks of the efforts ran, too"


def with_exchanged_efforts(sample):
    """The efforts of the left knee and the left hip, in each other's place."""
    if not isinstance(sample, JointReading):
        return sample
    effort = sample.effort.copy()
    pair = [sample.names.index(f"leg_left_{number}_joint") for number in (2, 4)]
    effort[pair] = effort[pair[::-1]]
    return replace(sample, effort=effort)
