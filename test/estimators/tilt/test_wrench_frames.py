"""A force sensor above the sole, turned against it, and the point of a foot that rolls."""

import numpy as np
import pytest
from support.leg_robot import NO_REST, Stance, tilt_pipeline

from inertial_estimation.signals import WrenchSample

PERIOD_NS = 5_000_000
SENSORS = {"wrench_frames": ("left_sensor", "right_sensor")}
EDGE = (0.08, -0.05, 0.0)  # of the sole, in its frame [m]
ROLLING = {"roll": (0.15, -0.2, 0.0), "pivot": EDGE, "foot": (0.1, -0.15, 0.4), "still_until": 0.5}


def make(**values):
    return tilt_pipeline(**NO_REST, **values)


def drive(pipeline, stance, seconds, *, frame="left_sole", point=(0.0, 0.0, 0.0), load=400.0):
    estimates = []
    for k in range(round(seconds * 1e9) // PERIOD_NS):
        stamp = (k + 1) * PERIOD_NS
        t = 1e-9 * stamp
        pipeline.push_joints(stance.joints(stamp, t))
        pipeline.push_wrench("left", stance.wrench(stamp, t, load, point=point, frame=frame))
        pipeline.push_wrench("right", WrenchSample(stamp, np.zeros(6)))
        pipeline.push_imu(stance.imu(stamp, t))
        estimates += pipeline.tick(stamp)
    return estimates


def largest_tilt_error(estimates, stance):
    def error(estimate):
        truth = stance.pose("base", 1e-9 * estimate.state.stamp_ns).rotation[2]
        return np.linalg.norm(np.cross(truth, estimate.tilt_B))

    return max(map(error, estimates))


@pytest.mark.parametrize("point", ["origin", "centre_of_pressure"])
def test_where_the_sensor_sits_in_the_foot_does_not_matter(point):
    """The same push measured at the sole, and by a sensor 11 cm above it, in other axes."""
    stance = Stance(1, **ROLLING)
    at_sole, above = make(**{"contact.point": point}), make(**{"contact.point": point}, **SENSORS)
    a = drive(at_sole, stance, 1.2, point=EDGE)
    b = drive(above, stance, 1.2, point=EDGE, frame="left_sensor")
    np.testing.assert_allclose([e.tilt_B for e in b], [e.tilt_B for e in a], atol=1e-12)
    np.testing.assert_allclose([e.state.v_WB_B for e in b], [e.state.v_WB_B for e in a], atol=1e-12)
    assert {e.contacts for e in a} == {e.contacts for e in b} == {("left",)}


def test_a_foot_that_rolls_about_its_centre_of_pressure_leaves_no_error():
    """The edge stays, the sole's origin does not: only the centre of pressure is at rest."""
    stance, errors = Stance(1, **ROLLING), {}
    for point in ("origin", "centre_of_pressure"):
        pipeline = make(**{"contact.point": point}, **SENSORS)
        estimates = drive(pipeline, stance, 1.6, point=EDGE, frame="left_sensor")
        errors[point] = largest_tilt_error(estimates, stance)
        v, _w = stance.velocity("base", 1e-9 * estimates[-1].state.stamp_ns)
        if point == "centre_of_pressure":
            np.testing.assert_allclose(estimates[-1].state.v_WB_B, v, atol=5e-3)
    assert errors["centre_of_pressure"] < 1e-3
    assert errors["origin"] > 5.0 * errors["centre_of_pressure"]


def test_the_centre_of_pressure_and_the_force_there_are_seen_from_the_base():
    stance = Stance(1, **ROLLING)
    pipeline = make(**{"contact.point": "centre_of_pressure"}, **SENSORS)
    estimates = drive(pipeline, stance, 1.2, point=EDGE, frame="left_sensor")
    t = 1e-9 * estimates[-1].state.stamp_ns
    left, _right = pipeline.contact_loads
    T_BF = stance.pose("base", t).actInv(stance.pose("left_sole", t))
    np.testing.assert_allclose(left.point_B, T_BF * np.array(EDGE), atol=1e-9)
    up_B = stance.pose("base", t).rotation[2]
    np.testing.assert_allclose(left.force_B, 400.0 * up_B, atol=1e-6)


@pytest.mark.parametrize("frame", ["left_sole", "left_sensor"])
@pytest.mark.parametrize(("load", "contacts"), [(52.0, ("left",)), (48.0, ())])
def test_the_vertical_force_decides_on_a_slope(frame, load, contacts):
    """On a slope of 0.7 rad the sole's normal takes three quarters of the vertical force alone."""
    stance = Stance(0, foot=(0.7, 0.0, 0.3), still_until=99.0)
    pipeline = make(wrench_frames=(frame, "right_sole"))
    estimates = drive(pipeline, stance, 0.7, frame=frame, load=load)
    assert {e.contacts for e in estimates} == {contacts}
