"""Results that cannot be true are named, and are not printed as bare numbers."""

import pytest

from inertial_estimation.commands.replay_output import _number
from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.replay.replay_metrics import implausible_metrics


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
