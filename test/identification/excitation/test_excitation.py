"""A design keeps limits, distances and promises; its trajectories and objectives are what they say."""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from support.design_scenes import arm_identification, arm_urdf

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.design_robot import DesignSpace, design_robot
from inertial_estimation.identification.excitation.excitation import ExcitationDesign, design_excitation
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.precision import covariance, objective, scaled_condition
from inertial_estimation.identification.excitation.trajectory import MotionFamily, TrajectoryProblem
from inertial_estimation.identification.identifiability import BaseParameters, base_parameters
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredState
from inertial_estimation.models.joint_limits import JointLimits, joint_limits
from inertial_estimation.models.link_shapes import SelfCollision
from inertial_estimation.models.measurement_rows import MeasurementNoise
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config

SHORT = {"duration": 6.0, "terms": 3, "starts": 3, "iterations": 10}
NOISE = 0.2


def config(**values: object) -> ExcitationConfig:
    return build_config(ExcitationConfig, {**SHORT, "torque_noise": NOISE, **values})


@cache
def designed(kind: str = "fourier", objective: str = "condition", compare: int = 15) -> ExcitationDesign:
    values = {"kind": kind, "objective": objective, "poses": 6, "compare_random": compare}
    return design_excitation(arm_identification(), config(**values), arm_urdf(shapes=True), seed=1)


@pytest.mark.parametrize("kind", ["fourier", "poses"])
def test_the_trajectory_keeps_limits_and_distances_and_rests_at_its_ends(kind: str) -> None:
    design = designed(kind)
    trajectory, limits = design.trajectory, design.limits
    assert np.all(trajectory.q >= limits.lower)
    assert np.all(trajectory.q <= limits.upper)
    assert np.all(np.abs(trajectory.v) <= limits.velocity + 1e-12)
    assert np.abs(trajectory.a).max() <= config().acceleration_limit + 1e-12
    used = np.abs(trajectory.v) / limits.velocity, np.abs(trajectory.a) / config().acceleration_limit
    assert kind == "fourier" or min(one.max() for one in used) > 0.95, "no slower than they allow"
    np.testing.assert_array_equal(trajectory.v[[0, -1]], 0.0)
    np.testing.assert_array_equal(trajectory.a[[0, -1]], 0.0)
    h = np.diff(trajectory.times_s).mean()
    np.testing.assert_allclose(
        (trajectory.q[2:] - trajectory.q[:-2]) / (2 * h), trajectory.v[1:-1], atol=0.02
    )
    urdf = arm_urdf(shapes=True)
    robot = RobotModel.from_urdf(urdf, floating_base=False)
    collision = SelfCollision.from_urdf(robot, urdf, [], np.random.default_rng(0))
    clearance = min(collision.clearance(q) for q in trajectory.q)
    assert clearance >= config().clearance
    assert design.clearance == pytest.approx(clearance, abs=1e-9)


@pytest.mark.parametrize("objective", ["condition", "max-variance", "log-det"])
def test_the_optimiser_improves_on_its_best_start_and_on_random_motions(objective: str) -> None:
    chosen = designed("fourier", objective).chosen.precision.objectives[objective]
    unchanged = config(objective=objective, iterations=0)
    design = design_excitation(arm_identification(), unchanged, arm_urdf(shapes=True), seed=1)
    start = design.chosen.precision.objectives[objective]
    random = [motion.precision.objectives[objective] for motion in designed("fourier", objective).random]
    assert chosen < start - 0.05
    assert chosen < np.percentile(random, 10.0)


def test_chosen_poses_beat_the_median_of_random_ones_and_are_each_held_for_the_dwell() -> None:
    design = designed("poses")
    random = [motion.precision.objectives["condition"] for motion in design.random]
    assert design.chosen.precision.objectives["condition"] < np.median(random)
    motion, (poses, *_rest) = design.trajectory, design.chosen.states
    for pose in poses:
        held = motion.times_s[np.isclose(motion.q, pose).all(axis=1) & ~motion.v.any(axis=1)]
        assert np.ptp(held) >= config().dwell - 1e-9


def test_promised_deviations_are_the_spread_of_least_squares_on_identification_rows() -> None:
    """Rows of `DynamicsMeasurement`, one at a time, and noise on them."""
    design = designed()
    rows, parameters = design.rows, design.rows.parameters
    measurement = DynamicsMeasurement(
        design.design.robot,
        parameters.bodies,
        design.design.config.rows,
        MeasurementNoise(),
        (),
        parameters.friction,
    )
    states = design.chosen.states
    equations = [measurement.equation(MeasuredState(q, v, a)) for q, v, a in zip(*states, strict=True)]
    A = np.concatenate([equation.regressor for equation in equations]) @ parameters.to_joint @ parameters.E
    B = A[:, rows.base.columns]
    assert np.linalg.matrix_rank(A) == rows.base.rank == design.chosen.precision.rank
    noise = NOISE * np.random.default_rng(0).normal(size=(len(B), 3000))
    spread = np.linalg.lstsq(B, noise, rcond=None)[0].std(axis=1)
    repeat = design.chosen.precision.samples / len(states[0])  # every state stands for so many samples
    promised = [deviation.sigma for deviation in design.chosen.precision.base_parameters]
    np.testing.assert_allclose(spread / np.sqrt(repeat), promised, rtol=0.06)


def test_the_same_seed_gives_the_same_trajectory_and_another_another() -> None:
    def trajectory(seed: int) -> np.ndarray:
        quick = config(starts=2, iterations=3)
        return design_excitation(arm_identification(), quick, arm_urdf(), seed=seed).trajectory.q

    np.testing.assert_array_equal(trajectory(3), trajectory(3))
    assert not np.array_equal(trajectory(3), trajectory(4))


def test_what_no_motion_excites_is_named_and_the_rest_is_designed_for() -> None:
    design = designed()
    precision = design.chosen.precision
    assert {"link1/m", "link1/mcz", "link1/Ixx"} <= set(precision.not_excited)
    assert np.isfinite(precision.largest)
    static = designed("poses").chosen.precision
    assert {"joint1/viscous", "joint1/coulomb", "link2/Ixx"} <= set(static.not_excited)
    assert static.rank < precision.rank


def test_joints_that_are_not_chosen_rest_in_the_middle() -> None:
    quick = config(starts=2, iterations=0)
    design = design_excitation(arm_identification(), quick, arm_urdf(), joints=["joint[13]"])
    assert design.design.moving_names == ("joint1", "joint3")
    np.testing.assert_array_equal(design.trajectory.q[:, 1], 0.0)
    assert design.rows.row_names == ("joint1", "joint2", "joint3")


def test_torques_of_the_nominal_model_by_inverse_dynamics_stay_within_their_limits() -> None:
    largest, slow = [], config(acceleration_limit=3.0)
    for effort in (10.0, 1000.0):
        design = design_excitation(arm_identification(), slow, arm_urdf(effort=effort), seed=2)
        model, motion = design.design.robot.model, design.trajectory
        states = list(zip(motion.q, motion.v, motion.a, strict=True))
        torques = np.array([pin.rnea(model, model.createData(), *state) for state in states])
        np.testing.assert_allclose(design.rows.torques(motion.q, motion.v, motion.a), torques, atol=1e-9)
        largest.append(np.abs(torques).max(axis=0))
        assert list(design.torque_share.values()) == pytest.approx(largest[-1] / effort, rel=1e-6)
    assert largest[0].max() <= slow.torque_share * 10.0 < largest[1].max()


def test_the_gradient_is_that_of_objective_and_penalties_by_every_number_of_a_motion() -> None:
    """Torques beyond their limits and links nearer than they may come; distances differ by finite steps."""
    urdf, given = arm_urdf(shapes=True, effort=10.0), config(clearance=0.1, duration=4.0)
    space = DesignSpace(design_robot(arm_identification(), urdf), given, urdf, [], np.random.default_rng(1))
    problem = TrajectoryProblem(MotionFamily(given, space.limits), space)
    z = problem.family.random(np.random.default_rng(5))
    samples = problem.family.samples(z)
    assert space.torque_share(*samples) > given.torque_share
    assert space.clearance(samples.q) < given.clearance
    gradient = problem.value_and_gradient(z, 0.3)[1]
    steps = 1e-6 * np.eye(len(z))
    numeric = [
        np.subtract(*(problem.value_and_gradient(z + s * h, 0.3)[0] for s in (1, -1))) / 2e-6 for h in steps
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=5e-3, atol=5e-3 * np.abs(numeric).max())


def test_a_leg_of_a_hung_robot_moves_alone() -> None:
    leg = arm_urdf().replace('"joint', '"lf_joint')
    free = arm_identification(floating_base=True, contact_wrenches="projected", links=("base",))
    design = design_excitation(free, config(starts=2, iterations=0), leg, joints=["lf_*"])
    assert design.design.moving_names == ("lf_joint1", "lf_joint2", "lf_joint3")
    assert design.trajectory.joint_names == design.design.moving_names
    names = set(design.rows.parameters.unknowns)
    assert "link3/m" in names
    assert not any(name.startswith("base/") for name in names)


@pytest.mark.parametrize(
    ("floating", "values", "reason"),
    [
        (True, {}, "the base floats: choose what moves"),
        (False, {"duration": 1.0}, "duration of 1 s"),
        (False, {"kind": "poses", "poses": 1}, "take more poses"),
    ],
)
def test_bad_input_is_refused(floating: bool, values: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        design_excitation(arm_identification(floating_base=floating), config(**values), arm_urdf())


ACCELERATION = 4.0


def limits() -> JointLimits:
    return joint_limits(RobotModel.from_urdf(arm_urdf(), floating_base=False))


def family(**values: object) -> MotionFamily:
    config = build_config(
        ExcitationConfig, {"duration": 8.0, "terms": 4, "acceleration_limit": ACCELERATION, **values}
    )
    return MotionFamily(config, limits())


def wild(family: MotionFamily, seed: int) -> np.ndarray:
    """Any vector at all, gains as near the limits as they go."""
    z = np.random.default_rng(seed).normal(scale=3.0, size=(family.joints, family.size // family.joints))
    z[:, -1] = 30.0
    return z.ravel()


@pytest.mark.parametrize("seed", range(5))
def test_limits_hold_between_the_samples_and_one_of_them_is_reached(seed: int) -> None:
    motions = family()
    q, v, a = motions.motion(wild(motions, seed)).at(np.linspace(0.0, 8.0, 20001))
    allowed = limits()
    assert np.all(q >= allowed.lower)
    assert np.all(q <= allowed.upper)
    ranges = allowed.upper - allowed.lower, allowed.velocity, ACCELERATION
    largest = np.ptp(q, axis=0), np.abs(v).max(axis=0), np.abs(a).max(axis=0)
    used = np.array([one / of for one, of in zip(largest, ranges, strict=True)])
    assert np.all(used <= 1.0)
    assert np.all(used.max(0) > 0.93)


def test_samples_are_those_of_the_closed_form() -> None:
    motions = family()
    z = motions.random(np.random.default_rng(2))
    samples = motions.samples(z)
    exact = motions.motion(z).at(np.linspace(0.0, 8.0, len(samples.q)))
    for sampled, closed in zip((samples.q, samples.v, samples.a), exact, strict=True):
        np.testing.assert_allclose(sampled, closed, atol=1e-9)


UNITS = np.array([1.0, 30.0, 0.01, 5.0, 1.0])


def rows(seed: int = 0, count: int = 40) -> np.ndarray:
    """Five columns: the fourth is made of the first two, the fifth does nothing."""
    A = np.random.default_rng(seed).normal(size=(count, 5)) * UNITS
    A[:, 3] = 2.0 * A[:, 0] - 0.1 * A[:, 1]
    A[:, 4] = 0.0
    return A


@pytest.fixture
def base() -> BaseParameters:
    return base_parameters(rows(7, 100))


def test_base_parameters_say_what_belongs_together_and_their_columns_carry_all_rows(base) -> None:
    assert base.rank == 3
    assert base.acting.tolist() == [0, 1, 2, 3]
    assert [base.grouped(i) for i in range(3)] == [[3], [3], []]
    A, x = rows(1), np.random.default_rng(2).normal(size=5)
    np.testing.assert_allclose(A[:, base.columns] @ (base.coupling @ x), A @ x, rtol=1e-10)


def test_objectives_are_those_of_singular_values_and_determinant(base: BaseParameters) -> None:
    A = rows(3)
    scaled = np.linalg.svd(A[:, :4] / np.linalg.norm(A[:, :4], axis=0), compute_uv=False)
    condition, B = scaled[0] / scaled[2], A[:, base.columns]
    assert scaled_condition(A.T @ A, base) == pytest.approx(condition, rel=1e-9)
    assert objective("condition", A.T @ A, base)[0] == pytest.approx(np.log(condition), rel=1e-9)
    assert objective("log-det", A.T @ A, base)[0] == pytest.approx(-np.linalg.slogdet(B.T @ B)[1], rel=1e-9)


@pytest.mark.parametrize("name", ["condition", "max-variance"])
def test_smooth_objective_is_a_norm_and_tends_to_the_exact_one(base: BaseParameters, name: str) -> None:
    M = rows(10).T @ rows(10)
    variances = np.diag(covariance(M, base, 1.0))
    scaled = np.linalg.svd(rows(10)[:, :4] / np.sqrt(np.diag(M)[:4]), compute_uv=False)[:3] ** 2
    for p in (4.0, 16.0, np.inf):
        logs = [np.log(np.linalg.norm(values, p)) for values in (scaled, 1.0 / scaled, variances)]
        expected = 0.5 * (logs[0] + logs[1]) if name == "condition" else logs[2]
        assert objective(name, M, base, p)[0] == pytest.approx(expected, rel=1e-6)
    assert objective(name, M, base, 400.0)[0] == pytest.approx(expected, abs=0.01), "without an overflow"


@pytest.mark.parametrize("name", ["condition", "max-variance", "log-det"])
@pytest.mark.parametrize("sharpness", [3.0, np.inf])
def test_gradient_of_an_objective_is_its_slope(base: BaseParameters, name: str, sharpness: float) -> None:
    A, change, h = rows(12), rows(13), 1e-6
    G = objective(name, A.T @ A, base, sharpness)[1]
    ahead, behind = (objective(name, B.T @ B, base, sharpness)[0] for B in (A + h * change, A - h * change))
    assert np.sum(G * 2.0 * (A.T @ change)) == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-5)


def test_too_few_rows_are_infinite_not_wrong(base: BaseParameters) -> None:
    A = rows(11, 2)
    M = A.T @ A
    assert scaled_condition(M, base) == np.inf
    assert np.all(np.isinf(covariance(M, base, 1.0)))
    assert all(np.isfinite(objective(name, M, base)[0]) for name in ("condition", "max-variance", "log-det"))
