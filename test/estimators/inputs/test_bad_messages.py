"""Messages of every bad kind into all four pipelines: nothing is raised, warned of, or kept without bound."""

import math

import numpy as np
import pytest
from support.control_robots import config_of, pipeline_of
from support.leg_robot import tilt_pipeline
from support.standing_hyq import pipeline as payload_pipeline

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.signals import BaseState, ImuSample, JointReading, OrientationSample, WrenchSample

MS = 1_000_000
GRAVITY, LOAD = np.array([0.0, 0.0, 9.81]), np.array([0.0, 0.0, 300.0, 0.0, 0.0, 0.0])
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
HEALTH_LIMIT = 20_000  # characters of all entries together
NUMBERS = (1e308, -1e308, 1e200, 1e154, 1e30, 5e-324, math.inf, -math.inf, math.nan, 0.0, 1.0, -300.0)
STAMPS = (0, 1, -1, -(2**62), 2**62, 10**9, -(10**9), 3600 * 10**9, 20 * MS)
NAMES_OF_DRIVERS = ("", "x" * 10_000, "left\n\t", "\u00e9\u4e2d", "joint \x00")


def inertial_pipeline():
    config = config_of(InertialPipelineConfig, "talos", "inertial_ekf", {})
    return InertialPipeline(config, read_urdf(config.robot.urdf))


PIPELINES = {
    "tilt": tilt_pipeline,
    "inertial": inertial_pipeline,
    "payload": payload_pipeline,
    "controller": lambda: pipeline_of("talos"),
}


@pytest.fixture(params=PIPELINES, scope="module")
def pipeline(request):
    return PIPELINES[request.param]()


class Sender:
    """Sends readings to every input a pipeline has: right ones, unless a test alters them."""

    def __init__(self, pipeline, seed=0):
        self.pipeline, self.rng = pipeline, np.random.default_rng(seed)
        self.contacts = pipeline.config.robot.contacts
        self.stamp_ns = 10**12
        self.kinds = [
            k
            for k in ("imu", "joints", "wrench", "base_state", "orientation", "yaw_reference")
            if hasattr(pipeline, f"push_{k}")
        ]

    def numbers(self, count, share):
        values = 0.1 * self.rng.standard_normal(count)
        bad = self.rng.random(count) < share
        values[bad] = self.rng.choice(NUMBERS, int(bad.sum()))
        return values

    def stamp(self, share):
        stray = int(self.rng.choice(STAMPS)) if self.rng.random() < share else 0
        return max(min(self.stamp_ns + stray, 2**63 - 1), 0)

    def names(self, share):
        names = list(self.pipeline.robot.joint_names)
        for k in np.flatnonzero(self.rng.random(len(names)) < share):
            drawn = self.rng.integers(4)
            if drawn == 0:
                names[k] = names[0]
            elif drawn == 1:
                names[k] = str(self.rng.choice(NAMES_OF_DRIVERS))
            else:
                names[k] = f"joint_{self.rng.random()}"
        return tuple(names)

    def send(self, kind, values=0.0, stamps=0.0, names=0.0):
        """Push one reading; the shares say how much of it is bad."""
        push, stamp_ns = getattr(self.pipeline, f"push_{kind}"), self.stamp(stamps)
        numbers = lambda count: self.numbers(count, values)  # noqa: E731
        if kind == "joints":
            named = self.names(names)
            absent = self.rng.random(2) < names
            fields = [None if gone else numbers(len(named)) for gone in absent]
            push(JointReading(stamp_ns, named, numbers(len(named)), *fields))
        elif kind == "imu":
            push(ImuSample(stamp_ns, numbers(3) + GRAVITY, numbers(3)))
        elif kind == "wrench":
            for contact in self.contacts:
                push(contact, WrenchSample(stamp_ns, numbers(6) + LOAD))
        elif kind == "base_state":
            push(BaseState(stamp_ns, numbers(4) + UPRIGHT, numbers(3), numbers(3), numbers(3)))
        else:
            push(OrientationSample(stamp_ns, numbers(4) + UPRIGHT))

    def round(self, **shares):
        self.stamp_ns += 4 * MS
        for kind in self.kinds:
            self.send(kind, **shares)
        self.pipeline.tick(self.stamp_ns)


SHARES = {
    "numbers": {"values": 0.05},
    "stamps": {"stamps": 0.3},
    "names": {"names": 0.03},
    "all": {"values": 0.2, "stamps": 0.5, "names": 0.1},
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", SHARES)
def test_bad_messages_raise_nothing_warn_of_nothing_and_leave_a_short_report(pipeline, kind):
    sender = Sender(pipeline)
    with np.errstate(over="warn", invalid="warn", divide="warn"):
        for _ in range(500):
            sender.round(**SHARES[kind])
        entries = pipeline.health(sender.stamp_ns)
    size = sum(len(e.message) + sum(len(k) + len(v) for k, v in e.values.items()) for e in entries)
    assert size < HEALTH_LIMIT
    assert any(entry.level for entry in entries)


@pytest.mark.filterwarnings("error")
def test_numbers_of_every_size_in_all_fields_overflow_nowhere(pipeline):
    sender = Sender(pipeline)
    for value in (1e308, -1e308, 1e200, 1e154, 1e77, math.inf, math.nan, 5e-324, 0.0):
        sender.numbers = lambda count, share, value=value: np.full(count, value)
        for _ in range(5):
            sender.round()
    assert any(entry.level for entry in pipeline.health(sender.stamp_ns))
