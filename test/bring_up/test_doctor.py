"""Every error is named as itself and as nothing else, a sound recording is silent, and the mend is right."""

import math
from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.bring_up import doctor, joint_hypotheses
from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.finding import finding
from inertial_estimation.bring_up.fix_file import fixed_parameters
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.foot_rotation import expected_rate
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.spatial.vectors import DEGREES


def of_joints(part, change):
    """Change positions (0), velocities (1) or efforts (2)."""

    def inject(streams):
        values = streams.joints.values.copy()
        n = streams.n_joints
        values[:, part * n : (part + 1) * n] = change(values[:, part * n : (part + 1) * n])
        return replace(streams, joints=streams.joints.with_values(values))

    return inject


def factor(j, value):
    def change(values):
        values = values.copy()
        values[:, j] *= value
        return values

    return change


def plus(j, value):
    def change(values):
        values = values.copy()
        values[:, j] += value
        return values

    return change


def of_imu(force=None, rate=None):
    """Turn specific force and angular rate."""
    return lambda streams: streams.turned_imu(force, rate)


def late(name, seconds):
    return lambda streams: streams.delayed({name: seconds})


def stuck(streams):
    values = streams.imu.values.copy()
    values[300:420, 4] = values[300, 4]
    return replace(streams, imu=streams.imu.with_values(values))


def other_clock(streams):
    stream = streams.imu
    return replace(streams, imu=replace(stream, stamps_ns=stream.stamps_ns + 3_000_000_000))


def exchanged(*parts):
    """Exchange joints 3 and 4 in positions (0), velocities (1) and efforts (2)."""

    def inject(streams):
        values, n = streams.joints.values.copy(), streams.n_joints
        for k in parts:
            values[:, [k * n + 2, k * n + 3]] = values[:, [k * n + 3, k * n + 2]]
        return replace(streams, joints=streams.joints.with_values(values))

    return inject


def mirrored(j):
    def inject(streams):
        values, n = streams.joints.values.copy(), streams.n_joints
        values[:, [j, n + j]] *= -1.0
        return replace(streams, joints=streams.joints.with_values(values))

    return inject


TURNED = rotation_from_roll_pitch_yaw(0.4, -0.3, 1.2)
FLIPPED = np.diag([1.0, -1.0, 1.0])


@pytest.mark.parametrize("robot", ["panda", "talos"])
def test_a_sound_recording_is_silent(robot, request):
    diagnosis = request.getfixturevalue(robot).diagnosis()
    assert [str(r) for r in diagnosis.results if r.failed] == []
    assert any(r.check == "masses" and r.verdict is Verdict.OK for r in diagnosis.results)


@pytest.mark.parametrize(
    ("inject", "check", "subject"),
    [
        (of_joints(2, factor(3, -1.0)), "effort sign", "panda_joint4"),
        (of_joints(2, factor(1, 1e3)), "effort unit", "panda_joint2"),
        (of_joints(1, factor(2, -1.0)), "joint velocities", "panda_joint3"),
        (of_joints(0, plus(4, 2.0 * np.pi)), "joint positions", "panda_joint5"),
        (of_joints(0, lambda q: q * DEGREES), "joint positions", "joint_states"),
        (of_joints(2, lambda tau: np.roll(tau, 6, axis=0)), "effort delay", "joint_states"),
        (of_joints(2, lambda tau: -tau), "effort sign", "joint_states"),
        (exchanged(0, 1, 2), "joint order", "panda_joint3"),
        (exchanged(2), "effort order", "panda_joint3"),
        (mirrored(3), "joint sign", "panda_joint4"),
        (mirrored(5), "joint sign", "panda_joint6"),
    ],
)
def test_an_error_of_an_arm_is_named_and_no_other(panda, inject, check, subject):
    assert panda.failed(inject(panda.streams)) == [(check, subject)]


def test_a_joint_is_named_by_smaller_odds_where_an_effort_contradicts_anyway(panda, monkeypatch):
    monkeypatch.setattr(joint_hypotheses, "CERTAIN", math.inf)
    assert panda.failed(mirrored(3)(panda.streams)) == [("joint sign", "panda_joint4")]
    assert panda.failed() == []


@pytest.mark.parametrize(
    ("inject", "check", "subject"),
    [
        (of_imu(rate=FLIPPED), "gyroscope axes", "imu/data"),
        (of_imu(rate=DEGREES * np.eye(3)), "gyroscope scale", "imu/data"),
        (of_imu(force=np.eye(3)[[1, 2, 0]]), "accelerometer direction", "imu/data"),
        (late("imu/data", 0.05), "IMU delay", "imu/data"),
        (stuck, "stuck", "imu/data"),
        (other_clock, "clock", "imu/data"),
    ],
)
def test_an_error_of_the_imu_is_named_and_no_other(talos, inject, check, subject):
    assert talos.failed(inject(talos.streams)) == [(check, subject)]


def of_wrenches(change, names=("left_foot",)):
    """Change the wrenches of some contacts."""
    return lambda streams: streams.changed_wrenches(names, change)


def turned_wrench(force, moment):
    return lambda values: np.hstack((values[:, :3] @ force.T, values[:, 3:] @ moment.T))


def exchanged_feet(streams):
    left, right = streams.wrenches["left_foot"], streams.wrenches["right_foot"]
    return replace(streams, wrenches={"left_foot": right, "right_foot": left})


FEET = ("left_foot", "right_foot")
ABOUT_Z, SLANTED = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]), rotation_from_roll_pitch_yaw(0.5, 0.0, 0.0)


@pytest.mark.parametrize(
    ("inject", "check", "subject", "words"),
    [
        (exchanged_feet, "contact names", "left_foot/wrench", "'left_foot' and 'right_foot' were exchanged"),
        (
            of_wrenches(turned_wrench(ABOUT_Z, ABOUT_Z)),
            "contact wrench axes",
            "left_foot/wrench",
            "(y, -x, z)",
        ),
        (
            of_wrenches(turned_wrench(SLANTED, SLANTED), FEET),
            "contact wrench axes",
            "contact wrenches",
            "29 deg",
        ),
        (
            of_wrenches(turned_wrench(np.eye(3), -np.eye(3))),
            "contact wrench axes",
            "left_foot/wrench",
            "the moments of 'left_foot' had the other sign about x, y, z",
        ),
        (
            of_wrenches(turned_wrench(np.eye(3), 1e3 * np.eye(3)), FEET),
            "contact wrench unit",
            "contact wrenches",
            "Nmm",
        ),
        (of_wrenches(lambda w: -w), "contact wrench sign", "left_foot/wrench", "other sign"),
        (of_imu(force=FLIPPED), "accelerometer direction", "imu/data", "(x, -y, z)"),
    ],
)
def test_axes_of_sensors_are_found_by_the_balance_of_the_robot(talos, inject, check, subject, words):
    (result,) = [r for r in talos.diagnosis(inject(talos.streams)).results if r.failed]
    assert (result.check, result.subject) == (check, subject)
    assert words in result.sentence


def test_angles_of_a_half_turn_are_written_plainly(talos):
    half_turn = np.diag([1.0, -1.0, -1.0])
    results = talos.diagnosis(of_imu(force=half_turn)(talos.streams)).results
    said = [r.sentence for r in results if " deg" in r.sentence]
    assert any("180 deg" in text or "179 deg" in text for text in said)
    assert not any("e+0" in text for text in said)


def test_ground_that_slopes_is_not_taken_for_a_turned_accelerometer(talos):
    lean = rotation_from_roll_pitch_yaw(0.0, 0.18, 0.0)
    imu = robot_from_config(talos.config, talos.urdf).imu
    R_BI = imu.T_JI.rotation  # the torso's axes are the base's and the soles'
    turned = of_imu(force=R_BI.T @ lean @ R_BI)(talos.streams)
    sloped = of_wrenches(turned_wrench(lean, lean), FEET)(turned)
    (by_both,) = [r for r in talos.diagnosis(sloped).results if r.check == "accelerometer direction"]
    (by_imu,) = [r for r in talos.diagnosis(turned).results if r.check == "IMU mounting"]
    assert by_both.verdict is Verdict.OK
    assert "the ground slopes" in by_both.sentence
    assert by_imu.failed


@pytest.mark.parametrize(
    ("inject", "named"),
    [
        (of_imu(rate=DEGREES * np.eye(3)), [("gyroscope scale", "imu/data")]),
        (of_imu(force=np.zeros((3, 3))), [("accelerometer size", "imu/data")]),
    ],
)
def test_a_joint_is_not_named_where_another_error_is_all(talos, inject, named, monkeypatch):
    def of_what_is_not_mended(case, suspected=False):
        f_I, w_I = case.streams.imu.values[:, :3], case.streams.imu.values[:, 3:]
        if np.abs(w_I).max() < 10.0 and np.abs(f_I).max() > 5.0:
            return []
        fits = finding("joint order", "leg_left_1_joint", Verdict.WRONG, 0.5, "", "fits", mend=lambda s: s)
        return [fits]

    monkeypatch.setattr(doctor, "joint_hypotheses", of_what_is_not_mended)
    assert talos.failed(inject(talos.streams)) == named


def test_feet_and_wrenches_name_a_joint_of_a_leg_without_efforts(talos):
    ankle = "leg_right_5_joint"
    setup = robot_from_config(talos.config, talos.urdf)
    silent = of_joints(2, lambda tau: np.full_like(tau, np.nan))(talos.streams)
    found = talos.failed(mirrored(setup.robot.joint_index(ankle))(silent))
    assert found == [("joint sign", ankle)]


def test_the_fix_of_a_turned_imu_makes_the_check_silent(talos):
    streams = of_imu(force=TURNED, rate=TURNED)(talos.streams)
    values = fixed_parameters(talos.diagnosis(streams).findings, talos.config)
    assert values["imu_frame"] == "imu_link_measured"
    R_IS = rotation_from_roll_pitch_yaw(*values["frames.poses"][3:])
    assert np.degrees(np.arccos(0.5 * (np.trace(R_IS @ TURNED) - 1.0))) < 1.0
    fixed = build_config(RobotConfig, {**parameter_values(talos.config), **values})
    assert talos.failed(streams, config=fixed) == []


def test_fixes_add_to_what_is_set_and_are_valid_parameters(panda):
    streams = of_joints(0, plus(4, 2.0 * np.pi))(of_joints(2, factor(3, -1.0))(panda.streams))
    values = fixed_parameters(panda.diagnosis(streams).findings, panda.config)
    config = build_config(RobotConfig, values)
    assert config.drive_gains.joints == ("panda_joint4",)
    assert config.drive_gains.values == (-1.0,)
    assert config.joint_offsets.values[0] == pytest.approx(-2.0 * np.pi, abs=1e-5)
    assert panda.failed(streams, config=panda.config) == [
        ("joint positions", "panda_joint5"),
        ("effort sign", "panda_joint4"),
    ]


def test_a_wrong_mass_is_named_with_its_sigma(panda):
    heavy = panda.urdf.replace('<mass value="1.666555"', '<mass value="2.566555"')
    assert heavy != panda.urdf
    diagnosis = panda.diagnosis(urdf=heavy)
    (result,) = [r for r in diagnosis.results if r.failed]
    assert (result.check, result.unit) == ("link mass", "kg")
    assert result.value == pytest.approx(-0.9, abs=0.25)
    assert "panda_link6" in f"{result.subject} {result.sentence}"


def unlike(urdf, seed):
    """Every mass 3 % off and every centre of mass 3 mm, as in any description."""
    return perturbed_urdf(urdf, np.random.default_rng(seed), mass_sigma=0.03, com_sigma=0.003)


@pytest.mark.parametrize("seed", [1, 6, 11])
def test_tolerances_of_all_masses_are_no_wrong_mass(panda, seed):
    assert panda.failed(urdf=unlike(panda.urdf, seed)) == []


def test_a_wrong_mass_is_named_among_tolerances_of_the_others(panda):
    heavy = panda.urdf.replace('<mass value="1.666555"', '<mass value="2.566555"')
    diagnosis = panda.diagnosis(urdf=unlike(heavy, 2))
    (result,) = [r for r in diagnosis.results if r.failed]
    assert result.check == "link mass"
    assert "panda_link6" in f"{result.subject} {result.sentence}"


def test_a_gyroscope_in_another_unit_does_not_change_the_rotation_over_the_feet(talos):
    rates = []
    for streams in (talos.streams, of_imu(rate=DEGREES * np.eye(3))(talos.streams)):
        case = Case(streams, robot_from_config(talos.config, talos.urdf), talos.config)
        rates.append(expected_rate(case.signals.windows))
    assert np.isfinite(rates[0]).all(axis=1).mean() > 0.9
    np.testing.assert_allclose(*rates, atol=1e-9)


def test_what_cannot_be_told_is_said(talos):
    without = replace(talos.streams, imu=None, wrenches={}, absent=("/imu/data", "/left_foot/wrench"))
    results = talos.diagnosis(without).results
    remedies = {result.subject: result.remedy for result in results if result.check == "topic"}
    assert remedies["imu/data"] == ""
    assert "contact.source: joint_torques" in remedies["left_foot/wrench"]
    unknown = {result.check: result for result in results if result.verdict is Verdict.UNKNOWN}
    assert "topic" in unknown
    assert "masses" in unknown
    assert all(result.sentence for result in unknown.values())
    assert not any(result.failed for result in results)
