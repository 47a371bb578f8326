"""Checks of a running robot, and what a description says against itself."""

from dataclasses import replace

import numpy as np
import pytest
from support.pipeline_inputs import push
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.diagnosis.description import description_warnings
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.models.measurement_rows import RowsConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, HealthLevel, JointReading
from inertial_estimation.simulation.config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing


class Recorded:
    """Readings of a synthetic robot, which may carry a load from the first one on."""

    def __init__(self, name, payload_time_s=None):
        self.spec = synthetic_robot(name)
        timing = Timing(12.0, 100.0)
        truth = synthetic_truth(name, timing, np.random.default_rng(1), payload_time_s=payload_time_s)
        recording = measure(truth, REALISTIC, np.random.default_rng(2), self.spec.config)
        self.entries = [(entry.topic, entry.sample) for entry in recording.messages]
        self.begin_ns = self.entries[0][1].stamp_ns

    def legged(self, **rows):
        config = InertialPipelineConfig(
            robot=self.spec.config, links=("torso_2_link",), rows=RowsConfig(**rows)
        )
        return InertialPipeline(config, read_urdf(self.spec.urdf))

    def arm(self):
        config = InertialPipelineConfig(
            robot=self.spec.config, links=("panda_link4",), rows=RowsConfig(contact_wrenches="none")
        )
        return InertialPipeline(config, read_urdf(self.spec.urdf))

    def feed(self, pipeline, change=lambda sample: sample, shift_ns=0):
        """Push all readings; return what the checks say every second."""
        said, asked = [], self.begin_ns
        for topic, sample in self.entries:
            changed = change(sample)
            push(pipeline, topic, replace(changed, stamp_ns=changed.stamp_ns + shift_ns))
            if sample.stamp_ns >= asked:
                said.append(of_checks(pipeline, sample.stamp_ns + shift_ns))
                asked += NANOSECONDS
        return said


def of_checks(pipeline, now_ns):
    return next(entry for entry in pipeline.health(now_ns) if entry.name == "data checks")


@pytest.fixture(scope="module")
def panda():
    return Recorded("panda")


@pytest.fixture(scope="module")
def talos():
    return Recorded("talos")


def opposed(sample):
    return replace(sample, effort=-sample.effort) if isinstance(sample, JointReading) else sample


def test_clean_data_are_checked_once_and_found_right(panda, talos):
    for recorded, pipeline in ((panda, panda.arm()), (talos, talos.legged())):
        said = recorded.feed(pipeline)
        assert {entry.level for entry in said} == {HealthLevel.OK}
        assert said[0].message == "waiting for data"
        assert "of data, they are checked after 5 s" in said[3].message
        assert said[-1].message.endswith("checks ok")


def test_an_error_is_suspected_after_five_seconds_and_named_after_ten(panda):
    arm = panda.feed(panda.arm(), opposed)
    levels = [entry.level for entry in arm]
    assert levels == [HealthLevel.OK] * 5 + [HealthLevel.WARN] * 5 + [HealthLevel.ERROR] * 2
    assert arm[6].message.startswith("suspected, checked again: ")
    assert "effort sign" in str(arm[-1].values)


def test_an_error_that_does_not_last_is_not_confirmed(panda):
    changed = panda.begin_ns + 4 * NANOSECONDS
    said = panda.feed(panda.arm(), lambda sample: opposed(sample) if sample.stamp_ns < changed else sample)
    assert said[6].level is HealthLevel.WARN
    assert said[-1].level is HealthLevel.OK


def test_data_are_judged_by_one_call_and_again_on_request(panda):
    pipeline, calls = panda.arm(), []

    def execute(call):
        calls.append(call)
        return lambda: None if len(calls) == 1 else call()

    checks = pipeline.checks
    checks.execute = execute
    said = panda.feed(pipeline)
    assert len(calls) == 1
    assert said[-1].message == "the data are being checked"
    checks.begin()
    said = panda.feed(pipeline, opposed, shift_ns=13 * NANOSECONDS)
    assert len(calls) == 3, "the second one confirms it"
    assert said[-1].level is HealthLevel.ERROR, "of the data since the request"


LINKS, LENGTH, MASS, EFFORT = 6, 0.3, 3.0, 80.0


def arm(link: int = 0, *, mass: float = MASS, moment: float = 0.03, effort: float = EFFORT) -> str:
    """An arm of 18 kg about z, y, y, ..., the numbers of one link its own."""
    parts, above = [link_xml("base")], "base"
    for i in range(1, LINKS + 1):
        m, moments, limit = (mass, moment, effort) if i == link else (MASS, 0.03, EFFORT)
        axis, place = ("0 1 0", f"0 0 {LENGTH}") if i > 1 else ("0 0 1", "0 0 0")
        parts.append(link_xml(f"link{i}", m, f"0 0 {0.5 * LENGTH}", 3 * [moments]))
        parts.append(joint_xml(f"joint{i}", above, f"link{i}", axis, place, limit=(-2, 2, limit, 3)))
        above = f"link{i}"
    return robot_xml(*parts, name="arm")


def doubts(urdf: str, *, floating: bool = False) -> list[str]:
    return description_warnings(RobotModel.from_urdf(urdf, floating_base=floating), np.random.default_rng(0))


@pytest.mark.parametrize("floating", [False, True])
def test_nothing_is_said_of_a_plausible_robot(floating: bool) -> None:
    assert not doubts(arm(), floating=floating)


@pytest.mark.parametrize(
    ("urdf", "kind", "name"),
    [
        (arm(5, mass=42.9, effort=800.0), "heavier than all others", "link5"),
        (arm(3, moment=30.0), "too large for the body", "link3"),
        (arm(3, moment=3e-6), "denser than any metal", "link3"),
        (arm(2, effort=8.0), "effort limits", "joint2"),
    ],
)
def test_one_wrong_number_is_named(urdf: str, kind: str, name: str) -> None:
    said = doubts(urdf)
    assert any(kind in line and f"'{name}'" in line for line in said)
    assert len([line for line in said if "effort limits" not in line]) == ("effort" not in kind)
