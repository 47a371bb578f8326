"""Every figure has a name, and every name the figure it promises."""

import math
from dataclasses import replace

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.signals import Decision
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw
from inertial_estimation.telemetry import DECISIONS, inertial_figures, tilt_figures

ROLL, PITCH, YAW = 0.2, -0.3, 0.9


def base_estimate(contacts=("right",)):
    R_WB = rotation_from_roll_pitch_yaw(ROLL, PITCH, YAW)
    state = ie.BaseState(7, quaternion_from_rotation(R_WB), np.zeros(3), np.zeros(3), np.zeros(3))
    x = R_WB[2]
    P = 0.01**2 * (np.eye(3) - np.outer(x, x)) + 0.05**2 * np.outer(x, x)
    bias, innovation = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6])
    variances = (0.001**2, 0.002**2)
    return ie.BaseEstimate(state, x, bias, contacts, innovation, True, False, P, variances, at_rest=True)


def link_estimate(link, mass, *, sigma=0.1):
    here = ie.LinkInertia(link, mass, np.array([0.1, 0.2, 0.3]), np.eye(3))
    payload = ie.LinkInertia(link, mass - 2.0, np.zeros(3), np.eye(3))
    published = ie.LinkInertia(link, mass - 0.5, np.zeros(3), np.eye(3))
    covariance = np.diag([sigma**2, 0.01**2, 0.02**2, 0.03**2, *6 * [1.0]])
    return ie.LinkEstimate(published, here, payload, covariance)


def inertial_estimate(**changes):
    links = (link_estimate("hand", 3.0), link_estimate("torso", 20.0))
    estimate = ie.InertialEstimate(
        *(7, links, ("row",), np.zeros(1), 5.0, 10.8, True, Decision.REOPENED, np.ones(20), 13),
        friction={"elbow/coulomb": 1.5},
        noise={"noise.torque": 2.0},
    )
    return replace(estimate, **changes)


def values(figures, estimate):
    return dict(zip(figures.names, figures.values(estimate), strict=True))


def test_tilt_figures_say_what_the_estimate_says():
    found = values(tilt_figures(("left", "right")), base_estimate())
    assert found["tilt/roll [rad]"] == pytest.approx(ROLL)
    assert found["tilt/pitch [rad]"] == pytest.approx(PITCH)
    assert found["yaw/angle [rad]"] == pytest.approx(YAW)
    assert found["tilt/sigma [rad]"] == pytest.approx(0.01 * math.sqrt(2.0))  # of both axes
    assert found["yaw/sigma [rad]"] == pytest.approx(0.05)
    assert [found[f"gyro_bias/{axis} [rad s^-1]"] for axis in "xyz"] == [0.1, 0.2, 0.3]
    assert found["gyro_bias_sigma/horizontal [rad s^-1]"] == pytest.approx(0.001)
    assert found["gyro_bias_sigma/vertical [rad s^-1]"] == pytest.approx(0.002)
    assert [found[f"velocity_innovation/{axis} [m s^-1]"] for axis in "xyz"] == [0.4, 0.5, 0.6]
    assert (found["contacts/left"], found["contacts/right"]) == (0.0, 1.0)
    assert (found["aided/velocity"], found["aided/gravity"], found["at_rest"]) == (1.0, 0.0, 1.0)


def test_inertial_figures_say_what_the_estimate_says():
    figures = inertial_figures(("hand", "torso"), ("elbow/coulomb",), ("noise.torque",))
    found = values(figures, inertial_estimate())
    assert (found["mass/hand [kg]"], found["mass/torso [kg]"]) == (3.0, 20.0)
    assert (found["mass_published/hand [kg]"], found["mass_nominal/torso [kg]"]) == (2.5, 2.0)
    assert found["mass_sigma/torso [kg]"] == pytest.approx(0.1)
    assert [found[f"com_{axis}/hand [m]"] for axis in "xyz"] == [0.1, 0.2, 0.3]
    assert [found[f"com_sigma_{axis}/hand [m]"] for axis in "xyz"] == pytest.approx([0.01, 0.02, 0.03])
    assert (found["nis"], found["nis_bound"], found["learning/accepted"]) == (5.0, 10.8, 1.0)
    assert DECISIONS[int(found["learning/decision"])] is Decision.REOPENED
    assert (found["information/informed"], found["information/directions"]) == (13.0, 20.0)
    assert found["friction/elbow/coulomb"] == 1.5
    assert found["noise_scale/noise.torque"] == 2.0


def test_the_estimate_of_a_link_which_is_computed_when_asked_for_is_asked_for_once():
    asked = []

    class Links:
        def __getitem__(self, place):
            asked.append(place)
            return link_estimate("hand", 3.0)

    inertial_figures(("hand", "torso")).values(inertial_estimate(links=Links()))
    assert asked == [0, 1]
