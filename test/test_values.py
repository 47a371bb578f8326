"""Values and errors: arrays are copied in, wrong shapes and names are refused with what was expected."""

import numpy as np
import pytest

from inertial_estimation.errors import MeasurementError, did_you_mean
from inertial_estimation.signals import ImuSample, JointReading, OrientationSample, WrenchSample

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


def test_arrays_are_copied_in_and_read_only():
    force = np.ones(3)
    sample = ImuSample(0, force, np.zeros(3))
    force[0] = 5.0
    assert sample.specific_force_I[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        sample.specific_force_I[0] = 2.0


@pytest.mark.parametrize(
    "build",
    [
        lambda: ImuSample(0, np.zeros(2), np.zeros(3)),
        lambda: WrenchSample(0, np.zeros(3)),
        lambda: OrientationSample(0, np.zeros(3)),
        lambda: JointReading(0, ("a", "b"), np.zeros(3)),
        lambda: JointReading(0, ("a", "b"), np.zeros(2), np.zeros(1)),
    ],
)
def test_a_wrong_shape_is_refused_with_both_shapes(build):
    with pytest.raises(MeasurementError, match=r"shape .* expected"):
        build()
