from dataclasses import replace

import numpy as np
import pytest
from support.leg_robot import NO_REST, Stance, push_stance, tilt_pipeline

from inertial_estimation.errors import ConfigurationError, MeasurementError, ModelError
from inertial_estimation.signals import HealthLevel, ImuSample, JointReading, OrientationSample, WrenchSample
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_quaternion, yaw_of

MS = 1_000_000
PERIOD_NS = 5 * MS
SLOW_NS = 20 * MS  # where many seconds count and not many readings


def drive(pipeline, stance, seconds, *, start=0.0, period_ns=PERIOD_NS, **options):
    estimates = []
    for k in range(round(start * 1e9) // period_ns, round((start + seconds) * 1e9) // period_ns):
        stamp = (k + 1) * period_ns
        push_stance(pipeline, stance, stamp, 1e-9 * stamp, **options)
        estimates += pipeline.tick(stamp)
    return estimates


def tilt_error(estimate, stance):
    t = 1e-9 * estimate.state.stamp_ns
    truth = stance.pose("base", t).rotation[2]
    return float(np.linalg.norm(np.cross(truth, estimate.tilt_B)))


@pytest.mark.parametrize("velocity", ["joint_velocity", "position_difference"])
@pytest.mark.parametrize("observer", ["two_stage", "first_stage", "r3s2", "hua"])
def test_noiseless_motion_over_one_foot_leaves_no_error(velocity, observer):
    gains = {"r3s2.k1r": 200.0, "hua.k1r": 200.0, "hua.k2v": 50.0}
    pipeline = tilt_pipeline(**{"contact.velocity": velocity, "observer": observer}, **gains, **NO_REST)
    stance = Stance(1, foot=(0.1, -0.15, 0.4), still_until=0.5)
    estimates = drive(pipeline, stance, 4.0)
    assert max(tilt_error(e, stance) for e in estimates) < 2e-4
    last = estimates[-1]
    t = 1e-9 * last.state.stamp_ns
    v, w = stance.velocity("base", t)
    np.testing.assert_allclose(last.state.w_WB_B, w, atol=1e-3)
    np.testing.assert_allclose(last.state.v_WB_B, v, atol=2e-3)
    assert last.contacts == ("left",)
    assert last.velocity_aided


NO_VELOCITY = {
    "none": lambda joints: replace(joints, velocity=None),
    "nan": lambda joints: replace(joints, velocity=np.full(len(joints.names), np.nan)),
    "nan of one": lambda joints: replace(
        joints, velocity=np.where(np.arange(len(joints.names)) == 2, np.nan, joints.velocity)
    ),
    "zeros": lambda joints: replace(joints, velocity=np.zeros(len(joints.names))),
}


@pytest.mark.parametrize("kind", NO_VELOCITY)
@pytest.mark.parametrize("velocity", ["joint_velocity", "position_difference"])
def test_a_robot_without_joint_velocities_is_estimated_all_the_same(velocity, kind):
    pipeline = tilt_pipeline(**{"contact.velocity": velocity}, **NO_REST)
    stance = Stance(1, foot=(0.1, -0.15, 0.4), still_until=0.5)
    estimates = drive(pipeline, stance, 3.5, sent=NO_VELOCITY[kind])
    assert len(estimates) > 600
    believed = kind == "zeros"  # until a joint has moved by 10 mrad
    assert max(tilt_error(e, stance) for e in estimates) < (4e-3 if believed else 1e-3)
    last = estimates[-1]
    v, w = stance.velocity("base", 1e-9 * last.state.stamp_ns)
    np.testing.assert_allclose(last.state.w_WB_B, w, atol=1e-2)
    np.testing.assert_allclose(last.state.v_WB_B, v, atol=1e-2)
    said = pipeline.health(last.state.stamp_ns)[-1].values["joint velocities"]
    assert said.startswith("derived from positions")


def test_velocities_not_yet_derived_are_not_taken_for_rest():
    """A robot that moves from the first sample on, as slowly as its IMU hardly tells from rest."""
    pipeline = tilt_pipeline(**{"bias.online": False, "bias.rest_window": 0.05, "startup": 0.0})
    stance = Stance(2, size=0.02, still_until=-5.0)
    estimates = drive(pipeline, stance, 3.0, sent=NO_VELOCITY["none"])
    assert not any(e.gyro_bias_I.any() for e in estimates)
    inputs = {h.name: h.values for h in pipeline.health(3 * 10**9)}["joint_states"]
    assert "no velocity yet: it is derived from 0.02 s" in inputs["last does not fit the model"]
    assert inputs["dropped: does not fit the model"] == "4"  # of 5 ms each


def test_position_and_yaw_follow_the_base_over_the_standing_foot():
    pipeline, stance = tilt_pipeline(**NO_REST), Stance(1, still_until=0.5)
    estimates = drive(pipeline, stance, 6.0)
    first, last = (estimates[0].state, estimates[-1].state)
    T0, T1 = (stance.pose("base", 1e-9 * s.stamp_ns) for s in (first, last))
    R0, R1 = (rotation_from_quaternion(s.quaternion_xyzw) for s in (first, last))
    np.testing.assert_allclose(R0.T @ R1, T0.rotation.T @ T1.rotation, atol=1e-3)
    moved = R0.T @ (np.array(last.p_WB) - first.p_WB)
    np.testing.assert_allclose(moved, T0.rotation.T @ (T1.translation - T0.translation), atol=1e-3)


def test_nothing_is_published_before_the_startup_is_over():
    pipeline, stance = tilt_pipeline(startup=0.4), Stance(still_until=9.0)
    estimates = drive(pipeline, stance, 1.0)
    assert estimates[0].state.stamp_ns == pytest.approx(0.41e9, abs=2 * PERIOD_NS)
    assert len(estimates) == pytest.approx(120, abs=2)
    assert tilt_error(estimates[0], stance) < 1e-9


def test_gyro_bias_is_found_at_rest_and_its_effect_goes():
    bias = np.array([0.004, -0.006, 0.008])
    pipeline, stance = tilt_pipeline(), Stance(still_until=99.0)
    estimates = drive(pipeline, stance, 10.0, period_ns=SLOW_NS, bias=bias)
    np.testing.assert_allclose(estimates[-1].gyro_bias_I, bias, atol=1e-4)
    assert tilt_error(estimates[-1], stance) < 2e-4
    assert max(tilt_error(e, stance) for e in estimates) < np.linalg.norm(bias)


def test_horizontal_gyro_bias_is_found_in_motion():
    bias = np.array([0.01, -0.01, 0.01])
    pipeline, stance = tilt_pipeline(**{"bias.at_rest": False}), Stance(2, size=0.3)
    last = drive(pipeline, stance, 40.0, period_ns=SLOW_NS, bias=bias)[-1]
    left = bias - last.gyro_bias_I
    up = stance.pose("imu", 1e-9 * last.state.stamp_ns).rotation[2]
    assert np.linalg.norm(left - up * (up @ left)) < 0.5 * np.linalg.norm(bias - up * (up @ bias))


def test_tilt_does_not_depend_on_yaw():
    tilts = []
    for yaw in (0.0, 1.0, -2.5):
        pipeline, stance = tilt_pipeline(), Stance(3, foot=(0.0, 0.0, yaw), still_until=0.5)
        tilts.append([e.tilt_B for e in drive(pipeline, stance, 2.0)])
    np.testing.assert_allclose(tilts[1], tilts[0], atol=1e-6)
    np.testing.assert_allclose(tilts[2], tilts[0], atol=1e-6)


def test_yaw_comes_from_the_reference_while_it_arrives():
    pipeline, stance = tilt_pipeline(), Stance(still_until=99.0)
    drive(pipeline, stance, 1.0)
    R = stance.pose("base", 0.0).rotation
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) @ R
    quaternion = quaternion_from_rotation(turned)
    for k in range(200, 220):
        stamp = (k + 1) * PERIOD_NS
        pipeline.push_yaw_reference(OrientationSample(stamp, quaternion))
        push_stance(pipeline, stance, stamp, 1e-9 * stamp)
        estimates = pipeline.tick(stamp)
    assert yaw_of(rotation_from_quaternion(estimates[-1].state.quaternion_xyzw)) == pytest.approx(
        yaw_of(turned), abs=1e-6
    )
    stale = drive(pipeline, stance, 2.0, start=1.1)[-1]  # no reference any more: the yaw stays
    assert yaw_of(rotation_from_quaternion(stale.state.quaternion_xyzw)) == pytest.approx(
        yaw_of(turned), abs=1e-6
    )


def test_no_foot_in_contact_is_flagged_and_propagated():
    pipeline, stance = tilt_pipeline(), Stance(still_until=99.0)
    drive(pipeline, stance, 1.0)
    estimates = drive(pipeline, stance, 1.0, start=1.0, load=(10.0, 0.0))
    assert all(e.contacts == () for e in estimates)
    assert not estimates[-1].velocity_aided
    assert estimates[-1].gravity_aided
    assert tilt_error(estimates[-1], stance) < 1e-6
    health = pipeline.health(2 * 10**9)[-1]
    assert health.level == HealthLevel.WARN
    assert "no contact" in health.message


def test_both_feet_count_by_their_load():
    pipeline, stance = tilt_pipeline(), Stance(still_until=99.0)
    estimates = drive(pipeline, stance, 1.0, load=(200.0, 200.0))
    assert estimates[-1].contacts == ("left", "right")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_never_reach_the_state(bad):
    clean, dirty = tilt_pipeline(), tilt_pipeline()
    stance = Stance(1, still_until=0.5)
    results = []
    for pipeline in (clean, dirty):
        estimates = []
        for k in range(300):
            stamp = (k + 1) * PERIOD_NS
            if pipeline is dirty and k % 7 == 3:  # bad readings between the good ones
                at = stamp - MS
                pipeline.push_imu(ImuSample(at, [bad, 0, 0], [0, 0, 0]))
                pipeline.push_wrench("left", WrenchSample(at, [0, 0, bad, 0, 0, 0]))
                reading = stance.joints(at, 0.0)
                position = np.full(len(reading.names), bad)
                pipeline.push_joints(JointReading(at, reading.names, position, reading.velocity))
            push_stance(pipeline, stance, stamp, 1e-9 * stamp)
            estimates += pipeline.tick(stamp)
        results.append(estimates)
    assert len(results[0]) == len(results[1])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a.tilt_B, b.tilt_B)
    counted = {h.name: h.values for h in dirty.health(300 * PERIOD_NS)}
    assert counted["imu/data"]["dropped: not finite"] == "43"


def test_ticks_may_fall_anywhere():
    every, seldom = tilt_pipeline(), tilt_pipeline()
    stance = Stance(5, still_until=0.5)
    a = drive(every, stance, 2.0)
    b = []
    for k in range(400):
        stamp = (k + 1) * PERIOD_NS
        push_stance(seldom, stance, stamp, 1e-9 * stamp)
        if k % 13 == 12 or k == 399:
            b += seldom.tick(stamp)
    assert [e.state.stamp_ns for e in a] == [e.state.stamp_ns for e in b]
    np.testing.assert_array_equal([e.tilt_B for e in a], [e.tilt_B for e in b])
    np.testing.assert_array_equal([e.state.p_WB for e in a], [e.state.p_WB for e in b])


def test_stamps_in_bursts_cost_little_once_recovered():
    """The same readings, stamped when they arrive: late by up to 12 periods, many at once."""
    stance, errors = Stance(4, still_until=3.0), {}
    arrival = np.ceil(np.arange(1, 1601) / 12) * 12
    for kind, mode in (("regular", "as_is"), ("bursts", "auto"), ("raw", "as_is")):
        pipeline = tilt_pipeline(**{"inputs.stamps": mode, "inputs.max_gap": 0.2, "inputs.timeout": 0.5})
        worst = []
        for k in range(1600):
            true = (k + 1) * PERIOD_NS
            late = k % 12 * MS // 20  # within a burst 0.05 ms apart
            stamp = true if kind == "regular" else int(arrival[k]) * PERIOD_NS + late
            push_stance(pipeline, stance, stamp, 1e-9 * true)
            for estimate in pipeline.tick(stamp):
                truth = stance.pose("base", 1e-9 * true).rotation[2]
                if k > 1200:
                    worst.append(np.linalg.norm(np.cross(truth, estimate.tilt_B)))
        errors[kind] = np.sqrt(np.mean(np.square(worst)))
    assert errors["regular"] < 1e-3
    assert errors["bursts"] < 0.5 * errors["raw"]


def test_a_lost_input_stops_the_output_and_recovers():
    pipeline, stance = tilt_pipeline(**NO_REST), Stance(1, still_until=0.5)
    drive(pipeline, stance, 2.0)
    silent = []
    for k in range(400, 600):  # one second without joints
        stamp = (k + 1) * PERIOD_NS
        pipeline.push_wrench("left", stance.wrench(stamp, 1e-9 * stamp, 400.0))
        pipeline.push_wrench("right", WrenchSample(stamp, np.zeros(6)))
        pipeline.push_imu(stance.imu(stamp, 1e-9 * stamp))
        silent += pipeline.tick(stamp)
    assert silent == []
    lost = {h.name: h for h in pipeline.health(600 * PERIOD_NS)}
    assert lost["joint_states"].level == HealthLevel.ERROR
    assert "joint_states" in lost["estimator"].message
    back = drive(pipeline, stance, 2.0, start=3.0)
    assert len(back) > 380
    assert tilt_error(back[-1], stance) < 3e-3
    assert pipeline.health(1000 * PERIOD_NS)[-1].level == HealthLevel.OK


@pytest.mark.parametrize(("start", "kept"), [(20.0, True), (-20.0, False)])
def test_the_gyro_bias_outlives_a_gap_but_not_a_step_back(start, kept):
    pipeline, stance, bias = tilt_pipeline(), Stance(still_until=99.0), (0.01, -0.02, 0.005)
    drive(pipeline, stance, 4.0, bias=bias)
    estimates = drive(pipeline, stance, 1.0, start=start, bias=bias)
    error = np.abs(estimates[0].gyro_bias_I - bias).max()
    assert (error < 1e-3) if kept else (error > 1e-3)


def test_reset_starts_over():
    pipeline, stance = tilt_pipeline(), Stance(1, still_until=0.5)
    a = drive(pipeline, stance, 1.0)
    pipeline.reset()
    b = drive(pipeline, stance, 1.0)
    np.testing.assert_array_equal([e.tilt_B for e in a], [e.tilt_B for e in b])


def test_gains_change_at_run_time_and_the_state_is_kept():
    pipeline, stance = tilt_pipeline(**NO_REST), Stance(1, still_until=0.5)
    drive(pipeline, stance, 2.0)
    pipeline.set_parameter("two_stage.gamma", 7.0)
    assert pipeline.config.two_stage.gamma == 7.0
    assert max(tilt_error(e, stance) for e in drive(pipeline, stance, 1.0, start=2.0)) < 3e-3
    with pytest.raises(ConfigurationError, match="cannot change while running"):
        pipeline.set_parameter("observer", "hua")
    with pytest.raises(ConfigurationError, match=r"two_stage\.gamma"):
        pipeline.set_parameter("two_stage.gamma", -1.0)
    with pytest.raises(ConfigurationError, match="at most"):
        pipeline.set_parameter("contact.force_off", 80.0)


def test_rate_thins_the_steps():
    pipeline, stance = tilt_pipeline(rate=50.0), Stance(still_until=99.0)
    stamps = [e.state.stamp_ns for e in drive(pipeline, stance, 2.0)]
    assert set(np.diff(stamps)) == {20 * MS}


def test_uncertainty_covers_the_vertical_less_than_the_tilt_knows():
    pipeline, stance = tilt_pipeline(), Stance(still_until=99.0)
    estimates = drive(pipeline, stance, 20.0, period_ns=SLOW_NS)
    P0, P1 = estimates[0].tilt_covariance_B, estimates[-1].tilt_covariance_B
    assert np.all(np.linalg.eigvalsh(P1) > 0.0)
    x2 = estimates[-1].tilt_B
    across = np.cross(x2, [1.0, 0.0, 0.0])
    assert across @ P1 @ across < across @ P0 @ across
    assert x2 @ P1 @ x2 > x2 @ P0 @ x2


def test_bad_configurations_are_named():
    with pytest.raises(ModelError, match="no frame 'nose'"):
        tilt_pipeline(imu_frame="nose")
    with pytest.raises(ConfigurationError, match="imu_frame"):
        tilt_pipeline(imu_frame="")
    with pytest.raises(ConfigurationError, match=r"contact\.force_off"):
        tilt_pipeline(**{"contact.force_on": 10.0})
    with pytest.raises(MeasurementError, match="left, right"):
        tilt_pipeline().push_wrench("tail", WrenchSample(0, np.zeros(6)))


def test_joint_states_that_cannot_be_used_are_counted():
    pipeline, stance = tilt_pipeline(), Stance()
    full = stance.joints(0, 0.0)
    without = JointReading(1, full.names[1:], full.position[1:], full.velocity[1:])
    examples = (f"misses {full.names[0]} ", without), ("no velocity", replace(full, velocity=None))
    for count, (words, reading) in enumerate(examples, start=1):
        pipeline.push_joints(reading)
        values = {h.name: h.values for h in pipeline.health(2)}["joint_states"]
        assert values["dropped: does not fit the model"] == str(count)
        assert words in values["last does not fit the model"]


def test_contact_loads_are_where_and_how_the_ground_pushes():
    pipeline, stance = tilt_pipeline(**NO_REST), Stance(1, still_until=0.5)
    assert pipeline.contact_loads == ()
    estimates = drive(pipeline, stance, 2.0)
    t = 1e-9 * estimates[-1].state.stamp_ns
    left, right = pipeline.contact_loads
    assert (left.name, right.name) == ("left", "right")
    assert (left.weight, right.weight) == (1.0, 0.0)
    base, foot = stance.pose("base", t), stance.pose("left_sole", t)
    np.testing.assert_allclose(left.point_B, base.actInv(foot).translation, atol=1e-9)
    assert np.linalg.norm(left.force_B) == pytest.approx(
        np.linalg.norm(stance.wrench(0, t, 400.0).wrench_F[:3])
    )
    pipeline.reset()
    assert pipeline.contact_loads == ()


def test_an_estimate_carries_the_doubt_in_the_gyro_bias():
    pipeline, stance = tilt_pipeline(), Stance(still_until=99.0)
    estimates = drive(pipeline, stance, 3.0)
    first, last = estimates[0], estimates[-1]
    assert last.at_rest
    assert not first.at_rest
    assert all(
        after < 0.5 * before
        for before, after in zip(first.gyro_bias_variances, last.gyro_bias_variances, strict=True)
    )


@pytest.mark.parametrize("doubted", [0.3, 3.0])
def test_a_gyro_bias_that_is_not_known_at_all_leaves_the_tilt_stable(doubted):
    """The velocity from the feet contains the bias: its loop must be slow where the gains are high."""
    pipeline = tilt_pipeline(**NO_REST)
    stance = Stance(1, foot=(0.1, -0.15, 0.4), still_until=0.5)
    drive(pipeline, stance, 1.0)
    pipeline._estimator.bias.doubt(doubted)
    estimates = drive(pipeline, stance, 4.0, start=1.0)
    assert pipeline.config.observer == "kalman"
    assert max(tilt_error(e, stance) for e in estimates) < np.radians(0.5)
