"""CPU of the live nodes at 1 kHz inputs and 333 Hz outputs, over that of empty nodes on the same topics.

    python -m benchmarks.node_cpu [--seconds 10] [--rate 1000] [--repeat 2] [--nodes ...] [--triggers ...]

One process publishes the sensors of a standing TALOS (32 joints, IMU, two ankle wrenches) and the base state,
base orientation and link inertias that other nodes would. The nodes and their empty twins run one after
another under the same load; the CPU time is that of the process, from /proc. An empty node has the
subscriptions and quality of service of the node, and callbacks of rclpy's executor that do nothing.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import talk_apart

RATE = 333.0  # of the estimates [Hz]
ESTIMATORS = ("tilt_observer", "inertial_ekf")
NODES = (*ESTIMATORS, "whole_body_controller")
CONFIG = Path(__file__).resolve().parents[1] / "config" / "talos.yaml"
STARTUP_S = 12.0  # imports, machine code from disk, first messages
ESTIMATES = ("base_", "link_inertias/")  # published at a third of the rate of the sensors
LONGEST_S = 300.0  # a publisher left behind ends by itself


def main() -> int:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of one measurement")
    parser.add_argument("--rate", type=float, default=1000.0, help="rate of every sensor [Hz]")
    parser.add_argument("--repeat", type=int, default=1, help="measurements of each, in turns")
    parser.add_argument("--nodes", nargs="+", choices=NODES, default=list(NODES))
    parser.add_argument("--triggers", nargs="+", choices=("timer", "arrival"), default=["timer", "arrival"])
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        return publish(args.rate) if args.role == "publisher" else run_empty(args.role)
    talk_apart()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    shares = {name: dict.fromkeys(("empty", *args.triggers), 0.0) for name in args.nodes}
    for name, own in shares.items():
        for _ in range(args.repeat):
            for kind in own:
                own[kind] += cpu_share(command(name, kind), args) / args.repeat
        print_row(name, own)
    if set(ESTIMATORS) <= set(shares):
        total = {kind: sum(shares[name][kind] for name in ESTIMATORS) for kind in ("empty", *args.triggers)}
        print_row("both estimators", total)
    print(json.dumps(shares))
    return 0


def print_row(name: str, shares: dict[str, float]) -> None:
    empty = shares["empty"]
    columns = [f"  {kind} {share:.1%} ({share / empty:.2f} x)" for kind, share in shares.items()]
    print(f"{name:>22}" + "".join(columns), flush=True)


def command(name: str, kind: str) -> list[str]:
    """Return the command line of a node with a trigger, or of an empty one with its subscriptions."""
    if kind == "empty":
        return [sys.executable, "-m", "benchmarks.node_cpu", "--role", name]
    code = f"import sys; from inertial_estimation.ros.node_runner import {name}; sys.exit({name}())"
    given = ["-p", f"{name}:rate:={RATE}", "-p", f"{name}:trigger:={kind}", "--log-level", "error"]
    return [sys.executable, "-c", code, "--ros-args", "--params-file", str(CONFIG), *given]


def cpu_share(command: list[str], args: argparse.Namespace) -> float:
    """Run a process under load and return the share of one core it takes."""
    publisher = [sys.executable, "-m", "benchmarks.node_cpu", "--role", "publisher", "--rate", str(args.rate)]
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        node = processes.start("node", command)
        processes.start("publisher", publisher)
        time.sleep(STARTUP_S)
        processes.check()
        before, start = cpu_seconds(node.pid), time.monotonic()
        time.sleep(args.seconds)
        share = (cpu_seconds(node.pid) - before) / (time.monotonic() - start)
        processes.check()
    return share


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_empty(name: str) -> int:
    """Run a node with callbacks that do nothing, as one that knows nothing better."""
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    from inertial_estimation.ros.node_runner import run_node
    from inertial_estimation.ros.qos import SENSOR_INPUT

    def build() -> Node:
        node = Node(f"empty_{name}")
        for topic, message_type in inputs(name).items():
            node.create_subscription(message_type, topic, lambda _msg: None, SENSOR_INPUT)
        return node

    return run_node(build, [], SingleThreadedExecutor)


def inputs(name: str) -> dict[str, type]:
    """Return the type of every input of a node."""
    from geometry_msgs.msg import InertiaStamped, QuaternionStamped, WrenchStamped
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import Imu, JointState

    common = {"joint_states": JointState}
    common |= {f"{side}_foot/wrench": WrenchStamped for side in ("left", "right")}
    if name == "tilt_observer":
        return {"imu/data": Imu, **common, "yaw_reference": QuaternionStamped}
    if name == "inertial_ekf":
        return {"imu/data": Imu, **common, "base_state": Odometry}
    inertias = {f"link_inertias/{link}": InertiaStamped for link in links()}
    return {**common, "base_state": Odometry, "base_orientation": QuaternionStamped, **inertias}


def links() -> list[str]:
    """Return the links whose inertias are estimated on the TALOS."""
    from inertial_estimation import load_config_file

    return list(load_config_file(CONFIG).nodes["inertial_ekf"]["links"])


def publish(rate: float) -> int:
    """Publish the sensors of a standing TALOS until a signal, stamped when they are due, as by a driver."""
    import rclpy
    from rclpy.serialization import serialize_message
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node, messages = rclpy.create_node("publisher"), sensors()
    publishers = {topic: node.create_publisher(type(msg), topic, 50) for topic, msg in messages.items()}
    raw = {topic: bytearray(serialize_message(msg)) for topic, msg in messages.items()}
    start, begin_ns, count = time.monotonic(), time.time_ns(), 0
    try:
        while time.monotonic() < start + LONGEST_S:
            time.sleep(max(0.0, start + count / rate - time.monotonic()))
            sec, nanosec = divmod(begin_ns + round(1e9 * count / rate), 10**9)
            for topic, data in raw.items():
                if count % 3 and topic.startswith(ESTIMATES):
                    continue
                data[4:12] = sec.to_bytes(4, "little") + nanosec.to_bytes(4, "little")
                publishers[topic].publish(bytes(data))
            count += 1
    except KeyboardInterrupt:
        rclpy.try_shutdown()
    return 0


def sensors() -> dict[str, Any]:
    """Return one message of every input: TALOS stands half sitting, upright, everything in balance.

    Readings that contradict one another would have the filter work as on a load that is never understood.
    """
    import numpy as np
    import pinocchio as pin
    from geometry_msgs.msg import InertiaStamped, QuaternionStamped, WrenchStamped
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import Imu, JointState

    from inertial_estimation import (
        BaseState,
        ImuSample,
        JointReading,
        LinkInertia,
        RobotModel,
        WrenchSample,
        load_config_file,
        read_urdf,
    )
    from inertial_estimation.recordings import message_conversion as conversion
    from inertial_estimation.recordings.samples import StampedInertia

    shared = load_config_file(CONFIG).shared
    robot = RobotModel.from_urdf(read_urdf(str(shared["urdf"])))
    stance = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))
    q, still = [stance.get(name, 0.0) for name in robot.joint_names], np.zeros(3)
    noise = np.full(robot.n_joints, 1e-4)  # zeros would be taken for velocities that no sensor measures
    model, data = robot.model, robot.model.createData()
    position = np.concatenate(([0, 0, 0, 0, 0, 0, 1.0], q))
    weight = pin.computeGeneralizedGravity(model, data, position)
    soles = [model.getFrameId(f"{side}_sole_link") for side in ("left", "right")]
    J = np.vstack([pin.computeFrameJacobian(model, data, position, sole, pin.LOCAL) for sole in soles])
    wrenches = np.linalg.lstsq(J[:, :6].T, weight[:6], rcond=None)[0]
    tau = weight[6:] - J[:, 6:].T @ wrenches
    pin.framesForwardKinematics(model, data, position)
    upwards_I = data.oMf[model.getFrameId("imu_link")].rotation.T @ (0.0, 0.0, 9.80665)
    joints = JointReading(0, robot.joint_names, q, noise, tau)
    upright, state = QuaternionStamped(), BaseState(0, [0, 0, 0, 1], [0, 0, 1], still, still)
    upright.quaternion.w = 1.0
    found = {
        "imu/data": conversion.imu_to_msg(ImuSample(0, upwards_I, still), Imu(), "imu_link"),
        "joint_states": conversion.joints_to_msg(joints, JointState()),
        "base_orientation": upright,
        "base_state": conversion.base_state_to_msg(state, Odometry(), "odom", "base_link"),
    }
    for side, wrench in zip(("left", "right"), wrenches.reshape(2, 6), strict=True):
        sample, frame = WrenchSample(0, wrench), f"{side}_sole_link"
        found[f"{side}_foot/wrench"] = conversion.wrench_to_msg(sample, WrenchStamped(), frame)
    for link in links():
        body = robot.link_body(link)
        nominal = body.T_JL.actInv(body.nominal_J)
        inertia = StampedInertia(0, LinkInertia(link, nominal.mass, nominal.lever, nominal.inertia))
        found[f"link_inertias/{link}"] = conversion.link_inertia_to_msg(inertia, InertiaStamped())
    return found


if __name__ == "__main__":
    sys.exit(main())
