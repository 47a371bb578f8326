"""Metrics and tables say what the estimates were; a response to a load is that of its series."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.recordings.watch_record import LiveRecord
from inertial_estimation.replay.payload_response import PayloadScene, response_from_record
from inertial_estimation.replay.results import external_wrenches, implausible_metrics, located_loads
from inertial_estimation.replay.summary import _number
from inertial_estimation.replay.tables import _base_orientation, _published, link_tables, write_result_table
from inertial_estimation.signals import Decision, InertialEstimate, LinkInertia


def base(t: int) -> ie.BaseEstimate:
    state = ie.BaseState(t, np.array([0.1, 0.2, 0.3, 0.9]), np.zeros(3), np.zeros(3), np.zeros(3))
    vertical, bias = np.array([0.6, 0.0, 0.8]), np.array([1e-3, 2e-3, 3e-3])
    return ie.BaseEstimate(state, vertical, bias, ("left", "right"), np.zeros(3), True, False, np.eye(3))


def inertial(t: int, accepted: bool) -> ie.InertialEstimate:
    moment = np.array([[1.0, 0.4, 0.5], [0.4, 2.0, 0.6], [0.5, 0.6, 3.0]])
    links = []
    for name, mass in (("arm", 4.0), ("hand", 1.0)):
        published, estimate, payload = (
            ie.LinkInertia(name, m, np.array([0.1, 0.2, 0.3]), moment) for m in (mass, mass + 0.5, 0.5)
        )
        links.append(ie.LinkEstimate(published, estimate, payload, 0.04 * np.eye(10)))
    return ie.InertialEstimate(
        t, links, ("a", "b"), np.ones(2), 2.5, 9.2, accepted, Decision.ACCEPTED, np.ones(10), 3
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_base_orientation(tmp_path: Path) -> None:
    write_result_table(tmp_path / "b.csv", _base_orientation([base(7), base(1_700_000_000_123_456_789)]))
    header = (tmp_path / "b.csv").read_text().splitlines()[0]
    assert header == (
        "stamp_ns,qx,qy,qz,qw,tilt_x,tilt_y,tilt_z,gyro_bias_x,gyro_bias_y,gyro_bias_z,contacts"
    )
    first, second = rows_of(tmp_path / "b.csv")
    assert second["stamp_ns"] == "1700000000123456789"
    assert [float(first[name]) for name in ("qx", "qy", "qz", "qw")] == [0.1, 0.2, 0.3, 0.9]
    assert (float(first["tilt_z"]), float(first["gyro_bias_y"])) == (0.8, 2e-3)
    assert first["contacts"] == "left right"


def test_link_inertias_are_the_published_ones_link_by_link(tmp_path: Path) -> None:
    estimates = [inertial(1, True), inertial(2, False)]
    links = link_tables(estimates)
    write_result_table(tmp_path / "l.csv", _published(estimates, links))
    header = (tmp_path / "l.csv").read_text().splitlines()[0]
    assert header == "stamp_ns,link,mass,com_x,com_y,com_z,ixx,ixy,ixz,iyy,iyz,izz,nis,accepted"
    rows = rows_of(tmp_path / "l.csv")
    assert [(row["stamp_ns"], row["link"], float(row["mass"])) for row in rows] == [
        *(("1", "arm", 4.0), ("1", "hand", 1.0), ("2", "arm", 4.0), ("2", "hand", 1.0))
    ]
    moments = [float(rows[0][name]) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    assert moments == [1.0, 0.4, 0.5, 2.0, 0.6, 3.0]
    assert [row["accepted"] for row in rows] == ["1", "1", "0", "0"]
    assert links["hand"]["identified_mass"].tolist() == [1.5, 1.5]
    np.testing.assert_allclose(links["arm"]["izz_sigma"], 0.2)


def test_what_is_not_known_is_an_empty_field_beside_a_time(tmp_path: Path) -> None:
    write_result_table(tmp_path / "t.csv", {"time_s": np.array([0.5]), "error": np.array([np.nan])})
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "0.500000,"


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
    (unknown,) = located_loads(estimates([replace(load(2.0), com_L=None)]))
    assert unknown["com_m"] is None


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
        ({"total_mass_kg": 278.0, "links": {"arm": {"mass_sigma_kg": 90.0}}}, set()),
        ({"total_mass_kg": 278.0, "links": {"arm": {"mass_sigma_kg": 9.0}}}, {"total_mass_kg"}),
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
    assert "uncertain" in _number({"implausible": {}}, "total_mass_kg", "90.0", [wrong])
    assert _number({"implausible": {}}, "total_mass_kg", "90.0", []) == "90.0"


SCENE = PayloadScene(
    "elbow", home=-1.0, link="forearm", payload=5.0, nominal_mass=2.0, time_s=1.0, duration_s=4.0
)
RELEASED = 7_000_000_000


def record(offset: float, mass: float) -> LiveRecord:
    """A second before the release to two after the end; the elbow is off from the weight on."""
    heard = LiveRecord()
    stamps = [RELEASED + round(t * 1e9) for t in np.arange(-1.0, 6.0, 0.01)]
    late = RELEASED + round(SCENE.time_s * 1e9)
    heard.joints["elbow"] = [(s, SCENE.home + offset * (s >= late)) for s in stamps]
    body = LinkInertia("forearm", mass, np.zeros(3), np.eye(3))
    heard.inertias["forearm"] = [(s, body) for s in stamps]
    return heard


def test_numbers_of_a_constant_error() -> None:
    response = response_from_record(record(0.25, 6.3), SCENE, adaptation=True, released_ns=RELEASED)
    assert response.t[0] == pytest.approx(0.0, abs=0.011)
    assert response.t[-1] == pytest.approx(4.0, abs=0.011)
    numbers = response.numbers(SCENE)
    assert numbers["elbow_rmse_rad"] == pytest.approx(0.25)
    assert numbers["elbow_error_at_end_rad"] == pytest.approx(0.25)
    assert numbers["largest_elbow_error_rad"] == pytest.approx(0.25)
    assert numbers["mass_error_at_end"] == pytest.approx(-0.1)
    np.testing.assert_allclose(response.mass, 6.3)
