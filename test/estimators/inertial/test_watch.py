"""The inertial filter under watch, against true masses: faults teach it nothing, loads do."""

from dataclasses import replace

import numpy as np
import pytest
from support.inertial_scenes import ArmScene
from support.pipeline_inputs import push

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inertial.noise import AdaptiveNoise
from inertial_estimation.estimators.inertial.guarded_filter import GuardedFilter, WatchPhase
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_health import remarks
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.noise_config import NoiseAdaptationConfig
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.located_cause import Cause
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Decision, HealthLevel, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

FAULT_S, END_S = 1.6, 3.4
VALUES = {
    "imu_frame": "imu_link",
    "contacts": ("left_foot", "right_foot"),
    "contact_frames": ("left_sole_link", "right_sole_link"),
    "links": ("torso_2_link", "arm_left_5_link"),
    "rate": 125.0,
}
ELBOW = "arm_left_4_joint"


@pytest.fixture(scope="module")
def moving_talos():
    timing = Timing(duration_s=END_S, rate_hz=250.0, rest_s=0.2, fade_s=0.4)
    truth = synthetic_truth("talos", timing, np.random.default_rng(0), payload_time_s=None)
    recording = measure(truth, REALISTIC, np.random.default_rng(1))
    wanted = [topic for topic in recording.topics if "ground" not in topic]
    return int(truth.stamps_ns[0]), [(e.topic, e.sample) for e in recording.entries(wanted, 0)]


def imu(sample, scale):
    return ImuSample(sample.stamp_ns, scale * sample.specific_force_I, sample.angular_rate_I)


def elbow_drops(sample):
    effort = sample.effort.copy()
    effort[sample.names.index(ELBOW)] = 0.0
    return replace(sample, effort=effort)


FAULTS = {
    "accelerometer zero": (0.5, lambda t, s: imu(s, 0.0) if isinstance(s, ImuSample) else s),
    "gyroscope 1e3 rad/s": (
        0.2,
        lambda t, s: replace(s, angular_rate_I=np.full(3, 1e3)) if isinstance(s, ImuSample) else s,
    ),
    "wrenches zero": (
        0.5,
        lambda t, s: WrenchSample(s.stamp_ns, np.zeros(6)) if isinstance(s, WrenchSample) else s,
    ),
    "one wrench 1e4 N": (
        0.2,
        lambda t, s: WrenchSample(s.stamp_ns, s.wrench_F + 1e4 * np.eye(6)[2]) if "left_foot" in t else s,
    ),
    "efforts x 1000": (
        0.05,
        lambda t, s: replace(s, effort=1e3 * s.effort) if isinstance(s, JointReading) else s,
    ),
    "one effort zero": (
        0.5,
        lambda t, s: elbow_drops(s) if isinstance(s, JointReading) else s,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_neither_ends_the_pipeline_nor_moves_the_published_masses(moving_talos, name):
    """Without a load the true masses are the nominal ones."""
    duration, alter = FAULTS[name]
    start, stream = moving_talos
    pipeline = InertialPipeline(
        build_config(InertialPipelineConfig, VALUES), read_urdf("example-robot-data:talos_reduced")
    )
    true = np.array([pipeline.robot.link_body(link).nominal_J.mass for link in VALUES["links"]])
    times, published, estimated, levels = [], [], [], []
    for topic, sample in stream:
        t = (sample.stamp_ns - start) * 1e-9
        push(pipeline, topic, alter(topic, sample) if FAULT_S <= t < FAULT_S + duration else sample)
        for estimate in pipeline.tick(sample.stamp_ns):
            times.append((estimate.stamp_ns - start) * 1e-9)
            published.append([link.published.mass for link in estimate.links])
            estimated.append([link.estimate.mass for link in estimate.links])
            levels.append(pipeline.health(estimate.stamp_ns)[-1].level)
    times, published, estimated = np.array(times), np.array(published), np.array(estimated)
    before = published[times < FAULT_S - 0.1][-1]
    during = (times >= FAULT_S) & (times < FAULT_S + duration)
    late = times > FAULT_S + duration + 1.0
    assert late.any()
    assert np.abs(published[during] / before - 1.0).max(initial=0.0) < 0.02
    np.testing.assert_allclose(published[late], np.tile(true, (late.sum(), 1)), rtol=0.05)
    np.testing.assert_allclose(estimated[late], np.tile(true, (late.sum(), 1)), rtol=0.05)
    wrong = np.abs(estimated / true - 1.0).max(axis=1) > 0.1
    settled = times > 1.0
    assert HealthLevel.OK not in {levels[i] for i in np.flatnonzero(wrong & settled)}


def guarded(scene, **settings):
    gate = scene.gate()
    filter_ = LogCholeskyEkf(
        scene.bodies, PriorSigma(mass=1.0, com=0.1, radii=0.5, friction=np.zeros(0)), gate, 1e9
    )
    return GuardedFilter(
        filter_, len(scene.measurement.row_names), WatchConfig(**settings), scene.inquiry(), 0.05
    )


DT = 0.01


def learn(watch, scene, steps):
    return [watch.update(scene.equation(), DT) for _ in range(steps)]


def test_a_load_is_believed_once_it_has_explained_the_data():
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene)
    learn(watch, scene, 150)
    scene.add_payload(0, 2.0, [0.0, 0.0, 0.1])
    held = watch.trusted()[0, 0]
    phases = []
    for _ in range(60):
        watch.update(scene.equation(), DT)
        phases.append(watch.phase)
        if watch.phase is not WatchPhase.GOOD:
            assert watch.trusted()[0, 0] == pytest.approx(held, rel=0.02)
    assert WatchPhase.TRIAL in phases
    assert phases[-1] is WatchPhase.GOOD
    assert phases.index(WatchPhase.TRIAL) * DT <= 0.12
    assert phases.count(WatchPhase.TRIAL) * DT < 0.5 * watch.config.patience
    assert watch.trusted()[0, 0] == pytest.approx(scene.truth[0][0], rel=0.02)
    assert watch.good.located.hand_over_rate(0.1, 0.5, 0.1) == pytest.approx(2.0 / 0.5, rel=0.1)
    learn(watch, scene, 120)
    assert watch.good.located.hand_over_rate(0.1, 0.5, 0.1) == 0.1


def test_a_load_that_changes_again_and_again_is_followed_at_once_until_it_keeps_still():
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene, memory=0.6)
    learn(watch, scene, 120)
    for sign in (1.0, -1.0):
        scene.add_payload(0, sign * 2.0, [0.0, 0.0, 0.1])
        learn(watch, scene, 35)
    assert watch.good.located.varying == ("panda_link7",)
    noise = AdaptiveNoise(scene.measurement.row_names, 0.999, NoiseAdaptationConfig())
    assert remarks(watch, noise, 3.0) == "the load on panda_link7 varies and is followed"
    for sign in (1.0, -1.0, 1.0):
        scene.add_payload(0, sign * 2.0, [0.0, 0.0, 0.1])
        learn(watch, scene, 5)
        assert watch.phase is WatchPhase.GOOD
        assert watch.trusted()[0, 0] == pytest.approx(scene.truth[0][0], rel=0.1)
    assert watch.good.located.hand_over_rate(0.1, 0.5, 0.1) == pytest.approx(2.0 / 0.1, rel=0.2)
    learn(watch, scene, 120)
    assert watch.good.located.varying == ()
    assert watch.good.located.hand_over_rate(0.1, 0.5, 0.1) == 0.1


def test_what_no_load_on_the_followed_link_explains_is_suspect_all_the_same():
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene)
    learn(watch, scene, 120)
    for sign in (1.0, -1.0):
        scene.add_payload(0, sign * 2.0, [0.0, 0.0, 0.1])
        learn(watch, scene, 35)
    held = watch.trusted()[0, 0]
    for _ in range(30):
        fair = scene.equation()
        wrong = fair.value + 20.0 * np.eye(7)[0]
        watch.update(replace(fair, value=wrong, measured=wrong), DT)
        assert watch.phase is not WatchPhase.GOOD
        assert watch.trusted()[0, 0] == pytest.approx(held, rel=0.05)


def test_a_filter_that_starts_with_a_load_has_no_earlier_state_to_compare_it_with():
    """The gate re-opens before the data have a usual level."""
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene)
    scene.add_payload(0, 5.0, [0.0, 0.0, 0.1])
    watch.filter.P *= 1e-6
    phases = []
    for _ in range(60):
        watch.update(scene.equation(), DT)
        phases.append(watch.phase)
    assert phases[15] is WatchPhase.TRIAL
    assert phases[-1] is WatchPhase.GOOD
    assert watch.trusted()[0, 0] == pytest.approx(scene.truth[0][0], rel=0.02)


def test_suspect_data_never_move_the_parameters_that_may_be_published():
    """A fault of one effort, far within the gate, that a wide prior can explain by inertias."""
    scene = ArmScene(links=tuple(f"panda_link{i}" for i in range(1, 8)))
    watch = guarded(scene)
    learn(watch, scene, 150)
    held, phases, moved = watch.trusted().copy(), [], 0.0
    for _ in range(50):
        fair = scene.equation()
        wrong = fair.value + 4.0 * np.eye(len(fair.value))[3]
        watch.update(replace(fair, value=wrong, measured=wrong), DT)
        phases.append(watch.phase)
        moved = max(moved, float(np.abs(watch.trusted()[:, 0] / held[:, 0] - 1.0).max()))
    assert phases[0] is WatchPhase.SUSPECT
    assert WatchPhase.GOOD not in phases
    assert moved == 0.0


def test_a_change_that_so_many_bodies_can_always_explain_is_held_or_reported():
    """Half of all efforts, as of an error of units, with seven bodies estimated from seven rows."""
    scene = ArmScene(links=tuple(f"panda_link{i}" for i in range(1, 8)))
    watch = guarded(scene)
    learn(watch, scene, 150)
    before = watch.trusted()[:, 0]
    for _ in range(200):
        fair = scene.equation()
        half = 0.5 * fair.value
        watch.update(replace(fair, value=half, measured=half), DT)
        if np.abs(watch.trusted()[:, 0] / before - 1.0).max() > 0.1:
            assert watch.needs_report
    assert watch.needs_report


def test_a_single_suspect_reading_holds_the_parameters_and_is_not_reported():
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene)
    learn(watch, scene, 150)
    held = watch.trusted().copy()
    fair = scene.equation()
    wrong = fair.value + 10.0 * np.sqrt(np.diag(fair.noise))
    watch.update(replace(fair, value=wrong, measured=wrong), DT)
    for _ in range(8):
        assert watch.phase is WatchPhase.SUSPECT
        assert not watch.needs_report
        assert np.array_equal(watch.trusted(), held)
        watch.update(scene.equation(), DT)
    learn(watch, scene, 4)
    assert watch.phase is WatchPhase.GOOD


def test_noise_that_stays_larger_does_not_suspend_learning_for_ever():
    """Within the gate, but far above the usual level of noise that is stated three times too large."""
    scene = ArmScene()
    watch = guarded(scene)
    patience = round(watch.config.patience / DT)
    phases = []
    for k in range(300 + 2 * patience):
        larger = 12.0 * scene.sigma_torque**2 * (k >= 300)
        fair = scene.equation()
        value = fair.value + np.sqrt(larger) * np.sign(scene.rng.normal(size=7))
        watch.update(replace(fair, value=value, measured=value, noise=9.0 * fair.noise), DT)
        phases.append(watch.phase)
    assert set(phases[:300]) == {WatchPhase.GOOD}
    assert set(phases[300 : 300 + patience // 2]) == {WatchPhase.SUSPECT}
    assert WatchPhase.GOOD in phases[300:]


def test_a_trial_that_explains_nothing_does_not_freeze_a_filter_whose_gate_accepts_the_data():
    """Errors of a model that show once the motion has grown, below what is stated as noise."""
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene, give_up=0.3)
    phases = []
    for k in range(200):
        if k == 150:
            watch._begin_trial()
        exact = scene.equation(noisy=False)
        errors = scene.rng.normal(0.0, (0.02 if k < 150 else 0.8) * scene.sigma_torque, 7)
        watch.update(replace(exact, value=exact.value + errors, measured=exact.value + errors), DT)
        phases.append(watch.phase)
    assert phases[151] is WatchPhase.TRIAL
    assert phases[-1] is WatchPhase.GOOD
    assert watch.freezes == 0
    assert watch.needs_report


def test_data_that_no_load_explains_freeze_the_last_good_state_until_they_are_good_again():
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene, give_up=0.5, reopenings=2)
    learn(watch, scene, 150)
    phases = set()
    for _ in range(200):
        fair = scene.equation()
        wrong = fair.value + scene.rng.normal(0.0, 100.0, len(fair.value))
        update = watch.update(replace(fair, value=wrong, measured=wrong), DT)
        phases.add(watch.phase)
        if watch.phase is WatchPhase.FROZEN:
            assert watch.filter.masses_of(watch.reported.x)[0] == pytest.approx(scene.truth[0][0], rel=0.05)
    assert WatchPhase.FROZEN in phases
    assert update.decision in (Decision.FROZEN, Decision.REJECTED)
    assert watch.trusted()[0, 0] == pytest.approx(scene.truth[0][0], rel=0.05)
    learn(watch, scene, 40)
    assert watch.phase is WatchPhase.GOOD
    assert watch.filter.masses_of(watch.reported.x)[0] == pytest.approx(scene.truth[0][0], rel=0.05)


def test_the_covariance_stays_positive_definite_and_symmetric_through_faults():
    scene = ArmScene(seed=3)
    watch = guarded(scene)
    rng = np.random.default_rng(4)
    for k in range(1500):
        fair = scene.equation()
        value = fair.value
        if k % 100 > 85:
            value = value + rng.normal(0.0, 10.0 ** rng.uniform(0, 8), len(value))
        watch.update(replace(fair, value=value, measured=value), DT)
        P = watch.filter.P
        assert np.array_equal(P, P.T)
        if k % 25 == 0:
            scale = np.sqrt(np.diag(P))
            assert np.linalg.eigvalsh(P / np.outer(scale, scale)).min() > 0.0
        assert (watch.trusted()[:, 0] > 0.0).all()


def test_a_faulty_effort_is_named_and_learning_waits_for_its_end():
    scene = ArmScene(links=("panda_link7",))
    watch = guarded(scene)
    learn(watch, scene, 150)
    for _ in range(60):
        fair = scene.equation()
        wrong = fair.value + 10.0 * np.eye(7)[3]
        update = watch.update(replace(fair, value=wrong, measured=wrong), DT)
    assert watch.phase is WatchPhase.PUSHED
    assert update.decision is Decision.PUSHED
    assert watch.inquiry.certain.cause is Cause.FAULT
    assert watch.cause == "the effort of 'panda_joint4' in joint_states"
    learn(watch, scene, 15)
    assert watch.phase is WatchPhase.GOOD
    assert watch.inquiry.certain is None
