"""Poses and velocities of joints as compiled functions take them are those that Pinocchio has computed."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.errors import ModelError
from inertial_estimation.models import joint_motions
from inertial_estimation.models.joint_motions import JointMotions


def elsewhere(motions):
    raise ModelError(f"{len(motions)} elements do not lie in a row")


@pytest.mark.parametrize("adjoining", [True, False])
@pytest.mark.parametrize("base", [True, False])
def test_the_tables_hold_the_motions_of_the_last_update(monkeypatch, adjoining, base):
    model = pin.buildSampleModelHumanoidRandom() if base else pin.buildSampleModelManipulator()
    if not adjoining:  # a Pinocchio that keeps them elsewhere
        monkeypatch.setattr(joint_motions, "motion_rows", elsewhere)
    data, rng = model.createData(), np.random.default_rng(0)
    motions = JointMotions(data)
    assert not (motions.lasting and not adjoining)
    tables = motions.tables()
    for _ in range(2):
        q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
        pin.forwardKinematics(model, data, q, rng.normal(size=model.nv))
        poses, velocities = tables if motions.lasting else motions.tables()
        for T, pose in zip(data.oMi, poses, strict=True):
            np.testing.assert_array_equal(pose, [*T.rotation.T.ravel(), *T.translation])
        for V, velocity in zip(data.v, velocities, strict=True):
            np.testing.assert_array_equal(velocity, V.vector)
