"""Controller and simulated robots: what must hold in physics."""

import numpy as np
import pytest
from support.control_robots import PANDA_HOME, ClosedLoop, pipeline_of, simulation_of

from inertial_estimation.control.controller import ControlState
from inertial_estimation.control.references import HEIGHT_RATE, JOINT_RATE, WalkCommand
from inertial_estimation.control.walking.gait import GaitPhase
from inertial_estimation.signals import BaseReference, JointReading
from inertial_estimation.simulation.disturbances import MassWaveform, Push

pytest.importorskip("example_robot_data")
pytest.importorskip("mujoco")
TORSO, FOREARM, ELBOW = "torso_2_link", "arm_left_5_link", "arm_left_4_joint"


def nominal_mass(link: str) -> float:
    return float(pipeline_of("talos").robot.link_body(link).nominal_J.mass)


@pytest.mark.parametrize(
    ("robot", "link", "force"), [("talos", TORSO, (-150.0, 100.0, 0.0)), ("hyq", "trunk", (0.0, 200.0, 0.0))]
)
def test_standing_recovers_from_a_push(robot, link, force) -> None:
    push = Push(link, np.array(force), start=0.5)
    loop = ClosedLoop(simulation_of(robot, (push,)), pipeline_of(robot))
    assert loop.run(0.5)
    still = loop.simulation.truth().com_W
    farthest = [0.0]

    def watch(_: float) -> None:
        farthest[0] = max(farthest[0], np.linalg.norm(loop.simulation.truth().com_W - still))

    assert loop.run(3.0, watch)
    assert farthest[0] > 0.01  # it was a push
    assert np.linalg.norm(loop.simulation.truth().com_velocity_W) < 0.01
    assert set(loop.states) == {ControlState.CONTROL}


@pytest.mark.parametrize("robot", ["talos", "hyq"])
@pytest.mark.parametrize("fault", ["base state lost", "controller restarted"])
def test_a_robot_on_its_brakes_is_taken_over_where_it_stands(robot, fault) -> None:
    loop = ClosedLoop(simulation_of(robot), pipeline_of(robot))
    assert loop.run(0.4)
    height = loop.simulation.truth().base.p_WB[2]
    push = loop.pipeline.push_base_state
    loop.pipeline.push_base_state = lambda state: None
    assert loop.run(0.1)
    loop.simulation.brake(1e5)  # as the drives do without commands
    assert loop.run(0.4)
    if fault == "controller restarted":
        loop.pipeline = pipeline_of(robot)
    else:
        loop.pipeline.push_base_state = push
    loop.states.clear()
    speeds = []
    assert loop.run(1.0, lambda _: speeds.append(np.abs(loop.simulation.truth().v).max()))
    assert set(loop.states) == {ControlState.CONTROL}
    assert max(speeds[10:]) < 2.0 * JOINT_RATE, "smoothly"
    assert loop.simulation.truth().base.p_WB[2] == pytest.approx(height, abs=0.01)
    assert np.abs(loop.simulation.truth().v).max() < 0.05
    assert loop.pipeline.supervisor.counts.gaps == (fault == "base state lost")


def test_a_step_of_the_height_reference_is_tracked_smoothly() -> None:
    loop = ClosedLoop(simulation_of("talos"), pipeline_of("talos"))
    assert loop.run(0.5)
    start = loop.simulation.truth().base.p_WB[2]
    loop.pipeline.push_base_reference(BaseReference(loop.pipeline.last.height - 0.06))
    speeds = []
    assert loop.run(2.0, lambda _: speeds.append(loop.simulation.truth().base.v_WB_B[2]))
    assert loop.simulation.truth().base.p_WB[2] - start == pytest.approx(-0.06, abs=0.003)
    assert max(np.abs(speeds)) < 1.2 * HEIGHT_RATE


def test_three_steps_do_not_fall_and_go_where_they_should() -> None:
    loop = ClosedLoop(simulation_of("talos"), pipeline_of("talos"))
    assert loop.run(0.3)
    before = loop.simulation.truth().base.p_WB
    loop.pipeline.push_walk_command(WalkCommand(3, 0.15))
    assert loop.run(5.8)
    gait = loop.pipeline.controller.gait
    assert (gait.steps_made, gait.phase) == (3, GaitPhase.STANDING)
    # Two steps of 0.15 m, the third closes the feet; the pelvis ends above them.
    assert loop.simulation.truth().base.p_WB[0] - before[0] == pytest.approx(0.3, abs=0.04)
    assert set(loop.states) == {ControlState.CONTROL}


def test_a_compliant_elbow_sags_by_the_load_over_its_stiffness_until_the_inertia_is_told() -> None:
    stiffness = 25.0
    values = {
        "posture.joints": (ELBOW,),
        "posture.stiffnesses": (stiffness,),
        "inertias.links": (FOREARM,),
    }
    load = MassWaveform(FOREARM, "step", nominal_mass(FOREARM) + 2.0)
    loop = ClosedLoop(simulation_of("talos", (load,)), pipeline_of("talos", **values))
    joint = loop.pipeline.robot.joint_index(ELBOW)
    wanted = loop.simulation.truth().q[joint]
    assert loop.run(1.8)
    sag = abs(loop.simulation.truth().q[joint] - wanted)
    truth = loop.simulation.truth((FOREARM,)).inertias[FOREARM]
    loop.pipeline.push_inertia(loop.simulation.stamp_ns, truth)
    assert loop.run(1.8)
    left = abs(loop.simulation.truth().q[joint] - wanted)
    assert sag > 0.3
    assert left < 0.03


def test_an_arm_follows_a_joint_reference() -> None:
    loop = ClosedLoop(simulation_of("panda", **PANDA_HOME), pipeline_of("panda", **PANDA_HOME))
    joint = loop.pipeline.robot.joint_index("panda_joint4")
    errors = []

    def curl(t: float) -> None:
        angle, rate = 0.4 * np.sin(2.0 * t), 0.8 * np.cos(2.0 * t)
        reference = JointReading(0, ("panda_joint4",), np.array([angle - 1.8]), np.array([rate]))
        loop.pipeline.push_joint_reference(reference)
        errors.append(loop.simulation.truth().q[joint] - angle + 1.8)

    assert loop.run(3.0, curl)
    assert np.abs(errors[300:]).max() < 0.03
