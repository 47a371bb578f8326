"""An error is named as itself and as nothing else, a sound recording is silent, and the fix is right.

One error of each kind of evidence; `benchmarks.referee` injects all of them, into more robots.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.recorded_robots import recorded

from inertial_estimation.commands.check import fixed_parameters
from inertial_estimation.diagnosis.causes import WHOLE
from inertial_estimation.diagnosis.finding import Verdict, times
from inertial_estimation.diagnosis.masses import _weighed
from inertial_estimation.diagnosis.parts import judged
from inertial_estimation.diagnosis.table import Change, Robot, Signals, evenly_spaced
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.robot_streams import StreamRows
from inertial_estimation.models.contacts import WrenchAxes
from inertial_estimation.models.predicted_forces import gravity_columns
from inertial_estimation.models.robot_config import AddedFrames, robot_from_config
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.spatial.rotations import DEGREES, rotation_from_roll_pitch_yaw

FEET, KNEE = ("left_foot", "right_foot"), "leg_left_4_joint"
TURNED = rotation_from_roll_pitch_yaw(0.4, -0.3, 1.2)
FLIPPED, ONE, HALF = np.diag([1.0, -1.0, 1.0]), np.eye(3), 0.5 * np.eye(3)
ABOUT_Z, SLANTED = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]), rotation_from_roll_pitch_yaw(0.5, 0.0, 0.0)


def of_joints(part, change):
    """Change positions (0), velocities (1) or efforts (2)."""

    def inject(streams):
        values, n = streams.joints.values.copy(), streams.n_joints
        values[:, part * n : (part + 1) * n] = change(values[:, part * n : (part + 1) * n])
        return replace(streams, joints=streams.joints.with_values(values))

    return inject


def of_one(j, factor=1.0, plus=0.0):
    return lambda values: np.where(np.arange(values.shape[1]) == j, factor * values + plus, values)


def silent_after(k, j):
    return of_joints(2, lambda tau: np.vstack((tau[:k], of_one(j, 0.0)(tau[k:]))))


def exchanged(*parts):
    """Exchange joints 3 and 4 in positions (0), velocities (1) and efforts (2)."""

    def inject(streams):
        for k in parts:
            streams = of_joints(k, lambda v: v[:, [0, 1, 3, 2, *range(4, v.shape[1])]])(streams)
        return streams

    return inject


def mirrored(j):
    return lambda streams: of_joints(1, of_one(j, -1.0))(of_joints(0, of_one(j, -1.0))(streams))


def in_degrees(streams):
    return of_joints(1, lambda v: v * DEGREES)(of_joints(0, lambda q: q * DEGREES)(streams))


def of_imu(force=None, rate=None):
    """Turn specific force and angular rate."""

    def inject(streams):
        values, one = streams.imu.values, np.eye(3)
        parts = (
            values[:, :3] @ (one if force is None else force).T,
            values[:, 3:] @ (one if rate is None else rate).T,
        )
        return replace(streams, imu=streams.imu.with_values(np.hstack(parts)))

    return inject


def late(seconds):
    def inject(streams):
        imu = streams.imu
        return replace(streams, imu=StreamRows(imu.times_ns + round(1e9 * seconds), imu.values, imu.notes))

    return inject


def of_wrenches(force, moment, names=("left_foot",)):
    def inject(streams):
        changed = {
            name: stream.with_values(
                np.hstack((stream.values[:, :3] @ force.T, stream.values[:, 3:] @ moment.T))
            )
            for name, stream in streams.wrenches.items()
            if name in names
        }
        return replace(streams, wrenches={**streams.wrenches, **changed})

    return inject


@pytest.mark.parametrize("robot", ["panda", "legs"])
def test_a_sound_recording_is_silent(robot, request):
    findings = request.getfixturevalue(robot).sound
    assert [str(one) for one in findings if one.failed] == []
    assert any(one.check == "masses" and one.verdict is Verdict.OK for one in findings)


def test_a_joint_without_stops_that_turns_many_times_is_not_in_degrees(panda):
    """Its limits are a turn, as software has them."""
    endless = panda.urdf.replace("2.8973", "3.1416")
    assert endless != panda.urdf
    spin, streams = 1.5, panda.streams
    angle = spin * 1e-9 * (streams.joints.times_ns - streams.joints.times_ns[0])
    turns = of_joints(0, lambda q: q + np.outer(angle, np.arange(q.shape[1]) == 6))(streams)
    turns = of_joints(1, of_one(6, plus=spin))(turns)
    silent = of_joints(2, lambda tau: np.full_like(tau, np.nan))(turns)  # which fit the other motion
    assert panda.failed(silent, urdf=endless) == []
    assert panda.failed(in_degrees(silent), urdf=endless) == [("joint positions", "joint_states")]


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1e3, "1000 times too large"),
        (0.06, "16.7 times too small"),
        (-5, "5 times too large and of the other"),
    ],
)
def test_factors_are_said_as_one_would(factor, words):
    assert words in times(factor)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_spring_that_the_description_lacks_is_no_error_of_the_efforts(panda, sign):
    """As the gas spring of a KUKA KR300, which carries what its second joint needs, and more."""
    n = panda.streams.n_joints
    q, tau = panda.streams.joints.values[:, 1], panda.streams.joints.values[:, 2 * n + 1]
    spring = 1.5 * np.polyval(np.polyfit(q, tau, 2), q)
    sprung = of_joints(2, lambda efforts: efforts - spring[:, None] * (np.arange(n) == 1))
    other = of_joints(2, of_one(3, sign))
    found = panda.diagnosis(other(sprung(panda.streams))).findings
    wrong = {(one.check, one.subject) for one in found if one.verdict is Verdict.WRONG}
    assert wrong == (set() if sign > 0.0 else {("effort sign", "panda_joint4")})


def test_a_robot_that_lies_on_its_side_without_torques_is_not_accused(legs):
    rng = np.random.default_rng(0)
    lying = of_imu(*2 * (rotation_from_roll_pitch_yaw(0.5 * np.pi, 0.0, 0.0),))
    streams = of_joints(2, lambda tau: rng.normal(0.0, 0.1, tau.shape))(lying(legs.streams))
    quiet = {
        name: one.with_values(rng.normal(0.0, 1.0, one.values.shape))
        for name, one in streams.wrenches.items()
    }
    found = legs.diagnosis(replace(streams, wrenches=quiet)).findings
    assert ("IMU delay", Verdict.UNKNOWN) in {(one.check, one.verdict) for one in found}
    assert [str(one) for one in found if one.verdict is Verdict.WRONG] == []


def test_two_publishers_of_the_same_joints_are_named(panda):
    def zeros_between(values):
        return np.where((np.arange(len(values)) % 20 == 7)[:, None], 0.0, values)

    streams = of_joints(0, zeros_between)(panda.streams)
    (one,) = (one for one in panda.diagnosis(streams).findings if one.check == "rivals")
    assert one.verdict is Verdict.WRONG
    assert "another publisher" in one.remedy
    rng = np.random.default_rng(0)
    noisy = of_joints(0, lambda q: (q + rng.normal(0.0, 2e-3, q.shape)) * DEGREES)(panda.streams)
    assert "rivals" not in {one.check for one in panda.diagnosis(noisy).findings}


@pytest.mark.parametrize(
    ("inject", "check", "subject", "value"),
    [
        (of_joints(2, of_one(3, -1.0)), "effort sign", "panda_joint4", -1.0),
        (of_joints(2, of_one(1, 1e3)), "effort unit", "panda_joint2", 1e3),
        (of_joints(1, of_one(2, -1.0)), "joint velocities", "panda_joint3", -1.0),
        (of_joints(0, of_one(4, plus=2.0 * np.pi)), "joint positions", "panda_joint5", 3.48),
        (of_joints(0, lambda q: q * DEGREES), "joint positions", "joint_states", 116.6),
        (in_degrees, "joint positions", "joint_states", 116.6),
        (of_joints(2, lambda tau: np.roll(tau, 6, axis=0)), "effort delay", "joint_states", 60.0),
        (of_joints(2, lambda tau: np.roll(tau, 3, axis=0)), "effort delay", "joint_states", 30.0),
        (of_joints(2, of_one(3, 0.0)), "effort silent", "panda_joint4", 0.0),
        (silent_after(300, 3), "effort silent", "panda_joint4", 0.0),
        (of_joints(2, lambda tau: 34.0 * tau), "effort unit", "joint_states", 34.0),
        (of_joints(2, lambda tau: 0.1 * tau), "effort unit", "joint_states", 0.1),
        (exchanged(0, 1, 2), "joint order", "panda_joint3", 0.0),
        (exchanged(2), "effort order", "panda_joint3", 0.0),
        (mirrored(3), "joint sign", "panda_joint4", 0.0),
        (mirrored(1), "joint sign", "panda_joint2", 0.0),
        (of_joints(2, of_one(3, plus=6.0)), "effort zero", "panda_joint4", 6.0),
    ],
)
def test_an_error_of_an_arm_is_named_with_its_size_and_no_other(panda, inject, check, subject, value):
    found = panda.error(inject(panda.streams))
    assert (found.check, found.subject, found.value) == (check, subject, pytest.approx(value, rel=0.1))
    mild = check in ("effort silent", "effort zero") or value == 30.0
    assert found.verdict is (Verdict.WARN if mild else Verdict.WRONG)


@pytest.mark.parametrize(
    ("size", "sigma", "fixed", "verdict"),
    [
        (-0.7, 0.03, 3, "WARN"),
        (-0.7, 0.2, 3, "OK"),
        (0.2, 0.03, 3, "OK"),
        (-1.01, 0.02, 3, "OK"),
        (-0.7, 0.03, 0, "OK"),  # of a robot on legs that measure no forces
    ],
)
def test_masses_of_an_arm_that_are_far_off_together_are_not_ok(size, sigma, fixed, verdict):
    whole = SimpleNamespace(kind=WHOLE, size=size, sigma=sigma, is_wrong=abs(size) > WHOLE.wrong)
    rows = SimpleNamespace(masses=np.array([10.0, 5.0]), n_base=0, gravity=np.zeros((1, 2, fixed)))
    found = _weighed(SimpleNamespace(causes=[whole]), rows)
    assert found.verdict.name == verdict
    assert ("their sum is not determined" in found.sentence) == (not fixed or sigma > 0.1)


@pytest.mark.parametrize("noise", [0.2, 2.0])
def test_an_offset_is_named_however_much_of_the_residual_is_noise(panda, noise):
    """It need only explain a share of what exceeds the noise of the efforts [Nm]."""
    tau, rng = panda.streams.joints.values[:, -panda.streams.n_joints :], np.random.default_rng(0)
    noisy = of_joints(2, lambda values: values + rng.normal(0.0, noise, tau.shape))(panda.streams)
    assert panda.failed(noisy) == []
    found = panda.error(of_joints(0, of_one(3, plus=8.0 / DEGREES))(noisy))
    assert (found.check, found.subject) == ("joint offset", "panda_joint4")


@pytest.mark.parametrize("degrees", [45.0, 180.0])
def test_an_arm_that_is_mounted_otherwise_than_described_is_named(panda, degrees):
    robot, n = robot_from_config(panda.config, panda.urdf).robot, panda.streams.n_joints
    down = np.array([0.0, 0.0, -9.80665])
    change = rotation_from_roll_pitch_yaw(degrees / DEGREES, 0.0, 0.0).T @ down - down
    more = np.array([gravity_columns(robot, q) @ change for q in panda.streams.joints.values[:, :n]])
    findings = panda.diagnosis(of_joints(2, lambda tau: tau + more)(panda.streams)).findings
    (found,) = [one for one in findings if one.failed]
    assert (found.check, found.unit) == ("base mounting", "deg")
    assert found.value == pytest.approx(degrees, abs=5.0)


def test_an_angular_rate_in_degrees_is_named_without_contacts(biped):
    alone, config = (
        replace(biped.streams, wrenches={}, loads={}),
        replace(biped.config, contacts=(), contact_frames=()),
    )
    assert biped.failed(alone, config=config) == []
    error = biped.error(of_imu(rate=DEGREES * ONE)(alone), config=config)
    assert (error.check, error.verdict) == ("gyroscope scale", Verdict.WRONG)
    assert error.fix.parameters == {"imu.units": ["deg/s"]}


def test_exchanged_legs_are_one_cause(legs):
    names = robot_from_config(legs.config, legs.urdf).robot.joint_names
    sides = [name.replace("left", "x").replace("right", "left").replace("x", "right") for name in names]
    streams, order = legs.streams, [names.index(name) for name in sides]
    for part in range(3):
        streams = of_joints(part, lambda values: values[:, order])(streams)
    (found,) = [one for one in legs.diagnosis(streams).findings if one.failed]
    assert found.check == "joint order"
    assert "'left_foot' and 'right_foot' were exchanged" in found.sentence


@pytest.mark.parametrize(
    ("robot", "inject", "check", "subject", "words", "value"),
    [
        ("legs", of_imu(rate=FLIPPED), "gyroscope axes", "imu/data", "(x, -y, z)", 180.0),
        ("biped", of_imu(np.eye(3)[[1, 2, 0]]), "accelerometer direction", "imu/data", "(z, x, y)", 120.0),
        ("biped", late(0.02), "IMU delay", "imu/data", "late", 20.0),
        ("legs", of_wrenches(ABOUT_Z, ABOUT_Z), "contact wrench axes", "left_foot/wrench", "(y, -x, z)", 0.0),
        ("legs", of_wrenches(SLANTED, SLANTED, FEET), "contact wrench axes", "contact wrenches", "29", 0.0),
        ("legs", of_wrenches(HALF, HALF), "contact wrench scale", "left_foot/wrench", "0.5", 0.5),
        ("legs", of_wrenches(ONE, -ONE), "contact wrench axes", "left_foot/wrench", "moments of", 0.0),
    ],
)
def test_an_error_of_imu_or_wrenches_is_named_and_no_other(
    request, robot, inject, check, subject, words, value
):
    robot = request.getfixturevalue(robot)
    found = robot.error(inject(robot.streams))
    assert (found.check, found.subject, found.value) == (check, subject, pytest.approx(value, rel=0.1))
    assert words in found.sentence
    assert found.verdict is (Verdict.WARN if check == "IMU delay" else Verdict.WRONG)


def test_errors_of_a_knee_are_named_by_forces_and_feet_and_efforts_without_them(legs):
    knee = robot_from_config(legs.config, legs.urdf).robot.joint_index(KNEE)
    found = legs.error(of_joints(0, of_one(knee, plus=5.0 / DEGREES))(legs.streams))
    assert (found.check, found.subject, found.value) == ("joint offset", KNEE, pytest.approx(-5.0, abs=0.5))
    streams = of_joints(2, of_one(knee, 1e3))(replace(legs.streams, wrenches={}))
    assert legs.failed(streams) == [("effort unit", KNEE)]


@pytest.mark.parametrize(("joint", "degrees"), [("leg_right_4_joint", 8.0), ("leg_right_6_joint", -8.0)])
def test_a_joint_that_is_far_off_is_no_error_of_its_neighbour(legs, joint, degrees):
    """Its neighbour's gear ratio and the unit of its effort explain a part of what an offset explains."""
    j = robot_from_config(legs.config, legs.urdf).robot.joint_index(joint)
    found = legs.error(of_joints(0, of_one(j, plus=degrees / DEGREES))(legs.streams))
    assert (found.check, found.subject) == ("joint offset", joint)
    assert found.value == pytest.approx(-degrees, abs=0.5)


@pytest.mark.parametrize(("factor", "compared"), [(1.0, False), (DEGREES, True)])
def test_a_base_at_rest_is_compared_only_with_a_gyroscope_that_shows_motion(legs, factor, compared):
    """The right unit may leave readings that tell nothing: this part is then neutral, not unknown."""
    setup, rng = robot_from_config(legs.config, legs.urdf), np.random.default_rng(0)
    joints, imu = legs.streams.joints, legs.streams.imu
    still = np.repeat(joints.values[:1], len(joints.values), axis=0)
    still[:, legs.streams.n_joints : 2 * legs.streams.n_joints] = 0.0
    rates = np.hstack((imu.values[:, :3], factor * rng.normal(0.0, 0.02, (len(imu.values), 3))))
    streams = replace(legs.streams, joints=joints.with_values(still), imu=imu.with_values(rates))
    signals = Signals.of(streams, setup)
    part = judged(Robot(setup).table(signals.at(evenly_spaced(signals.size, 60))), ["rotation"])["rotation"]
    assert (part.log < -1.0, bool(part.left.any())) == (compared, compared)


def unknown(streams, j):
    """Take all of a joint away."""
    n = streams.n_joints
    kept = np.where(np.arange(3 * n) % n == j, np.nan, streams.joints.values)
    return replace(streams, joints=streams.joints.with_values(kept))


def test_a_joint_that_moves_neither_imu_nor_contacts_blocks_no_check():
    talos = recorded("talos", 8.0, locked_joints=("arm_*", "gripper*"))
    joints = robot_from_config(talos.config, talos.urdf).robot
    head, knee = joints.joint_index("head_1_joint"), joints.joint_index(KNEE)
    found = talos.diagnosis(unknown(talos.streams, head)).findings
    assert not any(one.failed for one in found)
    assert {"effort", "gyroscope axes", "IMU delay", "sensor axes"} <= {one.check for one in found}
    (masses,) = (one for one in found if one.check == "masses")
    assert "head_1_joint" in masses.sentence
    turned = of_joints(2, of_one(knee, -1.0))(unknown(talos.streams, head))
    assert talos.failed(turned) == [("effort sign", KNEE)]
    (blocked,) = (
        one for one in talos.diagnosis(unknown(talos.streams, knee)).findings if "other" in one.check
    )
    assert blocked.verdict is Verdict.UNKNOWN


def test_feet_without_efforts_and_forces_acquit_exact_joints(legs):
    silent = replace(of_joints(2, lambda tau: np.full_like(tau, np.nan))(legs.streams), wrenches={})
    assert legs.failed(silent) == []


def with_numbers(urdf, changes):
    """A description some of whose numbers are others."""
    for number, change in changes.items():
        assert f'"{number}"' in urdf
        urdf = urdf.replace(f'"{number}"', f'"{float(number) + change}"')
    return urdf


FLAT = dict.fromkeys(("0.035549", "0.029474", "0.008627"), 0.5)  # link5 about all axes: 0.87 kg m^2
LIGHT = {"17.55011": -7.0}  # the torso


@pytest.mark.parametrize(
    ("robot", "changes", "wrenches", "check", "value", "tolerance", "said"),
    [
        ("panda", {"1.666555": 0.9}, True, "link mass", -0.9, 0.25, ("panda_link6",)),
        ("panda", FLAT | {"1.225946": -1.0}, True, "link mass", 1.0, 0.25, ("panda_link5: ", "kg m^2")),
        ("panda", FLAT, True, "link inertia", 0.87, 0.25, ("panda_link5: ", "kg m^2")),
        ("legs", LIGHT, True, "masses", 7.0, 1.0, ("'torso_2_link'",)),  # by the vertical force alone
        ("legs", LIGHT, False, "link mass", 7.0, 2.0, ("torso_2_link: ",)),  # by the efforts of the legs
    ],
)
def test_what_the_description_lacks_of_a_body_is_named_as_one_cause_with_its_size(
    request, robot, changes, wrenches, check, value, tolerance, said
):
    robot = request.getfixturevalue(robot)
    streams = robot.streams if wrenches else replace(robot.streams, wrenches={})
    found = robot.error(streams, urdf=with_numbers(robot.urdf, changes))
    assert (found.check, found.value) == (check, pytest.approx(value, abs=tolerance))
    assert found.verdict is Verdict.WARN or check != "masses"
    assert found.unit == "kg" or check == "link inertia"
    assert all(part in f"{found.subject}: {found.sentence}" for part in said)


@pytest.mark.parametrize(
    ("robot", "link", "wrenches", "locked"),
    [
        ("panda", "panda_link7", True, ()),
        ("talos", "arm_left_5_link", False, ("arm_right_*", "head_*", "gripper*")),
        ("talos", "torso_2_link", True, ("arm_*", "gripper*", "head_*")),
    ],
)
def test_a_load_that_is_put_on_is_named_with_its_time_and_nothing_else(robot, link, wrenches, locked):
    handed = recorded(robot, 6.0, payload_time_s=3.0, payload_link=link, locked_joints=locked)
    streams = handed.streams if wrenches else replace(handed.streams, wrenches={})
    found = handed.error(streams)
    expected = ("load change", "recording", pytest.approx(5.44, abs=0.4))
    assert (found.check, found.subject, found.value) == expected
    assert "at 3.0 s" in found.sentence


def test_a_load_that_is_there_from_the_start_is_a_mass_and_no_scale_of_the_efforts():
    found = recorded("panda", 6.0, payload_time_s=0.0).error()
    expected = ("link mass", "panda_link7", pytest.approx(5.44, abs=0.4))
    assert (found.check, found.subject, found.value) == expected


def test_noise_of_a_gyroscope_is_no_angular_acceleration(legs):
    imu = legs.streams.imu
    t = 2.0 * np.pi * 1e-9 * (imu.times_ns - imu.times_ns[0])
    values = np.random.default_rng(0).normal(imu.values.mean(axis=0), 0.02, imu.values.shape)
    values[:, 3] += 0.5 * np.sin(t)  # [rad/s]
    streams = replace(legs.streams, imu=imu.with_values(values))
    wd = np.nanstd(Signals.of(streams, robot_from_config(legs.config, legs.urdf)).wd, axis=0)
    assert wd[0] == pytest.approx(np.pi / np.sqrt(2.0), rel=0.1)
    assert wd[1:].max() < 0.05


@pytest.mark.parametrize("seed", [1, 6])
def test_tolerances_of_all_masses_are_no_wrong_mass(panda, seed):
    unlike = perturbed_urdf(panda.urdf, np.random.default_rng(seed), mass_sigma=0.03, com_sigma=0.003)
    assert panda.failed(urdf=unlike) == []


@pytest.mark.parametrize(("factor", "check"), [(-1.0, "effort sign"), (1e3, "effort unit")])
def test_what_is_late_is_dated_after_another_error_of_it_is_mended(panda, factor, check):
    streams = of_joints(2, lambda tau: factor * np.roll(tau, 6, axis=0))(panda.streams)
    assert panda.failed(streams) == [(check, "joint_states"), ("effort delay", "joint_states")]


@pytest.mark.parametrize("seed", [4, 8])
def test_a_crude_description_is_no_wrong_sign_or_order(panda, seed):
    crude = perturbed_urdf(panda.urdf, np.random.default_rng(seed), mass_sigma=0.2, com_sigma=0.03)
    named = {check for check, _subject in panda.failed(urdf=crude)}
    assert not named & {"effort sign", "effort order", "joint sign", "joint order"}


def test_the_fix_of_a_turned_imu_makes_the_check_silent(biped):
    streams = of_imu(TURNED, TURNED)(biped.streams)
    findings = biped.diagnosis(streams).findings
    assert [(one.check, one.subject) for one in findings if one.failed] == [("IMU mounting", "imu/data")]
    values = fixed_parameters(findings, biped.config)
    R_IS = rotation_from_roll_pitch_yaw(*values["frames.poses"][3:])
    assert np.degrees(np.arccos(0.5 * (np.trace(R_IS @ TURNED) - 1.0))) < 1.0
    fixed = build_config(RobotConfig, {**parameter_values(biped.config), **values})
    assert biped.failed(streams, config=fixed) == []


@pytest.mark.parametrize("axes", [WrenchAxes.BASE, WrenchAxes.WORLD])
def test_wrenches_in_other_axes_are_turned_once_whatever_is_assumed(legs, axes):
    setup = robot_from_config(legs.config, legs.urdf)
    robot, signals = Robot(setup), Signals.of(legs.streams, setup)
    table = robot.table(signals.at(evenly_spaced(signals.size, 60)))
    turn = table.rotations_BF
    if axes is WrenchAxes.WORLD:  # of any heading
        level = rotation_from_roll_pitch_yaw(0.0, 0.0, 2.0) @ table.sent.attitude
        turn = np.einsum("nij,nlj,nklm->nkim", level, table.R_BI, turn)
    halves = table.signals.wrenches.reshape(table.size, -1, 2, 3)
    sent = np.einsum("nkij,nkhj->nkhi", turn, halves).reshape(table.signals.wrenches.shape)
    turned = replace(table.sent, wrenches=sent, axes=(axes,) * len(FEET))
    assumed = Change(offset=np.zeros(len(robot.names)))  # which predicts anew
    for same in (robot.table(turned), robot.table(turned).changed(assumed)):
        left = same.signals.wrenches - table.signals.wrenches
        heading = (
            0.02 * robot.weight if axes is WrenchAxes.WORLD else 1e-9
        )  # by which the robot balances best
        assert np.abs(left[:, :, :3]).max() < heading


def test_a_scalar_force_is_a_load_without_horizontal_forces(legs):
    weighed = {
        name: stream.with_values(np.outer(np.linalg.norm(stream.values[:, :3], axis=1), np.eye(6)[2]))
        for name, stream in legs.streams.wrenches.items()
    }
    assert legs.failed(replace(legs.streams, wrenches=weighed)) == []
    pulled = {**weighed, "left_foot": weighed["left_foot"].with_values(-weighed["left_foot"].values)}
    assert ("contact wrench sign", "left_foot/wrench") in legs.failed(replace(legs.streams, wrenches=pulled))
    added = AddedFrames(("down",), ("leg_left_6_link",), (0.0, 0.0, -0.1, np.pi, 0.0, 0.0))
    config = replace(legs.config, frames=added, wrench_frames=("down", "right_sole_link"))
    streams = replace(legs.streams, wrenches=weighed)
    assert ("contact wrench sign", "left_foot/wrench") in legs.failed(streams, config=config)
    loaded = replace(streams, wrenches={}, loads=weighed)  # whose forces have no axes
    assert legs.failed(loaded, config=config) == []


def test_switches_show_over_which_foot_the_imu_turns(biped):
    assert biped.failed() == []
    assert biped.failed(of_imu(ONE, -ONE)(biped.streams)) == [("gyroscope axes", "imu/data")]
    left, right = biped.streams.loads.values()
    assert biped.failed(replace(biped.streams, loads={"left": right, "right": left})) != []


def test_fixes_add_to_what_is_set_and_are_valid_parameters(panda):
    streams = of_joints(0, of_one(4, plus=2.0 * np.pi))(of_joints(2, of_one(3, -1.0))(panda.streams))
    config = build_config(RobotConfig, fixed_parameters(panda.diagnosis(streams).findings, panda.config))
    assert config.drive_gains.joints == ("panda_joint4",)
    assert config.drive_gains.values == (-1.0,)
    assert config.joint_offsets.values[0] == pytest.approx(-2.0 * np.pi, abs=1e-5)


@pytest.mark.parametrize("subject", ["imu/data", "joint_states"])
def test_readings_that_are_no_numbers_are_named_with_their_share_and_all_else_is_judged(legs, subject):
    def some(name, stream):
        values = stream.values.copy()
        values[::20, -2 if name == subject else []] = np.nan  # a rate, an effort
        return stream.with_values(values)

    sound = {(one.check, one.subject): one.verdict for one in legs.sound}
    found = legs.diagnosis(legs.streams.changed(some)).findings
    (said,) = (one for one in found if one.failed)
    assert (said.check, said.subject) == ("missing values", subject)
    assert "no number in 5 % of the readings" in said.sentence
    others = {(one.check, one.subject): one.verdict for one in found if one is not said}
    assert others.items() <= sound.items()
    assert len(found) == len(sound)


def test_what_cannot_be_told_is_said(legs):
    without = replace(legs.streams, imu=None, wrenches={}, absent=("/imu/data", "/left_foot/wrench"))
    findings = legs.diagnosis(without).findings
    (topics,) = (one for one in findings if one.check == "topics")
    assert topics.subject == "imu/data, left_foot/wrench"
    assert "contact.source: joint_torques" in topics.remedy
    unknown = {one.check: one for one in findings if one.verdict is Verdict.UNKNOWN}
    assert {"topics", "masses"} <= set(unknown)
    assert all(one.sentence for one in unknown.values())
    assert not any(one.failed for one in findings)


@pytest.mark.parametrize(("robot", "bad"), [("panda", np.nan), ("legs", -1e300)])
def test_no_reading_ends_a_check(robot, bad, request):
    robot = request.getfixturevalue(robot)
    values = robot.streams.joints.values.copy()
    values[200:240, 1::3] = bad
    robot.diagnosis(replace(robot.streams, joints=robot.streams.joints.with_values(values)))
