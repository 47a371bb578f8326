"""Standing experiments of the trunk's payload: what the loop passes on, and that the measures measure."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.errors import ModelError
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.standing_trunk import (
    ROBOT,
    TRUNK,
    IdentificationTrial,
    Scene,
    identification,
    perturbed,
    standing_loop,
    urdf_with_moved_com,
    urdf_with_moved_links,
)
from inertial_estimation.experiments.tournois_sensitivity import RestingPose
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate, Phase
from inertial_estimation.signals import Array, BaseReference, LinkInertia
from inertial_estimation.simulation.config import SimulationConfig

pytestmark = pytest.mark.experiment

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


@pytest.fixture(scope="module")
def robot() -> RobotLoop:
    return RobotLoop(ROBOT)


@pytest.fixture(scope="module")
def pose(robot: RobotLoop) -> RestingPose:
    config = robot.config(SIMULATOR_NODE, SimulationConfig)
    return RestingPose(config.robot, robot.urdf, TRUNK, robot.build(inertial=False).simulation.truth())


class Scripted:
    """Stands in for the payload pipeline: the same estimate every tick, the posture twice the same."""

    def __init__(self, trunk: LinkInertia, change: LoadChange) -> None:
        self.estimate = PayloadEstimate(
            0, trunk, trunk, trunk, Phase.COM, "contact_forces", True, 0.1, np.zeros(3), 0.0, False, True
        )
        self.postures = [None, BaseReference(0.5, 0.1), BaseReference(0.5, 0.1), BaseReference(0.5, -0.1)]
        self.change: LoadChange | None = change
        self.pushed: set[str] = set()

    def __getattr__(self, name: str) -> object:
        if not name.startswith("push_"):
            raise AttributeError(name)
        return lambda *_: self.pushed.add(name)

    def tick(self, now_ns: int) -> list[PayloadEstimate]:
        posture = self.postures.pop(0) if len(self.postures) > 1 else self.postures[0]
        change, self.change = self.change, None
        return [replace(self.estimate, stamp_ns=now_ns, reference=posture, change=change)]


def scripted_loop(robot: RobotLoop, monkeypatch: pytest.MonkeyPatch, *, adaptation: bool) -> dict[str, list]:
    """Run a loop with a scripted identification; return what was pushed to the controller."""
    loop = robot.build(payload=True, adaptation=adaptation)
    trunk = LinkInertia(TRUNK, 65.0, np.array([0.01, 0.0, 0.0]), np.diag([2.0, 9.0, 9.0]))
    change = LoadChange(7, "loaded", 61.0, 65.0, np.zeros(3))
    script = Scripted(trunk, change)
    loop.payload = script  # type: ignore[assignment]
    told: dict[str, list] = {"inertias": [], "holds": [], "postures": []}
    controller = loop.controller
    monkeypatch.setattr(controller, "push_inertia", lambda _, inertia: told["inertias"].append(inertia))
    monkeypatch.setattr(controller, "push_hold", told["holds"].append)
    monkeypatch.setattr(controller, "push_base_reference", told["postures"].append)
    loop.release(0.1)
    loop.run(0.05)
    told["trunk"], told["changes"], told["watching"] = [trunk], loop.load_changes, [loop.inertias]
    told["pushed"] = sorted(script.pushed)
    return told


def test_controller_gets_trunk_hold_and_each_posture_once(
    robot: RobotLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = scripted_loop(robot, monkeypatch, adaptation=True)
    assert told["inertias"]
    assert all(inertia is told["trunk"][0] for inertia in told["inertias"])  # none of the inertial filter's
    assert told["watching"][0] is not None
    assert told["holds"]
    assert all(told["holds"])
    assert [posture.roll for posture in told["postures"]] == [0.1, -0.1]
    assert [change.stamp_ns for change in told["changes"]] == [7]
    assert told["pushed"] == ["push_base_state", "push_imu", "push_joints", "push_wrench"]


def test_without_adaptation_the_trunk_stays_and_the_hold_is_passed_on(
    robot: RobotLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = scripted_loop(robot, monkeypatch, adaptation=False)
    assert not told["inertias"]
    assert told["holds"]


def test_load_and_believed_centre_are_found(robot: RobotLoop) -> None:
    """100 N on a robot wrong about its trunk: found to millimetres by the pipeline of the node."""
    loop = standing_loop(perturbed(robot), Scene(100.0), 0, quick=True)
    found = identification(loop, "contact_forces")
    assert found.converged
    assert np.hypot(*found.error_L[0, :2]) > 0.1
    assert found.error_xy < 3e-3
    assert found.mass_error < 0.01
    assert found.begins < found.settled(3e-3) < found.columns["time"][-1]


def test_offset_the_sensors_do_not_see_misleads_as_computed(robot: RobotLoop, pose: RestingPose) -> None:
    """Where the loop ends is where the moment balance says, for torques that are not what is believed."""
    names = list(RobotModel.from_urdf(robot.urdf).joint_names)
    offsets = np.array([3.0 * math.sin(1.0 + 2.0 * k) for k in range(len(names))])
    simulated = {
        "nominal_friction.joints": names,
        "nominal_friction.offset": offsets.tolist(),
        "sensors.effort_at": "motor",
    }
    loop = standing_loop(robot, Scene(), 0, quick=True, overrides={SIMULATOR_NODE: simulated})
    found = identification(loop, "contact_forces")
    expected = pose.error_of_torques(offsets)
    assert np.hypot(*expected[:2]) > 0.01
    np.testing.assert_allclose(found.error_L[-1, :2], expected[:2], atol=0.25 * np.hypot(*expected[:2]))


def test_torque_error_is_that_of_the_forces_it_feigns(robot: RobotLoop, pose: RestingPose) -> None:
    """Offsets J' f of forces f on the feet: the centre moves as if the ground pushed less by f (by hand)."""
    model = RobotModel.from_urdf(robot.urdf)
    data, truth = model.model.createData(), pose.truth
    q = model.configuration(truth.q)
    q[3:7] = truth.base.quaternion_xyzw
    feigned = {"lf_foot": np.array([4.0, -2.0, 9.0]), "rh_foot": np.array([-3.0, 5.0, -8.0])}
    torque, force, moment = np.zeros(model.model.nv), np.zeros(3), np.zeros(3)
    for foot in FEET:
        frame = model.frame_id(foot)
        J = pin.computeFrameJacobian(model.model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        pin.framesForwardKinematics(model.model, data, q)
        p = data.oMf[frame].translation
        f = data.oMf[frame].rotation @ truth.wrenches_C[foot][:3]
        f = f - feigned.get(foot, np.zeros(3))
        torque += J.T @ feigned.get(foot, np.zeros(3))
        force, moment = force + f, moment + np.cross(p, f)
    nominal = BodyReference.of_link(model, TRUNK).nominal_J.com_F
    expected = _trunk_across(model, data, q, force, moment) - nominal
    np.testing.assert_allclose(pose.error_of_torques(torque[6:])[:2], expected[:2], atol=2e-4)


def _trunk_across(model: RobotModel, data: pin.Data, q: Array, force: Array, moment: Array) -> Array:
    """Point nearest to the origin on the line of the force, less the legs."""
    whole = np.cross(force, moment) / (force @ force)
    body = BodyReference.of_link(model, TRUNK).nominal_J
    pin.centerOfMass(model.model, data, q)
    legs_mass = data.mass[0] - body.mass
    legs = (data.mass[0] * data.com[0] - body.mass * body.com_F) / legs_mass
    trunk_mass = force[2] / float(np.linalg.norm(model.model.gravity.linear)) - legs_mass
    return ((trunk_mass + legs_mass) * whole - legs_mass * legs) / trunk_mass


def test_slope_shows_where_no_force_tells() -> None:
    """On a parallel trunk the error of x is that of the believed height times the tangent of the slope."""
    result = find_experiment("tournois-slope").run([0], quick=True)
    error, hidden = result.rows[0].ours, result.rows[2].ours
    assert hidden > 0.5
    assert error == pytest.approx(hidden, abs=0.15)


def test_moved_centre_and_moved_foot_are_where_they_are_said_to_be(robot: RobotLoop) -> None:
    move = np.array([0.01, -0.02, 0.03])
    before = RobotModel.from_urdf(robot.urdf)
    trunk = RobotModel.from_urdf(urdf_with_moved_com(robot.urdf, TRUNK, move))
    was, now = (BodyReference.of_link(model, TRUNK).nominal_J for model in (before, trunk))
    np.testing.assert_allclose(now.com_F - was.com_F, move, atol=1e-12)
    np.testing.assert_allclose(now.inertia_Fcm, was.inertia_Fcm, atol=1e-9)
    foot = RobotModel.from_urdf(urdf_with_moved_links(robot.urdf, {"lh_foot": move}))
    places = [model.fixed_transform("lh_lowerleg", "lh_foot").translation for model in (before, foot)]
    np.testing.assert_allclose(places[1] - places[0], move, atol=1e-12)
    with pytest.raises(ModelError, match="no_foot"):
        urdf_with_moved_links(robot.urdf, {"no_foot": move})


def test_settled_is_the_last_time_it_comes_near() -> None:
    time = np.arange(5.0)
    off = np.array([1.0, 0.1, 1.0, 0.1, 0.1])
    zero = np.zeros(5)
    columns = {"time": time, "x_hat": off, **dict.fromkeys(("x", "y", "z", "y_hat", "z_hat"), zero)}
    run = IdentificationTrial(True, "", columns)
    assert run.settled(0.5) == 3.0
    assert run.settled(2.0) == 0.0
    assert math.isnan(run.settled(0.05))
