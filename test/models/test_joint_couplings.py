"""Motors that drive several joints: their friction against the power they lose, offline and online."""

import numpy as np
import pytest
import yaml

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.friction import FrictionConfig, FrictionModel, NominalFriction, friction_model
from inertial_estimation.models.joint_couplings import JointCouplings
from inertial_estimation.offline.identification_files import friction_parameters
from inertial_estimation.parameters import build_config

JOINTS = ("a", "b", "c")


class Arm:
    joint_names, n_joints = JOINTS, 3

    def joints_matching(self, patterns, name):
        return tuple(j for j, joint in enumerate(JOINTS) if joint in patterns)

    def joint_index(self, joint):
        return JOINTS.index(joint)


@pytest.mark.parametrize(
    ("text", "name", "row"),
    [
        ("b + c", "b + c", [0, 1, 1]),
        ("c - b", "-b + c", [0, -1, 1]),
        ("-0.5 * a + c", "-0.5*a + c", [-0.5, 0, 1]),
        ("- b + 2*c", "-b + 2*c", [0, -1, 2]),
    ],
)
def test_a_combination_has_one_name_however_it_is_written(text, name, row):
    couplings = JointCouplings.parsed([text], JOINTS, "friction.couplings")
    assert couplings.names == (name,)
    assert couplings.matrix.tolist() == [row]
    assert JointCouplings.parsed(couplings.names, JOINTS, "again").matrix.tolist() == [row]


@pytest.mark.parametrize("text", ["b", "b + ", "b c", "b + d", "b + b", "x*b + c", "b + + c", "0*b + c", ""])
def test_what_is_no_combination_is_refused(text):
    with pytest.raises(ConfigurationError, match=r"friction\.couplings"):
        JointCouplings.parsed([text], JOINTS, "friction.couplings")


def test_the_joints_lose_the_power_of_the_motor():
    """v' tau is the motor's own loss at its own speed, whichever way its speed is made up."""
    couplings = JointCouplings.parsed(["b + c", "b - 2*c"], JOINTS, "")
    v, a = np.random.default_rng(0).normal(size=(2, 7, 3))
    w = np.stack([v[:, 1] + v[:, 2], v[:, 1] - 2 * v[:, 2]], axis=1)
    terms = ("viscous", "coulomb", "armature")
    model = FrictionModel((), (), terms, 3, 0.02, couplings=couplings)
    power = (v[:, None] @ model.regressor(v, v, a))[:, 0]
    w_dot = np.stack([a[:, 1] + a[:, 2], a[:, 1] - 2 * a[:, 2]], axis=1)
    assert power == pytest.approx(np.hstack([w * w, w * np.tanh(w / 0.02), w * w_dot]))


def test_estimated_and_known_couplings_are_the_same_torques():
    """What is estimated is not known as well, and the file that is written gives the same torques."""
    nominal = NominalFriction(("b",), viscous=(0.5,), couplings=("b + c",), coupling_viscous=(0.7,))
    terms = FrictionConfig(("b", "c"), ("coulomb", "viscous", "offset"), ("c + b",))
    estimated, rest = friction_model(terms, Arm(), nominal)
    assert rest is None
    assert estimated.names[-2:] == ("b + c/coulomb", "b + c/viscous")
    assert estimated.parameter_terms[-2:] == ("coulomb", "viscous")
    assert estimated.nominal_values.tolist() == [0, 0, 0.5, 0, 0, 0, 0, 0.7]
    rng = np.random.default_rng(1)
    v, a, phi = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, estimated.size)
    expected = estimated.regressor(v, v, a) @ phi
    identified = dict(zip(estimated.names, phi.tolist(), strict=True))
    predicted = FrictionModel.of_values(JOINTS, identified, 0.02).torques(v, v, a)
    assert predicted == pytest.approx(expected)
    written = friction_parameters(identified, build_config(IdentificationConfig, {}), Arm())
    known = build_config(NominalFriction, yaml.safe_load(yaml.safe_dump(written)))
    _none, back = friction_model(FrictionConfig(), Arm(), known)
    assert back.torques(v, v, a) == pytest.approx(expected)


def test_lists_of_couplings_of_another_length_are_refused():
    known = NominalFriction(couplings=("b + c",), coupling_coulomb=(0.1, 0.2))
    with pytest.raises(ConfigurationError, match="coupling_coulomb' has 2 values"):
        friction_model(FrictionConfig(), Arm(), known)
