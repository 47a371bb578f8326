"""The prior of friction follows from the limits of the drives, or from the file."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("term", ["stiffness", "balance_sin"])
def test_a_spring_is_identified(term, make_scene):
    scene = make_scene(
        "ur10_joint_limited_robot", links=["wrist_3_link"], friction__terms=["coulomb", "viscous", term]
    )
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    x[identifier.parameters.unknowns.index(f"{JOINT}/{term}")] = 20.0
    identifier.push(scene.recording(identifier, x, 1, seconds=2.0))
    found = identifier.report(["consistent"]).methods["consistent"].friction[f"{JOINT}/{term}"]
    assert found == pytest.approx(20.0, rel=1e-2)
