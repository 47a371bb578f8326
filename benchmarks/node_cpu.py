"""CPU of both nodes at 1 kHz inputs, against empty nodes with the same subscriptions.

    python benchmarks/node_cpu.py [--seconds 15] [--rate 1000] [--listen]

One process publishes the sensors of a standing TALOS (32 joints, IMU, two ankle wrenches, and a base state
for the inertial filter). The nodes and their empty twins run one after another under the same load; the
CPU time is that of the process, from /proc. An empty node has the subscriptions and quality of
service of the node, and callbacks that do nothing. Nodes publish only what is subscribed to; with --listen
every output but base_state (which the load itself publishes) is.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NODES = ("tilt_observer", "inertial_ekf")
CONFIG = Path(__file__).resolve().parents[1] / "config" / "talos.yaml"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STARTUP = 4.0
LONGEST = 300.0  # a publisher left behind ends by itself [s]


def main() -> int:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="duration of one measurement")
    parser.add_argument("--rate", type=float, default=1000.0, help="rate of every input [Hz]")
    parser.add_argument("--repeat", type=int, default=1, help="measurements of each, interleaved")
    parser.add_argument("--listen", action="store_true", help="subscribe to every output as well")
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role == "publisher":
        return publish(args.rate, args.listen)
    if args.role:
        return run_empty(args.role)
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    results: dict[str, dict[str, float]] = {}
    for name in NODES:
        empty, full = 0.0, 0.0
        for _ in range(args.repeat):
            empty += cpu_share([sys.executable, __file__, "--role", name], args) / args.repeat
            full += cpu_share(node_command(name), args) / args.repeat
        results[name] = {"empty": empty, "node": full, "ratio": full / empty}
        print(f"{name:>14}: empty {empty:6.1%}   node {full:6.1%}   ratio {full / empty:.2f}", flush=True)
    total = [sum(result[kind] for result in results.values()) for kind in ("empty", "node")]
    print(f"{'both':>14}: empty {total[0]:6.1%}   node {total[1]:6.1%}   ratio {total[1] / total[0]:.2f}")
    print(json.dumps(results))
    return 0


def node_command(name: str) -> list[str]:
    """Return the command line of a node on the TALOS of config/."""
    code = f"import sys; from inertial_estimation.ros.node_runner import {name}; sys.exit({name}())"
    return [sys.executable, "-c", code, "--ros-args", "--params-file", str(CONFIG)]


def cpu_share(command: list[str], args: argparse.Namespace) -> float:
    """Run a process under load and return the share of one core it takes."""
    publisher = [sys.executable, __file__, "--role", "publisher", "--rate", str(args.rate)]
    publisher += ["--listen"] if args.listen else []
    processes = [subprocess.Popen(command), subprocess.Popen(publisher)]
    try:
        time.sleep(STARTUP)
        before, start = cpu_seconds(processes[0].pid), time.monotonic()
        time.sleep(args.seconds)
        share = (cpu_seconds(processes[0].pid) - before) / (time.monotonic() - start)
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        codes = [process.wait(timeout=20.0) for process in processes]
    if codes[0] != 0:
        raise SystemExit(f"{command} ended with {codes[0]}")
    return share


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def run_empty(name: str) -> int:
    """Run a node with the same interfaces that does nothing."""
    from geometry_msgs.msg import QuaternionStamped, WrenchStamped
    from nav_msgs.msg import Odometry
    from rclpy.node import Node
    from sensor_msgs.msg import Imu, JointState

    from inertial_estimation.ros.node_runner import run_node
    from inertial_estimation.ros.qos import SENSOR_INPUT

    topics = {"imu/data": Imu, "joint_states": JointState}
    topics |= {f"{side}_foot/wrench": WrenchStamped for side in ("left", "right")}
    topics |= {"yaw_reference": QuaternionStamped} if name == "tilt_observer" else {"base_state": Odometry}

    def build() -> Node:
        node = Node(f"empty_{name}")
        for topic, message_type in topics.items():
            node.create_subscription(message_type, topic, lambda _msg: None, SENSOR_INPUT)
        return node

    return run_node(build)


def publish(rate: float, listen: bool) -> int:
    """Publish the sensors of a standing TALOS until a signal."""
    import rclpy
    from rclpy.serialization import serialize_message
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("publisher")
    messages = sensors()
    for topic, message_type in outputs().items() if listen else ():  # never read: nodes pay, this does not
        node.create_subscription(message_type, topic, lambda _msg: None, 1, raw=True)
    publishers = {topic: node.create_publisher(type(msg), topic, 50) for topic, msg in messages.items()}
    raw = {topic: bytearray(serialize_message(msg)) for topic, msg in messages.items()}
    start, count = time.monotonic(), 0
    try:
        while time.monotonic() < start + LONGEST:
            time.sleep(max(0.0, start + count / rate - time.monotonic()))
            sec, nanosec = divmod(time.time_ns(), 10**9)
            stamp = sec.to_bytes(4, "little") + nanosec.to_bytes(4, "little")
            for topic, data in raw.items():
                if topic == "base_state" and count % 2:
                    continue  # the tilt observer's rate
                data[4:12] = stamp
                publishers[topic].publish(bytes(data))
            count += 1
    except KeyboardInterrupt:
        rclpy.try_shutdown()
    return 0


def outputs() -> dict[str, type]:
    """Return the type of every output on the TALOS."""
    from geometry_msgs.msg import InertiaStamped, QuaternionStamped, Vector3Stamped
    from sensor_msgs.msg import JointState
    from visualization_msgs.msg import MarkerArray

    from inertial_estimation.replay.config_file import load_config_file

    links = load_config_file(CONFIG).nodes["inertial_ekf"]["links"]
    telemetry = {f"{node}/telemetry": JointState for node in NODES}
    telemetry |= {f"link_covariances/{link}": JointState for link in links}
    telemetry |= {f"{node}/markers": MarkerArray for node in NODES}
    inertias = {f"{kind}/{link}": InertiaStamped for kind in ("link_inertias", "payloads") for link in links}
    tilt = {"base_orientation": QuaternionStamped, "tilt": Vector3Stamped}
    return {**inertias, **tilt, **telemetry, "torque_residual": JointState}


def sensors() -> dict[str, object]:
    """Return one message of every input."""
    import numpy as np

    from inertial_estimation.models.robot_model import RobotModel
    from inertial_estimation.replay.urdf_source import read_urdf
    from inertial_estimation.ros import messages
    from inertial_estimation.signals import BaseState, ImuSample, JointReading, WrenchSample

    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))
    zeros, still = np.zeros(robot.n_joints), np.zeros(3)
    foot = WrenchSample(0, [0, 0, 0.5 * 9.81 * robot.total_mass, 0, 0, 0])
    return {
        "imu/data": messages.imu_to_msg(ImuSample(0, [0, 0, 9.81], still), "imu_link"),
        "joint_states": messages.joints_to_msg(JointReading(0, robot.joint_names, zeros, zeros, zeros)),
        "left_foot/wrench": messages.wrench_to_msg(foot, "left_sole_link"),
        "right_foot/wrench": messages.wrench_to_msg(foot, "right_sole_link"),
        "base_state": messages.base_state_to_msg(
            BaseState(0, [0, 0, 0, 1], [0, 0, 1], still, still), "odom", "base_link"
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
