"""Rows of many states against the equation of one, and against unit changes in inverse dynamics."""

import numpy as np
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredState
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.models.measurement_rows import MeasurementNoise, RowsConfig
from inertial_estimation.models.robot_model import RobotModel

LEGS = ("lf", "rf", "lh", "rh")
FEET = tuple(ContactFrames(f"{leg}_foot", f"{leg}_foot", f"{leg}_foot") for leg in LEGS)


@pytest.fixture(scope="module")
def hyq():
    return RobotModel.from_urdf(read_urdf("example-robot-data:hyq_no_sensors"))


def random_states(robot, k, contacts=4):
    rng, n = np.random.default_rng(0), robot.n_joints
    q, v, a, tau = (rng.normal(size=(k, n)) for _ in range(4))
    f_B, w_B, wd_B = (rng.normal(size=(k, 3)) for _ in range(3))
    return MeasuredState(q, v, a, tau, f_B, w_B, wd_B, rng.normal(size=(k, contacts, 6)))


def one(states, i):
    names = ("q", "v", "a", "tau", "f_B", "w_B", "wd_B", "wrenches")
    return MeasuredState(**{name: getattr(states, name)[i] for name in names})


@pytest.mark.parametrize("mode", ["measured", "projected", "none"])
@pytest.mark.parametrize("links", [("trunk",), ("trunk", "lf_upperleg", "rh_lowerleg", "rf_hipassembly")])
def test_rows_are_those_of_the_equation(hyq, mode, links):
    friction = FrictionModel.of(hyq.joint_names[:5:4], ("coulomb", "viscous", "armature"), hyq.joint_names)
    measurement = DynamicsMeasurement(
        hyq,
        estimated_bodies(hyq, links),
        RowsConfig(contact_wrenches=mode, point_contacts=True),
        MeasurementNoise(),
        FEET,
        friction,
    )
    states = random_states(hyq, 5)
    rows = measurement.rows(states)
    for i in range(5):
        equation = measurement.equation(one(states, i))
        A, value, measured = rows.regressor[i], rows.value[i], rows.measured[i]
        if rows.basis is not None:
            N = rows.basis[i]
            assert pytest.approx(A, abs=1e-10) == N @ (N.T @ A)
            A, value, measured = N.T @ A, N.T @ value, N.T @ measured
        assert pytest.approx(equation.regressor, abs=1e-9) == A
        assert value == pytest.approx(equation.value, abs=1e-9)
        assert measured == pytest.approx(equation.measured, abs=1e-9)
