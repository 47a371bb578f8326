"""Metrics and tables say what the estimates were; torque errors of an arm."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.ndimage import convolve1d

import inertial_estimation as ie
from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.plots.replay_report import _lead
from inertial_estimation.replay.results import external_wrenches, implausible_metrics, located_loads
from inertial_estimation.replay.tables import write_result_table
from inertial_estimation.replay.torque_errors import TorqueSeries, prediction_error
from inertial_estimation.signals import Decision, InertialEstimate
from inertial_estimation.simulation.config import NOISE_FREE
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot


def test_what_is_not_known_is_an_empty_field_beside_a_time(tmp_path):
    write_result_table(tmp_path / "t.csv", {"time_s": np.array([0.5]), "error": np.array([np.nan])})
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "0.500000,"


STEP_NS = 10_000_000


def load(mass, link="hand"):
    return LocatedCause(Cause.LOAD, 0.99, links=(link, "wrist"), mass=mass, com_L=np.ones(3))


def push(newton, link="hand"):
    force = np.array([newton, 0.0, 0.0])
    return LocatedCause(Cause.PUSH, 0.99, links=(link,), force_L=force, torque_L=np.zeros(3))


def estimates(located):
    zero = np.zeros(1)
    return [
        InertialEstimate(
            (i + 1) * STEP_NS, (), ("knee",), zero, 1.0, 9.0, True, Decision.ACCEPTED, zero, 1, located=cause
        )
        for i, cause in enumerate(located)
    ]


SEQUENCE = [None, load(1.9), load(2.0), None, *30 * [None], load(-2.0), None, push(9.0), push(11.0, "wrist")]
SEQUENCE += [push(10.0), push(30.0), None]


def test_a_replay_lists_every_load_once_with_its_last_mass_and_every_push_with_its_median_force():
    loads = located_loads(estimates(SEQUENCE))
    assert [(row["stamp_ns"], row["mass_kg"]) for row in loads] == [(2 * STEP_NS, 2.0), (35 * STEP_NS, -2.0)]
    assert loads[0]["links"] == ["hand", "wrist"]
    assert loads[0]["com_m"] == [1.0, 1.0, 1.0]
    (unknown,) = located_loads(estimates([replace(load(2.0), com_L=None)]))
    assert unknown["com_m"] is None
    (row,) = external_wrenches(estimates(SEQUENCE))
    assert (row["stamp_ns"], row["end_stamp_ns"]) == (37 * STEP_NS, 40 * STEP_NS)
    assert row["links"] == ["hand"]
    assert row["force_n"] == [10.0, 0.0, 0.0]
    assert row["point_m"] is None


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        ({}, set()),
        ({"total_mass_kg": 90.0, "torque_error_relative": 0.3}, set()),
        ({"total_mass_kg": 278.0, "torque_error_relative": 0.3}, {"total_mass_kg"}),
        ({"total_mass_kg": -1.0}, {"total_mass_kg"}),
        ({"total_mass_kg": 278.0, "links": {"arm": {"mass_sigma_kg": 90.0}}}, set()),
        ({"total_mass_kg": 278.0, "links": {"arm": {"mass_sigma_kg": 9.0}}}, {"total_mass_kg"}),
        ({"total_mass_kg": float("nan")}, {"total_mass_kg"}),
        ({"torque_error_relative": 3417.36}, {"torque_error_relative"}),
    ],
)
def test_masses_and_errors_out_of_proportion_are_implausible(metrics, named):
    assert implausible_metrics(metrics, 80.0).keys() == named


def test_an_implausible_number_is_told_with_what_to_check():
    metrics = {"implausible": {"total_mass_kg": "278 kg, the description has 80 kg"}}

    def lead(*verdicts):
        checks = [
            Finding("effort sign", "elbow", one, -1.0, "", "it is opposed", "turn it") for one in verdicts
        ]
        return _lead(SimpleNamespace(metrics=metrics, checks=checks))[0]

    assert "implausible: total_mass_kg: 278 kg" in lead()
    assert "Check effort sign of elbow" in lead(Verdict.WARN)
    assert "all numbers are uncertain; first: effort sign of elbow" in lead(Verdict.WRONG)


@pytest.fixture(scope="module")
def recording():
    timing = ie.Timing(duration_s=3.0, rate_hz=500.0)
    truth = ie.synthetic_truth("panda", timing, np.random.default_rng(0), payload_time_s=None)
    return ie.measure(truth, NOISE_FREE, np.random.default_rng(0))


@pytest.fixture(scope="module")
def robot():
    spec = synthetic_robot("panda")
    return ie.RobotModel.from_urdf(
        ie.read_urdf(spec.urdf), floating_base=False, locked_joints=spec.locked_joints
    )


def readings(recording):
    return [e.sample for e in recording.messages if isinstance(e.sample, ie.JointReading)]


def error(robot, samples, friction, window=0.0):
    config = RobotConfig(effort_window=window)
    return prediction_error(robot, samples, friction, joints=robot.joint_names, config=config)


@pytest.mark.parametrize("velocity", [None, np.full(7, np.nan), np.zeros(7)])
def test_true_model_predicts_the_torques_with_and_without_velocities(recording, robot, velocity):
    samples = readings(recording)
    assert error(robot, samples, {}) < 1e-3
    assert error(robot, [replace(r, velocity=velocity) for r in samples], {}) < 1e-3
    louder = [replace(r, effort=1.25 * r.effort) for r in samples]
    assert error(robot, louder, {}) == pytest.approx(0.2, abs=1e-3)  # relative to what is measured


def test_efforts_that_were_smoothed_before_they_were_recorded(recording, robot):
    samples = readings(recording)[::4]
    efforts = np.array([r.effort for r in samples])
    box = np.ones(51) / 51
    for _ in range(2):
        efforts = convolve1d(efforts, box, axis=0, mode="nearest")
    smoothed = [replace(r, effort=effort) for r, effort in zip(samples, efforts, strict=True)]
    step_s = 1e-9 * (samples[1].stamp_ns - samples[0].stamp_ns)
    aware = error(robot, smoothed, {}, 100 * step_s)
    unaware = error(robot, smoothed, {})
    assert aware < 2e-3
    assert unaware > 10.0 * aware


def test_friction_in_the_torques_is_explained_by_the_same_friction(recording, robot):
    friction = {"panda_joint2/viscous": 8.0, "panda_joint4/offset": 2.0}
    rough = []
    for r in readings(recording):
        effort = r.effort.copy()
        effort[1] += 8.0 * r.velocity[1]
        effort[3] += 2.0
        rough.append(ie.JointReading(r.stamp_ns, r.names, r.position, r.velocity, effort))
    assert error(robot, rough, {}) > 0.02
    assert error(robot, rough, friction) < 2e-3


def test_rows_that_are_no_measured_torque_do_not_hide_the_error_of_the_others():
    stamps = 10_000_000 * np.arange(400, dtype=np.int64)
    slow = 1.0 + np.sin(4e-9 * stamps)
    measured, off = (np.column_stack((part, slow)) for part in (np.full(400, np.nan), 9.0 * slow))
    series = TorqueSeries(stamps, ("base_force_z", "elbow"), measured, off * [1.0, 0.1])
    smooth = series.low_passed()
    assert np.isnan(smooth.measured[:, 0]).all()
    np.testing.assert_allclose(smooth.measured[50:350, 1], slow[50:350], atol=1e-3)
    assert series.relative_error() == pytest.approx(0.1, rel=1e-6)
