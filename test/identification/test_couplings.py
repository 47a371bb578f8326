"""Friction of shared motors is found; friction that is not identified is reported."""

import numpy as np
import pytest

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
