"""Every change, result and refusal is told once, however the phases follow one another."""

import numpy as np
import pytest

from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate, Phase
from inertial_estimation.payload.report import PayloadEvents
from inertial_estimation.signals import HealthLevel, LinkInertia

TRUNK = LinkInertia("trunk", 70.0, np.zeros(3), np.eye(3))
WATCHING = {"phase": Phase.WATCHING}
SETTLING, MASS, COM = ({"phase": phase} for phase in (Phase.SETTLING, Phase.MASS, Phase.COM))
DONE = {"converged": True}
REFUSED = {"refusal": "the controller fights"}
LOADED = {"change": LoadChange(5, "loaded", 61.0, 70.0, np.array([-0.1, 0.05, 0.0]))}
RETURNING = {"phase": Phase.RETURNING}


def estimate(stamp_ns, *, phase, converged=False, refusal="", change=None):
    sigma = np.full(3, np.inf)
    return PayloadEstimate(
        *(stamp_ns, TRUNK, TRUNK, TRUNK, phase, "contact_forces", True, 0.1, sigma, 1e-3, converged),
        hold=phase is not Phase.WATCHING,
        refusal=refusal,
        change=change,
    )


def told(steps):
    events = PayloadEvents()
    return [event for k, step in enumerate(steps) for event in events.take(estimate(k, **step))]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([WATCHING, WATCHING], []),
        (
            [WATCHING, SETTLING | LOADED, MASS, COM, RETURNING | DONE, WATCHING | DONE],
            ["loaded", "identified"],
        ),
        ([SETTLING, SETTLING, RETURNING | REFUSED, WATCHING | REFUSED, WATCHING | REFUSED], ["refused"]),
        ([COM, WATCHING | REFUSED, SETTLING, WATCHING | REFUSED], ["refused", "refused"]),
        ([COM, RETURNING, RETURNING, WATCHING], ["cancelled"]),
        (
            [COM, RETURNING | DONE, SETTLING | LOADED, COM, RETURNING, WATCHING],
            ["identified", "loaded", "cancelled"],
        ),
        ([WATCHING | DONE | LOADED, WATCHING | DONE], ["loaded"]),
    ],
)
def test_what_happened_is_told_once(steps, expected):
    assert [event.kind for event in told(steps)] == expected


def test_an_identification_cancelled_before_its_first_estimate_is_told():
    events = PayloadEvents()
    events.begin()
    kinds = [event.kind for i in range(3) for event in events.take(estimate(i, **WATCHING))]
    assert kinds == ["cancelled"]


def test_levels_and_figures():
    loaded, refused = told([SETTLING | LOADED, RETURNING | REFUSED])
    assert (loaded.level, refused.level) == (HealthLevel.WARN, HealthLevel.ERROR)
    assert loaded.stamp_ns == 5
    assert [float(loaded.values[name]) for name in ("mass measured [kg]", "shift x [m]")] == [70.0, -0.1]
    assert "the controller fights" in refused.message
