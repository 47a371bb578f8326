"""Velocities from positions: the derivative against polynomials and formulas; which velocities are used."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.differentiation import end_slope_weights
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.joint_velocity import PositionDerivative
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import JointReading

MS = 1_000_000
START = 1_700_000_000_000_000_000
LINK = """<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0"
iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{3}"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>
<limit effort="1" velocity="1" lower="-1" upper="1"/></joint>"""


def robot(kind="revolute"):
    links = "".join(LINK.format(name) for name in ("base", "upper", "lower"))
    joints = JOINT.format("shoulder", "base", "upper", kind) + JOINT.format(
        "elbow", "upper", "lower", "revolute"
    )
    return RobotModel.from_urdf(f"<robot name='r'>{links}{joints}</robot>", floating_base=False)


ROBOT = robot()
NAMES = ROBOT.joint_names


def derivative(model=ROBOT, **inputs):
    return PositionDerivative(model, InputConfig(**inputs))


def feed(given, stamps, positions):
    """Velocities after every sample, NaN where there is none."""
    rows = []
    for stamp, q in zip(stamps, positions, strict=True):
        assert given.push(START + int(stamp), np.array(q, dtype=float))
        velocity = given.velocity()
        rows.append(np.full(2, np.nan) if velocity is None else velocity)
    return np.array(rows)


def irregular(rng, count, least=1.0, most=4.0):
    return np.cumsum(rng.uniform(least, most, count) * MS).astype(np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_those_of_a_fitted_parabola(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    times = -np.sort(rng.uniform(0.0, 10.0 ** rng.uniform(-4, 1), n))[::-1]
    q = rng.normal(size=n)
    fitted = np.polynomial.Polynomial.fit(times, q, 2).deriv()(times[-1])
    weights = end_slope_weights(times)
    assert weights @ q == pytest.approx(fitted, rel=1e-6, abs=1e-6 * np.abs(weights).sum())
    assert weights.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(weights).sum())


def test_two_samples_have_no_parabola():
    with pytest.raises(MeasurementError, match=r"2 samples .* expected at least 3"):
        end_slope_weights(np.array([-1.0, 0.0]))


@pytest.mark.parametrize("seed", range(3))
def test_every_velocity_is_the_slope_of_the_parabola_through_its_window(seed):
    rng = np.random.default_rng(seed)
    stamps = irregular(rng, 120)
    positions = rng.normal(size=(120, 2))
    got = feed(derivative(velocity_window=0.03, stamps="as_is"), stamps, positions)
    for k in np.flatnonzero(np.isfinite(got[:, 0])):
        window = (stamps <= stamps[k]) & (stamps >= stamps[k] - 30 * MS)
        t = (stamps[window] - stamps[k]) * 1e-9
        for joint in range(2):
            _c, b, _a = np.polyfit(t, positions[window, joint], 2)
            assert got[k, joint] == pytest.approx(b, rel=1e-6, abs=1e-4)
    assert np.isfinite(got[20:]).all()


@pytest.mark.parametrize("window", [0.004, 0.02, 0.1])
def test_constant_acceleration_leaves_neither_error_nor_lag(window):
    stamps = irregular(np.random.default_rng(1), 400)
    t = 1e-9 * stamps[:, None]
    slopes, curves = np.array([[-3.0, 0.5]]), np.array([[40.0, -7.0]])
    got = feed(
        derivative(velocity_window=window, stamps="as_is"), stamps, 0.3 + slopes * t + 0.5 * curves * t**2
    )
    known = np.isfinite(got[:, 0])
    assert known.sum() > 300
    np.testing.assert_allclose(got[known], (slopes + curves * t)[known], atol=1e-9)


@pytest.mark.parametrize("n", [5, 6, 21, 51])
def test_noise_is_that_of_the_formula(n):
    """sigma_v = sigma_q / W sqrt(12 (n-1) (2n-1) (8n-11) / (n (n+1) (n^2-4))), two-sided 99.9 % bounds."""
    period_ns, sigma, count = 2 * MS, 1e-3, 200
    W = 1e-9 * (n - 1) * period_ns
    expected = sigma / W * np.sqrt(12 * (n - 1) * (2 * n - 1) * (8 * n - 11) / (n * (n + 1) * (n**2 - 4)))
    rng = np.random.default_rng(n)
    given = derivative(velocity_window=W, max_gap=10.0)
    found = []
    for _ in range(count):  # windows that do not overlap: independent
        given.reset()
        got = feed(given, period_ns * np.arange(n), sigma * rng.normal(size=(n, 2)))
        assert np.isnan(got[:-1]).all()
        found.append(got[-1])
    ratio = np.mean(np.square(found)) / expected**2
    assert abs(ratio - 1.0) < 3.29 * np.sqrt(2.0 / (2 * count))


def test_a_jerk_leaves_a_tenth_of_itself_times_the_window_squared():
    stamps = MS // 10 * np.arange(800)
    t = 1e-9 * stamps[:, None]
    jerk, W = 600.0, 0.02
    got = feed(derivative(velocity_window=W), stamps, jerk * t**3 / 6.0 * np.ones(2))
    np.testing.assert_allclose((got - 0.5 * jerk * t**2)[300:], -0.1 * jerk * W**2, rtol=0.02)


@pytest.mark.parametrize(
    ("phase_over_window", "gain", "lag_deg"), [(1.0, 1.09, 1.9), (2.0, 1.30, 11.4), (4.5, 1.64, 59.5)]
)
def test_transfer_is_the_one_stated(phase_over_window, gain, lag_deg):
    W, stamps = 0.02, MS // 20 * np.arange(8000)
    w = phase_over_window / W
    turn = np.exp(1j * w * 1e-9 * stamps)
    positions = np.column_stack((turn.real, turn.imag)) / w
    real, imaginary = feed(derivative(velocity_window=W), stamps, positions)[4000:].T
    transfer = np.mean((real + 1j * imaginary) / (1j * turn[4000:]))
    assert abs(transfer) == pytest.approx(gain, abs=0.01)
    assert -np.degrees(np.angle(transfer)) == pytest.approx(lag_deg, abs=0.5)


def test_there_is_none_before_the_window_is_full_and_after_a_gap():
    stamps = np.concatenate((np.arange(0, 60), np.arange(200, 260))) * MS
    got = feed(derivative(velocity_window=0.02, max_gap=0.1), stamps, np.ones((120, 2)))
    unknown = stamps[np.isnan(got[:, 0])] // MS
    assert unknown.tolist() == [*range(20), *range(200, 220)]


def test_a_gap_that_is_interpolated_over_is_bridged():
    stamps = np.concatenate((np.arange(0, 60), np.arange(150, 200))) * MS
    positions = 2e-9 * stamps[:, None] * np.ones(2)
    got = feed(derivative(velocity_window=0.02, max_gap=0.1), stamps, positions)
    np.testing.assert_allclose(got[20:], 2.0, atol=1e-9)


def test_at_a_low_rate_five_samples_do():
    stamps = 40 * MS * np.arange(10)
    t = 1e-9 * stamps[:, None]
    got = feed(derivative(velocity_window=0.02), stamps, t**2 * np.ones(2))
    assert np.isnan(got[:4]).all()
    np.testing.assert_allclose(got[4:], 2.0 * t[4:] * np.ones(2), atol=1e-9)


def test_stamps_that_do_not_move_on_change_nothing():
    given, clean = derivative(), derivative()
    stamps, q = MS * np.arange(50), np.random.default_rng(0).normal(size=(50, 2))
    for k, stamp in enumerate(stamps):
        for one in (given, clean):
            assert one.push(START + int(stamp), q[k])
        assert not given.push(START + int(stamp), q[k] + 1.0)
        assert not given.push(START + int(stamp) - 3 * MS, q[k] + 1.0)
        if k >= 20:
            np.testing.assert_array_equal(given.velocity(), clean.velocity())


def test_a_clock_set_back_begins_anew():
    given = derivative(jump=1.0)
    feed(given, MS * np.arange(50), np.zeros((50, 2)))
    back = -5000 * MS + MS * np.arange(50)
    got = feed(given, back, 3e-9 * back[:, None] * np.ones(2))
    assert np.isnan(got[:20]).all()
    np.testing.assert_allclose(got[20:], 3.0, atol=1e-6)


def test_reset_leaves_no_trace():
    used, fresh = derivative(), derivative()
    rng = np.random.default_rng(5)
    feed(used, irregular(rng, 300), rng.normal(size=(300, 2)))
    used.reset()
    stamps, q = irregular(rng, 100) - 10**10, rng.normal(size=(100, 2))
    np.testing.assert_array_equal(feed(used, stamps, q), feed(fresh, stamps, q))


def test_a_window_of_thousands_of_samples_is_kept_whole():
    stamps = MS // 10 * np.arange(12000)
    t = 1e-9 * stamps[:, None]
    got = feed(derivative(velocity_window=0.5), stamps, np.sin(t) * np.ones(2))
    assert np.isnan(got[:5000]).all()
    np.testing.assert_allclose(
        got[5000:] - np.cos(t[5000:]), 0.1 * 0.25 * np.cos(t[5000:]) * np.ones(2), atol=0.01
    )


def test_stamps_on_arrival_are_made_regular_first():
    """Thirteen at once, twelve periods late at most: over raw stamps the slopes are nonsense."""
    period_ns, count = 4 * MS, 2600
    true = period_ns * np.arange(count)
    arrival = period_ns * 13 * (np.arange(count) // 13 + 1) + np.arange(count) % 13 * MS // 20
    q = np.sin(3e-9 * true)[:, None] * np.ones(2)
    v = 3.0 * np.cos(3e-9 * true)[:, None]
    worst = {}
    for mode in ("auto", "as_is"):
        got = feed(derivative(stamps=mode, velocity_window=0.05), arrival, q)
        error = (got - v)[1500:]
        worst[mode] = np.nanmax(np.abs(error))
    assert worst["auto"] < 0.1
    assert worst["as_is"] > 10.0


def test_angles_of_continuous_joints_are_unwrapped():
    model = robot("continuous")
    stamps = MS * np.arange(3000)
    t = 1e-9 * stamps
    angle = 5.0 * t
    wrapped = np.column_stack(((angle + np.pi) % (2 * np.pi) - np.pi, t))
    got = feed(derivative(model), stamps, wrapped)
    np.testing.assert_allclose(got[20:], [[5.0, 1.0]] * 2980, atol=1e-9)


# Which velocities are used.


def joint_map(policy="auto", model=ROBOT, **inputs):
    return JointMap(model, RobotConfig(inputs=InputConfig(joint_velocity=policy, **inputs)))


def reading(k, velocity=None, *, names=NAMES, slopes=(2.0, -1.0)):
    t = 1e-3 * k
    at = dict(zip(NAMES, (slopes[0] * t, slopes[1] * t + 0.5), strict=True))
    sent = None
    if velocity is not None:
        where = dict(zip(NAMES, velocity, strict=True))
        sent = [where.get(name, 0.0) for name in names]
    return JointReading(START + k * MS, names, [at.get(name, 9.0) for name in names], sent)


def velocities(given, readings):
    """Velocities, None where the joint state was refused."""
    found = []
    for sample in readings:
        try:
            found.append(given.sample(sample).v)
        except MeasurementError as error:
            assert "no velocity yet: it is derived from 0.02 s" in str(error)  # noqa: PT017
            found.append(None)
    return found


@pytest.mark.parametrize("policy", ["auto", "derived"])
def test_where_none_is_sent_none_is_made_up_until_it_can_be_derived(policy):
    given = joint_map(policy)
    found = velocities(given, [reading(k) for k in range(40)])
    assert found[:20] == [None] * 20
    np.testing.assert_allclose(found[20:], [[2.0, -1.0]] * 20, atol=1e-9)
    assert given.velocity_source == "derived from positions"


def test_auto_takes_what_is_measured_and_derived_does_not():
    readings = [reading(k, (7.0, 8.0)) for k in range(40)]
    auto, derived = joint_map("auto"), joint_map("derived")
    np.testing.assert_array_equal(velocities(auto, readings), [[7.0, 8.0]] * 40)
    assert auto.velocity_source == "measured"
    np.testing.assert_allclose(velocities(derived, readings)[20:], [[2.0, -1.0]] * 20, atol=1e-9)


def test_measured_refuses_a_joint_state_without():
    with pytest.raises(MeasurementError, match=r"no velocity; 'inputs.joint_velocity: auto' derives"):
        joint_map("measured").row(reading(0))


def test_measured_passes_on_nan_and_zeros_as_they_are():
    given = joint_map("measured")
    for k in range(50):
        np.testing.assert_array_equal(given.sample(reading(k, (0.0, np.nan))).v, [0.0, np.nan])


def test_a_joint_whose_velocity_is_nan_is_derived_and_the_others_are_not():
    given = joint_map()
    found = np.array([given.sample(reading(k, (7.0, np.nan))).v for k in range(40)])
    np.testing.assert_array_equal(found[:, 0], 7.0)
    assert np.isnan(found[:20, 1]).all()  # dropped by whoever asked, as every row with a NaN
    np.testing.assert_allclose(found[20:, 1], -1.0, atol=1e-9)
    assert given.velocity_source == "derived from positions for elbow, otherwise measured"


def test_all_nan_is_as_good_as_none():
    given = joint_map()
    found = np.array([given.sample(reading(k, (np.nan, np.nan))).v for k in range(40)])
    np.testing.assert_allclose(found[20:], [[2.0, -1.0]] * 20, atol=1e-9)
    assert given.velocity_source == "derived from positions"


def test_velocities_that_come_back_are_taken_again():
    given = joint_map()
    velocities(given, [reading(k) for k in range(40)])
    assert given.sample(reading(40, (7.0, 8.0))).v.tolist() == [7.0, 8.0]
    assert given.velocity_source == "measured"
    np.testing.assert_allclose(given.sample(reading(41)).v, [2.0, -1.0], atol=1e-9)


def test_zeros_in_the_place_of_velocities_are_found_out_once_a_joint_has_moved():
    given = joint_map()
    found = velocities(given, [reading(k, (0.0, 0.0)) for k in range(40)])
    np.testing.assert_array_equal(found[:21], np.zeros((21, 2)))  # no other is to be had as yet
    np.testing.assert_allclose(found[21:], [[2.0, -1.0]] * 19, atol=1e-9)
    assert given.velocity_source == "derived from positions: those sent are all zero"
    assert given.sample(reading(40, (0.5, 0.0))).v.tolist() == [0.5, 0.0]


def test_zeros_of_a_robot_at_rest_are_believed():
    given = joint_map()
    rng = np.random.default_rng(0)
    for k in range(2000):
        still = replace(reading(k, (0.0, 0.0), slopes=(0.0, 0.0)), position=rng.normal(0.3, 1e-4, 2))
        assert given.sample(still).v.tolist() == [0.0, 0.0]
    moving = given.sample(reading(2000, (0.5, 0.0)))
    assert moving.v.tolist() == [0.5, 0.0]
    assert given.velocity_source == "measured"


def test_zeros_of_a_joint_that_turns_on_and_on_are_found_out_but_a_wrap_is_no_motion():
    given = joint_map(model=robot("continuous"))
    for k, angle in enumerate((np.pi - 1e-4, -np.pi + 1e-4, np.pi - 1e-4)):
        turned = replace(reading(k, (0.0, 0.0)), position=np.array([angle, 0.0]))
        assert given.sample(turned).v.tolist() == [0.0, 0.0]
    assert given.velocity_source == "measured"


def test_joints_that_change_places_in_the_message_are_followed():
    given, plain = joint_map(), joint_map()
    orders = [NAMES, NAMES[::-1], ("gripper", *NAMES), (NAMES[1], "gripper", NAMES[0])]
    mixed = velocities(given, [reading(k, names=orders[k % 4]) for k in range(60)])
    same = velocities(plain, [reading(k) for k in range(60)])
    assert mixed[:20] == same[:20] == [None] * 20
    np.testing.assert_array_equal(mixed[20:], same[20:])


def test_a_joint_state_without_all_joints_leaves_the_derivative_as_it_was():
    given, plain = joint_map(), joint_map()
    for k in range(60):
        if k % 5 == 4:
            with pytest.raises(MeasurementError, match="misses elbow"):
                given.sample(reading(k, names=NAMES[:1]))
            continue
        a, b = velocities(given, [reading(k)]), velocities(plain, [reading(k)])
        np.testing.assert_array_equal(a[0], b[0])


def test_a_position_that_is_no_number_is_not_differentiated():
    given, plain = joint_map(), joint_map()
    for k in range(60):
        if k in (3, 30):
            bad = replace(reading(k), position=np.array([np.nan, 0.1]))
            sample = given.sample(bad)
            assert np.isnan(sample.v).all()
            continue
        a, b = velocities(given, [reading(k)]), velocities(plain, [reading(k)])
        np.testing.assert_array_equal(a[0], b[0])


def test_a_late_joint_state_is_refused_and_its_reason_told():
    given = joint_map()
    velocities(given, [reading(k) for k in range(40)])
    for k in (39, 30):
        with pytest.raises(MeasurementError, match="stamp not newer"):
            given.sample(reading(k))
    np.testing.assert_allclose(given.sample(reading(40)).v, [2.0, -1.0], atol=1e-9)


def test_reset_begins_anew():
    given = joint_map()
    velocities(given, [reading(k) for k in range(40)])
    given.reset()
    assert velocities(given, [reading(k) for k in range(40, 80)])[:20] == [None] * 20


def test_without_need_velocities_may_be_missing():
    given = JointMap(ROBOT, need_velocity=False, need_effort=True)
    sample = replace(reading(0), effort=np.array([3.0, 4.0]))
    np.testing.assert_array_equal(given.row(sample), [0.0, 0.5, 3.0, 4.0])
    np.testing.assert_array_equal(given.row(replace(sample, velocity=np.ones(2))), [0.0, 0.5, 3.0, 4.0])
