"""Draws what the nodes publish for the eye, of a live run: docs/images/watching_{telemetry,markers}.png.

    python docs/watching_figures.py [--seconds 60] [--link arm_left_5_link] [--output DIR]

Listens to tilt_observer and inertial_ekf of TALOS (`config/talos.yaml`) in the domain it is started in, then
draws figures of their telemetry over time, and the last markers on a skeleton of the robot. It stands in for
PlotJuggler and RViz on a machine without them; it is matplotlib, not a screenshot of either.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pinocchio as pin

mpl.use("Agg")
import matplotlib.pyplot as plt

from inertial_estimation.configuration.config_file import find_config, load_config_file
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.robot_model import RobotModel

FOLDER = Path(__file__).with_name("images")
SHAPES = {0: "arrow", 2: "sphere", 9: "text"}  # types of visualization_msgs/Marker


def main() -> int:
    """Listen, then draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to listen, wall time")
    parser.add_argument("--link", default="arm_left_5_link", help="link whose mass is drawn")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder")
    args = parser.parse_args()
    series, markers, joints = listen(args.seconds)
    draw_telemetry(series, args.link, args.output / "watching_telemetry.png")
    draw_markers(markers, joints, args.output / "watching_markers.png")
    return 0


def listen(seconds: float) -> tuple[dict[str, list[Any]], dict[str, list[Any]], Any]:
    """Return telemetry by node, the last markers by node, and the last joint state."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from visualization_msgs.msg import MarkerArray

    rclpy.init(args=[])
    node = rclpy.create_node("watching_figures")
    series: dict[str, list[Any]] = {}
    markers: dict[str, list[Any]] = {}
    joints: list[Any] = []
    for name in ("tilt_observer", "inertial_ekf"):
        node.create_subscription(
            JointState, f"{name}/telemetry", series.setdefault(name, []).append, qos_profile_sensor_data
        )
        node.create_subscription(
            MarkerArray,
            f"{name}/markers",
            lambda msg, name=name: markers.update({name: msg.markers}),
            5,
        )
    node.create_subscription(
        JointState,
        "joint_states",
        lambda msg: joints.__setitem__(slice(None), [msg]),
        qos_profile_sensor_data,
    )
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    rclpy.try_shutdown()
    if not (all(series.values()) and joints and len(markers) == len(series)):
        raise SystemExit("heard no telemetry, markers or joint states: is the run in this ROS_DOMAIN_ID?")
    return series, markers, joints[0]


def draw_telemetry(series: dict[str, list[Any]], link: str, path: Path) -> None:
    """Draw mass with band, NIS, tilt and gyroscope bias over time."""
    first = min(stamp(messages[0]) for messages in series.values())
    tilt, inertial = (table(series[name], first) for name in ("tilt_observer", "inertial_ekf"))
    figure, axes = plt.subplots(4, 1, figsize=(9, 9), sharex=True, constrained_layout=True)
    mass, sigma = inertial[f"mass/{link} [kg]"], inertial[f"mass_sigma/{link} [kg]"]
    t = inertial["t"]
    axes[0].fill_between(t, mass - 2 * sigma, mass + 2 * sigma, alpha=0.25, label="+- 2 sigma")
    for name in ("mass", "mass_published", "mass_nominal"):
        axes[0].plot(t, inertial[f"{name}/{link} [kg]"], label=f"{name}/{link}")
    axes[0].set_ylabel("kg")
    for name in ("nis", "nis_bound"):
        axes[1].semilogy(t, inertial[name], label=name, lw=0.8)
    refused = inertial["learning/accepted"] == 0.0
    axes[1].plot(t[refused], inertial["nis"][refused], "r.", ms=3, label="learning/accepted = 0")
    for name in ("roll", "pitch"):
        axes[2].plot(tilt["t"], np.degrees(tilt[f"tilt/{name} [rad]"]), label=f"tilt/{name}")
    axes[2].set_ylabel("deg")
    for axis in "xyz":
        axes[3].plot(tilt["t"], tilt[f"gyro_bias/{axis} [rad s^-1]"], label=f"gyro_bias/{axis}")
    axes[3].set_ylabel("rad s^-1")
    axes[3].set_xlabel("simulated time [s]")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(loc="upper right", fontsize=8, ncols=4)
    figure.suptitle("~/telemetry of tilt_observer and inertial_ekf, recorded live, drawn with matplotlib")
    figure.savefig(path, dpi=110)


def table(messages: list[Any], first: float) -> dict[str, Any]:
    """Return the figures over time by name, and the time since the first stamp."""
    columns = np.array([message.position for message in messages]).T
    t = np.array([stamp(message) for message in messages]) - first
    return {"t": t, **dict(zip(messages[0].name, columns, strict=True))}


def stamp(message: Any) -> float:
    """Return the stamp of a message [s]."""
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def draw_markers(markers: dict[str, list[Any]], joints: Any, path: Path) -> None:
    """Draw the markers on a skeleton of the robot, in the frame of the base, from the left and from ahead."""
    shared = load_config_file(find_config("talos")).shared
    robot = RobotModel.from_urdf(read_urdf(str(shared["urdf"])), floating_base=True)
    model, data = robot.model, robot.model.createData()
    positions = dict(zip(joints.name, joints.position, strict=True))
    q = robot.configuration(np.array([positions[name] for name in robot.joint_names]))
    pin.framesForwardKinematics(model, data, q)
    size = {"figsize": (10, 7.5), "width_ratios": (1, 2), "constrained_layout": True}
    figure, axes = plt.subplots(1, 2, sharey=True, **size)
    for axis, across, title in ((axes[0], 0, "from the left"), (axes[1], 1, "from behind")):
        for joint in range(2, model.njoints):
            ends = np.array([data.oMi[model.parents[joint]].translation, data.oMi[joint].translation])
            axis.plot(ends[:, across], ends[:, 2], "-o", color="0.75", ms=3, lw=3, zorder=1)
        for marker in (m for array in markers.values() for m in array if m.action == 0):
            frame = data.oMf[model.getFrameId(marker.header.frame_id)]
            draw_marker(axis, marker, frame, across)
        axis.set_aspect("equal")
        axis.set_title(title)
        axis.set_xlabel("xy"[across] + " of the base [m]")
        axis.grid(alpha=0.3)
    axes[1].invert_xaxis()
    axes[0].set_ylabel("z of the base [m]")
    figure.suptitle("~/markers of tilt_observer and inertial_ekf, recorded live, drawn with matplotlib")
    figure.savefig(path, dpi=110)


def draw_marker(axis: Any, marker: Any, frame: Any, across: int) -> None:
    """Draw one marker, projected."""
    colour = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
    place = marker.pose.position
    centre = frame.act(np.array([place.x, place.y, place.z]))
    kind = SHAPES[marker.type]
    if kind == "sphere":
        half = 0.5 * np.array([marker.scale.x, marker.scale.y, marker.scale.z])
        around = np.linspace(0, 2 * np.pi, 60)
        extent = np.sqrt((frame.rotation**2) @ half**2)  # half widths of the ellipsoid's box
        x, z = centre[across] + extent[across] * np.cos(around), centre[2] + extent[2] * np.sin(around)
        axis.fill(x, z, color=colour, zorder=3)
    elif kind == "arrow":
        tail, tip = (frame.act(np.array([p.x, p.y, p.z])) for p in marker.points)
        arrow = {"arrowstyle": "-|>", "color": colour[:3], "lw": 2.5}
        axis.annotate("", (tip[across], tip[2]), (tail[across], tail[2]), arrowprops=arrow, zorder=4)
    elif across == 1:  # from the side the arms' texts lie on one another
        axis.text(centre[across], centre[2], marker.text, fontsize=8, ha="center", zorder=5)


if __name__ == "__main__":
    sys.exit(main())
