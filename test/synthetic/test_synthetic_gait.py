"""Synthetic gaits: exact without imperfections, and a trot on slippery ground for the tilt observer."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.referee.gait_motion import FootMotion, gait_motion
from benchmarks.referee.gait_sensors import GaitSensors, feet_at_rest, gait_readings
from benchmarks.referee.gaits import TROT, quadruped, tilt_errors

RATE_HZ = 200.0
PERFECT = GaitSensors(
    force_noise=0.0,
    force_bias=0.0,
    rate_noise=0.0,
    rate_bias=0.0,
    rate_scale=0.0,
    encoder_offset=0.0,
    velocity_noise=0.0,
    wrench_noise=0.0,
)


@pytest.fixture(scope="module")
def go2():
    return quadruped("go2")


def readings_of(go2, gait, sensors, duration):
    _, setup, posture = go2
    rng = np.random.default_rng(3)
    motion = gait_motion(gait, feet_at_rest(setup, posture), duration, RATE_HZ, rng)
    return motion, gait_readings(setup, posture, motion, sensors, rng)


def test_perfect_sensors_and_firm_feet_leave_almost_no_error(go2):
    _, setup, _ = go2
    gait = replace(TROT, rest_s=0.5, foot=FootMotion(), base=replace(TROT.base, impact=0.0))
    motion, readings = readings_of(go2, gait, PERFECT, 2.5)
    assert np.nanmax(tilt_errors("go2", setup, readings)[0]) < 0.1
    standing = motion.load[:, 0] > 0.01
    still = np.linalg.norm(np.gradient(motion.feet[:, 0], axis=0), axis=1) * RATE_HZ
    assert still[1:-1][standing[1:-1] & standing[:-2] & standing[2:]].max() < 1e-9
    assert motion.load[~standing].min() >= 0.0
    assert readings.wrenches[:, :, 2].max() > 0.4 * 9.81 * setup.robot.total_mass
