"""A node that was stopped and goes on sends nothing that is older than documented."""

import signal
import time

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from geometry_msgs.msg import QuaternionStamped
from rosgraph_msgs.msg import Clock

from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.ros.messages import clock_to_msg

STOPPED_S = (0.4, 1.2)
SCHEDULING_S = 0.1  # between the look at the clock and the middleware, on a busy machine


@pytest.mark.parametrize(("trigger", "simulated"), [("arrival", False), ("timer", True)])
def test_nothing_old_is_sent_after_a_stop(world, trigger, simulated):
    ages = []

    def heard(msg, info):
        ages.append(1e-9 * (info["source_timestamp"] - stamp_from_msg(msg.header.stamp)))

    world.node.create_subscription(QuaternionStamped, "base_orientation", heard, 1000)
    node = world.start("tilt_observer", use_sim_time=str(simulated).lower(), trigger=trigger)

    def goes_on(until, timeout=60.0):
        """Let the sensors go on, and the clock with them."""

        def clocked():
            if simulated:
                world.publish("/clock", clock_to_msg(time.time_ns()), 1)
            return until()

        return world.run(clocked, timeout=timeout)

    if simulated:
        world.connect(Clock, "/clock", 1)
    assert goes_on(lambda: len(ages) > 50), node.output
    for stopped_s in STOPPED_S:
        node.process.send_signal(signal.SIGSTOP)
        goes_on(lambda: False, timeout=stopped_s)
        node.process.send_signal(signal.SIGCONT)
        before = len(ages)
        assert goes_on(lambda before=before: len(ages) > before + 50), node.output
    inputs = InputConfig()
    assert max(ages) < 1.5 * inputs.timeout + SCHEDULING_S
    assert node.stop() == 0, node.output
