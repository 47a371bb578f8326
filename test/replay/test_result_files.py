"""Results have the columns that were promised and hold what was estimated."""

import csv
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.errors import RecordingError
from inertial_estimation.replay.estimate_series import inertial_series, tilt_series
from inertial_estimation.replay.result_files import (
    base_orientation_table,
    link_inertias_table,
    read_trusted,
    write_result_table,
)
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
    published = LinkInertia("arm", 4.0, np.array([0.1, 0.2, 0.3]), moment)
    estimate = LinkInertia("arm", 4.5, np.array([0.1, 0.2, 0.3]), moment)
    payload = LinkInertia("arm", 0.5, np.zeros(3), moment)
    link = LinkEstimate(published, estimate, payload, 0.04 * np.eye(10))
    return InertialEstimate(
        t, (link,), ("a", "b"), np.ones(2), 2.5, 9.2, accepted, Decision.ACCEPTED, np.ones(10), 3
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_base_orientation(tmp_path: Path) -> None:
    series = tilt_series([base(7), base(1_700_000_000_123_456_789)])
    write_result_table(tmp_path / "b.csv", base_orientation_table(series))
    header = (tmp_path / "b.csv").read_text().splitlines()[0]
    assert header == (
        "stamp_ns,qx,qy,qz,qw,tilt_x,tilt_y,tilt_z,gyro_bias_x,gyro_bias_y,gyro_bias_z,contacts"
    )
    first, second = rows_of(tmp_path / "b.csv")
    assert second["stamp_ns"] == "1700000000123456789"
    assert [float(first[name]) for name in ("qx", "qy", "qz", "qw")] == [0.1, 0.2, 0.3, 0.9]
    assert float(first["tilt_z"]) == 0.8
    assert float(first["gyro_bias_y"]) == 2e-3
    assert first["contacts"] == "left right"


def test_link_inertias_are_the_published_ones(tmp_path: Path) -> None:
    series = inertial_series([inertial(1, True), inertial(2, False)])
    write_result_table(tmp_path / "l.csv", link_inertias_table(series))
    header = (tmp_path / "l.csv").read_text().splitlines()[0]
    assert header == "stamp_ns,link,mass,com_x,com_y,com_z,ixx,ixy,ixz,iyy,iyz,izz,nis,accepted"
    first, second = rows_of(tmp_path / "l.csv")
    moments = [float(first[name]) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    assert moments == [1.0, 0.4, 0.5, 2.0, 0.6, 3.0]
    assert (first["link"], float(first["mass"]), float(first["nis"])) == ("arm", 4.0, 2.5)
    assert (first["accepted"], second["accepted"]) == ("1", "0")


def test_trusted_flags(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("# trusted\n1\n0\n\n1  # good\n")
    np.testing.assert_array_equal(read_trusted(tmp_path / "t.csv"), [True, False, True])


@pytest.mark.parametrize(
    ("text", "message"),
    [("1\nyes\n", "line 2 of .* is 'yes', expected 0 or 1"), ("# nothing\n", "has no flags")],
)
def test_bad_trusted_flags(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(RecordingError, match=message):
        read_trusted(tmp_path / "t.csv")
