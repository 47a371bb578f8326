"""A running pipeline imports nothing: an import holds a node up for many periods of the controller."""

import pickle
import subprocess
import sys
from pathlib import Path

from support.recorded_robots import recorded

CONFIG = Path(__file__).resolve().parents[2] / "config" / "talos.yaml"
RUN = """
import pickle, sys
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.signals import ImuSample, JointReading

messages = pickle.load(sys.stdin.buffer)
built = build_pipelines(load_config_file(sys.argv[1]))
before = set(sys.modules)
for topic, sample in messages:
    for pipeline in (built.tilt, built.inertial):
        if isinstance(sample, ImuSample):
            pipeline.push_imu(sample)
        elif isinstance(sample, JointReading):
            pipeline.push_joints(sample)
            pipeline.tick(sample.stamp_ns)
        else:
            pipeline.push_wrench(topic.split("/")[1], sample)
for pipeline in (built.tilt, built.inertial):
    pipeline.health(messages[-1][1].stamp_ns)
print(sorted(set(sys.modules) - before))
"""


def test_a_running_pipeline_imports_nothing():
    """In a process of its own: the other tests have imported all of the package."""
    entries = [(entry.topic, entry.sample) for entry in recorded("talos", 2.5).recording.messages]
    messages = [entry for entry in entries if "ground_truth" not in entry[0]]
    program = [sys.executable, "-c", RUN, str(CONFIG)]
    done = subprocess.run(program, input=pickle.dumps(messages), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[-1] == "[]"
