"""Centre of mass by forces, poses and orientation error: exact without noise, deviations, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.standing_robot import GO2, HYQ, SOLO, Standing

from inertial_estimation.payload.com_methods import (
    TILT_RAD,
    ContactForceRecursion,
    PoseLine,
    SampleScatter,
    StaticPoses,
    nearest_point,
)
from inertial_estimation.payload.orientation_error import (
    OrientationError,
    heading_rotation,
    orientation_error,
)
from inertial_estimation.payload.statics import StaticMeasurement
from inertial_estimation.spatial.rotations import exp_so3, log_so3, rotation_from_roll_pitch_yaw

H = 0.004
SCENE = Standing()
STATICS = SCENE.statics()
LEVEL = SCENE.measure(STATICS)


def run(method, measured, duration, h=H):
    """Run until the method ends: on one measurement, or on what a function gives at a time."""
    for k in range(round(duration / h)):
        step = method.update(measured(k * h) if callable(measured) else measured, h)
        if step.done or step.refusal:
            break
    return step


def started(com=(0.0, 0.0, 0.0)) -> ContactForceRecursion:
    return ContactForceRecursion(np.array(com), SCENE.mass)


@given(steps=st.lists(st.floats(1e-3, 0.2), min_size=3, max_size=12))
@settings(max_examples=30, deadline=None)
def test_what_is_left_of_an_error_depends_on_time_alone(steps) -> None:
    method, once = started(), started()
    for h in steps:
        irregular = method.update(LEVEL, h)
    for _ in range(100):
        regular = once.update(LEVEL, sum(steps) / 100)
    np.testing.assert_allclose(irregular.com_B, regular.com_B, atol=1e-9)


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.15, -0.25)])
def test_fixed_point_has_no_bias(tilt) -> None:
    measurement = SCENE.measure(STATICS, tilt)
    method = started(SCENE.com + np.array([0.08, -0.05, 0.0]))
    for _ in range(800):
        step = method.update(measurement, 0.3)
    np.testing.assert_allclose(step.com_B, SCENE.com, atol=1e-6)


def test_settles_in_the_time_asked_for_and_says_so() -> None:
    method, start = started(), np.linalg.norm(SCENE.com[:2])
    step = run(method, LEVEL, 1.0)
    assert np.linalg.norm(step.com_B[:2] - SCENE.com[:2]) == pytest.approx(math.exp(-3.0) * start, rel=0.01)
    assert not step.done
    step = run(method, LEVEL, 2.0)
    assert step.done
    assert np.linalg.norm(step.com_B[:2] - SCENE.com[:2]) < 5e-4
    assert step.residual < 5e-4
    assert np.isinf(step.sigma_B[2])


def test_a_deviation_is_stated_after_a_quarter_of_the_settling_time():
    method = started()
    known = [np.isfinite(method.update(LEVEL, 0.125).sigma_B).tolist() for _ in range(3)]
    assert known == [[False] * 3, [True, True, False], [True, True, False]]


def noisy(rng, sigma):
    return LEVEL._replace(forces_W=LEVEL.forces_W + sigma * rng.standard_normal((4, 3)))


@pytest.mark.monte_carlo
def test_stated_deviation_is_the_scatter_of_repeated_runs() -> None:
    """Two-sided chi-square bound, 99.9 %, 40 runs of white noise, x and y each."""
    rng = np.random.default_rng(3)
    errors, sigmas = [], []
    for _ in range(40):
        method = started(SCENE.com)
        for _ in range(500):
            step = method.update(noisy(rng, 2.0), H)
        errors.append((step.com_B - SCENE.com)[:2])
        sigmas.append(step.sigma_B[:2])
    normalised = np.sum((np.array(errors) / np.array(sigmas)) ** 2, axis=0)
    assert np.all((normalised > 17.9) & (normalised < 73.4)), normalised


def test_overlapping_windows_state_no_smaller_deviation_than_they_have() -> None:
    """Means over 12 samples repeat their noise: the mean of many is as uncertain as it is."""
    rng, scatter_of_mean = np.random.default_rng(1), []
    stated = []
    for _ in range(100):
        white = rng.standard_normal(612)
        means = np.convolve(white, np.full(12, 1 / 12), mode="valid")
        scatter, x, gain = SampleScatter(1), 0.0, 0.02
        for k, value in enumerate(means):
            scatter.add(np.array([value]), gain)
            x += max(gain, 1.0 / (k + 1)) * (value - x)
        scatter_of_mean.append(x)
        stated.append(scatter.filtered_covariance(gain)[0, 0])
    true = np.var(scatter_of_mean)
    assert true < np.mean(stated) < 4.0 * true


def sliding(speed):
    """Feet that slide forward under the robot; the measured centre of mass goes with them."""
    return lambda t: LEVEL._replace(points_W=LEVEL.points_W + np.array([speed * t, 0.0, 0.0]))


def test_slow_drift_is_in_the_stated_deviation() -> None:
    speed, times = 0.01, []
    step = run(started(SCENE.com), lambda t: times.append(t) or sliding(speed)(t), 8.0)
    assert step.done
    whole = (SCENE.mass + LEVEL.legs_mass) / SCENE.mass
    lag = SCENE.com[0] + whole * speed * times[-1] - step.com_B[0]
    assert 1e-3 < lag < 2.0 * step.sigma_B[0]


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (sliding(0.05), "still moves"),
        (sliding(0.15), "still moves"),
        (lambda t: noisy(np.random.default_rng(round(t / H)), 40.0), "scatters by"),
    ],
)
def test_a_measurement_that_moves_or_whose_noise_hides_the_answer_is_given_up(measured, words) -> None:
    assert words in run(started(SCENE.com), measured, 12.0).refusal


POSE_H = 0.1


def follow(scene, tilts=None, start=None):
    """Run the method on a robot that takes the tilts asked for, or those given one after the other."""
    statics = scene.statics()
    method = StaticPoses(np.zeros(3) if start is None else start, scene.mass)
    tilt, asked = (0.0, 0.0), [None]
    for k in range(600):
        taken = tilt if tilts is None else tilts[min(k // 20, len(tilts) - 1)]
        step = method.update(scene.measure(statics, taken), POSE_H)
        tilt = step.tilt or (0.0, 0.0)
        if asked[-1] != step.tilt:
            asked.append(step.tilt)
        if step.done or step.refusal:
            break
    return step, asked


@pytest.mark.parametrize("kind", [HYQ, SOLO, GO2], ids=lambda kind: kind[0])
def test_all_three_components_are_exact_without_noise(kind) -> None:
    scene = Standing(kind, load=0.2 if kind is SOLO else 5.0, point=(-0.2, 0.1, 0.3))
    step, asked = follow(scene)
    assert step.done
    np.testing.assert_allclose(step.com_B, scene.com, atol=1e-9)
    assert step.residual < 1e-9
    t = TILT_RAD
    assert asked == [None, (0.0, 0.0), (t, 0.0), (-t, 0.0), (0.0, t), (0.0, -t), None]
    assert step.tilt is None


def test_base_that_does_not_tilt_is_refused_and_keeps_what_it_could_not_see() -> None:
    scene, start = Standing(), np.array([0.0, 0.0, 0.123])
    step, _ = follow(scene, tilts=[(0.0, 0.0)], start=start)
    assert "the base did not tilt: 1 poses" in step.refusal
    assert not step.done
    np.testing.assert_allclose(step.com_B, [*scene.com[:2], 0.123], atol=1e-9)
    assert np.isinf(step.sigma_B[2])


def test_samples_while_it_tilts_make_no_pose_of_their_own() -> None:
    scene, statics = Standing(), Standing().statics()
    method = StaticPoses(np.zeros(3), scene.mass)
    for k in range(25):
        step = method.update(scene.measure(statics, (0.02 * k, 0.0)), POSE_H)
    assert method.poses == []
    assert step.sigma_B.tolist() == 3 * [np.inf]


COM = np.array([0.1, -0.05, 0.2])
SIGMA = 0.01
FIVE = ((0.0, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.0, 0.3), (0.0, -0.3))


def solved(rng, tilts, before=COM):
    """Lines through the centre of mass, each moved by white noise of one size across itself."""
    lines = []
    for tilt in np.tan(tilts):
        n = np.append(tilt, 1.0) / np.linalg.norm(np.append(tilt, 1.0))
        point = COM + SIGMA * rng.normal(size=3)
        lines.append(PoseLine(n, point - (point @ n) * n))
    return nearest_point(lines, before, 0.05)


@pytest.mark.parametrize("tilts", [FIVE, FIVE[:2], 3 * FIVE[1:]], ids=["five", "two", "twelve"])
def test_the_residual_is_the_noise_of_one_line_whatever_their_number(tilts):
    """Mean of squares over many trials within 4 standard deviations of its chi-square."""
    rng, trials = np.random.default_rng(0), 600
    squares = [solved(rng, tilts).residual ** 2 for _ in range(trials)]
    bound = 4.0 * np.sqrt(2.0 / (trials * (2 * len(tilts) - 3)))
    assert np.mean(squares) / SIGMA**2 == pytest.approx(1.0, abs=bound)


def test_stated_deviations_are_those_of_the_errors():
    """Normalised squared errors of each component; their common denominator has seven degrees of freedom."""
    rng = np.random.default_rng(1)
    solutions = [solved(rng, FIVE) for _ in range(1500)]
    errors, variances = (np.array([getattr(s, n) for s in solutions]) for n in ("com_B", "sigma_B"))
    ratio = np.mean((errors - COM) ** 2, axis=0) / np.mean(variances**2, axis=0)
    np.testing.assert_allclose(ratio, 1.0, atol=0.16)  # 4 standard deviations of 1500 squares
    assert variances[:, 2].mean() > 2.0 * variances[:, 0].mean(), "z is seen through the sine of the tilt"


def test_parallel_lines_take_two_unknowns_and_leave_the_third_as_it_was():
    rng, before = np.random.default_rng(2), np.array([0.0, 0.0, 0.7])
    found = [solved(rng, [(0.0, 0.0)] * 4, before) for _ in range(600)]
    assert {s.com_B[2] for s in found} == {0.7}
    assert all(np.isinf(s.sigma_B[2]) and np.isfinite(s.sigma_B[:2]).all() for s in found)
    mean_square = np.mean([s.residual**2 for s in found]) / SIGMA**2
    assert mean_square == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / (600 * 6)))
    assert max(s.spread for s in found) < 1e-9


@pytest.mark.parametrize(("times", "spread"), [(1, 0.9), (9, 0.9), (1, 1.1), (9, 1.1)])
def test_poses_far_enough_apart_show_the_height_however_often_they_are_taken(times, spread):
    """Lines through one point, of two poses apart by the least spread of 0.05, or a tenth less or more."""
    tilts = [np.array([sign * np.sin(0.05 * spread), 0.0, np.cos(0.05 * spread)]) for sign in (1.0, -1.0)]
    lines = [PoseLine(n, COM - (COM @ n) * n) for n in tilts]
    found = nearest_point(times * lines, np.zeros(3), 0.05)
    assert found.com_B[2] == pytest.approx(COM[2] if spread > 1.0 else 0.0, abs=1e-9)


def test_one_line_leaves_nothing_to_tell_its_noise_by():
    solution = solved(np.random.default_rng(3), [(0.1, 0.2)])
    assert np.isnan(solution.residual)
    assert np.isinf(solution.sigma_B).all()


TRUE = np.array([-0.057, 0.075, 0.02])
START = np.array([0.04, 0.0, 0.0])
ANGLE = st.floats(-0.5, 0.5)


class SpringTrunk:
    """A rigid trunk in free rotation under a posture controller, by Euler's equation.

    The controller carries the weight through the centre of mass it believes in and turns the trunk with
    springs and dampers; it may integrate, and a second controller may hold the trunk level.
    """

    H = 0.01

    def __init__(self, com, *, springs=(450.0, 600.0), integral=0.0, other=0.0, noise=0.0, other_way=False):
        self.com = np.array(com, dtype=float)
        self.springs = np.array([*springs, 0.0])
        self.integral, self.other, self.noise = integral, other, noise
        self.sign = -1.0 if other_way else 1.0
        self.mass, self.inertia, self.gravity = 71.0, 8.0, 9.81
        self.R, self.w, self.summed = np.eye(3), np.zeros(3), np.zeros(3)
        self.reference = np.zeros(2)
        self.time, self.rng = 0.0, np.random.default_rng(0)
        self.tilts = []

    def step(self, com, tilt):
        h = self.H
        self.reference = self.reference + np.clip(np.array(tilt) - self.reference, -0.3 * h, 0.3 * h)
        error = log_so3(rotation_from_roll_pitch_yaw(*self.reference, 0.0) @ self.R.T)
        self.summed += self.integral * self.springs * error * h
        weight = np.array([0.0, 0.0, self.mass * self.gravity])
        lever = self.R @ (self.sign * (com - self.com))
        damping = 1.4 * np.sqrt(self.inertia * self.springs.max())
        moment = np.cross(lever, weight) + self.springs * error + self.summed
        moment = moment - self.other * log_so3(self.R) - damping * self.w
        stiff = 1.0 + h * (damping + h * (self.springs.max() + self.other)) / self.inertia  # implicit
        self.w = (self.w + h * moment / self.inertia) / stiff * [1.0, 1.0, 0.0]
        self.R = exp_so3(h * self.w) @ self.R
        self.time += h

    def measurement(self) -> StaticMeasurement:
        R = exp_so3(self.noise * self.rng.standard_normal(3)) @ self.R
        R = rotation_from_roll_pitch_yaw(0.0, 0.0, 0.9) @ R
        nothing = np.zeros((4, 3))
        return StaticMeasurement(R, nothing, nothing, 10.0, np.zeros(3), gravity=self.gravity)

    def identify(self, method, duration=150.0):
        """Run a method from a trunk that has come to rest; it sees the trunk at rest alone."""
        com, tilt, last = method.com_B, (0.0, 0.0), 0.0
        for _ in range(round(2.0 / self.H)):
            self.step(com, tilt)
        self.time = 0.0
        step = None
        while self.time < duration:
            self.step(com, tilt)
            if np.abs(self.w).max() < 0.03:
                step = method.update(self.measurement(), self.time - last)
                last = self.time
                assert step.to_controller
                com, tilt = step.com_B, step.tilt or (0.0, 0.0)
                self.tilts.append(tilt)
                if step.done or step.refusal:
                    break
        return step


def identified(trunk, start=START):
    method = OrientationError(start, trunk.mass)
    return method, trunk.identify(method)


@given(roll=ANGLE, pitch=ANGLE, yaw=st.floats(-3.1, 3.1))
def test_error_is_free_of_yaw_and_zero_where_the_reference_is(roll, pitch, yaw) -> None:
    R_HB = heading_rotation(rotation_from_roll_pitch_yaw(roll, pitch, yaw))
    np.testing.assert_allclose(R_HB, rotation_from_roll_pitch_yaw(roll, pitch, 0.0), atol=1e-12)
    np.testing.assert_allclose(orientation_error(R_HB, (roll, pitch)), 0.0, atol=1e-12)


def test_all_three_components_within_the_tolerances() -> None:
    trunk = SpringTrunk(TRUE)
    method, step = identified(trunk)
    assert step.done
    assert np.linalg.norm(step.com_B[:2] - TRUE[:2]) < 6e-4
    assert abs(step.com_B[2] - TRUE[2]) < 2.5e-3
    assert step.tilt is None
    assert {tilt[1] for tilt in trunk.tilts} == {0.0, TILT_RAD, -TILT_RAD}
    weight, (K_x, K_y) = trunk.mass * trunk.gravity, trunk.springs[:2]
    expected = np.array([[0.0, -weight / K_x], [weight / K_y, 0.0]])
    np.testing.assert_allclose(method.response, expected, atol=0.1 * np.abs(expected).max())


def test_robot_that_keeps_another_posture_is_asked_to_be_level() -> None:
    """As on a slope: its springs turn it to that posture unless another is asked for."""
    own, h = (0.0, -0.17), 0.01
    trunk = SpringTrunk(TRUE)
    method = OrientationError(START, trunk.mass)
    com, tilt = START, own
    for _ in range(round(100.0 / h)):
        trunk.step(com, tilt)
        step = method.update(trunk.measurement(), h)
        if step.done or step.refusal:
            break
        com, tilt = step.com_B, own if step.tilt is None else step.tilt
    assert step.done, step.refusal
    np.testing.assert_allclose(step.com_B, TRUE, atol=2.5e-3)


def test_noise_stays_within_the_stated_deviations() -> None:
    """Tolerances come on top: a recursion ends that far from what it measures."""
    _, step = identified(SpringTrunk(TRUE, noise=1e-3))
    assert step.done
    room = 4.0 * step.sigma_B + np.array([5e-4, 5e-4, 2e-3])
    assert np.all(np.abs(step.com_B - TRUE) < room)
    assert np.all(step.sigma_B < 2e-3)


class Deaf(SpringTrunk):
    """Its controller stops listening half way."""

    def step(self, com, tilt):
        if self.time > 7.0:
            com = self.heard
        self.heard = com
        super().step(com, tilt)


@pytest.mark.parametrize(
    ("trunk", "words"),
    [
        (SpringTrunk(TRUE, integral=0.03), "does not settle"),
        (SpringTrunk(TRUE, integral=0.3), "does not come back: 1.1"),
        (SpringTrunk(TRUE, integral=3.0), "does not follow: a probe of 20 mm"),
        (SpringTrunk(TRUE, other=2e5), "does not follow: a probe of 20 mm"),
        (SpringTrunk(TRUE, other=500.0), "does not take the requested pitch"),
        (SpringTrunk(TRUE, other_way=True), "turns the wrong way"),
        (Deaf(TRUE), "does not follow a correction"),
    ],
)
def test_a_posture_controller_that_fights_is_refused(trunk, words) -> None:
    """Each would have the plain recursion (T 14) end somewhere, most of them far from the truth."""
    _, step = identified(trunk)
    assert words in step.refusal
    assert not step.done


def test_integral_action_that_has_levelled_the_trunk_before() -> None:
    """No error is left at the start: without a probe the nominal value would be the result."""
    trunk = SpringTrunk(TRUE, integral=1.0)
    for _ in range(2000):
        trunk.step(START, (0.0, 0.0))
    assert math.degrees(np.abs(trunk.R[2, :2]).max()) < 0.01
    _, step = identified(trunk)
    assert "integrates" in step.refusal
    np.testing.assert_array_equal(step.com_B, START)


def test_trunk_of_the_whole_body_controller_turns_as_equation_12_says() -> None:
    """The posture task of the quadratic program is such a spring: HyQ, simulated, true base state."""
    pytest.importorskip("mujoco")
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.signals import LinkInertia
    from inertial_estimation.spatial.rotations import rotation_from_quaternion

    loop = RobotLoop("hyq").build(adaptation=False)
    loop.tilt = loop.inertial = None
    nominal = loop.simulation.robot.link_body("trunk").nominal_J
    believed = np.array(nominal.lever) + np.array([0.02, 0.01, 0.0])
    inertia = LinkInertia("trunk", nominal.mass, believed, np.array(nominal.inertia))
    loop.controller.push_inertia(0, inertia)
    loop.release(0.02)
    loop.run(0.5)
    R_WB = rotation_from_quaternion(loop.simulation.truth().base.quaternion_xyzw)
    error = orientation_error(heading_rotation(R_WB), (0.0, 0.0))
    assert -0.1 < error[0] < -0.005
    assert 0.005 < error[1] < 0.1
