"""A node is not ended by a request that rclpy cannot read."""

import contextlib
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.executors import ExternalShutdownException

from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.ros.managed_node import NodeExecutor

PATIENCE_S = 30.0


@pytest.fixture
def node():
    with claimed_domain() as domain:
        context = rclpy.Context()
        rclpy.init(args=[], context=context, domain_id=domain)
        yield rclpy.create_node("served", context=context)
        if context.ok():
            rclpy.shutdown(context=context)


def executor_of(node):
    executor = NodeExecutor(context=node.context)
    executor.add_node(node)
    return executor


def test_a_request_that_rclpy_cannot_read_ends_no_node(node):
    answers, asked = [], []
    broken = Parameter(name="a", value=ParameterValue(type=77))
    client = node.create_client(SetParameters, "served/set_parameters")
    good = node.create_client(GetParameters, "served/get_parameters")
    deadline = time.monotonic() + PATIENCE_S

    def ask():
        if client.service_is_ready() and good.service_is_ready() and not asked:
            asked.append(client.call_async(SetParameters.Request(parameters=[broken])))
            good.call_async(GetParameters.Request(names=["use_sim_time"])).add_done_callback(answers.append)
        if answers or time.monotonic() > deadline:
            node.context.try_shutdown()

    node.create_timer(0.005, ask)
    with contextlib.suppress(ExternalShutdownException):
        executor_of(node).spin()
    assert answers
    assert not asked[0].done()
