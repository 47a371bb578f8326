"""The first seconds filtered again: against a dense filter about one point, and what rest cannot tell."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("example_robot_data")

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.guarded_filter import WatchPhase
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.estimator import InertialEstimator, MeasuredStep
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.parameters import build_config

STEP_NS = 8_000_000
BIAS, SCALE = np.array([0.1, -0.1, 0.25]), 0.03
VALUES = {
    "imu_frame": "imu_link",
    "contacts": ("left_foot", "right_foot"),
    "contact_frames": ("left_sole_link", "right_sole_link"),
    "links": ("torso_2_link",),
    "rate": 125.0,
    "window": 0.05,
    "prior.memory": 1e9,
    "filter": "linear",
    "gate.enabled": False,
    "watch.enabled": False,
    "noise_adaptation.enabled": False,
    "sensor_errors.treatment": "estimated",
    "sensor_errors.drift_time": 1e9,
    "sensor_errors.base_force": 0.0,
    "sensor_errors.base_moment": 0.0,
}


class StandingTalos:
    """A TALOS whose torso is heavier than described, and whose accelerometer has errors."""

    def __init__(self, *, moving=False, **changes):
        self.config = build_config(InertialPipelineConfig, VALUES | changes)
        pipeline = InertialPipeline(self.config, read_urdf("example-robot-data:talos_reduced"))
        self.model, self.moving = pipeline.model, moving
        self.estimator = InertialEstimator(self.config, self.model, pipeline.input_names)
        self.rng, self.k = np.random.default_rng(4), 0
        self.q = self.rng.uniform(-0.3, 0.3, self.model.robot.n_joints)
        self.phi = np.concatenate([body.nominal_J.vector for body in self.model.bodies])
        self.phi[:4] *= 1.3

    def state(self):
        """Readings that fulfil the equation of motion, but for errors of the accelerometer and noise."""
        n, still = len(self.q), np.zeros(3)
        q = self.q + (self.rng.uniform(-0.3, 0.3, n) if self.moving else 0.0)
        f = np.array([0.0, 0.0, STANDARD_GRAVITY])
        silent = MeasuredState(q, np.zeros(n), np.zeros(n), np.zeros(n), f, still, still, np.zeros((2, 6)))
        bare = self.model.measurement.equation(silent)
        forces = bare.regressor @ self.phi - bare.value
        to_rows = bare.paths.contacts[:6].T  # of the left foot, which carries the robot
        wrench = np.linalg.solve(to_rows[:6], forces[:6])
        tau = forces[6:] - to_rows[6:] @ wrench + self.rng.normal(0.0, 0.1, n)
        wrenches = np.vstack((wrench + self.rng.normal(0.0, 0.5, 6), np.zeros(6)))
        return replace(silent, tau=tau, wrenches=wrenches, f_B=(f + BIAS) / (1.0 - SCALE))

    def step(self, state=None):
        """Let the estimator learn from one more reading; return that."""
        state, estimator = state or self.state(), self.estimator
        about = estimator.about_known_errors(state)
        equation = self.model.measurement.equation(about, estimator.believed())
        stamp = self.k * STEP_NS
        self.k += 1
        estimator.update(MeasuredStep(stamp, stamp, 1e-9 * STEP_NS, equation))
        return state

    def information_rank(self):
        """Number of directions in which the data have informed, in units of the prior."""
        filter_ = self.estimator.filter
        F = np.linalg.inv(filter_.prior_factor)
        shrunk = np.linalg.eigvalsh(F @ filter_.P @ F.T)
        return int((shrunk < 0.98).sum())


def test_a_pass_equals_a_dense_filter_about_one_point():
    talos = StandingTalos(moving=True)
    passes, filter_ = talos.estimator._passes, talos.estimator.filter
    fresh = talos.model.make_filter(talos.config)
    every, states, done = round(fresh.overlap), [], 0
    assert every > 1
    for k in range(1, 200):
        states.append(talos.step())
        if passes.passes > done:
            done = passes.passes
            point, kept = passes.point, states[every - 1 : k : every]
            information = np.linalg.inv(fresh.P)
            vector = information @ fresh.x
            for state in kept:
                equation = talos.model.measurement.equation(
                    talos.model.errors.about(state, point.errors), point.phi
                )
                equation = talos.model.errors.appended(equation, point.phi)
                rows = talos.model.errors.informing
                A, z = equation.regressor[rows], equation.value[rows]
                H = A @ fresh.state.at.dphi
                z = z - A @ fresh.state.at.phi + H @ fresh.state.at.x
                W = np.linalg.inv(fresh.overlap / every * equation.noise[np.ix_(rows, rows)])
                information = information + H.T @ W @ H
                vector = vector + H.T @ W @ z
            x = np.linalg.solve(information, vector)
            assert np.allclose(filter_.x, x, atol=1e-4 * np.abs(x).max())
            assert np.allclose(filter_.P, np.linalg.inv(information), rtol=1e-4, atol=1e-8)
    assert done >= 4


def test_at_rest_no_more_is_known_than_one_equation_can_tell():
    """Points of linearisation that move feign directions in which the data inform."""
    rank = {}
    for repeated in (0.0, 10.0):
        talos = StandingTalos(**{"sensor_errors.repeated_time": repeated})
        for _ in range(160):
            talos.step()
        rank[repeated] = talos.information_rank()
    rows = len(talos.model.errors.informing)
    assert rank[10.0] <= rows
    assert rank[0.0] > rank[10.0]


def test_new_equations_are_about_the_point_of_the_last_pass_until_the_time_is_over():
    talos = StandingTalos(**{"sensor_errors.repeated_time": 0.4})
    passes = talos.estimator._passes
    points = []
    for _ in range(50):
        talos.step()
        if passes.point is not None:
            points.append(passes.point)
            assert talos.estimator.believed() is passes.point.phi
    assert len({id(point) for point in points}) >= 3
    for _ in range(30):
        talos.step()
    assert passes.over
    assert passes.point is None
    assert np.array_equal(talos.estimator.believed(), talos.estimator.filter.phi)


def test_a_reset_begins_again():
    talos = StandingTalos()
    for _ in range(60):
        talos.step()
    done = talos.estimator._passes.passes
    assert done
    talos.estimator.forget()
    assert talos.estimator._passes.passes == 0
    assert talos.estimator._passes.point is None
    for _ in range(60):
        talos.step()
    assert talos.estimator._passes.passes == done


def test_suspect_data_end_the_passes_and_nothing_of_them_is_taught_again():
    talos = StandingTalos(**{"watch.enabled": True, "gate.enabled": True, "filter": "log_cholesky"})
    estimator = talos.estimator
    for _ in range(250):
        talos.step()
    assert estimator._passes.passes >= 4
    assert not estimator._passes.over
    masses = estimator.filter.masses_of(estimator.filter.x)
    for _ in range(60):
        state = talos.state()
        tau = state.tau.copy()
        tau[talos.model.robot.joint_names.index("torso_2_joint")] += 60.0
        talos.step(replace(state, tau=tau))
        if estimator.corrected.guarded.phase is not WatchPhase.GOOD:
            break
    assert estimator.corrected.guarded.phase is not WatchPhase.GOOD
    assert estimator._passes.over
    assert estimator._passes.point is None
    assert np.allclose(estimator.filter.masses_of(estimator.corrected.guarded.good.held.x), masses, rtol=0.05)


def test_without_errors_of_sensors_nothing_is_kept():
    talos = StandingTalos(**{"sensor_errors.treatment": "none"})
    talos.step()
    assert talos.estimator._passes.over


def test_after_a_link_is_switched_on_and_a_reset_the_passes_are_those_of_all_links():
    values = {"links": ("torso_2_link", "auto"), "locator.candidates": ("arm_left_5_link",)}
    talos = StandingTalos(**values)
    for _ in range(30):
        talos.step()
    talos.estimator._switch_on("arm_left_5_link")
    assert talos.estimator._passes.over
    talos.model = talos.estimator.model
    talos.phi = np.concatenate([body.nominal_J.vector for body in talos.model.bodies])
    talos.estimator.forget()
    for _ in range(60):
        talos.step()
    assert talos.estimator._passes.passes
    assert len(talos.estimator.filter.x) == 20 + talos.model.errors.size
