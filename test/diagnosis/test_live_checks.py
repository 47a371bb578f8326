"""Checks of a running robot, and what a description says against itself."""

from dataclasses import replace

import numpy as np
import pytest
from support.pipeline_inputs import push
from support.recorded_robots import ARMS, recorded
from support.urdf import joint_xml, link_xml, robot_xml

import inertial_estimation as ie
from inertial_estimation.diagnosis.description import description_warnings
from inertial_estimation.models.measurement_rows import RowsConfig
from inertial_estimation.signals import NANOSECONDS, ContactSample
from inertial_estimation.tilt.config import ContactConfig


def pipeline_of(recorded, link, **rows):
    config = ie.InertialPipelineConfig(robot=recorded.config, links=(link,), rows=RowsConfig(**rows))
    return ie.InertialPipeline(config, recorded.urdf)


def tilt_of(recorded, source):
    config = ie.TiltPipelineConfig(robot=recorded.config, contact=ContactConfig(source=source))
    return ie.TiltPipeline(config, recorded.urdf)


def arm_of(recorded):
    return pipeline_of(recorded, "panda_link4", contact_wrenches="none")


def feed(recorded, pipeline, change=lambda sample: sample, shift_ns=0):
    """Push all readings; return what the checks say every second."""
    said, asked = [], recorded.recording.start_ns
    for entry in recorded.recording.messages:
        changed = change(entry.sample)
        push(pipeline, entry.topic, replace(changed, stamp_ns=changed.stamp_ns + shift_ns))
        if entry.sample.stamp_ns >= asked:
            said.append(of_checks(pipeline, entry.sample.stamp_ns + shift_ns))
            asked += NANOSECONDS
    return said


def of_checks(pipeline, now_ns):
    return next(entry for entry in pipeline.health(now_ns) if entry.name == "data checks")


def opposed(sample):
    return replace(sample, effort=-sample.effort) if isinstance(sample, ie.JointReading) else sample


@pytest.fixture(scope="module")
def standing():
    return recorded("talos", 12.0, locked_joints=ARMS)


def test_clean_data_are_checked_once_and_found_right(panda, standing):
    for robot, pipeline in ((panda, arm_of(panda)), (standing, pipeline_of(standing, "torso_2_link"))):
        said = feed(robot, pipeline)
        assert {entry.level for entry in said} == {ie.HealthLevel.OK}
        assert said[0].message == "waiting for data"
        assert "of data, they are checked after 5 s" in said[3].message
        assert said[-1].message.endswith("checks ok")


def test_an_error_is_suspected_after_five_seconds_and_named_after_ten(panda):
    arm = feed(panda, arm_of(panda), opposed)
    levels = [entry.level for entry in arm]
    assert levels == [ie.HealthLevel.OK] * 5 + [ie.HealthLevel.WARN] * 5 + [ie.HealthLevel.ERROR] * 2
    assert arm[6].message.startswith("suspected, checked again: ")
    assert "effort sign" in str(arm[-1].values)


DEGREES = 180.0 / np.pi
UNITS = {  # robot; of specific force and angular rate; of positions, velocities and efforts
    "name g in imu.units, name deg/s in imu.units": ("biped", (1 / 9.80665, DEGREES), (1, 1, 1)),
    "name deg in joint_states.units": ("panda", (1, 1), (DEGREES, 1, 1)),
    "name deg and deg/s in joint_states.units": ("panda", (1, 1), (DEGREES, DEGREES, 1)),
    "name deg/s in joint_states.units": ("biped", (1, 1), (1, DEGREES, 1)),
    "set drive_gains": ("panda", (1, 1), (1, 1, 1000)),
}


@pytest.mark.parametrize("remedy", UNITS)
def test_other_units_are_named_with_the_parameter_that_mends_them(remedy, request):
    """Also where all readings are impossible in those of the parameters, and dropped."""
    name, (force, rate), of_joints = UNITS[remedy]

    def sent(sample):
        if isinstance(sample, ie.ImuSample):
            return ie.ImuSample(
                sample.stamp_ns, force * sample.specific_force_I, rate * sample.angular_rate_I
            )
        if isinstance(sample, ie.JointReading):
            q, v = of_joints[0] * sample.position, of_joints[1] * sample.velocity
            effort = None if sample.effort is None else of_joints[2] * sample.effort
            return replace(sample, position=q, velocity=v, effort=effort)
        return sample

    robot = request.getfixturevalue(name)
    last = feed(robot, arm_of(robot) if name == "panda" else tilt_of(robot, "switch"), sent)[-1]
    assert last.level is ie.HealthLevel.ERROR
    assert all(part in last.message for part in remedy.split(", "))


def test_an_error_that_does_not_last_is_not_confirmed(panda):
    changed = panda.recording.start_ns + 4 * NANOSECONDS
    said = feed(panda, arm_of(panda), lambda sample: opposed(sample) if sample.stamp_ns < changed else sample)
    assert said[6].level is ie.HealthLevel.WARN
    assert said[-1].level is ie.HealthLevel.OK


def test_data_are_judged_by_one_call_and_again_on_request(panda):
    pipeline, calls = arm_of(panda), []

    def execute(call):
        calls.append(call)
        return lambda: None if len(calls) == 1 else call()

    checks = pipeline.checks
    checks.execute = execute
    said = feed(panda, pipeline)
    assert len(calls) == 1
    assert said[-1].message == "the data are being checked"
    checks.begin()
    said = feed(panda, pipeline, opposed, shift_ns=13 * NANOSECONDS)
    assert len(calls) == 3, "the second one confirms it"
    assert said[-1].level is ie.HealthLevel.ERROR, "of the data since the request"


def test_switches_and_forces_are_loads_in_live_checks_too(standing):
    pipeline, calls = tilt_of(standing, ("switch", "force")), []
    pipeline.checks.execute = lambda call: calls.append(call) or (lambda: None)
    feed(
        standing, pipeline, lambda s: ContactSample(s.stamp_ns, 1.0) if isinstance(s, ie.WrenchSample) else s
    )
    streams, setup, _config = calls[0].args
    assert tuple(streams.loads) == setup.contact_names
    assert streams.shares, "a switch has no unit"
    assert not streams.wrenches
    weight, newton = (stream.values[0, 2] for stream in streams.loads.values())
    assert weight == pytest.approx(9.80665 * setup.robot.total_mass)
    assert newton == 1.0


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
    return description_warnings(
        ie.RobotModel.from_urdf(urdf, floating_base=floating), np.random.default_rng(0)
    )


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
