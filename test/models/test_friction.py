"""Friction terms: what each column means."""

import numpy as np
import pytest
from support.example_robots import panda

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.friction import (
    FrictionConfig,
    FrictionModel,
    NominalFriction,
    friction_deviations,
    friction_model,
)
from inertial_estimation.models.robot_model import RobotModel

PANDA = panda()
KNOWN = NominalFriction(
    ("panda_joint2", "panda_joint4"),
    coulomb=(1.0, 2.0),
    viscous=(0.3, 0.4),
    armature=(0.1, 0.2),
    coulomb_slope=(0.5, 0.0),
    coulomb_load=(0.0, 0.05),
)


def test_each_term_acts_on_its_own_joint_and_opposes_motion():
    model = FrictionModel((0, 2), ("a", "c"), ("viscous", "coulomb", "offset", "armature"), 3, 1e-3)
    v, a = np.array([2.0, 9.0, -3.0]), np.array([5.0, 9.0, 7.0])
    torque = {name: model.regressor(v, v, a)[:, i] for i, name in enumerate(model.names)}
    assert np.allclose(torque["a/viscous"], [2.0, 0.0, 0.0])
    assert np.allclose(torque["c/coulomb"], [0.0, 0.0, -1.0])
    assert np.allclose(torque["c/offset"], [0.0, 0.0, 1.0])
    assert np.allclose(torque["a/armature"], [5.0, 0.0, 0.0])
    assert len(torque) == model.size == 8


def test_unknown_terms_are_named():
    with pytest.raises(ConfigurationError, match="no friction term stiction; there are coulomb"):
        FrictionModel((0,), ("a",), ("stiction",), 1, 0.02)


@pytest.mark.parametrize("joints", [(), ("panda_joint2",), ("*",)])
@pytest.mark.parametrize(
    "terms",
    [("coulomb",), ("viscous", "offset"), ("armature", "coulomb_slope", "viscous"), ("coulomb_load",)],
)
def test_what_is_estimated_begins_at_what_is_known_and_nothing_counts_twice(joints, terms):
    rng = np.random.default_rng(0)
    q, v, a, load = rng.normal(size=(4, PANDA.n_joints))
    _none, all_known = friction_model(FrictionConfig(), PANDA, KNOWN)
    estimated, known = friction_model(FrictionConfig(joints, terms), PANDA, KNOWN)
    torques = np.zeros(PANDA.n_joints) if known is None else known.torques(q, v, a, load=load)
    if estimated is not None:
        torques = torques + estimated.regressor(q, v, a, load=load) @ estimated.nominal_values
    assert all_known is not None
    np.testing.assert_allclose(torques, all_known.torques(q, v, a, load=load), atol=1e-14)
    assert np.count_nonzero(all_known.torques(q, v, a, load=load)) == 2


def test_slope_of_coulomb_friction_counts_from_the_middle_of_the_range():
    friction, _known = friction_model(
        FrictionConfig(("panda_joint4",), ("coulomb_slope",)), PANDA, NominalFriction()
    )
    assert friction is not None
    model, joint = PANDA.model, PANDA.joint_index("panda_joint4")
    middle = 0.5 * (model.lowerPositionLimit[joint] + model.upperPositionLimit[joint])
    q, v = np.full(PANDA.n_joints, middle + 0.5), np.full(PANDA.n_joints, -1.0)
    torques = [
        friction.regressor(position, v, np.zeros_like(v))[joint, 0] for position in (q, q - 0.5, q - 1.0)
    ]
    np.testing.assert_allclose(torques, [-0.5, 0.0, 0.5], atol=1e-12)


def test_friction_that_grows_with_the_load_opposes_motion_whatever_the_sign_of_the_load():
    model = FrictionModel((1,), ("b",), ("coulomb_load",), 2, 1e-3)
    v = np.array([[9.0, 3.0], [9.0, 3.0], [9.0, -3.0], [9.0, -3.0]])
    load = np.array([[7.0, 20.0], [7.0, -20.0], [7.0, 20.0], [7.0, -20.0]])
    column = model.regressor(v, v, v, load=load)[:, :, 0]
    np.testing.assert_allclose(column, [[0.0, 20.0], [0.0, 20.0], [0.0, -20.0], [0.0, -20.0]])


def test_a_joint_without_limits_has_no_slope():
    arm = RobotModel.from_urdf(read_urdf("example-robot-data:kinova"), floating_base=False)
    (turning, *_others) = arm.continuous_joints
    terms = FrictionConfig((arm.joint_names[turning],), ("coulomb_slope",))
    friction, _known = friction_model(terms, arm, NominalFriction())
    assert friction is not None
    q = np.linspace(-3.0, 3.0, arm.n_joints)
    assert not friction.regressor(q, np.ones_like(q), np.ones_like(q)).any()


def test_known_friction_without_its_values_is_refused():
    with pytest.raises(ConfigurationError, match=r"nominal_friction\.viscous.*1 values.*its 2 joints"):
        friction_model(
            FrictionConfig(), PANDA, NominalFriction(("panda_joint1", "panda_joint2"), viscous=(1.0,))
        )


def test_the_prior_is_a_share_of_the_limits_of_the_drive():
    joints = ("panda_joint1", "panda_joint2")
    friction, _known = friction_model(
        FrictionConfig(joints, ("coulomb", "viscous")), PANDA, NominalFriction()
    )
    found = friction_deviations(friction, PANDA, 0.1)
    expected = {"coulomb": 0.1 * 87.0, "viscous": 0.1 * 87.0 / 2.175}  # of both joints' limits [Nm, rad/s]
    assert found == pytest.approx([expected[term] for term in friction.parameter_terms])
