"""What telemetry costs a step of each estimator, with a listener and without, as a share of the step.

    python benchmarks/telemetry_cost.py [--seconds 4]

The pipelines of config/talos.yaml run over a synthetic recording of TALOS; then every estimate is sent by
the publishers of the nodes, to a subscription of another process that reads all, and to nobody. CPU times are
medians over the estimates; in addition the publication of one figure, which no content undercuts.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inertial_estimation.commands.ros_domains import talk_apart
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.telemetry import InertialTelemetry, TiltTelemetry
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")
LISTENER = """
import signal, sys, rclpy
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from sensor_msgs.msg import JointState
rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
node = rclpy.create_node("listener")
for topic in sys.argv[1:]:
    node.create_subscription(JointState, topic, lambda data: None, 50, raw=True)
rclpy.spin(node)
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="length of the recording")
    args = parser.parse_args()
    talk_apart()
    tilt, inertial = run(args.seconds)
    import rclpy

    rclpy.init(args=[])
    try:
        measure_node("tilt_observer", *tilt)
        measure_node("inertial_ekf", *inertial)
    finally:
        rclpy.try_shutdown()
    return 0


def run(duration_s: float) -> tuple[tuple[list[Any], float], tuple[list[Any], float]]:
    """Return the estimates of both pipelines and the time of a step [s]."""
    rng = np.random.default_rng(0)
    pipelines = build_pipelines(load_config_file(find_config("talos")))
    recording = measure(synthetic_truth("talos", Timing(duration_s=duration_s), rng), REALISTIC, rng)
    wanted = [topic for topic in recording.topics if "ground" not in topic]
    entries = list(recording.entries(wanted))
    found = []
    for pipeline in (pipelines.tilt, pipelines.inertial):
        estimates: list[Any] = []
        took: list[float] = []
        for entry in entries:
            push(pipeline, entry.topic, entry.sample)
            begin = time.thread_time()
            step = pipeline.tick(entry.log_ns)
            if step:
                took.append(time.thread_time() - begin)
                estimates += step
        found.append((estimates, float(np.median(took))))
    return found[0], found[1]


def push(pipeline: Any, topic: str, sample: Any) -> None:
    if isinstance(sample, ImuSample):
        pipeline.push_imu(sample)
    elif isinstance(sample, JointReading):
        pipeline.push_joints(sample)
    elif isinstance(sample, WrenchSample):
        pipeline.push_wrench(topic.split("/")[1], sample)


def measure_node(name: str, estimates: Sequence[Any], step_s: float) -> None:
    """Print the cost of a node's telemetry."""
    import rclpy
    from rclpy.node import Node
    from sensor_msgs.msg import JointState

    from inertial_estimation.ros.robot_node import RobotNode
    from inertial_estimation.ros.telemetry import CovarianceOutputs, TelemetryOutput, figure_message

    node: Any = rclpy.create_node(name)
    smallest, bare = figure_message(("one",)), node.create_publisher(JointState, f"{name}/bare_telemetry", 50)
    node._undo = []  # what a managed node has
    node.add_output = lambda *given: RobotNode.add_output(node, *given)
    print(f"{name}: step {1e6 * step_s:.0f} us, {len(estimates)} estimates")
    if name == "tilt_observer":
        output = TelemetryOutput(node, TiltTelemetry(("left_foot", "right_foot")))
        sends = {"telemetry": lambda estimate: output.send(estimate, estimate.state.stamp_ns)}
    else:
        output, covariances = TelemetryOutput(node, InertialTelemetry(LINKS)), CovarianceOutputs(node, LINKS)
        sends = {
            "telemetry": lambda estimate: output.send(estimate, estimate.stamp_ns),
            f"covariances of {len(LINKS)} links": covariances.send,
        }
    sends["one figure"] = lambda _estimate: RobotNode.send(node, bare, lambda: smallest.filled(0, (0.0,)))
    alone = {what: median_time(send, estimates) for what, send in sends.items()}
    topics = [publisher.topic_name for publisher in node.publishers if isinstance(node, Node)]
    topics = [topic for topic in topics if "telemetry" in topic or "covariances" in topic]
    listener = subprocess.Popen([sys.executable, "-c", LISTENER, *topics])
    try:
        while not all(node.count_subscribers(topic) for topic in topics):
            time.sleep(0.05)
        time.sleep(0.5)
        for what, send in sends.items():
            heard = median_time(send, estimates)
            print(
                f"  {what:<24} listened to {1e6 * heard:6.0f} us ({heard / step_s:5.1%} of a step)"
                f"   nobody {1e6 * alone[what]:5.1f} us ({alone[what] / step_s:5.1%})"
            )
    finally:
        listener.terminate()
        listener.wait()
        node.destroy_node()


def median_time(send: Callable[[Any], None], estimates: Sequence[Any]) -> float:
    """Return the median time of sending an estimate [s]."""
    took = []
    for estimate in estimates:
        begin = time.thread_time()
        send(estimate)
        took.append(time.thread_time() - begin)
        time.sleep(0.0005)  # the listener keeps up
    return float(np.median(took))


if __name__ == "__main__":
    sys.exit(main())
