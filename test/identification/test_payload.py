"""A load on an arm's last link, identified with the arm's own parameters; its deviation covers its error."""

import numpy as np
import pytest

from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.spatial.inertial_parameters import InertialParameters

LINK = "wrist_3_link"
SMALL = InertialParameters(0.2, np.array([0.01, -0.02, 0.03]), np.diag([2e-4, 3e-4, 4e-4]))
LARGE = InertialParameters(2.805, np.array([-0.03, 0.02, 0.08]), np.diag([0.012, 0.010, 0.008]))


class LoadedArm:
    """An arm unlike its description, with a load and without."""

    def __init__(self, make_scene, load, *, noise, seed=0):
        scene = make_scene("ur10_joint_limited_robot")
        bare, self.identifier = scene.identifier(), scene.identifier(payload=LINK)
        given = bare.parameters
        x = np.full(len(given.unknowns), 0.3)  # friction
        for i, share in enumerate(np.random.default_rng(3).uniform(-0.3, 0.3, len(given.bodies))):
            x[10 * i : 10 * i + 10] = share * given.body(given.nominal, i)  # another density
        x_loaded = np.concatenate((x, load.vector))
        self.unloaded = scene.recording(bare, x, 10 + seed, seconds=1.5, torque_noise=noise)
        self.loaded = scene.recording(self.identifier, x_loaded, 20 + seed, seconds=1.5, torque_noise=noise)

    def report(self, *methods):
        self.identifier.push(self.loaded)
        self.identifier.push(self.unloaded, unloaded=True)
        return self.identifier.report(methods)


@pytest.mark.parametrize("load", [SMALL, LARGE])
def test_two_recordings_without_noise_give_the_load_exactly(make_scene, load):
    arm = LoadedArm(make_scene, load, noise=0.0)
    for method, result in arm.report("consistent", "nullspace-prior").methods.items():
        found = result.payload
        assert found.link == LINK
        assert found.inertia.mass == pytest.approx(load.mass, rel=1e-3), method
        assert found.inertia.com_F == pytest.approx(load.com_F, abs=1e-4), method
        assert found.inertia.inertia_Fcm == pytest.approx(load.inertia_Fcm, abs=2e-4), method
        assert result.relative_error < 1e-4


def test_the_deviations_cover_the_errors(make_scene):
    """Chi-square of mass and centre of mass over independent noise, two-sided at 99.8 %."""
    scores = []
    for seed in range(6):
        arm = LoadedArm(make_scene, LARGE, noise=1.0, seed=seed)
        found = arm.report("consistent").methods["consistent"].payload
        errors = [found.inertia.mass - LARGE.mass, *(found.inertia.com_F - LARGE.com_F)]
        scores += list(np.array(errors) / [found.mass_sigma, *found.com_sigma])
    assert 8.1 < np.sum(np.square(scores)) < 51.2  # 24 degrees of freedom


def test_one_recording_is_a_but_and_covers_its_error(make_scene):
    arm = LoadedArm(make_scene, LARGE, noise=0.3)
    arm.identifier.push(arm.loaded)
    report = arm.identifier.report(["consistent", "least-squares"])
    found = report.methods["consistent"].payload
    assert abs(found.inertia.mass - LARGE.mass) < 3.0 * found.mass_sigma
    assert found.mass_sigma > 0.1
    assert any("--unloaded" in text for text in result_diagnostics(report))
    assert report.methods["least-squares"].payload.mass_sigma == np.inf
