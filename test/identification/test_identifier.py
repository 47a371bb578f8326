"""An identifier: rows, ranks and deviations that are true; bad data and descriptions get a clear error."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError, MeasurementError
from inertial_estimation.identification import rows
from inertial_estimation.identification.equations import ReducedEquation
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.rows import finite_runs
from inertial_estimation.signals import Identifiability


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
    ("joints", "factor", "said"),
    [
        ([], 1.0, "^$"),
        (slice(None), 1e3, "all efforts were in mNm"),
        ([1], -1.0, "panda_joint2: .*had the other sign"),
        ([3], 1e3, "the effort of 'panda_joint4' were in mNm"),
        (slice(None), 0.0, "efforts of all joints are exactly zero"),
    ],
)
def test_efforts_in_wrong_units_of_the_wrong_sign_or_zero_are_suspected_and_stay_finite(
    make_scene, joints, factor, said
):
    identifier, block = recorded(make_scene("panda"), seconds=2.0)
    tau = block.tau.copy()
    tau[:, joints] *= factor
    identifier.push(replace(block, tau=tau))
    report = identifier.report(["consistent", "least-squares"])
    others = [warning for warning in report.warnings if "outside the limits" not in warning]
    assert len(others) <= 1
    assert re.search(said, " ".join(others))
    (limits,) = set(report.warnings) - set(others)
    assert limits.startswith("panda_joint4: ")  # its motion is about zero
    assert report.validation is None
    assert np.isnan(report.methods["consistent"].cost_validation)
    for result in report.methods.values():
        assert np.isfinite([p.value for p in result.parameters]).all()


def test_a_wrench_with_the_wrong_sign_is_suspected(make_scene):
    identifier, block = recorded(make_scene("hyq_no_sensors", contact_wrenches="measured"), seconds=1.5)
    identifier.push(replace(block, wrenches=np.array([[1.0], [-1.0], [1.0], [1.0]]) * block.wrenches))
    assert "'rf_foot' had the other sign" in identifier.report(["least-squares"]).warnings[0]


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
        with pytest.raises(MeasurementError, match=r"for 98 unknowns; .* take a method with a prior"):
            identifier.report([method])
    assert "equations for 98 unknowns" in " ".join(identifier.report(["consistent"]).warnings)


@pytest.mark.parametrize("missing", ["q", "tau", "f_I", "w_I", "wrenches"])
def test_a_signal_that_is_missing_or_of_another_shape_is_named(make_scene, missing):
    scene = make_scene("hyq_no_sensors", contact_wrenches="measured")
    identifier, block = recorded(scene, seconds=0.5)
    values = getattr(block, missing)
    for other in (np.repeat(values, 2, axis=1), values[:, :-1]):
        with pytest.raises(MeasurementError, match=f"'{missing}' has shape"):
            identifier.push(replace(block, **{missing: other}))
    if missing != "q":
        with pytest.raises(MeasurementError, match=f"no '{missing}'"):
            identifier.push(replace(block, **{missing: None}))


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


@pytest.fixture(scope="module")
def arm(make_scene):
    scene = make_scene("panda", smoothing__window=0.1, smoothing__order=3, smoothing__row_rate=100.0)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    return identifier, scene.recording(identifier, x, 4, seconds=2.0, torque_noise=0.1)


@pytest.mark.parametrize("mode", ["arm", "projected"])
def test_rows_do_not_depend_on_how_many_are_made_at_once(make_scene, monkeypatch, mode):
    scene = make_scene("panda") if mode == "arm" else make_scene("hyq_no_sensors", contact_wrenches=mode)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    block = scene.recording(identifier, x, 4, seconds=0.4, torque_noise=0.1)
    whole = identifier.rows(block)
    for size in (1, 7):
        monkeypatch.setattr(rows, "CHUNK_ROWS", size)
        parts = identifier.rows(block)
        assert np.array_equal(whole.stamps_ns, parts.stamps_ns)
        assert parts.regressor == pytest.approx(whole.regressor, abs=1e-9)
        assert parts.value == pytest.approx(whole.value, abs=1e-9)
        assert whole.independent == pytest.approx(parts.independent)


def test_row_rate_and_distance_from_the_ends(arm):
    identifier, block = arm
    made = identifier.rows(block)
    steps = np.diff(made.stamps_ns) * 1e-9
    assert steps == pytest.approx(0.01)
    assert (made.stamps_ns[0] - block.start_ns) * 1e-9 == pytest.approx(0.1, abs=0.006)
    assert (block.stamps_ns[-1] - made.stamps_ns[-1]) * 1e-9 >= 0.09


def test_samples_that_are_not_finite_break_a_segment_and_are_counted(arm):
    identifier, block = arm
    tau = block.tau.copy()
    tau[300:303, 2] = np.nan
    bad = replace(block, tau=tau)
    assert [part.size for part in finite_runs(bad, range(3))] == [300, block.size - 303]
    assert [part.size for part in finite_runs(bad, range(2))] == [block.size]
    identifier.push(bad)
    report = identifier.report(["least-squares"])
    assert report.training.dropped == {"not a number": 3}
    assert all(np.isfinite(p.value) for p in report.methods["least-squares"].parameters)


def test_angles_that_jump_by_a_turn_are_unwrapped(arm):
    identifier, block = arm
    wrapped = replace(block, q=np.mod(block.q + np.pi, 2 * np.pi) - np.pi + 2 * np.pi * (block.q > 0.1))
    plain, turned = (identifier.rows(one) for one in (block, wrapped))
    assert turned.regressor == pytest.approx(plain.regressor, abs=1e-9)


def verdict_of(report, name):
    return {p.name: p.identifiability for p in report.methods["consistent"].parameters}[name]


def test_an_arm_on_its_base(make_scene):
    """Of the first link only the moment about the axis acts; a serial arm of 7 joints has 43 combinations."""
    scene = make_scene("panda", friction__joints=[])
    identifier = scene.identifier()
    identifier.push(scene.recording(identifier, np.zeros(70), 1, seconds=2.0))
    report = identifier.report(["consistent"])
    assert report.rank == 43
    assert report.unknowns == 70
    for name in ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz"):
        assert verdict_of(report, f"panda_link1/{name}") is Identifiability.NOT
    assert verdict_of(report, "panda_link1/Izz") is Identifiability.COMBINATION
    assert verdict_of(report, "panda_link7/m") is Identifiability.COMBINATION
    for name in ("mcx", "mcy", "Ixy", "Ixz", "Iyz", "Izz"):
        assert verdict_of(report, f"panda_link7/{name}") is Identifiability.IDENTIFIABLE


def test_verdicts_by_construction():
    A = np.random.default_rng(0).normal(size=(50, 5)) * [1.0, 1e3, 1e-3, 1.0, 1.0]
    A[:, 3] = 2.0 * A[:, 4]
    A[:, 2] = 1e-12
    R = np.linalg.qr(A, mode="r")
    space = IdentifiableSpace.of(ReducedEquation(R, np.zeros(5), 0.0, 50), np.ones(5))
    assert space.rank == 3
    E = np.vstack((np.eye(5), [0.0, 0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0, -2.0]))
    is_, part, no = Identifiability.IDENTIFIABLE, Identifiability.COMBINATION, Identifiability.NOT
    assert space.verdicts(E) == (is_, is_, no, part, part, is_, part)
    sigma = space.deviations(E)
    assert np.isfinite(sigma).tolist() == [True, True, False, False, False, True, False]


@pytest.mark.monte_carlo
def test_standard_deviations_are_those_of_repeated_recordings(make_scene, random_deviation):
    """Seeded Monte Carlo with white torque noise: squared errors over variances follow chi-square.

    Rows overlap within the smoothing window, so this fails if their correlation is not accounted for.
    """
    scene = make_scene("panda", smoothing__window=0.06, smoothing__order=3, links=["panda_link7"])
    x = np.zeros(len(scene.identifier().parameters.unknowns))
    clean = scene.recording(scene.identifier(), x, 3, seconds=3.0, scale=0.6)
    exact = scene.identifier()
    exact.push(clean)
    truth = np.array([p.value for p in exact.report(["consistent"]).methods["consistent"].parameters])
    rng, squares, count = np.random.default_rng(11), 0.0, 0
    trials = 15
    for _ in range(trials):
        identifier = scene.identifier()
        tau = clean.tau + 0.2 * rng.normal(size=clean.tau.shape)
        identifier.push(replace(clean, tau=tau))
        found = identifier.report(["nullspace-prior"]).methods["nullspace-prior"].parameters
        error = np.array([p.value for p in found]) - truth
        sigma = np.array([p.sigma for p in found])
        chosen = [i for i, p in enumerate(found) if p.name.endswith(("offset", "mcx", "mcy", "Izz"))]
        assert np.isfinite(sigma[chosen]).all()
        squares += float(((error / sigma)[chosen] ** 2).sum())
        count += len(chosen)
    # errors of one trial are correlated with one another: bounds for a tenth of the number
    low, high = chi2.ppf([0.005, 0.995], count / 10) / (count / 10)
    assert low < squares / count < high
    assert 0.6 < squares / count < 1.6


def test_row_weights_find_the_noise_of_each_row(make_scene):
    scene = make_scene("panda", links=["panda_link7"], smoothing__window=0.05, smoothing__order=3)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    block = scene.recording(identifier, x, 3, seconds=3.0)
    levels = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.05])
    tau = block.tau + levels * np.random.default_rng(0).normal(size=block.tau.shape)
    identifier.push(replace(block, tau=tau))
    report = identifier.report(["least-squares"])
    share = report.row_sigma / levels
    assert share / share.mean() == pytest.approx(1.0, abs=0.25)
    alike = scene.identifier(weighting="none")
    alike.push(replace(block, tau=tau))
    assert np.ptp(alike.report(["least-squares"]).row_sigma) == 0.0
