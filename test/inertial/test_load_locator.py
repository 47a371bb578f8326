"""Loads and pushes on a moving TALOS, from raw readings: which link, how much, and what is published."""

import numpy as np
import pytest
from support.pipeline_inputs import push

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.located_cause import Cause
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import HealthLevel
from inertial_estimation.simulation.config import REALISTIC
from inertial_estimation.simulation.disturbances import Push, attached_ball
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

ON_S, OFF_S, END_S = 2.2, 2.7, 3.1
FOREARM = "arm_left_5_link"
VALUES = {
    "imu_frame": "imu_link",
    "contacts": ("left_foot", "right_foot"),
    "contact_frames": ("left_sole_link", "right_sole_link"),
    "links": ("torso_2_link", FOREARM),
    "rate": 125.0,
}


def motion_of(duration_s, rest_s):
    timing = Timing(duration_s=duration_s, rate_hz=125.0, rest_s=rest_s, fade_s=0.3)
    return synthetic_truth("talos", timing, np.random.default_rng(3), payload_time_s=None)


@pytest.fixture(scope="module")
def motion():
    return motion_of(END_S, 0.1)


def estimates_of(truth, *disturbances, **changes):
    """Times, estimates and health of a pipeline that reads the disturbed robot."""
    disturbed = truth.disturbed(disturbances)
    recording = measure(disturbed, REALISTIC, np.random.default_rng(4))
    config = build_config(InertialPipelineConfig, {**VALUES, **changes})
    pipeline = InertialPipeline(config, read_urdf("example-robot-data:talos_reduced"))
    wanted = [topic for topic in recording.topics if "ground" not in topic]
    rows = []
    for entry in recording.entries(wanted, 0):
        push(pipeline, entry.topic, entry.sample)
        for estimate in pipeline.tick(entry.sample.stamp_ns):
            time_s = (estimate.stamp_ns - int(truth.stamps_ns[0])) * 1e-9
            rows.append((time_s, estimate, pipeline.health(estimate.stamp_ns)[-1]))
    return rows


def published(rows, since_s):
    return np.array([[link.published.mass for link in e.links] for t, e, _health in rows if t >= since_s])


def found(rows, cause):
    return [(t, e.located) for t, e, _health in rows if e.located is not None and e.located.cause is cause]


def test_a_push_teaches_nothing_and_its_force_is_reported(motion):
    force = np.array([0.0, 20.0, 0.0])
    rows = estimates_of(motion, Push(FOREARM, force, ON_S, OFF_S - ON_S))
    masses = published(rows, ON_S - 0.1)
    assert np.abs(masses / masses[0] - 1.0).max() < 0.02
    pushes = found(rows, Cause.PUSH)
    assert pushes[0][0] < ON_S + 0.2
    assert pushes[-1][0] < OFF_S + 0.2
    assert not found(rows, Cause.LOAD)
    steady = [cause for t, cause in pushes if ON_S + 0.15 < t < OFF_S - 0.1]
    assert all(any(link.startswith("arm_left") for link in cause.links) for cause in steady)
    strengths = [float(np.linalg.norm(cause.force_L)) for cause in steady]
    assert np.mean(strengths) == pytest.approx(20.0, abs=2.0)
    during = [health for t, _estimate, health in rows if ON_S + 0.15 < t < OFF_S - 0.1]
    assert {health.level for health in during} == {HealthLevel.WARN}
    assert "a push of" in during[-1].message


@pytest.mark.parametrize("foot", ["left", "right"])
def test_a_push_on_a_foot_that_looks_like_an_error_of_its_wrench_teaches_nothing(foot):
    """It lasts longer than the good data before it, which a fault of the first readings would, too."""
    begin, duration = 2.2, 1.9
    rows = estimates_of(
        motion_of(4.5, 0.1), Push(f"leg_{foot}_6_link", np.array([-12.0, 6.0, 21.0]), begin, duration)
    )
    masses = published(rows, begin - 0.1)
    assert np.abs(masses / masses[0] - 1.0).max() < 0.02
    said = [health.message for t, _estimate, health in rows if begin + 0.5 < t < begin + duration - 0.1]
    assert all("push" in message for message in said)
    assert not any("begun anew" in message for message in said)


@pytest.mark.parametrize(
    ("link", "upwards", "duration"),
    [("torso_2_link", -50.0, 0.5), ("torso_2_link", 12.0, 0.5), (FOREARM, -50.0, 3.0)],
)
def test_a_push_along_gravity_on_a_robot_at_rest_is_no_load(link, upwards, duration):
    end = ON_S + duration + 0.4
    rows = estimates_of(motion_of(end, end), Push(link, np.array([0.0, 0.0, upwards]), ON_S, duration))
    masses = published(rows, ON_S - 0.1)
    assert np.abs(masses / masses[0] - 1.0).max() < 0.02
    assert not any(cause.decided for _t, cause in found(rows, Cause.LOAD))
    off_s = ON_S + duration
    said = [health.message for t, _estimate, health in rows if off_s - 0.1 < t < off_s]
    assert said
    noticed = upwards == -50.0 and duration < 3.0  # small ones pass unnoticed, long ones may be loads
    assert not noticed or all("push" in message for message in said)


def test_a_load_on_a_robot_at_rest_is_named_at_once_and_published_once_no_push_lasts_as_long():
    load = attached_ball(FOREARM, 2.0, (0.02, 0.0, 0.05), start=ON_S)
    rows = estimates_of(motion_of(7.2, 7.2), load)
    when, first = found(rows, Cause.LOAD)[0]
    assert when < ON_S + 0.3
    assert first.is_open
    assert FOREARM in first.links
    waiting = [e for t, e, _health in rows if ON_S - 0.1 <= t < ON_S + 3.0]
    masses = np.array([[link.published.mass for link in e.links] for e in waiting])
    assert np.abs(masses / masses[0] - 1.0).max() < 0.02
    last = rows[-1][1].links[1]
    assert last.estimate.mass == pytest.approx(masses[0, 1] + 2.0, abs=0.15)
    assert last.published.mass > masses[0, 1] + 1.0


def test_a_load_is_located_within_three_tenths_of_a_second_and_followed(motion):
    rows = estimates_of(motion, attached_ball(FOREARM, 2.0, (0.02, 0.0, 0.05), start=ON_S))
    when, cause = found(rows, Cause.LOAD)[0]
    assert when < ON_S + 0.3
    assert FOREARM in cause.links
    assert cause.mass == pytest.approx(2.0, abs=0.3)
    nominal = rows[0][1].links[1].estimate.mass - rows[0][1].links[1].payload.mass
    assert rows[-1][1].links[1].estimate.mass == pytest.approx(nominal + 2.0, abs=0.1)
    assert published(rows, ON_S + 0.65)[0, 1] == pytest.approx(nominal + 2.0, rel=0.05)  # not 3 kg/s


def test_with_auto_the_located_link_is_estimated_and_published(motion):
    load = attached_ball("arm_right_4_link", 2.0, (0.03, 0.0, -0.05), start=ON_S)
    rows = estimates_of(motion, load, links=("auto", "torso_2_link"), candidates=("arm_right_*",))
    names = [link.published.link for link in rows[0][1].links]
    assert names[0] == "torso_2_link"
    assert set(names[1:]) == {f"arm_right_{i}_link" for i in range(1, 8)}
    first, last = (np.array([link.published.mass for link in rows[i][1].links]) for i in (0, -1))
    index = names.index("arm_right_4_link")
    assert found(rows, Cause.LOAD)[0][1].links[0] == "arm_right_4_link"
    assert rows[-1][1].links[index].payload.mass == pytest.approx(2.0, abs=0.15)
    assert last[index] - first[index] > 1.0
    others = np.delete(np.arange(len(names)), index)
    np.testing.assert_allclose(last[others], first[others], rtol=0.03)


def test_a_load_on_a_link_that_is_not_estimated_is_named_and_moves_no_mass(motion):
    rows = estimates_of(motion, attached_ball("arm_right_5_link", 2.0, (0.02, 0.0, 0.05), start=ON_S))
    masses = published(rows, ON_S - 0.1)
    assert np.abs(masses / masses[0] - 1.0).max() < 0.02
    assert any("arm_right_5_link" in cause.links for _t, cause in found(rows, Cause.LOAD))
    assert rows[-1][2].level is HealthLevel.WARN
    assert "which is not among 'links'" in rows[-1][2].message


def test_a_robot_that_stands_still_publishes_only_what_its_data_inform():
    """Noise of the accelerometer pulls the estimated height of the centre of mass down by centimetres."""
    rows = estimates_of(motion_of(8.0, 8.0), links=("torso_2_link",))
    first, last = (rows[i][1].links[0] for i in (0, -1))
    assert last.estimate.com_L[2] < first.estimate.com_L[2] - 0.02
    np.testing.assert_allclose(last.published.com_L, first.published.com_L, atol=0.003)
    assert last.published.mass == pytest.approx(first.published.mass, rel=0.01)
    assert rows[-1][2].values["informed torso_2_link"] == "mass, com x, com y"
