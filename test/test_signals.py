import numpy as np
import pytest

from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import ImuSample, JointReading, OrientationSample, WrenchSample


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
