"""The end of a message about a name that does not exist."""

import pytest

from inertial_estimation.errors import did_you_mean

LINKS = ["base_link", "LeftFoot", "left_foot_imu_frame", "head"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("base_lnik", "base_link"), ("leftfoot", "LeftFoot"), ("imu", "left_foot_imu_frame"), ("HEAD", "head")],
)
def test_nearest_name_is_asked_for(given: str, meant: str) -> None:
    assert did_you_mean(given, LINKS, "the model has") == f", did you mean '{meant}'?"


def test_without_a_near_name_a_bounded_number_is_listed() -> None:
    end = did_you_mean("zzz", [f"link{i}" for i in range(40)], "the model has", limit=3)
    assert end == "; the model has link0, link1, link2, ... (37 more)"
    assert did_you_mean("", [], "it has") == "; it has none"
