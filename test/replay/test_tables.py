"""Tables have the columns that were promised and hold what was estimated."""

import csv
from pathlib import Path

import numpy as np

from inertial_estimation.replay.tables import _base_orientation, _published, link_tables, write_result_table
from inertial_estimation.signals import (
    BaseEstimate,
    BaseState,
    Decision,
    InertialEstimate,
    LinkEstimate,
    LinkInertia,
)


def base(t: int) -> BaseEstimate:
    state = BaseState(t, np.array([0.1, 0.2, 0.3, 0.9]), np.zeros(3), np.zeros(3), np.zeros(3))
    vertical, bias = np.array([0.6, 0.0, 0.8]), np.array([1e-3, 2e-3, 3e-3])
    return BaseEstimate(state, vertical, bias, ("left", "right"), np.zeros(3), True, False, np.eye(3))


def inertial(t: int, accepted: bool) -> InertialEstimate:
    moment = np.array([[1.0, 0.4, 0.5], [0.4, 2.0, 0.6], [0.5, 0.6, 3.0]])
    links = []
    for name, mass in (("arm", 4.0), ("hand", 1.0)):
        published, estimate, payload = (
            LinkInertia(name, m, np.array([0.1, 0.2, 0.3]), moment) for m in (mass, mass + 0.5, 0.5)
        )
        links.append(LinkEstimate(published, estimate, payload, 0.04 * np.eye(10)))
    return InertialEstimate(
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
        *(("1", "arm", 4.0), ("1", "hand", 1.0), ("2", "arm", 4.0), ("2", "hand", 1.0)),
    ]
    moments = [float(rows[0][name]) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    assert moments == [1.0, 0.4, 0.5, 2.0, 0.6, 3.0]
    assert [row["accepted"] for row in rows] == ["1", "1", "0", "0"]
    assert links["hand"]["identified_mass"].tolist() == [1.5, 1.5]
    np.testing.assert_allclose(links["arm"]["izz_sigma"], 0.2)


def test_what_is_not_known_is_an_empty_field_beside_a_time(tmp_path: Path) -> None:
    write_result_table(tmp_path / "t.csv", {"time_s": np.array([0.5]), "error": np.array([np.nan])})
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "0.500000,"
