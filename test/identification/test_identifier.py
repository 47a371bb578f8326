"""Bad data and bad descriptions get an error or a warning that says what to do."""

import re
from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError, MeasurementError
from inertial_estimation.identification.identifiability import Identifiability
from inertial_estimation.identification.identifier import Identifier


def recorded(scene, **options):
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    return identifier, scene.recording(identifier, x, 1, **options)


def test_a_robot_that_stands_still_is_refused(make_scene):
    scene = make_scene(
        "hyq_no_sensors", smoothing__window=0.12, smoothing__order=3, contact_wrenches="measured"
    )
    identifier, block = recorded(scene, seconds=2.0, scale=0.0, moving=[])
    rng = np.random.default_rng(0)
    noisy = {"q": 5e-5, "tau": 0.3, "f_I": 0.3, "w_I": 0.01, "wrenches": 1.0}
    values = {name: getattr(block, name) for name in noisy}
    identifier.push(replace(block, **{n: v + noisy[n] * rng.normal(size=v.shape) for n, v in values.items()}))
    with pytest.raises(MeasurementError, match=r"stands still: .* record a motion"):
        identifier.report(["consistent"])


def test_constant_joints_are_named(make_scene):
    scene = make_scene("panda")
    identifier, block = recorded(scene, seconds=1.0, moving=[1, 3])
    identifier.push(block)
    report = identifier.report(["consistent"])
    assert "joints that do not move: panda_joint1, panda_joint3, panda_joint5" in " ".join(report.warnings)
    still = {p.name: p.identifiability for p in report.methods["consistent"].parameters}
    assert still["panda_joint1/viscous"] is Identifiability.NOT


@pytest.mark.parametrize(
    ("joint", "factor", "said"),
    [
        (None, 1e3, "all efforts were in mNm"),
        (1, -1.0, "panda_joint2: .*had the other sign"),
        (3, 1e3, "panda_joint4: .*1e\\+03 times too large"),
    ],
)
def test_torques_in_wrong_units_or_with_the_wrong_sign_are_suspected(make_scene, joint, factor, said):
    identifier, block = recorded(make_scene("panda"), seconds=2.0)
    tau = block.tau.copy()
    tau[:, slice(None) if joint is None else joint] *= factor
    identifier.push(replace(block, tau=tau))
    told = [warning for warning in identifier.report(["consistent"]).warnings if "limits" not in warning]
    assert re.search(said, " ".join(told))
    assert joint is None or len(told) == 1


def test_torques_that_are_all_zero_are_suspected_and_stay_finite(make_scene):
    identifier, block = recorded(make_scene("panda"), seconds=2.0)
    identifier.push(replace(block, tau=np.zeros_like(block.tau)))
    report = identifier.report(["consistent", "least-squares"])
    assert "efforts of all joints are exactly zero" in " ".join(report.warnings)
    for result in report.methods.values():
        assert np.isfinite([p.value for p in result.parameters]).all()


def test_good_data_give_no_warning_but_of_the_joint_outside_its_limits(make_scene):
    identifier, block = recorded(make_scene("panda"), seconds=2.0)
    identifier.push(block)
    report = identifier.report(["consistent"])
    (warning,) = report.warnings
    assert warning.startswith("panda_joint4: ")  # its motion is about zero
    assert "outside the limits" in warning
    assert report.validation is None
    assert np.isnan(report.methods["consistent"].cost_validation)


def test_known_friction_is_part_of_the_nominal_torque(make_scene, random_deviation):
    scene = make_scene("panda")
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    x[70:] = random_deviation(identifier, np.random.default_rng(0))[70:]
    block = scene.recording(identifier, x, 1, seconds=0.5)
    names = identifier.robot.joint_names
    known = {
        "nominal_friction__joints": names,
        "nominal_friction__terms": ("coulomb", "viscous", "offset", "armature"),
        "nominal_friction__values": tuple(x[70:]),
    }
    given = scene.identifier(**known, friction__joints=[])
    assert np.abs(given.rows(block).value).max() < 1e-5
    start = scene.identifier(**known)
    assert start.parameters.nominal[70:] == pytest.approx(x[70:])
    assert np.abs(start.rows(block).value).max() < 1e-5


def test_fewer_equations_than_unknowns(make_scene):
    scene = make_scene("panda")
    identifier, block = recorded(scene, seconds=0.16)
    identifier.push(block)
    for method in ("least-squares", "bounded-gradient"):
        with pytest.raises(
            MeasurementError, match=r"equations for 98 unknowns; .* take a method with a prior"
        ):
            identifier.report([method])
    assert "equations for 98 unknowns" in " ".join(identifier.report(["consistent"]).warnings)


def test_no_data_and_no_rows(make_scene):
    identifier, block = recorded(make_scene("panda"), seconds=0.1)
    with pytest.raises(MeasurementError, match="give no row"):
        identifier.report(["consistent"])
    identifier.push(replace(block, q=block.q[:8], v=block.v[:8], tau=block.tau[:8]))
    with pytest.raises(MeasurementError, match=r"0\.016 s of data give no row; expected .* or more"):
        identifier.report(["consistent"])


def test_links_without_mass_are_all_named(make_scene):
    scene = make_scene("panda")
    text = re.sub(r'(<link name="panda_link[46]">.*?<mass value=)"[^"]*"', r'\1"0"', scene.urdf, flags=re.S)
    with pytest.raises(InconsistentInertiaError, match="no mass to panda_link4, panda_link6"):
        Identifier(scene.config, text)


def test_impossible_inertias_of_the_description_are_reported(make_scene):
    scene = make_scene("panda")
    text = re.sub(r'(<link name="panda_link4">.*?)ixx="[^"]*"', r'\1ixx="9.0"', scene.urdf, flags=re.S)
    identifier = Identifier(scene.config, text)
    x = np.zeros(len(identifier.parameters.unknowns))
    identifier.push(scene.recording(identifier, x, 1, seconds=1.0))
    assert (
        "impossible inertias, raised to possible ones: panda_link4"
        in identifier.report(["consistent"]).warnings[0]
    )


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("panda", {"symmetry": ["left"]}, "has not the form"),
        ("panda", {"symmetry": ["left=right"]}, "pairs none of the identified links"),
        ("panda", {"symmetry": ["link3=link5"]}, "no mirror images"),
        ("hyq_no_sensors", {"imu_frame": ""}, "'imu_frame' is empty"),
    ],
)
def test_configurations_that_do_not_fit(make_scene, name, changes, message):
    with pytest.raises(ConfigurationError, match=message):
        make_scene(name, **changes).identifier()


def test_measured_velocities_serve_as_well_as_positions(make_scene, random_deviation):
    found = []
    for source in ("position", "velocity"):
        scene = make_scene("panda", smoothing__differentiate=source)
        identifier = scene.identifier()
        x = random_deviation(identifier, np.random.default_rng(0))
        identifier.push(scene.recording(identifier, x, 1, seconds=1.5))
        found.append(identifier.report(["nullspace-prior"]).methods["nullspace-prior"].x)
    assert found[0] == pytest.approx(found[1], abs=1e-3)
