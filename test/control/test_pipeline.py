"""The pipeline: which joint states are answered, what inertias do, what bad input does."""

import numpy as np
import pinocchio as pin
import pytest
from support.control_robots import PANDA_HOME, TICK_NS, UPRIGHT, home, pipeline_of, push_state

from inertial_estimation.control.controller import ControlState
from inertial_estimation.control.inverse_dynamics import QpSolver
from inertial_estimation.control.pipeline import STOPPED, ControllerPipeline
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.supervisor import FALLBACK_DAMPING
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import BaseState, HealthLevel, JointReading, LinkInertia, WrenchSample
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation
from inertial_estimation.synthetic.ideal_robots import IdealSensors, MotionState

FOREARM = "arm_left_5_link"


def torques(pipeline: ControllerPipeline, stamp_ns: int, **state: np.ndarray) -> np.ndarray:
    push_state(pipeline, stamp_ns, home(pipeline), **state)
    (command,) = pipeline.tick(stamp_ns)
    assert command.stamp_ns == stamp_ns
    return command.tau


def level(pipeline: ControllerPipeline, name: str, now_ns: int) -> HealthLevel:
    return {health.name: health.level for health in pipeline.health(now_ns)}[name]


@pytest.fixture(scope="module")
def talos() -> ControllerPipeline:
    return pipeline_of("talos", **{"inertias.links": ("torso_2_link", FOREARM)})


@pytest.fixture
def fresh(talos: ControllerPipeline) -> ControllerPipeline:
    talos.reset()
    return talos


def test_standing_torques_and_forces_balance_the_robot(fresh) -> None:
    tau = torques(fresh, 0)
    result = fresh.last
    assert result.state is ControlState.CONTROL
    frames = fresh.config.robot.contact_frames
    sensors = IdealSensors(fresh.robot, contact_frames=frames)
    readings = sensors.read(
        MotionState(
            fresh.robot.configuration(home(fresh)), np.zeros(fresh.robot.model.nv), result.acceleration
        )
    )
    weight = 9.81 * fresh.robot.total_mass
    total = result.wrenches_C[:, 2].sum()
    assert total == pytest.approx(readings.wrenches_C[:, 2].sum(), rel=1e-4)
    assert total == pytest.approx(weight, rel=0.01)
    arms = [i for i, name in enumerate(fresh.robot.joint_names) if "leg" not in name]
    np.testing.assert_allclose(tau[arms], readings.tau[arms], atol=1e-3)  # the legs share their load at will


def test_position_and_yaw_of_the_base_have_no_effect(fresh) -> None:
    rng = np.random.default_rng(0)
    q, v, twist = home(fresh), 0.05 * rng.standard_normal(32), 0.05 * rng.standard_normal(6)
    tilt = exp_so3(np.array([0.02, -0.03, 0.0]))
    found = []
    for yaw, position in ((0.0, (0.0, 0.0, 1.0)), (2.1, (5.0, -3.0, 7.0))):
        fresh.reset()
        turned = quaternion_from_rotation(exp_so3(np.array([0.0, 0.0, yaw])) @ tilt)
        for k in range(5):
            base = {"quaternion": turned, "position": np.array(position) * (1.0 + k), "twist": twist}
            push_state(fresh, k * TICK_NS, q, v, **base)
            (command,) = fresh.tick(k * TICK_NS)
        found.append(command.tau)
    np.testing.assert_allclose(found[0], found[1], atol=1e-2)


def test_a_joint_state_is_answered_with_the_base_state_of_its_time(fresh) -> None:
    q = home(fresh)
    fresh.push_joints(JointReading(2 * TICK_NS, fresh.robot.joint_names, q, np.zeros_like(q)))
    assert fresh.tick(2 * TICK_NS) == []
    fresh.push_base_state(BaseState(TICK_NS, UPRIGHT, *np.zeros((3, 3))))
    assert fresh.tick(2 * TICK_NS) == []
    fresh.push_base_state(BaseState(3 * TICK_NS, UPRIGHT, *np.zeros((3, 3))))
    assert [command.stamp_ns for command in fresh.tick(3 * TICK_NS)] == [2 * TICK_NS], "interpolated"


def heavy(link: str, robot, extra: float) -> LinkInertia:
    body = robot.link_body(link)
    own = body.T_JL.actInv(body.nominal_J)
    return LinkInertia(link, own.mass + extra, own.lever, own.inertia)


def test_inertias_of_one_stamp_take_effect_together_and_as_in_a_loaded_robot(fresh) -> None:
    before = torques(fresh, 0)
    fresh.push_inertia(5, heavy("torso_2_link", fresh.robot, 6.0))
    half = torques(fresh, TICK_NS)
    fresh.push_inertia(5, heavy(FOREARM, fresh.robot, 3.0))
    after = torques(fresh, 2 * TICK_NS)
    shoulder = fresh.robot.joint_index("arm_left_2_joint")
    np.testing.assert_allclose(half[shoulder], before[shoulder], atol=0.05)
    assert abs(after[shoulder] - before[shoulder]) > 1.0
    assert fresh.last.wrenches_C[:, 2].sum() == pytest.approx(9.81 * (fresh.robot.total_mass + 9.0), rel=0.02)
    fresh.reset()
    np.testing.assert_allclose(torques(fresh, 3 * TICK_NS)[shoulder], before[shoulder], atol=1e-3)


def test_a_joint_state_waits_for_inertias_of_its_tick_until_they_have_stopped(fresh) -> None:
    fresh.set_parameter("inertias.max_age", 1.5e-9 * TICK_NS)
    try:
        torques(fresh, 0)  # none have come yet: nothing to wait for
        fresh.push_inertia(0, heavy(FOREARM, fresh.robot, 3.0))
        fresh.push_inertia(0, heavy("torso_2_link", fresh.robot, 1.0))
        without = torques(fresh, TICK_NS)
        push_state(fresh, 2 * TICK_NS, home(fresh))
        assert fresh.tick(2 * TICK_NS) == []
        for link in fresh.config.inertias.links:
            assert fresh.tick(2 * TICK_NS) == []
            fresh.push_inertia(TICK_NS, heavy(link, fresh.robot, 6.0))
        (command,) = fresh.tick(2 * TICK_NS)
        assert command.stamp_ns == 2 * TICK_NS
        assert np.abs(command.tau - without).max() > 1.0, "and they are in force in the answer"
        later = round(1e9 * STOPPED * fresh.config.robot.inputs.timeout) + 2 * TICK_NS
        push_state(fresh, later, home(fresh))  # the first one after a gap has no base state of its time
        torques(fresh, later + TICK_NS)
    finally:
        fresh.set_parameter("inertias.max_age", 0.0)


def test_inertias_that_are_not_applied_are_awaited_and_change_nothing(fresh) -> None:
    changes = {"inertias.links": (FOREARM,), "inertias.applied": False, "inertias.max_age": 1.5e-9 * TICK_NS}
    apart = pipeline_of("talos", **changes)
    assert np.array_equal(torques(apart, 0), torques(fresh, 0))
    apart.push_inertia(0, heavy(FOREARM, apart.robot, 3.0))
    assert np.array_equal(torques(apart, TICK_NS), torques(fresh, TICK_NS))
    push_state(apart, 2 * TICK_NS, home(apart))
    assert apart.tick(2 * TICK_NS) == []
    apart.push_inertia(TICK_NS, heavy(FOREARM, apart.robot, 6.0))
    (command,) = apart.tick(2 * TICK_NS)
    assert np.array_equal(command.tau, torques(fresh, 2 * TICK_NS))
    (health,) = (h for h in apart.health(2 * TICK_NS) if h.name == "link_inertias")
    assert (health.level, "inertias.applied" in health.message) == (HealthLevel.OK, True)


def test_an_unsolved_program_is_answered_by_damping_with_the_reason(fresh, monkeypatch) -> None:
    size = fresh.controller._builder.size
    monkeypatch.setattr(fresh.controller, "_solver", QpSolver(size, 1e-10, (1, 6)))
    push_state(fresh, 0, home(fresh), np.full(32, 0.3), twist=np.full(6, 0.2))
    (command,) = fresh.tick(0)
    assert fresh.last.state is ControlState.DAMPING
    assert "iterations exhausted" in fresh.last.reason
    np.testing.assert_allclose(command.tau, -0.3 * FALLBACK_DAMPING, atol=5.0)
    assert (command.tau < 0.0).all()


def test_an_arm_gets_the_torques_of_inverse_dynamics() -> None:
    panda = pipeline_of("panda", **PANDA_HOME)
    q = home(panda)
    tau = torques(panda, 0)
    oracle = pin.rnea(
        panda.robot.model, panda.robot.model.createData(), panda.robot.configuration(q), 0 * q, 0 * q
    )
    np.testing.assert_allclose(tau, oracle, atol=1e-3)


def test_torque_errors_are_added_to_what_the_model_says(fresh) -> None:
    """They change the torques of these joints alone, within the tolerance of the program."""
    names = fresh.robot.joint_names
    before = torques(fresh, 0)
    errors = {"arm_left_4_joint": 0.8, "torso_1_joint": -1.5}
    fresh.torque_errors.push(errors)
    change = torques(fresh, 3_000_000) - before
    expected = np.array([errors.get(name, 0.0) for name in names])
    upper = [i for i, name in enumerate(names) if not name.startswith("leg_")]
    np.testing.assert_allclose(change[upper], expected[upper], atol=0.05)
    fresh.reset()
    np.testing.assert_allclose(torques(fresh, 0), before, atol=1e-6)


def test_a_wrench_on_the_base_is_carried_by_the_contacts(fresh) -> None:
    torques(fresh, 0)
    before = fresh.last.wrenches_C.copy()
    fresh.torque_errors.push({"base_force_z": 20.0})
    torques(fresh, 3_000_000)
    change = (fresh.last.wrenches_C - before).sum(axis=0)
    np.testing.assert_allclose(change[:3], [0.0, 0.0, 20.0], atol=1.0)


@pytest.mark.parametrize("bad", [{"no_joint": 0.1}, {"torso_1_joint": np.nan}, {"base_moment_x": 25.0}])
def test_impossible_torque_errors_are_refused_in_health(fresh, bad) -> None:
    fresh.torque_errors.push({"torso_1_joint": 0.5})
    assert "torque_errors" not in [part.name for part in fresh.health(0)]
    fresh.torque_errors.push({"torso_2_joint": 0.5, **bad})
    assert level(fresh, "torque_errors", 0) is HealthLevel.WARN
    assert sorted(fresh.torque_errors.errors) == [0.0] * (fresh.robot.n_joints + 5) + [0.5]
    fresh.torque_errors.push({})
    assert level(fresh, "torque_errors", 0) is HealthLevel.OK
    assert not fresh.torque_errors.errors.any()


def test_a_joint_reference_is_kept_within_the_limits_of_the_urdf(fresh) -> None:
    elbow = fresh.robot.joint_index("arm_left_4_joint")
    lowest = float(fresh.robot.model.lowerPositionLimit[7 + elbow])
    torques(fresh, 0)
    fresh.push_joint_reference(JointReading(0, ("arm_left_4_joint",), np.array([lowest - 1.0])))
    for k in range(1, 600):
        torques(fresh, k * TICK_NS)
    assert fresh.last.q_ref[elbow] == pytest.approx(lowest)


def test_runtime_parameters_change_the_gains_and_others_are_refused(fresh) -> None:
    torques(fresh, 0)
    elbow, q, demands = fresh.robot.joint_index("arm_left_4_joint"), home(fresh), []
    q[elbow] += 0.05
    for k, stiffness in ((1, 400.0), (2, 100.0)):
        fresh.set_parameter("posture.stiffness", stiffness)
        push_state(fresh, k * TICK_NS, q)
        fresh.tick(k * TICK_NS)
        demands.append(fresh.last.acceleration[6 + elbow])
    assert demands[0] / demands[1] == pytest.approx(4.0, rel=1e-3)
    with pytest.raises(ConfigurationError, match="cannot change"):
        fresh.set_parameter("rate", 100.0)


def test_forces_are_normal_to_the_sole_whatever_the_axes_of_its_sensor(talos) -> None:
    down = {"frames.names": ("left", "right"), "frames.poses": 2 * (0.0, 0.0, 0.0, np.pi, 0.0, 0.0)}
    soles = talos.config.robot.contact_frames
    turned = pipeline_of("talos", **down, **{"frames.links": soles, "wrench_frames": ("left", "right")})
    turned.push_wrench("left_foot", WrenchSample(TICK_NS - 1, [0.0, 0.0, -300.0, 0.0, 0.0, 0.0]))
    push_state(turned, TICK_NS, home(turned))
    assert turned._sensed.normal_forces(turned.inputs.ready()[0]) == [pytest.approx(300.0), None]


def test_it_does_not_matter_whether_a_wrench_comes_before_or_after_its_joint_state(talos) -> None:
    found = []
    for wrench_first in (True, False):
        talos.reset()
        talos.push_walk_command(WalkCommand(1))
        phases = []
        for k in range(620):
            stamp, load = k * TICK_NS, 200.0 if k > 560 else 0.0
            wrench = WrenchSample(stamp, np.array([0.0, 0.0, load, 0.0, 0.0, 0.0]))
            if wrench_first:
                talos.push_wrench("left_foot", wrench)
            torques(talos, stamp)
            if not wrench_first:
                talos.push_wrench("left_foot", wrench)
            phases.append(talos.last.activity)
        found.append(phases)
    assert found[0] == found[1]
    assert "swing of left_foot" in found[0]
    assert found[0][-1] == "transfer to both"  # the force ended the swing
