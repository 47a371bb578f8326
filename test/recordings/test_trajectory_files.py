"""Trajectories read back as they were written, and bad files are refused with a reason."""

from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.recordings.trajectory_files import (
    read_trajectory_csv,
    write_trajectory_bag,
    write_trajectory_csv,
)


def trajectory() -> JointTrajectory:
    rng = np.random.default_rng(0)
    return JointTrajectory(("b.1", "a"), np.cumsum(rng.uniform(0.01, 0.02, 50)), *rng.normal(size=(3, 50, 2)))


def assert_same(got: JointTrajectory, expected: JointTrajectory, *, time_atol: float) -> None:
    assert got.joint_names == expected.joint_names
    np.testing.assert_allclose(got.times_s, expected.times_s, rtol=0.0, atol=time_atol)
    for name in ("q", "v", "a"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))


def test_csv_round_trip_is_exact(tmp_path: Path) -> None:
    write_trajectory_csv(tmp_path / "t.csv", trajectory())
    assert_same(read_trajectory_csv(tmp_path / "t.csv"), trajectory(), time_atol=0.0)


def test_bag_round_trip_to_the_nanosecond(tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    from support.trajectory_bag import read_trajectory_bag

    write_trajectory_bag(tmp_path / "bag", trajectory(), stamp_ns=1_700_000_000_000_000_001)
    assert_same(read_trajectory_bag(tmp_path / "bag"), trajectory(), time_atol=1e-9)
    with pytest.raises(ConfigurationError, match="not empty"):
        write_trajectory_bag(tmp_path / "bag", trajectory())
    write_trajectory_bag(tmp_path / "bag", trajectory(), overwrite=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no column 'time_from_start'"),
        ("time_from_start,a.position\n0,1\n", r"misses the columns a\.velocity, a\.acceleration"),
        ("time_from_start,a.position,a.velocity,a.acceleration\n0,1,x,1\n", "no table of numbers"),
        ("time_from_start,a.position,a.velocity,a.acceleration\n0,1,1\n", "no table of numbers"),
    ],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(RecordingError, match=reason):
        read_trajectory_csv(tmp_path / "t.csv")
