"""The executor that keeps its wait set serves what rclpy's own serves."""

import contextlib
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.executors import ExternalShutdownException
from std_msgs.msg import String
from std_srvs.srv import Trigger

from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.ros import rclpy_internals
from inertial_estimation.ros.rclpy_internals import CachingExecutor

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
    executor = CachingExecutor(context=node.context)
    executor.add_node(node)
    return executor


def spin(node, end):
    """Spin until something holds; a timer looks."""
    deadline = time.monotonic() + PATIENCE_S

    def look():
        if end() or time.monotonic() > deadline:
            node.context.try_shutdown()

    node.create_timer(0.002, look)
    executor = executor_of(node)
    with pytest.raises(ExternalShutdownException):
        executor.spin()
    assert end(), "not served in time"


def test_timers_subscriptions_and_services_are_served(node):
    heard, answers = [], []
    node.create_subscription(String, "words", lambda msg: heard.append(msg.data), 10)
    node.create_service(Trigger, "ask", lambda _request, response: response)
    publisher = node.create_publisher(String, "words", 10)
    client = node.create_client(Trigger, "ask")
    asked = []

    def speak():
        publisher.publish(String(data="word"))
        if client.service_is_ready() and not asked:
            asked.append(client.call_async(Trigger.Request()))
            asked[0].add_done_callback(answers.append)

    node.create_timer(0.005, speak)
    spin(node, lambda: len(heard) > 20 and answers)


def test_what_is_created_while_it_spins_is_served_and_what_is_destroyed_is_not(node):
    calls = {"first": 0, "second": 0}

    def first():
        calls["first"] += 1
        if calls["first"] == 5:
            node.create_timer(0.001, second)
            node.destroy_timer(timer)
            node.executor.wake()

    def second():
        calls["second"] += 1

    timer = node.create_timer(0.001, first)
    spin(node, lambda: calls["second"] > 50)
    assert calls["first"] == 5


def test_what_a_callback_raises_comes_out(node):
    def fail():
        raise ZeroDivisionError

    node.create_timer(0.001, fail)
    executor = executor_of(node)
    with pytest.raises(ZeroDivisionError):
        executor.spin()


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


def test_where_the_inside_of_rclpy_is_another_its_own_executor_spins(node, monkeypatch):
    class Unknown:
        def __init__(self, executor):
            raise AttributeError("no such thing in this rclpy")

    monkeypatch.setattr(rclpy_internals, "_Entities", Unknown)
    calls = []
    node.create_timer(0.001, lambda: calls.append(None))
    executor = executor_of(node)
    node.create_timer(0.002, lambda: len(calls) > 20 and node.context.try_shutdown())
    executor.spin()
    assert len(calls) > 20


def test_while_a_timer_is_due_soon_it_sleeps_and_serves_services_now_and_then(node, monkeypatch):
    waits, ticks, answers = [], [], []
    wait = rclpy_internals._Entities.wait
    monkeypatch.setattr(
        rclpy_internals._Entities,
        "wait",
        lambda self, timeout_s: waits.append(timeout_s) or wait(self, timeout_s),
    )
    node.create_service(Trigger, "ask", lambda _request, response: response)
    client = node.create_client(Trigger, "ask")

    def ask():
        ticks.append(None)
        if client.service_is_ready() and len(ticks) > 50 and not answers:
            client.call_async(Trigger.Request()).add_done_callback(answers.append)

    node.create_timer(0.001, ask)
    spin(node, lambda: answers and len(ticks) > 300)
    assert None not in waits[-3:], "never waits without an end while there is a fast timer"
    assert len(waits) < len(ticks), "looks at services less often than at timers"
