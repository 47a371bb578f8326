"""Listens to both nodes during the demo."""

import time
from collections.abc import Callable, Sequence

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, QuaternionStamped
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from inertial_estimation.replay.live_record import LiveRecord
from inertial_estimation.ros.messages import (
    link_inertia_from_msg,
    orientation_from_msg,
    stamp_from_msg,
)
from inertial_estimation.ros.qos import RELIABLE_OUTPUT
from inertial_estimation.ros.robot_node import topic_token
from inertial_estimation.signals import LinkInertia

__all__ = ["DemoMonitor", "monitor"]

SIGMA_KEY = "mass sigma "


class DemoMonitor(Node):
    """Keeps what the nodes publish.

    Attributes:
        record: What was heard so far.
    """

    def __init__(self, links: Sequence[str], *, orientation: bool = True) -> None:
        super().__init__("demo_monitor", start_parameter_services=False)
        self.record = LiveRecord()
        self._awaited = ["base_orientation"] if orientation else []
        for link in links:
            for topic, store in (
                ("payloads", self.record.payloads),
                ("link_inertias", self.record.inertias),
            ):
                heard = _keep(store.setdefault(link, []), link)
                name = f"{topic}/{topic_token(link)}"
                self.create_subscription(InertiaStamped, name, heard, RELIABLE_OUTPUT)
                self._awaited.append(name)
            self.record.sigmas[link] = []
        self.create_subscription(QuaternionStamped, "base_orientation", self._on_orientation, RELIABLE_OUTPUT)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE_OUTPUT)

    @property
    def listening(self) -> bool:
        """Whether the nodes have been found, so that nothing they publish from now on is missed."""
        return all(self.count_publishers(topic) for topic in self._awaited)

    def _on_orientation(self, msg: QuaternionStamped) -> None:
        self.record.orientations.append(orientation_from_msg(msg))

    def _on_diagnostics(self, msg: DiagnosticArray) -> None:
        for status in msg.status:
            level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
            if level:
                self.record.complaints[status.name] = status.message
            else:
                self.record.complaints.pop(status.name, None)
            for item in status.values:
                if item.key.startswith(SIGMA_KEY) and self.record.newest_ns:
                    link = item.key[len(SIGMA_KEY) :].split(" ")[0]
                    if link in self.record.sigmas:
                        self.record.sigmas[link].append((self.record.newest_ns, float(item.value)))


def monitor(
    links: Sequence[str],
    *,
    done: Callable[[bool], bool],
    show: Callable[[LiveRecord], None],
    orientation: bool = True,
    period_s: float = 0.5,
    linger_s: float = 0.5,
) -> LiveRecord:
    """Listen until done.

    Args:
        links: Estimated links.
        done: Says when there is nothing more to hear; told whether all nodes have been found.
        show: Called at every period with what was heard so far.
        orientation: Whether the tilt observer is among the nodes.
        period_s: Time between two calls of it [s].
        linger_s: How long to listen on after done [s].

    Returns:
        What was heard.
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = DemoMonitor(links, orientation=orientation)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        next_show, end = time.monotonic() + period_s, None
        while end is None or time.monotonic() < end:
            executor.spin_once(timeout_sec=0.05)
            now = time.monotonic()
            if now >= next_show:
                show(node.record)
                next_show = now + period_s
            if end is None and done(node.listening):
                end = now + linger_s
        return node.record
    except ExternalShutdownException:
        return node.record
    finally:
        rclpy.try_shutdown()


def _keep(series: list[tuple[int, LinkInertia]], link: str) -> Callable[[InertiaStamped], None]:
    def heard(msg: InertiaStamped) -> None:
        inertia = link_inertia_from_msg(msg)
        named = LinkInertia(link, inertia.mass, inertia.com_L, inertia.inertia_Lcm)
        series.append((stamp_from_msg(msg.header.stamp), named))

    return heard
