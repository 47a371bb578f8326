"""What a replay reports: loads and pushes once each, implausible numbers by name."""

import numpy as np
import pytest

from inertial_estimation.commands.replay_summary import _number
from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.replay.results import external_wrenches, implausible_metrics, located_loads
from inertial_estimation.signals import Decision, InertialEstimate

STEP_NS = 10_000_000


def load(mass, link="hand"):
    return LocatedCause(Cause.LOAD, 0.99, decided=True, links=(link, "wrist"), mass=mass, com_L=np.ones(3))


def push(newton, link="hand"):
    force = np.array([newton, 0.0, 0.0])
    return LocatedCause(Cause.PUSH, 0.99, decided=True, links=(link,), force_L=force, torque_L=np.zeros(3))


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


def test_a_replay_lists_every_load_once_with_its_last_mass():
    loads = located_loads(estimates(SEQUENCE))
    assert [(row["stamp_ns"], row["mass_kg"]) for row in loads] == [(2 * STEP_NS, 2.0), (35 * STEP_NS, -2.0)]
    assert loads[0]["links"] == ["hand", "wrist"]
    assert loads[0]["com_m"] == [1.0, 1.0, 1.0]


def test_a_replay_lists_every_push_once_with_its_median_force():
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
        (
            {"total_mass_kg": float("nan"), "torque_error_relative": 3417.36},
            {"total_mass_kg", "torque_error_relative"},
        ),
    ],
)
def test_masses_and_errors_out_of_proportion_are_implausible(metrics, named):
    assert implausible_metrics(metrics, 80.0).keys() == named


def test_an_implausible_number_is_printed_with_what_to_check():
    wrong = Finding("effort sign", "elbow", Verdict.WRONG, -1.0, "", "it is opposed", "turn it")
    metrics = {"implausible": {"total_mass_kg": "278 kg, the description has 80 kg"}}
    text = _number(metrics, "total_mass_kg", "278.000", [wrong])
    assert text.startswith("implausible (278 kg")
    assert text.endswith("check effort sign of elbow")
    assert "doubtful" in _number({"implausible": {}}, "total_mass_kg", "90.0", [wrong])
    assert _number({"implausible": {}}, "total_mass_kg", "90.0", []) == "90.0"
