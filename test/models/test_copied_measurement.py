"""Measurements that are copied or sent to another process use the memory of their own Pinocchio data."""

import copy
import pickle

import numpy as np
import pytest
from support.inertial_scenes import ArmScene

from inertial_estimation.models.dynamics_measurement import MeasuredState


def random_state(rng, n):
    q, v, a, tau = rng.normal(size=(4, n))
    return MeasuredState(q=q, v=v, a=a, tau=tau)


@pytest.mark.parametrize(
    "copied",
    [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy],
    ids=["pickle", "deep", "flat"],
)
def test_a_copy_gives_the_equations_of_the_original_at_other_states(copied):
    scene, rng = ArmScene(), np.random.default_rng(0)
    n = scene.robot.model.nv
    phi = 1.2 * np.concatenate([body.nominal_J.vector for body in scene.bodies])
    scene.measurement.equation(random_state(rng, n), phi)
    one, other = scene.measurement, copied(scene.measurement)
    for believed in (None, phi, phi.copy()):
        state = random_state(rng, n)
        expected, found = one.equation(state, believed), other.equation(state, believed)
        for name in ("regressor", "value", "noise"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    states = [random_state(rng, n) for _ in range(3)]
    rows = MeasuredState(
        **{name: np.array([getattr(s, name) for s in states]) for name in ("q", "v", "a", "tau")}
    )
    assert np.array_equal(other.rows(rows).regressor, one.rows(rows).regressor)
