"""The output check names what must not be published."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.inertial.link_estimates import BodyEstimates, LinkEstimates, estimate_defect
from inertial_estimation.models.hand_over import central_row, published_defect
from inertial_estimation.signals import Decision, InertialEstimate, LinkInertia

BALL = np.array([[2.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.02, 0.0, 0.0, 0.02]])
BODY = LinkInertia("hand", 2.0, np.zeros(3), np.diag([0.01, 0.02, 0.02]))


def estimate(published=BALL):
    bodies = BodyEstimates(("hand",), np.eye(10)[None], BALL, BALL, np.eye(10)[None])
    links, zero = LinkEstimates(bodies, published), np.zeros(2)
    return InertialEstimate(0, links, ("a", "b"), zero, 1.0, 9.0, True, Decision.ACCEPTED, zero, 0)


def test_a_real_body_has_no_defect():
    assert estimate_defect(estimate()) == published_defect(["arm"], central_row(BODY)[None]) == ""


@pytest.mark.parametrize(
    ("published", "named"),
    [
        ({"mass": np.nan}, "not finite"),
        ({"mass": -1.0}, "no real body"),
        ({"inertia_Lcm": np.diag([0.01, 0.01, 0.03])}, "no real body"),
    ],
)
def test_an_impossible_body_is_named(published, named):
    assert named in published_defect([BODY.link], central_row(replace(BODY, **published))[None])


def test_what_qualifies_an_estimate_must_be_finite():
    assert "no real body" in estimate_defect(estimate(-BALL))
    assert "innovation" in estimate_defect(replace(estimate(), nis=np.inf))
    assert "information" in estimate_defect(replace(estimate(), information_eigenvalues=np.array([np.nan])))
    assert "friction" in estimate_defect(replace(estimate(), friction={"knee/coulomb": np.nan}))
