"""Noise-free recordings give the true robot back: what is identifiable exactly, and all torques."""

import numpy as np
import pytest

from inertial_estimation.identification.identification_result import Identifiability

CASES = {
    "arm": ("panda", {}),
    "measured wrenches": ("hyq_no_sensors", {"contact_wrenches": "measured"}),
    "projected wrenches": ("hyq_no_sensors", {"contact_wrenches": "projected"}),
    "no torques": ("hyq_no_sensors", {"contact_wrenches": "measured", "torque_rows": []}),
    "mass and centre": ("hyq_no_sensors", {"contact_wrenches": "measured", "parameters": "mass_com"}),
    "symmetric": ("hyq_no_sensors", {"contact_wrenches": "measured", "symmetry": ["lf_=rf_", "lh_=rh_"]}),
}


@pytest.mark.parametrize("case", CASES)
def test_truth_is_recovered(case, make_scene, random_deviation):
    name, parameters = CASES[case]
    scene = make_scene(name, **parameters)
    identifier = scene.identifier()
    x = random_deviation(identifier, np.random.default_rng(1))
    for seed in range(5):  # each turns the base about another axis
        identifier.push(scene.recording(identifier, x, seed, seconds=1.0))
    identifier.push_validation(scene.recording(identifier, x, 9, seconds=0.5))
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
