"""CPU of the nodes at 1 kHz inputs and 333 Hz outputs, against empty nodes with callbacks on the same topics.

    python benchmarks/node_cpu.py [--seconds 10] [--rate 1000] [--repeat 2] [--nodes ...] [--variants ...]
                                  [--listen]

One process publishes the sensors of a standing TALOS (32 joints, IMU, two ankle wrenches) and the base state,
base orientation and link inertias that other nodes would. The nodes and their empty twins run one after
another under the same load; the CPU time is that of the process, from /proc. An empty node has the
subscriptions and quality of service of the node, and callbacks that do nothing. Variants: `timer` and
`arrival` are the nodes with that trigger; `events` is the node on arrival with rclpy's experimental
EventsExecutor, `empty-events` the empty node with it. `floor` is what a node costs that does nothing with
its inputs: a timer at the rate of the estimates takes the waiting messages, undecoded, and publishes a
constant, serialised message on every output. Nodes publish only what is subscribed to; with --listen every
output is that the load does not publish itself.
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
VARIANTS = ("timer", "arrival", "floor", "events", "empty-events")
CONFIG = Path(__file__).resolve().parents[1] / "config" / "talos.yaml"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STARTUP = 12.0  # imports, machine code from disk, first messages [s]
ESTIMATES = ("base_", "link_inertias/")  # published at the rate of the estimators, a third of the inputs'
LONGEST = 300.0  # a publisher left behind ends by itself [s]


def main() -> int:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of one measurement")
    parser.add_argument("--rate", type=float, default=1000.0, help="rate of every input [Hz]")
    parser.add_argument("--repeat", type=int, default=1, help="measurements of each, interleaved")
    parser.add_argument("--nodes", nargs="+", choices=NODES, default=list(NODES))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["timer", "arrival"])
    parser.add_argument("--listen", action="store_true", help="subscribe to every output as well")
    parser.add_argument("--stamped-when-sent", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    args, rest = parser.parse_known_args()
    if args.role == "publisher":
        return publish(args.rate, args.listen, not args.stamped_when_sent)
    if args.role:
        return run_role(args.role, rest)
    talk_apart()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    results: dict[str, dict[str, float]] = {}
    print(f"{'':>22}{'empty':>9}" + "".join(f"{name:>15}{'ratio':>7}" for name in args.variants), flush=True)
    for name in args.nodes:
        shares = dict.fromkeys(("empty", *args.variants), 0.0)
        for _ in range(args.repeat):
            for variant in shares:
                shares[variant] += cpu_share(command(name, variant), args) / args.repeat
        results[name] = shares
        print_row(name, shares)
    if set(ESTIMATORS) <= set(results):
        total = {kind: sum(results[name][kind] for name in ESTIMATORS) for kind in results[ESTIMATORS[0]]}
        print_row("both estimators", total)
    print(json.dumps(results))
    return 0


def print_row(name: str, shares: dict[str, float]) -> None:
    empty = shares["empty"]
    columns = [f"{share:>15.1%}{share / empty:>7.2f}" for kind, share in shares.items() if kind != "empty"]
    print(f"{name:>22}{empty:>9.1%}" + "".join(columns), flush=True)


def command(name: str, variant: str) -> list[str]:
    """Return the command line of a node, or of an empty one with its subscriptions."""
    if variant in ("timer", "arrival"):
        return node_command(name, trigger=variant)
    return [sys.executable, __file__, "--role", f"{variant}:{name}", *ros_arguments(name, "arrival")]


def ros_arguments(name: str, trigger: str, **more: object) -> list[str]:
    """Return the arguments of a node on the TALOS of config/."""
    values = {"rate": RATE, "trigger": trigger, **more}
    given = [word for key, value in values.items() for word in ("-p", f"{name}:{key}:={value}")]
    return ["--ros-args", "--params-file", str(CONFIG), *given, "--log-level", "error"]


def node_command(name: str, trigger: str, **more: object) -> list[str]:
    """Return the command line of a node."""
    code = f"import sys; from inertial_estimation.ros.node_runner import {name}; sys.exit({name}())"
    return [sys.executable, "-c", code, *ros_arguments(name, trigger, **more)]


def cpu_share(command: list[str], args: argparse.Namespace) -> float:
    """Run a process under load and return the share of one core it takes."""
    publisher = [sys.executable, __file__, "--role", "publisher", "--rate", str(args.rate)]
    publisher += ["--listen"] if args.listen else []
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        node = processes.start("node", command)
        processes.start("publisher", publisher)
        time.sleep(STARTUP)
        processes.check()
        before, start = cpu_seconds(node.pid), time.monotonic()
        time.sleep(args.seconds)
        share = (cpu_seconds(node.pid) - before) / (time.monotonic() - start)
        processes.check()
    return share


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def run_role(role: str, arguments: list[str]) -> int:
    """Run an empty node, the floor of one, or a node with the EventsExecutor."""
    from inertial_estimation.ros.node_runner import run_node

    kind, _, name = role.partition(":")
    if kind == "floor":
        return run_node(lambda: floor_node(name), [])
    if kind == "empty":  # what a node has that knows nothing better
        from rclpy.executors import SingleThreadedExecutor as make_executor  # noqa: N813
    elif kind.endswith("events"):
        from rclpy.experimental import EventsExecutor as make_executor  # noqa: N813
    if not kind.startswith("empty"):
        return run_node(node_class(name), ["node", *arguments], make_executor)

    from rclpy.node import Node

    from inertial_estimation.ros.qos import SENSOR_INPUT

    def build() -> Node:
        node = Node(f"empty_{name}")
        for topic, message_type in inputs(name).items():
            node.create_subscription(message_type, topic, lambda _msg: None, SENSOR_INPUT)
        return node

    return run_node(build, [], make_executor)


def floor_node(name: str) -> Any:
    """Return a node that takes its inputs by a timer and publishes constants, and does nothing else."""
    from rclpy.node import Node
    from rclpy.serialization import serialize_message

    from inertial_estimation.ros.qos import SENSOR_INPUT
    from inertial_estimation.ros.rclpy_internals import MessageQueue

    node = Node(f"floor_{name}")
    queues = [
        MessageQueue(node, kind, topic, qos_profile=SENSOR_INPUT) for topic, kind in inputs(name).items()
    ]
    published = [
        (node.create_publisher(kind, topic, 50), serialize_message(kind()))
        for topic, kind in results(name).items()
    ]

    def tick() -> None:
        for queue in queues:
            queue.take()
        for publisher, message in published:
            publisher.publish(message)

    node.create_timer(1.0 / RATE, tick)
    return node


def node_class(name: str) -> Any:
    """Return the class of a node."""
    import importlib

    names = {
        "tilt_observer": "TiltObserverNode",
        "inertial_ekf": "InertialEkfNode",
        "whole_body_controller": "WholeBodyControllerNode",
    }
    return getattr(importlib.import_module(f"inertial_estimation.ros.{name}_node"), names[name])


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


def results(name: str) -> dict[str, type]:
    """Return the type of every topic on which a node publishes each of its results."""
    from geometry_msgs.msg import InertiaStamped, QuaternionStamped, Vector3Stamped
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState

    if name == "tilt_observer":
        return {"base_orientation": QuaternionStamped, "base_state": Odometry, "tilt": Vector3Stamped}
    if name == "inertial_ekf":
        inertias = {
            f"{topic}/{link}": InertiaStamped for topic in ("link_inertias", "payloads") for link in links()
        }
        return {"torque_residual": JointState, **inertias}
    return {"joint_torque_commands": JointState}


def publish(rate: float, listen: bool, regular: bool) -> int:
    """Publish the sensors of a standing TALOS until a signal.

    Args:
        rate: Rate of every topic [Hz].
        listen: Whether to subscribe to the nodes' outputs.
        regular: Whether messages are stamped when they are due, as by a driver; else when they are sent.
    """
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
    start, begin_ns, count = time.monotonic(), time.time_ns(), 0
    try:
        while time.monotonic() < start + LONGEST:
            time.sleep(max(0.0, start + count / rate - time.monotonic()))
            sec, nanosec = divmod(begin_ns + round(1e9 * count / rate) if regular else time.time_ns(), 10**9)
            stamp = sec.to_bytes(4, "little") + nanosec.to_bytes(4, "little")
            for topic, data in raw.items():
                if count % 3 and topic.startswith(ESTIMATES):
                    continue
                data[4:12] = stamp
                publishers[topic].publish(bytes(data))
            count += 1
    except KeyboardInterrupt:
        rclpy.try_shutdown()
    return 0


def links() -> list[str]:
    """Return the links whose inertias are estimated on the TALOS."""
    from inertial_estimation.configuration.config_file import load_config_file

    return list(load_config_file(CONFIG).nodes["inertial_ekf"]["links"])


def outputs() -> dict[str, type]:
    """Return the type of every output on the TALOS that the load does not publish itself."""
    from geometry_msgs.msg import InertiaStamped, Vector3Stamped
    from sensor_msgs.msg import JointState
    from visualization_msgs.msg import MarkerArray

    payloads = {f"payloads/{link}": InertiaStamped for link in links()}
    joints = dict.fromkeys(("torque_residual", "joint_torque_commands"), JointState)
    telemetry = {f"{node}/telemetry": JointState for node in ESTIMATORS}
    telemetry |= {f"link_covariances/{link}": JointState for link in links()}
    markers = {f"{node}/markers": MarkerArray for node in ESTIMATORS}
    return {**payloads, **joints, **telemetry, **markers, "tilt": Vector3Stamped}


def sensors() -> dict[str, object]:
    """Return one message of every input: TALOS stands half sitting, upright, everything in balance.

    Readings that contradict one another would have the filter work as on a load that is never understood.
    """
    import numpy as np
    import pinocchio as pin
    from geometry_msgs.msg import InertiaStamped, QuaternionStamped, WrenchStamped
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import Imu, JointState

    from inertial_estimation.configuration.config_file import load_config_file
    from inertial_estimation.configuration.urdf_source import read_urdf
    from inertial_estimation.models.imu import STANDARD_GRAVITY
    from inertial_estimation.models.robot_model import RobotModel
    from inertial_estimation.recordings import message_conversion as conversion
    from inertial_estimation.recordings.samples import StampedInertia
    from inertial_estimation.signals import BaseState, ImuSample, JointReading, LinkInertia, WrenchSample

    shared = load_config_file(CONFIG).shared
    robot = RobotModel.from_urdf(read_urdf(str(shared["urdf"])))
    still = np.zeros(3)
    noise = np.full(robot.n_joints, 1e-4)  # zeros would be taken for velocities that no sensor measures
    stance = dict(zip(shared["stance.joints"], shared["stance.positions"], strict=True))
    q = [stance.get(name, 0.0) for name in robot.joint_names]
    model = robot.model
    data = model.createData()
    position = np.concatenate(([0, 0, 0, 0, 0, 0, 1.0], q))
    weight = pin.computeGeneralizedGravity(model, data, position)
    soles = [f"{side}_sole_link" for side in ("left", "right")]
    J = np.vstack(
        [pin.computeFrameJacobian(model, data, position, model.getFrameId(s), pin.LOCAL) for s in soles]
    )
    wrenches = np.linalg.lstsq(J[:, :6].T, weight[:6], rcond=None)[0]
    tau = weight[6:] - J[:, 6:].T @ wrenches
    pin.framesForwardKinematics(model, data, position)
    upwards_I = data.oMf[model.getFrameId("imu_link")].rotation.T @ (0.0, 0.0, STANDARD_GRAVITY)
    feet = [WrenchSample(0, wrench) for wrench in wrenches.reshape(2, 6)]
    upright = QuaternionStamped()
    upright.quaternion.w = 1.0
    state = BaseState(0, [0, 0, 0, 1], [0, 0, 1], still, still)
    found = {
        "imu/data": conversion.imu_to_msg(ImuSample(0, upwards_I, still), Imu(), "imu_link"),
        "joint_states": conversion.joints_to_msg(
            JointReading(0, robot.joint_names, q, noise, tau), JointState()
        ),
        "left_foot/wrench": conversion.wrench_to_msg(feet[0], WrenchStamped(), soles[0]),
        "right_foot/wrench": conversion.wrench_to_msg(feet[1], WrenchStamped(), soles[1]),
        "base_orientation": upright,
        "base_state": conversion.base_state_to_msg(state, Odometry(), "odom", "base_link"),
    }
    for link in links():
        body = robot.link_body(link)
        nominal = body.T_JL.actInv(body.nominal_J)
        inertia = StampedInertia(0, LinkInertia(link, nominal.mass, nominal.lever, nominal.inertia))
        found[f"link_inertias/{link}"] = conversion.link_inertia_to_msg(inertia, InertiaStamped())
    return found


if __name__ == "__main__":
    sys.exit(main())
