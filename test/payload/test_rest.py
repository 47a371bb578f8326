"""When a robot counts as at rest, and what is said to keep it from it."""

from dataclasses import replace

import numpy as np
import pytest
from support.standing_hyq import SILENT, Noise, StandingHyq, pipeline

from inertial_estimation.payload.config import RestConfig
from inertial_estimation.payload.rest import MeanState, RestDetector

NAMES = ("hip", "knee")
STILL = MeanState(np.zeros(2), np.zeros(2), None, None, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
LIMITS = RestConfig(joint_speed=0.1, base_speed=0.02, angular_rate=0.03, acceleration=0.2)


def rested(config=LIMITS):
    detector = RestDetector(config, NAMES)
    for _ in range(26):
        detector.update(STILL, 0.004)
    return detector


def test_rest_takes_its_duration():
    detector = RestDetector(LIMITS, NAMES)
    seen = [detector.update(STILL, 0.01) for _ in range(12)]
    assert seen.index(True) == 9
    assert detector.why_not == ""


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("base_speed", 0.05, "the base moves with 0.05 m/s"),
        ("angular_rate", 0.4, "the base turns with 0.4 rad/s"),
        ("acceleration", 0.7, "the base accelerates with 0.7 m/s^2"),
        ("v", np.array([0.0, -0.3]), "joint knee moves with 0.3 rad/s"),
    ],
)
def test_any_motion_ends_a_rest_and_is_named(field, value, words):
    detector = rested()
    assert not detector.update(replace(STILL, **{field: value}), 0.004)
    assert detector.why_not == words
    assert not detector.update(STILL, 0.004), "it must be still for the whole duration again"
    assert "still for" in detector.why_not


def test_noise_at_a_limit_neither_begins_nor_ends_a_rest():
    just_above = replace(STILL, acceleration=1.2 * LIMITS.acceleration)
    assert rested().update(just_above, 0.004)
    fresh = RestDetector(LIMITS, NAMES)
    assert not any(fresh.update(just_above, 0.01) for _ in range(100))


def test_constant_errors_of_imu_do_not_keep_a_robot_from_rest():
    noise = Noise(gyro_bias=(0.005, 0.005, -0.005), accelerometer_bias=(0.4, -0.3, 0.5))
    scene = StandingHyq(pipeline(), noise=noise)
    scene.run(1.5)
    at_rest = [estimate.at_rest for estimate in scene.estimates]
    first = at_rest.index(True)
    assert first < 60
    assert all(at_rest[first:]), "realistic noise ends no rest"


def test_a_base_that_gathers_speed_is_not_at_rest_while_it_is_slow():
    scene = StandingHyq(pipeline(), noise=SILENT)
    scene.run(0.3)
    assert scene.estimates[-1].at_rest
    for _ in range(11):  # 0.4 m/s^2 for 44 ms: 0.018 m/s, below the limit of the speed
        scene.base_velocity = scene.base_velocity + np.array([0.4 * 0.004, 0.0, 0.0])
        scene.run(0.004)
    assert not scene.estimates[-1].at_rest
    assert "the base accelerates" in scene.health()["payload"].values["at rest"]


def test_a_jolt_of_the_accelerometer_alone_is_seen():
    scene = StandingHyq(pipeline(), noise=Noise(**vars(SILENT)))
    scene.run(0.3)
    scene.noise.accelerometer_bias = (0.5, 0.0, 0.0)
    scene.run(0.02)
    assert not scene.estimates[-1].at_rest
    scene.run(0.2)
    assert scene.estimates[-1].at_rest, "what lasts is a bias"


def test_a_moving_joint_is_named_in_health():
    scene = StandingHyq(pipeline(), noise=SILENT)
    scene.joint_speed = np.where(np.arange(12) == 2, 0.3, 0.0)
    scene.run(0.3)
    assert not any(estimate.at_rest for estimate in scene.estimates)
    assert "joint lf_kfe_joint moves with 0.3 rad/s" in scene.health()["payload"].values["at rest"]
