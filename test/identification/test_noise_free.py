"""Noise-free recordings give the true robot and its load back; the deviation of a load covers its error."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import convolve1d

from inertial_estimation.models.sensor_errors import SCALE
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.signals import Identifiability
from inertial_estimation.spatial.inertial_parameters import InertialParameters

CASES = {
    "arm": ("panda", {}),
    "friction along the range": (
        "ur10_joint_limited_robot",
        {
            "friction.terms": ["coulomb", "viscous", "coulomb_slope"],
            "friction.joints": ["elbow*", "wrist_1*"],
        },
    ),
    "springs": (
        "ur10_joint_limited_robot",
        {"friction.terms": ["coulomb", "viscous", "stiffness", "balance_sin"], "friction.joints": ["elbow*"]},
    ),
    "measured wrenches": ("hyq_no_sensors", {"contact_wrenches": "measured"}),
    "projected wrenches": ("hyq_no_sensors", {"contact_wrenches": "projected"}),
    "no torques": ("hyq_no_sensors", {"contact_wrenches": "measured", "torque_rows": []}),
    "mass and centre": ("hyq_no_sensors", {"contact_wrenches": "measured", "parameters": "mass_com"}),
    "symmetric": (
        "hyq_no_sensors",
        {
            "contact_wrenches": "measured",
            "symmetry": ["lf_=rf_", "lh_=rh_"],
            "friction.joints": ["lf_*", "*_kfe_joint"],  # of most joints on one side alone
            "friction.terms": ["viscous", "armature"],
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_truth_is_recovered(case, make_scene, random_deviation):
    name, parameters = CASES[case]
    scene = make_scene(name, **parameters)
    identifier = scene.identifier()
    x = random_deviation(identifier, np.random.default_rng(1))
    for seed in range(2 if name != "hyq_no_sensors" else 5):  # each turns a base about another axis
        identifier.push(scene.recording(identifier, x, seed, seconds=0.6))
    identifier.push(scene.recording(identifier, x, 9, seconds=0.5), validation=True)
    report = identifier.report(["least-squares", "nullspace-prior"])
    truth = identifier.parameters.standard(x)
    for result in report.methods.values():
        nominal = result.validation[0].rms_nominal
        assert nominal > 0.0
        for row in result.validation:
            assert row.rms < 2e-4 * max(row.rms_nominal, 0.1)
        for found, true in zip(result.parameters, truth, strict=True):
            if found.identifiability is Identifiability.IDENTIFIABLE:
                assert found.value == pytest.approx(true, abs=2e-4 * max(1.0, abs(true)))


def test_efforts_that_were_smoothed_before_they_were_recorded(make_scene, random_deviation):
    """Reversals are sharp against the window of the efforts."""
    scene = make_scene("ur10_joint_limited_robot", nominal_friction__smoothing_speed=0.05)
    identifiers = [scene.identifier(effort_window=window) for window in (0.1, 0.0)]
    x = random_deviation(identifiers[0], np.random.default_rng(1))
    block = scene.recording(identifiers[0], x, 0, seconds=2.0)
    half = round(0.05 / block.step_s)
    triangle = 1.0 - np.abs(np.arange(-half, half + 1)) / (half + 1)
    smooth = convolve1d(block.tau, triangle / triangle.sum(), axis=0)
    cut = slice(half, block.size - half)  # the convolution makes up the ends
    recorded = replace(block, start_ns=0, q=block.q[cut], v=block.v[cut], tau=smooth[cut])
    errors = []
    for identifier in identifiers:
        identifier.push(recorded)
        errors.append(identifier.report(["least-squares"]).methods["least-squares"].relative_error)
    assert errors[0] < 2e-3
    assert errors[1] > 10.0 * errors[0]


JOINT, TRUE_NM = "elbow_joint", 30.0  # its effort limit is 150 Nm


def test_friction_of_the_size_of_the_drive_is_found_and_a_tight_prior_holds_it(make_scene):
    scene = make_scene("ur10_joint_limited_robot", links=["forearm_link"], friction__terms=["coulomb"])
    found = {}
    for share in (0.1, 1e-4):
        identifier = scene.identifier(friction__share=share)
        x = np.zeros(len(identifier.parameters.unknowns))
        x[identifier.parameters.unknowns.index(f"{JOINT}/coulomb")] = TRUE_NM
        identifier.push(scene.recording(identifier, x, 1, seconds=2.0, torque_noise=5.0))
        report = identifier.report(["consistent"])
        found[share] = report.methods["consistent"].friction[f"{JOINT}/coulomb"]
    assert found[0.1] == pytest.approx(TRUE_NM, rel=0.1)
    assert found[1e-4] < 0.5 * TRUE_NM


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


def test_a_common_gain_of_the_drives_is_in_the_deviation_of_the_mass(make_scene):
    arm = LoadedArm(make_scene, LARGE, noise=0.1)
    arm.loaded, arm.unloaded = (replace(b, tau=(1.0 + SCALE) * b.tau) for b in (arm.loaded, arm.unloaded))
    found = arm.report("consistent").methods["consistent"].payload
    error = found.inertia.mass - LARGE.mass
    assert error == pytest.approx(SCALE * LARGE.mass, rel=0.2)
    assert error == pytest.approx(found.mass_sigma, rel=0.2)


def test_moments_of_a_load_at_their_bound_are_no_better_known(make_scene):
    point = InertialParameters(LARGE.mass, LARGE.com_F, 1e-6 * np.eye(3))
    arms = [LoadedArm(make_scene, load, noise=0.3, seed=1) for load in (LARGE, point)]
    large, small = (arm.report("consistent").methods["consistent"].payload.inertia_sigma for arm in arms)
    assert np.diag(small) == pytest.approx(np.diag(large), rel=0.05)


@pytest.mark.monte_carlo
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
