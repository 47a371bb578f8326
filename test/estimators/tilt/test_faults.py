"""Faults inside the plausible ranges: outliers, sequences, starts in motion; judged by the exact motion."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.contact_states import STANDING, ComparedFeet, kinematic_state
from support.leg_robot import NO_REST, Stance, push_stance, tilt_pipeline

from inertial_estimation.compilation import numbers
from inertial_estimation.estimators.tilt.estimate_numbers import DEFECTS, first_defect
from inertial_estimation.estimators.tilt.imu_readings import ImuReadings, mean_readings
from inertial_estimation.estimators.tilt.initialisation import Initialisation
from inertial_estimation.estimators.tilt.points_at_rest import rate_of_points
from inertial_estimation.estimators.tilt.vertical_fit import VerticalFit
from inertial_estimation.signals import HealthLevel, ImuSample
from inertial_estimation.spatial.vectors import ZERO

PERIOD_NS = 5_000_000
OBSERVERS = ["two_stage", "first_stage", "r3s2", "hua"]
ONSET = 1.5  # of a fault [s]
GRACE_S = 0.25  # for which an estimate may be wrong and called OK without a break (docs/robustness.md) [s]


def make(**values):
    return tilt_pipeline(**NO_REST, **values)


def drive(pipeline, begin, end, spoil=lambda sample, i: sample, *, stance):
    """Errors of the tilt [deg], levels and messages of the health, by time [s]; `i` counts from the onset."""
    rows = []
    for k in range(round(begin * 200), round(end * 200)):
        stamp = (k + 1) * PERIOD_NS
        t = 1e-9 * stamp
        i = k - round(ONSET * 200)
        push_stance(pipeline, stance, stamp, t, spoil=lambda imu, i=i: spoil(imu, i) if i >= 0 else imu)
        for estimate in pipeline.tick(stamp):
            up = stance.pose("base", t).rotation[2]
            health = pipeline.health(stamp)[-1]
            error = np.degrees(np.arcsin(np.linalg.norm(np.cross(up, estimate.tilt_B))))
            error = error if up @ estimate.tilt_B > 0.0 else 180.0 - error
            rows.append((t, error, health.level, health.message, estimate))
    return rows


def added(force=(0.0, 0.0, 0.0), rate=(0.0, 0.0, 0.0), count=1):
    def spoil(imu, i):
        if i >= count:
            return imu
        return ImuSample(
            imu.stamp_ns, imu.specific_force_I + np.array(force), imu.angular_rate_I + np.array(rate)
        )

    return spoil


def longest_wrong_and_ok(rows, limit_deg):
    """Longest time for which the tilt is wrong by more than a limit while health is OK [s]."""
    longest, since = 0.0, None
    for t, error, level, *_ in rows:
        wrong = error > limit_deg and level == HealthLevel.OK
        since = (t if since is None else since) if wrong else None
        longest = max(longest, t - since if wrong else 0.0)
    return longest


@pytest.mark.parametrize("observer", ["kalman", *OBSERVERS])
@pytest.mark.parametrize("fault", [added(rate=(4.0, 3.0, 0.0)), added(rate=(0.0, -21.0, 28.0))])
def test_an_outlier_of_the_gyroscope_hardly_moves_the_tilt(observer, fault):
    rows = drive(make(observer=observer), 0.0, 3.0, fault, stance=Stance(1, still_until=0.5))
    assert max(error for _, error, *_ in rows) < 1.0


@pytest.mark.parametrize("observer", ["kalman", *OBSERVERS])
@pytest.mark.parametrize(
    "fault",
    [added(force=(0.0, 150.0, 0.0)), added(force=(-90.0, 0.0, 120.0), count=4)],
    ids=["1 reading", "4 readings"],
)
def test_an_outlier_of_the_accelerometer_is_soon_forgotten(observer, fault):
    """The tilt of the default observer hardly moves; the others correct velocity and tilt at fixed rates."""
    stance = Stance(1, still_until=0.5)
    rows = drive(make(observer=observer), 0.0, 3.0, fault, stance=stance)
    unmoved = 0.0 if observer == "kalman" else ONSET + 0.5
    assert max(error for t, error, *_ in rows if t > unmoved) < 1.0
    last = rows[-1][-1].state
    assert np.abs(last.v_WB_B - stance.velocity("base", 3.0)[0]).max() < 0.05


@pytest.mark.parametrize("observer", ["kalman", *(o for o in OBSERVERS if o != "first_stage")])
@pytest.mark.parametrize(
    "fault",
    [added(rate=(0.0, 20.0, 0.0), count=60), added(rate=(1.0, 0.0, 0.0), count=100)],
    ids=["20 rad/s", "1 rad/s"],
)
def test_a_wrong_gyroscope_is_said_and_forgotten_within_a_second(observer, fault):
    stance, pipeline = Stance(1, still_until=0.5), make(observer=observer)
    rows = drive(pipeline, 0.0, 4.0, fault, stance=stance)
    during = [row for row in rows if ONSET <= row[0] < ONSET + 0.5]
    assert max(error for _, error, *_ in during) > 5.0, "the fault does something"
    assert longest_wrong_and_ok(rows, 5.0) < GRACE_S
    assert any("imu/data" in message for _, _, level, message, _ in during if level)
    assert max(error for t, error, *_ in rows if t > ONSET + 1.5) < 1.0


def test_joint_velocities_that_are_wrong_do_not_replace_the_gyroscope():
    feet = ComparedFeet((True,))
    moving = STANDING._replace(w_I=(2.0, 0.0, 0.0))
    for k in range(100):
        contact = moving._replace(r_I=(0.0, 0.0, -0.8 - 1e-9 * k))
        w, _ = feet.check(0.01, ZERO, kinematic_state([contact]), numbers(np.ones(1)))
    assert w == ZERO
    assert not feet.replacing


def test_the_rotation_of_feet_replaces_a_wrong_gyroscope_at_once_and_no_longer_than_that():
    feet, missed = ComparedFeet((True,)), ZERO
    for k in range(100):
        contact = STANDING._replace(r_I=(0.0, 0.0, -0.8 - 1e-9 * k))
        wrong = (2.0, 0.0, 0.0) if k < 50 else ZERO
        w, angle = feet.check(0.01, wrong, kinematic_state([contact]), numbers(np.ones(1)))
        missed = angle or missed
        assert w == ZERO or k < 6 or k >= 50
    assert not feet.replacing
    assert -0.02 * 6 < missed[0] < -0.05


def test_points_that_do_not_lie_on_a_line_determine_the_rotation():
    w = np.array([0.3, -0.7, 1.1])
    points = [np.array(p) for p in ((0.3, 0.2, -0.5), (-0.3, 0.2, -0.55), (0.3, -0.2, -0.45))]
    contacts = [STANDING._replace(r_I=tuple(p), v_I=tuple(-np.cross(w, p))) for p in points]
    motions = kinematic_state(contacts).motions
    rate, complete = rate_of_points(motions, (0.2, 0.5, 0.3), ZERO)
    np.testing.assert_allclose(rate, w, atol=1e-12)
    assert complete
    rate, complete = rate_of_points(motions, (0.5, 0.5, 0.1), ZERO)
    d = (points[0] - points[1]) / np.linalg.norm(points[0] - points[1])
    np.testing.assert_allclose(rate, w - (w @ d) * d, atol=1e-12)
    assert not complete


def test_a_scaled_accelerometer_is_reported_and_does_not_turn_the_vertical():
    stance = Stance(1, still_until=0.5)

    def spoil(imu, i):
        return ImuSample(imu.stamp_ns, 1.3 * imu.specific_force_I, imu.angular_rate_I)

    rows = drive(make(), 0.0, 3.5, spoil, stance=stance)
    late = [row for row in rows if row[0] > ONSET + 0.5]
    assert max(error for _, error, *_ in rows) < 2.0
    assert all(level == HealthLevel.ERROR and "imu/data" in message for _, _, level, message, _ in late)


@pytest.mark.parametrize(("checked", "found"), [(True, 1.05), (False, 1.0)])
def test_the_scale_of_the_accelerometer_is_learned_where_readings_are_checked(checked, found):
    stance, pipeline = Stance(1, still_until=9.0), tilt_pipeline(check_readings=checked)

    def scaled(imu):
        return ImuSample(imu.stamp_ns, 1.05 * imu.specific_force_I, imu.angular_rate_I)

    for k in range(600):
        stamp = (k + 1) * PERIOD_NS
        push_stance(pipeline, stance, stamp, 1e-9 * stamp, spoil=scaled)
        pipeline.tick(stamp)
    assert pipeline._estimator.scale.factor == pytest.approx(found, abs=0.01)


@pytest.mark.parametrize("seed", range(4))
def test_a_start_in_motion_is_not_misled_by_the_acceleration(seed):
    """The base accelerates by several m/s^2 during the startup; its mean does not vanish."""
    stance = Stance(seed, size=0.5, still_until=-5.0)
    rows = drive(make(), 0.0, 1.3, stance=stance)
    assert rows[0][0] < 0.4
    assert max(error for _, error, *_ in rows) < 0.5


def test_clean_motion_gives_no_warning():
    pipeline = make()
    rows = drive(pipeline, 0.0, 4.0, stance=Stance(2, size=0.5, still_until=0.5))
    assert {level for _, _, level, *_ in rows} == {HealthLevel.OK}


@pytest.mark.parametrize("h", [0.01, 0.002])
def test_a_real_jump_of_the_rate_is_integrated_in_full(h):
    """The angle held back for one reading is added by the next one."""
    readings, angle = ImuReadings(), 0.0
    rates = [0.0] * 5 + [30.0] * 5 + [0.0] * 5
    for k, rate in enumerate(rates):
        _, mean = mean_readings(h, (0.0, 0.0, 9.8), (rate, 0.0, 0.0), readings.row)
        angle += h * mean[0] if k else 0.0
    assert angle == pytest.approx(np.trapezoid(rates, dx=h), rel=1e-12)


def test_an_alternating_rate_is_never_integrated():
    readings, angle = ImuReadings(), 0.0
    for k in range(20):
        rate = (30.0 if k % 4 == 3 else 0.1, 0.0, 0.0)
        _, mean = mean_readings(0.01, (0.0, 0.0, 9.8), rate, readings.row)
        angle += 0.01 * mean[0]
    assert angle == pytest.approx(20 * 0.01 * 0.1, abs=0.002)


def test_the_fit_is_exact_in_accelerated_and_turning_motion():
    h, n = 0.002, 200
    t = h * np.arange(n + 1)
    rate = np.array([0.5, -0.8, 1.1])
    a_W = np.array([3.0, -2.0, 1.0])
    g_W = np.array([0.0, 0.0, 9.80665])
    R_0 = Rotation.from_rotvec([0.3, -0.2, 0.7])
    fit = VerticalFit()
    for k in range(1, n + 1):
        R_middle, R_end = (R_0 * Rotation.from_rotvec(s * rate) for s in (t[k] - 0.5 * h, t[k]))
        force = R_middle.inv().apply(a_W + g_W)
        velocity = R_end.inv().apply(np.array([0.4, 0.1, 0.0]) + a_W * t[k])
        fit.add(h, tuple(force), tuple(rate))
        fit.measure(h, tuple(velocity))
    v, z = fit.solve()
    np.testing.assert_allclose(z, R_end.as_matrix()[2], atol=1e-5)
    np.testing.assert_allclose(v, velocity, atol=1e-5)
    assert fit.sigma() < 1e-5


@pytest.mark.parametrize("faulty", ["contact velocity", "specific force"])
def test_a_fault_from_the_first_reading_does_not_delay_the_start_beyond_its_end(faulty):
    h, end, angle = 0.005, 1.0, 0.2
    gravity = (0.0, 9.80665 * np.sin(angle), 9.80665 * np.cos(angle))
    start = Initialisation(0.3)
    for k in range(600):
        t = k * h
        wrong = t < end
        force = (0.0, 0.0, 0.05) if wrong and faulty == "specific force" else gravity
        velocity = (
            (40.0 * np.sin(70.0 * t), 0.0, 9.0) if wrong and faulty == "contact velocity" else (0.0, 0.0, 0.0)
        )
        start.average(h, force, (0.0, 0.0, 0.0))
        state = start.start(h, force, (0.0, 0.0, 0.0), velocity, complete=True)
        if state is not None:
            break
    assert end < t < end + 0.5
    np.testing.assert_allclose(state[1], (0.0, np.sin(angle), np.cos(angle)), atol=0.01)


def defect(**changes):
    """What is not physical about a sound estimate of which some values are changed."""
    values = {
        "quaternion_xyzw": [0, 0, 0, 1],
        "p_WB": [0, 0, 1],
        "v_WB_B": [0, 0, 0],
        "w_WB_B": [0, 0, 0],
        "tilt_B": [0, 0, 1],
        "gyro_bias_I": [0, 0, 0],
        "innovation_I": [0, 0, 0],
        "tilt_covariance_B": 1e-4 * np.eye(3),
        "gyro_bias_variances": [1e-6, 1e-6],
    }
    values |= changes
    return DEFECTS[first_defect(np.concatenate([np.ravel(value) for value in values.values()]))]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"p_WB": [np.nan, 0, 0]}, "position"),
        ({"gyro_bias_I": np.array([np.inf, 0, 0])}, "bias"),
        ({"quaternion_xyzw": [0, 0, 0, 1.001]}, "unit norm"),
        ({"tilt_B": np.array([0.0, np.nan, 1.0])}, "unit norm"),
        ({"v_WB_B": [0, 101, 0]}, "faster"),
        ({"w_WB_B": [0, np.nan, 0]}, "turns"),
        ({"tilt_covariance_B": np.diag([1e-4, -1e-4, 1e-4])}, "positive definite"),
        ({"tilt_covariance_B": np.full((3, 3), np.nan)}, "positive definite"),
        ({"gyro_bias_variances": [1e-6, 0.0]}, "positive definite"),
        ({"gyro_bias_variances": [np.inf, 1e-6]}, "positive definite"),
    ],
)
def test_what_is_not_physical_is_named(change, named):
    assert defect() == ""
    assert named in defect(**change)
