"""The output check names what must not be published."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.inertial.estimate_defect import estimate_defect
from inertial_estimation.signals import Decision, InertialEstimate, LinkEstimate, LinkInertia


def estimate(**published):
    body = LinkInertia("hand", 2.0, np.zeros(3), np.diag([0.01, 0.02, 0.02]))
    link = LinkEstimate(replace(body, **published), body, body, np.eye(10))
    zero = np.zeros(2)
    return InertialEstimate(0, (link,), ("a", "b"), zero, 1.0, 9.0, True, Decision.ACCEPTED, zero, 0)


def test_a_real_body_has_no_defect():
    assert estimate_defect(estimate()) == ""


@pytest.mark.parametrize(
    ("published", "named"),
    [
        ({"mass": np.nan}, "not finite"),
        ({"mass": -1.0}, "no real body"),
        ({"com_L": np.array([0.0, np.inf, 0.0])}, "not finite"),
        ({"inertia_Lcm": np.diag([0.01, 0.01, 0.03])}, "no real body"),
        ({"inertia_Lcm": -np.eye(3)}, "no real body"),
    ],
)
def test_an_impossible_body_is_named(published, named):
    assert named in estimate_defect(estimate(**published))


def test_what_qualifies_an_estimate_must_be_finite():
    assert "innovation" in estimate_defect(replace(estimate(), nis=np.inf))
    assert "information" in estimate_defect(replace(estimate(), information_eigenvalues=np.array([np.nan])))
    assert "friction" in estimate_defect(replace(estimate(), friction={"knee/coulomb": np.nan}))
    (link,) = estimate().links
    broken = replace(link, covariance=-np.eye(10))
    assert "covariance" in estimate_defect(replace(estimate(), links=(broken,)))
