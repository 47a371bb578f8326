"""From raw readings of a standing HyQ to mass and centre of mass of its trunk, and what is refused."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from support.standing_robot import FEET, ROBOT, SILENT, StandingHyq, loaded_trunk, pipeline, weight

from inertial_estimation.payload import identification
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.payload.report import KIND, events_of
from inertial_estimation.payload.trunk import HAND_OVER_SHARE
from inertial_estimation.signals import HealthLevel
from inertial_estimation.spatial.inertial_parameters import InertialParameters

LOAD, MOVED = weight(), weight(com=(0.4, -0.15, 0.15))
NOMINAL = ROBOT.link_body("trunk").nominal_J.mass


@pytest.fixture
def impatient(monkeypatch):
    """An identification that waits is given up after half a second."""
    monkeypatch.setattr(identification, "PATIENCE_S", 0.5)


def ended(estimate):
    return estimate.phase is Phase.WATCHING and (estimate.converged or bool(estimate.refusal))


def identified(scene, limit_s=6.0):
    """Let an identification begin and end."""
    scene.run(1.0, until=lambda estimate: estimate.hold)
    last = scene.run(limit_s, until=ended)
    assert last.phase is Phase.WATCHING
    return last


def kinds(scene):
    return [change.kind for change in scene.changes]


def events(scene):
    return [event for estimate in scene.estimates for event in events_of(estimate)]


def assert_found(estimate, *loads):
    mass, com_B = loaded_trunk(*loads)
    for trunk in (estimate.estimate, estimate.trunk):
        assert abs(trunk.mass / mass - 1.0) < 3e-3
        assert np.abs(trunk.com_L - com_B)[:2].max() < 1e-3


@pytest.fixture(scope="module")
def life():
    """A load put on, moved, taken off, each identified; sensors with noise."""
    scene = StandingHyq(pipeline(), seed=3)
    scene.run(0.3)
    results = {"bare": scene.estimates[-1]}
    for name, load in (("on", LOAD), ("moved", MOVED), ("off", None)):
        scene.put_on(load)
        results[name] = identified(scene)
    scene.run(1.0)
    return scene, results


def test_a_load_is_found_moved_and_taken_off_and_the_payload_is_what_was_put_on(life):
    scene, results = life
    assert kinds(scene) == ["loaded", "shifted", "unloaded"]
    loaded, identified, *others = events(scene)
    assert [e.values[KIND] for e in others] == ["shifted", "identified", "unloaded", "identified"]
    assert (loaded.level, identified.level) == (HealthLevel.WARN, HealthLevel.OK)
    assert float(loaded.values["shift x [m]"]) < -0.02
    assert float(identified.values["mass [kg]"]) == pytest.approx(loaded_trunk(LOAD)[0], abs=0.3)
    for name, loads in (("on", [LOAD]), ("moved", [MOVED]), ("off", [])):
        assert results[name].converged
        assert_found(results[name], *loads)
    payload = results["on"].payload
    assert payload.mass == pytest.approx(LOAD.mass, abs=0.2)
    np.testing.assert_allclose(payload.com_L[:2], LOAD.com_L[:2], atol=0.01)


def test_deviations_are_of_the_size_of_the_errors(life):
    for name, loads in (("on", [LOAD]), ("off", [])):
        estimate = life[1][name]
        mass, com_B = loaded_trunk(*loads)
        assert abs(estimate.estimate.mass - mass) < 5.0 * estimate.mass_sigma < 1.0
        assert (np.abs(estimate.estimate.com_L - com_B)[:2] < 6.0 * estimate.com_sigma_B[:2]).all()
        assert (estimate.com_sigma_B[:2] < 2e-3).all()
        assert math.isinf(estimate.com_sigma_B[2]), "no force tells the height of a level trunk"
        assert 0.0 <= estimate.residual < 5e-3


def test_what_is_published_is_consistent_identified_and_moves_at_the_capped_rate(life):
    estimates = life[0].estimates
    masses = np.array([estimate.trunk.mass for estimate in estimates])
    assert np.abs(np.diff(masses)).max() <= HAND_OVER_SHARE * ROBOT.total_mass * 0.004 + 1e-9
    found = next(k for k, estimate in enumerate(estimates) if estimate.change is not None)
    np.testing.assert_allclose(masses[: found + 1], NOMINAL)
    for trunk in [estimate.trunk for estimate in estimates[::40]]:
        assert InertialParameters(trunk.mass, trunk.com_L, trunk.inertia_Lcm).violations() == []
    assert all(estimate.hold == (estimate.phase is not Phase.WATCHING) for estimate in estimates)
    assert {estimate.reference for estimate in estimates} == {None}, "this method asks for no posture"


def test_a_posture_is_asked_for_at_the_height_at_which_the_robot_stands():
    scene = StandingHyq(pipeline(method="static_poses"), noise=SILENT)
    assert ["begins anew" in scene.pipe.identify() for _ in range(2)] == [False, True]
    asked = scene.run(2.0, until=lambda estimate: estimate.reference is not None).reference
    feet = ROBOT.frame_poses(scene.q, FEET)
    assert asked.height == pytest.approx(-np.mean([p[2] for _R, p in feet]), abs=1e-6)
    assert asked.height > 0.3


def test_measured_forces_give_the_same_trunk_without_any_effort():
    scene = StandingHyq(pipeline(ground_forces="measured"))
    scene.alter_joints = lambda reading: replace(reading, effort=None)
    scene.put_on(LOAD)
    assert_found(identified(scene), LOAD)


def test_noiseless_readings_give_the_exact_trunk_on_a_tilted_base():
    load = weight(com=(-0.2, 0.1, ROBOT.link_body("trunk").nominal_J.lever[2]))  # keeps the trunk's height
    scene = StandingHyq(pipeline(), noise=SILENT)
    scene.tilt = (0.12, -0.08)
    scene.put_on(load)
    last = identified(scene)
    mass, com_B = loaded_trunk(load)
    assert last.estimate.mass == pytest.approx(mass, rel=1e-9)
    np.testing.assert_allclose(last.estimate.com_L, com_B, atol=1e-3)


def test_steps_of_the_clock_either_way_keep_the_trunk_and_a_load_taken_off_meanwhile_is_found():
    scene = StandingHyq(pipeline())
    scene.put_on(LOAD)
    found = identified(scene)
    scene.stamp_ns += 5_000_000_000
    after_gap = scene.run(0.3)
    assert after_gap.stamp_ns == scene.stamp_ns
    assert after_gap.estimate.mass == found.estimate.mass
    scene.stamp_ns -= 60_000_000_000
    assert scene.run(0.8).estimate.mass == found.estimate.mass
    scene.stamp_ns -= 60_000_000_000
    scene.put_on(None)
    scene.run(1.5)
    right = scene.estimates[-1].estimate.mass == pytest.approx(NOMINAL, rel=0.02)
    assert right or scene.health()["payload"].level is not HealthLevel.OK


@pytest.mark.parametrize("broken", [False, True])
def test_after_a_failed_step_the_trunk_in_force_stays_or_the_nominal_one(broken, monkeypatch):
    scene = StandingHyq(pipeline(start="on_request"))
    scene.put_on(LOAD)
    scene.run(0.1)
    scene.pipe.identify()
    found, trunk = scene.run(6.0, until=lambda estimate: estimate.converged), scene.pipe.identification.trunk
    if broken:
        trunk.value = replace(trunk.value, com_B=np.full(3, np.nan))
    else:
        with monkeypatch.context() as failing:
            failing.setattr(scene.pipe._window.rest, "update", lambda state, dt: 1 // 0)
            scene.run(0.1)
    last = scene.run(0.3)
    assert scene.pipe._stepper.failures
    assert last.estimate.mass == (NOMINAL if broken else found.estimate.mass)


@pytest.mark.parametrize(("lost", "stream"), [("base", "base_state"), ("joints", "joint_states")])
def test_nothing_is_said_while_an_input_is_lost(lost, stream):
    scene = StandingHyq(pipeline())
    scene.run(0.2)
    scene.silent = {lost}
    scene.run(0.2)
    known = len(scene.estimates)
    scene.run(0.2)
    assert len(scene.estimates) == known
    entry = scene.health()["payload"]
    assert entry.level is HealthLevel.STALE
    assert entry.values["joint velocities"] == scene.pipe.inputs.joints.velocity_source
    assert stream in entry.message
    scene.silent = set()
    assert scene.run(0.3).stamp_ns == scene.stamp_ns


def without_torque_of(leg, value=np.nan):
    lost = np.array([name.startswith(leg) for name in ROBOT.joint_names])
    return lambda reading: replace(reading, effort=np.where(lost, value, reading.effort))


@pytest.mark.parametrize("lost", ["a wrench", "torques of a leg", "all joint states"])
def test_a_robot_is_not_held_for_an_input_that_does_not_come_back(impatient, lost):
    scene = StandingHyq(pipeline(ground_forces="measured" if lost == "a wrench" else "estimated"))
    scene.run(0.5)
    scene.pipe.identify()
    scene.run(0.1)
    if lost == "torques of a leg":
        scene.alter_joints = without_torque_of("lh")
    else:
        scene.silent = {FEET[0] if lost == "a wrench" else "joints"}
    scene.run(0.4)
    assert scene.pipe.identification.hold
    scene.run(1.2)
    assert not scene.pipe.identification.hold
    scene.silent, scene.alter_joints = set(), lambda reading: reading
    assert "input is missing" in scene.run(0.3).refusal


def test_wrenches_are_waited_for_only_where_forces_are_measured():
    for source, expected in (("estimated", True), ("measured", False)):
        scene = StandingHyq(pipeline(ground_forces=source))
        scene.silent = {"lh_foot"}
        assert (scene.run(0.2) is not None) == expected
    assert "lh_foot/wrench" in scene.health()["payload"].message


def sign_of(leg):
    """Torques and wrench of one leg with the wrong sign."""
    flipped = np.array([-1.0 if name.startswith(leg) else 1.0 for name in ROBOT.joint_names])
    return {
        "alter_joints": lambda reading: replace(reading, effort=flipped * reading.effort),
        "alter_wrench": lambda contact, wrench: -wrench if contact == f"{leg}_foot" else wrench,
    }


def on_a_stand(*standing):
    return {"alter_wrench": lambda contact, wrench: wrench if contact in standing else 0.02 * wrench}


def stretched():
    return {"q": np.where([name == "lf_kfe_joint" for name in ROBOT.joint_names], -0.01, StandingHyq(None).q)}


@pytest.mark.parametrize(
    ("source", "wrong", "words"),
    [
        ("estimated", sign_of("rf"), "pull at 'rf_foot'.*sign of its joint torques"),
        ("measured", sign_of("rf"), "pull at 'rf_foot'.*sign of its wrench"),
        ("measured", on_a_stand("lh_foot"), "only 'lh_foot' carries 30 N"),
        ("estimated", {"alter_joints": without_torque_of("rf", 0.0)}, "limb of rf_foot are exactly zero"),
        ("estimated", stretched(), "the limb of lf_foot is stretched"),
        ("estimated", {"tilt": (-2.1, 0.1)}, "the base is tilted by 2.1"),
    ],
)
def test_a_posture_or_force_that_cannot_be_measured_is_refused_and_named(impatient, source, wrong, words):
    scene = StandingHyq(pipeline(ground_forces=source), noise=SILENT)
    for name, value in wrong.items():
        setattr(scene, name, value)
    scene.run(0.5)
    assert scene.changes == []
    entry = scene.health()["payload"]
    assert entry.level is HealthLevel.WARN
    assert re.search(words, entry.message)
    scene.pipe.identify()
    last = identified(scene)
    assert not last.converged
    (refused,) = events(scene)
    assert (refused.values[KIND], refused.level) == ("refused", HealthLevel.ERROR)
    assert last.refusal in refused.message
    assert last.trunk.mass == pytest.approx(NOMINAL)
    assert "given up" in scene.health()["payload"].message


def test_a_wrench_that_reads_nothing_is_no_load_and_is_named():
    scene = StandingHyq(pipeline(ground_forces="measured"))
    scene.run(1.0)
    noise = np.random.default_rng(1)
    scene.alter_wrench = lambda contact, wrench: (
        wrench * (contact != "lf_foot") + 1e-3 * noise.standard_normal(6)
    )
    scene.run(0.4)
    health = scene.health()["payload"]
    assert health.level == HealthLevel.WARN
    assert "'lf_foot'" in health.message
    scene.pipe.reset()
    assert "alone" not in scene.health()["payload"].message
    scene.alter_wrench = lambda contact, wrench: wrench
    scene.run(0.4)
    assert scene.changes == []
    assert scene.health()["payload"].level == HealthLevel.OK
    scene.put_on(weight(mass=10.0, com=(0.35, 0.2, 0.1)))  # even near a corner it loads more than one foot
    scene.run(0.4)
    assert kinds(scene) == ["loaded"]


def test_a_robot_that_moves_up_and_down_is_weighed_with_its_acceleration():
    """It bounces at 2 Hz with 1.5 m/s^2; ideal sensors of the whole motion."""
    scene = StandingHyq(pipeline(start="on_request"), noise=SILENT)
    scene.bounce(amplitude=1.5 / (4.0 * np.pi) ** 2, frequency=2.0)
    scene.run(1.0)
    assert not any(estimate.at_rest for estimate in scene.estimates[20:])
    assert scene.changes == []
    scene.put_on(LOAD)
    scene.run(0.5)
    assert kinds(scene) == ["loaded"]
    assert scene.changes[0].mass_measured == pytest.approx(loaded_trunk(LOAD)[0], abs=3.0)
