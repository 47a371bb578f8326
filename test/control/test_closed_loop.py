"""Controller and simulated robots: what must hold in physics."""

from itertools import pairwise

import numpy as np
import pytest
from support.control_robots import TICK_NS, home, pipeline_of, push_state

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE
from inertial_estimation.control.controller import ControlState
from inertial_estimation.control.references import JOINT_RATE, WalkCommand
from inertial_estimation.control.walking.gait import GaitPhase
from inertial_estimation.simulation.config import NOISE_FREE
from inertial_estimation.simulation.disturbances import Attachment, Push, ball

TORSO = "torso_2_link"
RATE_HZ = 200.0  # of the controller: enough for these motions, and half the work


def released(robot: str, *disturbances, **parameters: object) -> ClosedLoop:
    """A robot whose controller gets the true base state, and its inertias by nobody."""
    overrides = {CONTROLLER_NODE: {"rate": RATE_HZ, **parameters}}
    loop = RobotLoop(robot, overrides, NOISE_FREE).build(disturbances=disturbances, inertial=False)
    loop.tilt = None
    loop.release(0.0)
    return loop


def run(loop: ClosedLoop, duration_s: float, look=lambda loop: None) -> set[ControlState]:
    """Run for a time, in which the robot does not fall; the states of its controller."""
    states = set()

    def tick(loop: ClosedLoop) -> None:
        states.add(loop.controller.last.state)
        look(loop)

    loop.run(duration_s, tick)
    assert not loop.simulation.fallen
    return states


@pytest.mark.parametrize(
    ("robot", "link", "force"), [("talos", TORSO, (-150.0, 100.0, 0.0)), ("hyq", "trunk", (0.0, 200.0, 0.0))]
)
def test_standing_recovers_from_a_push(robot, link, force) -> None:
    loop = released(robot, Push(link, np.array(force), start=0.5))
    run(loop, 0.5)
    still, moved = loop.simulation.truth().com_W, []
    states = run(loop, 2.2, lambda loop: moved.append(np.linalg.norm(loop.simulation.truth().com_W - still)))
    assert max(moved) > 0.01  # it was a push
    assert np.linalg.norm(loop.simulation.truth().com_velocity_W) < 0.01
    assert states == {ControlState.CONTROL}


@pytest.mark.parametrize(("robot", "fault"), [("talos", "base state lost"), ("hyq", "controller restarted")])
def test_a_robot_on_its_brakes_is_taken_over_where_it_stands(robot, fault) -> None:
    loop = released(robot)
    run(loop, 0.4)
    height = loop.simulation.truth().base.p_WB[2]
    push = loop.controller.push_base_state
    loop.controller.push_base_state = lambda state: None
    run(loop, 0.1)
    loop.simulation.brake(1e5)  # as the drives do without commands
    run(loop, 0.4)
    if fault == "controller restarted":
        loop.controller = pipeline_of(robot)
    else:
        loop.controller.push_base_state = push
    speeds = []
    states = run(loop, 1.0, lambda loop: speeds.append(np.abs(loop.simulation.truth().v).max()))
    assert states == {ControlState.CONTROL}
    assert max(speeds[10:]) < 2.0 * JOINT_RATE, "smoothly"
    assert loop.simulation.truth().base.p_WB[2] == pytest.approx(height, abs=0.01)
    assert np.abs(loop.simulation.truth().v).max() < 0.05
    assert loop.controller.supervisor.counts.gaps == (fault == "base state lost")


HOLD = (1.2, 2.8)  # begins in the first swing [s]
TOLD = 2.3  # when the controller is told of the load that was put on at 2 s
BACKPACK = ball("trunk", 10.2, (-0.75, 0.4, 0.0))


class Recorder:
    """What happens at every tick: truth, phase, errors."""

    def __init__(self) -> None:
        self.rows, self.triangles = [], []

    def __call__(self, loop: ClosedLoop) -> None:
        truth, last = loop.simulation.truth(), loop.controller.last
        swing = last.activity.split()[-1] if last.phase is GaitPhase.SWING else None
        feet = [name for name in loop.controller.contacts if name != swing]
        if swing is not None:
            corners = np.array([truth.points_W[name].reshape(-1, 3)[0, :2] for name in feet])
            shares = np.linalg.solve(np.vstack((corners.T, np.ones(3))), [*truth.com_W[:2], 1.0])
            loads = [np.linalg.norm(truth.wrenches_C[name][:3]) for name in feet]
            self.triangles.append((float(shares.min()), float(min(loads))))
        base, error = truth.base, last.dcm - last.dcm_ref
        speeds = (
            np.abs(truth.v[6:]).max() / 0.05,
            np.linalg.norm(base.v_WB_B) / 0.02,
            np.linalg.norm(base.w_WB_B) / 0.03,
            np.linalg.norm(truth.a[:3]) / 0.1,
        )
        self.rows.append(
            (loop.time_s, last.activity, float(np.abs(error).max()), float(max(speeds)), last.state)
        )

    @property
    def phases(self) -> list[str]:
        names = [row[1] for row in self.rows]
        return [names[0], *(b for a, b in pairwise(names) if a != b)]

    def longest_rest(self, phase: str) -> float:
        """Longest time within one phase in which all speeds are those of rest [s]."""
        best = run = 0
        for row in self.rows:
            run = run + 1 if row[1] == phase and row[3] < 1.0 else 0
            best = max(best, run)
        return best * 0.003


@pytest.fixture(scope="module")
def walk() -> Recorder:
    """Three swings of HyQ; held in the first one, loaded and told of the load meanwhile."""
    loop, record = released("hyq", Attachment(BACKPACK, start=2.0)), Recorder()

    def look(loop: ClosedLoop) -> None:
        record(loop)
        loop.controller.push_hold(HOLD[0] <= loop.time_s < HOLD[1])
        if loop.time_s >= TOLD:
            trunk = loop.simulation.truth(("trunk",)).inertias["trunk"]
            loop.controller.push_inertia(loop.simulation.stamp_ns, trunk)

    loop.controller.push_walk_command(WalkCommand(3, 0.2))
    run(loop, 6.9, look)
    gait = loop.controller.controller.gait
    record.steps_made, record.aside = gait.steps_made, gait.body.goal - gait.ground.middle
    gait.plan_walk(WalkCommand(4, 0.2))
    places, foot = gait.ground.places, gait.plan.foot
    record.stride = gait.plan.landing(places, foot) - places[foot, :2]
    return record


def test_the_feet_swing_in_order_over_a_robot_at_rest_that_follows_its_reference(walk) -> None:
    """Its centre of mass stays over the feet that stand; it is told of a load in the middle."""
    swings = [phase for phase in walk.phases if phase.startswith("swing")]
    assert (walk.steps_made, swings) == (3, ["swing of lh_foot", "swing of lf_foot", "swing of rh_foot"])
    for before, phase in pairwise(walk.phases):
        assert not phase.startswith("swing") or before == phase.replace("swing", "dwell")
    for foot in ("lh_foot", "rh_foot"):
        assert walk.longest_rest(f"dwell of {foot}") >= 0.15
    shares, loads = np.array(walk.triangles).T
    assert shares.min() > 0.03
    assert loads.min() > 20.0
    assert max(row[2] for row in walk.rows) < 0.01
    assert {row[4] for row in walk.rows} == {ControlState.CONTROL}
    assert walk.phases[-1] == "standing"
    assert np.abs(walk.aside).max() < 5e-3, "in the end it stands over the middle of its feet"
    np.testing.assert_allclose(
        walk.stride, [0.2, 0.0], atol=0.02, err_msg="the next foot, if all of them step"
    )


def test_a_hold_ends_the_swing_stands_and_goes_on_after(walk) -> None:
    at = [row[1] for row in walk.rows if HOLD[0] + 0.5 < row[0] < HOLD[1] - 0.01]
    assert set(at) == {"standing"}
    during = {row[1] for row in walk.rows if HOLD[0] < row[0] < HOLD[0] + 0.5}
    assert during == {"swing of lh_foot", "standing"}


def test_a_foot_comes_down_when_the_robot_is_pushed_over_and_the_same_foot_tries_again() -> None:
    push = Push("trunk", np.array([-250.0, 150.0, 0.0]), start=1.15, duration=0.15)
    loop, record = released("hyq", push, **{"crawl.dwell": 0.25}), Recorder()
    loop.controller.push_walk_command(WalkCommand(1, 0.2))
    run(loop, 3.4, record)
    swings = [(a, b) for a, b in pairwise(record.phases) if a.startswith("swing")]
    assert swings[0] == ("swing of lh_foot", "transfer of lh_foot")
    assert swings[-1] == ("swing of lh_foot", "standing")
    assert loop.controller.controller.gait.steps_made == 1


@pytest.mark.parametrize("yaw", [0.0, np.pi])
def test_a_two_footed_robot_held_in_a_step_closes_it_stands_and_goes_on_along_a_steady_reference(yaw) -> None:
    """Also one whose soles have their x axes to the rear, as an iCub's have them from its base."""
    soles, turned = ("left_sole_link", "right_sole_link"), 2 * (0.0, 0.0, 0.0, 0.0, 0.0, yaw)
    frames = {"frames.names": ("left", "right"), "frames.links": soles, "frames.poses": turned}
    talos = pipeline_of("talos", contact_frames=("left", "right"), **frames)
    phases, references, capacities, gait = [], [], [], talos.controller.gait
    target_of = gait.target
    gait.target = lambda tick: capacities.append((target := target_of(tick)).capacity) or target
    talos.push_walk_command(WalkCommand(2, 0.0))
    for k in range(1950):
        t = k * TICK_NS * 1e-9
        talos.push_hold(1.2 <= t < 3.5)
        if k == 399:
            talos.push_walk_command(WalkCommand(1, 0.0))  # after the step under way, as before
        push_state(talos, k * TICK_NS, home(talos))
        talos.tick(k * TICK_NS)
        phases.append((t, talos.controller.gait.phase.value, talos.controller.gait.steps_made))
        references.append(talos.last.dcm_ref)
        assert k > 300 or np.abs(talos.last.acceleration[3:6]).max() < 0.1, "it stands"
    assert {(phase, made) for t, phase, made in phases if 2.9 < t < 3.49} == {("standing", 1)}
    assert phases[-1][2] == 2
    jumps = np.abs(np.diff(references, axis=0)).max(axis=1) > 0.001  # faster than a fall between the feet
    assert [phases[i + 1][0] for i in np.flatnonzero(jumps)] == pytest.approx([1.2, 3.501]), "only when told"
    assert np.min(capacities) == 0.0
    assert np.max(capacities) == 1.0
    assert np.abs(np.diff(capacities, axis=0)).max() < 0.1, "no foot is loaded or unloaded at once"
    gait.plan_walk(WalkCommand(2, 0.2))
    apart, (first, last) = gait.home[0, 1] - gait.home[1, 1], (gait.landing(0, 2), gait.landing(1, 1))
    np.testing.assert_allclose([first, last], [(0.2, apart, 0.0), (0.0, -apart, 0.0)], atol=1e-9)
