"""Second publishers on another clock: every state of the first one is answered, and the input is named."""

import numpy as np
import pytest
from support.control_robots import TICK_NS, UPRIGHT, home, pipeline_of

from inertial_estimation.inputs.robot_inputs import BASE_STATE
from inertial_estimation.signals import BaseState, HealthLevel, JointReading, WrenchSample

START_NS = 10**12
OTHER_CLOCKS_NS = (500 * 10**9, -500 * 10**9, 3 * 10**8)
INPUTS = ("joint_states", "base_state")


class Senders:
    """Sends the robot at its home posture, on one clock or on two."""

    def __init__(self):
        self.pipeline = pipeline_of("talos")
        robot = self.pipeline.robot
        q = home(self.pipeline)
        zeros = np.zeros(3)
        inputs, names = self.pipeline.inputs, robot.joint_names
        self.sends = {
            "joint_states": lambda ns, at: inputs.push_joints(
                JointReading(ns, names, q, np.zeros_like(q)), at
            ),
            "base_state": lambda ns, at: inputs.push_orientation(
                BASE_STATE, BaseState(ns, UPRIGHT, zeros, zeros, zeros), at
            ),
        }
        self.stamp_ns = START_NS

    def run(self, count, other_ns=0, doubled=()):
        """Send; return the number of answers."""
        answers = 0
        for _ in range(count):
            self.stamp_ns += TICK_NS
            for name, send in self.sends.items():
                send(self.stamp_ns, self.stamp_ns)
                if name in doubled:
                    send(self.stamp_ns + other_ns, self.stamp_ns)
            answers += len(self.pipeline.tick(self.stamp_ns))
        return answers

    def level(self, name):
        return {entry.name: entry.level for entry in self.pipeline.health(self.stamp_ns)}[name]


@pytest.mark.parametrize("other_ns", OTHER_CLOCKS_NS)
@pytest.mark.parametrize("doubled", [INPUTS[:1], INPUTS[1:]])
def test_every_state_is_answered_and_the_second_publisher_is_reported(other_ns, doubled):
    senders = Senders()
    assert senders.run(20) == 20
    assert senders.run(30, other_ns, doubled) == 30
    for name in INPUTS:
        expected = HealthLevel.WARN if name in doubled else HealthLevel.OK
        assert senders.level(name) is expected
    assert senders.run(20) == 20


def test_a_jump_of_all_inputs_is_followed_within_a_tenth_of_a_second():
    senders = Senders()
    senders.run(10)
    for jump_ns in (500 * 10**9, -900 * 10**9):
        senders.stamp_ns += jump_ns
        assert senders.run(34) >= 33  # the first one after a gap has no base state


def test_drops_are_reported_for_ten_seconds():
    senders = Senders()
    senders.run(5)
    senders.run(1, OTHER_CLOCKS_NS[0], ("base_state",))
    senders.run(5)
    assert senders.level("base_state") is HealthLevel.WARN
    senders.stamp_ns += 11 * 10**9
    senders.run(5)
    assert senders.level("base_state") is HealthLevel.OK


def test_an_absurd_wrench_is_dropped_and_named():
    senders = Senders()
    contact = senders.pipeline.contacts[0]
    senders.run(5)
    senders.pipeline.push_wrench(contact, WrenchSample(senders.stamp_ns, np.full(6, 1e200)))
    assert senders.run(5) == 5
    assert senders.level(f"{contact}/wrench") is HealthLevel.WARN
