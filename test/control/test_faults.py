"""Faults on the inputs of the controller: bounded torques, a named cause, and control again afterwards."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.control_robots import TICK_NS, UPRIGHT, home, pipeline_of, push_state

import inertial_estimation as ie
from inertial_estimation.control.controller import ControlState
from inertial_estimation.control.inverse_dynamics import MAX_ITERATIONS
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.supervisor import FaultCause
from inertial_estimation.models.contacts import FALLEN_RAD
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation

TORSO = "torso_2_link"
ANY_NUMBER = st.floats(width=64)


@pytest.fixture(scope="module")
def built() -> ie.ControllerPipeline:
    return pipeline_of("talos", **{"inertias.links": (TORSO,)})


@pytest.fixture
def talos(built: ie.ControllerPipeline) -> ie.ControllerPipeline:
    built.reset()
    return built


def answer(pipeline: ie.ControllerPipeline, tick: int, **state: np.ndarray) -> np.ndarray:
    """Torques of a tick in the home posture, unless stated otherwise; they are always sane."""
    push_state(pipeline, tick * TICK_NS, **{"q": home(pipeline), **state})
    (command,) = pipeline.tick(tick * TICK_NS)
    assert np.isfinite(command.tau).all()
    assert (np.abs(command.tau) <= pipeline.controller.dynamics.limits.effort).all()
    return command.tau


def controller_health(pipeline: ie.ControllerPipeline, tick: int):
    return next(part for part in pipeline.health(tick * TICK_NS) if part.name == "controller")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), number=ANY_NUMBER, scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_any_numbers_on_any_input_give_bounded_torques_and_control_returns(
    built: ie.ControllerPipeline, data: st.DataObject, number: float, scale: float
) -> None:
    built.reset()
    answer(built, 0)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    state = {
        "q": home(built) + scale * rng.standard_normal(32),
        "v": scale * rng.standard_normal(32),
        "quaternion": quaternion_from_rotation(exp_so3(scale * rng.standard_normal(3))),
        "twist": scale * rng.standard_normal(6),
    }
    which = data.draw(st.sampled_from(sorted(state)))
    state[which][data.draw(st.integers(0, len(state[which]) - 1))] = number
    for tick in range(1, 4):
        push_state(built, tick * TICK_NS, **state)
        for command in built.tick(tick * TICK_NS):
            assert np.isfinite(command.tau).all()
            assert (np.abs(command.tau) <= built.controller.dynamics.limits.effort).all()
        outer, inner = MAX_ITERATIONS
        assert built.last.qp_iterations <= outer * (inner + 1)
        built.health(tick * TICK_NS)
    answer(built, 4)
    # Joints that had jumped, and stayed there, jump again as they return: one reading is dropped. A program
    # that is not solved from a solution far away begins anew with the next one.
    dropped = "jumped" in built.last.reason
    for tick in (5, 6)[: 1 + dropped]:
        answer(built, tick)
    assert built.last.state is ControlState.CONTROL
    assert controller_health(built, tick).level is not ie.HealthLevel.ERROR


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(numbers=st.lists(ANY_NUMBER, min_size=10, max_size=10), steps=st.integers(0, 10**12))
def test_any_references_inertias_and_wrenches_leave_the_robot_in_control(
    built: ie.ControllerPipeline, numbers: list[float], steps: int
) -> None:
    built.reset()
    answer(built, 0)
    a = np.array(numbers)
    names = built.robot.joint_names[:5]
    built.push_joint_reference(ie.JointReading(0, names, a[:5], a[5:]))
    if np.isfinite(a[:6]).all():
        built.push_base_reference(ie.BaseReference(*a[:6]))
    if np.isfinite(a[0]):
        built.push_walk_command(WalkCommand(steps, a[0]))
    built.push_inertia(1, ie.LinkInertia(TORSO, a[0], a[1:4], np.diag(a[4:7])))
    built.push_wrench("left_foot", ie.WrenchSample(TICK_NS - 1, a[:6]))
    for tick in range(1, 4):
        answer(built, tick)
        assert built.last.state is ControlState.CONTROL, built.last.reason


@pytest.mark.parametrize(
    ("state", "cause", "said"),
    [
        ({"q": 1e30}, FaultCause.IMPOSSIBLE, "joint_states: out of range: position of leg_left_1_joint"),
        ({"v": 20.0}, FaultCause.JOINT_SPEED, "joint_states"),
        ({"twist": 1e5}, FaultCause.IMPOSSIBLE, "base_state: out of range: velocity x"),
        ({"twist": 15.0}, FaultCause.BASE_SPEED, "base_state"),
        ({"quaternion": 1e-9}, FaultCause.IMPOSSIBLE, "base_state: quaternion without direction"),
    ],
)
def test_absurd_states_are_damped_and_the_cause_is_counted_and_named(talos, state, cause, said) -> None:
    answer(talos, 0)
    sound = {"q": home(talos), "v": np.full(32, 0.1), "quaternion": UPRIGHT.copy(), "twist": np.zeros(6)}
    ((name, number),) = state.items()
    bad = 3 if name == "twist" else 1
    if name == "quaternion":
        sound[name] = number * UPRIGHT
    else:
        sound[name][0] = number
    tau = answer(talos, bad, **sound)
    assert talos.last.state is ControlState.DAMPING
    assert talos.supervisor.counts.faults == {cause: 1}
    assert (tau[6:] < -0.01).all(), "it brakes by the newest velocities"
    assert np.abs(tau).max() < 1.0, "and a false reading gives no kick"
    health = controller_health(talos, bad)
    assert health.level is ie.HealthLevel.ERROR
    assert said in health.message
    assert health.values[f"fault: {cause.value}"] == "1"
    answer(talos, bad + 1)
    assert talos.last.state is ControlState.CONTROL
    assert controller_health(talos, bad + 1).level is ie.HealthLevel.WARN, "diagnostics at 1 Hz show it"
    later = 2 + 11 * 10**9 // TICK_NS
    push_state(talos, (later - 1) * TICK_NS, home(talos))
    answer(talos, later)
    assert controller_health(talos, later).level is ie.HealthLevel.OK


def test_an_impossible_reading_is_braked_also_after_a_position_was_once_missing(talos) -> None:
    v, q = np.full(32, 0.1), home(talos)
    answer(talos, 0, q=q, v=v)
    missing = q.copy()
    missing[3] = np.nan
    push_state(talos, TICK_NS, missing, -v)
    for tick in range(2, 60):
        push_state(talos, tick * TICK_NS, q, v)
        talos.tick(tick * TICK_NS)
    assert talos.last.state is ControlState.CONTROL
    tau = answer(talos, 60, q=np.where(np.arange(32) == 3, 1e30, q), v=v)
    assert talos.last.state is ControlState.DAMPING
    assert (tau[6:] < 0.0).all(), "as fast as the joints move"
    for tick, sent in ((61, np.full(32, 1e30)), (59, q)):  # then the last possible one again
        reading = ie.JointReading(tick * TICK_NS, talos.robot.joint_names, sent, v)
        talos.inputs.push("joint_states", reading, 61 * TICK_NS)
    talos.tick(61 * TICK_NS)
    assert "out of range" in talos.last.reason


def test_a_fallen_robot_is_damped_until_it_is_upright_with_a_narrower_limit(talos) -> None:
    def tilted(angle: float) -> np.ndarray:
        return quaternion_from_rotation(exp_so3(np.array([0.0, angle, 0.0])))

    answer(talos, 0, quaternion=tilted(FALLEN_RAD + 0.02))
    assert "fallen" in controller_health(talos, 0).message
    answer(talos, 1, quaternion=tilted(FALLEN_RAD - 0.02))
    assert talos.last.state is ControlState.DAMPING
    answer(talos, 2, quaternion=tilted(0.0))
    assert talos.last.state is ControlState.CONTROL


def test_failed_solutions_are_bridged_by_the_last_torques_and_then_damped(talos, monkeypatch) -> None:
    good = answer(talos, 0)
    states = []
    for tick in range(1, 13):
        error = (ZeroDivisionError("x"), OverflowError("y"), np.linalg.LinAlgError("z"))[tick % 3]
        monkeypatch.setattr(talos.controller, "step", _raising(error))
        states.append((answer(talos, tick), talos.last.state))
    assert [state for _, state in states[:6]] == [ControlState.HOLDING] * 6
    np.testing.assert_array_equal(states[0][0], good)
    assert {state for _, state in states[7:]} == {ControlState.DAMPING}
    counts, by_state = talos.supervisor.counts, Counter(state for _, state in states)
    assert counts.faults == {FaultCause.COMPUTATION: 12}
    assert (counts.held, counts.damped) == (by_state[ControlState.HOLDING], by_state[ControlState.DAMPING])
    assert counts.steps == 1 + counts.held + counts.damped
    monkeypatch.undo()
    answer(talos, 13)
    assert talos.last.state is ControlState.CONTROL


def test_a_programming_error_is_not_swallowed(talos, monkeypatch) -> None:
    monkeypatch.setattr(talos.controller, "step", _raising(TypeError("a mistake")))
    push_state(talos, 0, home(talos))
    with pytest.raises(TypeError, match="a mistake"):
        talos.tick(0)


def _raising(error: Exception):
    def step(*_: object) -> None:
        raise error

    return step


@pytest.mark.parametrize("lost", ["joint_states", "base_state"])
@pytest.mark.parametrize("duration_s", [0.1, 0.5])
def test_a_lost_input_is_named_and_control_returns_with_its_second_reading(talos, lost, duration_s) -> None:
    answer(talos, 0)
    ticks, q = round(duration_s * 1e9 / TICK_NS), home(talos)
    for tick in range(1, ticks, 3):
        stamp = tick * TICK_NS
        if lost != "joint_states":
            talos.push_joints(ie.JointReading(stamp, talos.robot.joint_names, q, np.zeros(32)))
        if lost != "base_state":
            talos.push_base_state(ie.BaseState(stamp, UPRIGHT, *np.zeros((3, 3))))
        assert talos.tick(stamp) == []
        said = controller_health(talos, tick)
    if duration_s > talos.config.robot.inputs.timeout:
        assert said.level is ie.HealthLevel.STALE
        assert lost in said.message
    q_then = q + 0.02
    push_state(talos, (ticks + 1) * TICK_NS, q_then)
    talos.tick((ticks + 1) * TICK_NS)
    answer(talos, ticks + 2, q=q_then)
    assert talos.last.state is ControlState.CONTROL
    np.testing.assert_allclose(talos.last.q_ref, q_then, atol=1e-4, err_msg="they begin where it is")


@pytest.mark.parametrize(
    ("push", "expected"),
    [
        (lambda p: p.push_base_reference(ie.BaseReference(1e9)), "height 1e+09 m"),
        (lambda p: p.push_walk_command(WalkCommand(1, 9.0)), "steps of 9 m"),
        (lambda p: p.push_joint_reference(ie.JointReading(0, ("wing",), [0.0])), "no joint wing"),
        (lambda p: p.push_joint_reference(ie.JointReading(0, ("torso_1_joint",), [np.nan])), "not finite"),
    ],
)
def test_references_out_of_reach_are_refused_and_named(talos, push, expected) -> None:
    answer(talos, 0)
    talos.push_walk_command(WalkCommand(2, 0.4))
    push(talos)
    values = controller_health(talos, 0).values
    assert values["references refused"] == "1"
    assert expected in values["last refusal"]


@pytest.mark.parametrize(
    ("share", "roll", "pitch", "length", "refused"),
    [
        (0.31, 0.0, 0.89, 0.49, 0),
        (1.29, -0.89, 0.0, -0.49, 0),
        (0.29, 0.0, 0.0, 0.51, 2),
        (1.31, 0.0, 0.0, -0.51, 2),
        (1.0, -0.91, 0.0, 0.0, 1),
        (1.0, 0.0, 0.91, 0.0, 1),
    ],
)
def test_references_are_taken_up_to_what_a_robot_of_its_height_reaches(
    talos, share, roll, pitch, length, refused
) -> None:
    answer(talos, 0)
    height = talos.last.height
    talos.push_base_reference(ie.BaseReference(share * height, roll, pitch))
    talos.push_walk_command(WalkCommand(1, length * height))
    assert controller_health(talos, 0).values.get("references refused", "0") == str(refused)
