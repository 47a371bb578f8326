"""The filter on a body that turns above a flat foot, and what is proved of the two-stage observer."""

import numpy as np
import pytest

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.rotations import exp_so3, log_so3
from inertial_estimation.tilt.feet_sensing import Feet
from inertial_estimation.tilt.filter import FilterConfig, TiltFilter
from inertial_estimation.tilt.imu_readings import ImuReadings
from inertial_estimation.tilt.observer import Look
from inertial_estimation.tilt.two_stage import TwoStageConfig, TwoStageState, two_stage_step

H = 0.005
UP = np.array([0.0, 0.0, 1.0])
FOOT = np.array([0.1, 0.05, -0.9])  # in the world, from the IMU, which only turns [m]


def orientation(t):
    return exp_so3(np.array([0.8 * np.cos(2.0 * t), 0.3 * np.cos(1.1 * t), 0.2 * t]))


def error_and_sigma(*, bias=(0.0, 0.0, 0.0), **options):
    """Errors and sigmas over time [deg], shape (n, 2), from 1 s on."""
    return run(bias=bias, **options)[0]


def run(
    *,
    limit=np.inf,
    sole=True,
    standing=True,
    bias=(0.0, 0.0, 0.0),
    mounted=None,
    end=6.0,
    drift=0.025,
    **driven,
):
    """The same, and the filter; the axes of the IMU may be turned to those of the body."""
    tilt, readings, found, since = TiltFilter(FilterConfig(velocity_drift=drift)), ImuReadings(), [], 0.0
    clipped, mounted = np.zeros(3), np.eye(3) if mounted is None else mounted
    readings.add(0.0, np.zeros(6))
    for k, (place, force_W, noise, error) in enumerate(zip(*shaking(round(end / H), **driven), strict=True)):
        t = k * H
        R, before = orientation(t) @ mounted, orientation(t - H) @ mounted
        rate = log_so3(before.T @ R) / H + np.array(bias)
        middle = orientation(t - 0.5 * H) @ mounted
        reading = np.concatenate((middle.T @ force_W + noise, np.clip(rate, -limit, limit)))
        shares, soles = np.array([float(standing)]), np.array([float(sole)])
        feet = Feet((R.T @ (FOOT - place) + error)[None], R.T.copy()[None], shares, soles)
        readings.add(H, reading)
        since, clipped, look = since + H, clipped + H * (np.abs(rate) > limit), None
        if tilt.looks(since):
            look = Look(feet, readings.look(tilt.state.bias)._replace(clipped=clipped))
            since, clipped = 0.0, np.zeros(3)
        tilt.step(H, reading, look)
        if t > 1.0:
            P, z = tilt.state.covariance[3:6, 3:6], tilt.state.vertical
            wrong = np.linalg.norm(np.cross(z, R[2]))
            found.append(np.degrees([wrong, np.sqrt(np.trace(P) - z @ P @ z)]))
    return np.array(found), tilt


def shaking(n, pushed=0.0, noise=0.0, encoders=0.0, slips=0.0):
    """Places of an IMU that is pushed [m/s^2], the force on it, its noise [m/s^2], errors of the foot [m]."""
    sizes = np.reshape([pushed, noise, encoders, slips], (4, 1, 1))
    forces, noises, errors, steps = sizes * np.random.default_rng(0).normal(size=(4, n, 3))
    places, velocity = np.zeros((n, 3)), np.zeros(3)
    for k in range(1, n):
        forces[k] -= 8.0 * velocity + 20.0 * places[k - 1]  # a damped spring holds it
        places[k] = places[k - 1] + H * (velocity + 0.5 * H * forces[k])
        velocity = velocity + H * forces[k]
    return places, forces + STANDARD_GRAVITY * UP, noises, errors + np.cumsum(steps, axis=0)


@pytest.mark.parametrize(("limit", "error"), [(np.inf, 0.1), (1.0, 1.0)])
def test_exact_motion_is_followed_and_a_flat_sole_replaces_a_gyroscope_at_the_end_of_its_range(limit, error):
    """The largest rate of the motion is 1.6 rad/s."""
    assert error_and_sigma(limit=limit)[:, 0].max() < error


@pytest.mark.parametrize("sole", [True, False])
def test_the_bias_is_determined_in_motion(sole):
    bias = np.array([0.02, -0.01, 0.0])
    found, tilt = run(bias=bias, sole=sole, end=15.0)
    assert found[-1000:, 0].max() < 0.3
    np.testing.assert_allclose(tilt.state.bias, bias, atol=0.004)
    sigma = np.sqrt(np.diag(tilt.state.covariance)[6:9])
    assert (np.abs(tilt.state.bias - bias) < 4.0 * sigma).all()


def test_how_the_imu_is_mounted_changes_neither_error_nor_sigma():
    turned = exp_so3(np.array([0.7, -1.9, 0.4]))
    (found, tilt), (same, its) = run(bias=(0.02, 0.0, 0.0)), run(bias=turned.T @ [0.02, 0, 0], mounted=turned)
    np.testing.assert_allclose(same, found, atol=1e-3)
    np.testing.assert_allclose(turned @ its.state.bias, tilt.state.bias, atol=1e-4)


@pytest.mark.parametrize("foot", ["encoders", "slips"])
def test_shaking_of_the_accelerometer_counts_as_noise_where_it_is_no_motion(foot):
    """Noise: as good as a filter that is told of its size. Motion that contacts show: as sure as at rest."""
    size, common = 8.0, {foot: 1e-3, "end": 12.0}
    still, pushed, noisy = (run(**common, **more)[0] for more in ({}, {"pushed": 12.0}, {"noise": size}))
    told, _tilt = run(**common, noise=size, drift=size * np.sqrt(H))
    assert pushed[:, 1].mean() < 1.05 * still[:, 1].mean()
    assert np.sqrt(np.mean(noisy[:, 0] ** 2)) < np.sqrt(np.mean(told[:, 0] ** 2))


def test_accelerations_without_contact_are_no_bias_of_the_gyroscope():
    """It is swung by forces of 6 g, to 1 m/s. Nor do they hide the offset of the accelerometer."""
    found, tilt = run(standing=False, pushed=60.0, end=20.0)
    assert np.abs(tilt.state.bias).max() < 0.02
    assert 0.3 < tilt.free_speed < 1.06, "at most the rms velocity, of which the mean motion is no part"
    assert np.trace(tilt.state.covariance[9:12, 9:12]) < 3.0 * tilt.config.accelerometer_offset**2
    assert (found[:, 0] < 4.0 * found[:, 1]).all()
    assert found[:, 0].mean() < 5.0


def test_rest_shows_the_bias_about_the_vertical_too():
    tilt, readings = TiltFilter(FilterConfig()), ImuReadings()
    reading = np.array([0.0, 0.0, STANDARD_GRAVITY, 0.0, 0.0, 0.01])
    readings.add(0.0, reading)
    for k in range(400):
        readings.add(H, reading)
        tilt.step(H, reading, Look(None, readings.look(tilt.state.bias)) if k % 4 == 3 else None)
    assert tilt.state.bias == pytest.approx([0.0, 0.0, 0.01], abs=1e-3)


@pytest.mark.parametrize(("rate", "at_rest"), [(0.04, True), (0.06, False)])
def test_a_body_that_turns_evenly_about_one_axis_is_not_at_rest(rate, at_rest):
    readings = ImuReadings()
    for _ in range(20):
        for _ in range(20):
            readings.add(H, np.array([0.0, 0.0, STANDARD_GRAVITY, 0.0, rate, 0.0]))
        readings.look(np.zeros(3))
    assert readings.seen.at_rest is at_rest


class Turned:
    """A filter past its start on an IMU that turns by 2 rad/s about x over its foot, for one look."""

    def __init__(self, read=2.0, clipped=0.0, feet=True, sole=1.0):
        self.tilt, readings = TiltFilter(FilterConfig()), ImuReadings()
        self.tilt.aligning, poses = False, [exp_so3(np.array([H * k, 0.0, 0.0])) for k in range(9)]
        self.tilt.state.covariance[:] += 1e-4 * np.eye(12)
        for k in range(8):  # a look at the contacts, in which nothing turns; then what it is asked for
            turns = k > 3
            R, middle = (poses[2 * (k - 3) - back if turns else 0] for back in (0, 1))
            reading = np.concatenate((STANDARD_GRAVITY * middle[2], [read * turns, 0.0, 0.0]))
            readings.add(H, reading)
            look = None
            if k % 4 == 3:
                shown = Feet((R.T @ FOOT)[None], R.T.copy()[None], np.array([0.7]), np.array([sole]))
                at = readings.look(np.zeros(3))._replace(clipped=np.array([clipped * turns, 0.0, 0.0]))
                look = Look(shown if feet or not turns else None, at)
            self.tilt.step(H, reading, look)
        self.P, self.error = self.tilt.state.covariance, np.cross(self.tilt.state.vertical, R[2])


def test_what_a_clipped_gyroscope_has_missed_is_taken_from_the_sole():
    runs = (Turned(), Turned(0.0, 4 * H), Turned(0.0, 0.0))
    exact, taken, missed = (np.linalg.norm(one.error) for one in runs)
    assert exact < 1e-12
    assert taken < 1e-4
    assert missed == pytest.approx(0.04, rel=0.01)
    assert [np.linalg.norm(one.tilt.residual) for one in runs] == pytest.approx(
        [0.0, 0.0, 0.7 * 0.9 * 2.0], abs=0.01
    )


def test_a_clipped_axis_is_uncertain_by_two_radians_a_second_for_a_twentieth_of_one_and_no_other_is():
    sure, unsure = (Turned(clipped=clipped, feet=False).P for clipped in (0.0, 4 * H))
    added = np.zeros((12, 12))
    added[3, 3] = 0.05 * 2.0**2 * 4 * H
    np.testing.assert_allclose(unsure - sure, added, atol=1e-7)


def test_only_while_it_is_aligned_the_vertical_is_set_along_a_force():
    tilt = TiltFilter(FilterConfig())
    for aligning, force in ((True, [0.0, 3.0, 4.0]), (False, [1.0, 0.0, 0.0])):
        tilt.aligning = aligning
        tilt.level(np.array(force))
        np.testing.assert_allclose(tilt.state.vertical, [0.0, 0.6, 0.8])


def test_the_covariance_of_the_start_has_the_slopes_by_which_errors_of_the_sensors_tilt_it():
    """Of a body at rest without contacts: the mean of the readings counts in the middle of the window."""

    def started(bias, offset):
        tilt, readings = TiltFilter(FilterConfig()), ImuReadings()
        reading = np.concatenate((STANDARD_GRAVITY * UP + offset, bias))
        readings.add(0.0, reading)
        while tilt.aligning:
            readings.add(H, reading)
            tilt.step(H, reading, Look(None, readings.look(np.zeros(3))))
        return tilt.state

    P, step = started(np.zeros(3), np.zeros(3)).covariance, 1e-4
    for k, unit in enumerate(step * np.eye(6)):
        slope = np.cross(UP, started(unit[:3], unit[3:]).vertical) / step
        np.testing.assert_allclose(P[3:6, 6 + k] / P[6 + k, 6 + k], slope, atol=1e-4)
    np.testing.assert_array_equal(P, P.T)
    assert np.linalg.eigvalsh(P)[0] > 0.0


GAINS = TwoStageConfig(alpha1=20.0, alpha2=100.0, gamma=3.0)


def unit(v):
    return v / np.linalg.norm(v)


def swaying(t):
    """Orientation, angular rate and velocity of a body that sways and turns, and its specific force."""
    return exp_so3(np.array([0.3 * np.sin(2.0 * t), 0.2 * np.cos(3.0 * t), 0.5 * t]))


def simulate(state, gains, h=0.002, duration=8.0):
    """Run the observer on exact readings of a swaying body; return its errors over time."""
    position = lambda t: np.array([0.05 * np.sin(3.0 * t), 0.1 * np.sin(2.0 * t), 0.02 * np.cos(4.0 * t)])  # noqa: E731
    errors, e = [], 1e-5
    for k in range(round(duration / h)):
        t0, t1 = k * h, (k + 1) * h
        middle, R1 = 0.5 * (t0 + t1), swaying(t1)
        Rm = swaying(middle)
        turn = swaying(t0).T @ R1
        rate = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (2 * h)
        v0, v1 = ((position(t + e) - position(t - e)) / (2.0 * e) for t in (t0, t1))
        force = Rm.T @ ((v1 - v0) / h + STANDARD_GRAVITY * UP)
        state = two_stage_step(state, gains, h, rate, force, R1.T @ v1)
        up = R1.T @ UP
        off = state.velocity - R1.T @ v1, state.intermediate - up, state.vertical - up
        errors.append(np.linalg.norm(off, axis=1))
    return np.array(errors)


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_all_errors_vanish_from_any_start(seed):
    rng = np.random.default_rng(seed)
    start = TwoStageState(
        3.0 * rng.standard_normal(3), 2.0 * rng.standard_normal(3), unit(rng.standard_normal(3))
    )
    assert simulate(start, GAINS)[-1].max() < 2e-3


def test_the_first_stage_has_the_roots_of_its_polynomial():
    """A body at rest: the velocity error decays as the slower root of s^2 + alpha1 s + alpha2."""
    gains, h = TwoStageConfig(alpha1=20.0, alpha2=50.0, gamma=3.0), 0.01
    roots = np.roots([1.0, gains.alpha1, gains.alpha2])
    state = TwoStageState(np.array([1.0, 0.0, 0.0]), UP, UP)
    sizes = []
    for _ in range(300):
        state = two_stage_step(state, gains, h, np.zeros(3), STANDARD_GRAVITY * UP, np.zeros(3))
        sizes.append(np.linalg.norm(state.intermediate - UP))
    rate = np.log(sizes[199] / sizes[99]) / (100 * h)
    assert rate == pytest.approx(roots.max(), rel=1e-3)


def test_the_lyapunov_function_of_the_second_stage_never_increases():
    state = TwoStageState(np.zeros(3), UP, unit(np.array([1.0, 0.0, -0.99])))
    values = []
    for _ in range(500):
        state = two_stage_step(state, GAINS, 0.01, np.zeros(3), STANDARD_GRAVITY * UP, np.zeros(3))
        values.append(1.0 - state.vertical @ UP)
    assert np.all(np.diff(values) <= 1e-12)


def test_without_contact_the_vertical_only_turns_with_the_gyroscope():
    rate = np.array([0.1, -0.3, 0.2])
    state = TwoStageState(np.zeros(3), UP, UP)
    for _ in range(100):
        state = two_stage_step(state, GAINS, 0.01, rate, STANDARD_GRAVITY * state.vertical, None)
    assert np.allclose(state.vertical, exp_so3(-rate) @ UP, atol=1e-9)


def test_a_constant_bias_tilts_it_by_the_stated_sensitivity():
    bias, h = np.array([0.002, 0.0, 0.0]), 0.005
    state = TwoStageState(np.zeros(3), UP, UP)
    for _ in range(4000):
        state = two_stage_step(state, GAINS, h, bias, STANDARD_GRAVITY * UP, np.zeros(3))
    expected = 0.002 * (GAINS.alpha1 / GAINS.alpha2 + 1.0 / GAINS.gamma)
    assert np.linalg.norm(state.vertical - UP) == pytest.approx(expected, rel=0.02)
