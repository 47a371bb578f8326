"""Friction of shared motors is found; friction that is not identified is reported."""

import numpy as np
import pytest

from inertial_estimation.offline.result_diagnostics import result_diagnostics

COUPLING = "wrist_2_joint + wrist_3_joint"
TRUE = {"coulomb": 0.8, "viscous": 0.5, "armature": 0.02}


@pytest.fixture(scope="module")
def wrist(make_scene):
    scene = make_scene(
        "ur10_joint_limited_robot",
        friction__joints=["*", COUPLING],
        friction__terms=["coulomb", "viscous", "armature"],
    )
    identifier = scene.identifier()
    names = identifier.parameters.unknowns
    x = np.array([TRUE[name.rpartition("/")[2]] if name.startswith(COUPLING) else 0.0 for name in names])
    assert np.count_nonzero(x) == 3
    fitted, other = (scene.recording(identifier, x, seed, seconds=1.5, torque_noise=0.02) for seed in (5, 6))
    return scene, fitted, other


def wrist_error(identifier, fitted, other) -> tuple[float, dict[str, float]]:
    """Error of the fifth joint on other data, relative to its torque, and the friction."""
    identifier.push(fitted)
    identifier.push(other, validation=True)
    result = identifier.report(["consistent"]).methods["consistent"]
    row = next(row for row in result.validation if row.row == "wrist_2_joint")
    return row.rms / row.rms_measured, dict(result.friction)


def test_the_coupling_is_found_and_explains_the_wrist(wrist):
    scene, fitted, other = wrist
    error, friction = wrist_error(scene.identifier(), fitted, other)
    for term, value in TRUE.items():
        assert friction[f"{COUPLING}/{term}"] == pytest.approx(value, rel=0.1)
    alone, _friction = wrist_error(scene.identifier(friction__joints=["*"]), fitted, other)
    assert error < 0.05
    assert alone > 5.0 * error


def test_friction_that_is_not_identified_is_a_but(make_scene):
    """Joint by joint: what is identified is not reported, what has no friction neither."""
    scene = make_scene("ur10_joint_limited_robot")
    names = scene.identifier().parameters.unknowns
    rough = ("elbow_joint/", "wrist_1_joint/")
    x = np.array([1.5 if name.startswith(rough) else 0.0 for name in names])
    block = scene.recording(scene.identifier(), x, 5, seconds=1.5, torque_noise=0.02)
    for joints, reported in (([], {"elbow_joint", "wrist_1_joint"}), (["elbow_joint"], {"wrist_1_joint"})):
        identifier = scene.identifier(friction__joints=joints)
        identifier.push(block)
        report = identifier.report(["ridge"])
        found = [text for text in result_diagnostics(report) if text.startswith("friction that is not")]
        assert len(found) == 1
        assert all(joint in found[0] for joint in reported)
        shares = {row.row: row.friction_share for row in report.methods["ridge"].direct}
        assert min(shares[joint] for joint in reported) > 0.2
        if joints:
            assert shares["elbow_joint"] < 0.05
    identifier = scene.identifier()
    identifier.push(block)
    assert not any(
        "friction that is not" in text for text in result_diagnostics(identifier.report(["ridge"]))
    )
