"""Synthetic recordings and gaits obey physics, checked by means other than the code that makes them."""

from dataclasses import fields, replace

import numpy as np
import pinocchio as pin
import pytest

import inertial_estimation as ie
from benchmarks.referee.gait_motion import FootMotion, gait_motion
from benchmarks.referee.gait_sensors import GaitSensors, feet_at_rest, gait_readings
from benchmarks.referee.gaits import TROT, quadruped, tilt_errors
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.simulation.config import SensorNoise
from inertial_estimation.synthetic.synthetic_truth import SPEED_SHARE, StanceMotion, Truth, stance_truth

G0 = 9.81  # Pinocchio's standard gravity
TIMING = ie.Timing(duration_s=5.0, rate_hz=100.0, rest_s=0.5, fade_s=0.8)
PAYLOAD_TIME = 2.5


@pytest.fixture(scope="module")
def talos() -> Truth:
    return ie.synthetic_truth("talos", TIMING, np.random.default_rng(3), payload_time_s=PAYLOAD_TIME)


@pytest.fixture(scope="module")
def panda() -> Truth:
    return ie.synthetic_truth("panda", TIMING, np.random.default_rng(4), payload_time_s=PAYLOAD_TIME)


def loaded_model(truth: Truth) -> pin.Model:
    payload = truth.payload.body
    body = truth.robot.link_body(payload.link)
    model = truth.robot.model.copy()
    inertia = pin.Inertia(payload.mass, np.array(payload.com_L), np.array(payload.inertia_Lcm))
    model.appendBodyToJoint(body.joint_id, inertia, body.T_JL)
    return model


@pytest.mark.parametrize("sole", ["left_sole_link", "right_sole_link"])
def test_feet_do_not_move(talos: Truth, sole: str) -> None:
    model = talos.robot.model
    data, frame = model.createData(), model.getFrameId(sole)
    first = None
    for state in talos.states:
        pin.forwardKinematics(model, data, state.q, state.v, state.a)
        placement = pin.updateFramePlacement(model, data, frame).copy()
        first = first or placement
        assert np.abs(pin.log6(first.actInv(placement)).vector).max() < 1e-11
        assert np.abs(pin.getFrameVelocity(model, data, frame).vector).max() < 1e-11
        assert np.abs(pin.getFrameAcceleration(model, data, frame).vector).max() < 1e-10
    assert abs(first.translation[2]) < 1e-12  # on the ground


def test_velocities_are_derivatives_of_positions(talos: Truth, panda: Truth) -> None:
    fine = ie.Timing(duration_s=0.6, rate_hz=1000.0, rest_s=0.0, fade_s=0.4)
    for name in ("talos", "panda"):
        truth = ie.synthetic_truth(name, fine, np.random.default_rng(5), payload_time_s=None)
        model, h = truth.robot.model, 1e-3
        for k in range(100, 500, 70):  # not at 0.4 s, where the fade-in ends with a step in jerk
            before, now, after = truth.states[k - 1 : k + 2]
            v = pin.difference(model, before.q, after.q) / (2 * h)
            a = (after.v - before.v) / (2 * h)
            np.testing.assert_allclose(now.v, v, atol=2e-4)
            np.testing.assert_allclose(now.a, a, atol=2e-3)


@pytest.mark.parametrize("name", ["talos", "panda"])
def test_readings_reproduce_the_acceleration(name: str, talos: Truth, panda: Truth) -> None:
    """Forward dynamics (ABA) driven by the recorded torques and wrenches gives the acceleration back."""
    truth = {"talos": talos, "panda": panda}[name]
    model = loaded_model(truth)
    soles = ("left_sole_link", "right_sole_link")
    for k in range(int(PAYLOAD_TIME * TIMING.rate_hz) + 1, len(truth.states), 11):
        state, reading, data = truth.states[k], truth.readings[k], model.createData()
        tau = np.concatenate([np.zeros(truth.robot.n_base), reading.tau])
        forces = pin.StdVec_Force()
        for _ in range(model.njoints):
            forces.append(pin.Force.Zero())
        for sole, wrench in zip(soles, reading.wrenches_C, strict=False):
            frame = model.frames[model.getFrameId(sole)]
            forces[frame.parentJoint] = frame.placement.act(pin.Force(wrench[:3], wrench[3:]))
        a = pin.aba(model, data, state.q, state.v, tau, forces)
        np.testing.assert_allclose(a, state.a, atol=1e-7)


def test_specific_force_is_the_second_derivative_of_the_position() -> None:
    timing = ie.Timing(duration_s=0.5, rate_hz=1000.0, rest_s=0.0, fade_s=0.3)
    truth = ie.synthetic_truth("talos", timing, np.random.default_rng(6), payload_time_s=None)
    model, data, h = truth.robot.model, truth.robot.model.createData(), 1e-3
    frame = model.getFrameId("imu_link")
    positions, rotations = [], []
    for state in truth.states:
        pin.framesForwardKinematics(model, data, state.q)
        positions.append(data.oMf[frame].translation.copy())
        rotations.append(data.oMf[frame].rotation.copy())
    for k in range(50, 450, 40):
        a = (positions[k + 1] - 2 * positions[k] + positions[k - 1]) / h**2
        f = rotations[k].T @ (a + np.array([0.0, 0.0, G0]))
        w = pin.log3(rotations[k - 1].T @ rotations[k + 1]) / (2 * h)
        np.testing.assert_allclose(truth.readings[k].specific_force_I, f, atol=2e-3)
        np.testing.assert_allclose(truth.readings[k].angular_rate_I, w, atol=2e-4)


def go2_on(feet: tuple[str, ...]) -> Truth:
    robot = ie.RobotModel.from_urdf(ie.read_urdf("example-robot-data:go2"), floating_base=True)
    posture = {name: 0.8 if "thigh" in name else -1.5 for name in robot.joint_names if "hip" not in name}
    timing = ie.Timing(duration_s=2.0, rate_hz=50.0, rest_s=0.2, fade_s=0.5)
    contacts = {foot: foot for foot in feet}
    rng = np.random.default_rng(6)
    imu, motion = ImuMount.on(robot, "imu"), StanceMotion(posture)
    return stance_truth(robot, timing, rng, contacts=contacts, imu=imu, motion=motion)


def test_point_feet_carry_forces_alone_and_they_balance_the_robot() -> None:
    truth = go2_on(("FL_foot", "FR_foot", "RL_foot", "RR_foot"))
    model = truth.robot.model
    data = model.createData()
    for state, reading in zip(truth.states, truth.readings, strict=True):
        assert not reading.wrenches_C[:, 3:].any()
        pin.forwardKinematics(model, data, state.q, state.v, state.a)
        total = np.zeros(3)
        for foot, wrench in zip(truth.contacts, reading.wrenches_C, strict=True):
            total += pin.updateFramePlacement(model, data, model.getFrameId(foot)).rotation @ wrench[:3]
        pin.computeCentroidalMomentumTimeVariation(model, data, state.q, state.v, state.a)
        weight = np.array([0.0, 0.0, -G0 * truth.robot.total_mass])
        np.testing.assert_allclose(total + weight, data.dhg.linear, atol=1e-8)


def test_two_point_feet_cannot_carry_a_robot() -> None:
    with pytest.raises(ie.ModelError, match="2 point contact"):
        go2_on(("FL_foot", "RR_foot"))


def test_joints_stay_within_their_limits(talos: Truth, panda: Truth) -> None:
    timing = ie.Timing(duration_s=1.0, rate_hz=400.0, rest_s=0.2, fade_s=0.05)
    abrupt = ie.synthetic_truth("panda", timing, np.random.default_rng(1), payload_time_s=None)
    fastest = np.abs([state.v for state in abrupt.states]).max(axis=0) / abrupt.robot.model.velocityLimit
    assert fastest.max() > 0.5 * SPEED_SHARE, "which its start nearly reaches"
    for truth in (talos, panda, abrupt):
        model, n = truth.robot.model, truth.robot.n_base
        q = np.array([truth.robot.joint_positions(state.q) for state in truth.states])
        v = np.array([state.v[n:] for state in truth.states])
        first = 7 if n else 0
        assert (q >= model.lowerPositionLimit[first:] - 1e-9).all()
        assert (q <= model.upperPositionLimit[first:] + 1e-9).all()
        assert (np.abs(v) <= model.velocityLimit[n:] + 1e-9).all()


def test_same_seed_same_recording_other_seed_another(talos: Truth) -> None:
    def efforts(seed: int) -> np.ndarray:
        recording = ie.measure(talos, ie.REALISTIC, np.random.default_rng(seed))
        return np.array([e.sample.effort for e in recording.entries(["/joint_states"])])

    np.testing.assert_array_equal(efforts(1), efforts(1))
    assert np.abs(efforts(1) - efforts(2)).max() > 0.1


def test_noise_bias_delay_and_losses_are_as_asked(talos: Truth) -> None:
    noise = SensorNoise(effort=0.5, angular_rate_bias=(0.01, 0.02, 0.03), joint_delay_s=0.004, dropped=0.2)
    recording = ie.measure(talos, noise, np.random.default_rng(0))
    joints = [e.sample for e in recording.entries(["/joint_states"])]
    imu = [e.sample for e in recording.entries(["/imu/data"])]
    n = len(talos.times_s)
    for count in (len(joints), len(imu)):
        assert abs(count - 0.8 * n) < 4.0 * np.sqrt(0.16 * n)
    truth = {int(t): r for t, r in zip(talos.stamps_ns, talos.readings, strict=True)}
    assert all(s.stamp_ns - 4_000_000 in truth for s in joints)
    errors = np.array([s.effort - truth[s.stamp_ns - 4_000_000].tau for s in joints])
    assert errors.std() == pytest.approx(0.5, rel=0.05)
    assert abs(errors.mean()) < 0.02
    for sample in imu:
        bias = sample.angular_rate_I - truth[sample.stamp_ns].angular_rate_I
        np.testing.assert_allclose(bias, [0.01, 0.02, 0.03], atol=1e-12)


def test_unknown_names_and_impossible_values_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ie.ConfigurationError, match=r"no synthetic robot 'hal'; there are talos, panda, arm"):
        ie.synthetic_truth("hal", TIMING, rng)
    with pytest.raises(ie.ModelError, match=r"no link 'elbow'; the model has"):
        ie.synthetic_truth("panda", TIMING, rng, payload_link="elbow")
    with pytest.raises(ie.ConfigurationError, match="payload's mass is -1"):
        ie.synthetic_truth("panda", TIMING, rng, payload_mass=-1.0)
    with pytest.raises(ie.ConfigurationError, match="less than two samples"):
        ie.Timing(duration_s=0.001, rate_hz=100.0)


RATE_HZ = 200.0
PERFECT = GaitSensors(**{field.name: float(field.name == "force_scale") for field in fields(GaitSensors)})


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
