"""Properties of the tilt pipeline on exact motions: starts, faults, gaps, yaw, contacts, late imports."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.leg_robot import CONFIG, URDF, Stance, push_stance, tilt_pipeline
from support.recorded_robots import recorded
from support.urdf import link_xml

import inertial_estimation as ie
from benchmarks.referee.gait_motion import FootMotion, gait_motion
from benchmarks.referee.gait_sensors import GaitSensors, feet_at_rest, gait_readings
from benchmarks.referee.gaits import TROT, quadruped
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.contacts import WrenchAxes
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.signals import ContactSample
from inertial_estimation.spatial.rotations import (
    exp_so3,
    log_so3,
    quaternion_from_rotation,
    rotation_from_quaternion,
    yaw_of,
)
from inertial_estimation.tilt.feet_sensing import foot_radius

PERIOD_NS = 5_000_000
SOON = 1.0  # after the start or a gap, from when on the estimate is to be good [s]


class Run:
    """A pipeline on a robot that sways over one foot."""

    def __init__(self, stance=None, **values):
        self.stance, self.pipeline = stance or Stance(1, size=0.5), tilt_pipeline(**values)
        self.times, self.errors, self.sigmas, self.yaws, self.states = [], [], [], [], []

    def go(self, begin, end, push=push_stance, **given):
        """Push all readings from a time to another [s]."""
        for k in range(round(begin * 1e9 / PERIOD_NS) + 1, round(end * 1e9 / PERIOD_NS) + 1):
            stamp = k * PERIOD_NS
            push(self.pipeline, self.stance, stamp, 1e-9 * stamp, **given)
            self.take(self.pipeline.tick(stamp))
        return self

    def take(self, estimates):
        for estimate in estimates:
            t = 1e-9 * estimate.state.stamp_ns
            true = self.stance.pose("base", t).rotation
            turn = np.linalg.norm(np.cross(estimate.tilt_B, true[2]))
            P = estimate.tilt_covariance_B
            self.states.append(estimate.state)
            self.times.append(t)
            self.errors.append(np.degrees(turn))
            self.sigmas.append(np.degrees(np.sqrt(np.trace(P) - estimate.tilt_B @ P @ estimate.tilt_B)))
            R = rotation_from_quaternion(estimate.state.quaternion_xyzw)
            self.yaws.append(yaw_of(R) - yaw_of(true))

    def between(self, begin, end, values="errors"):
        t = np.array(self.times)
        return np.array(getattr(self, values))[(t > begin) & (t <= end)]

    def health(self):
        return self.pipeline.health(round(1e9 * self.times[-1]))[-1]


def without(*names):
    """Return what pushes all readings but some."""

    def push(pipeline, stance, stamp, t, **given):
        if "joints" not in names:
            pipeline.push_joints(stance.joints(stamp, t))
        if "feet" not in names:
            pipeline.push_wrench("left", stance.wrench(stamp, 400.0))
            pipeline.push_wrench("right", ie.WrenchSample(stamp, [0, 0, 0, 0, 0, 0]))
        pipeline.push_imu(stance.imu(stamp, t))

    return push


@pytest.mark.parametrize("observer", ["filter", "two_stage"])
@pytest.mark.parametrize("begin", [0.7, 2.3, 3.1, 4.9, 7.0])
def test_it_may_start_in_any_motion(begin, observer):
    run = Run(observer=observer).go(begin, begin + 2.0)
    assert run.times[0] - begin < 0.4
    assert run.between(begin + SOON, begin + 2.0).max() < 1.0


@pytest.mark.parametrize("observer", ["filter", "two_stage"])
@pytest.mark.parametrize(("scale", "subtracted"), [(1.0, True), (1.0 / STANDARD_GRAVITY, False)])
def test_a_force_that_has_not_the_size_of_gravity_is_no_vertical(observer, scale, subtracted):
    run = Run(Stance(1, size=0.05), observer=observer)

    def spoil(sample):
        up = run.stance.pose("imu", 1e-9 * sample.stamp_ns).rotation[2]
        force = scale * (sample.specific_force_I - subtracted * STANDARD_GRAVITY * up)
        return ie.ImuSample(sample.stamp_ns, force, sample.angular_rate_I)

    run.go(0.5, 2.0, spoil=spoil)
    assert not run.times
    health = run.pipeline.health(2_000_000_000)[-1]
    assert health.level is ie.HealthLevel.WARN
    assert "gravity" in health.message
    run.go(2.0, 5.0)
    assert run.between(2.0 + SOON, 5.0).max() < 1.0


@pytest.mark.parametrize("observer", ["filter", "two_stage"])
def test_a_bias_that_has_changed_is_found_at_rest_on_request_and_its_sigma_covers_it_until_then(observer):
    run, bias = Run(Stance(1, size=0.0), observer=observer), np.array([0.01, 0.0, 0.0])

    def spoil(sample):
        return replace(sample, angular_rate_I=sample.angular_rate_I + bias)

    run.go(0.5, 3.0).go(3.0, 3.3, spoil=spoil).pipeline.calibrate_gyro()
    for k in range(3, 15):
        run.go(3.0 + 0.1 * k, 3.1 + 0.1 * k, spoil=spoil)
        found = run.pipeline.estimator.observer.state
        error, sigma = np.linalg.norm(found.bias - bias), np.sqrt(found.covariance[6, 6])
        assert error < 3.0 * sigma
    assert error < 0.001


@pytest.mark.parametrize("observer", ["filter", "two_stage"])
def test_after_a_reset_it_is_as_new(observer):
    used, new = (Run(Stance(1, size=0.0), observer=observer) for _ in range(2))
    used.go(2.0, 3.5).pipeline.reset()
    for run in (used, new):
        run.go(0.5, 1.5)
    for values in ("times", "errors", "sigmas", "yaws"):
        assert used.between(0.4, 1.5, values).tolist() == new.between(0.4, 1.5, values).tolist()


@pytest.mark.parametrize(("observer", "name"), [("filter", "velocity_drift"), ("two_stage", "gamma")])
def test_a_parameter_that_is_changed_while_it_runs_takes_effect(observer, name):
    sigmas = []
    for before, after in ((None, None), (None, 9.0), (9.0, 9.0)):
        run = Run(observer=observer, **({} if before is None else {f"{observer}.{name}": before})).go(
            0.5, 2.0
        )
        if after is not None:
            run.pipeline.set_parameter(f"{observer}.{name}", after)
            with pytest.raises(ie.ConfigurationError):
                run.pipeline.set_parameter(f"{observer}.{name}", -1.0)
        sigmas.append(run.go(2.0, 4.0).between(3.9, 4.0, "sigmas")[-1])
    usual, changed, always = sigmas
    assert (changed - usual) / (always - usual) > 0.25


def test_the_sigma_covers_the_error():
    run = Run().go(0.5, 6.0)
    ratio = run.between(1.5, 6.0) / run.between(1.5, 6.0, "sigmas")
    assert np.sqrt(np.mean(ratio**2)) < 1.0


@pytest.mark.parametrize(("lost", "told"), [("joints", "joint_states"), ("feet", "left/wrench")])
def test_without_joints_or_feet_it_goes_on_less_certain_and_says_so(lost, told):
    run = Run(Stance(1, size=0.05)).go(0.5, 3.0)  # its IMU turns in the base, which only joints show
    assert run.health().level is ie.HealthLevel.OK
    run.go(3.0, 4.5, without(lost))
    count = len(run.between(3.0, 4.5))
    assert count > 0.95 * 1.5e9 / PERIOD_NS
    assert run.between(4.4, 4.5, "sigmas").mean() > 1.2 * run.between(2.9, 3.0, "sigmas").mean()
    assert (run.between(3.0, 4.5) < 4.0 * run.between(3.0, 4.5, "sigmas")).all()
    health = run.health()
    assert health.level is ie.HealthLevel.WARN
    assert told in health.message
    assert run.pipeline.estimator.feet.shares.use.names == ()
    assert not any(load.weight for load in run.pipeline.contact_loads)
    run.go(4.5, 6.5)
    assert run.pipeline.estimator.track.position_sigma > 0.05  # the feet may have stepped meanwhile
    assert run.between(6.0, 6.5).max() < 1.0
    assert told not in run.health().message


@pytest.mark.parametrize("source", ["wrench", "joint_torques"])
@pytest.mark.parametrize("elbow", [None, np.nan, 255.0])
def test_joints_that_move_neither_imu_nor_contacts_are_not_needed(elbow, source):

    def push(pipeline, stance, stamp, t, *, changed):
        whole = stance.joints(stamp, t)
        joints = dict(zip(whole.names, zip(whole.position, whole.velocity, strict=True), strict=True))
        joints |= {"elbow": (elbow, 0.0)} if changed else {}
        names, values = zip(*((name, qv) for name, qv in joints.items() if qv[0] is not None), strict=True)
        pipeline.push_joints(ie.JointReading(stamp, names, *zip(*values, strict=True), [1.0] * len(names)))
        without("joints")(pipeline, stance, stamp, t)

    found, levels = [], set()
    for changed in (False, True):
        run = Run(**{"contact.source": source}).go(0.5, 1.5, push, changed=changed)
        levels |= {(one.name, one.level) for one in run.pipeline.health(1_500_000_000)}
        found.append(np.transpose([run.times, run.errors, run.sigmas, run.yaws]))
    assert ("joint_states", ie.HealthLevel.OK) in levels
    assert len(levels) == len(dict(levels)), "both say the same"
    assert len(found[0]) > 100
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("observer", ["filter", "two_stage"])
@pytest.mark.parametrize("gap", [0.06, 0.5, 3.0])
def test_after_a_gap_it_is_right_again(gap, observer):
    run = Run(observer=observer).go(0.5, 2.5).go(2.5 + gap, 4.5 + gap)
    assert run.between(2.5 + gap + SOON, 4.5 + gap).max() < 1.0
    track, walked = run.pipeline.estimator.track, gap if gap > 0.1 else 0.0
    assert walked <= track.position_sigma < walked + 0.1, "what is not read may have stepped meanwhile"
    bias = run.pipeline.estimator.gyro_bias[0]
    assert np.abs(bias).max() < 0.01


def test_short_gaps_make_the_tilt_uncertain_and_do_not_silence_it():
    run, gap, shown = Run().go(0.5, 2.5), 0.15, 0.2
    for begin in 2.5 + gap + (gap + shown) * np.arange(4):
        run.go(begin, begin + shown)
    times = np.array(run.times)
    assert np.diff(times[times > 2.4]).max() < gap + 2.5e-9 * PERIOD_NS
    ratios = np.array(run.errors)[times > 2.5] / np.array(run.sigmas)[times > 2.5]
    assert np.abs(ratios).max() < 1.0
    assert run.sigmas[-1] < 0.25 * max(run.sigmas[-60:]), "contacts correct it again"


def test_single_outliers_of_the_imu_change_nothing():
    def spoil(sample):
        if sample.stamp_ns % 500_000_000:
            return sample
        return ie.ImuSample(sample.stamp_ns, sample.specific_force_I + 150.0, sample.angular_rate_I - 30.0)

    clean, spoilt = Run().go(0.51, 4.0), Run().go(0.51, 4.0, spoil=spoil)
    assert abs(spoilt.between(1.5, 4.0) - clean.between(1.5, 4.0)).max() < 0.3


class Turning:
    """A body that turns about its IMU, whose gyroscope may be wired otherwise."""

    def __init__(self, wired=(1.0, 1.0, 1.0)):
        self.wired = np.array(wired)

    def pose(self, _frame, t):
        turn = np.array([0.3 * np.sin(1.3 * t), 0.2 * np.cos(1.7 * t), 0.4 * t])
        return pin.SE3(exp_so3(turn), np.zeros(3))

    def rate(self, t, d):
        """Mean angular rate from a time to d later [s]."""
        return log_so3(self.pose("base", t).rotation.T @ self.pose("base", t + d).rotation) / d

    def push(self, pipeline, _stance, stamp, t):
        force = STANDARD_GRAVITY * self.pose("base", t).rotation[2]
        pipeline.push_imu(ie.ImuSample(stamp, force, self.wired * self.rate(t, 1e-5)))


@pytest.mark.parametrize(
    "wired", [(-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-1.0, -1.0, -1.0), (57.3, 57.3, 57.3)]
)
def test_an_imu_that_contradicts_itself_is_not_ok_and_its_tilt_uncertain(wired):
    body = Turning(wired)
    run = Run(body, imu_frame="base", contacts=(), contact_frames=()).go(0.0, 10.0, body.push)
    assert run.health().level is ie.HealthLevel.WARN
    assert "gyroscope and accelerometer contradict one another" in run.health().message
    error, sigma = (np.sqrt(np.mean(run.between(8.0, 10.0, name) ** 2)) for name in ("errors", "sigmas"))
    assert error < 3.0 * sigma, "what contradicts itself is uncertain"


def test_an_imu_alone_has_a_tilt():
    body = Turning()
    run = Run(body, imu_frame="base", contacts=(), contact_frames=()).go(0.0, 6.0, body.push)
    assert run.between(SOON, 6.0).max() < 0.5
    assert run.health().level is ie.HealthLevel.OK
    names = {health.name for health in run.pipeline.health(round(6e9))}
    assert names == {"imu/data", "yaw_reference", "estimator"}


@pytest.mark.parametrize("contacts", [(), ("pivot",)])
def test_rates_of_an_imu_alone_are_means_over_its_steps_and_else_those_of_their_stamps(contacts):
    def push(pipeline, _stance, stamp, t):
        rate = body.rate(t, 1e-5 if contacts else -1e-9 * PERIOD_NS)
        pipeline.push_imu(ie.ImuSample(stamp, STANDARD_GRAVITY * body.pose("base", t).rotation[2], rate))

    body, R = Turning(), [np.eye(3)]
    run = Run(body, imu_frame="base", contacts=contacts, contact_frames=len(contacts) * ("base",))
    run.pipeline.estimator.on_step = lambda step: R.append(R[-1] @ exp_so3(step.h * step.reading[3:]))
    run.go(0.0, 6.0, push)
    begin, end = (body.pose("base", t).rotation for t in (1e-9 * PERIOD_NS, 6.0))
    assert np.linalg.norm(log_so3((begin @ R[-1]).T @ end)) < 1e-4


def test_contacts_on_the_base_need_no_joint_states():
    def push(pipeline, _stance, stamp, t):
        pipeline.push_wrench("pivot", ie.WrenchSample(stamp, [0, 0, 300.0 + 10.0 * np.sin(9.0 * t), 0, 0, 0]))
        body.push(pipeline, _stance, stamp, t)

    body, robot = Turning(), {"imu_frame": "base", "contacts": ("pivot",), "contact_frames": ("base",)}
    run = Run(body, **robot).go(0.0, 6.0, push)
    assert run.between(SOON, 6.0).max() < 0.5
    assert run.health().level is ie.HealthLevel.OK
    assert run.pipeline.estimator.feet.shares.use.names == ("pivot",)


def test_the_yaw_follows_a_reference_and_goes_on_without_it():
    def push(pipeline, stance, stamp, t, *, referenced):
        if referenced:
            q = quaternion_from_rotation(stance.pose("base", t).rotation)
            pipeline.push_yaw_reference(ie.OrientationSample(stamp, q))
        push_stance(pipeline, stance, stamp, t)

    run = Run(Stance(1, size=0.5, foot=(0.0, 0.0, 0.7)))
    run.go(0.5, 3.0, push, referenced=True).go(3.0, 5.0, push, referenced=False)
    assert np.degrees(np.abs(run.between(1.5, 3.0, "yaws"))).max() < 1.0
    assert np.degrees(np.abs(run.between(3.0, 5.0, "yaws"))).max() < 3.0


def test_the_position_is_held_by_the_foot():
    run = Run().go(0.5, 8.0)
    found, poses = run.states, [run.stance.pose("base", t) for t in run.times]
    turned = rotation_from_quaternion(found[0].quaternion_xyzw) @ poses[0].rotation.T
    true = [turned @ (T.translation - poses[0].translation) for T in poses]
    moved = [state.p_WB - found[0].p_WB for state in found]
    assert np.linalg.norm(np.array(moved) - np.array(true), axis=1).max() < 0.03


BALL = '<collision><origin xyz="0.02 0 -0.05"/><geometry><sphere radius="0.03"/></geometry></collision>'


def test_the_radius_of_round_feet_is_that_of_their_collision_spheres():
    urdf = URDF.replace(link_xml("left_foot", 2), link_xml("left_foot", 2, more=BALL))
    one = {**CONFIG, "contacts": ("left",), "contact_frames": ("left_sole",)}
    setup = robot_from_config(RobotConfig(**one), urdf)
    assert foot_radius(setup, urdf) == 0.03
    assert foot_radius(robot_from_config(RobotConfig(**CONFIG), urdf), urdf) == 0.0, "one foot is flat"
    assert ie.TiltPipeline(ie.build_config(ie.TiltPipelineConfig, one), urdf).estimator.radius == 0.03
    values = {**one, "contact.radius": 0.0}
    assert ie.TiltPipeline(ie.build_config(ie.TiltPipelineConfig, values), urdf).estimator.radius == 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"floating_base": False}, "a fixed base has no tilt"),
        ({"imu_frame": ""}, "expected the link of the IMU"),
        ({"contact.source": "sonar"}, "sonar"),
        ({"contact.source": ("wrench", "switch", "none")}, "expected one, or one for each"),
    ],
)
def test_what_does_not_fit_is_refused(values, message):
    with pytest.raises(ie.ConfigurationError, match=message):
        tilt_pipeline(**values)


# --- a trot of a quadruped, with noise as of cheap sensors -------------------------------------------------


class Trot:
    """Readings of a trotting Go2 at 200 Hz."""

    def __init__(self):
        self.file, self.setup, posture = quadruped("go2")
        rng = np.random.default_rng(3)
        gait = replace(TROT, rest_s=1.0, foot=FootMotion())
        motion = gait_motion(gait, feet_at_rest(self.setup, posture), 8.0, 200.0, rng)
        self.readings = gait_readings(self.setup, posture, motion, GaitSensors(), rng)

    def errors(self, push_contact, values=None, until_s=np.inf, bias=lambda t: np.zeros(3), tau=None):
        """Run a pipeline; return times [s] and errors [deg]."""
        file = self.file.overridden([("tilt_observer", name, v) for name, v in (values or {}).items()])
        known = file.values("tilt_observer", file.nodes["tilt_observer"].keys() | file.shared.keys())
        config = ie.build_config(ie.TiltPipelineConfig, {k: v for k, v in known.items() if "stance" not in k})
        pipeline = ie.TiltPipeline(config, ie.read_urdf("example-robot-data:go2"))
        pipeline.checks.execute = None  # a check of the data takes longer than the run
        r, times, errors = self.readings, [], []
        tau = r.tau if tau is None else tau
        for k, t in enumerate(r.times_s[r.times_s < until_s]):
            stamp = 1_000_000_000 + round(1e9 * t)
            names = self.setup.robot.joint_names
            pipeline.push_joints(ie.JointReading(stamp, names, r.q[k], r.v[k], tau[k]))
            for i, name in enumerate(self.setup.contact_names):
                push_contact(pipeline.inputs, name, stamp, r.wrenches[k, i], r.forces[k, i])
            pipeline.push_imu(ie.ImuSample(stamp, r.imu[k, :3], r.imu[k, 3:] + bias(t)))
            for e in pipeline.tick(stamp):
                at = round((e.state.stamp_ns - 1_000_000_000) * 2e-7)
                times.append(r.times_s[at])
                errors.append(np.degrees(np.linalg.norm(np.cross(e.tilt_B, r.up_B[at]))))
        self.health = {one.name: one for one in pipeline.health(stamp)}
        return np.array(times), np.array(errors)


@pytest.fixture(scope="module")
def trot():
    return Trot()


def wrench(inputs, name, stamp, row, _force):
    inputs.push(inputs.contacts[name].stream.spec.name, ie.WrenchSample(stamp, row))


def in_world_axes(inputs, name, stamp, _row, force):
    inputs.contacts[name].axes = WrenchAxes.WORLD
    wrench(inputs, name, stamp, np.array([0.0, 0.0, force, 0.0, 0.0, 0.0]), force)


def number(of):
    return lambda inputs, name, stamp, _row, force: inputs.push(
        f"{name}/wrench", ContactSample(stamp, of(force))
    )


SOURCES = {
    "wrench": wrench,
    "wrench in the axes of the world": in_world_axes,
    "desired": wrench,
    "force": number(lambda force: force),
    "raw_force": number(lambda force: 40.0 + 3.0 * force),
    "switch": number(lambda force: float(force > 15.0)),
    "joint_torques": lambda *_: None,
    "none": lambda *_: None,
}
MOVING = "contacts that carry the robot move by"


@pytest.mark.parametrize("source", SOURCES)
def test_contacts_by_any_source(trot, source):
    t, error = trot.errors(SOURCES[source], {"contact.source": source.partition(" ")[0]}, until_s=5.0)
    assert len(t) > 0.9 * 5.0 * 200.0
    bound = 2.5 if source == "none" else 0.5
    assert np.sqrt(np.mean(error[t > 2.0] ** 2)) < bound
    assert MOVING not in trot.health["estimator"].message


def test_feet_that_are_said_to_stand_while_they_swing_are_named(trot):
    """As by a switch whose contact is open where the foot stands."""
    trot.errors(number(lambda force: float(force < 15.0)), {"contact.source": "switch"}, until_s=5.0)
    assert MOVING in trot.health["estimator"].message
    assert "inverted" in trot.health["estimator"].message


FEET = "fl_foot, fr_foot, rl_foot, rr_foot"


@pytest.mark.parametrize(
    ("lost", "unknown"),
    [("one joint", "fl_foot"), ("one in ten", ""), ("all at once", FEET), ("none sent", FEET)],
)
def test_without_efforts_positions_are_used_and_which_contacts_are_loaded_is_not_known(trot, lost, unknown):
    """As a driver sends NaN for a motor that does not answer."""
    torques, few = trot.readings.tau.copy(), np.random.default_rng(0)
    lacking = {
        "one joint": np.s_[:, 1],
        "one in ten": few.random(torques.shape) < 0.1 / torques.shape[1],
        "all at once": np.s_[600:],
        "none sent": np.s_[:],
    }
    torques[lacking[lost]] = np.nan
    t, error = trot.errors(SOURCES["joint_torques"], {"contact.source": "joint_torques"}, 5.0, tau=torques)
    assert len(t) > 0.9 * 5.0 * 200.0
    assert np.sqrt(np.mean(error[t > 2.0] ** 2)) < {"one joint": 0.55, "one in ten": 0.5}.get(lost, 2.5)
    dropped = int(trot.health["joint_states"].values.get("dropped: not finite", 0))
    assert dropped <= {"one in ten": 150, "all at once": 20}.get(lost, 0), "single ones, or for the timeout"
    said = f"whether {unknown} carry the robot is not known: efforts are missing, or nan"
    assert trot.health["estimator"].message == (said if unknown else "estimating")


def test_after_a_step_of_the_bias_it_is_right_again_within_three_seconds(trot):
    step = np.array([0.01, 0.0, 0.0])
    t, error = trot.errors(wrench, bias=lambda t: step if t > 3.0 else 0.0 * step)
    assert error[(t > 1.0) & (t < 3.0)].max() < 1.0
    assert error[t > 6.0].max() < 1.0


TALOS = Path(__file__).resolve().parents[2] / "config" / "talos.yaml"
RUN = """
import pickle, sys
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines
from support.pipeline_inputs import push

messages = pickle.load(sys.stdin.buffer)
built = build_pipelines(load_config_file(sys.argv[1]))
before = set(sys.modules)
for topic, sample in messages:
    for pipeline in (built.tilt, built.inertial):
        push(pipeline, topic, sample)
        pipeline.tick(sample.stamp_ns)
for pipeline in (built.tilt, built.inertial):
    pipeline.health(messages[-1][1].stamp_ns)
print(sorted(set(sys.modules) - before))
"""


def test_a_running_pipeline_imports_nothing():
    """In a process of its own: the other tests have imported all of the package."""
    entries = [(entry.topic, entry.sample) for entry in recorded("talos", 1.5).recording.messages]
    messages = [entry for entry in entries if "ground_truth" not in entry[0]]
    program, path = [sys.executable, "-c", RUN, str(TALOS)], os.pathsep.join(filter(None, sys.path))
    given = {"input": pickle.dumps(messages), "env": {**os.environ, "PYTHONPATH": path}}
    done = subprocess.run(program, **given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[-1] == "[]"
