"""Truth and trajectories are read back as they were written, and bad files are refused with a reason."""

import json
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
from inertial_estimation.recordings.truth_file import InertiaStep, inertias_as_json, read_truth
from inertial_estimation.signals import LinkInertia


def step(time_s: float, mass: float) -> InertiaStep:
    moment = np.array([[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 3.0]])
    return InertiaStep(time_s, LinkInertia("arm", mass, np.array([0.1, 0.2, 0.3 * mass]), moment))


def test_steps_are_read_back_in_the_order_of_their_times(tmp_path: Path) -> None:
    steps = [step(3.0, 7.0), step(0.0, 2.0)]
    (tmp_path / "truth.json").write_text(json.dumps({"seed": 0, "inertias": inertias_as_json(steps)}))
    bag = tmp_path / "x.mcap"
    bag.touch()
    for place in (tmp_path, bag):
        truth = read_truth(place)
        assert truth is not None
        np.testing.assert_array_equal(truth.masses("arm", np.array([-1.0, 2.9, 3.0, 9.0])), [2, 2, 7, 7])
        np.testing.assert_allclose(truth.coms("arm", np.array([0.0, 9.0]))[:, 2], [0.6, 2.1])
        end = truth.at_end("arm")
        assert end is not None
        np.testing.assert_array_equal(end.inertia_Lcm, steps[0].inertia.inertia_Lcm)
        assert truth.at_end("leg") is None


@pytest.mark.parametrize("text", [None, "{}", "[]", '{"inertias": null}', "3"])
def test_another_file_is_no_truth(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "truth.json").write_text(text)
    assert read_truth(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["{", '{"inertias": [{}]}', '{"inertias": 3}', '{"inertias": [{"time_s": NaN}]}']
)
def test_damaged_truth_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "truth.json").write_text(text)
    with pytest.raises(RecordingError, match="is no truth of a recording") as error:
        read_truth(tmp_path)
    assert "\n" not in str(error.value)


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
